//! Work that is done for the newest of several numbers, by one at a time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Work that has to be done for the newest number there is and for no other: what comes while somebody is at it is left to that one.
#[derive(Debug, Default)]
pub struct Newest {
    wanted: AtomicU64,
    is_busy: AtomicBool,
}

impl Newest {
    /// The work is to be done for `number` or a newer one. Returns for which the caller has to do it, and call [`Self::done`] then; `None` when
    /// somebody is at it, who will.
    pub fn begin(&self, number: u64) -> Option<u64> {
        self.wanted.fetch_max(number, Ordering::AcqRel);
        let is_busy = self.is_busy.swap(true, Ordering::AcqRel);
        (!is_busy).then(|| self.wanted.load(Ordering::Acquire))
    }
    /// The work was done for `number`. Returns the newer one that the caller has to do it for next, if any.
    pub fn done(&self, number: u64) -> Option<u64> {
        self.is_busy.store(false, Ordering::Release);
        let newer = self.wanted.load(Ordering::Acquire);
        (newer != number).then(|| self.begin(newer)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_meanwhile_is_done_once_and_by_who_is_at_it() {
        let newest = Newest::default();
        assert_eq!(newest.begin(3), Some(3));
        assert_eq!((newest.begin(4), newest.begin(6), newest.begin(5)), (None, None, None));
        assert_eq!(newest.done(3), Some(6));
        assert_eq!((newest.begin(6), newest.done(6)), (None, None));
        assert_eq!((newest.begin(7), newest.done(7)), (Some(7), None));
    }
}
