//! Which complaints about others were logged lately, so that a node that keeps failing fills no log.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::time::{Duration, Instant};

/// How long the same complaint is not repeated.
const REPEAT: Duration = Duration::from_secs(600);
/// Complaints that are remembered; beyond that all are forgotten, and may be heard again.
const REMEMBERED_MAX: usize = 256;

/// What a complaint is about. The same one about the same node is made once in ten minutes, whatever the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum About {
    /// Something that is not a node.
    Stranger,
    /// It breaks the rules.
    ProtocolError,
    /// One of the two does not want to talk to the other.
    Refusal,
    /// It takes nothing.
    Stall,
    /// Its clock.
    Clock,
    /// This node cannot accept connections.
    Accepting,
}

/// What was complained about, when, and with which details last.
#[derive(Default)]
pub struct Complaints {
    made: Mutex<FxHashMap<(String, About), (Instant, String)>>,
}

impl Complaints {
    /// Logs what is wrong with `who` as a warning, or for those who debug when it was logged in the last ten minutes.
    pub fn warn(&self, who: &str, about: About, what: &str) {
        match (self.is_new(who, about, what, Instant::now()), about) {
            (true, About::Clock) => tracing::warn!(node = who, "{what}"),
            (true, _) => tracing::warn!(node = who, what, "the connection to a node fails"),
            (false, _) => tracing::debug!(node = who, what, "still as before"),
        }
    }

    /// The last details of all that is remembered.
    #[cfg(test)]
    pub fn all(&self) -> Vec<String> {
        self.made.lock().values().map(|(_, what)| what.clone()).collect()
    }

    fn is_new(&self, who: &str, about: About, what: &str, now: Instant) -> bool {
        let mut made = self.made.lock();
        if made.len() >= REMEMBERED_MAX {
            made.clear();
        }
        let last = made.entry((who.to_string(), about)).or_insert_with(|| (now, String::new()));
        let is_new = last.1.is_empty() || now.saturating_duration_since(last.0) >= REPEAT;
        if is_new {
            last.0 = now;
        }
        last.1 = what.to_string();
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_made_once_in_ten_minutes() {
        let complaints = Complaints::default();
        let start = Instant::now();
        for (who, about, after_s, expected) in [
            ("1", About::ProtocolError, 0, true),
            ("1", About::ProtocolError, 1, false),
            ("1", About::Refusal, 1, true),
            ("2", About::ProtocolError, 2, true),
            ("1", About::ProtocolError, 599, false),
            ("1", About::ProtocolError, 600, true),
            ("1", About::ProtocolError, 601, false),
        ] {
            let is_new =
                complaints.is_new(who, about, &format!("at {after_s}"), start + Duration::from_secs(after_s));
            assert_eq!(is_new, expected, "{who} {about:?} {after_s}");
        }
        assert!(complaints.all().contains(&"at 601".to_string()), "the last details are kept");
        for number in 0..2 * REMEMBERED_MAX {
            complaints.is_new(&number.to_string(), About::ProtocolError, "x", start);
        }
        assert!(complaints.made.lock().len() <= REMEMBERED_MAX);
    }
}
