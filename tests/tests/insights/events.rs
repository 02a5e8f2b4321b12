//! Are events that were answered kept once on every node, whatever dies meanwhile, and do forgotten users leave the files?

use quorate_tests::accident::settle;
use quorate_tests::cluster::{AnyNode, Cluster};
use quorate_tests::events::kept;
use quorate_tests::harness::Setup;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Names of indices, which belong to several groups. There are no such indices.
const NAMES: usize = 12;
/// Events of a batch.
const BATCH: usize = 24;

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}
/// Events of a user, each about another record.
fn batch(user: &str, step: usize) -> Value {
    let at = now_ms();
    let event = |n: usize| {
        json!({"eventName": "Seen", "eventType": "view", "index": format!("events{}", n % NAMES), "userToken": user,
            "timestamp": at, "objectIDs": [format!("{step}-{n}")]})
    };
    json!({"events": (0..BATCH).map(event).collect::<Vec<_>>()})
}
/// Sends a batch until it is answered. Returns how often it was sent.
fn send(nodes: &mut AnyNode, batch: &Value) -> usize {
    let deadline = Instant::now() + Duration::from_secs(60);
    for times in 1.. {
        nodes.turn();
        match nodes.post("/1/events", batch) {
            Ok(answer) if answer.status == 200 => return times,
            Ok(answer) => panic!("{}: {}", answer.status, answer.body),
            Err(error) => assert!(Instant::now() < deadline, "not taken for a minute: {error:#}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    unreachable!("it goes on until it is answered")
}
/// Whether a file of events has these bytes in it.
fn is_found(folder: &Path, text: &[u8]) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).any(|path| {
        match path.is_dir() {
            true => is_found(&path, text),
            // one that is gone by now has nothing
            false => std::fs::read(&path).is_ok_and(|bytes| bytes.windows(text.len()).any(|it| it == text)),
        }
    })
}

/// Who has the public search key fills no disk: records are taken when events are not any more.
#[test]
fn what_is_left_of_a_disk_that_fills_up_is_for_records() {
    let dir = tempfile::tempdir().unwrap();
    let free = quorate_store::space::of(dir.path()).unwrap().free_bytes;
    let reserve = (free / 2).to_string();
    let server = Setup::new(dir.path().join("data")).option("disk-reserve-bytes", &reserve).start().unwrap();
    let client = server.client();
    let refused = client.post("/1/events", &batch("anybody", 0)).unwrap();
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(refused.message().contains("the disk fills up"), "{}", refused.message());
    client.post("/1/indexes/records", &json!({"objectID": "1"})).unwrap().success().unwrap();
    settle(&client, "records").unwrap();
}

/// Rounds of deaths: 3, or `QUORATE_EVENT_ROUNDS` for the long run.
#[test]
fn events_that_were_answered_are_kept_once_on_every_node() {
    let rounds: usize =
        std::env::var("QUORATE_EVENT_ROUNDS").map_or(3, |text| text.parse().expect("a number of rounds"));
    let mut cluster = Cluster::start(3).unwrap();
    let mut any = cluster.any();
    send(&mut any, &batch("forgotten-one", 0));
    let mut sent = BTreeMap::from([("ann", 0), ("bob", 0)]);
    for round in 0..rounds {
        let (done, nodes) = (AtomicBool::new(false), cluster.any());
        std::thread::scope(|threads| {
            for (user, steps) in &mut sent {
                let (mut nodes, done) = (nodes.clone(), &done);
                threads.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        send(&mut nodes, &batch(user, *steps));
                        *steps += 1;
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(1_000));
            cluster.kill(round % 3).unwrap();
            std::thread::sleep(Duration::from_millis(1_500));
            done.store(true, Ordering::Relaxed);
        });
        cluster.restart(round % 3).unwrap();
    }
    any = cluster.any();
    let client = &cluster.clients()[0];
    let answer = client.delete("/1/usertokens/forgotten-one").unwrap();
    assert_eq!(answer.status, 204, "{}", answer.body);
    send(&mut any, &batch("forgotten-one", 1));
    cluster.wait_settled().unwrap();
    // a start reads the log; files come of it when a node stops
    for node in 0..3 {
        cluster.stop(node).unwrap();
        let kept = kept(cluster.data_dir(node)).unwrap();
        for (user, steps) in &sent {
            for step in 0..*steps {
                for n in 0..BATCH {
                    let key = (user.to_string(), format!("{step}-{n}"));
                    assert_eq!(kept.get(&key), Some(&1), "node {node}: {key:?}");
                }
            }
        }
        let of_forgotten = kept.iter().filter(|((user, _), _)| user == "forgotten-one");
        assert!(of_forgotten.clone().all(|((_, object), times)| object.starts_with("1-") && *times == 1));
        assert_eq!(of_forgotten.count(), BATCH, "node {node}: what came later counts");
        let answered: usize = sent.values().sum();
        assert_eq!(kept.len(), (answered + 1) * BATCH, "node {node}: nothing else is there");
        cluster.restart(node).unwrap();
    }
}

#[test]
fn a_forgotten_user_is_not_to_be_found_in_files() {
    let mut cluster = Cluster::start(3).unwrap();
    let mut any = cluster.any();
    for step in 0..3 {
        send(&mut any, &batch("findme-in-files", step));
        send(&mut any, &batch("somebody", step));
    }
    cluster.wait_settled().unwrap();
    for node in 0..3 {
        cluster.stop(node).unwrap();
        assert!(
            is_found(&cluster.data_dir(node).join("events"), b"findme-in-files"),
            "{node}: it is there before"
        );
        cluster.restart(node).unwrap();
    }
    let answer = cluster.clients()[1].delete("/1/usertokens/findme-in-files").unwrap();
    assert_eq!(answer.status, 204, "{}", answer.body);
    let deadline = Instant::now() + Duration::from_secs(300);
    for node in 0..3 {
        while is_found(&cluster.data_dir(node).join("events"), b"findme-in-files") {
            assert!(Instant::now() < deadline, "node {node} still has it after five minutes");
            std::thread::sleep(Duration::from_millis(500));
        }
    }
    let user = |(user, _): &(String, String)| user.clone();
    for node in 0..3 {
        cluster.stop(node).unwrap();
        let users: Vec<String> = kept(cluster.data_dir(node)).unwrap().keys().map(user).collect();
        assert_eq!((users.len(), users.iter().all(|it| it == "somebody")), (3 * BATCH, true), "node {node}");
        cluster.restart(node).unwrap();
    }
}

/// The files of events of a node.
fn parquet_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let each = entries.map(|path| match path.is_dir() {
        true => parquet_files(&path),
        false => {
            Some(path).into_iter().filter(|path| path.extension().is_some_and(|it| it == "parquet")).collect()
        }
    });
    each.flatten().collect()
}

