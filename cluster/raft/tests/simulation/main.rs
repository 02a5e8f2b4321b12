//! Does consensus hold under any schedule? Whole groups in virtual time; a failing seed replays exactly.
//!
//! `QUORATE_SEEDS=N` runs N seeds of each kind instead of the few that fit into every test run; `QUORATE_SEED=S` runs
//! one seed only.

mod chance;
mod machine;
mod members;
mod snapshots;
mod world;

use world::{Climate, World};

/// Virtual milliseconds of disturbance in one run.
const ROUGH_MS: u64 = 15_000;

/// Prints how to run a seed again when it fails.
struct Seed(u64);
impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("QUORATE_SEED={} runs this failure again", self.0);
        }
    }
}

fn seeds(usual: u64) -> std::ops::Range<u64> {
    let variable = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    match (variable("QUORATE_SEED"), variable("QUORATE_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(count)) => 0..count,
        (None, None) => 0..usual,
    }
}

fn rough(seed: u64, voters: &[u64], spare: &[u64], climate: Climate) -> World {
    let _seed = Seed(seed);
    let mut world = World::new(seed, voters, spare, climate);
    world.run(ROUGH_MS);
    world.settle();
    world
}

#[test]
fn one_voter_keeps_what_it_answered() {
    let mut answers = 0;
    for seed in seeds(120) {
        answers += rough(seed, &[1], &[], Climate { crash: 20, ..Climate::ROUGH }).answers;
    }
    assert!(answers > 0);
}

#[test]
fn three_voters_agree_and_keep_what_they_answered() {
    let mut restores = 0;
    for seed in seeds(80) {
        restores += rough(seed, &[1, 2, 3], &[], Climate::ROUGH).restores;
    }
    assert!(seeds(80).count() < 20 || restores > 0, "snapshots are part of it");
}

#[test]
fn members_come_and_go_and_agree() {
    let climate = Climate { change_members: 250, crash: 2, ..Climate::ROUGH };
    let mut through = 0;
    for seed in seeds(60) {
        let world = rough(seed, &[1, 2, 3], &[4, 5], climate);
        through += world.changes.iter().filter(|(_, result)| result.is_ok()).count();
    }
    assert!(seeds(60).count() < 20 || through > 0, "some changes succeed");
}

#[test]
fn a_seed_replays_exactly() {
    for seed in [3, 4] {
        let runs = [0; 2].map(|_| {
            let world = rough(seed, &[1, 2, 3], &[], Climate::ROUGH);
            (world.trace, world.history.len(), world.answers)
        });
        assert_eq!(runs[0], runs[1]);
    }
}

#[test]
fn a_slow_disk_slows_writes_and_starts_no_elections() {
    let mut world = World::new(1, &[1, 2, 3], &[], Climate::CALM);
    world.run(3_000);
    let leader = world.leader().expect("a calm world has a leader");
    let term = |world: &World| world.machines[&leader].core.as_ref().expect("runs").status().term;
    let before = (leader, term(&world));
    world.climate.sync_ms_max = 700;
    world.run(20_000);
    assert_eq!((world.leader().expect("still there"), term(&world)), before);
}
