//! Since when does this node run, has it had all it should have, and which groups has nobody?

use parking_lot::Mutex;
use quorate_model::GroupId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How far the start of a node has got.
pub struct Readiness {
    started: Instant,
    caught_up: AtomicBool,
    /// The groups that no node which answers leads, and since when.
    unled: Mutex<BTreeMap<GroupId, Instant>>,
}

impl Readiness {
    /// Of a node that starts now.
    pub fn new() -> Readiness {
        Readiness { started: Instant::now(), caught_up: AtomicBool::new(false), unled: Mutex::default() }
    }
    /// For how long it has run.
    pub fn up(&self) -> Duration {
        self.started.elapsed()
    }
    /// Whether it has had a lease of everything it should have at some time since its start.
    pub fn has_caught_up(&self) -> bool {
        self.caught_up.load(Ordering::Acquire)
    }
    /// Notes that it has them now.
    pub fn note_caught_up(&self) {
        self.caught_up.store(true, Ordering::Release);
    }
    /// Notes which of all groups some node leads.
    pub fn note_led(&self, all: impl Iterator<Item = GroupId>, led: &BTreeSet<GroupId>) {
        let now = Instant::now();
        let mut unled = self.unled.lock();
        let since = |group: GroupId| (group, unled.get(&group).copied().unwrap_or(now));
        let still = all.filter(|group| !led.contains(group)).map(since).collect();
        *unled = still;
    }
    /// The groups that no node which answers has led for so long.
    pub fn unled_for(&self, long: Duration) -> Vec<GroupId> {
        let unled = self.unled.lock();
        unled.iter().filter(|(_, since)| since.elapsed() >= long).map(|(group, _)| *group).collect()
    }
}
