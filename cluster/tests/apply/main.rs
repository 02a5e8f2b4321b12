//! A whole node in this process: what a write leaves behind, whatever happens next.

mod accidents;
mod harness;
mod indices;
mod replicas;
mod start;
mod tasks;
mod writes;
