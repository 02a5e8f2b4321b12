//! How one placement group's commands change this node: small state here, records in the shards.
//!
//! Apply is a function of the state, the position in the log and the command. Commands that the state has seen are
//! handed only to shards whose files have not: that is how a restart catches up.

mod documents;
mod fences;
mod links;
mod snapshot;

pub use self::fences::Fences;
use self::links::Links;
use crate::error::{Error, Result};
use crate::halt::Halt;
use crate::index::IndexState;
use crate::node::Shared;
use crate::ops::{Incarnation, IndexCommand};
use crate::shard::ShardHandle;
use quorate_engine::index::ShardView;
use quorate_model::{GroupId, RecordOp, Settings};
use quorate_store::codec;
use quorate_store::kv::{Batch, Tree};
use quorate_store::layout::rows;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Where a command stands in its group's log, and the time it was minted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// Log index.
    pub index: u64,
    /// Raft term.
    pub term: u64,
    /// Unix milliseconds, minted by the proposer.
    pub time_ms: u64,
}

/// The state machine of one placement group on this node.
pub struct PlacementMachine {
    node: Arc<Shared>,
    group: GroupId,
    tree: Tree,
    /// Everything through here is in the small state (of memory).
    applied: u64,
    /// Everything through here was in the small state when the machine was opened: replayed for shards only.
    replayed_until: u64,
    changes: Batch,
    /// Indices were made since the last checkpoint. The store must know all that have files: a group that is left gives up
    /// the log that could tell of them.
    has_new_indices: bool,
    is_closed: bool,
    halt: Halt,
    links: Links,
    fences: Fences,
}

/// Bytes of an index row at most: a settings document is far below.
const ROW_BYTES_MAX: usize = 16 << 20;

impl PlacementMachine {
    /// Loads the group's small state from its tree.
    pub(crate) fn open(node: Arc<Shared>, group: GroupId, tree: Tree) -> Result<Self> {
        let applied = tree.applied();
        for state in snapshot::load(&node, group, &tree)? {
            snapshot::hold_waiting(&node, &state.index, &state.waiting)?;
            node.insert(state.index);
        }
        let links = Links::load(&tree)?;
        let (fences, halt) = (Fences::load(&tree)?, node.halt(group));
        Ok(PlacementMachine {
            links,
            fences,
            node,
            group,
            tree,
            applied,
            replayed_until: applied,
            changes: Batch::default(),
            has_new_indices: false,
            is_closed: false,
            halt,
        })
    }

