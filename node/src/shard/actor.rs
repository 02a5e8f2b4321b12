//! The actor of one index shard: orders its commands, decides when to publish and when to commit durably.
//!
//! It runs on a thread of its own while the shard is written to, so its handler may block. Work that fails (a full
//! disk) stays first in line and is tried again: nothing behind it is carried out before it. What is only asked for once
//! (a durable commit before closing, files for a snapshot) is refused meanwhile, so that nobody waits for a disk.

use super::attempts::Attempts;
use super::core::{Queue, ShardCore, ShardOptions, WorkPosition};
use crate::error::{Error, Result};
use crate::halt::{Left, panic_text};
use crate::index::IndexState;
use crate::place::Place;
use actix::prelude::*;
use crossbeam_channel::{Receiver, Sender, bounded};
use quorate_engine::index::{Payload, ShardView, Waker};
use quorate_model::{RecordOp, Settings};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Commands that may wait in a shard's mailbox; their bytes are bounded by [`QUEUE_BYTES_MAX`], which is met long before.
const MAILBOX: usize = 1 << 20;
/// Bytes of operations that may wait for one shard.
const QUEUE_BYTES_MAX: usize = 64 << 20;
/// What an operation counts beside its bytes.
const OP_BYTES: usize = 64;
/// How often it says anew what it will take of the disk, while commands come.
const CLAIM: Duration = Duration::from_millis(50);

/// Operations as they came out: those that select records by a query have become deletions of what they selected.
type Resolved = Result<Arc<Vec<RecordOp>>>;

/// Something to do, in log order.
enum Work {
    /// Record operations of one command; with an asker they are made durable before it is answered.
    Apply { at: WorkPosition, ops: Arc<Vec<RecordOp>>, bytes: usize, done: Option<Sender<Resolved>> },
    /// Other settings.
    Reconfigure { at: WorkPosition, settings: Arc<Settings> },
    /// A durable commit, then the files become another shard's, too.
    Give { folder: PathBuf, payload: Payload, done: Sender<Result<()>> },
    /// A durable commit, then the files are linked into another folder; tried once.
    Export { folder: PathBuf, done: Sender<Result<()>> },
    /// A durable commit.
    Flush { done: Sender<Result<()>> },
    /// The records as of here; tried once.
    Pin { through: u64, done: Sender<Result<Arc<ShardView>>> },
    /// Somebody waits for a publication.
    Hurry,
}

impl Message for Work {
    type Result = ();
}

/// Work in the background has ended.
struct Ended;
impl Message for Ended {
    type Result = ();
}

/// The running shard.
pub struct ShardActor {
    state: Arc<IndexState>,
    options: ShardOptions,
    core: Option<ShardCore>,
    work: VecDeque<Work>,
    queued: Arc<AtomicUsize>,
    /// The core has to go back to what is durable before it is used again.
    must_recover: bool,
    /// Attempts since something last succeeded.
    attempts: Attempts,
    /// When the shard last said what it takes of the disk.
    claimed: Instant,
    /// Whether a timer runs for a publication that was put off.
    has_timer: bool,
    /// When the background was last looked after: while commands come without a pause, timers wait.
    advanced: Instant,
}

/// What a shard does right now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardStatus {
    /// Commands that wait.
    pub queued: usize,
}

