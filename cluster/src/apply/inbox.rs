//! Where consensus leaves what is committed until the group's actor takes it.
//!
//! The consensus thread must never wait and nothing that is committed may be dropped, so the entries lie in a queue
//! beside the mailbox and the mailbox carries only wake-ups. The queue is bounded where it can be: proposals are refused
//! while too many committed bytes are unapplied.

use super::actor::Wake;
use actix::Recipient;
use parking_lot::Mutex;
use quorate_raft::{CommittedEntry, SnapshotImage};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Entries between the consensus thread and one group's actor.
#[derive(Default)]
pub struct Inbox {
    entries: Mutex<VecDeque<CommittedEntry>>,
    /// A snapshot to continue from; the entries that wait come after it.
    restore: Mutex<Option<SnapshotImage>>,
    /// Whether somebody needs a snapshot of this group.
    wanted: AtomicBool,
    actor: OnceLock<Recipient<Wake>>,
}

impl Inbox {
    /// An empty inbox.
    pub fn shared() -> Arc<Inbox> {
        Arc::default()
    }
    /// Names the actor to be woken. It looks once by itself when it starts.
    pub fn set_actor(&self, actor: Recipient<Wake>) {
        let named = self.actor.set(actor);
        assert!(named.is_ok(), "an inbox has one actor, named once");
    }
    /// Adds entries and wakes the actor.
    pub fn push(&self, entries: Vec<CommittedEntry>) {
        self.entries.lock().extend(entries);
        self.wake();
    }
    /// Leaves a snapshot that the group has to continue from, and wakes the actor. The entries that wait are part of it.
    pub fn restore(&self, image: SnapshotImage) {
        {
            let mut entries = self.entries.lock();
            entries.clear();
            *self.restore.lock() = Some(image);
        }
        self.wake();
    }
    /// Takes the snapshot to continue from, if there is a new one.
    pub fn take_restore(&self) -> Option<SnapshotImage> {
        self.restore.lock().take()
    }
    /// Asks for a snapshot of the group.
    pub fn want_snapshot(&self) {
        self.wanted.store(true, Ordering::Release);
        self.wake();
    }
    /// Whether a snapshot was asked for since the last call.
    pub fn take_wanted(&self) -> bool {
        self.wanted.swap(false, Ordering::AcqRel)
    }
    /// Wakes the actor. A full mailbox means that a wake-up is waiting in it already.
    pub fn wake(&self) {
        if let Some(actor) = self.actor.get() {
            let _ = actor.try_send(Wake);
        }
    }
    /// Takes the oldest entries: at most `entries_max`, and no more after `bytes_max` are reached.
    pub fn take(&self, entries_max: usize, bytes_max: usize) -> Vec<CommittedEntry> {
        let mut waiting = self.entries.lock();
        let (mut count, mut bytes) = (0, 0);
        while count < entries_max.min(waiting.len()) && bytes < bytes_max {
            bytes += waiting[count].data.len();
            count += 1;
        }
        waiting.drain(..count).collect()
    }
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.entries.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn entries_come_out_in_order_and_in_bounded_turns() {
        let entry = |index| CommittedEntry { index, term: 1, data: Bytes::from(vec![0; 10]) };
        let inbox = Inbox::shared();
        inbox.push((1..=5).map(entry).collect());
        inbox.push(vec![entry(6)]);
        let turn = |entries_max, bytes_max| -> Vec<u64> {
            inbox.take(entries_max, bytes_max).iter().map(|entry| entry.index).collect()
        };
        assert_eq!(turn(2, 1_000), [1, 2]);
        assert_eq!(turn(10, 11), [3, 4]);
        assert_eq!(turn(10, 1), [5]);
        assert_eq!(turn(10, 1_000), [6]);
        assert!(inbox.is_empty() && turn(10, 10).is_empty());
    }

    #[test]
    fn a_snapshot_takes_the_place_of_the_entries_before_it() {
        let entry = |index| CommittedEntry { index, term: 1, data: Bytes::new() };
        let image = |index| SnapshotImage { index, data: Bytes::new() };
        let inbox = Inbox::shared();
        inbox.push(vec![entry(1), entry(2)]);
        inbox.restore(image(7));
        inbox.restore(image(9));
        inbox.push(vec![entry(10)]);
        assert_eq!(inbox.take_restore(), Some(image(9)));
        assert_eq!(inbox.take_restore(), None);
        assert_eq!(inbox.take(9, 9), [entry(10)]);
        assert!(!inbox.take_wanted());
        inbox.want_snapshot();
        assert!(inbox.take_wanted() && !inbox.take_wanted());
    }
}
