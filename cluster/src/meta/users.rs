//! How users come into clusters, move between them and go (C§15): the part of it that every node knows.
//!
//! Every step is a command that names the epoch it was decided on. A step on another epoch changes nothing, so whoever
//! drives a move may crash, be repeated or be overtaken.

use super::rows::{Row, RowChange, StateTable};
use super::user_map::{UserMap, UserRow, UserState};
use super::{At, MetaState, SharedMap, Side};
use crate::command::UserStep;
use quorate_model::{UserId, level};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Users that one command assigns at most.
pub const USERS_PER_COMMAND_MAX: usize = 1_000;

/// A row for each user.
const USER: u8 = b'U';
/// A row without a value, once records are placed by user.
const ENABLED: u8 = b'M';

/// The mapping of users to clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Users {
    /// Whether the installation places records by user.
    pub is_enabled: bool,
    /// Every user.
    pub map: UserMap,
    /// Those for whom something is under way.
    pub pending: SharedMap<UserId, ()>,
    /// Those whose writes wait because the rest of their records is copied.
    pub frozen: usize,
    /// How many users each cluster serves, by its number.
    pub counts: Arc<BTreeMap<u16, u64>>,
}

impl StateTable for Users {
    fn kinds(&self) -> &'static [u8] {
        &[USER, ENABLED]
    }
    fn hashed_as(&self) -> &'static str {
        "users"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        let users = self.map.iter().map(|(user, it)| row(user, it));
        Box::new(users.chain(self.is_enabled.then(enabled_row)))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        match row.kind {
            USER => drop(self.put(UserId::new(row.text()?).ok()?, row.decoded()?)),
            _ => self.is_enabled = true,
        }
        Some(())
    }
}

fn row(user: &UserId, row: &UserRow) -> RowChange {
    RowChange::encoded(USER, user.as_str().as_bytes(), row)
}
fn enabled_row() -> RowChange {
    RowChange::put(ENABLED, b"", vec![])
}

impl UserRow {
    /// The row after a step; `None` when the step does not fit.
    fn after(self, step: UserStep) -> Option<UserRow> {
        let (cluster, state) = match (self.state, step) {
            (UserState::Copying { to }, UserStep::Freeze) => (self.cluster, UserState::Frozen { to }),
            (UserState::Frozen { to }, UserStep::Flip) => (to, UserState::Landing { from: self.cluster }),
            (UserState::Landing { from }, UserStep::Land) => (self.cluster, UserState::Cleaning { from }),
            (UserState::Cleaning { .. }, UserStep::Settle) => (self.cluster, UserState::Assigned),
            // what was copied already stays for the next try
            (UserState::Frozen { to }, UserStep::Thaw) => (self.cluster, UserState::Copying { to }),
            // what was copied already must not stay there
            (UserState::Copying { to } | UserState::Frozen { to }, UserStep::GiveUp) => {
                (self.cluster, UserState::Cleaning { from: to })
            }
            (
                UserState::Assigned
                | UserState::Copying { .. }
                | UserState::Frozen { .. }
                | UserState::Landing { .. }
                | UserState::Cleaning { .. }
                | UserState::Removing,
                UserStep::Freeze
                | UserStep::Flip
                | UserStep::Land
                | UserStep::Settle
                | UserStep::GiveUp
                | UserStep::Forget
                | UserStep::Thaw,
            ) => return None,
        };
        Some(UserRow { cluster, epoch: self.epoch + 1, state })
    }
}

impl Users {
    fn put(&mut self, user: UserId, row: UserRow) -> RowChange {
        let change = self::row(&user, &row);
        match row.is_settled() {
            true => drop(self.pending.remove(&user)),
            false => drop(self.pending.insert(user.clone(), ())),
        }
        let earlier = self.map.put(user, row);
        self.count(earlier, Some(row));
        change
    }
    fn remove(&mut self, user: &UserId) -> Vec<RowChange> {
        let Some(earlier) = self.map.remove(user) else { return vec![] };
        self.pending.remove(user);
        self.count(Some(earlier), None);
        vec![RowChange::delete(USER, user.as_str().as_bytes())]
    }
    fn count(&mut self, before: Option<UserRow>, after: Option<UserRow>) {
        let is_frozen = |row: Option<UserRow>| {
            usize::from(row.is_some_and(|row| matches!(row.state, UserState::Frozen { .. })))
        };
        self.frozen = self.frozen + is_frozen(after) - is_frozen(before);
        let (before, after) = (before.map(|row| row.cluster), after.map(|row| row.cluster));
        if before == after {
            return;
        }
        let counts = Arc::make_mut(&mut self.counts);
        if let Some(count) = before.and_then(|cluster| counts.get_mut(&cluster)) {
            *count -= 1;
        }
        if let Some(cluster) = after {
            *counts.entry(cluster).or_default() += 1;
        }
        counts.retain(|_, count| *count > 0);
    }
}

