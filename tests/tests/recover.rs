//! Does one node go on when the majority is lost for good, and do others join it anew?

use quorate_tests::binary;
use quorate_tests::cluster::{Cluster, count_of};
use serde_json::json;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

const RECORDS: u64 = 40;

fn recover(data_dir: &Path, confirm: &[&str]) -> Output {
    let mut command = Command::new(binary::path().unwrap());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("QUORATE_")) {
        command.env_remove(name);
    }
    command.args(["cluster", "recover", "--data-dir"]).arg(data_dir).args(confirm).output().unwrap()
}

#[test]
fn one_node_goes_on_when_the_others_are_lost_for_good() {
    let mut cluster = Cluster::start(3).unwrap();
    let client = cluster.clients().remove(0);
    let indices = ["a", "b", "c"];
    for index in indices {
        let ids: Vec<String> = (0..RECORDS).map(|number| number.to_string()).collect();
        let requests: Vec<_> =
            ids.iter().map(|id| ("addObject", json!({"objectID": id, "name": "kept"}))).collect();
        let task = client.batch(index, &requests).unwrap();
        cluster.wait_task(index, task).unwrap();
    }
    let folder = cluster.data_dir(0).to_path_buf();
    let running = recover(&folder, &[]);
    assert!(!running.status.success(), "the node runs");
    for node in 0..3 {
        cluster.kill(node).unwrap();
    }

    let plan = recover(&folder, &[]);
    let text = String::from_utf8(plan.stdout).unwrap();
    assert!(plan.status.success(), "{}", String::from_utf8_lossy(&plan.stderr));
    for part in
        ["n0 would go on as the only node", "n1", "n2", "meta", "What can be lost", "--confirm TESTAPP"]
    {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let wrong = recover(&folder, &["--confirm", "OTHER"]);
    assert!(!wrong.status.success());
    let done = recover(&folder, &["--confirm", "TESTAPP"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));

    cluster.restart(0).unwrap();
    cluster.wait_settled().unwrap();
    let client = cluster.clients().remove(0);
    for index in indices {
        assert_eq!(count_of(&client, index), Some(RECORDS), "{index}");
        let task = client.batch(index, &[("addObject", json!({"objectID": "new"}))]).unwrap();
        cluster.wait_task(index, task).unwrap();
        assert_eq!(count_of(&client, index), Some(RECORDS + 1), "{index}");
    }
    let nodes = client.get("/admin/cluster").unwrap().body["nodes"].as_array().unwrap().len();
    assert_eq!(nodes, 1, "the others are gone");

    // two new nodes in the places of the lost ones, one after the other
    for (node, others) in [(1, 1), (2, 2)] {
        std::fs::remove_dir_all(cluster.data_dir(node)).unwrap();
        cluster.restart(node).unwrap();
        cluster.wait_settled().unwrap();
        let nodes = client.get("/admin/cluster").unwrap().body["nodes"].as_array().unwrap().len();
        assert_eq!(nodes, others + 1);
    }
    for client in cluster.clients() {
        for index in indices {
            assert_eq!(count_of(&client, index), Some(RECORDS + 1), "{index} on every node");
        }
    }
    // they count: the one that was left may be lost now
    cluster.kill(0).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    for index in indices {
        let path = format!("/1/indexes/{index}/batch");
        let add = json!({"requests": [{"action": "addObject", "body": {"objectID": "last"}}]});
        let task = loop {
            match cluster.any().post(&path, &add) {
                Ok(answer) => break answer.success().unwrap().task_id().unwrap(),
                Err(error) => assert!(Instant::now() < deadline, "the new nodes do not go on: {error:#}"),
            }
        };
        cluster.wait_task(index, task).unwrap();
        cluster.wait_count(index, RECORDS + 2).unwrap();
    }
}
