//! Many machines agreeing: commands, placement, the paths of a write and of a read.
//!
//! A write: [`service`] → [`write`] (ids from [`mint`], index from [`meta`]) → [`router`] → [`command`] → the group's
//! log → [`apply`] on every member. A read: [`service`] → [`read`] → the node's view. [`start`] puts a node together.

pub mod apply;
pub mod command;
pub mod disk;
mod documents;
mod installation;
pub mod meta;
mod metrics;
pub mod mint;
mod operate;
pub mod peer;
mod read;
mod replicas;
mod router;
pub mod service;
mod start;
mod sweep;
mod tasks;
mod write;

pub use documents::DocumentChange;
pub use quorate_node::RawDocument;
pub use service::{
    CallerOp, Health, IndexInfo, IndexOperation, ObjectRequest, ReadRights, Receipt, Service, ServiceOptions,
    Started,
};
pub use write::Reach;