    /// The last log index in the small state.
    pub fn applied(&self) -> u64 {
        self.applied
    }
    /// The log index after which commands have to be handed to [`Self::apply`] after a start.
    pub fn replay_from(&self) -> Result<u64> {
        Ok(match self.tree.get(&[rows::REPLAY])? {
            Some(bytes) => codec::decode::<u64>(&bytes, 16)?.min(self.applied),
            None => self.applied,
        })
    }
    /// The log index through which nothing needs the log any more: all shards are durable that far.
    ///
    /// Small state is not part of it: its dump is the caller's.
    pub fn durable_through(&self) -> u64 {
        self.node.forget_idle(self.group);
        let waiting = self.node.least_of_busy(self.group, |state| state.progress.durable_through());
        waiting.unwrap_or(self.applied)
    }
    /// Passes an entry that holds no command for indices.
    pub fn pass(&mut self, log_index: u64) {
        self.applied = self.applied.max(log_index);
        self.node.applied(self.group, log_index);
    }
    /// Applies one command. Errors are failures of this node, never outcomes: the caller must stop.
    pub fn apply(&mut self, at: LogPosition, command: IndexCommand) -> Result<()> {
        let known = at.index <= self.replayed_until;
        match self.step(at, command, Known(known)) {
            Err(error) if error.is_deterministic() => {
                tracing::debug!(group = self.group.0, log_index = at.index, %error, "a command had no effect");
            }
            other => other?,
        }
        self.pass(at.index);
        Ok(())
    }
    /// Goes on with rebuilds that a restart or the closing of a writer has cut off, and with merges of what is searched. To
    /// be called every few seconds.
    pub fn resume_work(&mut self) -> Result<()> {
        if self.is_closed {
            return Ok(());
        }
        while let Some(state) = self.node.rebuild_to_resume(self.group) {
            self.with_writer(&state, |_| Ok(()))?;
        }
        while let Some(state) = self.node.merge_to_resume(self.group) {
            self.with_writer(&state, |_| Ok(()))?;
        }
        Ok(())
    }
    /// Writes the small state changed since the last call, with the applied position.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.keep_changes()?;
        self.resume_work()
    }
    fn keep_changes(&mut self) -> Result<()> {
        if self.halt.is_half() {
            return Err(Error::Stopped);
        }
        let mut batch = std::mem::take(&mut self.changes);
        batch.put([rows::REPLAY], codec::encode(&self.durable_through()));
        batch.set_applied_index(self.applied);
        self.tree.apply(&batch)?;
        if std::mem::take(&mut self.has_new_indices) {
            self.tree.write_out()?;
        }
        Ok(())
    }
    /// Commits every shard of the group durably and closes it. Nothing is opened again after that.
    pub fn close(&mut self) -> Result<()> {
        self.is_closed = true;
        for state in self.node.of_group(self.group) {
            if let Some(writer) = state.writer.lock().take() {
                writer.close()?;
            }
        }
        self.keep_changes()
    }
    /// Whether the group stands still, as its shards and its owner say.
    pub fn halt(&self) -> &Halt {
        &self.halt
    }
    /// Ends the group's shards as a crash would: what is not durable is left to the log. To be called when the state may be
    /// half, after the halt says so.
    pub fn abandon(&mut self) {
        self.is_closed = true;
        for state in self.node.of_group(self.group) {
            state.progress.stop();
            state.abandon_writer();
        }
    }
    /// Removes every index of the group from this node: it holds no replica of it any more. Readers go on with the views
    /// they have.
    pub fn leave(&mut self) -> Result<()> {
        for state in self.node.of_group(self.group) {
            self.node.remove(state.incarnation);
            self.empty_folder(&state)?;
        }
        self.changes = Batch::default();
        self.node.forget_idle(self.group);
        Ok(())
    }
    /// The indices of the group; those that the catalogue does not know were left behind by a crash.
    pub fn incarnations(&self) -> Vec<Incarnation> {
        self.node.of_group(self.group).iter().map(|state| state.incarnation).collect()
    }

    fn step(&mut self, at: LogPosition, command: IndexCommand, known: Known) -> Result<()> {
        match command {
            IndexCommand::Records { index, ops } => self.records(at, index, ops, known),
            IndexCommand::Settings { index, changes, replace } => {
                if known.0 {
                    Ok(())
                } else {
                    self.settings(at, index, &changes, replace)
                }
            }
            IndexCommand::SaveDocuments { index, kind, documents, replace } => {
                if known.0 {
                    Ok(())
                } else {
                    self.save_documents(at, index, kind, documents, replace)
                }
            }
            IndexCommand::DeleteDocument { index, kind, object_id } => {
                if known.0 {
                    Ok(())
                } else {
                    self.delete_document(at, index, kind, &object_id)
                }
            }
            IndexCommand::Copy { from, to } => {
                if known.0 {
                    Ok(())
                } else {
                    self.copy(at, from, to)
                }
            }
            IndexCommand::Drop { index } => {
                if known.0 {
                    Ok(())
                } else {
                    self.drop_index(at, index)
                }
            }
            IndexCommand::Replicas { primary, revision, followers } => {
                if known.0 {
                    Ok(())
                } else {
                    self.replicas(at, primary, revision, &followers)
                }
            }
            IndexCommand::Forward { command } => {
                if known.0 {
                    Ok(())
                } else {
                    self.forward(at, *command)
                }
            }
            IndexCommand::ForUser { user, epoch, command } => {
                if !self.fences.let_pass(&user, epoch, at.index) {
                    return Ok(());
                }
                if !known.0 {
                    self.fences.raise(user, epoch, at.index, &mut self.changes);
                }
                self.step(at, *command, known)
            }
            IndexCommand::Sequence { commands } => {
                for command in commands {
                    self.step(at, command, Known(known.0))?;
                }
                Ok(())
            }
        }
    }

    fn records(
        &mut self,
        at: LogPosition,
        index: Incarnation,
        ops: Vec<RecordOp>,
        known: Known,
    ) -> Result<()> {
        let state = match self.node.index(index) {
            Some(state) => state,
            // dropped later on, as the small state already knows
            None if known.0 => return Ok(()),
            None => self.create(at, index),
        };
        let followers = self.fed_with(index);
        if !known.0 {
            self.written(at, std::slice::from_ref(&state));
            self.written(at, &followers);
        }
        self.feed(at, &state, &followers, ops)
    }

    fn settings(&mut self, at: LogPosition, index: Incarnation, changes: &[u8], replace: bool) -> Result<()> {
        let state = match self.node.index(index) {
            Some(state) => state,
            None => self.create(at, index),
        };
        let before = if replace { Arc::new(Settings::default()) } else { state.settings.load_full() };
        let after = Arc::new(before.merge(&parse_document(changes)?)?);
        state.updated_ms.store(at.time_ms, Ordering::Relaxed);
        state.settings.store(after.clone());
        self.show(at, &state, after)?;
        self.keep(&state);
        Ok(())
    }
    /// Makes reads see settings: at once, or when the files have been rebuilt for them.
    fn show(&self, at: LogPosition, state: &Arc<IndexState>, settings: Arc<Settings>) -> Result<()> {
        let is_written = state.writer.lock().is_some();
        if is_written || state.progress.has_held() || state.files_differ(&settings)? {
            return self.with_writer(state, |writer| writer.reconfigure(at.index, at.term, settings));
        }
        state.publish_settings(settings);
        Ok(())
    }

    fn copy(&mut self, at: LogPosition, from: Incarnation, to: Incarnation) -> Result<()> {
        let folder = self.node.layout.shard(to, 0);
        let settings = match self.node.index(from) {
            Some(source) => {
                self.link_files(&source, to)?;
                source.settings.load_full()
            }
            None => Arc::default(),
        };
        tracing::debug!(from, to, "copied an index");
        let state =
            Arc::new(IndexState::new(to, self.group, folder, settings.clone(), at.time_ms, at.time_ms));
        self.copy_documents(from, &state);
        self.insert_new(&state);
        if state.files_differ(&settings)? {
            // the source is being rebuilt
            self.show(at, &state, settings)?;
        }
        self.keep(&state);
        Ok(())
    }

    /// Gives an index that has no files the durable state of another, if that has any.
    ///
    /// A manifest says that this command has linked all files before a crash: it is the last of them. Files without one
    /// are what a crash left of such an attempt.
    fn link_files(&self, source: &Arc<IndexState>, to: Incarnation) -> Result<()> {
        let folder = self.node.layout.shard(to, 0);
        let engine = |source| Error::Engine { folder: folder.clone(), source };
        if !source.has_files() || ShardView::durable(&folder).map_err(engine)?.is_some() {
            return Ok(());
        }
        match self.node.index(to) {
            Some(known) => self.empty_folder(&known)?,
            None => self.remove_files(to)?,
        }
        self.with_writer(source, |writer| writer.link_into(folder.clone()))
    }
    fn remove_files(&self, index: Incarnation) -> Result<()> {
        let folder = self.node.layout.index(index);
        if !folder.exists() {
            return Ok(());
        }
        let removed = self.node.files.remove_dir_all(&folder);
        removed.map_err(|source| Error::Io { what: format!("removing {}", folder.display()), source })
    }

    fn drop_index(&mut self, at: LogPosition, index: Incarnation) -> Result<()> {
        self.unlink_dropped(at, index)?;
        self.changes.delete(rows::by_number(rows::STATE, index));
        match self.node.remove(index) {
            Some(state) => {
                self.drop_documents(&state);
                self.empty_folder(&state)
            }
            None => Ok(()),
        }
    }

    fn create(&mut self, at: LogPosition, index: Incarnation) -> Arc<IndexState> {
        let folder = self.node.layout.shard(index, 0);
        let settings = Arc::new(Settings::default());
        let state = Arc::new(IndexState::new(index, self.group, folder, settings, at.time_ms, at.time_ms));
        self.keep(&state);
        self.insert_new(&state);
        state
    }
    fn insert_new(&mut self, state: &Arc<IndexState>) {
        self.node.insert(state.clone());
        self.has_new_indices = true;
    }
    fn keep(&mut self, state: &IndexState) {
        self.changes.put(rows::by_number(rows::STATE, state.incarnation), codec::encode(&state.row()));
    }
    fn with_writer<T>(
        &self,
        state: &Arc<IndexState>,
        act: impl FnOnce(&ShardHandle) -> Result<T>,
    ) -> Result<T> {
        self.node.touch(state);
        self.node.busy(state);
        {
            let writer = state.writer.lock();
            if let Some(writer) = writer.as_ref() {
                return act(writer);
            }
        }
        self.node.make_room_for_writer(state.incarnation)?;
        let mut writer = state.writer.lock();
        let handle = writer
            .get_or_insert_with(|| ShardHandle::start(state.clone(), self.node.shard_options(self.group)));
        act(handle)
    }
}

/// Whether the small state has seen a command already.
#[derive(Clone, Copy)]
struct Known(bool);

fn parse_document(bytes: &[u8]) -> Result<serde_json::Map<String, serde_json::Value>> {
    serde_json::from_slice(bytes)
        .map_err(|e| Error::Model(quorate_model::Error::internal(format!("settings in the log: {e}"))))
}
