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
    cluster.check_alike().unwrap();
}
/// Asks that a node be drained, or no more, and waits until groups stand where they shall.
fn ask(cluster: &Cluster, what: &str, node: usize) {
    let path = format!("/admin/nodes/n{node}/{what}");
    let end = Instant::now() + 2 * PATIENCE;
    loop {
        let answer = cluster.any().post(&path, &json!({})).unwrap();
        if answer.status == 200 {
            break;
        }
        assert!(Instant::now() < end, "{what} n{node}: {}", answer.body);
        std::thread::sleep(Duration::from_millis(500));
    }
    let is_over = format!("n{node} is drained and can be removed");
    loop {
        let seen = cluster.any().send("GET", "/admin/cluster", &json!({})).unwrap().success().unwrap().body;
        let waits: Vec<&str> = seen["waits"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        // one that is drained keeps a copy of what all nodes know, and nothing else
        let is_drained = |text: &&str| text.ends_with("is drained and can be removed");
        if waits.iter().all(is_drained) && (what != "drain" || waits.contains(&is_over.as_str())) {
            return;
        }
        assert!(Instant::now() < end, "{what} n{node}: {waits:?}");
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[test]
fn a_metadata_store_without_room_costs_no_answered_write_and_no_group() {
    let mut cluster = Cluster::prepare(NODES).unwrap();
    let state = cluster.data_dir(ILL).join("state");
    let Some(disk) = SmallDisk::mount(&state, MOUNT_MB).unwrap() else { return };
    for node in 0..NODES {
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    let mut indices = 20;
    (0..indices).for_each(|index| write(&cluster, index));
    ask(&cluster, "drain", ILL);
    disk.fill(0).unwrap();
    let ill = cluster.clients().remove(ILL);
    while !has_failed(&ill) {
        assert!(indices < INDICES_MAX, "the store has room all the time");
        write(&cluster, indices);
        indices += 1;
    }
    let ready = ill.get("/readyz").unwrap().body;
    assert!(ready.to_string().contains("metadata store of this node has failed"), "{ready}");
    // it has room again, and stays as it is for the life of the process; every group comes to it all the same
    disk.empty().unwrap();
    ask(&cluster, "undrain", ILL);
    ask(&cluster, "drain", 1);
    write(&cluster, indices);
    indices += 1;
    check(&cluster, indices);
    // its groups go, and come again, while it is ill
    ask(&cluster, "undrain", 1);
    ask(&cluster, "drain", ILL);
    ask(&cluster, "undrain", ILL);
    check(&cluster, indices);
    assert!(has_failed(&ill));
    // it dies while all of that is in memory, and dies once more
    for _ in 0..2 {
        cluster.kill(ILL).unwrap();
        cluster.restart(ILL).unwrap();
        check(&cluster, indices);
        assert!(!has_failed(&cluster.clients()[ILL]));
    }
}
