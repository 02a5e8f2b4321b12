//! How does a placement group hear of what the meta group decided?
//!
//! The meta state says what is to be announced (`meta/announcements.rs`, which also says why). Whoever decided something
//! announces it at once and keeps the janitor away meanwhile ([`JanitorHandle::announcing`]); the janitor announces what is
//! left, until the group has it.
//!
//! Another subject takes a variant of [`Subject`], a line of `MetaState::subjects_of`, an arm of [`announcement`], and a
//! command of the group with a revision that carries out nothing older than what the group has, like `Replicas`.
//!
//! [`JanitorHandle::announcing`]: crate::context::janitor::JanitorHandle::announcing

use super::replicas;
use crate::command::{MetaCommand, Subject};
use crate::context::NodeContext;
use crate::context::proposer::Accepted;
use crate::disk::Purpose;
use crate::meta::MetaState;
use quorate_model::{GroupId, Result};
use quorate_node::ops::IndexCommand;
use std::time::Instant;

/// What a group has to be told.
#[derive(Debug)]
pub struct Announcement {
    /// The group.
    pub group: GroupId,
    /// The entry that tells it.
    pub command: IndexCommand,
}

/// What has to be told of a subject at `revision`, and to which group; `None` when there is nothing to tell any more.
pub fn announcement(meta: &MetaState, subject: Subject, revision: u64) -> Option<Announcement> {
    match subject {
        Subject::Replicas(primary) => replicas::announcement(meta, primary, revision),
        Subject::Dictionaries(group) => {
            Some(Announcement { group, command: IndexCommand::Dictionaries { revision } })
        }
    }
}

/// Tells a group what it may not have heard yet, and the meta group that it has. Returns what the group was told with; `None`
/// when there is nothing to tell any more.
pub async fn announce(
    context: &NodeContext,
    subject: Subject,
    revision: u64,
    deadline: Instant,
) -> Result<Option<Accepted>> {
    let told = match announcement(&context.meta(), subject, revision) {
        Some(Announcement { group, command }) => {
            Some(context.proposer().propose_index(group, command, Purpose::Add, deadline).await?)
        }
        None => None,
    };
    note_heard(context, subject, revision, deadline).await?;
    Ok(told)
}

/// Says that a group has been told of a subject at `revision`. Errors: as of any change; who waits for it tells the group again then.
pub async fn note_heard(
    context: &NodeContext,
    subject: Subject,
    revision: u64,
    deadline: Instant,
) -> Result<()> {
    let announced = MetaCommand::Announced { subject, revision };
    context.proposer().propose_meta(announced, Purpose::Remove, deadline).await.map(drop)
}
