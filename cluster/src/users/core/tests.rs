//! Is the work of each state begun once, again after failures, and only while the node leads?

use super::*;
use crate::command::{Joining, MetaCommand};
use crate::meta::{At, ClusterRow};
use quorate_model::{NodeId, level};
use std::sync::Arc;

const AT: At = At { log_index: 1, time_ms: 0 };

fn user(number: usize) -> UserId {
    UserId::new(&format!("u{number}")).expect("valid")
}
fn two_clusters(users: usize) -> MetaState {
    let mut state = MetaState::default();
    for (number, name) in ["east", "west"].into_iter().enumerate() {
        let row = ClusterRow { number: number as u16, founder: NodeId(1) };
        Arc::make_mut(&mut state.clusters).insert(name.into(), row);
    }
    let users = (0..users).map(user).collect();
    state.apply(AT, MetaCommand::AssignUsers { cluster: 0, users });
    state
}
fn leading() -> Core {
    let mut core = Core::default();
    core.lead(true);
    core
}
fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_move_is_copy_freeze_copy_flip_land_clean() {
    let (mut state, mut core) = (two_clusters(1), leading());
    assert_eq!(core.next(&state, s(0)), []);
    state.apply(AT, MetaCommand::MoveUser { user: user(0), to: 1 });
    for expected in [
        What::Copy { from: 0, to: 1 },
        What::CopyRest { from: 0, to: 1 },
        What::Land { to: 1 },
        What::Clean { cluster: 0 },
    ] {
        let work = core.next(&state, s(1));
        assert_eq!(work.iter().map(|work| work.what).collect::<Vec<_>>(), [expected]);
        assert_eq!(core.next(&state, s(1)), [], "it is being done");
        let Work { user, epoch, what, .. } = work[0].clone();
        state.apply(AT, MetaCommand::StepUser { user, epoch, step: what.leads_to() });
        core.ended(&work[0], Ok(()), s(1));
    }
    assert_eq!(core.next(&state, s(9)), []);
    assert_eq!(state.users.map.get(&user(0)).map(|row| (row.cluster, row.is_settled())), Some((1, true)));
    // another node that comes in at any point does the same
    state.apply(AT, MetaCommand::RemoveUser { user: user(0) });
    assert_eq!(leading().next(&state, s(9))[0].what, What::Delete);
}

#[test]
fn a_move_whose_end_takes_long_is_tried_again_after_a_break() {
    let (mut state, mut core, mut now) = (two_clusters(1), leading(), s(1));
    for node in 1..=2 {
        let name = format!("n{node}");
        let joining = Joining {
            peer: name.clone(),
            http: name.clone(),
            name,
            cluster: "east".into(),
            level: level::NEWEST,
        };
        state.apply(AT, MetaCommand::AddNode { node: NodeId(node), joining });
    }
    assert!(state.level() >= level::LOOKED);
    state.apply(AT, MetaCommand::MoveUser { user: user(0), to: 1 });
    let step = |state: &mut MetaState, core: &mut Core, work: &Work, now: Duration| {
        let Work { user, epoch, what, .. } = work.clone();
        state.apply(AT, MetaCommand::StepUser { user, epoch, step: what.leads_to() });
        core.ended(work, Ok(()), now);
    };
    for tries in 0..TRIES {
        let copy = core.next(&state, now).remove(0);
        assert_eq!((copy.what, copy.tries), (What::Copy { from: 0, to: 1 }, tries));
        step(&mut state, &mut core, &copy, now);
        for _ in 0..FROZEN_ATTEMPTS {
            let work = core.next(&state, now).remove(0);
            assert_eq!((work.what, work.tries), (What::CopyRest { from: 0, to: 1 }, tries));
            core.ended(&work, Err("planted".into()), now);
            now += s(1);
        }
        let work = core.next(&state, now).remove(0);
        if tries + 1 == TRIES {
            assert_eq!(work.what, What::Step(UserStep::GiveUp));
            break;
        }
        assert_eq!(work.what, What::Step(UserStep::Thaw));
        step(&mut state, &mut core, &work, now);
        let rest = THAWED[0].saturating_mul(1 << tries).min(THAWED[1]);
        assert_eq!(core.next(&state, now + rest - Duration::from_millis(1)), [], "writes go on");
        now += rest;
    }
}

