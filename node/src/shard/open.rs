//! How a shard whose files are open carries out commands: writes, publishes, commits durably, merges, recovers from a failing
//! disk. It reads no clock.

use super::attempts::Attempts;
use super::failures::Failures;
use super::options::{ShardOptions, WorkPosition};
use crate::error::{Error, Result};
use crate::index::IndexState;
use crate::log_place::LogPlace;
use quorate_engine::Schema;
use quorate_engine::index::{MergeGoal, MergeState, Payload, ShardView, ShardWriter};
use quorate_model::RecordOp;
use quorate_store::space::Claim;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Age of the oldest unflushed operation that makes a durable commit due while the disk fills up: the log is kept for it, and
/// takes more room than what it becomes.
const FLUSH_TIGHT: Duration = Duration::from_secs(1);
/// The longest time that a stream of writes may hold back a publication.
const PUBLISH_AT_LATEST: Duration = Duration::from_millis(250);
/// How often a node publishes that does not lead the group, unless somebody waits for it: a stream of single records costs
/// each node of a cluster less in this way, and nothing is promised to its readers before a write is published.
const PUBLISH_FOLLOWING: Duration = Duration::from_millis(200);

/// Time without writes after which all segments are merged into one.
const PAUSED_AFTER: Duration = Duration::from_secs(2);

/// The owner of a shard's writer. Commands arrive in log order.
pub(super) struct OpenShard {
    pub(super) state: Arc<IndexState>,
    options: ShardOptions,
    pub(super) writer: ShardWriter,
    /// The newest schema carried out.
    pub(super) schema: Schema,
    /// What reads are shown: the newest schema that the files fit.
    pub(super) shown: Schema,
    pub(super) rebuild: Attempts,
    /// What the files held when the shard was opened: work through here is in them.
    durable_at_open: LogPlace,
    /// The last work carried out wholly, as durable commits name it.
    done: LogPlace,
    term: u64,
    /// Ticket of the last work carried out.
    ticket: u64,
    /// Commands since the last durable commit, to be carried out again when the writer has to be reopened. Nothing but a
    /// commit that holds them, or the end of the shard, takes them away.
    since_flush: Vec<(LogPlace, Arc<Vec<RecordOp>>)>,
    since_flush_bytes: usize,
    /// What the next durable commit takes of the disk.
    claim: Claim,
    /// Merges that failed, since one succeeded.
    merges: Attempts,
    /// What the last command that selects records by a query came to.
    pub(super) resolved: Option<Arc<Vec<RecordOp>>>,
    unflushed_since: Option<Instant>,
    unpublished_since: Option<Instant>,
    published: Instant,
    /// When the last command was carried out.
    last_work: Option<Instant>,
}

impl OpenShard {
    /// Opens the shard's folder for writing. When its files do not fit the settings, they are rebuilt.
    pub fn open(state: Arc<IndexState>, options: ShardOptions, now: Instant) -> Result<Self> {
        let schema = state.schema();
        let (writer, durable) = open_writer(&state, &options, &schema)?;
        let shown = state.schema_for(writer.built())?;
        let mut shard = OpenShard {
            shown,
            rebuild: Attempts::every(options.pace.upkeep),
            merges: Attempts::every(options.pace.upkeep),
            claim: options.writer.room.claim(0),
            durable_at_open: LogPlace::of(durable),
            done: LogPlace::of(durable),
            term: durable.term,
            ticket: 0,
            state,
            options,
            writer,
            schema,
            since_flush: Vec::new(),
            since_flush_bytes: 0,
            resolved: None,
            unflushed_since: None,
            unpublished_since: None,
            published: now,
            last_work: None,
        };
        shard.publish(now)?;
        shard.release_when_fit();
        Ok(shard)
    }

    /// Carries out the operations of one command. Commands that the files held at opening are skipped.
    pub fn apply(
        &mut self,
        at: WorkPosition,
        ops: Arc<Vec<RecordOp>>,
        bytes: usize,
        now: Instant,
    ) -> Result<()> {
        if at.ticket <= self.ticket {
            // tried again after a failure: recovery has carried it out
            return Ok(());
        }
        if at.place <= self.durable_at_open {
            self.begin(at, now);
            return Ok(());
        }
        if ops.iter().any(|op| matches!(op, RecordOp::DeleteBy { .. })) {
            // what it deletes depends on the settings of its place in the log, on every node alike
            self.settle(now)?;
        }
        self.begin(at, now);
        self.since_flush.push((at.place, ops.clone()));
        self.since_flush_bytes += bytes;
        self.done = at.place;
        self.run(&ops)
    }