/// The way to a running shard; used by the machine of its group only.
#[derive(Debug)]
pub struct ShardHandle {
    address: Addr<ShardActor>,
    arbiter: Arbiter,
    queued: Arc<AtomicUsize>,
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
    /// Starts the shard on a thread of its own. Must be called inside an actix system.
    pub fn start(state: Arc<IndexState>, options: ShardOptions) -> ShardHandle {
        let arbiter = Arbiter::new();
        let queued = Arc::new(AtomicUsize::new(0));
        state.failures.store(0, Ordering::Relaxed);
        let actor = ShardActor {
            state: state.clone(),
            core: None,
            work: VecDeque::new(),
            queued: queued.clone(),
            must_recover: false,
            attempts: Attempts::every(options.pace.upkeep),
            claimed: Instant::now(),
            has_timer: false,
            advanced: Instant::now(),
            options,
        };
        let (is_set, wait) = bounded(1);
        let address = ShardActor::start_in_arbiter(&arbiter.handle(), move |context| {
            context.set_mailbox_capacity(MAILBOX);
            let _starter_is_gone = is_set.send(());
            actor
        });
        // Until then the mailbox holds 16 messages, fewer than a start may replay at once.
        let _thread_is_gone = wait.recv();
        ShardHandle { address, arbiter, queued, state }
    }
    /// What the shard does right now.
    pub fn status(&self) -> ShardStatus {
        ShardStatus { queued: self.queued.load(Ordering::Relaxed) }
    }
    /// Queues the operations of one command; waits while too many bytes are queued.
    pub fn apply(&self, place: Place, term: u64, ops: Arc<Vec<RecordOp>>) -> Result<()> {
        let bytes = ops_bytes(&ops);
        let at = self.position(place, term, bytes);
        self.send(Work::Apply { at, ops, bytes, done: None })
    }
    /// Carries out the operations of one command and makes them durable before it returns them as they came out: with
    /// deletions in the place of what selects records by a query.
    pub fn apply_durably(
        &self,
        place: Place,
        term: u64,
        ops: Arc<Vec<RecordOp>>,
    ) -> Result<Arc<Vec<RecordOp>>> {
        let bytes = ops_bytes(&ops);
        let at = self.position(place, term, bytes);
        self.ask(|done| Work::Apply { at, ops, bytes, done: Some(done) })
    }
    /// Queues a change of settings.
    pub fn reconfigure(&self, place: Place, term: u64, settings: Arc<Settings>) -> Result<()> {
        let ticket = self.state.progress.enqueue_settings(place.log_index);
        let at = WorkPosition { ticket, place, term };
        self.send(Work::Reconfigure { at, settings })
    }
    /// Makes what the shard holds after everything queued also the durable state of another shard, in `folder`: what a
    /// command does whose place and term the files there then name. It is tried until it is done.
    pub fn give_to(&self, folder: PathBuf, place: Place, term: u64) -> Result<()> {
        let payload = place.payload(term);
        self.ask(|done| Work::Give { folder, payload, done })
    }
    /// Links the shard's durable state into `folder`. It is tried once and not waited for here; the outcome is received.
    pub fn export(&self, folder: PathBuf) -> Result<Receiver<Result<()>>> {
        let (done, answer) = bounded(1);
        self.send(Work::Export { folder, done })?;
        Ok(answer)
    }
    /// Commits everything queued durably.
    pub fn flush(&self) -> Result<()> {
        self.ask(|done| Work::Flush { done })
    }
    /// Asks for the records as of everything queued, which is through this log index, without waiting for them.
    pub fn pin(&self, through: u64) -> Result<Receiver<Result<Arc<ShardView>>>> {
        let (done, answer) = bounded(1);
        self.send(Work::Pin { through, done })?;
        Ok(answer)
    }
    /// Publishes what was put off.
    pub fn publish_now(&self) -> Result<()> {
        self.send(Work::Hurry)
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
    pub fn discard(self) {
        self.arbiter.stop();
        if self.arbiter.join().is_err() {
            tracing::error!(index = self.state.incarnation, "a shard's thread ended with a panic");
        }
        self.state.failures.store(0, Ordering::Relaxed);
    }

    fn position(&self, place: Place, term: u64, bytes: usize) -> WorkPosition {
        let ticket = self.state.progress.enqueue(place.log_index, bytes, QUEUE_BYTES_MAX);
        WorkPosition { ticket, place, term }
    }
    fn send(&self, work: Work) -> Result<()> {
        self.queued.fetch_add(1, Ordering::Relaxed);
        self.address.try_send(work).map_err(|_| Error::Stopped)
    }
    fn ask<T>(&self, work: impl FnOnce(Sender<Result<T>>) -> Work) -> Result<T> {
        let (done, answer) = bounded(1);
        self.send(work(done))?;
        answer.recv().map_err(|_| Error::Stopped)?
    }
}

fn ops_bytes(ops: &[RecordOp]) -> usize {
    let each = |op: &RecordOp| match op {
        RecordOp::Put { object_id, record } => object_id.len() + record.len(),
        RecordOp::Partial { object_id, changes, .. } => object_id.len() + changes.len(),
        RecordOp::Delete { object_id } => object_id.len(),
        RecordOp::DeleteBy { params } => params.len(),
        RecordOp::Clear => 0,
    };
    ops.iter().map(|op| each(op) + OP_BYTES).sum()
}

impl ShardActor {
    /// Whether more work waits behind what is being done.
    fn queue(&self) -> Queue {
        if self.queued.load(Ordering::Relaxed) == 0 { Queue::Empty } else { Queue::Waiting }
    }
    /// The core, opened on first use and brought back to where it was after a failure.
    fn core(&mut self) -> Result<&mut ShardCore> {
        if self.core.is_none() {
            self.core = Some(ShardCore::open(self.state.clone(), self.options.clone())?);
        }
        let core = self.core.as_mut().expect("opened above");
        if self.must_recover {
            core.recover()?;
            self.must_recover = false;
        }
        Ok(core)
    }
    /// Says what the shard takes of the disk, when it is time.
    fn claim(&mut self) {
        if self.claimed.elapsed() >= CLAIM {
            self.claimed = Instant::now();
            if let Some(core) = &mut self.core {
                core.claim_room();
            }
        }
    }
    /// Refuses what is tried only once: it would wait for what failed before it.
    fn refuse_single_tries(&mut self) {
        for work in std::mem::take(&mut self.work) {
            match work {
                Work::Flush { done } | Work::Export { done, .. } => {
                    let _asker_is_gone = done.send(Err(Error::Delayed));
                    self.queued.fetch_sub(1, Ordering::Relaxed);
                }
                Work::Pin { done, .. } => {
                    let _asker_is_gone = done.send(Err(Error::Delayed));
                    self.queued.fetch_sub(1, Ordering::Relaxed);
                }
                // what works again is published anyway
                Work::Hurry => {
                    self.queued.fetch_sub(1, Ordering::Relaxed);
                }
                later @ (Work::Apply { .. } | Work::Reconfigure { .. } | Work::Give { .. }) => {
                    self.work.push_back(later);
                }
            }
        }
    }
    /// Does what waits, in order, up to the first failure; returns in what time a publication is due that was put off.
    fn drain(&mut self) -> Option<Duration> {
        if !self.attempts.may_begin() {
            self.refuse_single_tries();
            return None;
        }
        while let Some(work) = self.work.pop_front() {
            if let Some(unfinished) = self.carry_out(work) {
                self.work.push_front(unfinished);
                self.refuse_single_tries();
                return None;
            }
            self.queued.fetch_sub(1, Ordering::Relaxed);
        }
        let queue = self.queue();
        let upkeep = self.core().and_then(|core| {
            let due_in = core.publication_due_in(queue);
            if due_in == Some(Duration::ZERO) {
                core.publish()?;
            }
            if core.flush_is_due() {
                core.flush()?;
            }
            Ok(due_in.filter(|due_in| !due_in.is_zero()))
        });
        self.note("publishing", &upkeep);
        upkeep.ok().flatten()
    }
    /// Runs `step`. A panic stops the shard's group: what the shard has in memory may be half then and is let go.
    fn contained<T>(&mut self, step: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.options.halt.is_half() {
            self.let_go();
            return None;
        }
        let panic = match catch_unwind(AssertUnwindSafe(|| step(self))) {
            Ok(value) => return Some(value),
            Err(panic) => panic,
        };
        let (index, text) = (self.state.incarnation, panic_text(&*panic));
        tracing::error!(group = self.state.group.0, index, panic = text, "a shard panicked");
        self.options.halt.set(format!("the shard of index {index} panicked: {text}"), Left::Half);
        self.let_go();
        None
    }
    /// Gives up what waits and what is open: nothing of it becomes durable. Whoever waits for an answer hears that the shard
    /// has stopped.
    fn let_go(&mut self) {
        self.work.clear();
        self.queued.store(0, Ordering::Relaxed);
        self.state.progress.stop();
        let core = self.core.take();
        if catch_unwind(AssertUnwindSafe(|| drop(core))).is_err() {
            tracing::error!(index = self.state.incarnation, "closing the files of a shard panicked");
        }
    }
    /// Does what waits, and comes back for a publication that was put off.
    fn turn(&mut self, context: &mut Context<Self>) {
        let due_in = self.contained(Self::drain).flatten();
        self.claim();
        self.state.is_put_off.store(due_in.is_some(), Ordering::Relaxed);
        if let Some(due_in) = due_in.filter(|_| !self.has_timer) {
            self.has_timer = true;
            context.run_later(due_in, |actor, context| {
                actor.has_timer = false;
                actor.turn(context);
            });
        }
    }
    /// Returns the work that has to be tried again.
    fn carry_out(&mut self, work: Work) -> Option<Work> {
        match work {
            Work::Apply { at, ops, bytes, done } => {
                let result = self.core().and_then(|core| {
                    core.apply(at, ops.clone(), bytes)?;
                    if done.is_some() { core.flush() } else { Ok(()) }
                });
                if self.note("writing records", &result) {
                    return Some(Work::Apply { at, ops, bytes, done });
                }
                self.state.progress.dequeued(bytes);
                if let Some(done) = done {
                    let resolved = self.core().map(|core| core.resolved(&ops));
                    let _asker_is_gone = done.send(resolved);
                }
            }
            Work::Reconfigure { at, settings } => {
                let result = self.core().and_then(|core| core.reconfigure(at, settings.clone()));
                if self.note("changing settings", &result) {
                    return Some(Work::Reconfigure { at, settings });
                }
            }
            Work::Give { folder, payload, done } => {
                let result = self.core().and_then(|core| core.give_to(&folder, payload));
                if self.note("copying the shard", &result) {
                    return Some(Work::Give { folder, payload, done });
                }
                let _asker_is_gone = done.send(result);
            }
            Work::Export { folder, done } => {
                let result = self.core().and_then(|core| core.link_into(&folder));
                self.note("linking the shard's files", &result);
                let _asker_is_gone = done.send(result);
            }
            Work::Flush { done } => {
                let result = self.core().and_then(|core| if core.is_clean() { Ok(()) } else { core.flush() });
                self.note("the durable commit", &result);
                let _asker_is_gone = done.send(result);
            }
            Work::Pin { through, done } => {
                let result = self.core().and_then(|core| core.pin(through));
                self.note("publishing", &result);
                let _asker_is_gone = done.send(result.and_then(|pinned| pinned.ok_or(Error::Delayed)));
            }
            // what follows every piece of work looks whether it is time
            Work::Hurry => {}
        }
        None
    }
    /// Moves rebuilds and merges on.
    fn advance(&mut self) {
        self.advanced = Instant::now();
        let _panicked = self.contained(Self::step_of_background);
    }
    fn step_of_background(&mut self) {
        if !self.attempts.are_failing() {
            let queue = self.queue();
            let advanced = self.core().and_then(|core| {
                core.advance_rebuild()?;
                core.merge(queue)
            });
            self.note("work in the background", &advanced);
        }
    }
    /// Notes how a step ended. Returns whether it failed; the first failure in a row is logged.
    fn note<T>(&mut self, what: &str, result: &Result<T>) -> bool {
        let index = self.state.incarnation;
        match result {
            Ok(_) => {
                if self.attempts.are_failing() {
                    tracing::info!(index, "the shard works again");
                    self.attempts.succeeded();
                    self.state.failures.store(0, Ordering::Relaxed);
                }
                false
            }
            Err(error) => {
                if !self.attempts.are_failing() {
                    tracing::error!(index, %error, "{what} failed; it will be tried again");
                }
                self.attempts.failed();
                self.state.failures.fetch_add(1, Ordering::Relaxed);
                self.must_recover = self.core.is_some();
                true
            }
        }
    }
}

impl Actor for ShardActor {
    type Context = Context<Self>;
    fn started(&mut self, context: &mut Self::Context) {
        let owner = context.address().downgrade();
        self.options.writer.waker = Waker::new(move || {
            if let Some(owner) = owner.upgrade() {
                owner.do_send(Ended);
            }
        });
        self.turn(context);
        self.advance();
        context.run_interval(self.options.pace.upkeep, |actor, context| {
            actor.turn(context);
            actor.advance();
        });
    }
}
impl Handler<Ended> for ShardActor {
    type Result = ();
    fn handle(&mut self, _: Ended, _: &mut Self::Context) {
        self.advance();
    }
}
impl Handler<Work> for ShardActor {
    type Result = ();
    fn handle(&mut self, work: Work, context: &mut Self::Context) {
        self.work.push_back(work);
        self.turn(context);
        if self.advanced.elapsed() >= self.options.pace.upkeep {
            self.advance();
        }
    }
}