#[test]
fn failures_wait_and_a_frozen_user_is_let_go() {
    let (mut state, mut core) = (two_clusters(1), leading());
    state.apply(AT, MetaCommand::MoveUser { user: user(0), to: 1 });
    state.apply(AT, MetaCommand::StepUser { user: user(0), epoch: 2, step: UserStep::Freeze });
    let mut now = s(1);
    for _ in 0..FROZEN_ATTEMPTS {
        let work = core.next(&state, now).remove(0);
        assert_eq!(work.what, What::CopyRest { from: 0, to: 1 });
        core.ended(&work, Err("planted".into()), now);
        assert_eq!(core.next(&state, now), []);
        now += s(20);
    }
    let work = core.next(&state, now).remove(0);
    assert_eq!(work.what, What::Step(UserStep::GiveUp));
    state.apply(AT, MetaCommand::StepUser { user: user(0), epoch: 3, step: UserStep::GiveUp });
    core.ended(&work, Ok(()), now);
    let work = core.next(&state, now).remove(0);
    assert_eq!(work.what, What::Clean { cluster: 1 });
    state.apply(AT, MetaCommand::StepUser { user: user(0), epoch: 4, step: UserStep::Settle });
    assert_eq!(state.users.map.get(&user(0)).map(|row| (row.cluster, row.is_settled())), Some((0, true)));
}

#[test]
fn what_writes_wait_for_is_begun_again_soon() {
    let (mut state, mut core) = (two_clusters(1), leading());
    state.apply(AT, MetaCommand::MoveUser { user: user(0), to: 1 });
    for (epoch, step) in [(2, UserStep::Freeze), (3, UserStep::Flip)] {
        state.apply(AT, MetaCommand::StepUser { user: user(0), epoch, step });
    }
    for attempt in 0..20 {
        let work = core.next(&state, s(attempt)).remove(0);
        assert_eq!(work.what, What::Land { to: 1 });
        core.ended(&work, Err("planted".into()), s(attempt));
    }
}

#[test]
fn who_does_not_lead_begins_nothing_and_who_leads_says_what_it_waits_for() {
    let (mut state, mut core) = (two_clusters(2), Core::default());
    state.apply(AT, MetaCommand::MoveUser { user: user(0), to: 1 });
    assert_eq!(core.next(&state, s(0)), []);
    let status = core.status(s(0));
    assert_eq!((status.leads, status.queued, status.running), (false, 1, 0));
    core.lead(true);
    let work = core.next(&state, s(1)).remove(0);
    let status = core.status(s(4));
    assert_eq!((status.running, status.head_age, status.waits_for), (1, s(3), "work that is under way"));
    core.lead(false);
    assert_eq!(core.next(&state, s(4)), []);
    // it is still being done: it is not begun twice when the leadership comes back
    core.lead(true);
    assert_eq!(core.next(&state, s(5)), []);
    core.ended(&work, Err("no way".into()), s(6));
    let status = core.status(s(6));
    assert_eq!((status.waits_for, status.last_error.as_deref()), ("another attempt", Some("no way")));
    // after a panic everything is read from the mapping again
    let mut anew = core.begun_anew("a panic".into());
    assert_eq!(anew.next(&state, s(6)), [work]);
    assert_eq!(anew.status(s(6)).last_error.as_deref(), Some("a panic"));
}

#[test]
fn few_users_are_worked_for_at_a_time() {
    let (mut state, mut core) = (two_clusters(20), leading());
    for number in 0..20 {
        state.apply(AT, MetaCommand::RemoveUser { user: user(number) });
    }
    let work = core.next(&state, s(0));
    assert_eq!(work.len(), AT_A_TIME);
    core.ended(&work[0], Err("planted".into()), s(0));
    assert_eq!(core.next(&state, s(0)).len(), 1, "the next one takes the place");
}

#[test]
fn calls_are_counted_and_bounded_also_after_a_panic() {
    let mut core = leading();
    let begun = (0..2 * CALLS_MAX).filter(|_| core.begin_call().is_some()).count();
    assert_eq!((begun, core.status(s(0)).queued), (CALLS_MAX, CALLS_MAX));
    let mut anew = core.begun_anew("a panic".into());
    assert_eq!(anew.begin_call(), None, "they are still under way");
    anew.end_call();
    assert_eq!(anew.begin_call(), Some(()));
}
