//! Where is a user, and does what was read or written there count, although the user may have been moved meanwhile?
//!
//! Every node knows the mapping from the meta group's log, some milliseconds late. Whoever moves a user waits, before the
//! rest is copied and before the user is let go on, until every node that holds a read lease of the meta group has heard
//! ([`crate::write::tasks::is_published`]); a node says so only when it has no older write of a user whose writes wait
//! ([`UserWrites::hold_up`]). So a node that has held its lease without a break may believe what it knows: nobody went on
//! behind its back. One that has not asks the meta group.
//!
//! Cost: two looks at a lock that is hardly ever waited for, and for a write an entry in a small map.

use super::assigned;
use crate::context::user_writes::UnderWay;
use crate::groups::leases::Hold;
use crate::meta::{UserRow, UserState};
use crate::write::env::{ASK, Env};
use quorate_model::{Error, IndexName, Result, UserId};
use std::time::{Duration, Instant};

/// Between two looks at the mapping of a user whose writes wait.
const LOOK: Duration = Duration::from_millis(5);
/// A user who is moved away and back has at least so many changes.
const EPOCHS_OF_A_RETURN: u64 = 6;

/// What this node knew of a user at some moment, and whether it could be sure.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    row: UserRow,
    hold: Option<Hold>,
}

impl Known {
    /// Number of the cluster that serves the user.
    pub fn cluster(&self) -> u16 {
        self.row.cluster
    }
    /// Whether nobody else can have served the user between this moment and that of `now`.
    fn stayed(&self, now: &UserRow) -> bool {
        now.cluster == self.row.cluster && now.epoch < self.row.epoch + EPOCHS_OF_A_RETURN
    }
}

/// What is known of a user, who may have been assigned through another node a moment ago.
///
/// Errors: `Invalid` for a user that is in no cluster; `Unavailable` when that cannot be known.
async fn known(env: &impl Env, user: &UserId) -> Result<Known> {
    let hold = env.hold();
    if let Ok(row) = assigned(&env.meta(), user) {
        return Ok(Known { row, hold });
    }
    env.learn().await?;
    let row = assigned(&env.meta(), user)?;
    Ok(Known { row, hold })
}

/// Reads something of a user: `ask` is given the number of the cluster with the user's records, again when the user was moved
/// meanwhile.
///
/// Errors: those of `ask`; `Invalid` for a user that is in no cluster.
pub async fn read<T>(env: &impl Env, user: &UserId, mut ask: impl AsyncFnMut(u16) -> Result<T>) -> Result<T> {
    loop {
        let before = known(env, user).await?;
        let answer = ask(before.cluster()).await;
        if !env.is_unbroken(before.hold) && env.learn().await.is_err() {
            // cut off from the others: what this node knows has to do, as for every read
            return answer;
        }
        match env.meta().users.map.get(user) {
            Some(now) if !before.stayed(now) => {}
            Some(_) | None => return answer,
        }
    }
}

/// A user's write that has found its cluster.
pub struct Write<'a, M> {
    env: &'a M,
    user: &'a UserId,
    known: Known,
    _under_way: UnderWay<'a>,
}

impl<'a, M: Env> Write<'a, M> {
    /// Waits while the user's writes have to.
    ///
    /// Errors: `Invalid` for a user that is in no cluster; `Unavailable` when that lasts until `until`, and when this node
    /// cannot know what has been decided.
    pub async fn begin(env: &'a M, user: &'a UserId, until: Instant) -> Result<Write<'a, M>> {
        if env.hold().is_none() {
            // what it takes for the index may have another name by now, and what is refused afterwards would stay there
            env.learn().await?;
        }
        loop {
            if !waits(known(env, user).await?.row.state) {
                // before the mapping is looked at again: who wants to go on sees this write, or this write the change
                let under_way = env.writes().begin(user);
                let known = known(env, user).await?;
                if !waits(known.row.state) {
                    return Ok(Write { env, user, known, _under_way: under_way });
                }
            }
            if env.now() >= until {
                return Err(Error::unavailable(format!(
                    "userID {user} is being moved; try again in a moment"
                )));
            }
            env.pause(LOOK).await;
        }
    }
    /// Number of the cluster to write in.
    pub fn cluster(&self) -> u16 {
        self.known.cluster()
    }
    /// Whether a write that was accepted since the beginning belongs to the user's records, wherever these are now.
    ///
    /// Errors: `Unavailable` when that cannot be known.
    pub async fn counts(self) -> Result<bool> {
        let Write { env, user, known, _under_way: under_way } = self;
        if env.is_unbroken(known.hold) {
            return Ok(true);
        }
        drop(under_way);
        let until = env.now() + ASK;
        loop {
            env.learn().await?;
            match env.meta().users.map.get(user) {
                Some(now) if !known.stayed(now) => return Ok(false),
                Some(now) if !waits(now.state) => return Ok(true),
                // the rest may be copied already or not
                Some(_) if env.now() < until => {}
                Some(_) | None => {
                    return Err(Error::unavailable(format!(
                        "userID {user} is being moved or removed; try again"
                    )));
                }
            }
            env.pause(LOOK).await;
        }
    }
}

fn waits(state: UserState) -> bool {
    match state {
        UserState::Frozen { .. } | UserState::Landing { .. } => true,
        UserState::Assigned
        | UserState::Copying { .. }
        | UserState::Cleaning { .. }
        | UserState::Removing => false,
    }
}

/// The index that reads of `name` in a cluster go to: that cluster's partition. A name that no cluster has goes on as it is.
pub async fn partition_for_read(env: &impl Env, name: &IndexName, cluster: u16) -> Result<IndexName> {
    let partition = env.meta().partition_of(name, cluster)?;
    if partition != *name {
        // the cluster may have come after the index
        env.look_again(&partition).await;
        if env.meta().catalogue.get(&partition).is_none() {
            return Ok(name.clone());
        }
    }
    Ok(partition)
}
