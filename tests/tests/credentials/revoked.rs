//! How soon is a deleted key refused by a node that was cut off, once it is back?

use anyhow::{Context, Result, ensure};
use quorate_tests::client::{Client, Family};
use quorate_tests::cluster::Cluster;
use quorate_tests::harness::APP_ID;
use quorate_tests::network::{Cut, Network};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What SECURITY.md promises.
const REFUSED_WITHIN: Duration = Duration::from_secs(1);
/// How long a node is cut off, each time another one: shorter than a lease, longer than connections bear, longer than pauses between
/// attempts grow.
const CUTS_MS: [u64; 3] = [700, 2_600, 12_000];
/// The long form, and lengths between these.
const MORE_CUTS_MS: [u64; 6] = [700, 1_500, 2_600, 4_500, 7_000, 12_000];
/// Callers at a time: one that waits must not keep the others from being let in.
const CALLERS: usize = 4;
/// How long a node is looked at afterwards.
const LOOKED_AT: Duration = Duration::from_secs(4);
/// How long a change of a key may take before anything is cut.
const PATIENCE: Duration = Duration::from_secs(30);

/// The cuts, or for the long run all of `MORE_CUTS_MS` as often as `QUORATE_REVOKED_ROUNDS` says; more find rarer moments.
fn cuts_ms() -> Vec<u64> {
    let rounds = std::env::var("QUORATE_REVOKED_ROUNDS").ok();
    rounds.map_or(CUTS_MS.to_vec(), |text| MORE_CUTS_MS.repeat(text.parse().expect("a number of rounds")))
}

/// A new key, which counts on every node.
fn new_key(cluster: &Cluster) -> Result<String> {
    let answer = cluster.any().post("/1/keys", &json!({"acl": ["search"]}))?.success()?;
    let key = answer.body["key"].as_str().context("no key")?.to_owned();
    for node in cluster.running() {
        let deadline = Instant::now() + PATIENCE;
        while status(&holder(cluster, node, &key)?, &key) != Some(200) {
            ensure!(Instant::now() < deadline, "node {node} does not hear of a new key");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    Ok(key)
}
/// Who calls a node with that key.
fn holder(cluster: &Cluster, node: usize, key: &str) -> Result<Client> {
    Ok(Client::new(cluster.node(node)?.address(), Family::Service, APP_ID, key))
}
/// How a call is answered that needs nothing but the key.
fn status(client: &Client, key: &str) -> Option<u16> {
    client.get(&format!("/1/keys/{key}")).ok().map(|answer| answer.status)
}

/// Deletes a key while a node is cut off. Returns how long after healing the last call began that the node let in.
fn revoke(network: &Network, cluster: &Cluster, node: usize, cut: Duration) -> Result<Duration> {
    let key = new_key(cluster)?;
    let others: Vec<usize> = (0..network.hosts()).filter(|&other| other != node).collect();
    let caller = holder(cluster, node, &key)?;
    let is_over = AtomicBool::new(false);
    let calls_on = || {
        let mut calls = vec![];
        while !is_over.load(Ordering::Relaxed) {
            calls.push((Instant::now(), status(&caller, &key)));
            std::thread::sleep(Duration::from_millis(5));
        }
        calls
    };
    let disturbed = || -> Result<Instant> {
        let begun = Instant::now();
        network.cut(node, &others, Cut::Both)?;
        let deleted = cluster.without(node).send("DELETE", &format!("/1/keys/{key}"), &json!(null));
        std::thread::sleep(cut.saturating_sub(begun.elapsed()));
        network.heal(node)?;
        let healed = Instant::now();
        deleted?.success()?;
        std::thread::sleep(LOOKED_AT);
        Ok(healed)
    };
    let (healed, mut calls) = std::thread::scope(|scope| -> Result<_> {
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(calls_on)).collect();
        let healed = disturbed();
        is_over.store(true, Ordering::Relaxed);
        let mut calls = vec![];
        for caller in callers {
            calls.extend(caller.join().ok().context("a caller panicked")?);
        }
        Ok((healed?, calls))
    })?;
    calls.sort_unstable_by_key(|(begun, _)| *begun);
    ensure!(calls.last().is_some_and(|(_, status)| *status == Some(403)), "{:?}", calls.last());
    let let_in = calls.iter().filter(|(_, status)| *status == Some(200)).map(|(begun, _)| *begun);
    Ok(let_in.max().map_or(Duration::ZERO, |last| last.saturating_duration_since(healed)))
}

#[test]
fn a_node_that_is_back_refuses_a_deleted_key_within_a_second() {
    let test = "a_node_that_is_back_refuses_a_deleted_key_within_a_second";
    let body = |network: &Network| {
        let cluster = Cluster::start_on(network)?;
        let (cuts, mut worst) = (cuts_ms(), Duration::ZERO);
        for (round, &cut_ms) in cuts.iter().enumerate() {
            // the leader of the meta group is among them
            let node = round % network.hosts();
            let late = revoke(network, &cluster, node, Duration::from_millis(cut_ms))?;
            eprintln!("node {node}, cut off for {cut_ms} ms: the last call is let in {late:?} after healing");
            worst = worst.max(late);
            cluster.wait_settled()?;
        }
        eprintln!("the worst of {} cuts: {worst:?}", cuts.len());
        ensure!(worst < REFUSED_WITHIN, "a deleted key is let in {worst:?} after healing");
        Ok(())
    };
    let longer = Duration::from_secs(15) * cuts_ms().len() as u32;
    Network::run_for(test, 3, longer, body).unwrap();
}