    pub(super) fn begin(&mut self, at: WorkPosition, now: Instant) {
        self.ticket = at.ticket;
        self.term = at.term;
        self.unflushed_since.get_or_insert(now);
        self.unpublished_since.get_or_insert(now);
        self.last_work = Some(now);
    }

    /// The operations of the last command carried out, which were `ops`, with deletions in the place of what selects
    /// records by a query.
    pub fn resolved(&mut self, ops: &Arc<Vec<RecordOp>>) -> Arc<Vec<RecordOp>> {
        self.resolved.take().unwrap_or_else(|| ops.clone())
    }

    /// In what time reads should be shown the operations, if nothing else happens; `None` = there is nothing to show.
    pub fn publication_due_in(&self, queue: Queue, now: Instant) -> Option<Duration> {
        let since = self.unpublished_since?;
        let has_time =
            self.options.is_led_elsewhere.load(Ordering::Relaxed) && !self.state.progress.is_awaited();
        Some(match queue {
            Queue::Waiting => PUBLISH_AT_LATEST.saturating_sub(now.saturating_duration_since(since)),
            Queue::Empty if has_time => {
                PUBLISH_FOLLOWING.saturating_sub(now.saturating_duration_since(self.published))
            }
            Queue::Empty => Duration::ZERO,
        })
    }

    /// Shows reads everything carried out so far.
    pub fn publish(&mut self, now: Instant) -> Result<()> {
        let shard = self.writer.publish().map_err(|e| self.engine(e))?;
        self.state.publish(self.shown.clone(), shard, self.writer.built());
        self.unpublished_since = None;
        self.published = now;
        self.state.progress.made_visible(self.ticket);
        Ok(())
    }

    /// Shows reads everything carried out so far, and returns its records; nothing when the log is replayed to files that were
    /// ahead of this place when they were opened.
    pub fn pin(&mut self, through: u64, now: Instant) -> Result<Option<Arc<ShardView>>> {
        if self.durable_at_open > LogPlace::whole(through) {
            return Ok(None);
        }
        self.publish(now)?;
        Ok(Some(self.state.view()?.shard.clone()))
    }

    /// Whether a durable commit should be made now.
    pub fn flush_is_due(&self, now: Instant) -> bool {
        self.unflushed_since.is_some_and(|since| {
            now.saturating_duration_since(since) >= self.options.pace.flush_after
                || now.saturating_duration_since(since) >= FLUSH_TIGHT && self.options.writer.room.is_tight()
                || self.since_flush_bytes >= self.options.pace.flush_bytes
                || self.writer.unflushed_bytes() >= self.options.pace.flush_bytes as u64
        })
    }

    /// Makes everything carried out so far durable in segment files.
    pub fn flush(&mut self, now: Instant) -> Result<()> {
        self.commit()?;
        self.publish(now)
    }
    /// A durable commit that reads are not shown yet.
    pub(super) fn commit(&mut self) -> Result<()> {
        if self.options.halt.is_half() {
            return Err(Error::Stopped);
        }
        self.writer.flush(self.done.payload(self.term)).map_err(|e| self.engine(e))?;
        self.since_flush.clear();
        self.since_flush_bytes = 0;
        self.unflushed_since = None;
        self.state.progress.flushed(self.ticket, self.done.through());
        self.state.kept.became_durable();
        Ok(())
    }

    /// Continues with other settings: at once, or when the files have been rebuilt for them.
    ///
    /// Durable commits name the command before it until a later one is carried out: the settings themselves live in the
    /// metadata store, and records of the same command may still come.
    pub fn reconfigure(&mut self, at: WorkPosition, schema: Schema, now: Instant) -> Result<()> {
        if at.ticket > self.ticket {
            self.rebuild.succeeded();
        }
        self.begin(at, now);
        self.done = self.done.max(LogPlace::whole(at.place.log_index - 1));
        self.schema = schema;
        if self.files_fit() {
            return self.show_settings(now);
        }
        self.state.progress.await_rebuild(at.ticket);
        self.advance_rebuild(now)
    }

