//! How the state of a whole group leaves this node and how another one takes its place, folder by folder.
//!
//! Reads see of each index the old state or the new one: who holds the old one goes on with the view it shows, or is
//! led to the new one when it shows none.

use super::{
    PlacementMachine, ROW_BYTES_MAX, fences::Fences, forgets, kept_events, kept_files, links::Links,
    parse_document, resources,
};
use crate::error::{Error, Result};
use crate::index::{IndexRow, IndexState, Kept};
use crate::ops::Incarnation;
use crate::shared::Shared;
use quorate_engine::index::ShardView;
use quorate_model::{GroupId, Settings};
use quorate_store::incoming::Replacement;
use quorate_store::kv::{Batch, Tree};
use quorate_store::layout::{Layout, rows};
use quorate_store::{codec, dump};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An index as its row says.
pub(super) struct Loaded {
    /// Its state.
    pub index: Arc<IndexState>,
    /// Log indices of settings that may wait for a rebuild.
    pub waiting: Vec<u64>,
}

/// The indices that a group's tree knows.
pub(super) fn load(node: &Shared, group: GroupId, tree: &Tree) -> Result<Vec<Loaded>> {
    let mut loaded = vec![];
    let mut by_incarnation = BTreeMap::new();
    let kept = kept_files::load(tree)?;
    for (key, value) in tree.scan(&[rows::STATE])? {
        let Some(incarnation) = rows::number(&key) else {
            continue;
        };
        let row: IndexRow = codec::decode(&value, ROW_BYTES_MAX)?;
        let settings = Arc::new(Settings::from_document(&parse_document(&row.settings)?)?);
        let folder = node.layout.shard(incarnation, 0);
        let (created_ms, updated_ms) = (row.created_ms, row.updated_ms);
        let index = IndexState::new(incarnation, group, folder, settings, created_ms, updated_ms);
        let index = Arc::new(index.going_by(&node.dictionaries));
        index.kept.set(if kept.contains(&incarnation) { Kept::Files } else { Kept::Nothing });
        by_incarnation.insert(incarnation, index.clone());
        loaded.push(Loaded { index, waiting: row.waiting });
    }
    resources::load(&by_incarnation, tree)?;
    Ok(loaded)
}

/// Lets settings await a rebuild of the index' files that an earlier process has not ended, if they still need one.
pub(super) fn resume_waiting(node: &Shared, index: &Arc<IndexState>, waiting: &[u64]) -> Result<()> {
    if !waiting.is_empty() && index.files_differ()? {
        waiting.iter().for_each(|&log_index| index.progress.resume_awaiting_rebuild(log_index));
        node.busy(index);
    }
    Ok(())
}

impl PlacementMachine {
    /// Makes every index of the group durable and links its files into `into`, laid out as a data folder. The links need not survive
    /// a power cut: no start goes on with a snapshot that is offered to others. Call
    /// [`Self::checkpoint`] afterwards: then the tree says of the same moment what belongs to them.
    ///
    /// Cost: a durable commit of each index that was written to, all of them at once, and a hard link for each file.
    pub fn export(&mut self, into: &Layout) -> Result<()> {
        self.check_files()?;
        let mut commits = vec![];
        for state in self.node.of_group(self.group) {
            let folder = into.shard(state.incarnation, 0);
            // while the lock is held nobody opens the files for writing
            let writer = state.writer.lock();
            match writer.as_ref() {
                Some(writer) => commits.push(writer.export(folder)?),
                None => {
                    state.look_for_files(&*self.node.files)?;
                    ShardView::lend_durable(&state.folder, &folder, &*self.node.files)
                        .map_err(|source| Error::Engine { folder: state.folder.clone(), source })?;
                }
            }
        }
        self.events.export(&into.events_of(self.group))?;
        self.export_models(into);
        commits.iter().try_for_each(|commit| commit.recv().map_err(|_| Error::Stopped)?)
    }

    /// Puts another state in the place of the group's: its metadata store, then its indices, one after another.
    ///
    /// Errors: the state is half the old one and half the new one. The process must stop; the next start goes on.
    pub fn replace(&mut self, with: &Replacement) -> Result<dump::Head> {
        let old: FxHashMap<Incarnation, Arc<IndexState>> =
            self.node.of_group(self.group).into_iter().map(|state| (state.incarnation, state)).collect();
        for state in old.values() {
            if let Some(writer) = state.writer.lock().take() {
                writer.discard();
            }
        }
        self.node.forget_busy(self.group);
        self.node.drop_pin(self.group);
        let head = with.restore(&self.tree)?;
        let loaded = load(&self.node, self.group, &self.tree)?;
        let known: FxHashSet<Incarnation> = loaded.iter().map(|state| state.index.incarnation).collect();
        let dropped: FxHashSet<Incarnation> = with.dropped().iter().copied().collect();
        for new in loaded {
            self.replace_index(old.get(&new.index.incarnation), new, with, &dropped)?;
        }
        for state in old.values().filter(|state| !known.contains(&state.incarnation)) {
            self.node.remove(state.incarnation);
            state.give_way(None, || {
                Ok(with.drop_index(&*self.node.files, &self.node.layout, state.incarnation)?)
            })?;
            state.progress.abandon();
        }
        self.events.end();
        {
            let _nobody_adds_to_them = self.node.models.hold_folders();
            with.move_events(&*self.node.files, &self.node.layout)?;
        }
        self.events = self.node.open_events(self.group, kept_events::load(&self.tree)?)?;
        self.forgets_through = forgets::load(&self.tree)?;
        self.links = Links::load(&self.tree)?;
        self.fences = Fences::load(&self.tree)?;
        self.changes = Batch::default();
        self.applied = head.applied_index;
        self.replayed_until = self.applied;
        self.never_again = self.replay_from()?;
        self.load_dictionaries()?;
        self.load_models()?;
        self.load_sent()?;
        self.find_new_files()?;
        self.lack(false);
        self.node.begins(self.group, self.applied);
        Ok(head)
    }

    fn replace_index(
        &self,
        old: Option<&Arc<IndexState>>,
        new: Loaded,
        with: &Replacement,
        dropped: &FxHashSet<Incarnation>,
    ) -> Result<()> {
        let Loaded { index, waiting } = new;
        let incarnation = index.incarnation;
        let (files, layout) = (&*self.node.files, &self.node.layout);
        let replace = || {
            match dropped.contains(&incarnation) {
                true => with.drop_index(files, layout, incarnation)?,
                false => with.move_index(files, layout, incarnation)?,
            }
            resume_waiting(&self.node, &index, &waiting)?;
            self.node.insert(index.clone());
            Ok(())
        };
        match old {
            Some(state) => {
                state.give_way(Some(&index), replace)?;
                state.progress.abandon();
                Ok(())
            }
            None => replace(),
        }
    }
}
