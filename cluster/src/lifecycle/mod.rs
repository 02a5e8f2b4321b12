//! How a node comes to be one of an installation, runs and stops, and what other nodes get from it.

pub mod admin_key;
pub mod answer;
mod bootstrap;
#[cfg(test)]
pub mod crash_copy;
pub mod installation;
pub mod join;
pub mod recovery;
pub mod running;
