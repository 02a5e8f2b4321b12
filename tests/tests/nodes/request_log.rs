//! Does any node say which calls all of them answered, also when one is dead or silent, and over kill -9?

use quorate_tests::client::Client;
use quorate_tests::cluster::Cluster;
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// How long the nodes may take to find each other again.
const PATIENCE: Duration = Duration::from_secs(60);
/// What an answer may take when a node is silent: 2 s for its answer, and what a busy machine adds.
const BOUND: Duration = Duration::from_secs(10);

/// Notes a call, named by its query string.
fn call(client: &Client, name: &str) {
    let answer = client.get(&format!("/1/indexes/none?mark={name}")).unwrap();
    assert_eq!(answer.status, 404);
}
/// The entries of such calls, as a node lists them.
fn listed(client: &Client) -> Vec<Value> {
    let asked = Instant::now();
    let answer = client.get("/1/logs?length=1000&type=error").unwrap().success().unwrap();
    assert!(asked.elapsed() < BOUND, "{:?}", asked.elapsed());
    let logs = answer.body["logs"].as_array().unwrap().clone();
    let is_marked = |entry: &Value| entry["url"].as_str().unwrap().contains("mark=");
    logs.into_iter().filter(is_marked).collect()
}
fn names(entries: &[Value]) -> BTreeSet<String> {
    entries.iter().map(|entry| entry["query_params"].as_str().unwrap().replace("mark=", "")).collect()
}
/// Waits until a node lists these calls and no others.
fn wait_listed(client: &Client, expected: &BTreeSet<String>) {
    let since = Instant::now();
    while names(&listed(client)) != *expected {
        assert!(since.elapsed() < PATIENCE, "{:?} instead of {expected:?}", names(&listed(client)));
        std::thread::sleep(Duration::from_millis(50));
    }
}
/// Waits until a node has written a call to its files.
fn wait_written(cluster: &Cluster, node: usize, name: &str) {
    let since = Instant::now();
    let is_written = || {
        let files = [0, 1].map(|number| cluster.data_dir(node).join(format!("request-log.{number}")));
        let contents = files.iter().filter_map(|file| std::fs::read(file).ok());
        contents.into_iter().any(|bytes| bytes.windows(name.len()).any(|part| part == name.as_bytes()))
    };
    while !is_written() {
        assert!(since.elapsed() < PATIENCE, "{name} is not written");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn any_node_lists_what_all_answered_over_deaths_and_restarts() {
    let mut cluster = Cluster::start(3).unwrap();
    let mut expected = BTreeSet::new();
    for round in 0..3 {
        for (node, client) in cluster.clients().iter().enumerate() {
            call(client, &format!("n{node}r{round}"));
            expected.insert(format!("n{node}r{round}"));
        }
    }
    for client in cluster.clients() {
        let entries = listed(&client);
        assert_eq!(names(&entries), expected);
        let times: Vec<&str> = entries.iter().map(|entry| entry["timestamp"].as_str().unwrap()).collect();
        assert!(times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
        assert_eq!(entries.len(), expected.len(), "each once");
    }

    // what was written is there after kill -9; until then the others go on without it
    wait_written(&cluster, 2, "n2r2");
    cluster.kill(2).unwrap();
    let of_others: BTreeSet<String> =
        expected.iter().filter(|name| !name.starts_with("n2")).cloned().collect();
    for client in cluster.clients() {
        assert_eq!(names(&listed(&client)), of_others);
    }
    cluster.spawn(2).unwrap();
    cluster.wait_ready().unwrap();
    for client in cluster.clients() {
        wait_listed(&client, &expected);
    }

    // a node that stands still is waited for no longer than the bound
    cluster.node(1).unwrap().signal("STOP").unwrap();
    let seen = names(&listed(&cluster.clients()[0]));
    cluster.node(1).unwrap().signal("CONT").unwrap();
    assert_eq!(seen, expected.iter().filter(|name| !name.starts_with("n1")).cloned().collect());

    // a node that is told to stop keeps everything
    call(&cluster.clients()[0], "last");
    expected.insert("last".to_owned());
    cluster.stop(0).unwrap();
    cluster.spawn(0).unwrap();
    cluster.wait_ready().unwrap();
    for client in cluster.clients() {
        wait_listed(&client, &expected);
    }
}

#[test]
fn what_callers_send_forges_no_line_of_the_log_of_the_process() {
    let cluster = Cluster::start(1).unwrap();
    let client = cluster.clients()[0]
        .with_header("X-Algolia-Agent", "a\tb level=ERROR")
        .with_header("X-Forwarded-For", "1.2.3.4 level=ERROR");
    for path in [
        "/1/indexes/a%0aINFO%20forged/query?x=%0aINFO%20forged",
        "/1/indexes/%1b%5b2Jforged",
        "/1/indexes/%c2%9b2Jforged",
        "/forged%0a%1b",
    ] {
        assert!((400..500).contains(&client.get(path).unwrap().status), "{path}");
    }
    let log = cluster.node(0).unwrap().log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("forged")).collect();
    assert_eq!(lines.len(), 3, "one for each path that means something: {lines:?}");
    for line in lines {
        assert!(line.contains("quorate::request") && !line.contains(char::is_control), "{line:?}");
    }
}
