//! Which seeds does a simulation run, how is a failing one seen again, and does a planted bug make one fail?
//!
//! It stands beside [`crate::chance`] for the same reason: simulations of several crates have the same one. The program uses it nowhere.

use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// The seeds to run: `usual` of them, or as many as `QUORATE_SIM_SEEDS` says; the first is 0, or `QUORATE_SIM_FROM`.
pub fn seeds(usual: u64) -> Range<u64> {
    let variable = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let from = variable("QUORATE_SIM_FROM").unwrap_or(0);
    from..from + variable("QUORATE_SIM_SEEDS").unwrap_or(usual)
}

/// A seed that runs: prints how to run it again when its test panics meanwhile.
#[derive(Debug)]
pub struct RunningSeed {
    seed: u64,
    target: &'static str,
}
impl RunningSeed {
    /// Of the test that has the name of this thread, in a target of cargo: `--lib`, or `--test NAME`.
    pub fn new(seed: u64, target: &'static str) -> RunningSeed {
        RunningSeed { seed, target }
    }
}
impl Drop for RunningSeed {
    fn drop(&mut self) {
        if std::thread::panicking() && !IS_EXPECTED.get() {
            let (RunningSeed { seed, target }, thread) = (&*self, std::thread::current());
            let test = thread.name().unwrap_or_default();
            eprintln!(
                "to see it again: QUORATE_SIM_FROM={seed} QUORATE_SIM_SEEDS=1 cargo test --workspace {target} -- --exact {test}"
            );
        }
    }
}

thread_local!(static IS_EXPECTED: Cell<bool> = const { Cell::new(false) });

/// What `run` panics with, if it does. Panics of this thread are what is looked for: nothing is printed about them.
pub fn caught(run: impl FnOnce()) -> Option<String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_EXPECTED.get() {
                usual(info);
            }
        }));
    });
    IS_EXPECTED.set(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    IS_EXPECTED.set(false);
    let panic = result.err()?;
    let text = panic.downcast_ref::<String>().cloned();
    Some(text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_with_its_text() {
        let number = 3;
        assert_eq!(caught(|| panic!("{number} is wrong")).as_deref(), Some("3 is wrong"));
        assert_eq!(caught(|| panic!("wrong")).as_deref(), Some("wrong"));
        assert_eq!(caught(|| drop(RunningSeed::new(1, "--lib"))), None);
        assert!(!IS_EXPECTED.get());
    }
}
