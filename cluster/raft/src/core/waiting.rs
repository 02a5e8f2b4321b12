//! What waits in a member of a group: for writes, for a majority, for the leader to be confirmed.

use crate::effects::{Committed, RequestId};
use raft::eraftpb::{Message, Snapshot};

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
