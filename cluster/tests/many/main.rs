//! Several nodes in this process that act as one: what a caller gets must not depend on the node that is asked.

mod answers;
mod cluster_down;
mod configured;
#[path = "../../src/lifecycle/crash_copy.rs"]
mod crash_copy;
mod damage;
mod dictionaries;
mod differs;
mod digests;
mod disk;
mod gone_files;
mod harness;
mod integrity;
mod keys;
mod left;
mod lost_events;
mod models;
mod moves;
mod rate_limit;
mod refusing;
mod request_log;
mod same_names;
mod sources;
mod stops;
mod user_replicas;
mod users;
mod writes;
