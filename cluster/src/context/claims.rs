//! Who with an empty folder waits for the place of another node?

use crate::command::Joining;
use parking_lot::Mutex;
use quorate_model::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::sync::MutexGuard;

/// Nodes that may wait for places at once.
const CLAIMS_MAX: usize = 64;

/// How long a claim counts after it was last made: who waits asks several times a second.
const LIFETIME: Duration = Duration::from_secs(10);

/// The claims that this node has heard of lately.
#[derive(Debug)]
pub struct Claims {
    take_over_s: u64,
    heard: Mutex<BTreeMap<NodeId, (Claim, Instant)>>,
    /// Held while one of them is looked into: that asks all nodes.
    looking: tokio::sync::Mutex<()>,
}

impl Claims {
    /// None, and the seconds of silence after which the place of a node may be taken.
    pub fn new(take_over_s: u64) -> Claims {
        Claims { take_over_s, heard: Mutex::default(), looking: tokio::sync::Mutex::default() }
    }
    /// Seconds of silence after which the place of a node may be taken; 0: never.
    pub fn take_over_s(&self) -> u64 {
        self.take_over_s
    }
    /// Notes a claim. Beyond the most that are kept, new ones are not.
    pub fn note(&self, claim: Claim) {
        let mut heard = self.heard.lock();
        heard.retain(|_, (_, at)| at.elapsed() < LIFETIME);
        if heard.len() < CLAIMS_MAX || heard.contains_key(&claim.node) {
            heard.insert(claim.node, (claim, Instant::now()));
        }
    }
    /// Lets one of them be looked into, which asks all nodes, until what this returns is dropped; `None` while another one is.
    pub fn look(&self) -> Option<MutexGuard<'_, ()>> {
        self.looking.try_lock().ok()
    }
    /// Those who are waiting now.
    pub fn waiting(&self) -> Vec<Claim> {
        let mut heard = self.heard.lock();
        heard.retain(|_, (_, at)| at.elapsed() < LIFETIME);
        heard.values().map(|(claim, _)| claim.clone()).collect()
    }
}

/// A node with an empty folder that asks to join under the name and the address of one that has not left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Its number.
    pub node: NodeId,
    /// How it introduces itself.
    pub joining: Joining,
}