impl MetaState {
    /// The name of the cluster with this number.
    pub fn cluster_name(&self, number: u16) -> Option<&str> {
        self.clusters.iter().find(|(_, row)| row.number == number).map(|(name, _)| name.as_str())
    }

    pub(super) fn enable_users(&mut self) -> Vec<RowChange> {
        if std::mem::replace(&mut self.users.is_enabled, true) {
            return vec![];
        }
        vec![enabled_row()]
    }

    /// Assigns the users that are in no cluster yet; the others stay where they are.
    ///
    /// Their epoch is above every earlier one of a user who was removed: it is the place in the log, and no user has had
    /// more steps than the log has entries.
    pub(super) fn assign_users(&mut self, at: At, cluster: u16, users: Vec<UserId>) -> Vec<RowChange> {
        let fits = |user: &UserId| !user.is_public() && self.users.map.get(user).is_none();
        let new: BTreeSet<UserId> = users.into_iter().filter(fits).collect();
        if self.cluster_name(cluster).is_none() {
            return vec![];
        }
        let row = UserRow { cluster, epoch: at.log_index, state: UserState::Assigned };
        new.into_iter().map(|user| self.users.put(user, row)).collect()
    }

    pub(super) fn move_user(&mut self, user: UserId, to: u16) -> Vec<RowChange> {
        match self.users.map.get(&user) {
            Some(row) if row.is_settled() && row.cluster != to && self.cluster_name(to).is_some() => {
                let row = UserRow { epoch: row.epoch + 1, state: UserState::Copying { to }, ..*row };
                vec![self.users.put(user, row)]
            }
            Some(_) | None => vec![],
        }
    }

    pub(super) fn remove_user(&mut self, user: UserId) -> Vec<RowChange> {
        match self.users.map.get(&user) {
            Some(row) if row.is_settled() => {
                let row = UserRow { epoch: row.epoch + 1, state: UserState::Removing, ..*row };
                vec![self.users.put(user, row)]
            }
            Some(_) | None => vec![],
        }
    }

    /// At [`level::LOOKED`] writes begin to wait only when it is the turn of moves.
    pub(super) fn step_user(&mut self, at: At, user: UserId, epoch: u64, step: UserStep) -> Vec<RowChange> {
        let Some(row) = self.users.map.get(&user).copied().filter(|row| row.epoch == epoch) else {
            return vec![];
        };
        if (row.state, step) == (UserState::Removing, UserStep::Forget) {
            return self.users.remove(&user);
        }
        let Some(row) = row.after(step) else { return vec![] };
        let mut changes = match step {
            UserStep::Freeze if self.level() >= level::LOOKED => match self.take_turn(at, Side::Moves) {
                Ok(changes) => changes,
                Err(changes) => return changes,
            },
            UserStep::Freeze
            | UserStep::Flip
            | UserStep::Settle
            | UserStep::GiveUp
            | UserStep::Forget
            | UserStep::Land
            | UserStep::Thaw => vec![],
        };
        changes.push(self.users.put(user, row));
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::MetaCommand;
    use crate::meta::ClusterRow;
    use quorate_model::NodeId;
    use std::collections::BTreeMap;

    fn user(text: &str) -> UserId {
        UserId::new(text).expect("valid")
    }

    /// `assign CLUSTER USER…`, `move USER CLUSTER`, `remove USER`, or `STEP USER EPOCH`; then `user=cluster/state.epoch`.
    #[track_caller]
    fn check(script: &str, expected: &str) {
        let mut state = MetaState::default();
        for (number, name) in ["east", "west"].into_iter().enumerate() {
            let row = ClusterRow { number: number as u16, founder: NodeId(1) };
            Arc::make_mut(&mut state.clusters).insert(name.into(), row);
        }
        let mut rows = BTreeMap::new();
        for (number, line) in script.split(',').enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let cluster = |text: &str| text.parse().expect("a number");
            let command = match words[..] {
                ["assign", to, ref users @ ..] => MetaCommand::AssignUsers {
                    cluster: cluster(to),
                    users: users.iter().map(|text| user(text)).collect(),
                },
                ["move", who, to] => MetaCommand::MoveUser { user: user(who), to: cluster(to) },
                ["remove", who] => MetaCommand::RemoveUser { user: user(who) },
                [step, who, epoch] => {
                    let step = match step {
                        "freeze" => UserStep::Freeze,
                        "flip" => UserStep::Flip,
                        "land" => UserStep::Land,
                        "settle" => UserStep::Settle,
                        "give-up" => UserStep::GiveUp,
                        "forget" => UserStep::Forget,
                        "thaw" => UserStep::Thaw,
                        _ => panic!("{line}"),
                    };
                    MetaCommand::StepUser { user: user(who), epoch: epoch.parse().expect("a number"), step }
                }
                _ => panic!("{line}"),
            };
            for change in state.apply(At { log_index: number as u64 + 1, time_ms: 0 }, command) {
                match change.value {
                    Some(value) => drop(rows.insert(change.key, value)),
                    None => drop(rows.remove(&change.key)),
                }
            }
        }
        let restored = MetaState::from_rows(rows).expect("own rows");
        assert_eq!(restored.users, state.users, "{script}");
        let mut shown: Vec<String> = state
            .users
            .map
            .iter()
            .map(|(user, row)| {
                let state = match row.state {
                    UserState::Assigned => String::new(),
                    UserState::Copying { to } => format!(">{to}"),
                    UserState::Frozen { to } => format!("|{to}"),
                    UserState::Landing { from } => format!("!{from}"),
                    UserState::Cleaning { from } => format!("<{from}"),
                    UserState::Removing => "x".into(),
                };
                format!("{user}={}{state}.{}", row.cluster, row.epoch)
            })
            .collect();
        shown.sort();
        let counts: u64 = state.users.counts.values().sum();
        assert_eq!(counts as usize, state.users.map.len(), "{script}");
        let pending = state.users.map.iter().filter(|(_, row)| !row.is_settled()).count();
        assert_eq!(pending, state.users.pending.len(), "{script}");
        let is_frozen = |row: &UserRow| matches!(row.state, UserState::Frozen { .. });
        let frozen = state.users.map.iter().filter(|(_, row)| is_frozen(row)).count();
        assert_eq!(frozen, state.users.frozen, "{script}");
        assert_eq!(shown.join(" "), expected, "{script}");
    }

