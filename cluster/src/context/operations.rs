//! Since when are copies, moves and links of indices under way on this node?
//!
//! They reserve incarnations, which keep users from moving until they end. Who died left them behind: when no node has an operation
//! under way that is as old, nobody ends them any more.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The operations of indices that this node carries out.
#[derive(Debug, Default)]
pub struct Operations(Mutex<Begun>);

#[derive(Debug, Default)]
struct Begun {
    next: u64,
    /// In the order they began.
    at: BTreeMap<u64, Instant>,
}

impl Operations {
    /// One begins, before it reserves anything; it ends when what this returns is dropped.
    pub fn begin(&self) -> Operating<'_> {
        let mut begun = self.0.lock();
        let number = begun.next;
        begun.next += 1;
        begun.at.insert(number, Instant::now());
        Operating { operations: self, number }
    }
    /// For how long the oldest of them has been under way; nothing when there is none.
    pub fn oldest(&self) -> Duration {
        self.0.lock().at.first_key_value().map_or(Duration::ZERO, |(_, began)| began.elapsed())
    }
}

/// An operation, until it is dropped.
#[derive(Debug)]
pub struct Operating<'o> {
    operations: &'o Operations,
    number: u64,
}

impl Drop for Operating<'_> {
    fn drop(&mut self) {
        self.operations.0.lock().at.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_the_first_that_has_not_ended() {
        let operations = Operations::default();
        assert_eq!(operations.oldest(), Duration::ZERO);
        let first = operations.begin();
        std::thread::sleep(Duration::from_millis(20));
        let second = operations.begin();
        assert!(operations.oldest() >= Duration::from_millis(20));
        drop(first);
        assert!(operations.oldest() < Duration::from_millis(20));
        drop(second);
        assert_eq!(operations.oldest(), Duration::ZERO);
    }
}
