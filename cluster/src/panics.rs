//! How many panics were there? Each is contained where it happens; here all of them are counted and logged, from any thread.

use futures_util::FutureExt as _;
use prometheus::IntCounter;
use std::panic::{AssertUnwindSafe, PanicHookInfo};
use std::sync::{LazyLock, Once};
use std::time::Duration;

pub use quorate_node::halt::panic_text;

/// The pause before a task that panicked begins again.
const AGAIN: Duration = Duration::from_secs(1);

static PANICS: LazyLock<IntCounter> = LazyLock::new(|| {
    let text = "Panics since the start: defects. Each was contained, and the log has it.";
    crate::metrics::registered(IntCounter::new("quorate_panics_total", text).expect("a valid metric"))
});

/// Counts and logs every panic of the process from now on, before what the process did about them so far. Further calls
/// change nothing.
pub fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        LazyLock::force(&PANICS);
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            note(info);
            before(info);
        }));
    });
}

fn note(info: &PanicHookInfo<'_>) {
    PANICS.inc();
    let text = panic_text(info.payload());
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let thread = std::thread::current();
    tracing::error!(thread = thread.name(), place, panic = text, "a panic");
}

/// Panics since [`watch`].
pub fn count() -> u64 {
    PANICS.get()
}

/// Runs a task of the background until it ends. One that panics is begun again: without it the node would do half of its work
/// from then on, and nobody would know.
pub async fn again<T: Future<Output = ()>>(name: &'static str, begin: impl Fn() -> T) {
    while AssertUnwindSafe(async { begin().await }).catch_unwind().await.is_err() {
        tracing::error!(task = name, "a task in the background panicked; it begins again");
        tokio::time::sleep(AGAIN).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[tokio::test]
    async fn a_task_that_panics_begins_again_and_is_counted() {
        watch();
        let (before, begun) = (count(), Cell::new(0));
        let task = || {
            begun.set(begun.get() + 1);
            // beginning it may panic as well as running it
            assert!(begun.get() != 1, "planted");
            async { assert!(begun.get() != 2, "planted") }
        };
        again("a test", task).await;
        assert_eq!(begun.get(), 3);
        assert!(count() >= before + 2);
    }
}
