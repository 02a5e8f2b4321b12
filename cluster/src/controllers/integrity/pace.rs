//! How fast does the node read for its checks? One rate, whoever reads.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The rate that all checks of a node share.
pub(super) struct Pace {
    bytes_per_s: u64,
    /// What was read so far is paid for with the time until then.
    paid_until: Mutex<Instant>,
    is_over: AtomicBool,
}

impl Pace {
    pub(super) fn new(bytes_per_s: u64) -> Pace {
        Pace {
            bytes_per_s: bytes_per_s.max(1),
            paid_until: Mutex::new(Instant::now()),
            is_over: AtomicBool::new(false),
        }
    }
    /// Waits until this many bytes are paid for.
    pub(super) fn take(&self, bytes: u64) {
        let until = {
            let mut paid_until = self.paid_until.lock();
            let price = Duration::from_secs_f64(bytes as f64 / self.bytes_per_s as f64);
            *paid_until = (*paid_until).max(Instant::now()) + price;
            *paid_until
        };
        while !self.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(Duration::from_millis(200)));
        }
    }
    /// Nobody waits any more: the node stops.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_readers_share_the_rate() {
        let (pace, begun) = (Pace::new(1_000_000), Instant::now());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10).for_each(|_| pace.take(5_000)));
            }
        });
        assert!(begun.elapsed() >= Duration::from_millis(199), "{:?}", begun.elapsed());
        pace.end();
        pace.take(u64::MAX / 2);
    }
}