#[test]
fn a_damaged_file_of_events_is_fetched_from_the_others() {
    // nodes of tests check every few seconds
    let mut cluster = Cluster::start(3).unwrap();
    let mut any = cluster.any();
    for step in 0..3 {
        send(&mut any, &batch("ann", step));
    }
    cluster.wait_settled().unwrap();
    // what a node has becomes files when it stops
    cluster.stop(1).unwrap();
    cluster.restart(1).unwrap();
    let files = parquet_files(&cluster.data_dir(1).join("events"));
    assert!(!files.is_empty());
    let damaged: Vec<_> = files
        .into_iter()
        .map(|file| {
            let mut bytes = std::fs::read(&file).unwrap();
            bytes[40] ^= 0x55;
            std::fs::write(&file, &bytes).unwrap();
            (file, bytes)
        })
        .collect();
    let deadline = Instant::now() + Duration::from_secs(60);
    // what replaces a file may have another name
    let is_left =
        |(file, bytes): &&(std::path::PathBuf, Vec<u8>)| std::fs::read(file).is_ok_and(|now| now == *bytes);
    while let Some((file, _)) = damaged.iter().find(is_left) {
        let log = cluster.node(1).unwrap().log();
        assert!(Instant::now() < deadline, "{} is not mended within a minute: {log}", file.display());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(cluster.node(1).unwrap().log().contains("events, "), "it is told");
    cluster.stop(1).unwrap();
    let kept = kept(cluster.data_dir(1)).unwrap();
    assert_eq!((kept.len(), kept.values().all(|times| *times == 1)), (3 * BATCH, true));
}
