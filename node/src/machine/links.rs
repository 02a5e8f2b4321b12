//! Which indices of a group follow which, and how a write reaches those that follow (C§3.2).
//!
//! Cost: a write to an index that nothing follows looks into one ordered map; each standard replica shares the
//! operations and indexes them on its own thread.
//!
//! A restart replays commands under the links of a later moment. That ends in the same state: the files that a replica is
//! given name the place of the command that gives them, so it skips what came before; and one that stops following is
//! made durable first, so it needs none of the commands that it will no longer be handed.

use super::{Known, LogPosition, PlacementMachine};
use crate::error::Result;
use crate::index::{IndexState, Kept};
use crate::log_place::LogPlace;
use crate::ops::{Follower, Incarnation, IndexCommand, ReplicaKind};
use crate::shared::InHand;
use quorate_engine::index::Payload;
use quorate_model::settings::replica;
use quorate_model::{RecordOp, Settings};
use quorate_store::codec;
use quorate_store::kv::{Batch, Tree};
use quorate_store::layout::rows;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows that say which indices follow one, by its incarnation.
pub(super) const FOLLOWERS: u8 = b'f';
/// Bytes of a row at most; far above the replicas an index may have.
const ROW_BYTES_MAX: usize = 1 << 20;

/// One follower, as its row keeps it.
type Linked = (Incarnation, ReplicaKind);

/// Which indices of a group follow which.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// By primary: the revision of its list, and the list.
    lists: BTreeMap<Incarnation, (u64, Vec<Linked>)>,
}

impl Links {
    /// The links as of the last checkpoint.
    pub fn load(tree: &Tree) -> Result<Links> {
        let mut lists = BTreeMap::new();
        for (key, value) in tree.scan(&[FOLLOWERS])? {
            if let Some(primary) = rows::number(&key) {
                lists.insert(primary, codec::decode(&value, ROW_BYTES_MAX)?);
            }
        }
        Ok(Links { lists })
    }
    fn revision(&self, primary: Incarnation) -> u64 {
        self.lists.get(&primary).map_or(0, |(revision, _)| *revision)
    }
    fn of(&self, primary: Incarnation) -> &[Linked] {
        self.lists.get(&primary).map_or(&[], |(_, list)| list)
    }
    fn set(&mut self, primary: Incarnation, revision: u64, list: Vec<Linked>, changes: &mut Batch) {
        changes.put(rows::by_number(FOLLOWERS, primary), codec::encode(&(revision, &list)));
        self.lists.insert(primary, (revision, list));
    }
    fn remove(&mut self, primary: Incarnation, changes: &mut Batch) {
        if self.lists.remove(&primary).is_some() {
            changes.delete(rows::by_number(FOLLOWERS, primary));
        }
    }
    /// Whether an index is a virtual replica, which has no files.
    pub fn is_virtual(&self, follower: Incarnation) -> bool {
        self.lists.values().any(|(_, list)| list.contains(&(follower, ReplicaKind::Virtual)))
    }
    fn primary_of(&self, follower: Incarnation) -> Option<Incarnation> {
        let follows = |list: &[Linked]| list.iter().any(|(incarnation, _)| *incarnation == follower);
        self.lists.iter().find(|(_, (_, list))| follows(list)).map(|(primary, _)| *primary)
    }
}

impl PlacementMachine {
    /// The indices with records of their own that follow `primary`.
    pub(super) fn fed_with(&self, primary: Incarnation) -> Vec<Arc<IndexState>> {
        let standard = self.links.of(primary).iter().filter(|(_, kind)| *kind == ReplicaKind::Standard);
        standard.filter_map(|(incarnation, _)| self.node.index(*incarnation)).collect()
    }

    /// Lets a command that is carried out count as visible once what was written before it to an index is, also in all that it feeds.
    pub(super) fn follow(&self, at: LogPosition, index: Incarnation) {
        let fed = self.fed_with(index);
        self.node.index(index).into_iter().chain(fed).for_each(|state| state.progress.follow(at.index));
    }
    /// Hands operations to an index and to all that it feeds.
    pub(super) fn feed(
        &mut self,
        at: LogPosition,
        state: &Arc<IndexState>,
        followers: &[Arc<IndexState>],
        ops: Vec<RecordOp>,
    ) -> Result<()> {
        let (ops, place) = (Arc::new(ops), self.place(at));
        for target in std::iter::once(state).chain(followers) {
            if !target.is_gone() && place > target.durable_in_files(&*self.node.files)? {
                self.with_writer(target, |writer| writer.apply(place, at.term, ops.clone()))?;
            }
        }
        Ok(())
    }

