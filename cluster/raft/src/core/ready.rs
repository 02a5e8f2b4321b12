//! How what the library has ready becomes writes, messages and committed entries, each in its turn.

use super::requests::without_round;
use super::waiting::{InFlight, WRITES_IN_FLIGHT};
use super::{COMMITTED_BYTES, Core, LogReader, Unapplied, copies, lagging};
use crate::effects::{CommittedEntry, Effect, Persist, SnapshotChange, SnapshotImage};
use crate::group_log::entry_bytes;
use crate::messages::PeerMessage;
use raft::Ready;
use raft::eraftpb::{Entry, EntryType, Message, Snapshot};

/// Bytes handed to the state machine and not applied before delivery pauses; the rest is read from the log later.
const DELIVERED_BYTES_MAX: u64 = 64 << 20;
/// Bytes of entries kept in memory for a state machine that does not take them: it may wait for a snapshot for minutes.
const WINDOW_BYTES_MAX: u64 = 2 * DELIVERED_BYTES_MAX;

impl<R: LogReader> Core<R> {
    /// Handles everything the library has ready.
    pub(super) fn pump(&mut self) {
        while self.node.has_ready() {
            // Messages are never held back: a slow disk must not silence a leader's heartbeats.
            if self.writes_in_flight() >= WRITES_IN_FLIGHT && self.node.raft.msgs.is_empty() {
                break;
            }
            let ready = self.node.ready();
            self.handle_ready(ready);
        }
    }

    fn handle_ready(&mut self, mut ready: Ready) {
        // A leader's messages need not wait for its own writes: it asked for votes with a durable term. One that needs no
        // votes but its own did not, and a learner that heard of its term could hear of another history under it later.
        let (held, at_once): (Vec<_>, Vec<_>) =
            ready.take_messages().into_iter().partition(|message| message.term > self.durable_term);
        self.send(at_once);
        for state in ready.take_read_states() {
            self.barrier_found(&state.request_ctx, state.index);
        }
        let snapshot = Some(ready.snapshot().clone()).filter(|s| !s.is_empty());
        if let Some(snapshot) = &snapshot {
            self.node.mut_store().install(snapshot);
        }
        let entries = ready.take_entries();
        self.node.mut_store().append(&entries);
        if let Some(hard_state) = ready.hs() {
            self.node.mut_store().set_hard_state(hard_state.clone());
            self.hard_state_unsaved = true;
        }
        let waits = InFlight {
            number: Some(ready.number()),
            messages: held.into_iter().chain(ready.take_persisted_messages()).collect(),
            snapshot: snapshot.clone(),
            ..InFlight::default()
        };
        if ready.must_sync() {
            let mut persist = self.next_persist();
            persist.entries = entries;
            if let Some(snapshot) = snapshot {
                persist.snapshot = SnapshotChange::Install(Box::new(snapshot));
            }
            self.push_persist(persist, waits);
        } else {
            // A new commit index alone is not worth a write; it goes with the next one.
            self.push_round(waits);
        }
        let committed = ready.take_committed_entries();
        self.node.advance_append_async(ready);
        self.to_hand.extend(committed);
        self.hand();
        self.release();
    }

    /// Hands a write out; `waits` happens when it is durable.
    pub(super) fn push_persist(&mut self, mut persist: Persist, mut waits: InFlight) {
        if std::mem::take(&mut self.hard_state_unsaved) {
            let hard_state = self.node.store().hard_state().clone();
            waits.term = hard_state.term;
            persist.hard_state = Some(hard_state);
        }
        (waits.seq, waits.bytes) = (persist.seq, persist.bytes());
        self.in_flight.push_back(waits);
        self.effects.push(Effect::Persist(persist));
    }

    pub(super) fn persisted(&mut self, seq: u64) {
        for waits in self.in_flight.iter_mut().filter(|f| f.seq <= seq) {
            waits.seq = 0;
        }
        if let Some((_, commit)) = self.commit_saved_by.take_if(|(by, _)| *by <= seq) {
            self.durable_commit = commit;
            self.hand();
        }
        if self.delivery_after.is_some_and(|after| after <= seq) {
            self.delivery_after = None;
        }
        self.release();
    }

    /// Does what no longer waits for a write, in order.
    fn release(&mut self) {
        while self.in_flight.front().is_some_and(|f| f.seq == 0) {
            let Some(InFlight { number, messages, term, snapshot, .. }) = self.in_flight.pop_front() else {
                break;
            };
            self.durable_term = self.durable_term.max(term);
            if let Some(number) = number {
                self.node.on_persist_ready(number);
            }
            // before the message that confirms it: from now on this member says that it has no state
            if let Some(snapshot) = snapshot {
                self.give_snapshot(snapshot);
            }
            self.send(messages);
        }
    }

