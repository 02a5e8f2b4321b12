//! The way to a running shard: who hands work to it, and in which order.

use super::actor;
use super::core::ShardCore;
use super::options::{ShardOptions, WorkPosition};
use super::queue::{QUEUE_BYTES_MAX, ShardQueue};
use super::work::{Work, ops_bytes, settings_bytes};
use crate::error::{Error, Result};
use crate::index::IndexState;
use crate::log_place::LogPlace;
use crossbeam_channel::Receiver;
use quorate_engine::Schema;
use quorate_engine::index::ShardView;
use quorate_model::RecordOp;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

/// The way to a running shard; used by the machine of its group only, one call at a time.
///
/// Calls that return an answer wait for it: their thread must not be one that others wait for.
#[derive(Debug)]
pub struct ShardHandle {
    thread: Option<JoinHandle<()>>,
    queue: Arc<ShardQueue>,
    state: Arc<IndexState>,
}

/// A shard that could not be closed: what it has is not durable, and the next writer would go on without it.
#[derive(Debug)]
pub struct Unclosed {
    /// The shard, which tries again by itself.
    pub handle: ShardHandle,
    /// Why.
    pub error: Error,
}

impl ShardHandle {
    /// Starts the shard on a thread of its own. Errors: there is no thread for it.
    pub fn start(state: Arc<IndexState>, options: ShardOptions) -> Result<ShardHandle> {
        let queue = ShardQueue::new(QUEUE_BYTES_MAX, &options.writer.room);
        let core = ShardCore::new(state.clone(), options, queue.clone());
        let started = actor::start(core, queue.clone(), format!("shard-{}", state.incarnation));
        let thread =
            started.map_err(|source| Error::Io { what: "starting the thread of a shard".into(), source })?;
        state.shard.store(Some(queue.clone()));
        Ok(ShardHandle { thread: Some(thread), queue, state })
    }
    /// Queues the operations of one command; waits while too much is queued.
    pub fn apply(&self, place: LogPlace, term: u64, ops: Arc<Vec<RecordOp>>) -> Result<()> {
        let bytes = ops_bytes(&ops);
        let at = self.position(place, term, bytes)?;
        self.queue.push(Work::Apply { at, ops, done: None }, bytes, Instant::now())
    }
    /// Carries out the operations of one command and makes them durable before it returns them as they came out: with
    /// deletions in the place of what selects records by a query.
    pub fn apply_durably(
        &self,
        place: LogPlace,
        term: u64,
        ops: Arc<Vec<RecordOp>>,
    ) -> Result<Arc<Vec<RecordOp>>> {
        let at = self.position(place, term, ops_bytes(&ops))?;
        self.ask(|done| Work::Apply { at, ops, done: Some(done) })
    }
    /// Queues a change of settings; waits while too much is queued.
    pub fn reconfigure(&self, place: LogPlace, term: u64, schema: Schema) -> Result<()> {
        let bytes = settings_bytes(schema.settings());
        self.queue.wait_for_room(bytes)?;
        let ticket = self.state.progress.enqueue_settings(place.log_index);
        let at = WorkPosition { ticket, place, term };
        self.queue.push(Work::Reconfigure { at, schema }, bytes, Instant::now())
    }
    /// Makes what the shard holds after everything queued also the durable state of another shard, in `folder`: what a
    /// command does whose place and term the files there then name. It is tried until it is done.
    pub fn give_to(&self, folder: PathBuf, place: LogPlace, term: u64) -> Result<()> {
        let payload = place.payload(term);
        self.ask(|done| Work::Give { folder, payload, done })
    }
    /// Links the shard's durable state into `folder`. It is tried once and not waited for here; the outcome is received.
    pub fn export(&self, folder: PathBuf) -> Result<Receiver<Result<()>>> {
        self.queue.ask(|done| Work::Export { folder, done })
    }
    /// Commits everything queued durably.
    pub fn flush(&self) -> Result<()> {
        self.ask(|done| Work::Flush { done })
    }
    /// Asks for the records as of everything queued, which is through this log index, without waiting for them.
    pub fn pin(&self, through: u64) -> Result<Receiver<Result<Arc<ShardView>>>> {
        self.queue.ask(|done| Work::Pin { through, done })
    }
    /// Publishes what was deferred.
    pub fn publish_now(&self) {
        self.queue.wake();
    }
    /// Commits everything queued durably and ends the shard's thread. Errors: the commit failed, and the shard goes on.
    pub fn close(self) -> Result<(), Box<Unclosed>> {
        match self.flush() {
            Ok(()) => {
                self.discard();
                Ok(())
            }
            Err(error) => Err(Box::new(Unclosed { handle: self, error })),
        }
    }
    /// Ends the shard's thread. What is not durable is left to the log: nothing may be written to the shard before it has
    /// been replayed.
    pub fn discard(mut self) {
        self.queue.close();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!(index = self.state.incarnation, "a shard's thread ended with a panic");
        }
        self.state.shard.store(None);
    }

    fn position(&self, place: LogPlace, term: u64, bytes: usize) -> Result<WorkPosition> {
        self.queue.wait_for_room(bytes)?;
        Ok(WorkPosition { ticket: self.state.progress.enqueue(place.log_index), place, term })
    }
    fn ask<T>(&self, work: impl FnOnce(crossbeam_channel::Sender<Result<T>>) -> Work) -> Result<T> {
        self.queue.ask(work)?.recv().map_err(|_| Error::Stopped)?
    }
}

impl Drop for ShardHandle {
    /// A handle that is let go of ends the thread, too, but does not wait for it.
    fn drop(&mut self) {
        self.queue.close();
    }
}
