//! What happens to promises when the network between nodes breaks?

use anyhow::{Context, Result, ensure};
use quorate_tests::client::Client;
use quorate_tests::cluster::{Cluster, count_of};
use quorate_tests::network::{Cut, Network};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const INDEX: &str = "i";
/// How long a majority may take to go on after one node was cut off.
const FAILOVER: Duration = Duration::from_secs(30);

fn batch(id: &str) -> Value {
    json!({"requests": [{"action": "addObject", "body": {"objectID": id, "name": "thing"}}]})
}
/// Writes at the given nodes in turn until one of them takes it and it is published there.
fn write_and_wait(clients: &[Client], id: &str) -> Result<()> {
    let deadline = Instant::now() + FAILOVER;
    let path = format!("/1/indexes/{INDEX}/batch");
    for client in clients.iter().cycle() {
        if let Ok(answer) = client.post(&path, &batch(id))
            && answer.status == 200
        {
            return client.wait_task(INDEX, answer.task_id()?);
        }
        ensure!(Instant::now() < deadline, "{id} is not taken in time");
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
/// The node that leads the group of the index.
fn leader(client: &Client) -> Result<usize> {
    let task = client.batch(INDEX, &[("addObject", json!({"objectID": "first"}))])?;
    client.wait_task(INDEX, task)?;
    let group = task & 0xfff;
    let overview = client.get("/admin/cluster")?.success()?.body;
    let groups = overview["groups"].as_array().context("no groups")?;
    let found = groups.iter().find(|it| it["id"] == group).context("no such group")?;
    let name = found["leader"].as_str().context("no leader")?;
    Ok(name.trim_start_matches('n').parse()?)
}

/// Cuts the leader off, writes on the other side, and looks at what the cut-off node shows before and after healing.
fn cut_the_leader(network: &Network, cluster: &Cluster, how: Cut, id: &str, count: u64) -> Result<()> {
    let clients = cluster.clients();
    let leader = leader(&clients[0])?;
    let others: Vec<usize> = (0..network.hosts()).filter(|&node| node != leader).collect();
    let majority: Vec<Client> = others.iter().map(|&node| clients[node].clone()).collect();
    network.cut(leader, &others, how)?;
    write_and_wait(&majority, id)?;
    // published: whatever the cut-off node answers from now on must have it
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(3) {
        match count_of(&clients[leader], INDEX) {
            None => {}
            Some(shown) => ensure!(shown == count, "{how:?}: the cut-off node shows {shown} of {count}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    // a name that it does not know may be one that it has not heard of: the client is to ask elsewhere
    let unknown = clients[leader].post("/1/indexes/unheard/query", &json!({"query": ""}))?;
    ensure!(how != Cut::Both || unknown.status == 503, "{how:?}: {unknown:?}");
    network.heal(leader)?;
    cluster.wait_settled()?;
    cluster.wait_count(INDEX, count)
}

#[test]
fn a_node_that_is_cut_off_shows_nothing_old_and_comes_back() {
    let test = "a_node_that_is_cut_off_shows_nothing_old_and_comes_back";
    let body = |network: &Network| {
        let cluster = Cluster::start_on(network)?;
        cut_the_leader(network, &cluster, Cut::Both, "both", 2)?;
        cut_the_leader(network, &cluster, Cut::Sending, "sending", 3)
    };
    Network::run(test, 3, body).unwrap();
}

#[test]
fn writes_get_through_a_network_that_loses_packets() {
    let body = |network: &Network| {
        let cluster = Cluster::start_on(network)?;
        for host in 0..network.hosts() {
            let others: Vec<usize> = (0..network.hosts()).filter(|&other| other != host).collect();
            network.cut(host, &others, Cut::Loss(15))?;
        }
        for n in 0..20 {
            write_and_wait(&cluster.clients(), &format!("lossy{n}"))?;
        }
        for host in 0..network.hosts() {
            network.heal(host)?;
        }
        cluster.wait_settled()?;
        cluster.wait_count(INDEX, 20)
    };
    Network::run("writes_get_through_a_network_that_loses_packets", 3, body).unwrap();
}
