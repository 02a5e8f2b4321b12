//! Does a full disk stop writes with a reason, leave reads alone, and let writes come back? And does that of one of three stop
//! nobody, whether it leads or follows?

use quorate_tests::accident::settle;
use quorate_tests::client::{Client, Family};
use quorate_tests::cluster::Cluster;
use quorate_tests::disk::SmallDisk;
use quorate_tests::harness::{APP_ID, Setup};
use quorate_tests::operators::{metric, printed};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const MOUNT_MB: u64 = 256;

fn record(n: u64) -> Value {
    json!({"objectID": format!("r{n}"), "title": "lamp", "n": n})
}

/// Fills the disk under a running server, sees writes stop and reads go on, makes room, and sees everything there.
fn check_full_disk(left_bytes: u64) {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), MOUNT_MB).unwrap() else { return };
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

/// A shortage that passes within a moment refuses nobody; one that stays refuses at once.
#[test]
fn a_write_waits_a_moment_for_room() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = SmallDisk::mount(folder.path(), MOUNT_MB).unwrap() else { return };
    let setup = Setup::new(disk.path().join("data"))
        .log_to(folder.path().join("server.log"))
        .option("disk-reserve-bytes", "8MiB");
    let server = setup.start().unwrap();
    let client = server.client();
    client.post("/1/indexes/full", &record(0)).unwrap().success().unwrap();
    for n in 1..4 {
        disk.fill(4 << 20).unwrap();
        // until the node has looked at its disk
        std::thread::sleep(Duration::from_millis(250));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(500));
                disk.empty().unwrap();
            });
            let start = Instant::now();
            let answer = client.post("/1/indexes/full", &record(n)).unwrap();
            assert!(answer.status < 300, "{answer:?}");
            assert!(
                start.elapsed() > Duration::from_millis(400),
                "the write did not wait: {:?}",
                start.elapsed()
            );
        });
    }
    disk.fill(4 << 20).unwrap();
    std::thread::sleep(Duration::from_millis(250));
    assert_eq!(client.post("/1/indexes/full", &record(4)).unwrap().status, 503);
    let start = Instant::now();
    assert_eq!(client.post("/1/indexes/full", &record(4)).unwrap().status, 503);
    assert!(start.elapsed() < Duration::from_secs(1), "a lasting shortage: {:?}", start.elapsed());
    disk.empty().unwrap();
    check_records(&client, 4);
}

/// Where operators look, everything says it while writes are still taken.
#[test]
fn that_the_disk_fills_up_is_said_before_writes_stop() {
    let folder = tempfile::tempdir().unwrap();
    let with_reserve = |bytes: u64| {
        Setup::new(folder.path()).option("disk-reserve-bytes", &bytes.to_string()).start().unwrap()
    };
    let warning = "the disk fills up: ";
    let server = with_reserve(0);
    let free = metric(&server.client(), "quorate_disk_free_bytes").unwrap() as u64;
    let ready = server.client().get("/readyz").unwrap().body;
    assert!(!ready.to_string().contains(warning), "{ready}");
    server.stop().unwrap();

    // half of what is free: whatever else this machine does, between one and three times of it are left
    let reserve = free / 2;
    let server = with_reserve(reserve);
    let client = server.client();
    for path in ["/readyz", "/health", "/1/health"] {
        let ready = client.get(path).unwrap();
        assert_eq!(
            (ready.status, &ready.body["writes"]["ready"]),
            (200, &Value::Bool(true)),
            "{}",
            ready.body
        );
        assert!(ready.body["warnings"].to_string().contains(warning), "{path}: {}", ready.body);
    }
    let overview = client.get("/admin/cluster").unwrap().body;
    assert!(overview["nodes"][0]["warnings"].to_string().contains(warning), "{overview}");
    for words in [&["cluster", "status"][..], &["health"]] {
        let text = printed(folder.path(), words).unwrap();
        assert!(text.contains(warning), "{words:?}: {text}");
    }
    assert_eq!(metric(&client, "quorate_disk_reserve_bytes").unwrap(), reserve as f64);
    let left = metric(&client, "quorate_disk_free_bytes").unwrap()
        - metric(&client, "quorate_disk_claimed_bytes").unwrap();
    assert!((reserve as f64..3.0 * reserve as f64).contains(&left), "{left} of {reserve}");
    client.post("/1/indexes/full", &record(0)).unwrap().success().unwrap();
}

/// The node whose disk is filled.
const FULL: usize = 2;

