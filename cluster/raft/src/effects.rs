//! What goes into a group's core and what comes out of it.

use crate::messages::PeerMessage;
use bytes::Bytes;
use quorate_model::GroupId;
use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};

/// Identifies a request to the core until it is answered.
pub type RequestId = u64;

/// What can happen to a group.
#[derive(Debug)]
pub enum Input {
    /// Append these payloads in this order, with consecutive indices, all or none.
    Propose {
        /// Comes back in [`Effect::Proposed`].
        id: RequestId,
        /// At least one payload.
        data: Vec<Bytes>,
        /// Ticks until the answer is `Timeout`.
        within_ticks: u64,
    },
    /// A message of another member.
    Step(Box<raft::eraftpb::Message>),
    /// One tick of time has passed.
    Tick,
    /// Everything up to this [`Persist::seq`] is durable.
    Persisted(u64),
    /// The log cannot be written for this reason; `None`: it can again.
    Stalled(Option<String>),
    /// The state machine has applied everything up to this index.
    Applied(u64),
    /// The state machine takes the state that it has anew: this member has no whole one until [`Input::Trust`].
    Distrust,
    /// The state machine stands by the state that it has.
    Trust,
    /// Change the members.
    ChangeMembers {
        /// Comes back in [`Effect::MembersChanged`].
        id: RequestId,
        /// One change is made at once, several by way of a joint configuration.
        changes: Vec<MemberChange>,
        /// Travels with the change, for example addresses.
        context: Bytes,
        /// Ticks until the answer is `Timeout`.
        within_ticks: u64,
    },
    /// Hand leadership over to this member.
    TransferLeader(u64),
    /// A message to this member could not be delivered.
    Unreachable(u64),
    /// A snapshot sent to this member arrived or did not.
    SnapshotSent {
        /// The member.
        to: u64,
        /// The outcome.
        outcome: Delivery,
    },
    /// A snapshot that may be sent to lagging members, as of an applied index.
    OfferSnapshot(SnapshotImage),
    /// The log up to this index is no longer needed here.
    Compact(u64),
    /// The time is up that [`Effect::TellLater`] asked for.
    TellCommit,
    /// Ask which index a read must wait for to be linearizable.
    ReadBarrier {
        /// Comes back in [`Effect::Barrier`].
        id: RequestId,
        /// Ticks until the answer is `Timeout`.
        within_ticks: u64,
    },
    /// Have a majority confirm that this member leads now. Unlike a read barrier it is not passed on to another leader.
    ConfirmLeader {
        /// Comes back in [`Effect::LeaderConfirmed`].
        id: RequestId,
        /// Ticks until the answer is `Timeout`.
        within_ticks: u64,
    },
    /// Start an election now.
    Campaign,
}

/// Whether something sent has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It did.
    Arrived,
    /// It did not.
    Failed,
}

/// What the caller of the core must do, in this order.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "the largest variant is the most frequent one, and is moved once"
)]
pub enum Effect {
    /// Make this durable, then report [`Input::Persisted`]. Requests of one group are written in order.
    Persist(Persist),
    /// Send these to other members.
    Send(Vec<PeerMessage>),
    /// Report [`Input::TellCommit`] after [`crate::core::TELL_AFTER_MS`].
    TellLater,
    /// Hand these to the state machine, in order.
    Apply(Vec<CommittedEntry>),
    /// Replace the state machine's state by this snapshot.
    Restore(SnapshotImage),
    /// A snapshot is needed for a lagging member; answer with [`Input::OfferSnapshot`].
    SnapshotWanted,
    /// The answer to a proposal.
    Proposed(RequestId, Result<Committed, ProposeError>),
    /// The answer to a read barrier.
    Barrier(RequestId, Result<u64, BarrierError>),
    /// The answer to a question for confirmation.
    LeaderConfirmed(RequestId, Result<Confirmed, BarrierError>),
    /// The answer to a change of members.
    MembersChanged(RequestId, Result<u64, MembersError>),
    /// Role, term or leader changed.
    Leadership(Leadership),
    /// The group cannot go on; the process must stop.
    Fatal(String),
}

/// A place in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Log index.
    pub index: u64,
    /// Term of the entry there.
    pub term: u64,
}

/// What one write to the log of one group contains; it becomes durable as a whole or not at all, but for what it cuts off, which is
/// applied and may go before while the disk is full.
#[derive(Clone, Debug)]
pub struct Persist {
    /// The group.
    pub group: GroupId,
    /// Rises by one with each request of the group.
    pub seq: u64,
    /// Term, vote and commit.
    pub hard_state: Option<HardState>,
    /// To append; replaces everything from the first one's index on.
    pub entries: Vec<Entry>,
    /// The members as of an index.
    pub conf: Option<(u64, ConfState)>,
    /// Everything up to here is cut off.
    pub truncated: Option<Position>,
    /// What happens to the stored snapshot.
    pub snapshot: SnapshotChange,
    /// The member this log belongs to, once at the beginning.
    pub identity: Option<u64>,
}

