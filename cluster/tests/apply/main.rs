//! A whole node in this process: what a write leaves behind, whatever happens next.

mod accidents;
#[path = "../../src/lifecycle/crash_copy.rs"]
mod crash_copy;
mod fetches;
mod harness;
mod indices;
mod logged;
mod planted;
mod rebuilds;
mod replicas;
mod snapshots;
mod stands_still;
mod start;
mod tasks;
mod writes;
