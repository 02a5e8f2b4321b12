//! What waits for one shard, in log order, bounded by its bytes; and what others may see of it.
//!
//! Whoever hands over operations waits for room. The thread of the shard takes one piece of work after another; a piece that
//! fails goes back to the front.

use super::work::Work;
use crate::error::{Error, Result};
use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::{Condvar, Mutex};
use quorate_store::space::{Claim, Room};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Bytes of work that may wait for one shard.
pub(super) const QUEUE_BYTES_MAX: usize = 64 << 20;
/// Pieces of work that are tried once which may wait: they do not wait for room, since a failing disk may keep it for hours
/// while they are refused at once.
const SINGLE_TRIES_MAX: usize = 1_024;
/// How long whoever waits for room sleeps at most before looking again.
const ROOM_LOOK: Duration = Duration::from_secs(1);

/// A piece of work that has been taken off the queue; its bytes count until it is done or put back.
pub(super) struct Queued {
    pub work: Work,
    /// What it takes of the queue's bytes.
    pub bytes: usize,
    /// Since when it waits.
    pub since: Instant,
}

/// What waits for a shard. Shared by those who hand work over, its thread, and whoever asks how it is.
pub struct ShardQueue {
    state: Mutex<State>,
    has_room: Condvar,
    bytes_max: usize,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

struct State {
    works: VecDeque<Queued>,
    bytes: usize,
    /// What they will take of the disk.
    claim: Claim,
    single_tries: usize,
    /// Since when the piece of work that is being carried out waits.
    taken: Option<Instant>,
    /// The shard's thread will look at the queue without being woken.
    is_awake: bool,
    /// Work of the writer's own threads has ended.
    has_ended: bool,
    is_closed: bool,
    waits_for: &'static str,
    last_error: Option<String>,
    failures: u32,
}

impl State {
    /// Holds work of so many bytes instead.
    fn take(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.claim.set_indexed(bytes as u64);
    }
}

/// How a shard is, for those who look after the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardStatus {
    /// Pieces of work that wait, the one that is being carried out included.
    pub queued: usize,
    /// Their bytes.
    pub queued_bytes: usize,
    /// For how long the oldest of them has waited.
    pub head_age: Duration,
    /// What it does, or waits for.
    pub waits_for: &'static str,
    /// Attempts that failed in a row.
    pub failures: u32,
    /// How the last attempt failed that did, since the shard was opened.
    pub last_error: Option<String>,
}

impl ShardQueue {
    /// An empty queue for up to `bytes_max` bytes, whose work takes of this room on the disk once it is carried out.
    pub(super) fn new(bytes_max: usize, room: &Room) -> Arc<ShardQueue> {
        let state = State {
            works: VecDeque::new(),
            bytes: 0,
            claim: room.claim(0),
            single_tries: 0,
            taken: None,
            // it looks once by itself when it starts
            is_awake: true,
            has_ended: false,
            is_closed: false,
            waits_for: "its start",
            last_error: None,
            failures: 0,
        };
        Arc::new(ShardQueue {
            state: Mutex::new(state),
            has_room: Condvar::new(),
            bytes_max,
            wake: OnceLock::new(),
        })
    }
    /// Names what wakes the shard's thread. It must not block.
    pub(super) fn wakes(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _once = self.wake.set(Box::new(wake));
    }
    /// Lets the shard's thread look whether something is due.
    pub(super) fn wake(&self) {
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }
    /// Waits until there is room for `bytes`; what is above the bound is let through when nothing else waits. Only one may
    /// hand work over at a time, or the room may be gone. Errors: the shard has stopped.
    pub(super) fn wait_for_room(&self, bytes: usize) -> Result<()> {
        let mut state = self.state.lock();
        while !state.is_closed && state.bytes > 0 && state.bytes + bytes > self.bytes_max {
            self.has_room.wait_for(&mut state, ROOM_LOOK);
        }
        if state.is_closed { Err(Error::Stopped) } else { Ok(()) }
    }
    /// Adds work of `bytes` behind what waits. Errors: the shard has stopped, or too much waits that is tried only once.
    pub(super) fn push(&self, work: Work, bytes: usize, now: Instant) -> Result<()> {
        {
            let mut state = self.state.lock();
            if state.is_closed {
                return Err(Error::Stopped);
            }
            if work.is_tried_once() {
                if state.single_tries == SINGLE_TRIES_MAX {
                    return Err(Error::Delayed);
                }
                state.single_tries += 1;
            }
            let all = state.bytes + bytes;
            state.take(all);
            state.works.push_back(Queued { work, bytes, since: now });
            if std::mem::replace(&mut state.is_awake, true) {
                return Ok(());
            }
        }
        self.wake();
        Ok(())
    }
    /// Asks for something and returns where the answer will be. Errors: as of [`Self::push`].
    pub(super) fn ask<T>(&self, work: impl FnOnce(Sender<Result<T>>) -> Work) -> Result<Receiver<Result<T>>> {
        let (done, answer) = bounded(1);
        let work = work(done);
        let bytes = work.bytes();
        self.push(work, bytes, Instant::now())?;
        Ok(answer)
    }

