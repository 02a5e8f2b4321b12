//! Saving, removing, reading and searching the synonyms and rules of an index (§4.6, §4.8).

use crate::disk::Purpose;
use crate::metrics;
use crate::read;
use crate::router::{Router, write_deadline};
use crate::service::Receipt;
use crate::write::{Reach, index_for_write, receipt};
use quorate_model::document::DocumentQuery;
use quorate_model::{DocumentHits, DocumentKind, IndexName, Result};
use quorate_node::ops::{Incarnation, IndexCommand, RawDocument};
use quorate_node::{Documents, Node};
use std::collections::BTreeSet;
use std::sync::Arc;

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
    fn purpose(&self) -> Purpose {
        match self {
            DocumentChange::Save(_) => Purpose::Add,
            DocumentChange::Replace(documents) if documents.is_empty() => Purpose::Remove,
            DocumentChange::Replace(_) => Purpose::Add,
            DocumentChange::Delete(_) => Purpose::Remove,
        }
    }
    /// Refuses what would leave more documents than there may be. Only looks at what is applied here: the command checks
    /// again where it stands in the log.
    fn check(&self, kind: DocumentKind, before: &Documents) -> Result<()> {
        let ids = |documents: &[RawDocument]| -> BTreeSet<String> {
            documents.iter().map(|document| document.object_id.clone()).collect()
        };
        let after = match self {
            DocumentChange::Save(documents) => {
                let new = ids(documents).into_iter().filter(|id| !before.contains(kind, id)).count();
                before.count(kind) + new
            }
            DocumentChange::Replace(documents) => ids(documents).len(),
            DocumentChange::Delete(_) => 0,
        };
        if after > kind.count_max() { Err(kind.too_many()) } else { Ok(()) }
    }
}

/// Carries out a change on one index, making the index when it is missing, and on its replicas when they are within reach.
///
/// Errors: `Invalid` when there would be too many documents. A replica that would have too many goes without the change.
pub async fn change(
    router: &Router,
    node: &Node,
    name: &IndexName,
    kind: DocumentKind,
    change: DocumentChange,
    reach: Reach,
) -> Result<Receipt> {
    let deadline = write_deadline();
    let row = index_for_write(router, name, deadline).await?;
    change.check(kind, &of(node, row.incarnation))?;
    let purpose = change.purpose();
    let command = reach.of(change.command(row.incarnation, kind));
    let accepted = router.propose_index(row.group, command, purpose, deadline).await?;
    metrics::accepted(kind.name());
    Ok(receipt(accepted, vec![]))
}

/// The documents of an index as applied here; none before anything was written to it.
pub fn of(node: &Node, index: Incarnation) -> Arc<Documents> {
    node.index(index).map_or_else(Arc::default, |state| state.documents.load_full())
}

/// One document as it was saved. Errors: `NotFound`.
pub fn get(
    router: &Router,
    node: &Node,
    name: &IndexName,
    kind: DocumentKind,
    object_id: &str,
) -> Result<Vec<u8>> {
    let documents = of(node, read::readable_row(router, node, name)?.incarnation);
    let found = match kind {
        DocumentKind::Synonyms => documents.synonyms.get(object_id).map(|synonym| &synonym.document),
        DocumentKind::Rules => documents.rules.get(object_id).map(|rule| &rule.document),
    };
    found.map(|document| document.as_bytes().to_vec()).ok_or_else(|| kind.missing())
}

/// A page of the documents that match, by objectID from the last to the first. Errors: `NotFound` for a missing index.
pub async fn search(
    router: &Router,
    node: &Node,
    name: &IndexName,
    kind: DocumentKind,
    asked: DocumentQuery,
) -> Result<DocumentHits> {
    let row = read::readable_row(router, node, name)?;
    let documents = of(node, row.incarnation);
    let settings = read::applied_settings(node, &row);
    node.pool().run(move |_| Ok(documents.search(kind, &settings, &asked))).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c20_the_limit_counts_ids_once() {
        let raw = |id: usize| RawDocument { object_id: id.to_string(), document: b"{}".to_vec() };
        let (kind, none) = (DocumentKind::Rules, Documents::default());
        let most: Vec<_> = (0..kind.count_max()).map(raw).collect();
        let twice: Vec<_> = most.iter().cloned().chain([raw(7)]).collect();
        let more: Vec<_> = (0..=kind.count_max()).map(raw).collect();
        for (change, fits) in [
            (DocumentChange::Save(most), true),
            (DocumentChange::Save(twice.clone()), true),
            (DocumentChange::Replace(twice), true),
            (DocumentChange::Save(more.clone()), false),
            (DocumentChange::Replace(more), false),
            (DocumentChange::Delete("7".into()), true),
        ] {
            let checked = change.check(kind, &none);
            assert_eq!(checked.is_ok(), fits, "{checked:?}");
        }
    }
}