impl Persist {
    /// A write that changes nothing yet.
    pub fn new(group: GroupId, seq: u64) -> Self {
        Persist {
            group,
            seq,
            hard_state: None,
            entries: vec![],
            conf: None,
            truncated: None,
            snapshot: SnapshotChange::Keep,
            identity: None,
        }
    }
    /// Bytes of the payloads, for bounds and metrics.
    pub fn bytes(&self) -> usize {
        self.entries.iter().map(persisted_bytes).sum()
    }
}

/// What an entry counts of [`Persist::bytes`].
pub(crate) fn persisted_bytes(entry: &Entry) -> usize {
    entry.data.len() + entry.context.len() + 16
}

/// What a write does to the stored snapshot.
#[derive(Clone, Debug, Default)]
pub enum SnapshotChange {
    /// Nothing.
    #[default]
    Keep,
    /// Replaces the whole log by this snapshot.
    Install(Box<Snapshot>),
    /// The state machine holds it; its data may go.
    Done,
    /// The member has left the group, with a log that ended here: everything but identity, term and vote goes.
    Leave(Position),
}

/// A committed entry as the state machine sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedEntry {
    /// Its place in the log.
    pub index: u64,
    /// The term it was proposed in.
    pub term: u64,
    /// The payload; empty for entries of the consensus itself, which only advance the applied position.
    pub data: Bytes,
}

/// The state of a state machine at an index, or a description of where to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotImage {
    /// The last index it contains.
    pub index: u64,
    /// Opaque; small, since it travels in one message.
    pub data: Bytes,
}

/// Where the payloads of a proposal are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Index of the first payload.
    pub first: u64,
    /// Index of the last payload.
    pub last: u64,
    /// Their term.
    pub term: u64,
}

/// That a majority confirmed a leader, some time after it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirmed {
    /// The term it leads in.
    pub term: u64,
    /// Everything that was committed before the question was asked lies within this index, the first entry of the term too.
    pub log_index: u64,
}

/// Why a proposal was not, or not surely, committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// This member does not lead the group; nothing was appended.
    #[error("not the leader")]
    NotLeader {
        /// Who does, when known.
        leader: Option<u64>,
    },
    /// Too many bytes wait already; nothing was appended.
    #[error("too many writes are waiting")]
    Full,
    /// It was not committed and never will be.
    #[error("the proposal was dropped")]
    Dropped,
    /// No decision within the deadline; it may still be committed.
    #[error("not committed within the deadline; the outcome is not known")]
    Timeout,
    /// The log cannot be written at present; a proposal that was appended before may still be committed.
    #[error("the log cannot be written: {reason}")]
    Unavailable {
        /// What the disk said.
        reason: String,
    },
    /// The group has stopped; the outcome is not known.
    #[error("the group has stopped")]
    Stopped,
}

impl ProposeError {
    /// Whether the proposal can still be committed after this answer.
    pub fn outcome_is_unknown(&self) -> bool {
        match self {
            ProposeError::NotLeader { .. } | ProposeError::Full | ProposeError::Dropped => false,
            ProposeError::Timeout | ProposeError::Unavailable { .. } | ProposeError::Stopped => true,
        }
    }
}

/// Why a read barrier was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BarrierError {
    /// This member does not lead; only where its own leadership was to be confirmed.
    #[error("not the leader")]
    NotLeader {
        /// Who does, when known.
        leader: Option<u64>,
    },
    /// No majority confirmed the leader in time.
    #[error("no leader confirmed the read within the deadline")]
    Timeout,
    /// Too many requests wait.
    #[error("too many reads are waiting")]
    Full,
    /// The group has stopped.
    #[error("the group has stopped")]
    Stopped,
}

/// One change of the members of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberChange {
    /// Adds a voter, or promotes a learner.
    AddVoter(u64),
    /// Adds a learner, or demotes a voter.
    AddLearner(u64),
    /// Removes a member.
    Remove(u64),
}

/// Why the members were not, or not surely, changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MembersError {
    /// This member does not lead the group.
    #[error("not the leader")]
    NotLeader {
        /// Who does, when known.
        leader: Option<u64>,
    },
    /// Another change is under way; try again when it is done.
    #[error("another change of members is under way")]
    Busy,
    /// It was not committed, or the configuration does not allow it.
    #[error("the change was refused: {0}")]
    Refused(String),
    /// No decision within the deadline; look at the members.
    #[error("no decision within the deadline")]
    Timeout,
    /// The group has stopped.
    #[error("the group has stopped")]
    Stopped,
}

/// What a member is in its group at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Follows a leader, or waits for one.
    Follower,
    /// Asks for votes, or for the right to ask.
    Candidate,
    /// Leads.
    Leader,
}

/// Who leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// This member's part.
    pub role: Role,
    /// The term.
    pub term: u64,
    /// The leader, when known.
    pub leader: Option<u64>,
}
