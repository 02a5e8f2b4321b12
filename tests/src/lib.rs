//! Black-box tests over HTTP: a real server process, a client that speaks as users do, and accidents.

pub mod accident;
pub mod binary;
pub mod chance;
pub mod client;
pub mod cluster;
pub mod delay;
pub mod disk;
pub mod disturb;
pub mod events;
pub mod greedy;
pub mod harness;
pub mod history;
pub mod keys;
pub mod linear;
pub mod load;
pub mod members;
pub mod network;
pub mod operators;
pub mod renames;
pub mod skipped;
pub mod used;
pub mod wait;
