//! What the rest of the cluster says to the peer transport and hears from it.

use super::secret::ClusterSecret;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use quorate_model::{GroupId, NodeId};
use quorate_raft::PeerMessage;
use std::time::Duration;

/// What a connection carries. Lanes never wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Messages of the groups. One way, in order; what cannot be sent is dropped and reported.
    Consensus,
    /// Requests that somebody waits for.
    Requests,
    /// Large, patient transfers such as the files of snapshots.
    Bulk,
}

impl Lane {
    /// All of them.
    pub const ALL: [Lane; 3] = [Lane::Consensus, Lane::Requests, Lane::Bulk];

    /// The name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Lane::Consensus => "consensus",
            Lane::Requests => "requests",
            Lane::Bulk => "bulk",
        }
    }
}

/// What a node announces about its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerVersion {
    /// The lowest protocol version it speaks.
    pub protocol_lowest: u16,
    /// The highest protocol version it speaks.
    pub protocol_highest: u16,
    /// The newest commands it can apply.
    pub feature_level: u16,
    /// The version of the program, for people; at most [`PeerVersion::PROGRAM_BYTES_MAX`] bytes.
    pub program: String,
}

impl PeerVersion {
    /// Bytes of [`PeerVersion::program`].
    pub const PROGRAM_BYTES_MAX: usize = 64;
    /// The lowest protocol version this program speaks.
    pub const LOWEST: u16 = 1;
    /// The highest protocol version this program speaks.
    pub const HIGHEST: u16 = Self::GIVES_UP;
    /// From this protocol version on a node is told when nobody waits for its answer any more.
    pub const GIVES_UP: u16 = 2;

    /// What this program announces when it can apply commands up to `feature_level`.
    pub fn of_this_program(feature_level: u16) -> Self {
        PeerVersion {
            protocol_lowest: Self::LOWEST,
            protocol_highest: Self::HIGHEST,
            feature_level,
            program: env!("CARGO_PKG_VERSION").to_string(),
        }
    }
}

/// Bounds of the transport. Those of messages must be the same on all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerLimits {
    /// Consensus messages that wait for one peer; further ones are dropped.
    pub consensus_messages_max: usize,
    /// Bytes of consensus messages that wait for one peer; further ones are dropped.
    pub consensus_bytes_max: usize,
    /// Bytes of one request or answer of the lane for requests.
    pub request_bytes_max: usize,
    /// Bytes of one request or answer of the bulk lane.
    pub bulk_bytes_max: usize,
    /// Requests of one peer and lane that are worked on at once, and that wait for an answer of one peer and lane.
    pub requests_at_once_max: usize,
    /// Bytes of requests that wait to be sent to one peer on one lane, of requests of one peer and lane that are
    /// worked on, and of answers to it that wait to be sent. One request alone may be larger.
    pub request_bytes_waiting_max: usize,
    /// How often a ping is sent over every connection. After four of them without a sign of life it ends: elections
    /// begin earlier than with the ordinary second.
    pub ping_every: Duration,
    /// How long an attempt to connect may take, from looking up the address to the other's greeting.
    pub connect_within: Duration,
}

impl Default for PeerLimits {
    fn default() -> Self {
        PeerLimits {
            consensus_messages_max: 4_096,
            consensus_bytes_max: 64 << 20,
            request_bytes_max: 128 << 20,
            bulk_bytes_max: 16 << 20,
            requests_at_once_max: 512,
            request_bytes_waiting_max: 64 << 20,
            ping_every: Duration::from_secs(1),
            connect_within: Duration::from_secs(2),
        }
    }
}

/// How the transport of a node starts.
pub struct PeerOptions {
    /// This node.
    pub node: NodeId,
    /// What all nodes of the installation share.
    pub secret: ClusterSecret,
    /// What some of them share already, or still, while that is replaced.
    pub also: Option<ClusterSecret>,
    /// Where others reach this node; bound already.
    pub listener: std::net::TcpListener,
    /// What this node announces.
    pub version: PeerVersion,
    /// The application id, once it is known. Two nodes that know different ones do not talk to each other.
    pub installation: Option<String>,
    /// The bounds.
    pub limits: PeerLimits,
}

