//! How nodes talk to each other: encrypted connections with lanes for consensus, requests and bulk.
//!
//! [`Peers`] dials a connection for each lane and peer when there is something to send, and serves what others dial.
//! Everything is bounded; nothing here waits without a deadline, and nothing that arrives is trusted.

mod peers;
mod secret;
mod types;

pub use peers::Peers;
pub use secret::ClusterSecret;
pub use types::{
    Lane, LaneStatus, PeerError, PeerHandler, PeerLimits, PeerOptions, PeerStatus, PeerVersion, StartError,
};
