//! When may something that failed be tried again?

use std::time::{Duration, Instant};

/// The time from a failed attempt to the next doubles so often: from half a second to 16 s, so that room that comes back is
/// noticed soon and a large try does not go on all the time without it.
const DOUBLINGS: u32 = 5;

/// Attempts at one thing since it last succeeded.
#[derive(Debug)]
pub(super) struct Attempts {
    first: Duration,
    failures: u32,
    next: Option<Instant>,
}
impl Attempts {
    /// Attempts of which the second may follow the first after `first`.
    pub fn every(first: Duration) -> Attempts {
        Attempts { first, failures: 0, next: None }
    }
    /// Notes that it went well.
    pub fn succeeded(&mut self) {
        *self = Attempts::every(self.first);
    }
    /// Whether the last one failed.
    pub fn are_failing(&self) -> bool {
        self.failures > 0
    }
    /// Notes a failure: the next attempt waits.
    pub fn failed(&mut self) {
        let wait = self.first * (1 << self.failures.min(DOUBLINGS));
        self.failures += 1;
        self.next = Some(Instant::now() + wait);
    }
    /// Whether it is time.
    pub fn may_begin(&self) -> bool {
        self.next.is_none_or(|next| Instant::now() >= next)
    }
}
