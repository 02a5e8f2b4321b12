//! Does a load that rotates over many indices, with writes, reads, settings and deletions, end a node or lose a write?

use quorate_tests::chance::Chance;
use quorate_tests::client::Client;
use quorate_tests::cluster::Cluster;
use quorate_tests::harness::Setup;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const WRITERS: usize = 4;
const READERS: usize = 6;
/// Records that a writer has in an index.
const RECORDS: u64 = 8;
/// Indices that are deleted and made again, beside the others.
const SHORT_LIVED: usize = 20;

/// How much of it: seconds and indices. `QUORATE_ROTATION_SECONDS` for the long run, which has 1,000 indices.
fn scale() -> (Duration, usize) {
    match std::env::var("QUORATE_ROTATION_SECONDS") {
        Ok(text) => (Duration::from_secs(text.parse().expect("a number of seconds")), 1_000),
        Err(_) => (Duration::from_secs(8), 80),
    }
}

/// The load, and what it has done.
struct Load {
    indices: usize,
    ended: AtomicBool,
    writes: AtomicU64,
    reads: AtomicU64,
    changes: AtomicU64,
    refused: AtomicU64,
}

/// What a writer was told of its records: the version of each, 0 = deleted. Without an answer two versions are possible.
type Known = BTreeMap<(usize, u64), Vec<u64>>;

impl Load {
    fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
    fn name(&self, number: usize) -> String {
        format!("r{}", number % self.indices)
    }

