//! Which shards of the node have an open writer, and which is closed to make room for another one?
//!
//! Closing a writer is a durable commit, which takes as long as the disk does. Nobody waits for that of another group: those
//! that are too many are closed by threads of their own, and when far too many are open, a group waits for one of its own.

use crate::index::IndexState;
use crate::ops::Incarnation;
use crate::shard::{ShardHandle, Unclosed};
use parking_lot::Mutex;
use quorate_model::limits;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Threads that close writers at a time.
const CLOSERS: usize = 4;
/// How often it is tried again to close a writer when far too many are open.
const ROOM_RETRY: Duration = Duration::from_millis(100);

/// The open writers of a node. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writers(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Those with an open writer, and some that had one.
    open: FxHashMap<Incarnation, Arc<IndexState>>,
    /// Those that are to be closed, in order.
    queue: VecDeque<Arc<IndexState>>,
    /// Those in the queue, and those that are being closed.
    closing: FxHashSet<Incarnation>,
    closers: usize,
}

impl Writers {
    /// Notes that a writer of the index is about to be opened.
    pub fn opens(&self, state: &Arc<IndexState>) {
        self.0.lock().open.insert(state.incarnation, state.clone());
    }
    /// Those with an open writer.
    pub fn open(&self) -> Vec<Arc<IndexState>> {
        let mut known = self.0.lock();
        known.open.retain(|_, state| state.has_writer());
        known.open.values().cloned().collect()
    }
    /// Lets the longest unused writers be closed while as many are open as there may be, without waiting for it. Those stay open
    /// meanwhile, and so do those whose work cannot be made durable, up to twice the number. Then a group that has a writer
    /// waits for room: for one of its own, or for any that others close. One that has none waits for nothing.
    pub fn make_room(&self, newcomer: &IndexState) {
        loop {
            let mut open = self.open();
            open.retain(|state| state.incarnation != newcomer.incarnation);
            let too_many = (open.len() + 1).saturating_sub(limits::OPEN_WRITERS_MAX);
            if too_many == 0 {
                return;
            }
            longest_unused_first(&mut open);
            self.close_some(&open, too_many);
            let is_own = |state: &&Arc<IndexState>| state.group == newcomer.group;
            if open.len() < 2 * limits::OPEN_WRITERS_MAX || !open.iter().any(|state| is_own(&state)) {
                return;
            }
            if !open.iter().filter(is_own).any(|state| close(state)) {
                std::thread::sleep(ROOM_RETRY);
            }
        }
    }
    /// Lets writers be closed until `wanted` of those that are open are on their way.
    fn close_some(&self, open: &[Arc<IndexState>], wanted: usize) {
        let mut known = self.0.lock();
        known.close(open, wanted);
        while known.closers < CLOSERS.min(known.queue.len()) {
            let writers = self.clone();
            let closer = std::thread::Builder::new().name("close-writers".into());
            match closer.spawn(move || writers.close_queued()) {
                Ok(_ends_by_itself) => known.closers += 1,
                Err(error) => {
                    tracing::warn!(%error, "cannot start a thread that closes writers");
                    break;
                }
            }
        }
    }
    fn close_queued(&self) {
        loop {
            let mut all_closed = true;
            while let Some(state) = self.next() {
                all_closed &= close(&state);
                self.0.lock().closing.remove(&state.incarnation);
            }
            // a writer that was opened again while it was noted as being closed counted as one that goes
            let mut open = self.open();
            let too_many = open.len().saturating_sub(limits::OPEN_WRITERS_MAX);
            longest_unused_first(&mut open);
            let mut known = self.0.lock();
            if all_closed {
                known.close(&open, too_many);
            }
            if known.queue.is_empty() {
                known.closers -= 1;
                return;
            }
        }
    }
    fn next(&self) -> Option<Arc<IndexState>> {
        self.0.lock().queue.pop_front()
    }
}
impl Known {
    /// Queues writers until `wanted` of those that are open are on their way.
    fn close(&mut self, open: &[Arc<IndexState>], wanted: usize) {
        // one that has just been closed may still be noted as being closed
        let mut coming = open.iter().filter(|state| self.closing.contains(&state.incarnation)).count();
        for state in open.iter().filter(|state| !state.is_failing()) {
            if coming >= wanted {
                break;
            }
            if self.closing.insert(state.incarnation) {
                self.queue.push_back(state.clone());
                coming += 1;
            }
        }
    }
}

/// Orders what may be closed: those with work in the background last. Readers and shards change all of it meanwhile, so each
/// is looked at once: a sort whose keys change under it panics.
pub(crate) fn longest_unused_first(states: &mut [Arc<IndexState>]) {
    states.sort_by_cached_key(|state| (state.has_background_work(), state.used.load(Ordering::Relaxed)));
}

/// Closes the writer of an index. Returns whether it is closed: one that cannot make its work durable stays, as nothing else
/// has that work at hand.
pub(crate) fn close(state: &IndexState) -> bool {
    // the lock is held until the thread has ended, so that no second writer opens the folder meanwhile
    let mut writer = state.writer.lock();
    if writer.is_some() && state.is_failing() {
        return false;
    }
    let Some(Err(unclosed)) = writer.take().map(ShardHandle::close) else { return true };
    let Unclosed { handle, error } = *unclosed;
    tracing::warn!(index = state.incarnation, %error, "a shard stays open: its work is not durable");
    *writer = Some(handle);
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::GroupId;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    #[test]
    fn what_is_used_while_it_is_ordered_ends_nothing() {
        let state = |incarnation: Incarnation| {
            let state = IndexState::new(incarnation, GroupId(1), "nowhere".into(), Arc::default(), 0, 0);
            state.used.store(incarnation, Ordering::Relaxed);
            Arc::new(state)
        };
        let states: Vec<_> = (0..400).map(state).collect();
        let (is_over, used) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for step in [7, 11, 13] {
                let (states, is_over, used) = (&states, &is_over, &used);
                scope.spawn(move || {
                    for at in (0..states.len()).cycle().step_by(step) {
                        if is_over.load(Ordering::Relaxed) {
                            return;
                        }
                        states[at].used.store(used.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
                    }
                });
            }
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                for _ in 0..300 {
                    longest_unused_first(&mut states.clone());
                }
            }));
            is_over.store(true, Ordering::Relaxed);
            assert!(panicked.is_ok(), "the order of what is used meanwhile");
        });
        let mut states = states;
        longest_unused_first(&mut states);
        assert!(states.is_sorted_by_key(|state| state.used.load(Ordering::Relaxed)));
    }
}
