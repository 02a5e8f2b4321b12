//! Do messages and requests arrive, whole and in order, and does the connection come back?

use super::*;

#[tokio::test]
async fn consensus_messages_arrive_in_order_from_and_to_everyone() {
    let nodes: [Node; 3] = nodes(limits());
    const COUNT: u64 = 1_000;
    for number in 1..=COUNT {
        for (from, to) in [(0, 1), (0, 2), (1, 0), (2, 1)] {
            // one is larger than a batch
            let is_large = (number, from) == (500, 1);
            let bytes = if is_large { 1_200_000 } else { (number % 7 * 100) as usize };
            nodes[from].say(nodes[to].id, (number % 5) as u16, message(number, bytes));
        }
        // below what may wait
        if number % 500 == 0 {
            for (at, expected) in [(0, number), (1, 2 * number), (2, number)] {
                let came = || nodes[at].heard.messages.lock().len() as u64 == expected;
                eventually(&format!("{expected} messages reached node {at}"), came).await;
            }
        }
    }
    for (from, to) in [(0, 1), (0, 2), (1, 0), (2, 1)] {
        let heard = nodes[to].heard.messages.lock();
        let of_sender = heard.iter().filter(|(sender, ..)| *sender == nodes[from].id);
        let numbers: Vec<u64> = of_sender.clone().map(|(_, _, message, _)| message.log_index).collect();
        assert_eq!(numbers, (1..=COUNT).collect::<Vec<_>>(), "{from} to {to}");
        for (_, group, message, _) in of_sender {
            assert_eq!(u64::from(group.0), message.log_index % 5);
        }
    }
    assert!(nodes.iter().all(|node| node.heard.unreachable.lock().is_empty()));
}

#[tokio::test]
async fn requests_are_answered_64_at_a_time() {
    let nodes: [Node; 3] = nodes(limits());
    let asked = (0..64u64).map(|number| {
        let nodes = &nodes;
        async move {
            let (from, to) = (&nodes[(number % 3) as usize], &nodes[((number + 1) % 3) as usize]);
            let lane = if number % 2 == 0 { Lane::Requests } else { Lane::Bulk };
            for round in 0..5 {
                // from nothing to three parts
                let length = (number * 1_009 + round * 70_001) as usize % 400_000;
                let request = Bytes::from(vec![number as u8 + 130; length]);
                let answer = from.peers.ask(to.id, lane, request.clone(), soon()).await;
                let found = answer.map(|bytes| bytes == request);
                assert_eq!(found, Ok(true), "{number} {round}");
            }
        }
    });
    futures_util::future::join_all(asked).await;
    let status = nodes[0].peers.status();
    assert_eq!(status.len(), 2);
    let asked_one = status.iter().find(|peer| peer.node == nodes[1].id).unwrap();
    let connected: Vec<bool> = asked_one.lanes.iter().map(|lane| lane.connected).collect();
    assert_eq!(connected, [false, true, true]);
    assert!(asked_one.lanes.iter().all(|lane| (lane.queued_messages, lane.queued_bytes) == (0, 0)));
    assert_eq!(asked_one.version, Some(PeerVersion::of_this_program(1)));
    assert_eq!(asked_one.address.as_deref(), Some(nodes[1].address.as_str()));
    assert_eq!(asked_one.failure, None);
    assert!(asked_one.clock_ahead_ms.unwrap().abs() < 1_000);
    eventually("a ping came back", || nodes[0].peers.status().iter().all(|peer| peer.last_heard.is_some()))
        .await;
    eventually("a ping was timed", || nodes[0].peers.status().iter().any(|peer| peer.round_trip.is_some()))
        .await;
}

#[tokio::test]
async fn a_short_request_passes_a_long_one() {
    let nodes: [Node; 2] = nodes(limits());
    reaches(&nodes[0], &nodes[1]).await;
    let long = Bytes::from(vec![1; 48 << 20]);
    let long_is_done = async {
        let answer = nodes[0].peers.ask(nodes[1].id, Lane::Requests, long.clone(), soon()).await;
        assert_eq!(answer.map(|bytes| bytes.len()), Ok(long.len()));
        Instant::now()
    };
    let short_is_done = async {
        eventually("the long one is under way", || {
            nodes[0].peers.status()[0].lanes[1].queued_bytes == long.len()
        })
        .await;
        nodes[0].ask(&nodes[1], b"short").await.unwrap();
        Instant::now()
    };
    let (long, short) = tokio::join!(long_is_done, short_is_done);
    assert!(short < long);
}

#[tokio::test]
async fn heartbeats_of_all_groups_travel_together() {
    let nodes: [Node; 2] = nodes(limits());
    nodes[0].say(nodes[1].id, 0, message(1, 0));
    eventually("the connection is there", || nodes[1].heard.messages.lock().len() == 1).await;
    let frames = || nodes[0].peers.consensus_frames(nodes[1].id);
    let before = frames();
    const ROUNDS: usize = 5;
    for round in 0..ROUNDS {
        for group in 0..17 {
            nodes[0].say(nodes[1].id, group, PeerMessage { kind: MessageKind::Heartbeat, ..message(0, 0) });
        }
        let expected = 1 + (round + 1) * 17;
        eventually("the heartbeats arrived", || nodes[1].heard.messages.lock().len() == expected).await;
    }
    let used = frames() - before;
    // one each, when this thread is not interrupted for long
    assert!((ROUNDS as u64..=2 * ROUNDS as u64).contains(&used), "{used} frames");
}

