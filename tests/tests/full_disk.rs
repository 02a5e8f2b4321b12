//! Does a full disk stop writes with a reason, leave reads alone, and let writes come back?

use quorate_tests::accident::settle;
use quorate_tests::client::Client;
use quorate_tests::disk::SmallDisk;
use quorate_tests::harness::Setup;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const MOUNT_MB: u64 = 256;

fn record(n: u64) -> Value {
    json!({"objectID": format!("r{n}"), "title": "lamp", "n": n})
}

/// Fills the disk under a running server, sees writes stop and reads go on, makes room, and sees everything there.
fn check_full_disk(left_bytes: u64) {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), MOUNT_MB).unwrap() else {
        println!("skipped: mounting a small file system needs root");
        return;
    };
    // The log is on the same disk, as it often is.
    let setup = Setup::new(disk.path().join("data"))
        .log_to(disk.path().join("server.log"))
        .option("disk-reserve-bytes", "8MiB");
    let server = setup.start().unwrap();
    let client = server.client();
    for n in 0..20 {
        client.post("/1/indexes/full", &record(n)).unwrap().success().unwrap();
    }
    settle(&client, "full").unwrap();

    disk.fill(left_bytes).unwrap();
    let mut answered = 20;
    let refused = loop {
        let answer = client.post("/1/indexes/full", &record(answered)).unwrap();
        match answer.status {
            200 | 201 => answered += 1,
            _ => break answer,
        }
        assert!(answered < 20_000, "a full disk refuses no write");
    };
    assert_eq!(refused.status, 503, "{refused:?}");
    let reason = refused.message().to_lowercase();
    assert!(reason.contains("disk") || reason.contains("space"), "no reason in {refused:?}");
    for _ in 0..20 {
        let found = client.search("full", &json!({"query": "lamp"})).unwrap();
        assert!(found["nbHits"].as_u64().unwrap() >= 20);
        assert_eq!(client.get("/1/indexes/full/r3").unwrap().body["n"], 3);
        assert_eq!(client.post("/1/indexes/full", &record(answered)).unwrap().status, 503);
    }

    disk.empty().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while client.post("/1/indexes/full", &record(answered)).unwrap().status == 503 {
        assert!(Instant::now() < deadline, "writes do not come back");
        std::thread::sleep(Duration::from_millis(20));
    }
    check_records(&client, answered + 1);
    let server = server.kill().unwrap().start().unwrap();
    check_records(&server.client(), answered + 1);
}

fn check_records(client: &Client, expected: u64) {
    settle(client, "full").unwrap();
    assert_eq!(client.search("full", &json!({"query": ""})).unwrap()["nbHits"], expected);
    let ids: Vec<String> = (0..expected).map(|n| format!("r{n}")).collect();
    for (n, found) in client.objects("full", &ids).unwrap().iter().enumerate() {
        assert_eq!(*found, record(n as u64));
    }
}

#[test]
fn writes_stop_with_503_below_the_reserve_and_come_back_with_room() {
    check_full_disk(4 << 20);
}

/// Somebody else takes the last byte at once, before the node looks at the disk again.
#[test]
fn the_last_byte_taken_by_others_stops_writes_and_nothing_else() {
    check_full_disk(0);
}
