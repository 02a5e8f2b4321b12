//! What is not deterministic and therefore made before a command is proposed: ids, times of entries, key strings.

use crate::clock::unix_us;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far a clock is set back at most by who corrects it a little.
const CORRECTION_MS: u64 = 10_000;

/// Makes times that never go back and record ids that are never made twice. One per process.
#[derive(Debug)]
pub struct IdSource {
    /// Log index of this process's start in the meta group: no other start has it. 0 until it is known.
    start: AtomicU64,
    /// Microseconds of the last id.
    last_us: AtomicU64,
    /// Milliseconds of the last time given to an entry.
    last_ms: AtomicU64,
}

impl IdSource {
    /// A source for the process whose start is entry `start` of the meta log.
    pub fn new(start: u64) -> Self {
        IdSource { start: AtomicU64::new(start), last_us: AtomicU64::new(0), last_ms: AtomicU64::new(0) }
    }
    /// Notes where this process's start is in the meta log; before any record id is made.
    pub fn set_start(&self, start: u64) {
        self.start.store(start, Ordering::Release);
    }
    /// The time for an entry, Unix milliseconds: not before an earlier one of this process, unless the clock was set back by more
    /// than a correction does it. What was noted while it was an hour ahead is no reason to date all that follows an hour ahead.
    pub fn time_ms(&self) -> u64 {
        let now = unix_us() / 1_000;
        let next = |last: u64| Some(if last > now + CORRECTION_MS { now } else { last.max(now) });
        let last = self.last_ms.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        next(last.expect("the closure always answers")).expect("it does")
    }
    /// A record id: 26 digits that grow with every call (C§2).
    ///
    /// Microseconds first, so that order follows time; the number of the process start behind them makes the id unlike
    /// those of other nodes and, should the clock be set back between two starts, of earlier processes.
    pub fn object_id(&self) -> String {
        let now = unix_us();
        let next = |last: u64| Some(now.max(last + 1));
        let previous = self
            .last_us
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .expect("the closure always answers");
        format!("{:016}{:010}", now.max(previous + 1), self.start.load(Ordering::Acquire))
    }
}

/// A new key string: 32 lower-case hexadecimal digits.
pub fn key_string() -> String {
    let bytes: [u8; 16] = random();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number by chance.
pub fn chance() -> u64 {
    u64::from_le_bytes(random())
}

/// A new application id: ten capital letters and digits, the first a letter.
pub fn app_id() -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let bytes: [u8; 10] = random();
    let letter = |(i, &byte): (usize, &u8)| LETTERS[usize::from(byte) % if i == 0 { 24 } else { 32 }] as char;
    bytes.iter().enumerate().map(letter).collect()
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has random numbers");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_grow_and_are_unlike_those_of_another_start() {
        let (sources, mut seen) = ([IdSource::new(1), IdSource::new(2)], BTreeSet::new());
        let mut last = [String::new(), String::new()];
        for _ in 0..2_000 {
            for (source, last) in sources.iter().zip(&mut last) {
                let id = source.object_id();
                assert!(id.len() == 26 && id.bytes().all(|b| b.is_ascii_digit()), "{id}");
                assert!(id > *last, "{id} after {last}");
                assert!(seen.insert(id.clone()), "{id} twice");
                *last = id;
            }
        }
    }

    #[test]
    fn a_clock_set_back_does_not_repeat_ids_and_a_little_no_times() {
        let source = IdSource::new(7);
        let ahead = unix_us() + 3_600_000_000;
        source.last_us.store(ahead, Ordering::Relaxed);
        assert_eq!(source.object_id(), format!("{:016}0000000007", ahead + 1));
        assert_eq!(source.object_id(), format!("{:016}0000000007", ahead + 2));
        let corrected = unix_us() / 1_000 + CORRECTION_MS / 2;
        source.last_ms.store(corrected, Ordering::Relaxed);
        assert_eq!([source.time_ms(), source.time_ms()], [corrected, corrected]);
        source.last_ms.store(ahead / 1_000, Ordering::Relaxed);
        let now = source.time_ms();
        assert!(now < ahead / 1_000 && source.time_ms() >= now, "an hour is no correction");
    }

    #[test]
    fn key_strings_and_application_ids_have_their_shape() {
        let key = key_string();
        assert!(
            key.len() == 32 && key.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)),
            "{key}"
        );
        assert_ne!(key, key_string());
        let id = app_id();
        assert!(id.len() == 10 && id.as_bytes()[0].is_ascii_uppercase(), "{id}");
        assert!(id.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()), "{id}");
    }
}
