//! How one placement group's commands change this node: metadata here, records in the shards.
//!
//! Apply is a function of the state, the position in the log and the command. Commands that the state has seen are
//! handed only to shards whose files have not: that is how a restart catches up. What each command reads, and why a replay
//! ends in the same state, is a table in `node/DECISIONS.md`.

mod dictionaries;
mod fences;
mod forgets;
mod kept_events;
mod kept_files;
mod links;
mod models;
mod resources;
mod sent;
mod snapshot;

pub use self::fences::Fences;
use self::links::Links;
use crate::error::{Error, Result};
use crate::events::Events;
use crate::halt::Halt;
use crate::index::{IndexState, durable_payload};
use crate::log_place::LogPlace;
use crate::ops::{Incarnation, IndexCommand};
use crate::pins::GroupPin;
use crate::shard::{ShardHandle, Unclosed};
use crate::shared::{InHand, Shared};
use parking_lot::Mutex;
use quorate_engine::index::{Payload, ShardView};
use quorate_model::{GroupId, RecordOp, Settings};
use quorate_store::codec;
use quorate_store::kv::{Batch, Tree};
use quorate_store::layout::rows;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Where a command stands in its group's log, and the time that its proposer gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogPosition {
    /// Log index.
    pub index: u64,
    /// Raft term.
    pub term: u64,
    /// Unix milliseconds, given by the proposer.
    pub time_ms: u64,
}

/// The state machine of one placement group on this node.
pub struct PlacementMachine {
    node: Arc<Shared>,
    group: GroupId,
    tree: Tree,
    /// Everything through here is in the metadata store (of memory).
    applied: u64,
    /// Everything through here was in the metadata store when the machine was opened: replayed for shards only.
    replayed_until: u64,
    changes: Batch,
    /// No command through here is handed over again after a crash, as far as the metadata store says.
    never_again: u64,
    /// Which step of a command is carried out; [`LogPlace::ALL`] of one that has a single step.
    step: u32,
    /// A step of the command may have failed, which a replay does not know: what follows does not leave it to the log.
    may_have_failed: bool,
    /// Indices were made since the last checkpoint. The store must know all that have files: a group that is left gives up
    /// the log that could tell of them.
    has_new_indices: bool,
    /// The log has been applied as far as it went at the start.
    has_replayed: bool,
    /// An index lacks its files: the log is kept until they are back.
    lacks_some: AtomicBool,
    /// Indices whose files were removed since the last checkpoint.
    emptied: Mutex<Vec<Incarnation>>,
    is_closed: bool,
    halt: Halt,
    links: Links,
    fences: Fences,
    events: Events,
    /// The last entry that told to forget a user.
    forgets_through: u64,
    /// When merges were looked for that nothing does.
    merges_looked_for: Option<Instant>,
}

/// Between two looks for merges that nothing does.
const MERGES_LOOK: Duration = Duration::from_secs(1);
/// Bytes of an index row at most: a settings document is far below.
const ROW_BYTES_MAX: usize = 16 << 20;

impl PlacementMachine {
    /// Loads the group's metadata store from its tree.
    pub(crate) fn open(node: Arc<Shared>, group: GroupId, tree: Tree) -> Result<Self> {
        let applied = tree.applied();
        for state in snapshot::load(&node, group, &tree)? {
            snapshot::resume_waiting(&node, &state.index, &state.waiting)?;
            node.insert(state.index);
        }
        let links = Links::load(&tree)?;
        let (fences, halt) = (Fences::load(&tree)?, node.halt(group));
        let events = node.open_events(group, kept_events::load(&tree)?)?;
        let mut machine = PlacementMachine {
            links,
            fences,
            events,
            forgets_through: forgets::load(&tree)?,
            node,
            group,
            tree,
            applied,
            replayed_until: applied,
            changes: Batch::default(),
            never_again: 0,
            step: LogPlace::ALL,
            may_have_failed: false,
            has_new_indices: false,
            has_replayed: false,
            lacks_some: AtomicBool::new(false),
            emptied: Mutex::default(),
            is_closed: false,
            halt,
            merges_looked_for: None,
        };
        machine.never_again = machine.replay_from()?;
        machine.load_dictionaries()?;
        machine.load_models()?;
        machine.load_sent()?;
        machine.look_for_files()?;
        Ok(machine)
    }

