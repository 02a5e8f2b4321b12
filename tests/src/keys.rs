//! How is the admin key of an installation replaced again and again while clients are at work?

use crate::chance::Chance;
use crate::client::{Client, Family};
use crate::cluster::Cluster;
use crate::harness::{ADMIN_KEY, APP_ID};
use crate::history::Nodes;
use anyhow::{Result, ensure};
use std::time::{Duration, Instant};

/// How long a replaced key counts: longer than all nodes take to start one after another, on a slow machine too.
const OVERLAP: Duration = Duration::from_secs(90);
/// How late nodes may be to let a key go.
const SLACK: Duration = Duration::from_secs(5);
/// How long a new key may take to reach every node.
const PATIENCE: Duration = Duration::from_secs(60);

/// The keys of an installation: the one that clients use, and those before it.
#[derive(Debug)]
pub struct Keys {
    current: String,
    /// Each with a moment at which it had been replaced.
    replaced: Vec<(String, Instant)>,
}

impl Keys {
    /// Tells nodes that are not started yet how long a replaced key counts.
    pub fn prepare(cluster: &mut Cluster) -> Keys {
        for node in 0..cluster.len() {
            let setup = cluster.setup_mut(node);
            *setup = setup.clone().option("admin-key-overlap-s", &OVERLAP.as_secs().to_string());
        }
        Keys { current: ADMIN_KEY.to_owned(), replaced: vec![] }
    }

    /// Starts one node, or all one after another, with a new key; some die once more while they bring it. Clients go on
    /// with the key before until the new one counts everywhere, and none may be refused. A node that is started later
    /// with a key that it was given before changes nothing.
    pub fn replace(&mut self, cluster: &mut Cluster, nodes: &Nodes, chance: &mut Chance) -> Result<()> {
        self.check_ended(cluster)?;
        let key = format!("history-{:016x}{:016x}", chance.number(), chance.number());
        let (count, first) = (cluster.len(), chance.below(cluster.len() as u64) as usize);
        let bring = if chance.below(2) == 0 { 1 } else { count };
        eprintln!("accident: a new admin key is brought by {bring} of {count} nodes, first by {first}");
        for node in (first..first + bring).map(|node| node % count) {
            let setup = cluster.setup_mut(node);
            *setup = setup.clone().variable("QUORATE_ADMIN_KEY", &key);
            nodes.forget(node);
            match chance.below(2) {
                0 => cluster.stop(node)?,
                _ => cluster.kill(node)?,
            }
            cluster.spawn(node)?;
            if chance.below(3) == 0 {
                std::thread::sleep(Duration::from_millis(chance.below(600)));
                cluster.kill(node)?;
                cluster.spawn(node)?;
            }
            cluster.wait_up(node)?;
            nodes.look(cluster);
        }
        let begun = Instant::now();
        while !(counts_on_all(cluster, &key) && is_in_all_files(cluster, &key)) {
            ensure!(begun.elapsed() < PATIENCE, "the key of node {first} does not reach every node");
            std::thread::sleep(Duration::from_millis(50));
        }
        cluster.clients_use(&key);
        nodes.look(cluster);
        let before = std::mem::replace(&mut self.current, key);
        self.replaced.push((before, Instant::now()));
        Ok(())
    }

    /// Whether keys whose time is over count nowhere any more.
    fn check_ended(&mut self, cluster: &Cluster) -> Result<()> {
        let is_over = |at: Instant| at.elapsed() > OVERLAP + SLACK;
        let ended = self.replaced.iter().filter(|(_, at)| is_over(*at));
        for (key, _) in ended {
            for node in cluster.running() {
                let address = cluster.node(node)?.address();
                ensure!(
                    !counts(address, key),
                    "a key that was replaced {OVERLAP:?} ago counts on node {node}"
                );
            }
        }
        self.replaced.retain(|(_, at)| !is_over(*at));
        Ok(())
    }
}

fn counts(address: &str, key: &str) -> bool {
    let client = Client::new(address, Family::Service, APP_ID, key);
    client.get("/admin/cluster").is_ok_and(|answer| answer.status == 200)
}
fn counts_on_all(cluster: &Cluster, key: &str) -> bool {
    let mut nodes = cluster.running().into_iter().filter_map(|node| cluster.node(node).ok());
    nodes.all(|node| counts(node.address(), key))
}
fn is_in_all_files(cluster: &Cluster, key: &str) -> bool {
    cluster.running().into_iter().all(|node| {
        let found = std::fs::read_to_string(cluster.data_dir(node).join("admin-key"));
        found.is_ok_and(|found| found.trim() == key)
    })
}
