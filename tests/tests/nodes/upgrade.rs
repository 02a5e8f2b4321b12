//! Are nodes upgraded one after another, with newer commands in use only when all know them?
//!
//! `--command-level` makes an older program of the one under test: it announces, takes and knows no newer commands. Those of
//! the mapping of users are of level 2.

use quorate_tests::client::{Client, Family};
use quorate_tests::cluster::{Cluster, count_of};
use quorate_tests::harness::{ADMIN_KEY, APP_ID, Setup};
use quorate_tests::wait::wait_until;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(90);

/// The level of the program under test.
const NEWEST: u64 = quorate_model::level::NEWEST as u64;
fn overview(client: &Client) -> Value {
    client.get("/admin/cluster").unwrap().success().unwrap().body
}
/// Whether the mapping of users is in use, as a node sees it.
fn maps_users(client: &Client) -> bool {
    client.get("/1/clusters/mapping").unwrap().status == 200
}

/// Writes and searches through all nodes while `work` is done; every call must succeed at some node.
fn busy(cluster: &mut Cluster, name: &str, work: impl FnOnce(&mut Cluster)) {
    let (client, is_over) = (cluster.any(), AtomicBool::new(false));
    std::thread::scope(|threads| {
        let writer = threads.spawn(|| {
            let (mut client, mut written) = (client.clone(), 0);
            while !is_over.load(Ordering::Relaxed) {
                client.turn();
                let record = json!({"objectID": format!("{name}{written}"), "name": "thing"});
                let requests = json!({"requests": [{"action": "addObject", "body": record}]});
                client.post("/1/indexes/i/batch", &requests).unwrap().success().unwrap();
                client.post("/1/indexes/i/query", &json!({"query": "thing"})).unwrap().success().unwrap();
                written += 1;
            }
            written
        });
        work(cluster);
        is_over.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 0, "nothing was written meanwhile");
    });
}

#[test]
fn newer_commands_wait_for_the_last_node_and_a_node_that_goes_back_stands_still() {
    let mut cluster = Cluster::prepare(3).unwrap();
    let new: Vec<Setup> = (0..3)
        .map(|node| {
            let setup = cluster.setup_mut(node);
            setup.arguments.push("--multi-cluster".into());
            setup.clone()
        })
        .collect();
    let old = |node: usize| new[node].clone().option("command-level", "1");
    for node in 0..3 {
        *cluster.setup_mut(node) = old(node);
        cluster.spawn(node).unwrap();
    }
    cluster.wait_ready().unwrap();
    let task = cluster.clients()[0].batch("i", &[("addObject", json!({"objectID": "first"}))]).unwrap();
    cluster.wait_task("i", task).unwrap();

    // two of three, one after the other, with clients at work
    for node in [2, 0] {
        busy(&mut cluster, &format!("while{node}"), |cluster| cluster.stop(node).unwrap());
        *cluster.setup_mut(node) = new[node].clone();
        cluster.restart(node).unwrap();
        cluster.wait_settled().unwrap();
        let client = cluster.node(node).unwrap().client();
        let announced = || overview(&client)["nodes"][named(&overview(&client), node)]["level"] == NEWEST;
        wait_until(PATIENCE, "the new level is announced", announced);
        assert_eq!(overview(&client)["level"], 1, "one node is old");
        assert!(!cluster.clients().iter().any(maps_users), "a command that one node does not know is used");
    }

    // the last one, while a node that is new already does not hear of it
    cluster.kill(2).unwrap();
    cluster.stop(1).unwrap();
    *cluster.setup_mut(1) = new[1].clone();
    cluster.restart(1).unwrap();
    let client = cluster.node(1).unwrap().client();
    wait_until(PATIENCE, "newer commands are used", || maps_users(&client));
    assert_eq!(overview(&client)["level"], NEWEST);

    // it comes back with the older program: what it does not know it does not pass over
    *cluster.setup_mut(2) = old(2);
    cluster.spawn(2).unwrap();
    let address = cluster.data_dir(2).join("address");
    wait_until(PATIENCE, "the old program listens", || {
        std::fs::read_to_string(&address).is_ok_and(|it| it.ends_with('\n'))
    });
    let address = std::fs::read_to_string(&address).unwrap();
    let backward = Client::new(address.trim(), Family::Service, APP_ID, ADMIN_KEY);
    let mut said = String::new();
    wait_until(PATIENCE, "the old program stands still", || {
        let answer = backward.get("/readyz").unwrap();
        said = answer.body.to_string();
        answer.status == 503 && said.contains("stands still")
    });
    // which of the newer commands came first differs: users are mapped, replicas compared
    assert!(said.contains("this node knows commands up to 1: start a newer version"), "{said}");
    assert!(!maps_users(&backward));
    cluster.kill(2).unwrap();

    // and goes on with the newer one
    *cluster.setup_mut(2) = new[2].clone();
    cluster.restart(2).unwrap();
    cluster.wait_settled().unwrap();
    let client = cluster.node(2).unwrap().client();
    wait_until(PATIENCE, "the newer program goes on", || maps_users(&client));
    let counts: Vec<_> = cluster.clients().iter().map(|client| count_of(client, "i")).collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");

    // now it knows, and does not even start
    cluster.stop(2).unwrap();
    let (status, log) = old(2).run_to_end().unwrap();
    assert!(
        !status.success() && log.contains(&format!("uses commands of level {NEWEST}")),
        "{status}: {log}"
    );
}

/// Where a node stands in the list of nodes.
fn named(overview: &Value, node: usize) -> usize {
    let nodes = overview["nodes"].as_array().unwrap();
    nodes.iter().position(|it| it["name"] == format!("n{node}")).unwrap()
}