    /// As [`Self::feed`], for a batch whose outcome depends on the settings of its moment: it is durable before the small
    /// state moves on, and replicas delete what the primary found by its own settings.
    ///
    /// After a crash between the two, what the primary found is not known any more: the replica is filled anew.
    pub(super) fn feed_durably(
        &mut self,
        at: LogPosition,
        state: &Arc<IndexState>,
        followers: &[Arc<IndexState>],
        ops: Arc<Vec<RecordOp>>,
    ) -> Result<()> {
        let place = self.place(at);
        if place > state.durable_in_files(&*self.node.files)? {
            let found =
                self.with_writer(state, |writer| writer.apply_durably(place, at.term, ops.clone()))?;
            for follower in followers.iter().filter(|follower| !follower.is_gone()) {
                let found = found.clone();
                self.with_writer(follower, |writer| writer.apply_durably(place, at.term, found))?;
            }
            return Ok(());
        }
        for follower in followers {
            if place > follower.durable_in_files(&*self.node.files)? {
                self.empty_folder(follower)?;
                self.fill(at, state, follower.incarnation)?;
            }
        }
        Ok(())
    }

    /// Carries out `Replicas`.
    pub(super) fn replicas(
        &mut self,
        at: LogPosition,
        primary: Incarnation,
        revision: u64,
        followers: &[Follower],
    ) -> Result<()> {
        let in_force = self.links.revision(primary);
        if revision <= in_force {
            return if revision == in_force { self.wait_for_followers(at, primary) } else { Ok(()) };
        }
        let state = self.node.index(primary).unwrap_or_else(|| self.create(at, primary));
        let before = self.links.of(primary).to_vec();
        for &(incarnation, kind) in &before {
            if !followers.iter().any(|follower| follower.incarnation == incarnation) {
                self.let_go(at, incarnation, kind)?;
            }
        }
        for &Follower { incarnation, kind } in followers {
            match (before.iter().find(|(known, _)| *known == incarnation), kind) {
                (Some((_, now)), _) if *now == kind => {}
                (_, ReplicaKind::Standard) => self.fill(at, &state, incarnation)?,
                (_, ReplicaKind::Virtual) => self.hollow(at, &state, incarnation)?,
            }
        }
        let list = followers.iter().map(|follower| (follower.incarnation, follower.kind)).collect();
        self.links.set(primary, revision, list, &mut self.changes);
        Ok(())
    }

    /// Lets the task of this command wait until what fills the replicas is visible.
    fn wait_for_followers(&mut self, at: LogPosition, primary: Incarnation) -> Result<()> {
        for follower in &self.fed_with(primary) {
            if follower.is_gone() || !follower.has_files(&*self.node.files)? {
                continue;
            }
            let place = self.place(at);
            self.with_writer(follower, |writer| writer.apply(place, at.term, Arc::default()))?;
        }
        Ok(())
    }

    /// Makes an index a standard replica: it gets the primary's files, which are rebuilt for its own settings where those
    /// ask for others. Until then reads see the primary's records in the primary's order.
    fn fill(&mut self, at: LogPosition, primary: &Arc<IndexState>, incarnation: Incarnation) -> Result<()> {
        let settings = match self.node.index(incarnation) {
            Some(known) => known.settings.load_full(),
            None => Arc::new(Settings::from_document(&primary.settings.load().inherited())?),
        };
        let _in_hand = InHand::new(&self.node, incarnation);
        self.give_records(at, primary, incarnation)?;
        let state = self.renewed(at, primary.incarnation, incarnation, settings);
        self.keep_given(&state);
        if state.files_differ()? {
            self.show(at, &state)?;
            self.keep(&state);
        }
        Ok(())
    }

