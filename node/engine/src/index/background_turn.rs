//! May a shard begin a big piece of background work now? One at a time on a node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records from which on a merge or a rebuild is big.
pub(crate) const BIG_RECORDS: u64 = 100_000;

/// The turn that the shards of a node take for big merges and rebuilds. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct BackgroundTurn {
    taken: Arc<AtomicBool>,
}

/// Holds the turn until it is dropped; work on few records holds none.
#[derive(Debug)]
pub(crate) struct BackgroundPermit {
    turn: Option<BackgroundTurn>,
}

impl BackgroundTurn {
    /// Leave to work on so many records; `None` while another shard has the turn.
    pub(crate) fn take_for(&self, records: u64) -> Option<BackgroundPermit> {
        if records < BIG_RECORDS {
            return Some(BackgroundPermit { turn: None });
        }
        let was_free = self.taken.compare_exchange(false, true, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        was_free.then(|| BackgroundPermit { turn: Some(self.clone()) })
    }
}
impl Drop for BackgroundPermit {
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
        let turn = BackgroundTurn::default();
        let first = turn.take_for(BIG_RECORDS);
        assert!(first.is_some());
        assert!(turn.clone().take_for(BIG_RECORDS).is_none());
        assert!(turn.take_for(BIG_RECORDS - 1).is_some());
        drop(first);
        assert!(turn.take_for(u64::MAX).is_some());
    }
}