    /// Takes the oldest piece of work. When there is none the thread is woken by the next one that comes.
    pub(super) fn take(&self) -> Option<Queued> {
        let mut state = self.state.lock();
        let queued = state.works.pop_front();
        state.is_awake = queued.is_some();
        state.taken = queued.as_ref().map(|queued| queued.since);
        queued
    }
    /// Gives back the room of work that is done.
    pub(super) fn done(&self, bytes: usize, was_tried_once: bool) {
        let mut state = self.state.lock();
        let left = state.bytes.saturating_sub(bytes);
        state.take(left);
        state.single_tries -= usize::from(was_tried_once && state.single_tries > 0);
        state.taken = None;
        self.has_room.notify_all();
    }
    /// Puts work back that has to be tried again: nothing comes before it.
    pub(super) fn put_back(&self, queued: Queued) {
        let mut state = self.state.lock();
        state.taken = None;
        if !state.is_closed {
            state.works.push_front(queued);
        }
    }
    /// Refuses what is tried only once: it would wait for what failed before it. The thread is woken by the next work that comes.
    pub(super) fn refuse_single_tries(&self) {
        let refused = {
            let mut state = self.state.lock();
            state.is_awake = false;
            if state.single_tries == 0 {
                return;
            }
            let (refused, works): (VecDeque<_>, _) =
                state.works.drain(..).partition(|queued| queued.work.is_tried_once());
            state.works = works;
            state.single_tries = 0;
            let left = state.bytes - refused.iter().map(|queued| queued.bytes).sum::<usize>();
            state.take(left);
            self.has_room.notify_all();
            refused
        };
        refused.into_iter().for_each(|queued| queued.work.refuse());
    }
    /// Gives up what waits, and takes nothing more. Whoever waits for an answer or for room hears that the shard has stopped.
    pub(super) fn close(&self) {
        let given_up = {
            let mut state = self.state.lock();
            (state.is_closed, state.single_tries) = (true, 0);
            state.take(0);
            state.taken = None;
            state.waits_for = "nothing: it has stopped";
            self.has_room.notify_all();
            std::mem::take(&mut state.works)
        };
        // what is asked for here may be answered by letting go of it: not under the lock
        drop(given_up);
        self.wake();
    }
    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    /// Notes that work of the writer's own threads has ended, and wakes the shard's.
    pub(super) fn background_ended(&self) {
        self.state.lock().has_ended = true;
        self.wake();
    }
    /// Whether such work has ended since the last call.
    pub(super) fn take_ended(&self) -> bool {
        std::mem::take(&mut self.state.lock().has_ended)
    }
    /// Bytes of work that is not done.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.state.lock().bytes
    }
    /// Attempts that failed in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.state.lock().failures
    }
    /// Says what the shard does or waits for.
    pub(super) fn says(&self, waits_for: &'static str) {
        self.state.lock().waits_for = waits_for;
    }
    /// Says that an attempt failed.
    pub(super) fn says_failed(&self, error: String, failures: u32) {
        let mut state = self.state.lock();
        (state.waits_for, state.last_error, state.failures) = ("another attempt", Some(error), failures);
    }
    /// Says that nothing fails any more.
    pub(super) fn says_well(&self) {
        self.state.lock().failures = 0;
    }
    /// How the shard is.
    pub fn status(&self, now: Instant) -> ShardStatus {
        let state = self.state.lock();
        let head = state.taken.or_else(|| state.works.front().map(|queued| queued.since));
        ShardStatus {
            queued: state.works.len() + usize::from(state.taken.is_some()),
            queued_bytes: state.bytes,
            head_age: head.map_or(Duration::ZERO, |since| now.saturating_duration_since(since)),
            waits_for: state.waits_for,
            failures: state.failures,
            last_error: state.last_error.clone(),
        }
    }
}

