//! Is the join token of an installation replaced without a stop, and is the old one worth nothing then?

use quorate_tests::cluster::{Cluster, JOIN_TOKEN};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Another made token.
const NEW: &str = "qj1-AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9T0W2M";

/// Restarts the first three nodes, one after the other, with these tokens.
fn round(cluster: &mut Cluster, token: &str, also: Option<&str>) {
    for node in 0..3 {
        let setup = cluster.setup_mut(node);
        *setup = setup.clone().variable("QUORATE_JOIN_TOKEN", token);
        setup.environment.retain(|(name, _)| name != "QUORATE_JOIN_TOKEN_ALSO");
        if let Some(also) = also {
            *setup = setup.clone().variable("QUORATE_JOIN_TOKEN_ALSO", also);
        }
        cluster.stop(node).unwrap();
        cluster.restart(node).unwrap();
    }
    cluster.wait_settled().unwrap();
}

/// The same while somebody writes; how many records are answered then.
fn round_under_load(cluster: &mut Cluster, token: &str, also: Option<&str>, from: u64) -> u64 {
    let is_over = AtomicBool::new(false);
    // addresses of clients change with every start: this one writes through the nodes that have not been started anew yet
    let mut any = cluster.any();
    let written = std::thread::scope(|threads| {
        let writes = threads.spawn(|| {
            let mut written = from;
            while !is_over.load(Ordering::Relaxed) {
                let record = json!({"objectID": written.to_string(), "n": written});
                if any.post("/1/indexes/i", &record).is_ok_and(|answer| answer.status < 300) {
                    written += 1;
                }
                any.turn();
            }
            written
        });
        round(cluster, token, also);
        is_over.store(true, Ordering::Relaxed);
        writes.join().unwrap()
    });
    assert!(written > from, "nothing is written");
    written
}

#[test]
fn a_join_token_is_replaced_under_load_and_the_old_one_is_refused() {
    let mut cluster = Cluster::prepare(5).unwrap();
    (0..3).for_each(|node| cluster.spawn(node).unwrap());
    cluster.wait_ready().unwrap();
    let mut written = round_under_load(&mut cluster, JOIN_TOKEN, Some(NEW), 0);
    written = round_under_load(&mut cluster, NEW, Some(JOIN_TOKEN), written);
    // a node that has the new one joins already
    let setup = cluster.setup_mut(3);
    *setup = setup.clone().variable("QUORATE_JOIN_TOKEN", NEW);
    cluster.spawn(3).unwrap();
    cluster.wait_up(3).unwrap();
    cluster.wait_settled().unwrap();
    written = round_under_load(&mut cluster, NEW, None, written);

    // with the old one it is no node any more
    let setup = cluster.setup_mut(4);
    *setup = setup.clone().variable("QUORATE_JOIN_TOKEN", JOIN_TOKEN);
    cluster.spawn(4).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !(0..4)
        .any(|node| cluster.node(node).unwrap().log().contains("a node with another join token connected"))
    {
        assert!(
            Instant::now() < deadline,
            "nobody refuses the old token: {}",
            cluster.node(4).unwrap().log()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    cluster.kill(4).unwrap();
    for node in 0..4 {
        let kept = std::fs::read_to_string(cluster.data_dir(node).join("join-token")).unwrap();
        assert_eq!(kept.trim(), NEW);
        let log = cluster.node(node).unwrap().log();
        assert!(!log.contains(NEW) && !log.contains(JOIN_TOKEN), "a token in the log");
    }
    // what was answered is there, on every node
    let client = cluster.node(0).unwrap().client();
    let last = client.batch("i", &[("deleteObject", json!({"objectID": "nobody"}))]).unwrap();
    for client in (0..4).map(|node| cluster.node(node).unwrap().client()) {
        client.wait_task("i", last).unwrap();
        let found = client.search("i", &json!({"query": "", "hitsPerPage": 0})).unwrap();
        // the last one may have been taken by a node that was stopped before it said so
        let count = found["nbHits"].as_u64().unwrap();
        assert!((written..=written + 1).contains(&count), "{count} of {written}");
    }
}
