//! Which users have writes under way on this node?

use crate::meta::{MetaState, UserState};
use parking_lot::Mutex;
use quorate_model::UserId;
use rustc_hash::FxHashMap;

/// The users for whom writes are under way on this node.
#[derive(Debug, Default)]
pub struct UserWrites {
    count: Mutex<FxHashMap<UserId, usize>>,
}

impl UserWrites {
    /// A write of a user begins; it ends when what this returns is dropped.
    pub fn begin(&self, user: &UserId) -> UnderWay<'_> {
        *self.count.lock().entry(user.clone()).or_default() += 1;
        UnderWay { writes: self, user: user.clone() }
    }
    /// Whether a write is under way that may have begun before its user's writes had to wait.
    pub fn hold_up(&self, meta: &MetaState) -> bool {
        let waits = |user: &UserId| match meta.users.map.get(user).map(|row| row.state) {
            Some(UserState::Frozen { .. } | UserState::Removing) => true,
            Some(
                UserState::Assigned
                | UserState::Copying { .. }
                | UserState::Landing { .. }
                | UserState::Cleaning { .. },
            )
            | None => false,
        };
        self.count.lock().keys().any(waits)
    }
}

/// A write of a user, until it is dropped.
#[derive(Debug)]
pub struct UnderWay<'a> {
    writes: &'a UserWrites,
    user: UserId,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut count = self.writes.count.lock();
        if let Some(left) = count.get_mut(&self.user) {
            *left -= 1;
            if *left == 0 {
                count.remove(&self.user);
            }
        }
    }
}
