//! A whole node in this process: what a write leaves behind, whatever happens next.

mod accidents;
mod harness;
mod indices;
mod start;
mod tasks;
mod writes;
