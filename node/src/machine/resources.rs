//! How synonyms and rules change, and where they are kept: one row of the metadata store for each.

use super::{LogPosition, PlacementMachine};
use crate::error::Result;
use crate::index::IndexState;
use crate::ops::{Incarnation, RawResource};
use crate::resources::{Earlier, Resources};
use quorate_model::{RecommendModel, ResourceKind};
use quorate_store::kv::Tree;
use quorate_store::layout::rows;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The byte that stands for a kind in row keys; it never changes.
fn kind_byte(kind: ResourceKind) -> u8 {
    match kind {
        ResourceKind::Synonyms => b's',
        ResourceKind::Rules => b'r',
        ResourceKind::Recommend(RecommendModel::RelatedProducts) => b'p',
        ResourceKind::Recommend(RecommendModel::BoughtTogether) => b'b',
        ResourceKind::Recommend(RecommendModel::TrendingItems) => b'i',
        ResourceKind::Recommend(RecommendModel::TrendingFacets) => b'f',
        ResourceKind::Recommend(RecommendModel::LookingSimilar) => b'l',
    }
}

/// Gives indices the resources that the tree holds for them.
pub(super) fn load(indices: &BTreeMap<Incarnation, Arc<IndexState>>, tree: &Tree) -> Result<()> {
    let mut found: BTreeMap<(Incarnation, ResourceKind), Vec<RawResource>> = BTreeMap::new();
    for (key, document) in tree.scan(&[rows::DOCUMENT])? {
        let known = rows::document_of(&key).and_then(|(index, byte, object_id)| {
            let kind = ResourceKind::ALL.into_iter().find(|&kind| kind_byte(kind) == byte)?;
            Some(((index, kind), object_id.to_owned()))
        });
        if let Some((place, object_id)) = known {
            found.entry(place).or_default().push(RawResource { object_id, document });
        }
    }
    for ((index, kind), resources) in found {
        if let Some(state) = indices.get(&index) {
            let all = state.resources.load().with(kind, &resources, Earlier::Dropped)?;
            state.resources.store(Arc::new(all));
        }
    }
    Ok(())
}

impl PlacementMachine {
    /// Saves resources of one kind.
    pub(super) fn save_resources(
        &mut self,
        at: LogPosition,
        index: Incarnation,
        kind: ResourceKind,
        resources: Vec<RawResource>,
        replace: bool,
    ) -> Result<()> {
        let earlier = if replace { Earlier::Dropped } else { Earlier::Kept };
        let before = self.node.index(index).map(|state| state.resources.load_full()).unwrap_or_default();
        let after = before.with(kind, &resources, earlier)?;
        let state = self.changed(at, index);
        if replace {
            for (object_id, _) in before.saved(kind) {
                if !after.contains(kind, object_id) {
                    self.changes.delete(rows::document(index, kind_byte(kind), object_id));
                }
            }
        }
        for RawResource { object_id, document } in resources {
            self.changes.put(rows::document(index, kind_byte(kind), &object_id), document);
        }
        state.publish_resources(after);
        Ok(())
    }

    /// Removes one document.
    pub(super) fn delete_resource(
        &mut self,
        at: LogPosition,
        index: Incarnation,
        kind: ResourceKind,
        object_id: &str,
    ) -> Result<()> {
        let state = self.changed(at, index);
        let before = state.resources.load_full();
        if before.contains(kind, object_id) {
            self.changes.delete(rows::document(index, kind_byte(kind), object_id));
            state.publish_resources(before.without(kind, object_id));
        }
        Ok(())
    }

    /// Gives a new index the resources of another one.
    pub(super) fn copy_resources(&mut self, from: Incarnation, to: &IndexState) {
        let Some(source) = self.node.index(from) else {
            return;
        };
        let resources = source.resources.load_full();
        self.put_rows(to.incarnation, &resources);
        to.resources.store(resources);
    }

    /// Removes the rows of an index that is dropped.
    pub(super) fn drop_resources(&mut self, state: &IndexState) {
        let resources = state.resources.load();
        for kind in ResourceKind::ALL {
            for (object_id, _) in resources.saved(kind) {
                self.changes.delete(rows::document(state.incarnation, kind_byte(kind), object_id));
            }
        }
    }

    fn put_rows(&mut self, index: Incarnation, resources: &Resources) {
        for kind in ResourceKind::ALL {
            for (object_id, document) in resources.saved(kind) {
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
