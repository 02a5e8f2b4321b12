//! Many machines agreeing: commands, placement, the paths of a write and of a read.
//!
//! A write: [`service`] → [`write`] (ids from [`ids`], index from [`meta`]) → [`context`] → [`command`] → the group's
//! log → [`apply`] on every member. A read: [`service`] → [`read`] → the node's view, or with one hop ([`remote`] → [`serve`])
//! that of a node with the group. [`start`] puts a node together.

mod abreast;
mod admin_key;
mod answer;
pub mod apply;
mod bootstrap;
mod calls;
#[cfg(test)]
mod chance;
mod claims;
mod clock;
pub mod command;
mod context;
mod copies;
#[cfg(test)]
mod crash_copy;
pub mod damage;
mod digests;
pub mod disk;
mod document_changes;
mod documents;
mod env;
mod groups;
mod health;
pub mod ids;
mod installation;
pub mod integrity;
mod integrity_state;
mod janitor;
mod janitor_handle;
mod join;
mod lease_renewal;
mod leases;
mod leaving;
pub mod membership;
pub mod meta;
mod metrics;
mod operate;
mod options;
mod owned;
pub mod panics;
mod parts;
pub mod peer;
mod peer_client;
pub mod placement;
mod proposer;
mod reach;
mod read;
mod reconciler;
mod recovery;
mod remote;
mod reopen;
mod replicas;
mod requests;
mod running;
mod seen;
mod serve;
pub mod service;
pub mod snapshot;
mod snapshot_source;
mod start;
mod tasks;
mod traffic;
mod types;
pub mod user_mapping;
mod user_writes;
mod write;

pub use document_changes::DocumentChange;
pub use health::Health;
pub use meta::IndexLimits;
pub use options::{CheckOptions, ClusterOptions, Expected, ServiceOptions, Started};
pub use quorate_node::{Payer, RawDocument};
pub use recovery::{Loss, NodeSurvey, Recovery, RecoveryPlan};
pub use service::Service;
pub use traffic::{QueryFigures, Traffic};
pub use types::{
    CallerOp, GroupDigest, IndexInfo, IndexOperation, NamedDigest, NodeDigest, ObjectRequest, ReadRights,
    Receipt,
};
pub use write::Reach;
