//! Since when does this node run, and has it had all it should have?

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How far the start of a node has got.
pub struct Readiness {
    started: Instant,
    caught_up: AtomicBool,
}

impl Readiness {
    /// Of a node that starts now.
    pub fn new() -> Readiness {
        Readiness { started: Instant::now(), caught_up: AtomicBool::new(false) }
    }
    /// For how long it has run.
    pub fn up(&self) -> Duration {
        self.started.elapsed()
    }
    /// Whether it has had a lease of everything it should have at some time since its start.
    pub fn has_caught_up(&self) -> bool {
        self.caught_up.load(Ordering::Acquire)
    }
    /// Notes that it has them now.
    pub fn note_caught_up(&self) {
        self.caught_up.store(true, Ordering::Release);
    }
}
