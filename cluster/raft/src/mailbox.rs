//! What a group's actor can be told, and where the answers go.

use crate::effects::{BarrierError, Committed, Confirmed, Input, MembersError, ProposeError};
use crate::log::Report;
use actix::prelude::*;
use tokio::sync::oneshot;

/// Messages that may wait in a group's mailbox.
pub(crate) const MAILBOX: usize = 1_024;

/// An event without an answer.
pub(crate) struct Event(pub(crate) Input);

/// A report of the log.
pub(crate) struct FromLog(pub(crate) Report);

/// An event that is answered; the actor fills in the id.
pub(crate) struct Request {
    pub(crate) input: Input,
    pub(crate) reply: Reply,
}

/// Asks the actor to look at the positions in the status cell.
pub(crate) struct Look;

/// Stops the group.
pub(crate) struct Shutdown;

impl Message for Event {
    type Result = ();
}
impl Message for FromLog {
    type Result = ();
}
impl Message for Request {
    type Result = ();
}
impl Message for Look {
    type Result = ();
}
impl Message for Shutdown {
    type Result = ();
}

/// Where an answer goes.
pub(crate) enum Reply {
    Proposal(oneshot::Sender<Result<Committed, ProposeError>>),
    Barrier(oneshot::Sender<Result<u64, BarrierError>>),
    Confirmation(oneshot::Sender<Result<Confirmed, BarrierError>>),
    Members(oneshot::Sender<Result<u64, MembersError>>),
}
