//! What is not deterministic and therefore made before a command is proposed: times, record ids, key strings.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Makes times that never go back and record ids that are never made twice. One per process.
#[derive(Debug)]
pub struct Mint {
    /// Log index of this process's start in the meta group: no other start has it. 0 until it is known.
    start: AtomicU64,
    /// Microseconds of the last id.
    last_us: AtomicU64,
    /// Milliseconds of the last time given to an entry.
    last_ms: AtomicU64,
}

impl Mint {
    /// A mint for the process whose start is entry `start` of the meta log.
    pub fn new(start: u64) -> Self {
        Mint { start: AtomicU64::new(start), last_us: AtomicU64::new(0), last_ms: AtomicU64::new(0) }
    }
    /// Notes where this process's start is in the meta log; before any record id is made.
    pub fn set_start(&self, start: u64) {
        self.start.store(start, Ordering::Release);
    }
    /// The time for an entry, Unix milliseconds: never before an earlier one of this process.
    pub fn time_ms(&self) -> u64 {
        let now = unix_us() / 1_000;
        self.last_ms.fetch_max(now, Ordering::Relaxed).max(now)
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

/// Now, Unix milliseconds; for what is shown or checked, never for what is applied.
pub fn unix_ms() -> u64 {
    unix_us() / 1_000
}

fn unix_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system has random numbers");
    bytes
}

/// Unix milliseconds as RFC 3339 UTC with milliseconds, `2023-06-27T14:42:38.831Z` (C§2).
pub fn rfc3339(unix_ms: u64) -> String {
    let time = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ms) * 1_000_000)
        .unwrap_or(time::OffsetDateTime::UNIX_EPOCH);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second(),
        time.millisecond()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ids_grow_and_are_unlike_those_of_another_start() {
        let (mints, mut seen) = ([Mint::new(1), Mint::new(2)], BTreeSet::new());
        let mut last = [String::new(), String::new()];
        for _ in 0..2_000 {
            for (mint, last) in mints.iter().zip(&mut last) {
                let id = mint.object_id();
                assert!(id.len() == 26 && id.bytes().all(|b| b.is_ascii_digit()), "{id}");
                assert!(id > *last, "{id} after {last}");
                assert!(seen.insert(id.clone()), "{id} twice");
                *last = id;
            }
        }
    }

    #[test]
    fn a_clock_set_back_does_not_repeat_ids_or_times() {
        let mint = Mint::new(7);
        let ahead = unix_us() + 3_600_000_000;
        mint.last_us.store(ahead, Ordering::Relaxed);
        mint.last_ms.store(ahead / 1_000, Ordering::Relaxed);
        assert_eq!(mint.object_id(), format!("{:016}0000000007", ahead + 1));
        assert_eq!(mint.object_id(), format!("{:016}0000000007", ahead + 2));
        assert_eq!(mint.time_ms(), ahead / 1_000);
    }

    #[test]
    fn times_have_milliseconds() {
        for (unix_ms, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_687_876_958_831, "2023-06-27T14:42:38.831Z"),
            (951_782_400_007, "2000-02-29T00:00:00.007Z"),
        ] {
            assert_eq!(rfc3339(unix_ms), expected);
        }
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
