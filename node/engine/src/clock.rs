//! Is the time of a search over?
//!
//! Hot path: a subtraction for each document; the system's clock is asked once in about a thousand.

use std::time::Instant;

/// Documents between two looks at the system's clock.
const EVERY: u32 = 1_024;

/// Looks at the time now and then.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    deadline: Instant,
    left: u32,
    over: bool,
}
impl Clock {
    /// A clock that rings at `deadline`.
    pub fn new(deadline: Instant) -> Clock {
        Clock { deadline, left: EVERY, over: false }
    }
    /// Whether the time is over, asked once for each document.
    #[inline]
    pub fn is_over(&mut self) -> bool {
        self.spend(1)
    }
    /// Whether the time is over, after work worth that of so many documents.
    #[inline]
    pub fn spend(&mut self, documents: u32) -> bool {
        if documents < self.left {
            self.left -= documents;
            return self.over;
        }
        self.left = EVERY;
        self.over |= Instant::now() >= self.deadline;
        self.over
    }
    /// Whether it was found to be over.
    pub fn rang(&self) -> bool {
        self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn it_rings_after_the_deadline_and_stays_so() {
        let mut late = Clock::new(Instant::now());
        let asked = (1..).find(|_| late.is_over());
        assert_eq!(asked, Some(EVERY));
        assert!(late.rang() && late.is_over());
        let mut early = Clock::new(Instant::now() + Duration::from_secs(3_600));
        assert!(!(0..5).any(|_| early.spend(u32::MAX)) && !early.rang());
    }
}
