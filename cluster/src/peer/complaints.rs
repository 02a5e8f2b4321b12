//! Which complaints about others were logged lately, so that a node that keeps failing fills no log.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

/// How long the same complaint is not repeated.
const REPEAT: Duration = Duration::from_secs(600);
/// Complaints that are remembered; beyond that all are forgotten, and may be heard again.
const REMEMBERED_MAX: usize = 256;

/// What was complained about, and when.
#[derive(Default)]
pub struct Complaints {
    made: Mutex<FxHashMap<(String, String), Instant>>,
}

impl Complaints {
    /// Logs what is wrong with `who` as a warning, or for those who debug when it was logged in the last ten minutes.
    pub fn warn(&self, who: &str, what: &str) {
        if self.is_new(who, what, Instant::now()) {
            tracing::warn!(node = who, what, "trouble with the connection to a node");
        } else {
            tracing::debug!(node = who, what, "the same trouble with the connection to a node");
        }
    }

    /// All that is remembered.
    #[cfg(test)]
    pub fn all(&self) -> Vec<String> {
        self.made.lock().keys().map(|(who, what)| format!("{who}: {what}")).collect()
    }

    fn is_new(&self, who: &str, what: &str, now: Instant) -> bool {
        let mut made = self.made.lock();
        if made.len() >= REMEMBERED_MAX {
            made.clear();
        }
        let last = made.insert((who.to_string(), what.to_string()), now);
        let is_repeated = last.is_some_and(|at| now.saturating_duration_since(at) < REPEAT);
        if let Some(at) = last.filter(|_| is_repeated) {
            made.insert((who.to_string(), what.to_string()), at);
        }
        !is_repeated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_made_once_in_ten_minutes() {
        let complaints = Complaints::default();
        let start = Instant::now();
        for (who, what, after_s, expected) in [
            ("1", "nonsense", 0, true),
            ("1", "nonsense", 1, false),
            ("1", "token", 1, true),
            ("2", "nonsense", 2, true),
            ("1", "nonsense", 599, false),
            ("1", "nonsense", 600, true),
            ("1", "nonsense", 601, false),
        ] {
            let is_new = complaints.is_new(who, what, start + Duration::from_secs(after_s));
            assert_eq!(is_new, expected, "{who} {what} {after_s}");
        }
        for number in 0..2 * REMEMBERED_MAX {
            complaints.is_new(&number.to_string(), "nonsense", start);
        }
        assert!(complaints.made.lock().len() <= REMEMBERED_MAX);
    }
}
