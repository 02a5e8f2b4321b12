//! May a caller make another call with a key that limits them (C§13.1, C§13.4)? Counted over all nodes.
//!
//! Each counter has its home on the first node, in an order that its id gives, that can be reached (`counters.rs` says what the home
//! does). Others ask it when they have used up what it promised, which holds up one call of as many as a promise has. Every second
//! each node tells the first two in that order what has changed, so that the second can take over from the first; one that did not
//! hear it is told everything when it can be reached again. One that starts says so to all, so that they ask it from then on, asks for
//! everything they know, and answers once one of them has told it. A node that reaches nobody takes its part of what is left. Nothing of it
//! is durable: when all nodes stop, counts begin anew. `controllers/call_counts.rs` carries it out.

mod counters;

pub use counters::{CounterId, Counters, LimitedCall, Promise, Question, Quota, Report, Verdict};

use crate::clock::{steady_ms, unix_ms};
use parking_lot::Mutex;
use quorate_model::{Error, ErrorKind, NodeId, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::watch;

/// How long calls wait for a node that has just started.
const WAIT_WITHIN: Duration = Duration::from_millis(150);
/// Counters of a report at most.
pub const REPORTS_MAX: usize = 1_000;
/// Nodes that hear of a counter.
const TOLD: usize = 2;

/// Whether a node knows what the others have counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knowledge {
    /// It asks them: calls wait a little.
    Asking,
    /// None has answered: it counts no call as the home of a counter, and promises nothing.
    Nothing,
    /// It knows what those knew that can be reached.
    Shared,
}

/// The counters of a node, and whom it can ask.
#[derive(Debug)]
pub struct RateLimiter {
    counters: Counters,
    /// Until when a node is not asked, by [`steady_ms`].
    silent: Mutex<BTreeMap<NodeId, u64>>,
    /// Nodes that have missed a report.
    owed: Mutex<BTreeSet<NodeId>>,
    knowledge: watch::Sender<Knowledge>,
}

impl Default for RateLimiter {
    fn default() -> Self {
        let mut slot = [0; 8];
        getrandom::fill(&mut slot).expect("the operating system has random numbers");
        RateLimiter {
            counters: Counters::new(u64::from_le_bytes(slot)),
            silent: Mutex::default(),
            owed: Mutex::default(),
            knowledge: watch::Sender::new(Knowledge::Asking),
        }
    }
}

/// Where a call is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedAt {
    /// On this node.
    Home,
    /// Here, with what that node promises.
    Asking(NodeId),
    /// Here, with a part of what is left: nobody can be reached.
    Alone,
}

impl RateLimiter {
    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
    /// Counts a call whose counter has its home here. Errors: `RateLimited`.
    pub fn count_here(&self, call: LimitedCall) -> Result<()> {
        allowed(self.counters.count_at_home(call))
    }
    /// Where a call is counted that `own` takes, one of `nodes`.
    pub fn place(&self, nodes: &[NodeId], own: NodeId, id: CounterId) -> CountedAt {
        let silent = self.silent.lock();
        let now = steady_ms();
        let others = nodes.iter().filter(|node| **node != own);
        let reachable = others.filter(|node| silent.get(node).is_none_or(|until| *until <= now));
        let first = reachable.max_by_key(|node| weight(id, **node));
        let may_be_home = self.has_learnt();
        match first {
            Some(first) if !may_be_home || weight(id, *first) > weight(id, own) => CountedAt::Asking(*first),
            None if nodes.len() > 1 => CountedAt::Alone,
            Some(_) | None => CountedAt::Home,
        }
    }
    /// A node has said something.
    pub fn heard(&self, node: NodeId) {
        self.silent.lock().remove(&node);
    }
    /// A node is not to be asked for a while.
    pub fn pass_over(&self, node: NodeId, pause: Duration) {
        self.silent.lock().insert(node, steady_ms() + pause.as_millis() as u64);
    }
    /// A node has missed a report.
    pub fn owe(&self, node: NodeId) {
        self.owed.lock().insert(node);
    }
    /// Those that have missed reports since it was asked last.
    pub fn owed(&self) -> BTreeSet<NodeId> {
        std::mem::take(&mut *self.owed.lock())
    }
    /// Whether this node knows what others know.
    pub fn has_learnt(&self) -> bool {
        *self.knowledge.borrow() == Knowledge::Shared
    }
    /// Waits a little while this node asks others what they know.
    pub async fn wait_until_learnt(&self) {
        if *self.knowledge.borrow() == Knowledge::Asking {
            let mut knowledge = self.knowledge.subscribe();
            let asked = knowledge.wait_for(|knowledge| *knowledge != Knowledge::Asking);
            let _ = tokio::time::timeout(WAIT_WITHIN, asked).await;
        }
    }
    /// This node has asked the others; `from_any` says whether one has answered, or there is none.
    pub fn learnt(&self, from_any: bool) {
        self.knowledge.send_replace(if from_any { Knowledge::Shared } else { Knowledge::Nothing });
    }
    /// Answers a question of another node. Errors: `Unavailable` when this one does not know yet what others know.
    pub async fn promise(&self, from: NodeId, question: &Question) -> Result<Promise> {
        self.heard(from);
        self.wait_until_learnt().await;
        match self.has_learnt() {
            true => Ok(self.counters.promise(question, now_s())),
            false => Err(Error::unavailable("this node has just started")),
        }
    }
    /// What `own` knows that is for another one of `nodes`.
    pub fn known_for(&self, node: NodeId, own: NodeId, nodes: &[NodeId]) -> Vec<Report> {
        self.counters.known(now_s(), |id| is_told(id, node, own, nodes))
    }
    /// Takes what another node, whose slot this is, says.
    pub fn merge(&self, from: NodeId, slot: u64, reports: &[Report]) {
        self.heard(from);
        self.counters.merge(slot, &reports[..reports.len().min(REPORTS_MAX)], now_s());
    }
    /// Takes all that another node knows.
    pub fn learn(&self, reports: &[Report]) {
        self.counters.merge(self.counters.slot(), reports, now_s());
    }
}

/// Whether a node is among those that hear of a counter from `own`.
pub fn is_told(id: CounterId, node: NodeId, own: NodeId, nodes: &[NodeId]) -> bool {
    let others = nodes.iter().filter(|other| **other != own);
    others.filter(|other| weight(id, **other) > weight(id, node)).count() < TOLD
}
/// How early a node stands in the order of a counter: the largest comes first.
fn weight(id: CounterId, node: NodeId) -> u64 {
    // the finalizer of SplitMix64
    let mixed =
        (id.spread() ^ node.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
fn now_s() -> u64 {
    unix_ms() / 1_000
}
/// Errors: `RateLimited`, unless it is allowed.
pub fn allowed(is_allowed: bool) -> Result<()> {
    if is_allowed { Ok(()) } else { Err(Error::new(ErrorKind::RateLimited, "Too Many Requests")) }
}

#[cfg(test)]
mod tests;
