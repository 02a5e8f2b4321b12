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
    next: Next,
}

/// When the next attempt may begin.
#[derive(Clone, Copy, Debug)]
enum Next {
    Now,
    /// This long after the first look that follows: an attempt may have taken longer than the wait.
    In(Duration),
    At(Instant),
}

impl Attempts {
    /// Attempts of which the second may follow the first after `first`.
    pub fn every(first: Duration) -> Attempts {
        Attempts { first, failures: 0, next: Next::Now }
    }
    /// Notes that it went well.
    pub fn succeeded(&mut self) {
        *self = Attempts::every(self.first);
    }
    /// How many have failed in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }
    /// Whether the last one failed.
    pub fn are_failing(&self) -> bool {
        self.failures > 0
    }
    /// Notes a failure: the next attempt waits, from the next look on.
    pub fn failed(&mut self) {
        self.next = Next::In(self.first * (1 << self.failures.min(DOUBLINGS)));
        self.failures += 1;
    }
    /// When the next one may begin; `None` = at any time.
    pub fn next(&mut self, now: Instant) -> Option<Instant> {
        if let Next::In(wait) = self.next {
            self.next = Next::At(now + wait);
        }
        match self.next {
            Next::Now => None,
            Next::In(wait) => Some(now + wait),
            Next::At(at) => Some(at),
        }
    }
    /// Whether it is time.
    pub fn may_begin(&mut self, now: Instant) -> bool {
        self.next(now).is_none_or(|next| now >= next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_and_begins_when_an_attempt_has_ended() {
        let first = Duration::from_millis(500);
        let (mut attempts, mut now) = (Attempts::every(first), Instant::now());
        for doublings in [0, 1, 2, 3, 4, 5, 5] {
            assert!(attempts.may_begin(now));
            // the attempt takes longer than any wait
            now += Duration::from_secs(60);
            attempts.failed();
            let wait = first * (1 << doublings);
            assert_eq!(attempts.next(now), Some(now + wait));
            assert!(!attempts.may_begin(now + wait - Duration::from_millis(1)));
            now += wait;
        }
        attempts.succeeded();
        assert!(attempts.may_begin(now) && !attempts.are_failing());
        assert_eq!(attempts.next(now), None);
    }
}
