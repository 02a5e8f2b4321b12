//! Changing the dictionaries of the installation (C§12.1): the meta group decides, then every placement group is told.

use crate::clock::write_deadline;
use crate::command::{MetaCommand, Subject};
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::metrics;
use crate::types::Receipt;
use crate::write::announcements::announce;
use crate::write::receipt;
use crate::write::tasks::until_known;
use futures_util::future::join_all;
use quorate_model::dictionary::{DictionaryChange, StandardChange};
use quorate_model::{DictionaryKind, Error, GroupId, Result, TaskId, level};
use std::sync::Arc;
use std::time::Duration;

/// Time between two entries that tell a group of dictionaries: one after another would take more of the processors than the changes do.
const BETWEEN: Duration = Duration::from_millis(50);

/// Changes the entries of a dictionary, all of it or nothing.
///
/// Errors: `Forbidden` when there would be too many of them. That looks at what is applied already: the command checks again
/// where it stands in the log.
pub async fn change(
    context: &Arc<NodeContext>,
    kind: DictionaryKind,
    change: DictionaryChange,
) -> Result<Receipt> {
    let purpose = if change.only_removes() { Purpose::Remove } else { Purpose::Add };
    let meta = context.meta();
    // there may be 100,000 operations
    let checked = tokio::task::spawn_blocking(move || {
        let DictionaryChange { clear, ops } = change;
        meta.dictionaries.custom.check(kind, clear, &ops)?;
        Ok::<_, Error>(MetaCommand::ChangeDictionary { kind, clear, ops })
    });
    let command = checked.await.map_err(|_| Error::internal("checking a dictionary broke off"))??;
    propose(context, command, purpose).await
}

/// Switches standard entries off and on.
pub async fn set_standard(context: &Arc<NodeContext>, changes: [StandardChange; 3]) -> Result<Receipt> {
    propose(context, MetaCommand::SetStandardEntries { changes }, Purpose::Add).await
}

async fn propose(context: &Arc<NodeContext>, command: MetaCommand, purpose: Purpose) -> Result<Receipt> {
    let mut accepted = context.proposer().propose_meta(command, purpose, write_deadline()).await?;
    metrics::accepted("dictionaries");
    if context.meta().level() < level::DICTIONARIES_ACT {
        // kept, and acting when every node knows how
        return Ok(receipt(accepted, vec![]));
    }
    let revision = accepted.task_id.log_index();
    // the caller is answered: what is not announced now the janitor announces
    tokio::spawn(announce_to_all(context.clone(), revision));
    accepted.task_id = TaskId::new(GroupId::DICTIONARIES, revision);
    Ok(receipt(accepted, vec![]))
}

/// Tells all groups of a revision.
async fn announce_to_all(context: Arc<NodeContext>, revision: u64) {
    // a group that hears of a revision before its node has it goes on when it is looked at, some seconds later
    if let Err(error) = until_known(&context, write_deadline()).await {
        tracing::debug!(%error, "groups are told of dictionaries that some nodes may not know yet");
    }
    let meta = context.meta();
    join_all(meta.placement.keys().map(|&group| announce_newest(&context, group, revision))).await;
}

/// Tells a group of a revision. Those that come while that is under way are told as the newest of them, so that many changes after one
/// another cost a group a few entries.
async fn announce_newest(context: &NodeContext, group: GroupId, revision: u64) {
    let told = context.told_dictionaries();
    let mut next = told.begin(group, revision).then_some(revision);
    while let Some(revision) = next {
        if let Err(error) = announce(context, Subject::Dictionaries(group), revision, write_deadline()).await
        {
            tracing::debug!(group = group.0, %error, "a group does not know of changed dictionaries yet");
        }
        // only what changes meanwhile waits for it
        tokio::time::sleep(BETWEEN).await;
        next = told.done(&group, revision);
    }
}
