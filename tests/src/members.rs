//! How do members drain, join and leave an installation while clients are at work?

use crate::chance::Chance;
use crate::client::Answer;
use crate::cluster::Cluster;
use crate::history::{INDEX, Nodes};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long a change of members may take: its files come slowly, and on a machine that does something else too.
const PATIENCE: Duration = Duration::from_secs(180);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// Records that make snapshots take their time, and bytes of each.
const BALLAST: (u64, usize) = (400, 10_000);

/// The last node of a cluster, which is no member at first and comes and goes. Files of snapshots are fetched slowly, so
/// that much can happen meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Members {
    /// Its number.
    pub spare: usize,
}

impl Members {
    /// Tells nodes that are not started yet how slowly files are fetched; the last of them is the spare one.
    pub fn prepare(cluster: &mut Cluster, bytes_per_s: u64) -> Members {
        for node in 0..cluster.len() {
            let setup = cluster.setup_mut(node);
            *setup = setup.clone().option("snapshot-bytes-per-s", &bytes_per_s.to_string());
        }
        Members { spare: cluster.len() - 1 }
    }
    /// Gives a cluster files that take a while to fetch: in the index of the histories, and in others.
    pub fn load(&self, cluster: &Cluster, chance: &mut Chance) -> Result<()> {
        let (records, bytes) = BALLAST;
        for index in [INDEX, "ballast0", "ballast1", "ballast2"] {
            let mut last = 0;
            for piece in 0..records / 100 {
                let record = |n: u64, chance: &mut Chance| {
                    let noise: String =
                        (0..bytes / 16).map(|_| format!("{:016x}", chance.below(u64::MAX))).collect();
                    json!({"action": "addObject",
                           "body": {"objectID": format!("ballast{piece}-{n}"), "noise": noise}})
                };
                let requests: Vec<Value> = (0..100).map(|n| record(n, chance)).collect();
                let path = format!("/1/indexes/{index}/batch");
                let answer = cluster.any().post(&path, &json!({"requests": requests}))?;
                last = answer.success()?.task_id()?;
            }
            cluster.wait_task(index, last)?;
        }
        Ok(())
    }

    /// Drains a node and lets it hold replicas again after `hold`, wherever the replicas are by then.
    pub fn drain(&self, cluster: &Cluster, node: usize, hold: Duration) -> Result<()> {
        self.drained(cluster, node, || {
            std::thread::sleep(hold);
            Ok(())
        })
    }
    /// Does something while a node is drained, and lets it hold replicas again.
    pub fn drained(
        &self,
        cluster: &Cluster,
        node: usize,
        meanwhile: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let others = Others { cluster, but: node };
        others.until_done("POST", &format!("/admin/nodes/n{node}/drain"))?;
        let outcome = meanwhile();
        others.until_done("POST", &format!("/admin/nodes/n{node}/undrain"))?;
        outcome
    }
    /// Lets the spare node join with an empty folder, and removes it again after `hold`: it is drained, and taken out as soon
    /// as the others let it go.
    pub fn come_and_go(&self, cluster: &mut Cluster, nodes: &Nodes, hold: Duration) -> Result<()> {
        let spare = self.spare;
        if cluster.data_dir(spare).exists() {
            std::fs::remove_dir_all(cluster.data_dir(spare))?;
        }
        cluster.spawn(spare)?;
        cluster.wait_up(spare)?;
        nodes.look(cluster);
        std::thread::sleep(hold);
        let others = Others { cluster, but: spare };
        others.until_done("POST", &format!("/admin/nodes/n{spare}/drain"))?;
        others.until_done("DELETE", &format!("/admin/nodes/n{spare}"))?;
        nodes.forget(spare);
        cluster.kill(spare)
    }
}

/// Whom an operator asks about a node: any other one.
struct Others<'c> {
    cluster: &'c Cluster,
    but: usize,
}

impl Others<'_> {
    /// Asks until it is done: what would lose something is refused for as long as it would.
    fn until_done(&self, method: &str, path: &str) -> Result<()> {
        let begun = Instant::now();
        loop {
            let mut answers: Vec<Answer> = vec![];
            for node in self.cluster.running().into_iter().filter(|node| *node != self.but) {
                let client = self.cluster.node(node)?.client().within(Duration::from_secs(15));
                let body = (method == "POST").then_some(&b"{}"[..]);
                match client.send(method, path, body) {
                    Ok(answer) if answer.status == 200 => return Ok(()),
                    Ok(answer) => answers.push(answer),
                    Err(_) => {}
                }
            }
            ensure!(begun.elapsed() < PATIENCE, "{method} {path} is not done in time: {answers:?}");
            std::thread::sleep(LOOK);
        }
    }
}
