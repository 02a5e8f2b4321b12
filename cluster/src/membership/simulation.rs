//! Does an installation keep a full copy of every group while nodes drain, leave, are replaced and lose their disks? Whole
//! installations in virtual time, a failing seed replays exactly.
//!
//! Consensus, plan, steps, leaving, claims and the checks of operators' wishes are the real ones. Snapshots have their real
//! states: described, on their way at any speed, arrived and waiting for the log, installed, failed. What a start finds is what was
//! synced.
//!
//! `QUORATE_SIM_SEEDS=N` runs N seeds, beginning with `QUORATE_SIM_FROM` (0).

mod disturb;
mod mutant;
mod news;
mod replica;
mod truth;
mod world;

use mutant::Mutant;
use std::panic::{AssertUnwindSafe, catch_unwind};
use world::{Counts, World};

/// Virtual milliseconds of disturbance in one run.
const ROUGH_MS: u64 = 60_000;
/// Seeds in which a planted bug must be found.
const MUTANT_SEEDS: u64 = 120;

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

fn run(seed: u64, mutant: Option<Mutant>) -> Counts {
    let mut world = World::new(seed, mutant);
    world.run(ROUGH_MS);
    world.settle();
    world.counts
}

#[test]
fn every_group_keeps_full_copies_on_a_majority_of_those_it_lists() {
    let from = variable("QUORATE_SIM_FROM").unwrap_or(0);
    let count = variable("QUORATE_SIM_SEEDS").unwrap_or(3);
    let mut all = Counts::default();
    for seed in from..from + count {
        match catch_unwind(AssertUnwindSafe(|| run(seed, None))) {
            Ok(counts) => all += counts,
            Err(panic) => {
                eprintln!("to see it again: QUORATE_SIM_FROM={seed} QUORATE_SIM_SEEDS=1");
                std::panic::resume_unwind(panic);
            }
        }
    }
    println!("{all:?}");
    let Counts { installed, failed, left, taken, removed, answers, damaged, named, late } = all;
    let rare = [installed, failed, left, taken, removed, answers, damaged, named, late];
    assert!(count < 12 || rare.iter().all(|&count| count > 0), "{all:?}");
}

#[test]
fn planted_bugs_are_found() {
    std::panic::set_hook(Box::new(|_| {}));
    let found: Vec<(Mutant, Option<u64>)> = Mutant::ALL
        .into_iter()
        .map(|mutant| {
            let fails = |seed: &u64| catch_unwind(AssertUnwindSafe(|| run(*seed, Some(mutant)))).is_err();
            (mutant, mutant.found_by().into_iter().chain(0..MUTANT_SEEDS).find(fails))
        })
        .collect();
    drop(std::panic::take_hook());
    println!("{found:?}");
    assert!(found.iter().all(|(_, seed)| seed.is_some()), "{found:?}");
}

#[test]
fn a_seed_replays_exactly() {
    let runs = [0; 2].map(|_| {
        let mut world = World::new(7, None);
        world.run(20_000);
        (world.counts, world.trace)
    });
    assert_eq!(runs[0], runs[1]);
}
