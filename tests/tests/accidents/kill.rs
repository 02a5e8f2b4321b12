//! Does an answered write survive kill -9 at any moment, once? And does nobody read less than what was published while a node
//! that starts again is held up?

use quorate_tests::accident::{Owner, check_search, settle};
use quorate_tests::chance;
use quorate_tests::client::{Client, Family};
use quorate_tests::cluster::{Cluster, count_of};
use quorate_tests::harness::Setup;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const OWNERS: usize = 4;
const INDEX: &str = "kill";

/// Rounds: 20, or `QUORATE_KILL_ROUNDS` for the long run.
#[test]
fn every_answered_write_survives_kill_9_once() {
    let rounds: u64 = std::env::var("QUORATE_KILL_ROUNDS")
        .ok()
        .map_or(20, |text| text.parse().expect("a number of rounds"));
    let mut chance = chance::from_environment("kill");
    let dir = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(dir.path().join("data"));
    let mut owners: Vec<Owner> = (0..OWNERS)
        .map(|number| Owner::new(&char::from(b'a' + number as u8).to_string(), INDEX, chance.split()))
        .collect();
    let server = setup.start().unwrap();
    let settings = serde_json::json!({"searchableAttributes": ["word"]});
    let task = server.client().put("/1/indexes/kill/settings", &settings).unwrap().success().unwrap();
    server.client().wait_task(INDEX, task.task_id().unwrap()).unwrap();
    setup = server.stop().unwrap();
    let mut answered = 0;
    for round in 0..rounds {
        let mut server = setup.start().unwrap();
        let clients = [Family::Service, Family::Algolia].map(|family| server.client_of(family));
        let kill_after = Duration::from_micros(5_000 + chance.below(400_000));
        std::thread::scope(|threads| {
            for (number, owner) in owners.iter_mut().enumerate() {
                let client = &clients[number % 2];
                threads.spawn(move || owner.write_until_unanswered(client).unwrap());
            }
            std::thread::sleep(kill_after);
            server.kill_now().unwrap();
        });
        setup = server.kill().unwrap();
        let server = setup.start().unwrap();
        let client = server.client();
        settle(&client, INDEX).unwrap();
        for owner in &mut owners {
            owner.check(&client).unwrap_or_else(|e| panic!("round {round}: {e}"));
            for task in owner.tasks.drain(..).rev().take(20) {
                client.wait_task(INDEX, task).unwrap();
                answered += 1;
            }
        }
        check_search(&client, INDEX, &owners, &mut chance).unwrap_or_else(|e| panic!("round {round}: {e}"));
        setup = match chance.below(3) {
            0 => server.stop().unwrap(),
            _ => server.kill().unwrap(),
        };
    }
    println!("{rounds} rounds, {answered} tasks asked for");
    assert!(answered > rounds, "too few writes were answered to show anything");
}

