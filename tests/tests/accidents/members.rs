//! Who may become a node, and who may be taken out? And does each side say what became of that?

use quorate_tests::client::Client;
use quorate_tests::cluster::Cluster;
use quorate_tests::wait::wait_until;
use serde_json::{Value, json};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
fn overview(client: &Client) -> Value {
    client.get("/admin/cluster").unwrap().success().unwrap().body
}
fn nodes(client: &Client) -> usize {
    overview(client)["nodes"].as_array().unwrap().len()
}

#[test]
fn a_node_that_is_given_another_application_is_refused_before_it_is_one() {
    let mut cluster = Cluster::prepare_with_founder(2).unwrap();
    cluster.spawn(0).unwrap();
    cluster.wait_up(0).unwrap();
    let client = cluster.node(0).unwrap().client();
    let right = cluster.setup_mut(1).clone();
    *cluster.setup_mut(1) = right.clone().without("app-id").option("app-id", "OTHER");
    for _ in 0..2 {
        cluster.spawn(1).unwrap();
        wait_until(PATIENCE, "it hears why", || {
            cluster.node(1).unwrap().log().contains("to the application OTHER")
        });
        std::thread::sleep(Duration::from_secs(1));
        assert_eq!(nodes(&client), 1, "{}", overview(&client));
        cluster.kill(1).unwrap();
    }
    *cluster.setup_mut(1) = right;
    cluster.spawn(1).unwrap();
    cluster.wait_up(1).unwrap();
    wait_until(PATIENCE, "the right one joins", || nodes(&client) == 2);
    cluster.wait_settled().unwrap();
}

#[test]
fn nobody_is_removed_by_force_without_whom_there_is_no_majority_and_who_is_removed_says_so() {
    let mut cluster = Cluster::start(3).unwrap();
    cluster.wait_settled().unwrap();
    let write = |cluster: &Cluster, id: u64| {
        let answer = cluster.any().post("/1/indexes/things", &json!({"objectID": format!("r{id}")})).unwrap();
        answer.success().unwrap();
    };
    write(&cluster, 0);
    cluster.kill(1).unwrap();
    let first = cluster.node(0).unwrap().client();
    wait_until(PATIENCE, "the others see that it is gone", || {
        overview(&first)["nodes"].as_array().unwrap().iter().any(|node| node["isReachable"] == false)
    });
    for _ in 0..2 {
        let refused = first.delete("/admin/nodes/n2?force=true").unwrap();
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(
            refused.message().contains("n1 does not answer: start it, or remove it first"),
            "{refused:?}"
        );
    }
    write(&cluster, 1);
    cluster.restart(1).unwrap();
    cluster.wait_settled().unwrap();
    let last = cluster.node(2).unwrap().client();
    first.delete("/admin/nodes/n2?force=true").unwrap().success().unwrap();
    wait_until(PATIENCE, "it says that it was removed", || {
        let ready = last.get("/readyz").unwrap();
        ready.status == 503 && ready.message().contains("this node was removed from the installation")
    });
    cluster.kill(2).unwrap();
    write(&cluster, 2);
    cluster.wait_count("things", 3).unwrap();
}
