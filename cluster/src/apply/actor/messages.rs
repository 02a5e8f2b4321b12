//! What the actor of a group can be told.

use actix::Message;
use quorate_model::NodeId;
use quorate_node::ops::Incarnation;
use quorate_store::incoming::Incoming;
use std::time::Duration;
use tokio::sync::oneshot;

/// There may be entries in the inbox.
pub struct Wake;
impl Message for Wake {
    type Result = ();
}

/// Asks for the incarnations that hold files in the group.
pub struct Incarnations;
impl Message for Incarnations {
    type Result = Vec<Incarnation>;
}

/// Applies what is in the inbox, makes everything durable and closes the group's files.
pub struct Close;
impl Message for Close {
    type Result = ();
}

/// A snapshot has arrived for the group, complete and durable.
pub(super) struct Arrived {
    /// Where it is.
    pub incoming: Incoming,
    /// The fetch that brought it.
    pub fetch: u64,
}
impl Message for Arrived {
    type Result = ();
}

/// Takes the state of the group anew from another member: what is here is damaged, or not what the majority has.
pub struct Anew {
    /// Those that may have the right one.
    pub from: Vec<NodeId>,
    /// How long the entries of the group wait for it.
    pub within: Duration,
    /// Told when it is in place; let go of when it does not come: what is here counts for nothing then.
    pub done: oneshot::Sender<()>,
}
impl Message for Anew {
    type Result = ();
}

/// Whether what is here counts as the state of the group: not while somebody else is known to hold a better one.
pub struct Count(pub bool);
impl Message for Count {
    type Result = ();
}

/// Removes what this node has of the group and ends: it has left the group.
pub struct Leave;
impl Message for Leave {
    type Result = ();
}

/// Ends without making anything durable: the group is opened anew from what is, as after a crash.
pub struct LetGo;
impl Message for LetGo {
    type Result = ();
}
