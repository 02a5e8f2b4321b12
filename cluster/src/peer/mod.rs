//! How nodes talk to each other: encrypted connections with lanes for consensus, requests and bulk.
//!
//! [`Peers`] dials a connection for each lane and peer when there is something to send, and serves what others dial.
//! Everything is bounded; nothing here waits without a deadline, and nothing that arrives is trusted.

mod complaints;
mod connection;
mod consensus_link;
mod dialler;
mod frame;
mod frame_chunks;
mod greetings;
mod hello;
mod link;
mod load;
mod metrics;
mod node;
mod peers;
mod registry;
mod request_link;
mod secret;
mod server;
mod serving;
#[cfg(test)]
mod tests;
mod tls;
mod traffic;
mod types;

pub use dialler::CLOCK_AHEAD_MS;
pub use hello::removed;
pub use peers::Peers;
pub use secret::{ClusterSecret, Derivation};
pub use types::{
    Lane, LaneStatus, PeerError, PeerHandler, PeerLimits, PeerOptions, PeerStatus, PeerVersion, StartError,
};
