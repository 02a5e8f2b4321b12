//! How members agree on one order of opaque bytes: events in, effects out, one log for all groups of a node.
//!
//! [`core`] decides and does no input or output. [`log`] keeps what it decided on disk. [`actor`] and [`host`] run both.
//! [`messages`] is what members say to each other. [`lease`] says who may answer reads without asking.
#![allow(
    clippy::field_reassign_with_default,
    reason = "generated protobuf types carry private fields, so they are made empty and then filled"
)]

pub mod actor;
pub mod core;
pub mod effects;
pub mod error;
mod group_log;
mod handle;
pub mod host;
pub mod lease;
pub mod leaving;
pub mod log;
mod log_batch;
mod log_dead;
mod log_engine;
pub mod log_failing;
mod log_files;
pub mod log_inspect;
mod log_mark;
pub mod log_mend;
mod log_queue;
mod log_record;
mod log_room;
mod log_writer;
mod mailbox;
pub mod memory;
pub mod messages;
mod metrics;
mod ports;
pub mod recovery;
mod report;
mod status;

pub use effects::{
    BarrierError, Committed, CommittedEntry, Confirmed, Leadership, MemberChange, MembersError, ProposeError,
    Role, SnapshotImage,
};
pub use error::RaftError;
pub use handle::{GroupHandle, MailboxFull};
pub use host::{GroupOptions, RaftHost, RaftOptions};
pub use log::LogLayer;
pub use log_files::{LogFile, LogFiles, RealLogFiles};
pub use messages::PeerMessage;
pub use ports::{CommitSink, NoPeers, Outbox};
pub use report::ConsensusStatus;
pub use status::{Membership, Progress, StateCopy, Status};