/// What a node does with what arrives. Calls come from the threads of the transport and must not block.
pub trait PeerHandler: Send + Sync + 'static {
    /// Takes consensus messages in, in the order they were sent in. Every message is from `from` and to this node.
    fn consensus(&self, from: NodeId, messages: Vec<(GroupId, PeerMessage)>);
    /// Answers a request. The future is dropped when nobody waits for the answer any more: at the asker's deadline, or
    /// when the connection ends. It runs on threads that are for waiting, not for computing.
    fn request(&self, from: NodeId, lane: Lane, request: Bytes) -> BoxFuture<'static, Bytes>;
    /// Hears that messages of these groups to a peer were dropped. Called a few times a second at most.
    fn unreachable(&self, to: NodeId, groups: Vec<GroupId>);
    /// Whether a node may talk to this one: not when it was removed. One that is not known may: it may want to join.
    /// Asked again with every ping while a connection lasts.
    fn may_speak(&self, from: NodeId) -> bool;
    /// Hears what a peer announced, every time a connection with it begins.
    fn met(&self, peer: NodeId, version: &PeerVersion);
}

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// There is no address for the node.
    #[error("no address of this node is known")]
    Unknown,
    /// There is no connection, and the request was not sent.
    #[error("the node cannot be reached")]
    Unreachable,
    /// The deadline passed. The outcome is unknown.
    #[error("the node did not answer in time")]
    Timeout,
    /// Too many requests wait here or there; this one was not begun.
    #[error("too many requests to this node wait")]
    Busy,
    /// The node does not talk to this one, for this reason; the request was not sent.
    #[error("the node refuses to talk: {0}")]
    Refused(String),
    /// The address that was asked is this node's own.
    #[error("{}", super::hello::ITSELF)]
    Itself,
    /// This transport has been stopped; the request was not sent.
    #[error("the connections of this node have been closed")]
    Stopped,
    /// The request is over the limit of its lane, and was not sent; or the answer was, and the outcome is unknown.
    #[error("a message between nodes is over its limit")]
    TooLarge,
    /// The connection ended, or the node failed, after the request was sent. The outcome is unknown.
    #[error("the connection to the node was lost")]
    Lost,
}

impl PeerError {
    /// Whether the other node may have done what it was asked to.
    pub fn outcome_is_unknown(&self) -> bool {
        match self {
            PeerError::Timeout | PeerError::TooLarge | PeerError::Lost => true,
            PeerError::Unknown
            | PeerError::Unreachable
            | PeerError::Busy
            | PeerError::Refused(_)
            | PeerError::Itself
            | PeerError::Stopped => false,
        }
    }
}

/// Why the transport did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A thread or the listener.
    #[error("cannot listen for other nodes: {0}")]
    Io(#[from] std::io::Error),
    /// The certificate.
    #[error("cannot make a certificate for the connections between nodes: {0}")]
    Certificate(String),
}

/// One lane to a peer, as this node dials it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneStatus {
    /// Which.
    pub lane: Lane,
    /// Whether there is a connection.
    pub connected: bool,
    /// Messages that wait to be sent.
    pub queued_messages: usize,
    /// Their bytes.
    pub queued_bytes: usize,
}

/// What is known of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// Which.
    pub node: NodeId,
    /// Where it is dialled.
    pub address: Option<String>,
    /// The lanes that were used.
    pub lanes: Vec<LaneStatus>,
    /// How long ago it was last heard, on any connection.
    pub last_heard: Option<Duration>,
    /// The last round trip of a ping.
    pub round_trip: Option<Duration>,
    /// How far its clock is ahead of this node's, in milliseconds, as of the last meeting.
    pub clock_ahead_ms: Option<i64>,
    /// What it announced.
    pub version: Option<PeerVersion>,
    /// Consensus messages to it that were dropped.
    pub dropped: u64,
    /// Why the last attempt to reach it failed; `None` after one that succeeded.
    pub failure: Option<String>,
}