    fn send(&mut self, messages: Vec<Message>) {
        messages.iter().for_each(|message| self.told.note(message));
        let copy = self.copy();
        let needed = self.needed();
        let say = |message| lagging::say(needed, copies::say(copy, message));
        let messages = messages.into_iter().map(|message| say(without_round(message)));
        let messages: Vec<_> = messages.filter_map(PeerMessage::from_raft).collect();
        if !messages.is_empty() {
            self.effects.push(Effect::Send(messages));
        }
    }

    /// Takes committed entries through the consensus part: members change, waiting proposals are answered.
    ///
    /// A change of members takes effect only when it is durable here that it is committed. Otherwise a leader could act
    /// under the new configuration, lose that in a crash, and win the next election under the old one.
    pub(super) fn hand(&mut self) {
        while let Some(entry) = self.to_hand.front() {
            match entry.entry_type {
                EntryType::EntryNormal => {}
                EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => {
                    if entry.index > self.durable_commit {
                        return self.save_commit();
                    }
                    let entry = entry.clone();
                    self.hand_change(&entry);
                }
            }
            let Some(entry) = self.to_hand.pop_front() else { return };
            self.handed = entry.index;
            self.node.advance_apply_to(entry.index);
            self.answer_committed(&entry);
            self.confirms_from(&entry);
        }
    }

    /// Makes the commit index durable; handing goes on after that.
    fn save_commit(&mut self) {
        if self.commit_saved_by.is_none() {
            let commit = self.node.raft.raft_log.committed;
            let persist = self.next_persist();
            self.commit_saved_by = Some((persist.seq, commit));
            let mut hard_state = self.node.store().hard_state().clone();
            hard_state.commit = hard_state.commit.max(commit);
            self.node.mut_store().set_hard_state(hard_state);
            self.hard_state_unsaved = true;
            self.push_persist(persist, InFlight::default());
        }
    }

    /// Gives handed entries to the state machine as far as it keeps up.
    pub(super) fn deliver(&mut self) {
        while self.delivered < self.handed
            && self.delivery_after.is_none()
            && self.restoring.is_none()
            && self.unapplied_bytes < DELIVERED_BYTES_MAX
        {
            // Errors are kept by the store and end the process in `settle`.
            let read = self.node.store().read(self.delivered + 1, self.handed + 1, COMMITTED_BYTES);
            let Ok(entries) = read else { return };
            let Some(last) = entries.last().map(|e| e.index) else { return };
            let bytes = entries.iter().map(entry_bytes).sum();
            self.delivered = last;
            self.unapplied.push_back(Unapplied { last, bytes, since: self.ticks });
            self.unapplied_bytes += bytes;
            self.effects.push(Effect::Apply(entries.into_iter().map(committed_entry).collect()));
        }
        let durable = self.node.raft.raft_log.persisted;
        self.node.mut_store().trim_window(durable.min(self.delivered));
        self.node.mut_store().bound_window(durable, WINDOW_BYTES_MAX);
    }

    pub(super) fn applied(&mut self, index: u64) {
        self.applied = self.applied.max(index.min(self.delivered));
        while let Some(&Unapplied { last, bytes, since: _ }) = self.unapplied.front()
            && last <= self.applied
        {
            self.unapplied.pop_front();
            self.unapplied_bytes -= bytes;
        }
        if self.restoring.is_some_and(|restoring| restoring <= self.applied) {
            self.restoring = None;
            self.snapshot_done();
        }
    }
    /// Notes that the state machine has a snapshot durably, perhaps since an earlier process that had no time to say so.
    pub(super) fn snapshot_done(&mut self) {
        let mut persist = self.next_persist();
        persist.snapshot = SnapshotChange::Done;
        self.push_persist(persist, InFlight::default());
    }

    /// Whether a snapshot is on its way to the disk. The library panics when an election becomes due meanwhile: it
    /// looks for unapplied entries that the snapshot has replaced. So time and messages stand still for it.
    pub(super) fn is_installing(&self) -> bool {
        self.in_flight.iter().any(|waits| waits.snapshot.is_some())
    }

    /// Gives a durable snapshot to the state machine.
    pub(super) fn give_snapshot(&mut self, snapshot: Snapshot) {
        let index = snapshot.get_metadata().index;
        self.handed = self.handed.max(index);
        self.delivered = index;
        self.to_hand.clear();
        self.durable_commit = self.durable_commit.max(index);
        self.unapplied.clear();
        self.unapplied_bytes = 0;
        self.restoring = Some(index);
        // Entries of a change that came before the snapshot are part of it.
        self.delivery_after = None;
        self.node.advance_apply_to(self.handed);
        self.snapshot_skipped(index);
        self.effects.push(Effect::Restore(SnapshotImage { index, data: snapshot.data }));
    }
}

fn committed_entry(entry: Entry) -> CommittedEntry {
    let data = match entry.entry_type {
        EntryType::EntryNormal => entry.data,
        EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => bytes::Bytes::new(),
    };
    CommittedEntry { index: entry.index, term: entry.term, data }
}
