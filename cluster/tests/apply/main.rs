//! A whole node in this process: what a write leaves behind, whatever happens next.

mod accidents;
mod fetches;
mod harness;
mod indices;
mod rebuilds;
mod replicas;
mod snapshots;
mod start;
mod tasks;
mod writes;
