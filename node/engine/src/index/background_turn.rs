//! May a shard begin a big piece of background work now? One at a time on a node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records from which on a merge or a rebuild is big.
pub(crate) const HEAVY_RECORDS: u64 = 100_000;

/// The turn that the shards of a node take for big merges and rebuilds. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct HeavyTurn {
    taken: Arc<AtomicBool>,
}

/// Holds the turn until it is dropped; work on few records holds none.
#[derive(Debug)]
pub(crate) struct HeavyPermit {
    turn: Option<HeavyTurn>,
}

impl HeavyTurn {
    /// Leave to work on so many records; `None` while another shard has the turn.
    pub(crate) fn take_for(&self, records: u64) -> Option<HeavyPermit> {
        if records < HEAVY_RECORDS {
            return Some(HeavyPermit { turn: None });
        }
        let was_free = self.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        was_free.then(|| HeavyPermit { turn: Some(self.clone()) })
    }
}
impl Drop for HeavyPermit {
    fn drop(&mut self) {
        if let Some(turn) = &self.turn {
            turn.taken.store(false, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn big_work_takes_turns_and_small_work_does_not() {
        let turn = HeavyTurn::default();
        let first = turn.take_for(HEAVY_RECORDS);
        assert!(first.is_some());
        assert!(turn.clone().take_for(HEAVY_RECORDS).is_none());
        assert!(turn.take_for(HEAVY_RECORDS - 1).is_some());
        drop(first);
        assert!(turn.take_for(u64::MAX).is_some());
    }
}
