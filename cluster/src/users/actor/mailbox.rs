//! What the actor of the user mapping can be told, and how others find it.

use super::UserMappingActor;
use crate::users::UserDirectory;
use crate::users::core::Work;
use crate::users::usage::Usage;
use actix::{Addr, Message};
use quorate_model::{Error, Result, UserId, limits};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Messages that may wait.
pub(super) const MAILBOX: usize = 256;
/// How long a change of users may take: it has deadlines of its own, which come before.
const CHANGE: Duration = Duration::from_secs(3 * limits::WRITE_S);

/// What the interface asks for. The answer is when it was accepted, Unix milliseconds.
#[derive(Debug)]
pub enum Change {
    /// Assign users that are in no cluster yet.
    Assign {
        /// The users.
        users: Vec<UserId>,
        /// The name of the cluster.
        cluster: String,
    },
    /// Assign a user, or begin to move it there.
    Move {
        /// The user.
        user: UserId,
        /// The name of the cluster.
        cluster: String,
    },
    /// Begin to remove a user with all records.
    Remove {
        /// The user.
        user: UserId,
    },
}
/// A piece of work has ended.
pub(super) struct Ended(pub Work, pub Result<()>);
/// What users have is to be counted.
pub(super) struct Count;
/// It was counted, from then on.
pub(super) struct Counted(pub Result<Usage>, pub Instant);
/// It may be time for something.
pub(super) struct Tick;
/// The node leads the meta group from now on, or does not any more.
pub(super) struct Leadership(pub bool);
/// The node stops; what is under way is begun again by whoever leads next.
pub(super) struct Stop;

impl Message for Change {
    type Result = Result<u64>;
}
impl Message for Ended {
    type Result = ();
}
impl Message for Count {
    type Result = ();
}
impl Message for Counted {
    type Result = ();
}
impl Message for Tick {
    type Result = ();
}
impl Message for Leadership {
    type Result = ();
}
impl Message for Stop {
    type Result = ();
}

/// Where the actor of the mapping is found once it has started.
#[derive(Debug, Default)]
pub struct Address(OnceLock<Addr<UserMappingActor>>);

impl UserDirectory {
    /// Names the actor of the mapping.
    pub(super) fn found(&self, actor: Addr<UserMappingActor>) {
        let named = self.actor.0.set(actor);
        assert!(named.is_ok(), "a node has one user mapping, started once");
    }
    /// Has users assigned, moved or removed; returns when that was accepted, Unix milliseconds.
    ///
    /// Errors: those of [`crate::users::assign`], [`crate::users::assign_many`] and [`crate::users::remove`]; `Unavailable` while the node starts or stops.
    pub async fn change(&self, change: Change) -> Result<u64> {
        let actor = self.actor.0.get().ok_or_else(|| Error::unavailable("the node is starting"))?;
        match tokio::time::timeout(CHANGE, actor.send(change)).await {
            Ok(Ok(accepted)) => accepted,
            Ok(Err(_)) => Err(Error::unavailable("the node is stopping")),
            Err(_) => Err(Error::unavailable("the user mapping does not answer in time; try again")),
        }
    }
    /// Ends the actor of the mapping.
    pub fn stop(&self) {
        if let Some(actor) = self.actor.0.get() {
            actor.do_send(Stop);
        }
    }
}