/// A file whose reader waits until the test gives it what was in there.
struct Withheld {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Withheld {
    /// Puts a pipe in the place of a file of a node that does not run.
    fn new(path: PathBuf) -> Withheld {
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        Withheld { path, bytes }
    }
    /// The file is there again, and who waits for it goes on.
    fn give_back(self) {
        // opened for both, a pipe waits for nobody
        let mut pipe = File::options().read(true).write(true).open(&self.path).unwrap();
        let beside = self.path.with_extension("given-back");
        std::fs::write(&beside, &self.bytes).unwrap();
        std::fs::rename(&beside, &self.path).unwrap();
        pipe.write_all(&self.bytes).unwrap();
    }
}

/// The folders of indices in a data folder.
fn index_folders(data_dir: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(data_dir.join("indices")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Writes a record and waits until it is published; the group of the index.
fn put(client: &Client, index: &str, id: &str) -> u64 {
    let task = client.put(&format!("/1/indexes/{index}/{id}"), &json!({"n": 1})).unwrap();
    let task = task.success().unwrap().task_id().unwrap();
    client.wait_task(index, task).unwrap();
    task & 0xfff
}

/// Copies an index into its own group, and waits until that is published.
fn copy(client: &Client, from: &str, to: &str) {
    let path = format!("/1/indexes/{from}/operation");
    let copied = client.post(&path, &json!({"operation": "copy", "destination": to})).unwrap();
    client.wait_task(to, copied.success().unwrap().task_id().unwrap()).unwrap();
}

/// All groups, as a node sees them.
fn groups(client: &Client) -> Vec<Value> {
    client.get("/admin/cluster").unwrap().body["groups"].as_array().unwrap().clone()
}

/// The replicas that a node has: of one group, and of all others.
fn replicas_of(client: &Client, node: &str, group: u64) -> (Value, Vec<Value>) {
    let (own, others): (Vec<Value>, Vec<Value>) =
        groups(client).into_iter().partition(|it| it["id"] == group);
    let of_node =
        |it: &Value| it["replicas"].as_array().unwrap().iter().find(|it| it["node"] == node).unwrap().clone();
    (of_node(&own[0]), others.iter().map(of_node).collect())
}

/// How long a node is held up: its leases come within a second or two.
const HELD_UP: Duration = Duration::from_secs(4);
/// How long what nothing holds up may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Within this time of its first write a shard is not durable.
const NOT_DURABLE: Duration = Duration::from_secs(4);

/// A node that follows starts again, and the replay of one group waits for a file before it hands over anything. The metadata store
/// knows all of it already: it was ahead of the shards when the node died.
#[test]
fn a_follower_whose_replay_is_held_up_shows_nothing_old_and_holds_up_no_other_group() {
    let mut cluster = Cluster::prepare(3).unwrap();
    for node in 0..3 {
        // comparisons are entries, which the metadata store would not know
        let setup = cluster.setup_mut(node);
        *setup = setup.clone().without("check-every-s").option("check-every-s", "3600");
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    let client = cluster.clients().remove(0);
    let before = [0, 1, 2].map(|node| index_folders(cluster.data_dir(node)));
    let group = put(&client, "held", "first");
    let leader = groups(&client).into_iter().find(|it| it["id"] == group).unwrap()["leader"].clone();
    let victim = (1..3).find(|node| leader != format!("n{node}")).unwrap();
    let made: Vec<PathBuf> =
        index_folders(cluster.data_dir(victim)).difference(&before[victim]).cloned().collect();
    let [folder] = &made[..] else { panic!("{made:?}") };
    // in the same group; what is copied becomes durable
    copy(&client, "held", "read");
    copy(&client, "held", "source");
    let others: Vec<String> = (0..8).map(|number| format!("other{number}")).collect();
    for index in &others {
        put(&client, index, "first");
    }

    let mut published = 1;
    loop {
        let begun = Instant::now();
        put(&client, "held", &format!("late{published}"));
        assert_eq!(put(&client, "read", &format!("late{published}")), group);
        published += 1;
        // what the metadata store knows is written out at once with a new index
        copy(&client, "source", &format!("new{published}"));
        cluster.kill(victim).unwrap();
        if begun.elapsed() < NOT_DURABLE {
            break;
        }
        assert!(published < 6, "this machine is too slow");
        cluster.restart(victim).unwrap();
        cluster.wait_settled().unwrap();
    }
    let withheld = Withheld::new(folder.join("0/shard.manifest"));
    cluster.spawn(victim).unwrap();
    cluster.wait_listening(victim).unwrap();
    check_held_up(&cluster, victim, group, published, &others);
    withheld.give_back();
    cluster.wait_up(victim).unwrap();
    cluster.wait_settled().unwrap();
    for index in ["held", "read"] {
        cluster.wait_count(index, published).unwrap();
    }
}

/// The node answers with what was published, and does not serve the group itself; that and writes are as ever in all others.
fn check_held_up(cluster: &Cluster, victim: usize, group: u64, published: u64, others: &[String]) {
    let (client, begun) = (cluster.node(victim).unwrap().client(), Instant::now());
    let mut answers = 0;
    while begun.elapsed() < HELD_UP {
        if let Some(found) = count_of(&client, "read") {
            assert_eq!(found, published, "{:?} after the start", begun.elapsed());
            answers += 1;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(answers > 0, "other nodes answer for this one");
    let name = format!("n{victim}");
    let (held, _) = replicas_of(&client, &name, group);
    assert!(held["applied"].as_u64() < held["committed"].as_u64(), "nothing holds it up: {held}");
    assert_eq!(held["hasLease"], false, "{held}");
    // of every other group it serves reads itself, and what is written is published
    loop {
        let (_, others) = replicas_of(&client, &name, group);
        if others.len() > 8 && others.iter().all(|it| it["hasLease"] == true) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{others:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    for index in others {
        let task = client.put(&format!("/1/indexes/{index}/second"), &json!({"n": 1})).unwrap();
        let task = task.success().unwrap().task_id().unwrap();
        if task & 0xfff != group {
            client.wait_task(index, task).unwrap();
            assert_eq!(count_of(&client, index), Some(2), "{index}");
        }
    }
    let (held, _) = replicas_of(&client, &name, group);
    assert!(held["applied"].as_u64() < held["committed"].as_u64(), "it goes on too early: {held}");
}
