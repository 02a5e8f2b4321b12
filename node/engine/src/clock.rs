//! Is the time of a search over?
//!
//! Hot path: a subtraction for each document; the system's clock is asked once in about a thousand.

use quorate_model::limits::SEARCH_MS;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What showing hits may take beyond the deadline of finding them; then the others of the page come without highlights.
const SHOWING: Duration = Duration::from_millis(SEARCH_MS);

/// When the work of a search ends: at a time, or as soon as nobody waits for its answer any more.
#[derive(Clone, Debug)]
pub struct Deadline {
    at: Instant,
    /// What showing hits may take beyond it.
    showing: Duration,
    is_given_up: Option<Arc<AtomicBool>>,
}
impl Deadline {
    /// The same, and earlier when somebody sets `is_given_up`.
    pub fn unless(self, is_given_up: Arc<AtomicBool>) -> Deadline {
        Deadline { is_given_up: Some(is_given_up), ..self }
    }
    /// The same, and hits have to be shown by then as well.
    pub fn with_showing(self) -> Deadline {
        Deadline { showing: Duration::ZERO, ..self }
    }
    /// When hits have to be shown.
    pub fn of_showing(&self) -> Deadline {
        Deadline { at: self.at + self.showing, ..self.clone() }
    }
    /// The same, when half of the time that is left will be over.
    pub fn half_way(&self) -> Deadline {
        let now = Instant::now();
        Deadline { at: now + self.at.saturating_duration_since(now) / 2, ..self.clone() }
    }
    /// Whether the work ends now. Cost: a look at the system's clock.
    pub fn is_over(&self) -> bool {
        self.is_given_up.as_ref().is_some_and(|it| it.load(Ordering::Relaxed)) || Instant::now() >= self.at
    }
}
impl From<Instant> for Deadline {
    fn from(at: Instant) -> Deadline {
        Deadline { at, showing: SHOWING, is_given_up: None }
    }
}

/// Documents between two looks at the system's clock.
const EVERY: u32 = 1_024;

/// Looks at the time now and then.
#[derive(Clone, Debug)]
pub struct Clock {
    deadline: Deadline,
    left: u32,
    over: bool,
}
impl Clock {
    /// A clock that rings at `deadline`.
    pub fn new(deadline: &Deadline) -> Clock {
        Clock { deadline: deadline.clone(), left: EVERY, over: false }
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
        self.over |= self.deadline.is_over();
        self.over
    }
    /// The time it rings at, when nobody gives up before.
    pub fn until(&self) -> Instant {
        self.deadline.at
    }
    /// Whether it was found to be over.
    pub fn rang(&self) -> bool {
        self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rings_after_the_deadline_and_stays_so() {
        let mut late = Clock::new(&Instant::now().into());
        let asked = (1..).find(|_| late.is_over());
        assert_eq!(asked, Some(EVERY));
        assert!(late.rang() && late.is_over());
        let mut early = Clock::new(&(Instant::now() + Duration::from_secs(3_600)).into());
        assert!(!(0..5).any(|_| early.spend(u32::MAX)) && !early.rang());
    }

    #[test]
    fn hits_are_shown_later_unless_they_may_not() {
        let past = Deadline::from(Instant::now() - Duration::from_millis(1));
        assert!(past.is_over() && !past.of_showing().is_over());
        assert!(past.with_showing().of_showing().is_over());
    }

    #[test]
    fn work_that_nobody_waits_for_ends_before_its_time() {
        let is_given_up = Arc::new(AtomicBool::new(false));
        let deadline =
            Deadline::from(Instant::now() + Duration::from_secs(3_600)).unless(is_given_up.clone());
        let mut clock = Clock::new(&deadline);
        assert!(!clock.spend(u32::MAX) && !deadline.is_over());
        is_given_up.store(true, Ordering::Relaxed);
        assert!(clock.spend(u32::MAX) && deadline.is_over() && deadline.of_showing().is_over());
    }
}