/// Hands every group to `leads`, and looks until they are there.
fn hand_over(cluster: &Cluster, leads: impl Fn(usize) -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let names: Vec<String> =
        (0..cluster.len()).filter(|&node| leads(node)).map(|n| format!("n{n}")).collect();
    loop {
        let client = cluster.any();
        let overview = client.send("GET", "/admin/cluster", &Value::Null).unwrap().body;
        let groups = overview["groups"].as_array().unwrap();
        let elsewhere = groups.iter().filter(|group| names.iter().all(|name| group["leader"] != **name));
        let elsewhere: Vec<&Value> = elsewhere.map(|group| &group["id"]).collect();
        if elsewhere.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "groups {elsewhere:?} are not led by {names:?}");
        for (number, group) in elsewhere.into_iter().enumerate() {
            let to = json!({"node": names[number % names.len()]});
            // one that is being handed over already is looked at again
            let _refused = client.post(&format!("/admin/groups/{group}/leader"), &to);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Every node has all of them, and the same.
fn check_everywhere(cluster: &Cluster, written: u64) {
    cluster.wait_settled().unwrap();
    cluster.wait_count("full", written).unwrap();
    cluster.clients().iter().for_each(|client| check_records(client, written));
    cluster.check_alike().unwrap();
}

/// Three nodes, one of which has a small disk.
fn start() -> Option<(Cluster, SmallDisk)> {
    let mut cluster = Cluster::prepare(3).unwrap();
    let disk = SmallDisk::mount(&cluster.data_dir(FULL).with_extension("disk"), MOUNT_MB).unwrap()?;
    cluster.setup_mut(FULL).data_dir = disk.path().join("data");
    for node in 0..3 {
        let setup = cluster.setup_mut(node);
        *setup = setup.clone().option("disk-reserve-bytes", "8MiB");
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    Some((cluster, disk))
}

/// Fills the disk of one member, kills it, starts it on the full disk, and makes room.
fn check_full_member(leads: bool) {
    let Some((mut cluster, disk)) = start() else { return };
    let mut written = 0;
    // as clients do: to any node, and to the next one when that has no room
    let write = |cluster: &Cluster, written: &mut u64, count: u64| {
        let mut client = cluster.any();
        for _ in 0..count {
            client.turn();
            let began = Instant::now();
            while client.post("/1/indexes/full", &record(*written)).is_err() {
                assert!(began.elapsed() < Duration::from_secs(60), "nobody takes a write");
                std::thread::sleep(Duration::from_millis(20));
            }
            *written += 1;
        }
    };
    write(&cluster, &mut written, 50);
    hand_over(&cluster, |node| (node == FULL) == leads);

    disk.fill(0).unwrap();
    write(&cluster, &mut written, 150);
    cluster.any().post("/1/indexes/full", &record(written)).unwrap().success().unwrap();
    written += 1;
    // the others show what they answered, whoever led before
    let deadline = Instant::now() + Duration::from_secs(60);
    for node in (0..3).filter(|&node| node != FULL) {
        let client = cluster.node(node).unwrap().client();
        while client.search("full", &json!({"query": ""})).unwrap()["nbHits"] != written {
            assert!(Instant::now() < deadline, "n{node} does not show what was answered");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    // it says so itself, and the others say it of it
    let client = cluster.node(FULL).unwrap().client();
    let ready = client.get("/readyz").unwrap();
    // where it led the meta group another node does now, and it may lack what that decided
    let may_lack = |body: &Value| leads && body.to_string().contains("may lack what others have decided");
    assert!(ready.status == 200 || may_lack(&ready.body), "it serves reads: {}", ready.body);
    assert_eq!(ready.body["writes"]["ready"], false, "{}", ready.body);
    assert!(ready.body["writes"]["reasons"].to_string().contains("disk"), "{}", ready.body);
    assert_eq!(client.get("/readyz?writes=true").unwrap().status, 503);
    assert!(metric(&client, "quorate_disk_free_bytes").unwrap() < f64::from(8 << 20));
    let found = client.post("/1/indexes/full/query", &json!({"query": "lamp"})).unwrap();
    assert!(found.body["nbHits"].as_u64() >= Some(50) || may_lack(&found.body), "{found:?}");
    let overview = cluster.node(0).unwrap().client().get("/admin/cluster").unwrap().body;
    let nodes = overview["nodes"].as_array().unwrap();
    let full = nodes.iter().find(|node| node["name"] == format!("n{FULL}")).unwrap();
    assert!(full["diskFreeBytes"].as_u64().unwrap() < 8 << 20, "{full}");

    // killed while its disk is full: without a byte it says why it does not start, with a few MiB it serves
    cluster.kill(FULL).unwrap();
    write(&cluster, &mut written, 50);
    disk.fill(0).unwrap();
    let (status, log) = cluster.setup_mut(FULL).clone().run_to_end().unwrap();
    assert!(!status.success() && log.contains("No space left on device"), "{status}: {log}");
    disk.fill(4 << 20).unwrap();
    cluster.restart(FULL).unwrap();
    write(&cluster, &mut written, 50);
    disk.empty().unwrap();
    check_everywhere(&cluster, written);
    // and once more: the recovery is no different from the first one
    disk.fill(0).unwrap();
    write(&cluster, &mut written, 20);
    cluster.kill(FULL).unwrap();
    disk.empty().unwrap();
    cluster.restart(FULL).unwrap();
    write(&cluster, &mut written, 20);
    check_everywhere(&cluster, written);
}

#[test]
fn a_leader_whose_disk_is_full_stops_nobody_and_comes_back() {
    check_full_member(true);
}

#[test]
fn a_follower_whose_disk_is_full_stops_nobody_and_comes_back() {
    check_full_member(false);
}

/// How long a deleted key lets somebody in at most, with some slack for a slow machine (SECURITY.md: a second).
const SOON: Duration = Duration::from_secs(2);

/// What was decided while its log has no room a node can only ask for; when that fails, too, it lets nobody in instead of going by
/// what it knew.
#[test]
fn a_node_whose_disk_is_full_goes_by_no_key_that_was_deleted() {
    let Some((cluster, disk)) = start() else { return };
    let (first, full) = (cluster.node(0).unwrap().client(), cluster.node(FULL).unwrap().client());
    first.post("/1/indexes/full", &record(0)).unwrap().success().unwrap();
    cluster.wait_count("full", 1).unwrap();
    hand_over(&cluster, |node| node != FULL);
    let new_key = || {
        let made = first.post("/1/keys", &json!({"acl": ["search"]})).unwrap().success().unwrap();
        made.body["key"].as_str().unwrap().to_owned()
    };
    let search = |key: &str| {
        let client = Client::new(full.address(), Family::Algolia, APP_ID, key);
        client.post("/1/indexes/full/query", &json!({"hitsPerPage": 0})).unwrap()
    };
    let wait_for = |key: &str, status: u16| {
        let deadline = Instant::now() + Duration::from_secs(30);
        while search(key).status != status {
            assert!(Instant::now() < deadline, "{:?} and not {status}", search(key));
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    for round in 0..2 {
        let old = new_key();
        wait_for(&old, 200);
        disk.fill(0).unwrap();
        // until its log takes nothing any more
        let deadline = Instant::now() + Duration::from_secs(30);
        while full.get("/readyz").unwrap().status != 503 {
            assert!(Instant::now() < deadline, "round {round}: its log has room");
            // what is allocated of the log in advance is used up
            let big = json!({"objectID": "big", "text": "lamp ".repeat(19_000)});
            first.post("/1/indexes/full", &big).unwrap().success().unwrap();
            search(&old);
            disk.fill(0).unwrap();
        }
        first.delete("/1/indexes/full/big").unwrap().success().unwrap();
        first.delete(&format!("/1/keys/{old}")).unwrap().success().unwrap();
        let (deleted, new) = (Instant::now(), new_key());
        while deleted.elapsed() < 2 * SOON {
            for key in [&old, &new] {
                let (asked, answer) = (Instant::now(), search(key));
                let is_soon = asked.duration_since(deleted) < SOON;
                // that a key is deleted, or new, is known nowhere at once; here it is not known at all
                let is_expected = answer.status == 503 || is_soon && [200, 403].contains(&answer.status);
                assert!(is_expected, "round {round}, {:?} after it: {answer:?}", asked - deleted);
                assert!(asked.elapsed() < 2 * SOON, "round {round}: after {:?}", asked.elapsed());
            }
            disk.fill(0).unwrap();
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(search(&old).status, 503, "round {round}");
        assert_eq!(full.get("/readyz").unwrap().status, 503, "a balancer is to leave it out");
        // nobody waits for it
        let asked = Instant::now();
        first.post("/1/indexes/full", &record(1)).unwrap().success().unwrap();
        assert_eq!(full.put("/1/indexes/other/a", &record(2)).unwrap().status, 503);
        assert!(asked.elapsed() < 3 * SOON, "after {:?}", asked.elapsed());
        disk.empty().unwrap();
        wait_for(&old, 403);
        wait_for(&new, 200);
    }
    check_everywhere(&cluster, 2);
}
