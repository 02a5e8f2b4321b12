//! Why a group stands still on this node, once it does: said by whoever finds out, asked by everybody.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// What is left of the state of a group that stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The state as of a command: it may be made durable and closed.
    Whole,
    /// A state that may be half: nothing of it may become durable. What is durable already, and the log, are whole.
    Half,
}

/// Whether the replica of a group stands still, and why; for as long as it is not opened anew. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Halt(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    is_half: AtomicBool,
    reason: OnceLock<String>,
}

impl Halt {
    /// The reason; `None` while the replica applies what comes.
    pub fn reason(&self) -> Option<&str> {
        self.0.reason.get().map(String::as_str)
    }
    /// Whether it stands still. Cost: an atomic load.
    pub fn is_set(&self) -> bool {
        self.reason().is_some()
    }
    /// Whether its state may be half. Cost: an atomic load.
    pub fn is_half(&self) -> bool {
        self.0.is_half.load(Ordering::Acquire)
    }
    /// Stops the group; the first reason stays. Returns whether this is the first.
    pub fn set(&self, reason: String, left: Left) -> bool {
        match left {
            Left::Whole => {}
            // first: who finds a reason must not take the state for whole
            Left::Half => self.0.is_half.store(true, Ordering::Release),
        }
        self.0.reason.set(reason).is_ok()
    }
}

/// What a panic said.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_reason_stays_and_half_is_half_for_good() {
        let halt = Halt::default();
        assert!(!halt.is_set() && !halt.is_half());
        assert!(halt.set("a newer program".into(), Left::Whole));
        assert!(!halt.is_half());
        assert!(!halt.clone().set("a panic".into(), Left::Half));
        assert!(halt.is_half());
        assert_eq!(halt.reason(), Some("a newer program"));
    }

    #[test]
    fn panics_are_quoted() {
        let said = |work: fn()| std::panic::catch_unwind(work).expect_err("a panic");
        assert_eq!(panic_text(&*said(|| panic!("a word"))), "a word");
        assert_eq!(panic_text(&*said(|| panic!("{} words", 2))), "2 words");
        assert_eq!(panic_text(&*said(|| std::panic::panic_any(7))), "without a word");
    }
}
