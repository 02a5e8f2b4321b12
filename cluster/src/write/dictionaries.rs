//! Changing the dictionaries of the installation (§4.9).

use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::metrics;
use crate::types::Receipt;
use crate::write::receipt;
use quorate_model::dictionary::{DictionaryChange, StandardChange};
use quorate_model::{DictionaryKind, Error, Result};

/// Changes the entries of a dictionary, all of it or nothing.
///
/// Errors: `Forbidden` when there would be too many of them. That looks at what is applied already: the command checks again
/// where it stands in the log.
pub async fn change(
    context: &NodeContext,
    kind: DictionaryKind,
    change: DictionaryChange,
) -> Result<Receipt> {
    let purpose = if change.only_removes() { Purpose::Remove } else { Purpose::Add };
    let meta = context.meta();
    // there may be 100,000 operations
    let checked = tokio::task::spawn_blocking(move || {
        let DictionaryChange { clear, ops } = change;
        meta.dictionaries.check(kind, clear, &ops)?;
        Ok::<_, Error>(MetaCommand::ChangeDictionary { kind, clear, ops })
    });
    let command = checked.await.map_err(|_| Error::internal("checking a dictionary broke off"))??;
    propose(context, command, purpose).await
}

/// Switches standard entries off and on.
pub async fn set_standard(context: &NodeContext, changes: [StandardChange; 3]) -> Result<Receipt> {
    propose(context, MetaCommand::SetStandardEntries { changes }, Purpose::Add).await
}

async fn propose(context: &NodeContext, command: MetaCommand, purpose: Purpose) -> Result<Receipt> {
    let accepted = context.proposer().propose_meta(command, purpose, write_deadline()).await?;
    metrics::accepted("dictionaries");
    Ok(receipt(accepted, vec![]))
}
