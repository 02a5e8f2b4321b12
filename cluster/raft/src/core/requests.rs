//! Proposals and reads that wait, and how each of them gets exactly one answer.
//!
//! A leader is confirmed in rounds: it sends heartbeats with a context, and whoever answers with that context says that it has
//! not followed another leader when the round began. The library tells rounds apart by the context alone, and whatever
//! began before a confirmed round is confirmed with it. So no two rounds of a leader may have the same context: a question
//! that is asked again, or arrives twice, would be confirmed by late answers to its first round, and all that came
//! between with it, although another member leads by now. Each round begins with a number of its own ([`Core::ask`],
//! [`Core::name_round`]).

use super::waiting::{Barrier, Confirms, Waiter};
use super::{BARRIERS_MAX, Core, LogReader};
use crate::effects::{BarrierError, Committed, Confirmed, Effect, ProposeError, RequestId};
use bytes::Bytes;
use raft::StateRole;
use raft::eraftpb::{Entry, Message, MessageType};

/// Ticks after which an unanswered read barrier is asked for again: the library drops it without a word when the
/// leader has not committed in its term or a heartbeat is lost.
const BARRIER_RETRY_TICKS: u64 = 3;

/// Bytes that the number of a round takes.
const ROUND_BYTES: usize = 8;

impl<R: LogReader> Core<R> {
    pub(super) fn leader(&self) -> Option<u64> {
        Some(self.node.raft.leader_id).filter(|&id| id != 0)
    }
    pub(super) fn deadline(&self, within_ticks: u64) -> u64 {
        // One more, because the current tick is partly over.
        self.ticks + within_ticks + 1
    }

    pub(super) fn propose(&mut self, id: RequestId, data: Vec<Bytes>, within_ticks: u64) {
        if let Some(reason) = self.stalled.clone() {
            return self.answer(id, Err(ProposeError::Unavailable { reason }));
        }
        if self.node.raft.state != StateRole::Leader {
            let leader = self.leader();
            return self.answer(id, Err(ProposeError::NotLeader { leader }));
        }
        if data.is_empty() {
            return self.answer(id, Err(ProposeError::Dropped));
        }
        if self.is_full_of_writes() {
            return self.answer(id, Err(ProposeError::Full));
        }
        let first = self.node.raft.raft_log.last_index() + 1;
        let committed = Committed { first, last: first + data.len() as u64 - 1, term: self.node.raft.term };
        let mut message = Message::default();
        message.msg_type = MessageType::MsgPropose;
        message.from = self.self_id;
        message.entries = data.into_iter().map(normal_entry).collect::<Vec<_>>().into();
        // Refused while leadership is being transferred, or when this member has left the group.
        if self.node.raft.step(message).is_err() {
            return self.answer(id, Err(ProposeError::Dropped));
        }
        debug_assert_eq!(self.node.raft.raft_log.last_index(), committed.last);
        let deadline = self.deadline(within_ticks);
        self.waiters.insert((committed.last, id), Waiter { committed, deadline });
    }

    fn answer(&mut self, id: RequestId, result: Result<Committed, ProposeError>) {
        self.effects.push(Effect::Proposed(id, result));
    }

    /// Answers the proposals that end at a committed entry: it is theirs if the term is the same, else another's.
    pub(super) fn answer_committed(&mut self, entry: &Entry) {
        while let Some(waiting) = self.waiters.first_entry()
            && waiting.key().0 <= entry.index
        {
            let ((last, id), waiter) = waiting.remove_entry();
            debug_assert_eq!(last, entry.index, "every index is handed");
            let is_ours = entry.term == waiter.committed.term;
            self.answer(id, if is_ours { Ok(waiter.committed) } else { Err(ProposeError::Dropped) });
        }
    }

    /// A snapshot took the place of entries that were waited for: whether they are in it is not known.
    pub(super) fn snapshot_skipped(&mut self, through: u64) {
        while let Some(waiting) = self.waiters.first_entry()
            && waiting.key().0 <= through
        {
            let ((_, id), _) = waiting.remove_entry();
            self.answer(id, Err(ProposeError::Timeout));
        }
    }

    pub(super) fn fail_waiters(&mut self, error: &ProposeError) {
        for ((_, id), _) in std::mem::take(&mut self.waiters) {
            self.answer(id, Err(error.clone()));
        }
    }

    pub(super) fn read_barrier(&mut self, id: RequestId, within_ticks: u64) {
        self.begin_barrier(id, within_ticks, Confirms::Read);
    }

    pub(super) fn confirm_leader(&mut self, id: RequestId, within_ticks: u64) {
        if self.node.raft.state != StateRole::Leader {
            let error = BarrierError::NotLeader { leader: self.leader() };
            self.effects.push(Effect::LeaderConfirmed(id, Err(error)));
            return;
        }
        self.begin_barrier(id, within_ticks, Confirms::Term(self.node.raft.term));
    }

    fn begin_barrier(&mut self, id: RequestId, within_ticks: u64, confirms: Confirms) {
        let barrier = Barrier { deadline: self.deadline(within_ticks), asked: self.ticks, confirms };
        if self.barriers.len() >= BARRIERS_MAX {
            return self.answer_barrier(id, &barrier, Err(BarrierError::Full));
        }
        self.barriers.insert(id, barrier);
        self.ask(id);
    }

