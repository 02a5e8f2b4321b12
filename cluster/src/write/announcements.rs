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
use crate::clock::write_deadline;
use crate::command::{MetaCommand, Subject};
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::meta::MetaState;
use quorate_model::{GroupId, Result, TaskId};
use quorate_node::ops::IndexCommand;

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

/// Tells a group what it may not have heard yet, and the meta group that it has. Returns the task of it; `None` when there
/// is nothing to tell any more.
pub async fn announce(context: &NodeContext, subject: Subject, revision: u64) -> Result<Option<TaskId>> {
    let task = match announcement(&context.meta(), subject, revision) {
        Some(Announcement { group, command }) => {
            let told =
                context.proposer().propose_index(group, command, Purpose::Add, write_deadline()).await?;
            Some(told.task_id)
        }
        None => None,
    };
    let announced = MetaCommand::Announced { subject, revision };
    context.proposer().propose_meta(announced, Purpose::Remove, write_deadline()).await?;
    Ok(task)
}
