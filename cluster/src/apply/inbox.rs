//! Where consensus leaves what is committed until the group's actor takes it, and what others may see of the actor.
//!
//! The consensus thread must never wait and nothing that is committed may be dropped, so the entries lie in a queue
//! beside the mailbox and the mailbox carries only wake-ups. The queue is bounded where it can be: proposals are refused
//! while too many committed bytes are unapplied.

use super::actor::Wake;
use actix::Recipient;
use parking_lot::Mutex;
use quorate_raft::{CommittedEntry, SnapshotImage};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Between the consensus thread, one group's actor, and those who ask how the actor is.
#[derive(Default)]
pub struct Inbox {
    state: Mutex<State>,
    actor: OnceLock<Recipient<Wake>>,
}

#[derive(Default)]
struct State {
    entries: VecDeque<(CommittedEntry, Instant)>,
    bytes: usize,
    /// How many entries are being applied, and since when the oldest of them has waited.
    taken: Option<(usize, Instant)>,
    /// A snapshot to continue from; the entries that wait come after it.
    restore: Option<SnapshotImage>,
    /// Whether somebody needs a snapshot of this group.
    is_wanted: bool,
    waits_for: &'static str,
    last_error: Option<String>,
}

/// How the actor of a group is, for those who look after the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplyStatus {
    /// Entries that wait, those that are being applied included.
    pub queued: usize,
    /// Bytes of those that nobody has taken.
    pub queued_bytes: usize,
    /// For how long the oldest of them has waited.
    pub head_age: Duration,
    /// What it does, or waits for.
    pub waits_for: &'static str,
    /// What failed last, if anything did.
    pub last_error: Option<String>,
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
        let now = Instant::now();
        {
            let mut state = self.state.lock();
            state.bytes += entries.iter().map(|entry| entry.data.len()).sum::<usize>();
            state.entries.extend(entries.into_iter().map(|entry| (entry, now)));
        }
        self.wake();
    }
    /// Leaves a snapshot that the group has to continue from, and wakes the actor. The entries that wait are part of it.
    pub fn restore(&self, image: SnapshotImage) {
        {
            let mut state = self.state.lock();
            state.entries.clear();
            state.bytes = 0;
            state.restore = Some(image);
        }
        self.wake();
    }
    /// Takes the snapshot to continue from, if there is a new one.
    pub fn take_restore(&self) -> Option<SnapshotImage> {
        self.state.lock().restore.take()
    }
    /// Asks for a snapshot of the group.
    pub fn want_snapshot(&self) {
        self.state.lock().is_wanted = true;
        self.wake();
    }
    /// Whether a snapshot was asked for since the last call.
    pub fn take_wanted(&self) -> bool {
        std::mem::take(&mut self.state.lock().is_wanted)
    }
    /// Wakes the actor. A full mailbox means that a wake-up is waiting in it already.
    pub fn wake(&self) {
        if let Some(actor) = self.actor.get() {
            let _ = actor.try_send(Wake);
        }
    }
    /// Takes the oldest entries: at most `entries_max`, and no more after `bytes_max` are reached. They count as waiting until
    /// [`Self::says`] is told what the actor does next.
    pub fn take(&self, entries_max: usize, bytes_max: usize) -> Vec<CommittedEntry> {
        let mut state = self.state.lock();
        let (mut count, mut bytes) = (0, 0);
        while count < entries_max.min(state.entries.len()) && bytes < bytes_max {
            bytes += state.entries[count].0.data.len();
            count += 1;
        }
        state.bytes -= bytes;
        state.taken = state.entries.front().map(|(_, since)| (count, *since));
        if count > 0 {
            state.waits_for = "what it applies";
        }
        state.entries.drain(..count).map(|(entry, _)| entry).collect()
    }
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.state.lock().entries.is_empty()
    }
    /// Says what the actor waits for from now on, and what failed last.
    pub fn says(&self, waits_for: &'static str, error: Option<&str>) {
        let mut state = self.state.lock();
        (state.taken, state.waits_for) = (None, waits_for);
        if let Some(error) = error
            && state.last_error.as_deref() != Some(error)
        {
            state.last_error = Some(error.to_owned());
        }
    }
    /// How the actor is. It is not asked, so the answer comes while it waits for a disk, too.
    pub fn status(&self, now: Instant) -> ApplyStatus {
        let state = self.state.lock();
        let taken = state.taken.map(|(_, since)| since);
        let head = taken.or_else(|| state.entries.front().map(|(_, since)| *since));
        ApplyStatus {
            queued: state.entries.len() + state.taken.map_or(0, |(count, _)| count),
            queued_bytes: state.bytes,
            head_age: head.map_or(Duration::ZERO, |since| now.saturating_duration_since(since)),
            waits_for: state.waits_for,
            last_error: state.last_error.clone(),
        }
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
    #[test]
    fn it_says_how_old_its_head_is() {
        let entry = |index| CommittedEntry { index, term: 1, data: Bytes::from(vec![0; 10]) };
        let inbox = Inbox::shared();
        assert_eq!(inbox.status(Instant::now()).head_age, Duration::ZERO);
        inbox.push(vec![entry(1), entry(2)]);
        let later = Instant::now() + Duration::from_secs(5);
        let status = inbox.status(later);
        assert!(status.queued == 2 && status.head_age >= Duration::from_secs(5));
        inbox.take(1, 100);
        let status = inbox.status(later);
        assert_eq!((status.queued, status.queued_bytes), (2, 10), "what is being applied counts");
        inbox.take(1, 100);
        inbox.says("a snapshot", Some("log index 3: a panic"));
        let status = inbox.status(later);
        let expected = ApplyStatus {
            waits_for: "a snapshot",
            last_error: Some("log index 3: a panic".into()),
            ..ApplyStatus::default()
        };
        assert_eq!(status, expected);
    }
}