impl std::fmt::Debug for ShardQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ShardQueue({:?})", self.status(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::WorkPosition;
    use super::*;
    use crate::log_place::LogPlace;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn apply(log_index: u64) -> Work {
        let at = WorkPosition { ticket: log_index, place: LogPlace::whole(log_index), term: 1 };
        Work::Apply { at, ops: Arc::default(), done: None }
    }
    fn log_index(queued: &Queued) -> u64 {
        match &queued.work {
            Work::Apply { at, .. } => at.place.log_index,
            _ => 0,
        }
    }
    fn push(queue: &ShardQueue, log_index: u64, bytes: usize) {
        queue.push(apply(log_index), bytes, Instant::now()).unwrap();
    }

    #[test]
    fn a_full_queue_makes_the_next_command_wait_until_work_is_done() {
        let queue = ShardQueue::new(100, &Room::boundless());
        queue.wait_for_room(500).expect("nothing waits");
        push(&queue, 1, 80);
        let other = queue.clone();
        let waiter = std::thread::spawn(move || {
            other.wait_for_room(80).unwrap();
            push(&other, 2, 80);
        });
        let first = queue.take().unwrap();
        assert!(!waiter.is_finished(), "what is being carried out still has its room");
        queue.done(first.bytes, false);
        waiter.join().unwrap();
        assert_eq!((queue.bytes(), log_index(&queue.take().unwrap())), (80, 2));
    }

    #[test]
    fn nobody_waits_for_a_shard_that_has_stopped() {
        let room = Room::boundless();
        let queue = ShardQueue::new(100, &room);
        push(&queue, 1, 80);
        assert_eq!(room.claimed_bytes(), room.indexed_bytes(80));
        let answer = queue.ask(|done| Work::Flush { done }).unwrap();
        let other = queue.clone();
        let waiter = std::thread::spawn(move || other.wait_for_room(80));
        queue.close();
        assert!(matches!(waiter.join().unwrap(), Err(Error::Stopped)));
        assert!(answer.recv().is_err(), "the answer is let go of");
        assert!(matches!(queue.push(apply(2), 1, Instant::now()), Err(Error::Stopped)));
        assert!(queue.take().is_none());
        assert_eq!(room.claimed_bytes(), 0);
    }

    #[test]
    fn what_failed_stays_first_and_what_is_tried_once_is_refused() {
        let room = Room::boundless();
        let queue = ShardQueue::new(1_000, &room);
        push(&queue, 1, 10);
        let answer = queue.ask(|done| Work::Flush { done }).unwrap();
        push(&queue, 2, 10);
        let first = queue.take().unwrap();
        queue.put_back(first);
        queue.refuse_single_tries();
        assert!(matches!(answer.recv(), Ok(Err(Error::Delayed))));
        assert_eq!((queue.bytes(), room.claimed_bytes()), (20, room.indexed_bytes(20)));
        assert_eq!([(); 2].map(|()| log_index(&queue.take().unwrap())), [1, 2]);
        assert_eq!(room.claimed_bytes(), room.indexed_bytes(20), "what is carried out is on no disk yet");
        queue.done(10, false);
        assert_eq!(room.claimed_bytes(), room.indexed_bytes(10));
    }

    #[test]
    fn what_is_tried_once_is_bounded_and_waits_for_no_room() {
        let queue = ShardQueue::new(10, &Room::boundless());
        push(&queue, 1, 10);
        let answers: Vec<_> =
            (0..SINGLE_TRIES_MAX).map(|_| queue.ask(|done| Work::Flush { done }).unwrap()).collect();
        assert!(matches!(queue.ask(|done| Work::Flush { done }), Err(Error::Delayed)));
        queue.refuse_single_tries();
        assert!(answers.iter().all(|answer| matches!(answer.recv(), Ok(Err(Error::Delayed)))));
        assert!(queue.ask(|done| Work::Flush { done }).is_ok());
    }

    #[test]
    fn the_thread_is_woken_once_for_all_that_comes_before_it_looks() {
        let (queue, woken) = (ShardQueue::new(1_000, &Room::boundless()), Arc::new(AtomicUsize::new(0)));
        let counted = woken.clone();
        queue.wakes(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        push(&queue, 1, 1);
        assert_eq!(woken.load(Ordering::Relaxed), 0, "it looks by itself at first");
        while queue.take().is_some() {}
        (2..5).for_each(|log_index| push(&queue, log_index, 1));
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        while queue.take().is_some() {}
        push(&queue, 5, 1);
        assert_eq!(woken.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn it_says_how_old_its_head_is() {
        let (queue, now) = (ShardQueue::new(1_000, &Room::boundless()), Instant::now());
        assert_eq!(queue.status(now).head_age, Duration::ZERO);
        queue.push(apply(1), 7, now).unwrap();
        queue.push(apply(2), 7, now + Duration::from_secs(2)).unwrap();
        let later = now + Duration::from_secs(5);
        let status = queue.status(later);
        assert_eq!((status.queued, status.queued_bytes, status.head_age), (2, 14, Duration::from_secs(5)));
        let first = queue.take().unwrap();
        assert_eq!(queue.status(later), status, "it waits until it is done");
        queue.done(first.bytes, false);
        assert_eq!(queue.status(later).head_age, Duration::from_secs(3));
        queue.says_failed("the disk is full".into(), 3);
        let status = queue.status(later);
        assert_eq!((status.waits_for, status.failures), ("another attempt", 3));
        assert_eq!(status.last_error.as_deref(), Some("the disk is full"));
    }
}
