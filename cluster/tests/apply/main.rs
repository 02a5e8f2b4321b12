//! A whole node in this process: what a write leaves behind, whatever happens next.

mod accidents;
mod fetches;
mod harness;
mod indices;
#[path = "../../src/killed.rs"]
mod killed;
mod planted;
mod rebuilds;
mod replicas;
mod snapshots;
mod stands_still;
mod start;
mod tasks;
mod writes;
