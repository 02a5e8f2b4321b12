//! What has to happen next for the users that are being moved or removed? No input or output happens here.
//!
//! The state of a user in the mapping says how far its move is; each state has one piece of work, and the work's success
//! has one step. Work may be begun again at any time, on any node: that is how a crash is survived.

use crate::command::LOOKED_LEVEL;
use crate::command::UserStep;
use crate::meta::{MetaState, UserRow, UserState};
use quorate_model::UserId;
use std::collections::BTreeMap;
use std::time::Duration;

/// Users that are worked for at a time.
const AT_A_TIME: usize = 4;
/// Before work that failed is begun again; doubled each time up to the second, or to the third while writes wait for it.
const AGAIN: [Duration; 3] =
    [Duration::from_millis(100), Duration::from_secs(10), Duration::from_millis(400)];
/// Attempts to end a move while writes wait, before they go on for a while.
const FROZEN_ATTEMPTS: u32 = 3;
/// How long they go on before the move is tried again; doubled each time up to the second.
const THAWED: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
/// Tries before a move is given up.
const TRIES: u32 = 8;

/// Something to do for a user. Clusters are named by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The user.
    pub user: UserId,
    /// The epoch that it belongs to.
    pub epoch: u64,
    /// What to do.
    pub what: What,
    /// How often the move was tried before.
    pub tries: u32,
}

/// What there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Make the user's records in `to` what they are in `from`, as they are now.
    Copy {
        /// Where they are.
        from: u16,
        /// Where they will be.
        to: u16,
    },
    /// The same, after the last write: reads of `to` see it when this is done.
    CopyRest {
        /// Where they are.
        from: u16,
        /// Where they will be.
        to: u16,
    },
    /// Let every node know where the user is now; nobody may write there before.
    Land {
        /// Where the user is.
        to: u16,
    },
    /// Delete the user's records in a cluster that no node reads in any more.
    Clean {
        /// The cluster.
        cluster: u16,
    },
    /// Delete the user's records everywhere.
    Delete,
    /// Tell the mapping to take this step.
    Step(UserStep),
}

impl What {
    /// The work of a row; `None` when nothing is under way.
    fn of(row: &UserRow) -> Option<What> {
        match row.state {
            UserState::Assigned => None,
            UserState::Copying { to } => Some(What::Copy { from: row.cluster, to }),
            UserState::Frozen { to } => Some(What::CopyRest { from: row.cluster, to }),
            UserState::Landing { .. } => Some(What::Land { to: row.cluster }),
            UserState::Cleaning { from } => Some(What::Clean { cluster: from }),
            UserState::Removing => Some(What::Delete),
        }
    }
    /// Whether the user's writes wait until it has succeeded.
    fn keeps_writes_waiting(self) -> bool {
        match self {
            What::CopyRest { .. } | What::Land { .. } | What::Step(_) => true,
            What::Copy { .. } | What::Clean { .. } | What::Delete => false,
        }
    }
    /// The step that its success allows.
    pub fn leads_to(self) -> UserStep {
        match self {
            What::Copy { .. } => UserStep::Freeze,
            What::CopyRest { .. } => UserStep::Flip,
            What::Land { .. } => UserStep::Land,
            What::Clean { .. } => UserStep::Settle,
            What::Delete => UserStep::Forget,
            What::Step(step) => step,
        }
    }
}

/// Which users are worked for, and since when which work failed.
#[derive(Debug, Default)]
pub struct Core {
    users: BTreeMap<UserId, Doing>,
}

#[derive(Debug)]
struct Doing {
    epoch: u64,
    is_running: bool,
    failed: u32,
    /// How often the user's writes waited in vain.
    thawed: u32,
    not_before: Duration,
}

