//! Saving and removing the synonyms and rules of an index (C§11, C§10).

use crate::clock::{rfc3339, write_deadline};
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::meta::IndexRow;
use crate::metrics;
use crate::read::call::ask;
use crate::read::documents::CountDocuments;
use crate::types::Receipt;
use crate::write::{Reach, index_for_write, receipt};
use quorate_model::level::{self, Needs};
use quorate_model::{DocumentKind, IndexName, RecommendRule, Result};
use quorate_node::ops::{Incarnation, IndexCommand, RawDocument};
use std::collections::BTreeSet;

/// A change of the synonyms or the rules of an index.
#[derive(Clone, Debug)]
pub enum DocumentChange {
    /// Saves these; one with the id of an earlier one replaces it.
    Save(Vec<RawDocument>),
    /// These are all there are from now on, at once.
    Replace(Vec<RawDocument>),
    /// Removes one; a missing one is no error.
    Delete(String),
}

impl DocumentChange {
    fn command(self, index: Incarnation, kind: DocumentKind) -> IndexCommand {
        match self {
            DocumentChange::Save(documents) => {
                IndexCommand::SaveDocuments { index, kind, documents, replace: false }
            }
            DocumentChange::Replace(documents) => {
                IndexCommand::SaveDocuments { index, kind, documents, replace: true }
            }
            DocumentChange::Delete(object_id) => IndexCommand::DeleteDocument { index, kind, object_id },
        }
    }
    fn needs(&self, kind: DocumentKind) -> Needs {
        match self {
            DocumentChange::Save(documents) | DocumentChange::Replace(documents) => {
                let each = documents.iter().map(|document| level::of_document(kind, &document.document));
                each.fold(Needs::level(level::of_kind(kind)), Needs::or)
            }
            DocumentChange::Delete(_) => Needs::level(level::of_kind(kind)),
        }
    }
    /// With the time of the change in documents that keep it.
    fn stamped(mut self, kind: DocumentKind, time_ms: u64) -> DocumentChange {
        match (kind, &mut self) {
            (DocumentKind::Synonyms | DocumentKind::Rules, _) | (_, DocumentChange::Delete(_)) => {}
            (
                DocumentKind::Recommend(_),
                DocumentChange::Save(documents) | DocumentChange::Replace(documents),
            ) => {
                let saved_at = rfc3339(time_ms);
                for RawDocument { object_id: _, document } in documents {
                    *document = RecommendRule::stamped(document, &saved_at);
                }
            }
        }
        self
    }
    fn purpose(&self) -> Purpose {
        match self {
            DocumentChange::Save(_) => Purpose::Add,
            DocumentChange::Replace(documents) if documents.is_empty() => Purpose::Remove,
            DocumentChange::Replace(_) => Purpose::Add,
            DocumentChange::Delete(_) => Purpose::Remove,
        }
    }
    /// The ids it names, each once.
    fn ids(&self) -> Vec<String> {
        let ids: BTreeSet<&String> = match self {
            DocumentChange::Save(documents) | DocumentChange::Replace(documents) => {
                documents.iter().map(|document| &document.object_id).collect()
            }
            DocumentChange::Delete(_) => BTreeSet::new(),
        };
        ids.into_iter().cloned().collect()
    }
    /// Refuses what would leave more documents than there may be. Only looks at what is applied already: the command checks
    /// again where it stands in the log.
    async fn check(&self, context: &NodeContext, row: &IndexRow, kind: DocumentKind) -> Result<()> {
        let ids = self.ids();
        let named = ids.len();
        let counted = match self {
            DocumentChange::Save(_) => {
                let (group, incarnation) = (row.group, row.incarnation);
                ask(context, CountDocuments { group, incarnation, kind, ids }).await?
            }
            DocumentChange::Replace(_) | DocumentChange::Delete(_) => (0, 0),
        };
        check_count(kind, named, counted)
    }
}

/// Errors: `Invalid` when there are too many once `named` documents are saved beside `before`, `known` of them again.
fn check_count(kind: DocumentKind, named: usize, (before, known): (usize, usize)) -> Result<()> {
    let after = before + named.saturating_sub(known);
    if after > kind.count_max() { Err(kind.too_many()) } else { Ok(()) }
}

/// Carries out a change on one index, making the index when it is missing, and on its replicas when they are within reach.
///
/// Errors: `Invalid` when there would be too many documents. A replica that would have too many goes without the change.
pub async fn change(
    context: &NodeContext,
    name: &IndexName,
    kind: DocumentKind,
    change: DocumentChange,
    reach: Reach,
) -> Result<Receipt> {
    let deadline = write_deadline();
    // before an index is made for them
    context.proposer().check_level(&change.needs(kind))?;
    let row = index_for_write(context, name, deadline).await?;
    change.check(context, &row, kind).await?;
    let purpose = change.purpose();
    let change = change.stamped(kind, context.ids().time_ms());
    let command = reach.of(change.command(row.incarnation, kind));
    let accepted = context.proposer().propose_index(row.group, command, purpose, deadline).await?;
    metrics::accepted(kind.name());
    Ok(receipt(accepted, vec![]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_names_each_id_once() {
        let raw = |id: &str| RawDocument { object_id: id.into(), document: b"{}".to_vec() };
        let twice = vec![raw("b"), raw("a"), raw("b")];
        for (change, ids) in [
            (DocumentChange::Save(twice.clone()), vec!["a", "b"]),
            (DocumentChange::Replace(twice), vec!["a", "b"]),
            (DocumentChange::Save(vec![]), vec![]),
            (DocumentChange::Delete("7".into()), vec![]),
        ] {
            assert_eq!(change.ids(), ids, "{change:?}");
        }
    }
    #[test]
    fn c20_the_limit_counts_what_is_new() {
        let kind = DocumentKind::Rules;
        let most = kind.count_max();
        for (named, counted, fits) in [
            (most, (0, 0), true),
            (most + 1, (0, 0), false),
            (most, (most, most), true),
            (2, (most - 1, 1), true),
            (2, (most - 1, 0), false),
            (0, (most, 0), true),
        ] {
            assert_eq!(check_count(kind, named, counted).is_ok(), fits, "{named} {counted:?}");
        }
    }
}
