//! What the dialler needs of the two kinds of queues to a peer.

use super::connection::{Sink, Source};
use super::types::{Lane, LaneStatus, PeerError, PeerVersion};

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// No address is known.
    #[error("no address is known")]
    NoAddress,
    /// Nobody answers, or the network fails.
    #[error("{0}")]
    Unreachable(String),
    /// One of the two does not want to talk to the other.
    #[error("{0}")]
    Refused(String),
    /// The address is this node's own.
    #[error("{}", super::hello::ITSELF)]
    Itself,
    /// The transport stops.
    #[error("the connections of this node have been closed")]
    Stopped,
}

impl From<&LinkError> for PeerError {
    fn from(error: &LinkError) -> Self {
        match error {
            LinkError::NoAddress => PeerError::Unknown,
            LinkError::Unreachable(_) => PeerError::Unreachable,
            LinkError::Refused(text) => PeerError::Refused(text.clone()),
            LinkError::Itself => PeerError::Itself,
            LinkError::Stopped => PeerError::Stopped,
        }
    }
}

/// A queue of what goes to one peer on one lane, whether or not there is a connection.
pub trait Link: Source {
    /// Which lane.
    fn lane(&self) -> Lane;
    /// What waits.
    fn status(&self) -> LaneStatus;
    /// What is queued from now on starts an attempt to connect.
    fn opened(&self);
    /// There is a connection to a node with such a program.
    fn connected(&self, to: &PeerVersion);
    /// The connection has ended; what has not been sent goes over the next one.
    fn lost(&self);
    /// There is no connection and will be none for a moment: nothing is kept.
    fn failed(&self, error: &LinkError);
    /// Takes what the peer sends back.
    fn sink(&self) -> impl Sink;
}