#[tokio::test]
async fn a_node_that_stops_and_comes_back_elsewhere_is_found_again() {
    let [asking, asked] = nodes(limits());
    reaches(&asking, &asked).await;
    let (id, old_address) = (asked.id, asked.address.clone());
    drop(asked);
    let error = asking.peers.ask(id, Lane::Requests, Bytes::from_static(b"x"), soon()).await.unwrap_err();
    assert!(matches!(error, PeerError::Unreachable | PeerError::Lost), "{error:?}");
    asking.say(id, 3, message(1, 0));
    let is_reported = || {
        asking.heard.unreachable.lock().iter().any(|(to, groups)| *to == id && groups.contains(&GroupId(3)))
    };
    eventually("the missing peer is reported", is_reported).await;
    eventually("its failure is shown", || asking.peers.status()[0].failure.is_some()).await;

    let back = start(options(id));
    assert_ne!(back.address, old_address);
    introduce(&[&asking, &back]);
    reaches(&asking, &back).await;
    reaches(&back, &asking).await;
    eventually("consensus reaches it again", || {
        asking.say(id, 4, message(7, 0));
        back.heard.messages.lock().iter().any(|(_, group, ..)| *group == GroupId(4))
    })
    .await;
    assert_eq!(asking.peers.status()[0].failure, None);

    // the port is free as soon as a stop returns
    let address = back.address.clone();
    drop(back);
    let listener = TcpListener::bind(&address).unwrap();
    let again = start(PeerOptions { listener, ..options(id) });
    reaches(&asking, &again).await;
}

#[tokio::test]
async fn an_address_alone_is_enough_to_ask_who_is_there() {
    let [new, member] = [start(options(node_id())), start(options(node_id()))];
    let answered = new.peers.ask_address(&member.address, Bytes::from_static(b"may I join"), soon()).await;
    assert_eq!(answered, Ok((member.id, Bytes::from_static(b"may I join"))));
    assert!(new.heard.met.lock().contains(&member.id) && member.heard.met.lock().contains(&new.id));
    // and many at once
    let asked = (0..16).map(|number: u8| {
        let request = Bytes::from(vec![number + 130; 300_000]);
        let (new, member) = (&new, &member);
        async move {
            let answered = new.peers.ask_address(&member.address, request.clone(), soon()).await;
            assert_eq!(answered.map(|(id, bytes)| (id, bytes == request)), Ok((member.id, true)));
        }
    });
    futures_util::future::join_all(asked).await;
}

#[tokio::test]
async fn a_stopped_transport_answers_at_once() {
    let [asking, asked] = nodes(limits());
    reaches(&asking, &asked).await;
    let waits = asking.ask(&asked, b"~forever");
    let stops = async {
        eventually("the request runs", || asked.heard.running.load(Ordering::SeqCst) == 1).await;
        asking.peers.stop();
    };
    let (answer, ()) = tokio::join!(waits, stops);
    assert!(matches!(answer, Err(PeerError::Lost)), "{answer:?}");
    assert_eq!(asking.ask(&asked, b"x").await, Err(PeerError::Stopped));
    let address = asked.address.clone();
    let introduction = asking.peers.ask_address(&address, Bytes::new(), soon()).await;
    assert_eq!(introduction, Err(PeerError::Stopped));
    eventually("the other side let go of the request", || asked.heard.running.load(Ordering::SeqCst) == 0)
        .await;
}

#[tokio::test]
async fn the_work_on_a_request_ends_when_nobody_waits_for_it() {
    let nodes: [Node; 2] = nodes(limits());
    reaches(&nodes[0], &nodes[1]).await;
    let running = || nodes[1].heard.running.load(Ordering::SeqCst);
    eventually("nothing is worked on", || running() == 0).await;
    for round in 0..20 {
        // half of them in several parts
        let length = if round % 2 == 0 { 1 } else { 600_000 };
        let asked = (0..4)
            .map(|_| nodes[0].peers.ask(nodes[1].id, Lane::Requests, vec![b'~'; length].into(), soon()));
        let asked = futures_util::future::join_all(asked);
        let begun = Instant::now();
        tokio::select! {
            _ = asked => panic!("it does not answer"),
            () = eventually("they are worked on", || running() == 4) => {}
        }
        eventually("the work has ended", || running() == 0).await;
        assert!(begun.elapsed() < PATIENCE / 2, "it ended with the time of the request");
    }
    // one that is given up while it is being sent leaves the connection as it was
    for _ in 0..20 {
        let long = nodes[0].peers.ask(nodes[1].id, Lane::Requests, vec![1; 20 << 20].into(), soon());
        let _given_up = tokio::time::timeout(Duration::from_millis(3), long).await;
        nodes[0].ask(&nodes[1], b"short").await.unwrap();
    }
    eventually("nothing is worked on", || running() == 0).await;
    assert_eq!(nodes[0].peers.status()[0].lanes[1].queued_bytes, 0);
}
