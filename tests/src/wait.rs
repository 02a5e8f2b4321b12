//! How does a test wait for what comes about by itself?

use std::time::{Duration, Instant};

/// Waits until something is true, and fails with what that is when it is not in time.
#[track_caller]
pub fn wait_until(patience: Duration, what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + patience;
    while !is_true() {
        assert!(Instant::now() < deadline, "{what}: not in time");
        std::thread::sleep(Duration::from_millis(20));
    }
}