impl Core {
    /// The work to begin now. `now` is the time since any fixed moment.
    pub fn next(&mut self, meta: &MetaState, now: Duration) -> Vec<Work> {
        self.users.retain(|user, doing| doing.is_running || meta.users.pending.contains_key(user));
        let mut running = self.users.values().filter(|doing| doing.is_running).count();
        let mut begun = vec![];
        for user in meta.users.pending.keys() {
            if running >= AT_A_TIME {
                break;
            }
            let Some(row) = meta.users.map.get(user) else { continue };
            let Some(what) = What::of(row) else { continue };
            let fresh = Doing { epoch: row.epoch, is_running: false, failed: 0, thawed: 0, not_before: now };
            let doing = self.users.entry(user.clone()).or_insert(fresh);
            if doing.is_running || (doing.epoch == row.epoch && doing.not_before > now) {
                continue;
            }
            if doing.epoch != row.epoch {
                (doing.epoch, doing.failed) = (row.epoch, 0);
            }
            if !matches!(row.state, UserState::Copying { .. } | UserState::Frozen { .. }) {
                doing.thawed = 0;
            }
            let is_stuck = doing.failed >= FROZEN_ATTEMPTS && matches!(row.state, UserState::Frozen { .. });
            let is_tried_again = meta.level() >= LOOKED_LEVEL && doing.thawed + 1 < TRIES;
            let what = match (is_stuck, is_tried_again) {
                (false, _) => what,
                (true, true) => What::Step(UserStep::Thaw),
                (true, false) => What::Step(UserStep::GiveUp),
            };
            doing.is_running = true;
            running += 1;
            begun.push(Work { user: user.clone(), epoch: row.epoch, what, tries: doing.thawed });
        }
        begun
    }

    /// Notes that work ended, its step included.
    pub fn ended(&mut self, work: &Work, outcome: Result<(), ()>, now: Duration) {
        let Some(doing) = self.users.get_mut(&work.user) else { return };
        doing.is_running = false;
        match outcome {
            Ok(()) if work.what == What::Step(UserStep::Thaw) => {
                let rest = THAWED[0].saturating_mul(1 << doing.thawed.min(16)).min(THAWED[1]);
                // the epoch of the try that comes
                (doing.epoch, doing.failed, doing.not_before) = (work.epoch + 1, 0, now + rest);
                doing.thawed += 1;
            }
            Ok(()) => (doing.failed, doing.not_before) = (0, now),
            Err(()) => {
                let longest = if work.what.keeps_writes_waiting() { AGAIN[2] } else { AGAIN[1] };
                let wait = AGAIN[0].saturating_mul(1 << doing.failed.min(16)).min(longest);
                doing.failed += 1;
                doing.not_before = now + wait;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Joining;
    use crate::command::{FEATURE_LEVEL, MetaCommand};
    use crate::meta::{At, ClusterRow};
    use quorate_model::NodeId;
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
    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_move_is_copy_freeze_copy_flip_land_clean() {
        let (mut state, mut core) = (two_clusters(1), Core::default());
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
        assert_eq!(Core::default().next(&state, s(9))[0].what, What::Delete);
    }

    #[test]
    fn a_move_whose_end_takes_long_is_tried_again_after_a_break() {
        let (mut state, mut core, mut now) = (two_clusters(1), Core::default(), s(1));
        for node in 1..=2 {
            let name = format!("n{node}");
            let joining = Joining {
                peer: name.clone(),
                http: name.clone(),
                name,
                cluster: "east".into(),
                level: FEATURE_LEVEL,
            };
            state.apply(AT, MetaCommand::AddNode { node: NodeId(node), joining });
        }
        assert!(state.level() >= LOOKED_LEVEL);
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
                core.ended(&work, Err(()), now);
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
        let (mut state, mut core) = (two_clusters(1), Core::default());
        state.apply(AT, MetaCommand::MoveUser { user: user(0), to: 1 });
        state.apply(AT, MetaCommand::StepUser { user: user(0), epoch: 2, step: UserStep::Freeze });
        let mut now = s(1);
        for _ in 0..FROZEN_ATTEMPTS {
            let work = core.next(&state, now).remove(0);
            assert_eq!(work.what, What::CopyRest { from: 0, to: 1 });
            core.ended(&work, Err(()), now);
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
        let (mut state, mut core) = (two_clusters(1), Core::default());
        state.apply(AT, MetaCommand::MoveUser { user: user(0), to: 1 });
        for (epoch, step) in [(2, UserStep::Freeze), (3, UserStep::Flip)] {
            state.apply(AT, MetaCommand::StepUser { user: user(0), epoch, step });
        }
        for attempt in 0..20 {
            let work = core.next(&state, s(attempt)).remove(0);
            assert_eq!(work.what, What::Land { to: 1 });
            core.ended(&work, Err(()), s(attempt));
        }
    }

    #[test]
    fn few_users_are_worked_for_at_a_time() {
        let (mut state, mut core) = (two_clusters(20), Core::default());
        for number in 0..20 {
            state.apply(AT, MetaCommand::RemoveUser { user: user(number) });
        }
        let work = core.next(&state, s(0));
        assert_eq!(work.len(), AT_A_TIME);
        core.ended(&work[0], Err(()), s(0));
        assert_eq!(core.next(&state, s(0)).len(), 1, "the next one takes the place");
    }
}
