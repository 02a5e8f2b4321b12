//! Work that is done for the newest of several numbers, by one at a time for each key.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Work that has to be done for the newest number there is and for no other: what comes while somebody is at it is left to that one.
/// What is slow for one key holds up no other.
#[derive(Debug)]
pub struct Newest<K>(Mutex<BTreeMap<K, u64>>);

impl<K> Default for Newest<K> {
    fn default() -> Self {
        Newest(Mutex::default())
    }
}

impl<K: Ord> Newest<K> {
    /// The work is to be done for `number` or a newer one. Returns whether the caller has to do it, and call [`Self::done`] then;
    /// `false` when somebody is at it, who will.
    pub fn begin(&self, key: K, number: u64) -> bool {
        let mut wanted = self.0.lock();
        let newest = wanted.get(&key).copied();
        wanted.insert(key, newest.map_or(number, |newest| newest.max(number)));
        newest.is_none()
    }
    /// The work was done for `number`. Returns the newer one that the caller has to do it for next, if any.
    pub fn done(&self, key: &K, number: u64) -> Option<u64> {
        let mut wanted = self.0.lock();
        let newer = wanted.get(key).copied().filter(|newest| *newest > number);
        if newer.is_none() {
            wanted.remove(key);
        }
        newer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_meanwhile_is_done_once_and_by_who_is_at_it() {
        let newest = Newest::default();
        assert!(newest.begin("a", 3));
        assert!(!newest.begin("a", 4) && !newest.begin("a", 6) && !newest.begin("a", 5));
        assert!(newest.begin("b", 4), "another one is not waited for");
        assert_eq!((newest.done(&"a", 3), newest.done(&"b", 4)), (Some(6), None));
        assert!(!newest.begin("a", 6));
        assert_eq!(newest.done(&"a", 6), None);
        assert!(newest.begin("a", 7));
        assert_eq!(newest.done(&"a", 7), None);
        assert!(newest.0.lock().is_empty(), "nothing is kept of what is done");
    }
}
