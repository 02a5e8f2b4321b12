//! What happens when more is sent than can be taken?

use super::fake::Fake;
use super::*;

#[tokio::test]
async fn overflow_drops_and_reports() {
    let bounds =
        PeerLimits { consensus_messages_max: 10, connect_within: Duration::from_secs(2), ..limits() };
    let node = start(PeerOptions { limits: bounds, ..options(node_id()) });
    // it takes connections and says nothing
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = node_id();
    node.peers.set_addresses(BTreeMap::from([(peer, silent.local_addr().unwrap().to_string())]));
    for group in 0..40 {
        node.say(peer, group, message(1, 10));
    }
    let status = node.peers.status();
    assert_eq!((status[0].lanes[0].queued_messages, status[0].dropped), (10, 30));
    let reported = || {
        node.heard.unreachable.lock().iter().flat_map(|(_, groups)| groups.clone()).collect::<BTreeSet<_>>()
    };
    eventually("the groups of dropped messages are reported", || reported().len() == 30).await;
    assert_eq!(reported(), (10..40).map(GroupId).collect());
    eventually("the attempt is given up", || reported().len() == 40).await;
    let status = node.peers.status();
    assert_eq!((status[0].lanes[0].queued_messages, status[0].lanes[0].queued_bytes), (0, 0));
    assert_eq!(status[0].dropped, 40);
}

#[tokio::test]
async fn a_peer_that_takes_nothing_does_not_grow_the_memory() {
    const BYTES_MAX: usize = 4 << 20;
    let ping_every = Duration::from_millis(500);
    let bounds = PeerLimits {
        consensus_bytes_max: BYTES_MAX,
        request_bytes_waiting_max: BYTES_MAX,
        ping_every,
        ..limits()
    };
    let node = start(PeerOptions { limits: bounds, ..options(node_id()) });
    let fake = Fake::listening(node_id()).await;
    node.peers.set_addresses(BTreeMap::from([(fake.id, fake.address.clone())]));
    // it greets, says that it lives, and reads nothing
    let stalls = fake.accept_and_stall(Duration::from_millis(50));
    let floods = async {
        let deadline = soon();
        while !node.has_complained("took nothing") {
            assert!(
                Instant::now() < deadline,
                "the connection is never given up: {:?}",
                node.peers.complaints()
            );
            // more than the buffers of the system take, whatever the machine does beside it
            for _ in 0..20 {
                node.say(fake.id, 1, message(1, 100_000));
            }
            let lane = node.peers.status()[0].lanes[0];
            assert!(lane.queued_bytes <= BYTES_MAX, "{} bytes wait", lane.queued_bytes);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(node.peers.status()[0].dropped > 0);
    };
    tokio::select! {
        () = stalls => panic!("the fake node ended"),
        () = floods => {}
    }
}

#[tokio::test]
async fn a_peer_that_falls_silent_is_noticed() {
    let node = start(PeerOptions { limits: impatient(), ..options(node_id()) });
    let fake = Fake::listening(node_id()).await;
    node.peers.set_addresses(BTreeMap::from([(fake.id, fake.address.clone())]));
    let asks = async {
        let begun = Instant::now();
        let answer = node.peers.ask(fake.id, Lane::Requests, Bytes::from_static(b"x"), soon()).await;
        assert_eq!(answer, Err(PeerError::Lost));
        assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    };
    tokio::select! {
        () = fake.accept_and_fall_silent() => panic!("the fake node ended"),
        () = asks => {}
    }
}

#[tokio::test]
async fn more_requests_than_may_run_are_answered_busy() {
    let [asked, eager] = [
        PeerLimits { requests_at_once_max: 4, ..limits() },
        PeerLimits { requests_at_once_max: 100, ..limits() },
    ]
    .map(|limits| start(PeerOptions { limits, ..options(node_id()) }));
    introduce(&[&asked, &eager]);
    reaches(&eager, &asked).await;
    // the one that is asked refuses
    let until = Instant::now() + Duration::from_millis(400);
    let answers = (0..20).map(|_| eager.ask_until(&asked, b"~forever", until));
    let answers = futures_util::future::join_all(answers).await;
    let count = |error: &PeerError| answers.iter().filter(|answer| answer.as_ref() == Err(error)).count();
    assert_eq!((count(&PeerError::Timeout), count(&PeerError::Busy)), (4, 16), "{answers:?}");
    eventually("places are free again", || asked.heard.running.load(Ordering::SeqCst) == 0).await;
    reaches(&eager, &asked).await;
    // the one that asks does not even send them
    reaches(&asked, &eager).await;
    let until = Instant::now() + Duration::from_millis(400);
    let answers = (0..20).map(|_| asked.ask_until(&eager, b"~forever", until));
    let answers = futures_util::future::join_all(answers).await;
    let busy = answers.iter().filter(|answer| **answer == Err(PeerError::Busy)).count();
    assert_eq!(busy, 16);
    // a large one is refused while others run, with all its parts passed over
    let bounds = PeerLimits { request_bytes_waiting_max: 1 << 20, ..limits() };
    let small = start(PeerOptions { limits: bounds, ..options(node_id()) });
    introduce(&[&small, &eager]);
    reaches(&eager, &small).await;
    let runs = eager.ask_until(&small, b"~forever", Instant::now() + Duration::from_millis(400));
    let large = async {
        eventually("one runs", || small.heard.running.load(Ordering::SeqCst) == 1).await;
        let large = vec![1; 3 << 20];
        assert_eq!(eager.ask(&small, &large).await, Err(PeerError::Busy));
        reaches(&eager, &small).await;
        large
    };
    let (timeout, large) = tokio::join!(runs, large);
    assert_eq!(timeout, Err(PeerError::Timeout));
    eventually("nothing runs", || small.heard.running.load(Ordering::SeqCst) == 0).await;
    assert_eq!(eager.ask(&small, &large).await.map(|bytes| bytes.len()), Ok(3 << 20), "alone it passes");
}

#[tokio::test]
async fn bulk_does_not_delay_consensus() {
    let nodes: [Node; 2] = nodes(limits());
    nodes[0].say(nodes[1].id, 0, message(0, 0));
    eventually("the connection is there", || !nodes[1].heard.messages.lock().is_empty()).await;
    let part = Bytes::from(vec![1; 16 << 20]);
    let bulk = (0..4).map(|_| nodes[0].peers.ask(nodes[1].id, Lane::Bulk, part.clone(), soon()));
    let bulk = futures_util::future::join_all(bulk);
    let mut sent = vec![];
    let consensus = async {
        loop {
            sent.push(Instant::now());
            nodes[0].say(nodes[1].id, 0, message(sent.len() as u64, 0));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        answers = bulk => assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|all| all.len() == part.len()))),
        () = consensus => {}
    }
    eventually("all messages arrived", || nodes[1].heard.messages.lock().len() == sent.len() + 1).await;
    let heard = nodes[1].heard.messages.lock();
    let late = sent.iter().zip(&heard[1..]).map(|(sent, (.., at))| at.saturating_duration_since(*sent)).max();
    assert!(late < Some(Duration::from_secs(1)), "{late:?} of {}", sent.len());
}

