//! Does an installation keep a full copy of every group while nodes drain, leave, are replaced and lose their disks? Whole
//! installations in virtual time, a failing seed replays exactly.
//!
//! Consensus, plan, steps, leaving, claims and the checks of operators' wishes are the real ones. Snapshots have their real
//! states: described, on their way at any speed, arrived and waiting for the log, installed, failed. What a start finds is what was
//! synced.
//!
//! `QUORATE_SIM_SEEDS=N` runs N seeds, beginning with `QUORATE_SIM_FROM` (0).

mod damage;
mod disturb;
mod mutant;
mod news;
mod replica;
mod truth;
mod world;

use mutant::Mutant;
use quorate_model::seeds::{RunningSeed, caught, seeds};
use world::{Counts, World};

/// Virtual milliseconds of disturbance in one run.
const ROUGH_MS: u64 = 60_000;
/// Seeds in which a planted bug must be found.
const MUTANT_SEEDS: u64 = 120;

fn run(seed: u64, mutant: Option<Mutant>) -> Counts {
    let mut world = World::new(seed, mutant);
    world.run(ROUGH_MS);
    world.settle();
    world.counts
}

#[test]
fn every_group_keeps_full_copies_on_a_majority_of_those_it_lists() {
    let (seeds, mut all) = (seeds(3), Counts::default());
    let count = seeds.clone().count();
    // in the last one a follower that had cut its log by itself came to lead a voter that lacked what was cut
    for seed in seeds.chain([89]) {
        let _seed = RunningSeed::new(seed, "--lib");
        all += run(seed, None);
    }
    println!("{all:?}");
    let Counts {
        installed,
        failed,
        left,
        taken,
        removed,
        answers,
        damaged,
        damaged_leaders,
        vain,
        named,
        late,
    } = all;
    let rare =
        [installed, failed, left, taken, removed, answers, damaged, damaged_leaders, vain, named, late];
    assert!(count < 12 || rare.iter().all(|&count| count > 0), "{all:?}");
}

#[test]
fn planted_bugs_are_found() {
    let found: Vec<(Mutant, Option<u64>)> = Mutant::ALL
        .into_iter()
        .map(|mutant| {
            let fails = |seed: &u64| caught(|| _ = run(*seed, Some(mutant))).is_some();
            (mutant, mutant.found_by().into_iter().chain(0..MUTANT_SEEDS).find(fails))
        })
        .collect();
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
