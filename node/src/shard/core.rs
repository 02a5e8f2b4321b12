//! What one shard does next: its work in log order, up to the first failure; tries again; publications, durable commits and
//! work in the background when they are due. It reads no clock and waits for nothing but files.
//!
//! Work that fails (a full disk) stays first in line and is tried again: nothing behind it is carried out before it. What is
//! only asked for once (a durable commit before closing, files for a snapshot) is refused meanwhile, so that nobody waits
//! for a disk.

use super::attempts::Attempts;
use super::open::{OpenShard, Queue};
use super::options::ShardOptions;
use super::queue::{Queued, ShardQueue};
use super::work::Work;
use crate::error::{Error, Result};
use crate::halt::{Left, panic_text};
use crate::index::IndexState;
use quorate_engine::index::Waker;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How often it says anew what it will take of the disk, while commands come.
const CLAIM: Duration = Duration::from_millis(50);

/// When the shard has to be looked after again, unless it is woken before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// More waits.
    AtOnce,
    /// Something is due then.
    At(Instant),
    /// It has stopped.
    Never,
}

/// The owner of a shard: of its files while they are open for writing, and of the order in which it does things.
pub(super) struct ShardCore {
    state: Arc<IndexState>,
    options: ShardOptions,
    queue: Arc<ShardQueue>,
    open: Option<OpenShard>,
    /// The open shard has to go back to what is durable before it is used again.
    must_recover: bool,
    /// Attempts since something last succeeded.
    attempts: Attempts,
    /// When the shard last said what it takes of the disk.
    claimed: Option<Instant>,
    /// When the background was last looked after.
    advanced: Option<Instant>,
}

impl ShardCore {
    /// A shard whose files are opened by its first step.
    pub fn new(state: Arc<IndexState>, mut options: ShardOptions, queue: Arc<ShardQueue>) -> ShardCore {
        let woken = queue.clone();
        options.writer.waker = Waker::new(move || woken.background_ended());
        let attempts = Attempts::every(options.pace.upkeep);
        ShardCore {
            state,
            options,
            queue,
            open: None,
            must_recover: false,
            attempts,
            claimed: None,
            advanced: None,
        }
    }

    /// Does the next piece of work and what is due at `now`. A panic stops the shard's group: what the shard has in memory may
    /// be half then and is let go.
    pub fn step(&mut self, now: Instant) -> Next {
        if self.options.halt.is_half() {
            self.let_go();
            return Next::Never;
        }
        let panic = match catch_unwind(AssertUnwindSafe(|| self.next_step(now))) {
            Ok(next) => return next,
            Err(panic) => panic,
        };
        let (index, text) = (self.state.incarnation, panic_text(&*panic));
        tracing::error!(group = self.state.group.0, index, panic = text, "a shard panicked");
        self.options.halt.set(format!("the shard of index {index} panicked: {text}"), Left::Half);
        self.let_go();
        Next::Never
    }
    /// Gives up what waits and what is open: nothing of it becomes durable. Whoever waits for an answer hears that the shard
    /// has stopped.
    fn let_go(&mut self) {
        self.queue.close();
        let open = self.open.take();
        if catch_unwind(AssertUnwindSafe(|| drop(open))).is_err() {
            tracing::error!(index = self.state.incarnation, "closing the files of a shard panicked");
        }
    }

    fn next_step(&mut self, now: Instant) -> Next {
        if !self.attempts.may_begin(now) {
            self.queue.refuse_single_tries();
            self.claim(now);
            return Next::At(self.attempts.next(now).unwrap_or(now));
        }
        // first: whatever comes after an empty queue was seen wakes the shard
        let queued = self.queue.take();
        let queue = if queued.is_some() { Queue::Waiting } else { Queue::Empty };
        let mut due_in = None;
        // what failed is tried again first: that something else succeeds says nothing of it
        if queue == Queue::Empty || !self.attempts.are_failing() {
            match self.upkeep(queue, now) {
                Ok(deferred) => due_in = deferred,
                Err(()) => {
                    if let Some(queued) = queued {
                        self.queue.put_back(queued);
                    }
                    return Next::AtOnce;
                }
            }
        }
        if let Some(queued) = queued {
            self.carry_out(queued, now);
        }
        let upkeep = self.options.pace.upkeep;
        if self.queue.take_ended() || self.advanced.is_none_or(|at| now >= at + upkeep) {
            self.advance(queue, now);
        }
        self.claim(now);
        if queue == Queue::Waiting || self.attempts.are_failing() {
            return Next::AtOnce;
        }
        self.queue.says("work");
        let next = self.advanced.map_or(now, |at| at + upkeep);
        Next::At(due_in.map_or(next, |due_in| next.min(now + due_in)))
    }

