//! Do consensus and read leases hold under any schedule? Whole groups in virtual time; a failing seed replays exactly.
//!
//! `QUORATE_SIM_SEEDS=N` runs N seeds of each kind instead of the few that fit into every test run, beginning with
//! `QUORATE_SIM_FROM` (0). A failing seed prints the line that runs it again; `QUORATE_SIM_TELL=1` has it tell what
//! happens.

mod clock;
mod confirmations;
mod machine;
mod members;
mod mutant;
mod mutants;
mod snapshots;
mod world;

use mutant::Mutant;
use quorate_model::seeds::{RunningSeed, seeds};
use world::{Climate, Counts, World};

/// Virtual milliseconds of disturbance in one run.
const ROUGH_MS: u64 = 15_000;

/// Whether so many seeds were run that rare things must have come up.
fn is_wide(usual: u64) -> bool {
    seeds(usual).count() >= 20
}

fn rough(seed: u64, voters: &[u64], spare: &[u64], climate: Climate) -> World {
    let _seed = RunningSeed::new(seed, "--test simulation");
    let mut world = World::new(seed, voters, spare, climate);
    world.run(ROUGH_MS);
    world.settle();
    world
}

/// A world of leases, perhaps with a planted bug.
fn leases(seed: u64, mutant: Option<Mutant>) -> World {
    let (climate, ms) = Climate::of_leases(seed);
    let mut world = World::with_mutant(seed, &[1, 2, 3], &[4, 5], climate, mutant);
    world.run(ms);
    world.settle();
    world
}

#[test]
fn one_voter_keeps_what_it_answered() {
    let mut answers = 0;
    for seed in seeds(120) {
        answers += rough(seed, &[1], &[], Climate { crash: 20, ..Climate::ROUGH }).counts.answers;
    }
    assert!(answers > 0);
}

#[test]
fn three_voters_agree_and_keep_what_they_answered() {
    let mut restores = 0;
    for seed in seeds(80) {
        restores += rough(seed, &[1, 2, 3], &[], Climate::ROUGH).counts.restores;
    }
    assert!(!is_wide(80) || restores > 0, "snapshots are part of it");
}

#[test]
fn members_come_and_go_and_agree() {
    let climate = Climate { change_members: 250, crash: 2, ..Climate::ROUGH };
    let mut through = 0;
    // in the last one somebody who is left as the only voter wants to lead while its log is not durable
    for seed in seeds(60).chain([1_396]) {
        let world = rough(seed, &[1, 2, 3], &[4, 5], climate);
        through += world.changes.iter().filter(|(_, result)| result.is_ok()).count();
    }
    assert!(!is_wide(60) || through > 0, "some changes succeed");
}

#[test]
fn reads_under_a_lease_show_what_is_published() {
    let mut counts = Counts::default();
    for seed in seeds(200) {
        let _seed = RunningSeed::new(seed, "--test simulation");
        let world = leases(seed, None);
        counts += world.counts;
    }
    let Counts { published, reads, stops, transfers, removed, restores, .. } = counts;
    println!("{counts:?}");
    assert!(published > 0 && reads > 0, "{counts:?}");
    assert!(
        !is_wide(200) || [stops, transfers, removed, restores].iter().all(|&count| count > 0),
        "{counts:?}"
    );
}

#[test]
fn a_seed_replays_exactly() {
    for seed in [3, 4] {
        let runs = [0; 2].map(|_| {
            let world = rough(seed, &[1, 2, 3], &[4], Climate::LEASES);
            (world.trace, world.history.len(), world.counts)
        });
        assert_eq!(runs[0], runs[1]);
    }
}

#[test]
fn a_slow_disk_slows_writes_and_starts_no_elections() {
    let mut world = World::new(1, &[1, 2, 3], &[], Climate::CALM);
    world.run(3_000);
    let leader = world.leader().expect("a calm world has a leader");
    let term = |world: &World| world.machines[&leader].core().status().term;
    let before = (leader, term(&world));
    world.climate.sync_ms_max = 700;
    world.run(20_000);
    assert_eq!((world.leader().expect("still there"), term(&world)), before);
}
