//! What goes on in the background until things are as they should be: members, replicas, leases, files.

pub mod call_counts;
pub mod digests;
pub mod event_sink;
pub mod integrity;
pub mod janitor;
pub mod lease_renewal;
pub mod models;
pub mod others;
pub mod reconciler;
