//! How many rebuilds of a node failed, and why?

use quorate_engine::index::IndexError;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many rebuilds of a node failed, by reason.
#[derive(Debug, Default)]
pub struct Failures {
    disk_full: AtomicU64,
    other: AtomicU64,
}
impl Failures {
    pub(super) fn count(&self, error: &IndexError) {
        let counter = if error.is_disk_full() { &self.disk_full } else { &self.other };
        counter.fetch_add(1, Ordering::Relaxed);
    }
    /// Reasons with their counts.
    pub fn counts(&self) -> [(&'static str, u64); 2] {
        [("disk_full", &self.disk_full), ("other", &self.other)]
            .map(|(reason, count)| (reason, count.load(Ordering::Relaxed)))
    }
}
