//! Does a node whose metadata store fails go on, take groups, leave them, and come back with everything?
//!
//! The store is on a disk of its own here, which is full, while the rest of the data folder has room.

use quorate_tests::client::Client;
use quorate_tests::cluster::Cluster;
use quorate_tests::disk::SmallDisk;
use quorate_tests::operators::metric;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const MOUNT_MB: u64 = 16;
/// One more than a group has replicas, so that a node may be drained.
const NODES: usize = 4;
/// The node whose store fails.
const ILL: usize = 2;
/// Replicas of a node that is one of three: of each placement group, and of what all nodes know.
const ALL: u64 = 17;
const PATIENCE: Duration = Duration::from_secs(60);
/// Indices that are made until the store has failed.
const INDICES_MAX: usize = 2_000;

fn record(id: usize) -> Value {
    json!({"objectID": id.to_string(), "n": id})
}
fn has_failed(client: &Client) -> bool {
    metric(client, "quorate_metadata_store_failed").unwrap() == 1.0
}
/// Writes a record into an index of that number.
fn write(cluster: &Cluster, index: usize) {
    let path = format!("/1/indexes/i{index}/{index}");
    let task = cluster.any().send("PUT", &path, &record(index)).unwrap().success().unwrap();
    cluster.wait_task(&format!("i{index}"), task.task_id().unwrap()).unwrap();
}
fn overview(cluster: &Cluster) -> Value {
    cluster.any().send("GET", "/admin/cluster", &json!({})).unwrap().success().unwrap().body
}
/// Whether the cluster waits for nothing but the removal of a node: one that is drained keeps a copy of what all nodes know alone.
fn is_drained(waits_for: &Value) -> bool {
    waits_for.as_str().unwrap().ends_with("is drained and can be removed")
}
/// Waits until the ill node has so many replicas at least.
fn until_it_has(cluster: &Cluster, replicas: u64) {
    let end = Instant::now() + 2 * PATIENCE;
    loop {
        let seen = overview(cluster);
        let ill = seen["nodes"].as_array().unwrap().iter().find(|node| node["name"] == "n2").unwrap();
        if ill["replicas"].as_u64() >= Some(replicas)
            && seen["waits"].as_array().unwrap().iter().all(is_drained)
        {
            return;
        }
        assert!(Instant::now() < end, "{} replicas: {}", ill["replicas"], seen["waits"]);
        std::thread::sleep(Duration::from_millis(500));
    }
}
/// Every record of so many indices is read at every node, and the nodes hold the same.
fn check(cluster: &Cluster, indices: usize) {
    let end = Instant::now() + PATIENCE;
    for (node, client) in cluster.clients().iter().enumerate() {
        for index in 0..indices {
            while client.objects(&format!("i{index}"), &[index.to_string()]).ok() != Some(vec![record(index)])
            {
                assert!(Instant::now() < end, "n{node} has not what was answered in i{index}");
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
    // they compare what they hold every two seconds
    std::thread::sleep(Duration::from_secs(3));
    cluster.check_alike().unwrap();
}
fn ask(cluster: &Cluster, what: &str, node: usize) {
    let end = Instant::now() + 2 * PATIENCE;
    loop {
        let answer = cluster.any().post(&format!("/admin/nodes/n{node}/{what}"), &json!({})).unwrap();
        if answer.status == 200 {
            break;
        }
        assert!(Instant::now() < end, "{what} n{node}: {}", answer.body);
        std::thread::sleep(Duration::from_millis(500));
    }
}
/// Drains a node, and waits until it holds no group any more.
fn drain(cluster: &Cluster, node: usize) {
    ask(cluster, "drain", node);
    let end = Instant::now() + 2 * PATIENCE;
    let is_over = json!(format!("n{node} is drained and can be removed"));
    loop {
        let seen = overview(cluster);
        let waits = seen["waits"].as_array().unwrap();
        if waits.contains(&is_over) && waits.iter().all(is_drained) {
            return;
        }
        assert!(Instant::now() < end, "n{node} is not drained: {waits:?}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

/// One round, or `QUORATE_FULL_STORE_ROUNDS` for the long form: in the others its groups go and come again, and it dies twice.
#[test]
fn a_metadata_store_without_room_costs_no_answered_write_and_no_group() {
    let rounds: u64 = std::env::var("QUORATE_FULL_STORE_ROUNDS")
        .ok()
        .map_or(1, |text| text.parse().expect("a number of rounds"));
    let mut cluster = Cluster::prepare(NODES).unwrap();
    let state = cluster.data_dir(ILL).join("state");
    let Some(disk) = SmallDisk::mount(&state, MOUNT_MB).unwrap() else { return };
    for node in 0..NODES {
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    let mut indices = 20;
    (0..indices).for_each(|index| write(&cluster, index));
    drain(&cluster, ILL);
    let ill = cluster.clients().remove(ILL);
    while !has_failed(&ill) {
        assert!(indices < INDICES_MAX, "the store has room all the time");
        // the store gives some back when it puts its files in order
        disk.fill(0).unwrap();
        write(&cluster, indices);
        indices += 1;
    }
    let ready = ill.get("/readyz").unwrap().body;
    assert!(ready.to_string().contains("metadata store of this node has failed"), "{ready}");
    // it has room again, and stays as it is for the life of the process; every group comes to it all the same
    disk.empty().unwrap();
    ask(&cluster, "undrain", ILL);
    drain(&cluster, 1);
    until_it_has(&cluster, ALL);
    write(&cluster, indices);
    indices += 1;
    check(&cluster, indices);
    for round in 1..rounds {
        // its groups go, and come again, while it is ill
        if round == 1 {
            ask(&cluster, "undrain", 1);
        }
        drain(&cluster, ILL);
        ask(&cluster, "undrain", ILL);
        until_it_has(&cluster, ALL / 2);
        check(&cluster, indices);
    }
    assert!(has_failed(&ill));
    // it dies while all of that is in memory, and dies once more
    for _ in 0..rounds.min(2) {
        cluster.kill(ILL).unwrap();
        cluster.restart(ILL).unwrap();
        until_it_has(&cluster, ALL / 2);
        check(&cluster, indices);
        assert!(!has_failed(&cluster.clients()[ILL]));
    }
}
