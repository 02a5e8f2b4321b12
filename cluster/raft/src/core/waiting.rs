//! What waits in a member of a group: for writes, for a majority, for the leader to be confirmed. And how much of it may.

use super::{Core, LogReader};
use crate::effects::{Committed, RequestId};
use raft::eraftpb::{Message, MessageType, Snapshot};

/// Writes under way before further entries wait in memory, so that one write takes many of them.
pub(super) const WRITES_IN_FLIGHT: usize = 4;
/// Writes under way at most: proposals are refused then, and what others say that would be written counts as lost on its way.
const WRITES_MAX: usize = 4_096;
/// Bytes of writes under way before entries of a leader count as lost on their way. Those of proposals are bounded by
/// [`PROPOSAL_BYTES_MAX`](quorate_model::limits::PROPOSAL_BYTES_MAX).
const WRITTEN_BYTES_MAX: usize = 128 << 20;
/// Writes under way, and bytes of them, before entries of a leader count as lost while the log cannot be written.
const STALLED_WRITES_MAX: usize = 64;
const STALLED_BYTES_MAX: usize = 16 << 20;
/// What waits in order before rounds without a write wait together with the last of it.
const ROUNDS_MAX: usize = 64;
/// Messages that are held back before those of such rounds are lost, as on their way.
const HELD_MESSAGES_MAX: usize = 256;

/// Something that waits for writes: everything in it happens when all writes up to `seq` are durable.
#[derive(Default)]
pub(super) struct InFlight {
    /// The write; 0: none, only the order counts.
    pub(super) seq: u64,
    /// The library's number of the round.
    pub(super) number: Option<u64>,
    /// May leave only now: they promise what was written.
    pub(super) messages: Vec<Message>,
    /// The term that is durable then.
    pub(super) term: u64,
    pub(super) snapshot: Option<Snapshot>,
    /// Bytes that are written.
    pub(super) bytes: usize,
}

impl InFlight {
    /// Takes in what happens next and waits for no write of its own, with as many messages as there is room for.
    fn join(&mut self, next: InFlight, room: usize) {
        self.number = next.number.or(self.number);
        self.messages.extend(next.messages.into_iter().take(room));
    }
}

/// The bounds. A disk that is slow or full keeps a member from nothing but writing: time goes on, and the others talk to it.
impl<R: LogReader> Core<R> {
    /// Lets a round wait that writes nothing. However long the disk takes, there are not many more of these than writes.
    pub(super) fn push_round(&mut self, round: InFlight) {
        let is_joined = self.in_flight.len() >= ROUNDS_MAX;
        let held: usize = match is_joined {
            true => self.in_flight.iter().map(|waits| waits.messages.len()).sum(),
            false => 0,
        };
        match self.in_flight.back_mut() {
            Some(last) if is_joined && last.snapshot.is_none() => {
                last.join(round, HELD_MESSAGES_MAX.saturating_sub(held));
            }
            Some(_) | None => self.in_flight.push_back(round),
        }
    }
    /// How many writes are under way.
    pub(super) fn writes_in_flight(&self) -> usize {
        self.in_flight.iter().filter(|waits| waits.seq != 0).count()
    }
    /// Whether too many are for a proposal.
    pub(super) fn is_full_of_writes(&self) -> bool {
        self.in_flight.len() >= WRITES_MAX
    }
    /// Whether a message would add to what waits for the disk beyond its bounds. It counts as lost on its way: whoever sent it says it
    /// again. While the log cannot be written, entries of a leader would only wait in memory.
    pub(super) fn is_too_much(&self, message: &Message) -> bool {
        let is_new_term = message.term > self.node.raft.term;
        let has_entries = message.msg_type == MessageType::MsgAppend && !message.entries.is_empty();
        if !is_new_term && !has_entries || self.in_flight.is_empty() {
            return false;
        }
        let bytes = || self.in_flight.iter().map(|waits| waits.bytes).sum::<usize>();
        let (writes_max, bytes_max) = match self.stalled {
            Some(_) => (STALLED_WRITES_MAX, STALLED_BYTES_MAX),
            None => (WRITES_MAX, WRITTEN_BYTES_MAX),
        };
        self.is_full_of_writes()
            || has_entries && (self.writes_in_flight() >= writes_max || bytes() >= bytes_max)
    }
}

/// A proposal in the log that is not committed yet.
pub(super) struct Waiter {
    pub(super) committed: Committed,
    pub(super) deadline: u64,
}

/// A read that waits for the leader to be confirmed.
pub(super) struct Barrier {
    pub(super) deadline: u64,
    pub(super) asked: u64,
    pub(super) confirms: Confirms,
}

/// What a read barrier is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Confirms {
    /// A read; any leader will do.
    Read,
    /// That this member leads in this term.
    Term(u64),
}

/// A change of members that was proposed here and is not through yet.
pub(super) struct PendingChange {
    pub(super) id: RequestId,
    pub(super) log_index: u64,
    pub(super) term: u64,
    pub(super) deadline: u64,
}