    /// Makes an index a virtual replica: whatever records it has go.
    fn hollow(&mut self, at: LogPosition, primary: &Arc<IndexState>, incarnation: Incarnation) -> Result<()> {
        let document = match self.node.index(incarnation) {
            Some(known) => {
                // files that name a later place are those of a later command that gives it records again
                let is_later = |files: Payload| files.step.is_some() && LogPlace::of(files) >= self.place(at);
                if !self.files_of(incarnation)?.is_some_and(is_later) {
                    self.empty_folder(&known)?;
                }
                known.settings.load().document.clone()
            }
            None => primary.settings.load().inherited(),
        };
        let settings = Settings::from_document(&replica::for_virtual(&document))?;
        self.renewed(at, primary.incarnation, incarnation, Arc::new(settings));
        Ok(())
    }

    /// Puts a new state in the place of an index, so that nothing of its earlier files is remembered; one that is all new
    /// takes over the primary's synonyms and rules.
    fn renewed(
        &mut self,
        at: LogPosition,
        primary: Incarnation,
        incarnation: Incarnation,
        settings: Arc<Settings>,
    ) -> Arc<IndexState> {
        let before = self.node.index(incarnation);
        if let Some(known) = &before {
            // a replay may have opened its files before it came here; they have one owner at a time
            end_writer(known);
        }
        let created_ms = before.as_ref().map_or(at.time_ms, |known| known.created_ms);
        let folder = self.node.layout.shard(incarnation, 0);
        let state = IndexState::new(incarnation, self.group, folder, settings, created_ms, at.time_ms);
        let state = Arc::new(state.going_by(&self.node.dictionaries));
        self.keep(&state);
        match before {
            Some(known) => {
                state.resources.store(known.resources.load_full());
                state.kept.set(known.kept.get());
            }
            None => self.copy_resources(primary, &state),
        }
        self.insert_new(&state);
        state
    }

    /// Ends the writer of an index and removes its files.
    pub(super) fn empty_folder(&self, state: &IndexState) -> Result<()> {
        end_writer(state);
        state.kept.set(Kept::Nothing);
        self.emptied.lock().push(state.incarnation);
        self.remove_files(state.incarnation)
    }

    /// Ends that an index follows; a standard replica keeps its records. In a replay its files may be gone, for a later command removes
    /// them or gives it others.
    fn let_go(&mut self, at: LogPosition, incarnation: Incarnation, kind: ReplicaKind) -> Result<()> {
        match (kind, self.node.index(incarnation)) {
            (ReplicaKind::Standard, Some(state))
                if !state.is_gone() && state.has_files(&*self.node.files)? =>
            {
                let (nothing, place) = (Arc::new(vec![]), self.place(at));
                self.with_writer(&state, |writer| writer.apply_durably(place, at.term, nothing))?;
            }
            (ReplicaKind::Standard | ReplicaKind::Virtual, Some(_) | None) => {}
        }
        Ok(())
    }

    /// Ends every link of an index that is dropped.
    pub(super) fn unlink_dropped(&mut self, at: LogPosition, index: Incarnation) -> Result<()> {
        for (incarnation, kind) in self.links.of(index).to_vec() {
            self.let_go(at, incarnation, kind)?;
        }
        self.links.remove(index, &mut self.changes);
        if let Some(primary) = self.links.primary_of(index) {
            let rest = self.links.of(primary).iter().filter(|(it, _)| *it != index).copied().collect();
            self.links.set(primary, self.links.revision(primary), rest, &mut self.changes);
        }
        Ok(())
    }

    /// Carries out a command on an index and on all that follow it.
    pub(super) fn forward(&mut self, at: LogPosition, mut command: IndexCommand) -> Result<()> {
        let Some(&mut index) = command.forwarded_index() else { return Ok(()) };
        self.carry_out(at, command.clone(), Known(false))?;
        for (follower, kind) in self.links.of(index).to_vec() {
            let Some(given) = command.forwarded(follower, kind) else { continue };
            match self.carry_out(at, given, Known(false)) {
                // a replica that cannot take it goes without, on every node alike
                Err(error) if error.is_deterministic() => {
                    tracing::debug!(follower, %error, "a replica did not take a change");
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// Notes the time of a write on an index and on those it feeds.
    pub(super) fn written(&mut self, at: LogPosition, states: &[Arc<IndexState>]) {
        for state in states {
            state.updated_ms.store(at.time_ms, Ordering::Relaxed);
            self.keep(state);
        }
    }
}

/// Ends the writer of a state that is given up; nothing waits for it any more.
pub(super) fn end_writer(state: &IndexState) {
    if let Some(writer) = state.writer.lock().take() {
        writer.discard();
    }
    state.progress.abandon();
}
