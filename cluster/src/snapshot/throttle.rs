//! How fast files are pulled, and how whoever pulls them is stopped.

use parking_lot::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Bytes per second that all transfers of a node share.
#[derive(Debug)]
pub struct Throttle {
    bytes_per_s: u64,
    free_at: Mutex<Instant>,
}

impl Throttle {
    /// Lets `bytes_per_s` through; at least one.
    pub fn new(bytes_per_s: u64) -> Self {
        Throttle { bytes_per_s: bytes_per_s.max(1), free_at: Mutex::new(Instant::now()) }
    }
    /// Counts `bytes` and returns how long to wait before they are asked for.
    pub fn take(&self, bytes: u64) -> Duration {
        let now = Instant::now();
        let mut free_at = self.free_at.lock();
        let begin = (*free_at).max(now);
        *free_at = begin + Duration::from_secs_f64(bytes as f64 / self.bytes_per_s as f64);
        begin - now
    }
}

/// Lets one thread work until another one stops it; after that it has no effect any more.
#[derive(Debug, Default)]
pub struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Stops the thread: waits for a step that is being carried out, and lets no other begin.
    pub fn stop(&self) {
        *self.stopped.lock() = true;
        self.changed.notify_all();
    }
    /// Carries out a step; `None` when stopped.
    pub fn step<T>(&self, act: impl FnOnce() -> T) -> Option<T> {
        let stopped = self.stopped.lock();
        (!*stopped).then(act)
    }
    /// Waits; `None` when stopped, at once.
    pub fn wait(&self, time: Duration) -> Option<()> {
        let end = Instant::now() + time;
        let mut stopped = self.stopped.lock();
        while !*stopped && !self.changed.wait_until(&mut stopped, end).timed_out() {}
        (!*stopped).then_some(())
    }
}

/// A few turns that many want.
#[derive(Debug)]
pub struct Turns {
    free: Mutex<usize>,
}

/// Gives its turn back when dropped.
#[derive(Debug)]
pub struct Turn<'t>(&'t Turns);

impl Turns {
    /// So many at once.
    pub fn new(count: usize) -> Self {
        Turns { free: Mutex::new(count) }
    }
    /// A turn, if one is free.
    pub fn take(&self) -> Option<Turn<'_>> {
        let mut free = self.free.lock();
        *free = free.checked_sub(1)?;
        Some(Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.free.lock() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_share_the_rate() {
        let throttle = Throttle::new(1_000);
        assert_eq!(throttle.take(500), Duration::ZERO);
        let wait = throttle.take(1_000);
        assert!(wait > Duration::from_millis(400) && wait <= Duration::from_millis(500), "{wait:?}");
        assert!(throttle.take(1) > Duration::from_millis(1_400));
    }

    #[test]
    fn a_stop_ends_a_wait_and_every_later_step() {
        let stop = Stop::default();
        assert_eq!(stop.wait(Duration::from_millis(1)), Some(()));
        assert_eq!(stop.step(|| 5), Some(5));
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| stop.wait(Duration::from_secs(60)));
            stop.stop();
            assert_eq!(waiting.join().expect("no panic"), None);
        });
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
        assert_eq!((stop.step(|| 5), stop.wait(Duration::from_secs(60))), (None, None));
    }

    #[test]
    fn turns_come_back() {
        let turns = Turns::new(2);
        let (first, second) = (turns.take(), turns.take());
        assert!(first.is_some() && second.is_some() && turns.take().is_none());
        drop(first);
        assert!(turns.take().is_some());
    }
}