    /// The open shard, opened on first use and brought back to where it was after a failure.
    fn open(&mut self, now: Instant) -> Result<&mut OpenShard> {
        if self.open.is_none() {
            self.queue.says("its files to be opened");
            self.open = Some(OpenShard::open(self.state.clone(), self.options.clone(), now)?);
        }
        let open = self.open.as_mut().expect("opened above");
        if self.must_recover {
            open.recover(now)?;
            self.must_recover = false;
        }
        Ok(open)
    }
    /// Says what the shard takes of the disk, when it is time.
    fn claim(&mut self, now: Instant) {
        if self.claimed.is_none_or(|at| now >= at + CLAIM) {
            self.claimed = Some(now);
            if let Some(open) = &mut self.open {
                open.claim_room();
            }
        }
    }
    /// Publishes and commits what is due; returns in what time a publication is due that is deferred. Errors are noted.
    fn upkeep(&mut self, queue: Queue, now: Instant) -> Result<Option<Duration>, ()> {
        let upkeep = self.open(now).and_then(|open| {
            let due_in = open.publication_due_in(queue, now);
            let publishes = due_in == Some(Duration::ZERO);
            if publishes || open.flush_is_due(now) {
                // it may take long, and others accept meanwhile
                open.claim_room();
            }
            if publishes {
                open.publish(now)?;
            }
            if open.flush_is_due(now) {
                open.flush(now)?;
            }
            Ok(due_in.filter(|due_in| !due_in.is_zero()))
        });
        let is_deferred = upkeep.as_ref().is_ok_and(Option::is_some);
        self.state.is_deferred.store(is_deferred, Ordering::Relaxed);
        if self.note("publishing", &upkeep) { Err(()) } else { Ok(upkeep.ok().flatten()) }
    }
    /// Does a piece of work, or puts it back to be tried again.
    fn carry_out(&mut self, Queued { work, bytes, since }: Queued, now: Instant) {
        let is_tried_once = work.is_tried_once();
        self.queue.says(work.name());
        match self.do_work(work, bytes, now) {
            Some(unfinished) => self.queue.put_back(Queued { work: unfinished, bytes, since }),
            None => {
                // before the queue gives back what it has claimed for it
                if let Some(open) = &mut self.open {
                    open.claim_room();
                }
                self.queue.done(bytes, is_tried_once);
            }
        }
    }
    /// Returns the work that has to be tried again.
    fn do_work(&mut self, work: Work, bytes: usize, now: Instant) -> Option<Work> {
        let what = work.name();
        match work {
            Work::Apply { at, ops, done } => {
                let result = self.open(now).and_then(|open| {
                    open.apply(at, ops.clone(), bytes, now)?;
                    if done.is_none() {
                        return Ok(None);
                    }
                    open.flush(now)?;
                    Ok(Some(open.resolved(&ops)))
                });
                if self.note(what, &result) {
                    return Some(Work::Apply { at, ops, done });
                }
                if let (Some(done), Ok(Some(resolved))) = (done, result) {
                    let _asker_is_gone = done.send(Ok(resolved));
                }
            }
            Work::Reconfigure { at, schema } => {
                let result = self.open(now).and_then(|open| open.reconfigure(at, schema.clone(), now));
                if self.note(what, &result) {
                    return Some(Work::Reconfigure { at, schema });
                }
            }
            Work::Give { folder, payload, done } => {
                let result = self.open(now).and_then(|open| open.give_to(&folder, payload, now));
                if self.note(what, &result) {
                    return Some(Work::Give { folder, payload, done });
                }
                let _asker_is_gone = done.send(result);
            }
            Work::Export { folder, done } => {
                let result = self.open(now).and_then(|open| open.lend_to(&folder, now));
                self.note(what, &result);
                let _asker_is_gone = done.send(result);
            }
            Work::Flush { done } => {
                let commit = |open: &mut OpenShard| if open.is_clean() { Ok(()) } else { open.flush(now) };
                let result = self.open(now).and_then(commit);
                self.note(what, &result);
                let _asker_is_gone = done.send(result);
            }
            Work::Pin { through, done } => {
                let result = self.open(now).and_then(|open| open.pin(through, now));
                self.note(what, &result);
                let _asker_is_gone = done.send(result.and_then(|pinned| pinned.ok_or(Error::Delayed)));
            }
        }
        None
    }
    /// Moves rebuilds and merges on.
    fn advance(&mut self, queue: Queue, now: Instant) {
        self.advanced = Some(now);
        if self.attempts.are_failing() {
            return;
        }
        let advanced = self.open(now).and_then(|open| {
            open.advance_rebuild(now)?;
            open.merge(queue, now)
        });
        self.note("work in the background", &advanced);
    }
    /// Notes how an attempt ended. Returns whether it failed; the first failure in a row is logged.
    fn note<T>(&mut self, what: &str, result: &Result<T>) -> bool {
        let index = self.state.incarnation;
        match result {
            Ok(_) => {
                if self.attempts.are_failing() {
                    tracing::info!(index, "the shard works again");
                    self.attempts.succeeded();
                    self.queue.says_well();
                }
                false
            }
            Err(error) => {
                if !self.attempts.are_failing() {
                    tracing::error!(index, %error, "{what} failed; it will be tried again");
                }
                self.attempts.failed();
                self.queue.says_failed(format!("{what}: {error}"), self.attempts.failures());
                self.must_recover = self.open.is_some();
                true
            }
        }
    }
}

#[cfg(test)]
mod tests;
