//! Would the simulation notice? Each planted bug must be found, and by what is meant to find it.

use crate::mutant::Mutant;
use crate::world::{Climate, World};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local!(static IS_EXPECTED: Cell<bool> = const { Cell::new(false) });

/// Panics of this thread are what is looked for: nothing is printed about them.
fn caught(run: impl FnOnce()) -> Option<String> {
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

fn find(mutant: Mutant, seeds: u64) {
    let from = crate::seeds(1).start;
    let mut texts = vec![];
    for seed in from..from + seeds {
        let text = caught(|| {
            let mut world = World::with_mutant(seed, &[1, 2, 3], &[4, 5], Climate::LEASES, Some(mutant));
            world.run(40_000);
            world.settle();
        });
        if let Some(text) = text {
            texts.push((seed, text.lines().next().unwrap_or_default().to_owned()));
        }
    }
    println!("{mutant:?}: {} of {seeds}", texts.len());
    for (seed, text) in texts.iter().take(6) {
        println!("    {seed}: {text}");
    }
}

#[test]
fn survey() {
    for mutant in Mutant::ALL {
        find(mutant, 60);
    }
}
