//! What `distributed.md` left open about changes of members: dropped ones, and joint configurations that stay.

use crate::world::{Climate, World};
use quorate_raft::effects::Input;
use quorate_raft::{MemberChange, MembersError};

fn calm(seed: u64) -> (World, u64) {
    let mut world = World::new(seed, &[1, 2, 3], &[4, 5], Climate::CALM);
    world.run(3_000);
    let leader = world.leader().expect("a calm world has a leader");
    (world, leader)
}

fn is_joint(world: &World, member: u64) -> bool {
    let core = world.machines[&member].core.as_ref();
    core.is_some_and(|core| !core.members().voters_outgoing.is_empty())
}

#[test]
fn a_change_while_another_is_pending_is_refused_and_not_dropped_in_silence() {
    let (mut world, leader) = calm(11);
    world.change_members(leader, vec![MemberChange::AddLearner(4)]);
    world.change_members(leader, vec![MemberChange::AddLearner(5)]);
    assert_eq!(world.changes, [(leader, Err(MembersError::Busy))], "at once");
    world.run_until("the first is through", 5_000, |world| world.changes.len() == 2);
    assert!(world.changes[1].1.is_ok());
    world.change_members(leader, vec![MemberChange::AddLearner(5)]);
    world.run_until("now the second too", 5_000, |world| world.changes.len() == 3);
    assert!(world.changes[2].1.is_ok());
    let mut learners = world.machines[&leader].core.as_ref().expect("runs").members().learners.clone();
    learners.sort_unstable();
    assert_eq!(learners, [4, 5]);
    world.settle();
}

#[test]
fn a_joint_change_leaves_its_joint_configuration_by_itself() {
    let (mut world, leader) = calm(12);
    let gone = world.machines.keys().copied().find(|id| *id != leader && *id <= 3).expect("three voters");
    world.change_members(leader, vec![MemberChange::AddVoter(4), MemberChange::Remove(gone)]);
    world.run_until("through", 10_000, |world| !world.changes.is_empty());
    assert!(world.changes[0].1.is_ok());
    assert!(!is_joint(&world, leader));
    let voters = &world.machines[&leader].core.as_ref().expect("runs").members().voters;
    assert!(voters.contains(&4) && !voters.contains(&gone), "{voters:?}");
    world.settle();
}

/// The leader is gone between proposing the change and leaving it, at every moment in between.
#[test]
fn a_joint_configuration_is_left_although_the_leader_went_away() {
    let mut were_joint = 0;
    for delay in 0..40 {
        let (mut world, leader) = calm(13);
        let gone = world.machines.keys().copied().find(|id| *id != leader && *id <= 3).expect("three voters");
        world.change_members(leader, vec![MemberChange::AddVoter(4), MemberChange::Remove(gone)]);
        world.run(delay);
        world.isolate(leader);
        were_joint += u64::from(world.machines.keys().any(|id| is_joint(&world, *id)));
        world.run(10_000);
        world.settle();
        let leader = world.leader().expect("settled");
        assert!(!is_joint(&world, leader), "left after {delay} ms");
    }
    assert!(were_joint > 0, "some of the moments lie within the joint configuration");
}

/// A leader that already applied the joint configuration in an earlier life must leave it in the new one.
#[test]
fn a_joint_configuration_is_left_after_everyone_restarts_inside_it() {
    let mut were_joint = 0;
    for delay in 0..30 {
        let (mut world, leader) = calm(14);
        world.change_members(leader, vec![MemberChange::AddVoter(4), MemberChange::AddVoter(5)]);
        world.run(delay);
        let members: Vec<_> = world.machines.keys().copied().collect();
        for member in &members {
            let machine = world.machines.get_mut(member).expect("members are known");
            machine.durable_state = machine.state;
            world.crash(*member);
        }
        for member in &members {
            world.start(*member);
            were_joint += u64::from(is_joint(&world, *member));
        }
        world.settle();
    }
    assert!(were_joint > 0, "some restarts lie within the joint configuration");
}

#[test]
fn leadership_is_handed_over_on_request() {
    let (mut world, leader) = calm(15);
    let next = world.machines.keys().copied().find(|id| *id != leader && *id <= 3).expect("three voters");
    world.input(leader, Input::TransferLeader(next));
    world.run_until("the next one leads", 3_000, |world| world.leader() == Some(next));
    world.settle();
}

#[test]
fn a_member_that_was_removed_does_not_disturb_the_others() {
    let (mut world, leader) = calm(16);
    let gone = world.machines.keys().copied().find(|id| *id != leader && *id <= 3).expect("three voters");
    world.isolate(gone);
    world.change_members(leader, vec![MemberChange::Remove(gone)]);
    world.run_until("through", 5_000, |world| !world.changes.is_empty());
    let term = world.machines[&leader].core.as_ref().expect("runs").status().term;
    // It comes back and does not know.
    world.cut.clear();
    world.run(10_000);
    let status = world.machines[&leader].core.as_ref().expect("runs").status();
    assert_eq!((status.term, world.leader()), (term, Some(leader)));
    world.settle();
}

/// A member of one adds another, leaves, and crashes at every moment in between without its unsynced writes.
///
/// When a change takes effect before it is durable that it is committed, the old member starts again as if it were
/// alone, and goes on committing beside the new one.
#[test]
fn a_change_that_took_effect_is_not_forgotten_in_a_crash() {
    for delay in 0..120 {
        let mut world = World::new(17 + delay, &[1], &[2, 3], Climate { sync_ms_max: 60, ..Climate::CALM });
        world.run(500);
        world.change_members(1, vec![MemberChange::AddVoter(2), MemberChange::Remove(1)]);
        world.run(delay * 5);
        world.machines.get_mut(&1).expect("members are known").unsynced.clear();
        world.crash(1);
        world.run(50);
        world.start(1);
        world.run(5_000);
        world.settle();
    }
}