    /// Puts and deletes its own records, index after index.
    fn write(&self, writer: usize, client: &Client, chance: &mut Chance) -> Known {
        let mut known = Known::new();
        for step in 1_u64.. {
            if self.is_over() {
                return known;
            }
            let index = (step as usize * 5 + writer) % self.indices;
            let number = chance.below(RECORDS);
            let path = format!("/1/indexes/{}/w{writer}-{number}", self.name(index));
            let (version, answer) = match chance.below(5) {
                0 => (0, client.delete(&path)),
                _ => (
                    step,
                    client.put(&path, &json!({"v": step, "kind": step % 7, "text": "a rotating lamp"})),
                ),
            };
            let versions = known.entry((index, number)).or_insert_with(|| vec![0]);
            if answer.is_ok_and(|answer| answer.status < 300) {
                *versions = vec![version];
                self.writes.fetch_add(1, Ordering::Relaxed);
            } else {
                versions.push(version);
                self.refused.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        known
    }

    fn read(&self, reader: usize, client: &Client) {
        for step in 0_usize.. {
            if self.is_over() {
                return;
            }
            let path = format!("/1/indexes/{}/query", self.name(step * 7 + reader));
            let asked = json!({"query": if step % 2 == 0 { "lamp" } else { "" }, "facets": ["kind"]});
            if client.post(&path, &asked).is_ok() {
                self.reads.fetch_add(1, Ordering::Relaxed);
            } else {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// Settings that need other files, deletions by a query that wait for them, and indices that come and go.
    fn change(&self, client: &Client, chance: &mut Chance) {
        for step in 0_usize.. {
            if self.is_over() {
                return;
            }
            let steady = format!("/1/indexes/{}", self.name(step * 11));
            let short = format!("/1/indexes/s{}", chance.below(SHORT_LIVED as u64));
            let answer = match chance.below(6) {
                0 => client.put(&format!("{steady}/settings"), &json!({"searchableAttributes": ["text"]})),
                1 => client.put(&format!("{steady}/settings"), &json!({"attributesForFaceting": ["kind"]})),
                2 => {
                    let settings = json!({"attributesForFaceting": ["kind"], "customRanking": ["desc(v)"]});
                    client.put(&format!("{short}/settings"), &settings)
                }
                3 => client.delete(&short),
                4 => client.post(&format!("{short}/deleteByQuery"), &json!({"params": "numericFilters=v<5"})),
                _ => {
                    let adds: Vec<Value> = (0..10)
                        .map(|v| json!({"action": "addObject", "body": {"objectID": format!("{v}"), "v": v, "kind": v % 3}}))
                        .collect();
                    client.post(&format!("{short}/batch"), &json!({"requests": adds}))
                }
            };
            if answer.is_ok() {
                self.changes.fetch_add(1, Ordering::Relaxed);
            } else {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// Runs the load over these clients; what each writer knows then.
fn run(name: &str, clients: &[Client], still_runs: impl FnMut() -> bool) -> (usize, Vec<Known>) {
    let mut still_runs = still_runs;
    let mut chance = Chance::from_environment(name);
    let (time, indices) = scale();
    let zero = AtomicU64::default;
    let load = Load {
        indices,
        ended: AtomicBool::new(false),
        writes: zero(),
        reads: zero(),
        changes: zero(),
        refused: zero(),
    };
    let client = |number: usize| clients[number % clients.len()].clone();
    let known = std::thread::scope(|threads| {
        let load = &load;
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let (client, mut chance) = (client(writer), chance.split());
                threads.spawn(move || load.write(writer, &client, &mut chance))
            })
            .collect();
        for reader in 0..READERS {
            let client = client(reader);
            threads.spawn(move || load.read(reader, &client));
        }
        let (changer, mut chance) = (client(0), chance.split());
        threads.spawn(move || load.change(&changer, &mut chance));
        let until = Instant::now() + time;
        while Instant::now() < until && still_runs() {
            std::thread::sleep(Duration::from_millis(50));
        }
        load.ended.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().expect("a writer")).collect()
    });
    let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
    println!(
        "{name}: {} writes ({} without an answer), {} reads, {} changes on {indices} indices in {time:?}",
        count(&load.writes),
        count(&load.refused),
        count(&load.reads),
        count(&load.changes),
    );
    assert!(still_runs(), "a node ended");
    assert!(count(&load.writes) > 100 && count(&load.reads) > 100 && count(&load.changes) > 10);
    (indices, known)
}

/// Every record is what its writer was told.
fn check(client: &Client, known: &[Known], indices: usize) {
    for (writer, known) in known.iter().enumerate() {
        for index in 0..indices {
            let ids: Vec<String> = (0..RECORDS).map(|number| format!("w{writer}-{number}")).collect();
            if !known.keys().any(|(it, _)| *it == index) {
                continue;
            }
            let found = client.objects(&format!("r{index}"), &ids).unwrap();
            for (number, record) in (0..RECORDS).zip(found) {
                let version = record["v"].as_u64().unwrap_or(0);
                let allowed = known.get(&(index, number)).cloned().unwrap_or_else(|| vec![0]);
                assert!(
                    allowed.contains(&version),
                    "r{index} {}: {version}, not {allowed:?}",
                    ids[number as usize]
                );
            }
        }
    }
}

/// Waits until everything that was answered is published: one more write to each index, and its task.
fn settle(client: &Client, indices: usize) {
    let last: Vec<(String, u64)> = (0..indices)
        .map(|index| {
            let name = format!("r{index}");
            let task = client.batch(&name, &[("addObject", json!({"objectID": "last", "v": 1}))]).unwrap();
            (name, task)
        })
        .collect();
    for (name, task) in last {
        client.wait_task(&name, task).unwrap();
    }
}

/// No thread has panicked and no group stands still.
fn check_health(client: &Client) {
    let text = client.get("/metrics").unwrap().body;
    let text = text.as_str().expect("a text");
    let panics = text.lines().find_map(|line| line.strip_prefix("quorate_panics_total "));
    assert_eq!(panics, Some("0"), "panics");
    let overview = client.get("/admin/cluster").unwrap().body;
    assert!(!overview.to_string().contains("stands still"), "{overview}");
}

#[test]
fn a_load_that_rotates_over_many_indices_ends_no_node() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Setup::new(dir.path().join("data")).option("log-level", "warn").start().unwrap();
    let client = server.client();
    let (indices, known) = run("rotation", std::slice::from_ref(&client), || server.is_running());
    check_health(&client);
    settle(&client, indices);
    check(&client, &known, indices);
    assert!(!server.log().contains("panicked"), "{}", server.log());
    // and once more from what is on the disk
    let server = server.kill().unwrap().start().unwrap();
    check(&server.client(), &known, indices);
}

#[test]
fn a_load_that_rotates_over_three_nodes_ends_none_of_them() {
    let mut cluster = Cluster::start(3).unwrap();
    let clients: Vec<Client> = cluster.clients();
    let (indices, known) = run("rotation on three", &clients, || cluster.all_run());
    settle(&clients[0], indices);
    for client in &clients {
        check_health(client);
        check(client, &known, indices);
    }
}
