//! What `distributed.md` left open about snapshots: does a member that lags behind the log's start come back?

use crate::world::{Climate, World};
use quorate_raft::effects::{Input, SnapshotChange};

fn cut_logs(world: &mut World, members: &[u64]) {
    for member in members {
        let applied = world.machines[member].state.index;
        let machine = world.machines.get_mut(member).expect("members are known");
        machine.durable_state = machine.state;
        world.input(*member, Input::Compact(applied));
    }
}

/// Three voters of which one was away while the others cut their logs. Returns (world, leader, the one away).
fn lagging() -> (World, u64, u64) {
    let mut world = World::new(5, &[1, 2, 3], &[], Climate::CALM);
    world.run(3_000);
    let leader = world.leader().expect("a calm world has a leader");
    let away = world.machines.keys().copied().find(|id| *id != leader).expect("three members");
    world.isolate(away);
    // Long enough that the leader no longer keeps the log for it.
    world.run(31_000);
    let others: Vec<_> = world.machines.keys().copied().filter(|id| *id != away).collect();
    cut_logs(&mut world, &others);
    world.run(500);
    (world, leader, away)
}

#[test]
fn a_lagging_member_gets_a_snapshot_and_follows() {
    let (mut world, leader, away) = lagging();
    let first = world.machines[&leader].core.as_ref().expect("runs").status().first_index;
    assert!(first > world.machines[&away].state.index + 1, "its next entry is gone");
    world.settle();
    assert!(world.counts.restores > 0);
    assert!(world.machines[&away].state.index >= first);
}

#[test]
fn a_snapshot_that_is_lost_is_sent_again() {
    let (mut world, leader, away) = lagging();
    world.cut.clear();
    // Requests reach the leader, nothing large comes through.
    world.cut.insert((leader, away));
    world.run(2_000);
    assert_eq!(world.counts.restores, 0);
    world.settle();
    assert!(world.counts.restores > 0);
}

#[test]
fn a_snapshot_that_is_lost_without_a_word_is_sent_again() {
    let (mut world, leader, away) = lagging();
    world.reports_snapshots = false;
    world.cut.clear();
    world.cut.insert((leader, away));
    world.run(2_000);
    assert_eq!(world.counts.restores, 0);
    world.settle();
    assert!(world.counts.restores > 0);
}

#[test]
fn a_member_continues_from_a_later_state_than_the_snapshot_it_was_sent() {
    for seed in 0..8 {
        let (mut world, _, away) = lagging();
        world.chance = quorate_model::chance::Chance::new(seed);
        world.snapshots_are_gone = true;
        world.cut.clear();
        world.climate = Climate { crash: 3, lose: 50, delay_ms_max: 120, sync_ms_max: 60, ..Climate::CALM };
        world.run_until("a renewed snapshot", 60_000, |world| world.counts.renewals > 0);
        if seed % 2 == 0 {
            // it has not heard of the rest of its log as committed, perhaps
            world.crash(away);
        }
        world.settle();
    }
}

#[test]
fn a_crash_while_the_snapshot_is_installed_starts_over_with_it() {
    for seed in 0..20 {
        let (mut world, _, away) = lagging();
        world.chance = quorate_model::chance::Chance::new(seed);
        world.cut.clear();
        let before = world.machines[&away].state.index;
        world.run_until("the snapshot is written", 20_000, |world| {
            world.machines[&away].disk.0.lock().stored().snapshot.is_some()
                || world.machines[&away].state.index > before
        });
        world.crash(away);
        // The state machine had not made it durable.
        let machine = world.machines.get_mut(&away).expect("members are known");
        if machine.disk.0.lock().stored().snapshot.is_some() {
            machine.state = quorate_raft::memory::State::default();
            machine.durable_state = machine.state;
        }
        world.settle();
    }
}

#[test]
fn an_election_that_is_due_while_a_snapshot_is_written_waits() {
    let (mut world, _, away) = lagging();
    world.cut.clear();
    world.climate.sync_ms_max = 3_000;
    let is_installing = |world: &World| {
        let mut unsynced = world.machines[&away].unsynced.iter();
        unsynced.any(|persist| matches!(persist.snapshot, SnapshotChange::Install(_)))
    };
    world.run_until("a snapshot is being written", 20_000, is_installing);
    world.input(away, Input::Campaign);
    for _ in 0..40 {
        world.input(away, Input::Tick);
    }
    assert!(is_installing(&world));
    world.settle();
    assert!(world.counts.restores > 0);
}

#[test]
fn the_log_is_kept_while_a_follower_or_a_snapshot_on_its_way_needs_it() {
    let mut world = World::new(6, &[1, 2, 3], &[], Climate::CALM);
    world.run(3_000);
    let leader = world.leader().expect("a calm world has a leader");
    let away = world.machines.keys().copied().find(|id| *id != leader).expect("three members");
    world.isolate(away);
    // Shorter than the time after which a member counts as gone.
    world.run(300);
    let reached = world.machines[&away].core.as_ref().expect("runs").status().last_index;
    let applied = world.machines[&leader].state.index;
    world.input(leader, Input::Compact(applied));
    let status = world.machines[&leader].core.as_ref().expect("runs").status();
    assert!(status.first_index <= reached + 1, "{status:?}, follower at {reached}");
    world.settle();
    assert_eq!(world.counts.restores, 0, "entries sufficed");
}