    #[test]
    fn users_are_assigned_once() {
        for (script, expected) in [
            ("assign 0 a b", "a=0.1 b=0.1"),
            ("assign 0 a, assign 1 a b", "a=0.1 b=1.2"),
            ("assign 9 a", ""),
            ("assign 0 a a *", "a=0.1"),
        ] {
            check(script, expected);
        }
    }

    #[test]
    fn a_move_goes_step_by_step_and_only_one_at_a_time() {
        for (script, expected) in [
            ("assign 0 a, move a 1", "a=0>1.2"),
            ("assign 0 a, move a 0", "a=0.1"),
            ("assign 0 a, move a 7", "a=0.1"),
            ("assign 0 a, move a 1, move a 1", "a=0>1.2"),
            ("assign 0 a, move a 1, freeze a 2", "a=0|1.3"),
            ("assign 0 a, move a 1, freeze a 1", "a=0>1.2"),
            ("assign 0 a, move a 1, flip a 2", "a=0>1.2"),
            ("assign 0 a, move a 1, freeze a 2, flip a 3", "a=1!0.4"),
            ("assign 0 a, move a 1, freeze a 2, flip a 3, flip a 3", "a=1!0.4"),
            ("assign 0 a, move a 1, freeze a 2, flip a 3, give-up a 4", "a=1!0.4"),
            ("assign 0 a, move a 1, freeze a 2, flip a 3, settle a 4", "a=1!0.4"),
            ("assign 0 a, move a 1, freeze a 2, flip a 3, land a 4", "a=1<0.5"),
            ("assign 0 a, move a 1, freeze a 2, flip a 3, land a 4, give-up a 5", "a=1<0.5"),
            ("assign 0 a, move a 1, freeze a 2, flip a 3, land a 4, settle a 5", "a=1.6"),
            ("assign 0 a, move a 1, freeze a 2, give-up a 3", "a=0<1.4"),
            ("assign 0 a, move a 1, freeze a 2, give-up a 3, settle a 4", "a=0.5"),
            ("assign 0 a, move a 1, give-up a 2, flip a 3", "a=0<1.3"),
            ("assign 0 a, move a 1, thaw a 2", "a=0>1.2"),
            ("assign 0 a, move a 1, freeze a 2, thaw a 3", "a=0>1.4"),
            ("assign 0 a, move a 1, freeze a 2, thaw a 3, flip a 4", "a=0>1.4"),
            ("assign 0 a, move a 1, freeze a 2, thaw a 3, freeze a 4, flip a 5", "a=1!0.6"),
            ("assign 0 a, move a 1, freeze a 2, flip a 3, thaw a 4", "a=1!0.4"),
        ] {
            check(script, expected);
        }
    }

    #[test]
    fn a_user_goes_only_when_nothing_is_under_way() {
        for (script, expected) in [
            ("assign 0 a, remove a", "a=0x.2"),
            ("assign 0 a, remove a, forget a 2", ""),
            ("assign 0 a, forget a 1", "a=0.1"),
            ("assign 0 a, move a 1, remove a", "a=0>1.2"),
            ("assign 0 a, remove a, move a 1, assign 1 a", "a=0x.2"),
            ("assign 0 a, remove a, forget a 2, assign 1 a", "a=1.4"),
            ("remove a", ""),
        ] {
            check(script, expected);
        }
    }
}