    /// Begins a round for a read of this member, here or on the leader.
    fn ask(&mut self, id: RequestId) {
        let context = [self.next_round(), id.to_be_bytes()].concat();
        self.node.read_index(context);
    }

    /// A number that no other round has which this member begins: it leads a term in one life only.
    fn next_round(&mut self) -> [u8; ROUND_BYTES] {
        self.rounds += 1;
        self.rounds.to_be_bytes()
    }

    /// Gives a question of another member a round of its own if this member leads, whatever the other one calls it. Returns
    /// whether it is a question.
    pub(super) fn name_round(&mut self, question: &mut Message) -> bool {
        if self.node.raft.state != StateRole::Leader {
            return question.entries.len() == 1;
        }
        let round = self.next_round();
        let Some(entry) = question.entries.first_mut() else { return false };
        entry.data = [round.as_slice(), &entry.data].concat().into();
        true
    }

    pub(super) fn barrier_found(&mut self, context: &[u8], index: u64) {
        let Some(id) = context.last_chunk().copied().map(RequestId::from_be_bytes) else { return };
        if let Some(barrier) = self.barriers.remove(&id) {
            self.answer_barrier(id, &barrier, Ok(index));
        }
    }

    pub(super) fn answer_barrier(
        &mut self,
        id: RequestId,
        barrier: &Barrier,
        result: Result<u64, BarrierError>,
    ) {
        self.effects.push(match barrier.confirms {
            Confirms::Read => Effect::Barrier(id, result),
            // As a follower this member would be given an index by its successor.
            Confirms::Term(term) if result.is_ok() && self.leads_in() != Some(term) => {
                Effect::LeaderConfirmed(id, Err(BarrierError::NotLeader { leader: self.leader() }))
            }
            Confirms::Term(term) => {
                Effect::LeaderConfirmed(id, result.map(|log_index| Confirmed { term, log_index }))
            }
        });
    }

    /// Fails the questions for confirmation of a leadership that is over.
    pub(super) fn fail_confirmations(&mut self) {
        let leads_in = self.leads_in();
        let is_over = |barrier: &Barrier| match barrier.confirms {
            Confirms::Read => false,
            Confirms::Term(term) => leads_in != Some(term),
        };
        let over: Vec<_> = self.barriers.extract_if(.., |_, barrier| is_over(barrier)).collect();
        for (id, barrier) in over {
            self.answer_barrier(id, &barrier, Err(BarrierError::NotLeader { leader: self.leader() }));
        }
    }

    fn leads_in(&self) -> Option<u64> {
        (self.node.raft.state == StateRole::Leader).then_some(self.node.raft.term)
    }

    /// Fails what is past its deadline and asks again for reads without an answer.
    pub(super) fn expire_requests(&mut self) {
        let now = self.ticks;
        let late: Vec<_> = self.waiters.extract_if(.., |_, waiter| waiter.deadline <= now).collect();
        for ((_, id), _) in late {
            self.answer(id, Err(ProposeError::Timeout));
        }
        let late: Vec<_> = self.barriers.extract_if(.., |_, barrier| barrier.deadline <= now).collect();
        for (id, barrier) in late {
            self.answer_barrier(id, &barrier, Err(BarrierError::Timeout));
        }
        self.ask_again(BARRIER_RETRY_TICKS);
    }

    /// Asks again for the reads that have waited for so long.
    fn ask_again(&mut self, waited_ticks: u64) {
        let now = self.ticks;
        let mut again = vec![];
        for (id, barrier) in &mut self.barriers {
            if now >= barrier.asked + waited_ticks {
                barrier.asked = now;
                again.push(*id);
            }
        }
        again.into_iter().for_each(|id| self.ask(id));
    }

    /// A leader has become known: reads that were asked for when there was none have gone nowhere, and those that another one was
    /// asked for may never be answered.
    pub(super) fn ask_new_leader(&mut self) {
        if self.leader().is_some() && !self.barriers.is_empty() {
            self.ask_again(0);
            self.pump();
        }
    }

    /// A leader has nothing to confirm before the first entry of its own term is committed; reads that were asked for
    /// before that are asked for at once when it is.
    pub(super) fn confirms_from(&mut self, entry: &Entry) {
        let is_own = self.node.raft.state == StateRole::Leader && entry.term == self.node.raft.term;
        if is_own && self.confirms_in != entry.term {
            self.confirms_in = entry.term;
            self.ask_again(0);
        }
    }
}

/// Takes the number of the round off an answer to another member, which knows its question by what it said itself.
pub(super) fn without_round(mut message: Message) -> Message {
    if message.msg_type == MessageType::MsgReadIndexResp {
        for entry in message.entries.iter_mut() {
            entry.data = entry.data.slice(ROUND_BYTES.min(entry.data.len())..);
        }
    }
    message
}

fn normal_entry(data: Bytes) -> Entry {
    let mut entry = Entry::default();
    entry.data = data;
    entry
}
