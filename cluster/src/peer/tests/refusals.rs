//! Who is not talked to, and what do askers hear?

use super::*;

#[tokio::test]
async fn another_join_token_is_refused_both_ways_and_logged() {
    let ours = start(options(node_id()));
    let other = start(PeerOptions { secret: ClusterSecret::from_bytes([4; 32]), ..options(node_id()) });
    introduce(&[&ours, &other]);
    for (from, to) in [(&ours, &other), (&other, &ours)] {
        let Err(PeerError::Refused(text)) = from.ask(to, b"x").await else { panic!("it must be refused") };
        assert!(text.contains("has another join token"), "{text}");
        let introduced = from.peers.ask_address(&to.address, Bytes::new(), soon()).await;
        assert!(
            matches!(&introduced, Err(PeerError::Refused(text)) if text.contains("join token")),
            "{introduced:?}"
        );
        eventually("the dialling side says so", || from.has_complained("has another join token")).await;
        eventually("the dialled side says so", || {
            to.has_complained("a node with another join token connected")
        })
        .await;
        assert!(to.heard.met.lock().is_empty());
    }
}

#[tokio::test]
async fn a_join_token_is_replaced_node_by_node() {
    let (old, new) = (secret(), ClusterSecret::from_bytes([4; 32]));
    let of = |secret: &ClusterSecret, also: Option<&ClusterSecret>| {
        start(PeerOptions { secret: secret.clone(), also: also.cloned(), ..options(node_id()) })
    };
    // each step of a node beside nodes that are a step ahead
    for (one, two) in [
        (of(&old, None), of(&old, Some(&new))),
        (of(&old, Some(&new)), of(&new, Some(&old))),
        (of(&new, Some(&old)), of(&new, None)),
    ] {
        introduce(&[&one, &two]);
        reaches(&one, &two).await;
        reaches(&two, &one).await;
    }
    // one that has the old token only is no node any more
    let (left, done) = (of(&old, None), of(&new, None));
    introduce(&[&left, &done]);
    for (from, to) in [(&left, &done), (&done, &left)] {
        assert!(matches!(from.ask(to, b"x").await, Err(PeerError::Refused(_))));
    }
}

#[tokio::test]
async fn nodes_of_two_installations_do_not_talk() {
    let of_app =
        |app: Option<&str>| start(PeerOptions { installation: app.map(String::from), ..options(node_id()) });
    let [one, two, new] = [of_app(Some("ONE")), of_app(Some("TWO")), of_app(None)];
    introduce(&[&one, &two, &new]);
    let refused = one.ask(&two, b"x").await;
    assert!(matches!(&refused, Err(PeerError::Refused(text)) if text.contains("application")), "{refused:?}");
    for (from, to) in [(&one, &new), (&new, &two)] {
        reaches(from, to).await;
    }
    new.peers.set_installation("ONE");
    let refused = new.peers.ask_address(&two.address, Bytes::new(), soon()).await;
    assert!(
        matches!(&refused, Err(PeerError::Refused(text)) if text.contains("application TWO") || text.contains("application ONE")),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_node_is_not_taken_for_another() {
    let [asking, asked] = nodes(limits());
    let wrong = node_id();
    asking.peers.set_addresses(BTreeMap::from([(wrong, asked.address.clone())]));
    let refused = asking.peers.ask(wrong, Lane::Requests, Bytes::new(), soon()).await;
    let expected = format!("node {} is there, not node {wrong}", asked.id);
    assert_eq!(refused, Err(PeerError::Refused(expected)));
    let itself = asking.peers.ask_address(&asking.address, Bytes::new(), soon()).await;
    assert_eq!(itself, Err(PeerError::Itself));
}

#[tokio::test]
async fn a_removed_node_is_cut_off_and_not_let_in_again() {
    let [staying, removed] = nodes(impatient());
    reaches(&removed, &staying).await;
    staying.heard.removed.lock().insert(removed.id);
    let deadline = soon();
    loop {
        match removed.ask(&staying, b"x").await {
            Err(PeerError::Refused(text)) => {
                assert!(text.contains("was removed from the installation"), "{text}");
                break;
            }
            other => assert!(Instant::now() < deadline, "still not refused: {other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    staying.heard.removed.lock().clear();
    reaches(&removed, &staying).await;
}

#[tokio::test]
async fn askers_hear_why_there_is_no_answer_and_in_time() {
    let [asking, asked] =
        nodes(PeerLimits { request_bytes_max: 500_000, bulk_bytes_max: 2 << 20, ..limits() });
    reaches(&asking, &asked).await;
    let ask = |request: &'static [u8], ms| {
        asking.ask_until(&asked, request, Instant::now() + Duration::from_millis(ms))
    };
    let begun = Instant::now();
    assert_eq!(ask(b"~forever", 150).await, Err(PeerError::Timeout));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    eventually("the request was dropped there too", || asked.heard.running.load(Ordering::SeqCst) == 0).await;
    assert_eq!(ask(b"!panic", 20_000).await, Err(PeerError::Lost));
    assert_eq!(ask(b"#an answer over the limit", 20_000).await, Err(PeerError::Lost));
    let ask_on = |lane, length: usize| asking.peers.ask(asked.id, lane, vec![1; length].into(), soon());
    assert_eq!(ask_on(Lane::Requests, 500_001).await, Err(PeerError::TooLarge));
    assert_eq!(ask_on(Lane::Requests, 500_000).await.map(|bytes| bytes.len()), Ok(500_000));
    assert_eq!(ask_on(Lane::Bulk, 2 << 20).await.map(|bytes| bytes.len()), Ok(2 << 20));
    assert!(matches!(ask_on(Lane::Consensus, 1).await, Err(PeerError::Refused(_))));
    let nobody = asking.peers.ask(node_id(), Lane::Requests, Bytes::new(), soon()).await;
    assert_eq!(nobody, Err(PeerError::Unknown));
    // the connection has survived all of it
    assert_eq!(asking.peers.status()[0].failure, None);
    reaches(&asking, &asked).await;

    asking.peers.set_addresses(BTreeMap::new());
    assert_eq!(ask(b"x", 20_000).await, Err(PeerError::Unknown));
}

#[tokio::test]
async fn nobody_there_is_unreachable_at_once() {
    let asking = start(options(node_id()));
    let gone = node_id();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for address in [closed.as_str(), "no-such-host.invalid:1", "no port"] {
        asking.peers.set_addresses(BTreeMap::from([(gone, address.to_string())]));
        for _ in 0..3 {
            let answer = asking.peers.ask(gone, Lane::Requests, Bytes::new(), soon()).await;
            assert_eq!(answer, Err(PeerError::Unreachable), "{address}");
        }
        let introduced = asking.peers.ask_address(address, Bytes::new(), soon()).await;
        assert_eq!(introduced, Err(PeerError::Unreachable), "{address}");
    }
}