    /// The largest log index that the files of one of its indices are durable through. Cost: a small file of each is read.
    pub fn durable_in_files(&self) -> Result<u64> {
        let of_group = self.node.of_group(self.group);
        of_group.iter().try_fold(0, |most, state| {
            let durable = state.durable_in_files(&*self.node.files)?;
            Ok(durable.log_index.max(most))
        })
    }
    /// The last log index in the metadata store.
    pub fn applied(&self) -> u64 {
        self.applied
    }
    /// The log index after which commands have to be handed to [`Self::apply`] after a start.
    pub fn replay_from(&self) -> Result<u64> {
        let known = kept_events::replay_from(&self.tree)?;
        Ok(known.map_or(self.applied, |known| known.min(self.applied)))
    }
    /// The log index of the last entry that told to forget a user, 0 for none: what is in the log before it names the user.
    pub fn forgets_through(&self) -> u64 {
        self.forgets_through
    }
    /// The log index through which nothing needs the log any more: all shards are durable that far.
    ///
    /// The metadata store is not part of it: its dump is the caller's.
    pub fn durable_through(&self) -> u64 {
        self.node.forget_idle(self.group);
        if self.lacks_some.load(Ordering::Acquire) {
            return self.never_again;
        }
        let waiting = self.node.least_of_busy(self.group, |state| state.progress.durable_through());
        // during a replay the metadata store is ahead of what shards have been given in this life
        let handed = self.node.handed(self.group).min(self.applied);
        let durable = waiting.unwrap_or(handed).min(self.events.durable_through().unwrap_or(handed));
        // the log may be cut through there: what began later beside the entries, as for dictionaries that the node came to know, is
        // begun again by what the metadata store says
        durable.max(self.never_again)
    }
    /// Passes an entry that holds no command for indices.
    pub fn pass(&mut self, log_index: u64) {
        self.applied = self.applied.max(log_index);
        self.node.applied(self.group, log_index);
    }
    /// Applies one command. Errors are failures of this node, never outcomes: the caller must stop.
    pub fn apply(&mut self, at: LogPosition, command: IndexCommand) -> Result<()> {
        let known = at.index <= self.replayed_until;
        (self.step, self.may_have_failed) = (LogPlace::ALL, false);
        match self.carry_out(at, command, Known(known)) {
            Err(error) if error.is_deterministic() => {
                tracing::debug!(group = self.group.0, log_index = at.index, %error, "a command had no effect");
            }
            // whoever gives the files back has it carried out: the log is kept
            Err(error @ Error::Gone { .. }) => {
                tracing::debug!(group = self.group.0, log_index = at.index, %error, "a command waits");
            }
            other => other?,
        }
        self.pass(at.index);
        Ok(())
    }
    /// Goes on with rebuilds that a restart or the closing of a writer has cut off, and with merges of what is searched. To
    /// be called every few seconds.
    pub fn resume_work(&mut self) -> Result<()> {
        self.note_files();
        self.events.keep_up();
        self.resume_dictionaries()?;
        self.resume_rebuilds()?;
        self.merges_looked_for = Some(Instant::now());
        while !self.is_closed
            && let Some(state) = self.node.merge_to_resume(self.group)
        {
            self.with_writer(&state, |_| Ok(()))?;
        }
        Ok(())
    }
    fn resume_rebuilds(&mut self) -> Result<()> {
        while !self.is_closed
            && let Some(state) = self.node.rebuild_to_resume(self.group)
        {
            self.with_writer(&state, |_| Ok(()))?;
        }
        Ok(())
    }
    /// Writes the metadata store changed since the last call, with the applied position.
    pub fn checkpoint(&mut self) -> Result<()> {
        self.keep_changes()?;
        // a look for merges is one at every index of the group, and this is called with every few entries
        match self.merges_looked_for.is_some_and(|at| at.elapsed() < MERGES_LOOK) {
            true => self.resume_rebuilds(),
            false => self.resume_work(),
        }
    }
    fn keep_changes(&mut self) -> Result<()> {
        if self.halt.is_half() {
            return Err(Error::Stopped);
        }
        self.keep_emptied();
        let durable = self.durable_through();
        if let Some(kept) = self.events.take_kept() {
            kept_events::keep(kept, &mut self.changes);
        }
        let mut batch = std::mem::take(&mut self.changes);
        batch.put([rows::REPLAY], codec::encode(&durable));
        batch.set_applied_index(self.applied);
        self.tree.apply(&batch)?;
        self.never_again = durable.min(self.applied);
        if std::mem::take(&mut self.has_new_indices) {
            self.tree.write_out()?;
        }
        Ok(())
    }
    /// Makes files of the group's events that are in memory. Errors: they stay there, and in the log.
    pub fn seal_events(&mut self) -> Result<()> {
        self.events.seal()
    }
    /// Commits every shard of the group durably and closes it. Nothing is opened again after that. A shard that cannot be made
    /// durable leaves its work to the log, which is kept for it.
    pub fn close(&mut self) -> Result<()> {
        self.is_closed = true;
        for state in self.node.of_group(self.group) {
            if let Some(Err(unclosed)) = state.writer.lock().take().map(ShardHandle::close) {
                let Unclosed { handle, error } = *unclosed;
                tracing::warn!(index = state.incarnation, %error, "closing a shard left work to the log");
                handle.discard();
            }
        }
        self.events.close();
        self.note_files();
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
            state.abandon_writer();
        }
        self.events.end();
    }
    /// Removes every index of the group from this node: it holds no replica of it any more. Readers go on with the views
    /// they have.
    pub fn leave(&mut self) -> Result<()> {
        for state in self.node.of_group(self.group) {
            self.node.remove(state.incarnation);
            links::end_writer(&state);
            self.remove_folder(state.incarnation)?;
        }
        self.leave_events()?;
        self.changes = Batch::default();
        self.node.forget_idle(self.group);
        self.node.drop_pin(self.group);
        self.node.dictionaries.note(self.group, None);
        Ok(())
    }
    /// The indices of the group; those that the catalogue does not know were left behind by a crash.
    pub fn incarnations(&self) -> Vec<Incarnation> {
        self.node.of_group(self.group).iter().map(|state| state.incarnation).collect()
    }

    /// The place of what is being carried out.
    fn place(&self, at: LogPosition) -> LogPlace {
        LogPlace { log_index: at.index, step: self.step }
    }

    /// The arm of each command: what it does, which is a function of the state, the place in the log and the command.
    fn carry_out(&mut self, at: LogPosition, command: IndexCommand, known: Known) -> Result<()> {
        if known.0 && !command.row().is_replayed {
            return Ok(());
        }
        let behind = command.comes_behind();
        let outcome = self.carry_out_one(at, command, known);
        behind.into_iter().for_each(|index| self.follow(at, index));
        outcome
    }
    fn carry_out_one(&mut self, at: LogPosition, command: IndexCommand, known: Known) -> Result<()> {
        match command {
            IndexCommand::Records { index, ops } => self.records(at, index, ops, known),
            IndexCommand::Settings { index, changes, replace } => self.settings(at, index, &changes, replace),
            IndexCommand::SaveResources { index, kind, resources, replace } => {
                self.save_resources(at, index, kind, resources, replace)
            }
            IndexCommand::DeleteResource { index, kind, object_id } => {
                self.delete_resource(at, index, kind, &object_id)
            }
            IndexCommand::Copy { from, to } => self.copy(at, from, to),
            IndexCommand::Drop { index } => self.drop_index(at, index),
            IndexCommand::Replicas { primary, revision, followers } => {
                self.replicas(at, primary, revision, &followers)
            }
            IndexCommand::Forward { command } => self.forward(at, *command),
            IndexCommand::ForUser { user, epoch, command } => {
                if !self.fences.let_pass(&user, epoch, at.index) {
                    return Ok(());
                }
                if !known.0 {
                    self.fences.raise(user, epoch, at.index, self.never_again, &mut self.changes);
                }
                self.carry_out(at, *command, known)
            }
            IndexCommand::Compare => {
                let events = self.pin_events(at, known);
                self.node.put_pin(GroupPin::take(
                    self.group,
                    at.index,
                    self.node.of_group(self.group),
                    events,
                ));
                Ok(())
            }
            IndexCommand::Dictionaries { revision } => self.follow_dictionaries(at, revision),
            IndexCommand::Events { events } => self.events.take(at.index, at.time_ms, &events),
            IndexCommand::ForgetUser { token } => {
                self.forgets_through = at.index.max(self.forgets_through);
                forgets::keep(self.forgets_through, &mut self.changes);
                self.events.forget(at.index, at.time_ms, &token);
                Ok(())
            }
            IndexCommand::Searches { searches } => self.events.take_searches(at.index, &searches),
            IndexCommand::InstallModel { key, seq, length, crc } => {
                self.install_model(at, key, seq, length, crc);
                Ok(())
            }
            IndexCommand::EventsSent { through } => {
                self.note_sent(through);
                Ok(())
            }
            IndexCommand::Sequence { commands } => self.sequence(at, commands, known),
        }
    }

    /// Carries out commands as the steps of one; one that fails keeps those behind it from being carried out.
    fn sequence(&mut self, at: LogPosition, commands: Vec<IndexCommand>, known: Known) -> Result<()> {
        if self.step == LogPlace::ALL {
            self.step = 0;
        }
        for command in commands {
            self.step += 1;
            let may_fail = command.row().may_fail;
            self.carry_out(at, command, known)?;
            self.may_have_failed |= may_fail;
        }
        Ok(())
    }

    fn records(
        &mut self,
        at: LogPosition,
        index: Incarnation,
        ops: Vec<RecordOp>,
        known: Known,
    ) -> Result<()> {
        let is_durable_at_once =
            self.may_have_failed || ops.iter().any(|op| matches!(op, RecordOp::DeleteBy { .. }));
        if known.0 && is_durable_at_once {
            // before the metadata store knew it
            return Ok(());
        }
        let state = match self.node.index(index) {
            Some(state) => state,
            // dropped later on, as the metadata store already knows
            None if known.0 => return Ok(()),
            None => self.create(at, index),
        };
        let followers = self.fed_with(index);
        if !known.0 {
            self.written(at, std::slice::from_ref(&state));
            self.written(at, &followers);
        }
        match is_durable_at_once {
            true => self.feed_durably(at, &state, &followers, Arc::new(ops)),
            false => self.feed(at, &state, &followers, ops),
        }
    }

    fn settings(&mut self, at: LogPosition, index: Incarnation, changes: &[u8], replace: bool) -> Result<()> {
        let state = match self.node.index(index) {
            Some(state) => state,
            None => self.create(at, index),
        };
        let before = if replace { Arc::new(Settings::default()) } else { state.settings.load_full() };
        let after = Arc::new(before.merge(&parse_document(changes)?)?);
        state.updated_ms.store(at.time_ms, Ordering::Relaxed);
        state.settings.store(after);
        self.show(at, &state)?;
        self.keep(&state);
        Ok(())
    }
    /// Makes reads see the newest settings: at once, or when the files have been rebuilt for them.
    fn show(&self, at: LogPosition, state: &Arc<IndexState>) -> Result<()> {
        let is_written = state.writer.lock().is_some();
        if is_written || state.progress.awaits_rebuild() || state.files_differ()? {
            let place = self.place(at);
            let schema = state.schema();
            return self.with_writer(state, |writer| writer.reconfigure(place, at.term, schema));
        }
        state.publish_schema();
        Ok(())
    }

    fn copy(&mut self, at: LogPosition, from: Incarnation, to: Incarnation) -> Result<()> {
        let _in_hand = InHand::new(&self.node, to);
        let folder = self.node.layout.shard(to, 0);
        let settings = match self.node.index(from) {
            Some(source) => {
                self.give_records(at, &source, to)?;
                source.settings.load_full()
            }
            None => Arc::default(),
        };
        tracing::debug!(from, to, "copied an index");
        let state = IndexState::new(to, self.group, folder, settings, at.time_ms, at.time_ms);
        let state = Arc::new(state.going_by(&self.node.dictionaries));
        self.copy_resources(from, &state);
        // a source that is missing gives no files
        if self.node.index(from).is_some() {
            self.keep_given(&state);
        }
        self.insert_new(&state);
        if state.files_differ()? {
            // the source is being rebuilt
            self.show(at, &state)?;
        }
        self.keep(&state);
        Ok(())
    }

    /// Makes the records of an index those that another one has at this place of the log, whatever it had before.
    ///
    /// Its files name this place, and they are durable before any later command is carried out: a replay, for which the
    /// source may hold later records, finds them. Where it does not find them, either no later command was ever carried
    /// out, or one that stands later in the log has removed them, and will again.
    fn give_records(&self, at: LogPosition, source: &Arc<IndexState>, to: Incarnation) -> Result<()> {
        let (folder, place) = (self.node.layout.shard(to, 0), self.place(at));
        // a program that did not count steps linked files once, into new folders
        if self.files_of(to)?.is_some_and(|files| files.step.is_none() || LogPlace::of(files) >= place) {
            return Ok(());
        }
        match self.node.index(to) {
            Some(known) => self.empty_folder(&known)?,
            None => self.remove_files(to)?,
        }
        // also when it has none: that there was nothing to give must not be asked again when there is something
        self.with_writer(source, |writer| writer.give_to(folder, place, at.term))
    }
    /// What the files of an index say they hold; `None` when there are none.
    fn files_of(&self, index: Incarnation) -> Result<Option<Payload>> {
        durable_payload(&self.node.layout.shard(index, 0), &*self.node.files)
    }
    fn remove_files(&self, index: Incarnation) -> Result<()> {
        let shard = self.node.layout.shard(index, 0);
        ShardView::forget(&shard, &*self.node.files)
            .map_err(|source| Error::Engine { folder: shard, source })?;
        self.remove_folder(index)
    }
    fn remove_folder(&self, index: Incarnation) -> Result<()> {
        let folder = self.node.layout.index(index);
        match self.node.files.remove_dir_all(&folder) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::Io { what: format!("removing {}", folder.display()), source })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn drop_index(&mut self, at: LogPosition, index: Incarnation) -> Result<()> {
        let _in_hand = InHand::new(&self.node, index);
        self.unlink_dropped(at, index)?;
        self.changes.delete(rows::by_number(rows::STATE, index));
        self.changes.delete(rows::by_number(kept_files::FILES, index));
        if self.node.index(index).is_some_and(|state| state.group != self.group) {
            // the folder is another group's: the catalogue lets no index lie in two
            return Ok(());
        }
        match self.node.remove(index) {
            Some(state) => {
                self.drop_resources(&state);
                self.empty_folder(&state)
            }
            None => Ok(()),
        }
    }

    fn create(&mut self, at: LogPosition, index: Incarnation) -> Arc<IndexState> {
        let folder = self.node.layout.shard(index, 0);
        let settings = Arc::new(Settings::default());
        let state = IndexState::new(index, self.group, folder, settings, at.time_ms, at.time_ms);
        let state = Arc::new(state.going_by(&self.node.dictionaries));
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
        state.check_files()?;
        self.node.use_view(state);
        self.node.busy(state);
        {
            let writer = state.writer.lock();
            if let Some(writer) = writer.as_ref() {
                return act(writer);
            }
        }
        self.node.writers.make_room(state);
        let mut writer = state.writer.lock();
        self.node.writers.opens(state);
        let handle = match writer.take() {
            Some(handle) => handle,
            None => {
                if let Err(error) = state.look_for_files(&*self.node.files) {
                    self.lack(self.lacks_some.load(Ordering::Acquire) || state.is_gone());
                    return Err(error);
                }
                ShardHandle::start(state.clone(), self.node.shard_options(self.group))?
            }
        };
        act(writer.insert(handle))
    }
}

/// Whether the metadata store has seen a command already.
#[derive(Clone, Copy)]
struct Known(bool);

fn parse_document(bytes: &[u8]) -> Result<serde_json::Map<String, serde_json::Value>> {
    serde_json::from_slice(bytes)
        .map_err(|e| Error::Model(quorate_model::Error::invalid(format!("settings in the log: {e}"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_row_begins_with_a_letter_of_its_own() {
        let shared = [rows::SETTINGS, rows::STATE, rows::REPLAY, rows::DOCUMENT, rows::TASK];
        let own = [
            links::FOLLOWERS,
            fences::FENCE,
            dictionaries::DICTIONARIES,
            crate::models::key::MODEL,
            sent::SENT,
            kept_files::FILES,
            kept_events::KEPT_EVENTS,
            forgets::FORGETS,
        ];
        let letters: std::collections::BTreeSet<u8> = shared.into_iter().chain(own).collect();
        assert_eq!(letters.len(), shared.len() + own.len());
    }
}
