//! What has to happen next for the users that are being moved or removed? No input or output happens here.
//!
//! The state of a user in the mapping says how far its move is; each state has one piece of work, and the work's success
//! has one step. Work may be begun again at any time, on any node: that is how a crash is survived.

use crate::command::UserStep;
use crate::meta::{MetaState, UserRow, UserState};
use quorate_model::{UserId, level};
use std::collections::BTreeMap;
use std::time::Duration;

/// Calls of the interface that may be under way at a time.
const CALLS_MAX: usize = 1_024;
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
    /// Whether this node leads the meta group: nobody else begins anything.
    leads: bool,
    /// Users for whom something is under way, as of the last look.
    pending: usize,
    /// Calls of the interface that are under way.
    calls: usize,
    last_error: Option<String>,
}

/// How the user mapping of a node is, for those who look after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappingStatus {
    /// Whether it moves and removes users: the node leads the meta group.
    pub leads: bool,
    /// Users for whom something is to be done, and calls that are under way.
    pub queued: usize,
    /// Users that are worked for now.
    pub running: usize,
    /// For how long this node has worked for the oldest of them.
    pub head_age: Duration,
    /// What it waits for.
    pub waits_for: &'static str,
    /// How work failed the last time.
    pub last_error: Option<String>,
}

#[derive(Debug)]
struct Doing {
    /// When it was first looked at.
    since: Duration,
    epoch: u64,
    is_running: bool,
    failed: u32,
    /// How often the user's writes waited in vain.
    thawed: u32,
    not_before: Duration,
}

impl Core {
    /// The node leads the meta group from now on, or does not any more: what is under way ends by itself.
    pub fn lead(&mut self, leads: bool) {
        self.leads = leads;
    }
    /// A core that knows nothing of what is under way, after this error.
    pub fn begun_anew(&self, error: String) -> Core {
        Core { leads: self.leads, calls: self.calls, last_error: Some(error), ..Core::default() }
    }
    /// A call of the interface begins; `None` when as many are under way as may be.
    pub fn begin_call(&mut self) -> Option<()> {
        (self.calls < CALLS_MAX).then(|| self.calls += 1)
    }
    /// A call that was begun has ended.
    pub fn end_call(&mut self) {
        self.calls -= 1;
    }
    /// How it is.
    pub fn status(&self, now: Duration) -> MappingStatus {
        let running = self.users.values().filter(|doing| doing.is_running).count();
        let oldest = self.users.values().map(|doing| doing.since).min();
        MappingStatus {
            leads: self.leads,
            queued: self.pending + self.calls,
            running,
            head_age: oldest.map_or(Duration::ZERO, |since| now.saturating_sub(since)),
            waits_for: match (self.leads, running, self.pending) {
                (false, ..) => "the leadership of the meta group",
                (true, 0, 0) => "changes of users",
                (true, 0, _) => "another attempt",
                (true, ..) => "work that is under way",
            },
            last_error: self.last_error.clone(),
        }
    }
    /// The work to begin now, while this node leads. `now` is the time since any fixed moment.
    pub fn next(&mut self, meta: &MetaState, now: Duration) -> Vec<Work> {
        self.pending = meta.users.pending.len();
        if !self.leads {
            self.users.retain(|_, doing| doing.is_running);
            return vec![];
        }
        self.users.retain(|user, doing| doing.is_running || meta.users.pending.contains_key(user));
        let mut running = self.users.values().filter(|doing| doing.is_running).count();
        let mut begun = vec![];
        for user in meta.users.pending.keys() {
            if running >= AT_A_TIME {
                break;
            }
            let Some(row) = meta.users.map.get(user) else { continue };
            let Some(what) = What::of(row) else { continue };
            let fresh = Doing {
                since: now,
                epoch: row.epoch,
                is_running: false,
                failed: 0,
                thawed: 0,
                not_before: now,
            };
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
            let is_tried_again = meta.level() >= level::LOOKED && doing.thawed + 1 < TRIES;
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
    pub fn ended(&mut self, work: &Work, outcome: Result<(), String>, now: Duration) {
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
            Err(error) => {
                self.last_error = Some(error);
                let longest = if work.what.keeps_writes_waiting() { AGAIN[2] } else { AGAIN[1] };
                let wait = AGAIN[0].saturating_mul(1 << doing.failed.min(16)).min(longest);
                doing.failed += 1;
                doing.not_before = now + wait;
            }
        }
    }
}

#[cfg(test)]
mod tests;
