//! How synonyms and rules change, and where they are kept: one row of the metadata store for each.

use super::{LogPosition, PlacementMachine};
use crate::documents::{Documents, Earlier};
use crate::error::Result;
use crate::index::IndexState;
use crate::ops::{Incarnation, RawDocument};
use quorate_model::{DocumentKind, RecommendModel};
use quorate_store::kv::Tree;
use quorate_store::layout::rows;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The byte that stands for a kind in row keys; it never changes.
fn kind_byte(kind: DocumentKind) -> u8 {
    match kind {
        DocumentKind::Synonyms => b's',
        DocumentKind::Rules => b'r',
        DocumentKind::Recommend(RecommendModel::RelatedProducts) => b'p',
        DocumentKind::Recommend(RecommendModel::BoughtTogether) => b'b',
        DocumentKind::Recommend(RecommendModel::TrendingItems) => b'i',
        DocumentKind::Recommend(RecommendModel::TrendingFacets) => b'f',
        DocumentKind::Recommend(RecommendModel::LookingSimilar) => b'l',
    }
}

/// Gives indices the documents that the tree holds for them.
pub(super) fn load(indices: &BTreeMap<Incarnation, Arc<IndexState>>, tree: &Tree) -> Result<()> {
    let mut found: BTreeMap<(Incarnation, DocumentKind), Vec<RawDocument>> = BTreeMap::new();
    for (key, document) in tree.scan(&[rows::DOCUMENT])? {
        let known = rows::document_of(&key).and_then(|(index, byte, object_id)| {
            let kind = DocumentKind::ALL.into_iter().find(|&kind| kind_byte(kind) == byte)?;
            Some(((index, kind), object_id.to_owned()))
        });
        if let Some((place, object_id)) = known {
            found.entry(place).or_default().push(RawDocument { object_id, document });
        }
    }
    for ((index, kind), documents) in found {
        if let Some(state) = indices.get(&index) {
            let all = state.documents.load().with(kind, &documents, Earlier::Dropped)?;
            state.documents.store(Arc::new(all));
        }
    }
    Ok(())
}

impl PlacementMachine {
    /// Saves documents of one kind.
    pub(super) fn save_documents(
        &mut self,
        at: LogPosition,
        index: Incarnation,
        kind: DocumentKind,
        documents: Vec<RawDocument>,
        replace: bool,
    ) -> Result<()> {
        let earlier = if replace { Earlier::Dropped } else { Earlier::Kept };
        let before = self.node.index(index).map(|state| state.documents.load_full()).unwrap_or_default();
        let after = before.with(kind, &documents, earlier)?;
        let state = self.changed(at, index);
        if replace {
            for (object_id, _) in before.saved(kind) {
                if !after.contains(kind, object_id) {
                    self.changes.delete(rows::document(index, kind_byte(kind), object_id));
                }
            }
        }
        for RawDocument { object_id, document } in documents {
            self.changes.put(rows::document(index, kind_byte(kind), &object_id), document);
        }
        state.publish_documents(after);
        Ok(())
    }

    /// Removes one document.
    pub(super) fn delete_document(
        &mut self,
        at: LogPosition,
        index: Incarnation,
        kind: DocumentKind,
        object_id: &str,
    ) -> Result<()> {
        let state = self.changed(at, index);
        let before = state.documents.load_full();
        if before.contains(kind, object_id) {
            self.changes.delete(rows::document(index, kind_byte(kind), object_id));
            state.publish_documents(before.without(kind, object_id));
        }
        Ok(())
    }

    /// Gives a new index the documents of another one.
    pub(super) fn copy_documents(&mut self, from: Incarnation, to: &IndexState) {
        let Some(source) = self.node.index(from) else {
            return;
        };
        let documents = source.documents.load_full();
        self.put_rows(to.incarnation, &documents);
        to.documents.store(documents);
    }

    /// Removes the rows of an index that is dropped.
    pub(super) fn drop_documents(&mut self, state: &IndexState) {
        let documents = state.documents.load();
        for kind in DocumentKind::ALL {
            for (object_id, _) in documents.saved(kind) {
                self.changes.delete(rows::document(state.incarnation, kind_byte(kind), object_id));
            }
        }
    }

    fn put_rows(&mut self, index: Incarnation, documents: &Documents) {
        for kind in DocumentKind::ALL {
            for (object_id, document) in documents.saved(kind) {
                let key = rows::document(index, kind_byte(kind), object_id);
                self.changes.put(key, document.as_bytes().to_vec());
            }
        }
    }

    /// The state of an index that a command writes to, made when it is new.
    fn changed(&mut self, at: LogPosition, index: Incarnation) -> Arc<IndexState> {
        match self.node.index(index) {
            Some(state) => {
                state.updated_ms.store(at.time_ms, std::sync::atomic::Ordering::Relaxed);
                self.keep(&state);
                state
            }
            None => self.create(at, index),
        }
    }
}