#[tokio::test]
async fn strangers_who_say_nothing_keep_no_node_out() {
    let [one, other] = [start(options(node_id())), start(options(node_id()))];
    let address: std::net::SocketAddr = one.address.parse().unwrap();
    // all of one address, which no node has
    let connect = async || {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        socket.connect(address).await.unwrap()
    };
    let mut silent = vec![];
    for _ in 0..80 {
        silent.push(connect().await);
    }
    introduce(&[&one, &other]);
    let reached = tokio::time::timeout(Duration::from_secs(10), reaches(&other, &one));
    let crowds = async {
        loop {
            // as soon as one is turned away the next one comes
            tokio::time::sleep(Duration::from_millis(50)).await;
            silent.drain(..20);
            for _ in 0..20 {
                silent.push(connect().await);
            }
        }
    };
    let reached = tokio::select! {
        reached = reached => reached,
        () = crowds => unreachable!("it goes on"),
    };
    assert!(reached.is_ok(), "kept out");
    // where a node was reached it is known from, although it has not called yet: so one that was just started knows the others
    let started = start(options(node_id()));
    started.peers.set_addresses(BTreeMap::from([(other.id, other.address.clone())]));
    let there = std::net::IpAddr::from([127, 0, 0, 1]);
    assert!(!started.peers.knows(there));
    reaches(&started, &other).await;
    assert!(started.peers.knows(there));
}
