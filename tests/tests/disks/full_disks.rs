//! Do two full disks of three stop writes everywhere with a reason that names them, leave reads alone, and let writes come back
//! as soon as one of them has room, with nothing lost that was answered?

use quorate_tests::client::Client;
use quorate_tests::cluster::Cluster;
use quorate_tests::disk::SmallDisk;
use quorate_tests::operators::{metric, printed};
use serde_json::{Value, json};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const MOUNT_MB: u64 = 256;
const RESERVE_MIB: u64 = 8;
/// The nodes whose disks are filled.
const FULL: [usize; 2] = [1, 2];
/// How soon every node refuses writes once two disks are full, and takes them once one has room.
const SOON: Duration = Duration::from_secs(15);
/// For how long reads are looked at meanwhile: longer than a lease lasts.
const READS: Duration = Duration::from_secs(4);
/// Writers that go on all the time.
const WRITERS: u64 = 3;

fn record(id: &str) -> Value {
    json!({"objectID": id, "title": "lamp"})
}
fn put(client: &Client, id: &str) -> Option<(u16, Value)> {
    let answer = client.put(&format!("/1/indexes/full/{id}"), &record(id)).ok()?;
    Some((answer.status, answer.body))
}

/// What was answered.
#[derive(Debug, Default)]
struct Answered(Mutex<Vec<String>>);
impl Answered {
    fn note(&self, id: String) {
        self.0.lock().unwrap().push(id);
    }
    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// Writes one record after another until it is told to stop: each at one node after another, until one of them answers.
fn write_on(clients: &[Client], writer: u64, answered: &Answered, is_over: &AtomicBool) {
    for number in 0_u64.. {
        let id = format!("w{writer}-{number}");
        for client in clients.iter().cycle().skip(number as usize % clients.len()) {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            match put(client, &id) {
                Some((200 | 201, _)) => break,
                Some((503, _)) | None => std::thread::sleep(Duration::from_millis(50)),
                Some(other) => panic!("{id}: {other:?}"),
            }
        }
        answered.note(id);
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a node refuses a write with the names of those without room. Returns how long that took.
fn wait_refused(client: &Client, answered: &Answered, names: &[&str]) -> Duration {
    let began = Instant::now();
    for number in 0.. {
        let id = format!("refused-{}-{number}", answered.count());
        match put(client, &id) {
            Some((200 | 201, _)) => answered.note(id),
            Some((503, body)) => {
                let message = body["message"].as_str().unwrap();
                if message.contains("disk is almost full") && names.iter().all(|name| message.contains(name))
                {
                    return began.elapsed();
                }
                assert!(began.elapsed() < 2 * SOON, "no reason in {message}");
            }
            other => panic!("{other:?}"),
        }
        assert!(began.elapsed() < 2 * SOON, "two full disks refuse no write");
        std::thread::sleep(Duration::from_millis(20));
    }
    unreachable!("it ends by time")
}

/// Waits until a node takes a write. Returns how long that took.
fn wait_taken(client: &Client, answered: &Answered) -> Duration {
    let began = Instant::now();
    let id = format!("taken-{}", answered.count());
    loop {
        match put(client, &id) {
            Some((200 | 201, _)) => break,
            other => assert!(began.elapsed() < SOON, "writes do not come back: {other:?}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    answered.note(id);
    began.elapsed()
}

/// Reads go on at every node.
fn check_reads(clients: &[Client]) {
    let began = Instant::now();
    while began.elapsed() < READS {
        for client in clients {
            let found = client.search("full", &json!({"query": "lamp"})).unwrap();
            assert!(found["nbHits"].as_u64().unwrap() >= 50, "{found}");
            assert_eq!(
                client.get("/1/indexes/full/first-3").unwrap().success().unwrap().body["title"],
                "lamp"
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Wherever operators look, it says that writes are refused, and why.
fn check_said(cluster: &Cluster) {
    let clients = cluster.clients();
    let overview = clients[0].get("/admin/cluster").unwrap().success().unwrap().body;
    for (node, client) in clients.iter().enumerate() {
        for path in ["/readyz", "/health", "/1/health"] {
            let ready = client.get(path).unwrap();
            assert_eq!(ready.status, 200, "it serves reads: {}", ready.body);
            assert_eq!(ready.body["writes"]["ready"], false, "n{node} {path}: {}", ready.body);
            let reasons = ready.body["writes"]["reasons"].to_string();
            assert!(reasons.contains("disk is almost full"), "n{node} {path}: {reasons}");
            assert!(FULL.contains(&node) || reasons.contains("n1, n2"), "n{node} {path}: {reasons}");
        }
        assert_eq!(client.get("/readyz?writes=true").unwrap().status, 503);
        let seen = &overview["nodes"].as_array().unwrap()[node];
        assert!(seen["writes"].to_string().contains("disk is almost full"), "n{node}: {seen}");
        for words in [&["cluster", "status"][..], &["health"]] {
            let text = printed(cluster.data_dir(node), words).unwrap();
            assert!(text.contains("disk is almost full"), "n{node} {words:?}: {text}");
        }
        assert_eq!(metric(client, "quorate_full_disks").unwrap(), 2.0, "n{node}");
        let free = metric(client, "quorate_disk_free_bytes").unwrap();
        let reserve = metric(client, "quorate_disk_reserve_bytes").unwrap();
        assert_eq!(free < reserve, FULL.contains(&node), "n{node}: {free} of {reserve}");
    }
    let refused =
        clients.iter().filter_map(|it| metric(it, r#"quorate_writes_refused_total{reason="no_room"}"#).ok());
    assert!(refused.sum::<f64>() > 0.0);
}

/// Every record that was answered is on every node, and the nodes hold the same.
fn check_everywhere(cluster: &Cluster, answered: &Answered) {
    cluster.wait_settled().unwrap();
    let ids = answered.0.lock().unwrap().clone();
    let task =
        cluster.any().post("/1/indexes/full/batch", &json!({"requests": []})).unwrap().success().unwrap();
    cluster.wait_task("full", task.task_id().unwrap()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    for (node, client) in cluster.clients().iter().enumerate() {
        loop {
            let found = client.objects("full", &ids).unwrap();
            let missing: Vec<&String> =
                ids.iter().zip(&found).filter(|(id, it)| **it != record(id)).map(|(id, _)| id).collect();
            if missing.is_empty() {
                break;
            }
            assert!(
                Instant::now() < deadline,
                "n{node} lacks {} of {}: {missing:?}",
                missing.len(),
                ids.len()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    cluster.check_alike().unwrap();
}

/// Three nodes with little room on the disks of two of them.
fn start() -> Option<(Cluster, Vec<SmallDisk>)> {
    let mut cluster = Cluster::prepare(3).unwrap();
    let mut disks = vec![];
    for node in FULL {
        let disk = SmallDisk::mount(&cluster.data_dir(node).with_extension("disk"), MOUNT_MB).unwrap()?;
        cluster.setup_mut(node).data_dir = disk.path().join("data");
        disks.push(disk);
    }
    for node in 0..3 {
        let setup = cluster.setup_mut(node);
        *setup = setup.clone().option("disk-reserve-bytes", &format!("{RESERVE_MIB}MiB"));
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    Some((cluster, disks))
}

/// Two rounds, or `QUORATE_FULL_DISKS_ROUNDS` for the long form. In the first a few MiB are left, below the reserve, in the
/// second not a byte in the end.
#[test]
fn two_full_disks_of_three_stop_writes_by_name_until_one_has_room() {
    let rounds: u64 = std::env::var("QUORATE_FULL_DISKS_ROUNDS")
        .ok()
        .map_or(2, |text| text.parse().expect("a number of rounds"));
    let Some((cluster, disks)) = start() else { return };
    let clients = cluster.clients();
    let (answered, is_over) = (Answered::default(), AtomicBool::new(false));
    for number in 0..50 {
        let id = format!("first-{number}");
        cluster.any().send("PUT", &format!("/1/indexes/full/{id}"), &record(&id)).unwrap().success().unwrap();
        answered.note(id);
    }
    cluster.wait_count("full", 50).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (clients, answered, is_over) = (&clients, &answered, &is_over);
            scope.spawn(move || write_on(clients, writer, answered, is_over));
        }
        // the writers end also when this one panics
        let _ends = Ends(&is_over);
        for round in 0..rounds {
            disks.iter().for_each(|disk| disk.fill(4 << 20).unwrap());
            let refused: Vec<Duration> =
                clients.iter().map(|client| wait_refused(client, &answered, &["n1", "n2"])).collect();
            if round % 2 == 1 {
                disks.iter().for_each(|disk| disk.fill(0).unwrap());
            }
            let before = answered.count();
            check_reads(&clients);
            check_said(&cluster);
            assert_eq!(answered.count(), before, "a write is taken without a majority that has room");
            // one of the two is enough
            let first = &disks[round as usize / 2 % 2];
            first.empty().unwrap();
            let taken: Vec<Duration> = clients.iter().map(|client| wait_taken(client, &answered)).collect();
            println!(
                "round {round}: refused after {refused:?}, taken after {taken:?}, {} answered",
                answered.count()
            );
            let other = &disks[1 - round as usize / 2 % 2];
            if round % 4 == 1 {
                // the one that caught up is filled again, and both have room at once
                first.fill(0).unwrap();
                wait_refused(&clients[0], &answered, &["n1", "n2"]);
                first.empty().unwrap();
            }
            other.empty().unwrap();
            clients.iter().for_each(|client| {
                wait_taken(client, &answered);
            });
        }
    });
    println!("{} writes were answered", answered.count());
    check_everywhere(&cluster, &answered);
}

/// Says that it is over when it is dropped.
struct Ends<'a>(&'a AtomicBool);
impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
