//! Who asks beside whom, and whose searches are long? Who is alone may have all threads and keeps nobody waiting; beside
//! others, who has long searches leaves half of the threads, and with them half of the processors, to the others: turns are
//! given between searches, and one of a second under way on every processor delays whatever comes meanwhile.

use crate::payer::Payer;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A search that takes longer is long.
const LONG: Duration = Duration::from_millis(10);
/// How long somebody counts as asking beside others.
const BESIDE_MS: u64 = 1_000;
/// How long somebody is known for a long search, at least: twenty times what one takes at least.
const AFTER_LONG: Duration = Duration::from_millis(200);
/// Those that are remembered for theirs, at most, on each level.
const LONG_MAX: usize = 1_024;

/// What those who ask have asked for lately: the keys, and the addresses with a key.
#[derive(Debug)]
pub struct Sharing {
    opened: Instant,
    keys: Askers,
    payers: Askers,
}

/// Those who ask, on one level.
#[derive(Debug, Default)]
struct Askers {
    /// Who asked last.
    last: AtomicU64,
    /// Milliseconds after the start at which that was another one than before.
    changed_ms: AtomicU64,
    /// Until when who had a long search is known for it.
    long: Mutex<FxHashMap<u64, Instant>>,
    long_count: AtomicUsize,
}

impl Default for Sharing {
    fn default() -> Self {
        Sharing { opened: Instant::now(), keys: Askers::default(), payers: Askers::default() }
    }
}

impl Sharing {
    /// Somebody asks for a search. Cost: four atomic loads while nobody else does.
    pub fn asks(&self, payer: Payer, now: Instant) {
        let now_ms = self.ms(now);
        self.keys.asks(payer.key, now_ms);
        self.payers.asks(of_payer(payer), now_ms);
    }
    /// Whether several payers have asked lately.
    pub fn is_shared(&self, now: Instant) -> bool {
        self.payers.are_several(self.ms(now))
    }
    /// A search of `payer` has ended that took so long.
    pub fn took(&self, payer: Payer, took: Duration, now: Instant) {
        if took > LONG {
            self.was_long(payer, took, now);
        }
    }
    /// The same for one that is long whatever it took.
    pub fn was_long(&self, payer: Payer, took: Duration, now: Instant) {
        let until = now + AFTER_LONG.max(took * 2);
        self.keys.add(payer.key, now, until);
        self.payers.add(of_payer(payer), now, until);
    }
    /// Whether `payer` has had a long search lately.
    pub fn is_long(&self, payer: Payer, now: Instant) -> bool {
        self.payers.is_long(of_payer(payer), now)
    }
    /// Whether the searches of `key` have to leave room to those of other keys.
    pub fn key_leaves_room(&self, key: u64, now: Instant) -> bool {
        self.keys.are_several(self.ms(now)) && self.keys.is_long(key, now)
    }
    /// The same for an address that uses a key.
    pub fn payer_leaves_room(&self, payer: Payer, now: Instant) -> bool {
        self.is_shared(now) && self.is_long(payer, now)
    }
    fn ms(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.opened).as_millis() as u64
    }
}

fn of_payer(payer: Payer) -> u64 {
    payer.key ^ payer.address.rotate_left(1)
}

impl Askers {
    fn asks(&self, id: u64, now_ms: u64) {
        if self.last.load(Ordering::Relaxed) != id {
            self.last.store(id, Ordering::Relaxed);
            self.changed_ms.store(now_ms, Ordering::Relaxed);
        }
    }
    fn are_several(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.changed_ms.load(Ordering::Relaxed)) < BESIDE_MS
    }
    fn add(&self, id: u64, now: Instant, until: Instant) {
        let mut long = self.long.lock();
        if long.len() >= LONG_MAX {
            long.retain(|_, until| now < *until);
        }
        if long.len() < LONG_MAX {
            long.insert(id, until);
        }
        self.long_count.store(long.len(), Ordering::Relaxed);
    }
    fn is_long(&self, id: u64, now: Instant) -> bool {
        if self.long_count.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut long = self.long.lock();
        let is_it = long.get(&id).is_some_and(|until| now < *until);
        if !is_it && long.remove(&id).is_some() {
            self.long_count.store(long.len(), Ordering::Relaxed);
        }
        is_it
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_long_searches_leaves_room_while_others_ask() {
        let sharing = Sharing::default();
        let at = |ms: u64| sharing.opened + Duration::from_millis(ms);
        let (a, b) = (Payer { key: 1, address: 1 }, Payer { key: 1, address: 2 });
        let other = Payer { key: 2, address: 2 };
        sharing.asks(a, at(0));
        assert!(sharing.is_shared(at(0)), "it is not known who asked before");
        sharing.asks(a, at(BESIDE_MS));
        sharing.took(a, LONG * 2, at(BESIDE_MS));
        assert!(!sharing.is_shared(at(BESIDE_MS)) && !sharing.payer_leaves_room(a, at(BESIDE_MS)), "alone");
        sharing.asks(b, at(BESIDE_MS + 1));
        assert!(sharing.payer_leaves_room(a, at(BESIDE_MS + 1)));
        assert!(!sharing.payer_leaves_room(b, at(BESIDE_MS + 1)), "its searches are short");
        assert!(!sharing.key_leaves_room(1, at(BESIDE_MS + 1)), "no other key has asked");
        sharing.asks(other, at(BESIDE_MS + 2));
        assert!(sharing.key_leaves_room(1, at(BESIDE_MS + 2)));
        assert!(!sharing.key_leaves_room(2, at(BESIDE_MS + 2)));
        sharing.took(a, LONG, at(BESIDE_MS + 201));
        assert!(!sharing.key_leaves_room(1, at(BESIDE_MS + 201)), "its long search is forgotten");
        assert!(!sharing.payer_leaves_room(a, at(BESIDE_MS + 201)));
        assert_eq!(sharing.keys.long_count.load(Ordering::Relaxed), 0);
        let second = Duration::from_secs(1);
        (0..2 * LONG_MAX as u64).for_each(|key| sharing.took(Payer { key, address: 0 }, second, at(5_000)));
        assert_eq!(sharing.payers.long_count.load(Ordering::Relaxed), LONG_MAX);
    }
}