    /// Makes what this shard holds durable, and that also the state of `folder`, which need not survive a power cut.
    pub fn lend_to(&mut self, folder: &Path, now: Instant) -> Result<()> {
        self.flush(now)?;
        self.writer.lend_to(folder).map_err(|e| self.engine(e))
    }
    /// Gives what this shard holds to another one, whose folder says that it has it by the command at `payload`.
    pub fn give_to(&mut self, folder: &Path, payload: Payload, now: Instant) -> Result<()> {
        self.flush(now)?;
        self.writer.link_as(payload, folder).map_err(|e| self.engine(e))
    }

    /// Does one step of merging: few segments while writes go on, one when they have paused.
    pub fn merge(&mut self, queue: Queue, now: Instant) -> Result<()> {
        let paused = self.last_work.is_none_or(|at| now.saturating_duration_since(at) >= PAUSED_AFTER);
        let goal = match queue {
            Queue::Waiting => MergeGoal::Load,
            Queue::Empty if paused && self.files_fit() => MergeGoal::One,
            Queue::Empty => MergeGoal::Few,
        };
        let state = match self.merges.may_begin(now) {
            true => self.writer.merge_step(goal),
            false => Ok(MergeState::Idle),
        };
        self.state.is_merging.store(matches!(state, Ok(MergeState::Running)), Ordering::Relaxed);
        match state {
            Ok(MergeState::Idle | MergeState::Running) => Ok(()),
            // the writer has all it had: searches look into more segments for a while
            Err(error) => {
                self.merges.failed();
                tracing::warn!(index = self.state.incarnation, %error, "a merge failed; it will be tried again");
                Ok(())
            }
            Ok(MergeState::Merged) => {
                self.merges.succeeded();
                self.unflushed_since.get_or_insert(now);
                self.publish(now)
            }
        }
    }

    /// Reopens the writer from its durable state and carries out again what came after it.
    ///
    /// Errors: the writer is in no state to be used, and recovery has to be tried again; nothing that was applied is
    /// forgotten, however often it fails.
    pub fn recover(&mut self, now: Instant) -> Result<()> {
        self.writer.reopen(&self.schema).map_err(|e| self.engine(e))?;
        let durable = self.writer.durable().unwrap_or_default();
        self.shown = match self.files_fit() {
            true => {
                self.writer.describe(&self.schema);
                self.schema.clone()
            }
            false => self.state.schema_for(self.writer.built())?,
        };
        for at in 0..self.since_flush.len() {
            let (place, ops) = self.since_flush[at].clone();
            if place > LogPlace::of(durable) {
                self.run(&ops)?;
            }
        }
        self.unpublished_since.get_or_insert(now);
        self.release_when_fit();
        Ok(())
    }

    /// Claims the room on disk that durable commits will take for what was carried out so far.
    pub fn claim_room(&mut self) {
        self.claim.set(self.writer.owed_bytes());
    }

    /// Whether the shard may be closed without losing time: nothing is waiting to be made durable.
    pub fn is_clean(&self) -> bool {
        self.unflushed_since.is_none()
    }

    pub(super) fn failures(&self) -> &Failures {
        &self.options.rebuild_failures
    }
    pub(super) fn engine(&self, source: quorate_engine::index::IndexError) -> Error {
        Error::Engine { folder: self.state.folder.clone(), source }
    }
}

/// Whether further commands wait in the shard's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// None.
    Empty,
    /// At least one.
    Waiting,
}

fn open_writer(
    state: &IndexState,
    options: &ShardOptions,
    schema: &Schema,
) -> Result<(ShardWriter, Payload)> {
    let engine = |source| Error::Engine { folder: state.folder.clone(), source };
    let writer = ShardWriter::open(&state.folder, schema, options.files.clone(), options.writer.clone())
        .map_err(engine)?;
    let durable = writer.durable().unwrap_or_default();
    Ok((writer, durable))
}
