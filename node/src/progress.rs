//! How far the writes of one shard have come: queued, visible to reads, durable in segment files.

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::Duration;

/// Log indices of one shard that are under way.
///
/// Filled when a command is handed to the shard, drained when it is visible, then when it is durable.
#[derive(Debug, Default)]
pub struct Progress {
    state: Mutex<State>,
    changed: Condvar,
}
#[derive(Debug, Default)]
struct State {
    /// Handed over, not visible to reads yet: (ticket, log index), both ascending.
    unpublished: VecDeque<(u64, u64)>,
    /// Since the last durable commit: the first log index and the last ticket.
    unflushed: Option<(u64, u64)>,
    last_ticket: u64,
    queued_bytes: usize,
}

impl Progress {
    /// Notes work at `log_index` with `bytes` of operations; waits while more than `bytes_max` are queued.
    ///
    /// Returns its ticket, ascending in the order of the calls. Work above the bound is let through when nothing else waits.
    pub fn enqueue(&self, log_index: u64, bytes: usize, bytes_max: usize) -> u64 {
        let mut state = self.state.lock();
        while state.queued_bytes > 0 && state.queued_bytes + bytes > bytes_max {
            self.changed.wait_for(&mut state, Duration::from_secs(1));
        }
        state.queued_bytes += bytes;
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        state.unpublished.push_back((ticket, log_index));
        let first = state.unflushed.map_or(log_index, |(first, _)| first);
        state.unflushed = Some((first, ticket));
        ticket
    }
    /// The shard took work of `bytes` off its queue.
    pub fn dequeued(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.queued_bytes = state.queued_bytes.saturating_sub(bytes);
        self.changed.notify_all();
    }
    /// Everything through `ticket` is visible to reads.
    pub fn published(&self, ticket: u64) {
        let mut state = self.state.lock();
        while state.unpublished.front().is_some_and(|&(first, _)| first <= ticket) {
            state.unpublished.pop_front();
        }
        self.changed.notify_all();
    }
    /// Everything through `ticket`, whose command stands at `log_index`, is durable in segment files.
    pub fn flushed(&self, ticket: u64, log_index: u64) {
        let mut state = self.state.lock();
        state.unflushed =
            state.unflushed.filter(|&(_, last)| last > ticket).map(|(_, last)| (log_index + 1, last));
    }
    /// The index is gone: nothing waits any more.
    pub fn abandon(&self) {
        *self.state.lock() = State::default();
        self.changed.notify_all();
    }
    /// Whether reads see the command at `log_index`, given that it was applied.
    pub fn is_visible(&self, log_index: u64) -> bool {
        self.state.lock().unpublished.binary_search_by_key(&log_index, |&(_, at)| at).is_err()
    }
    /// The largest log index through which everything of this shard is visible; `None` = nothing waits.
    pub fn visible_through(&self) -> Option<u64> {
        self.state.lock().unpublished.front().map(|&(_, first)| first - 1)
    }
    /// The largest log index through which everything of this shard is durable; `None` = nothing waits.
    pub fn durable_through(&self) -> Option<u64> {
        self.state.lock().unflushed.map(|(first, _)| first - 1)
    }
    /// Commands that are not visible yet.
    pub fn pending(&self) -> usize {
        self.state.lock().unpublished.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_move_forward_only_as_far_as_is_true() {
        let progress = Progress::default();
        assert_eq!((progress.visible_through(), progress.durable_through()), (None, None));
        let tickets = [5, 9, 12].map(|log_index| progress.enqueue(log_index, 10, 100));
        assert_eq!((progress.visible_through(), progress.durable_through()), (Some(4), Some(4)));
        progress.published(tickets[1]);
        assert!(progress.is_visible(9) && progress.is_visible(6) && !progress.is_visible(12));
        assert_eq!(progress.visible_through(), Some(11));
        progress.flushed(tickets[1], 9);
        assert_eq!(progress.durable_through(), Some(9));
        progress.published(tickets[2]);
        progress.flushed(tickets[2], 12);
        assert_eq!(
            (progress.visible_through(), progress.durable_through(), progress.pending()),
            (None, None, 0)
        );
    }

    #[test]
    fn two_pieces_of_one_command_are_visible_only_together() {
        let progress = Progress::default();
        let (first, second) = (progress.enqueue(7, 0, 1), progress.enqueue(7, 0, 1));
        progress.published(first);
        assert!(!progress.is_visible(7));
        progress.published(second);
        assert!(progress.is_visible(7));
    }

    #[test]
    fn a_full_queue_makes_the_next_command_wait() {
        let progress = std::sync::Arc::new(Progress::default());
        progress.enqueue(1, 80, 100);
        let other = progress.clone();
        let waiter = std::thread::spawn(move || other.enqueue(2, 80, 100));
        assert_eq!(progress.pending(), 1);
        progress.dequeued(80);
        waiter.join().unwrap();
        assert_eq!(progress.pending(), 2);
    }
}
