//! What does the consensus of a node talk to: the state machines of its groups, and other members?

use crate::effects::{CommittedEntry, Leadership, SnapshotImage};
use crate::messages::PeerMessage;
use quorate_model::GroupId;

/// Receives what a group decides. Called on the consensus thread, which all groups share: it must not block, and
/// should only put things into queues.
pub trait CommitSink: Send {
    /// Committed entries, in log order, each exactly once per start. Entries without data belong to the consensus;
    /// they only advance the applied position.
    fn committed(&mut self, entries: Vec<CommittedEntry>);
    /// Role, term or leader changed. The first call comes before the first proposal can succeed.
    fn leadership(&mut self, leadership: Leadership);
    /// The state must be replaced by this snapshot, or by a later one whose index [`Status::durable`](crate::Status::durable) has reached; the next
    /// entries follow the snapshot. Report the state's index as applied when it is durable.
    fn restore(&mut self, image: SnapshotImage);
    /// A lagging member needs a snapshot: make one and call [`GroupHandle::offer_snapshot`](crate::GroupHandle::offer_snapshot).
    fn snapshot_wanted(&mut self);
    /// The group has stopped on this node until it is started again: what consensus has of it in memory cannot be used, or
    /// its log cannot be read. Nothing else is called after that.
    fn failed(&mut self, reason: &str);
}

/// Carries messages to other members. Must not block; what cannot be sent is dropped and reported as unreachable.
pub trait Outbox: Send + Sync {
    /// Sends messages of one group; each names its receiver.
    fn send(&self, group: GroupId, messages: Vec<PeerMessage>);
}

/// The outbox of a node without peers: drops everything.
#[derive(Clone, Copy, Debug)]
pub struct NoPeers;
impl Outbox for NoPeers {
    fn send(&self, _group: GroupId, _messages: Vec<PeerMessage>) {}
}
