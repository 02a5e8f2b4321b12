//! The path of a read: the name is looked up in memory, the node's view of the index answers, or another node does.
//!
//! Each read is a [`call::ReadCall`] in a file of its kind, which says what is asked, what is answered, and what the node does
//! that has what is read. `serve.rs` has the list of them.

pub mod analytics;
pub mod call;
pub mod candidates;
pub mod event_rows;
pub mod every_node;
pub mod figures;
pub mod filtered;
pub mod health;
pub mod index_config;
pub mod models;
pub mod objects;
pub mod popular;
pub mod published;
pub mod recommend;
pub mod remote;
pub mod request_log;
pub mod resources;
pub mod search;
pub mod serve;
pub mod settings;
pub mod user_records;
mod view;

pub use view::{is_readable, known_row, look_again, row, serves, view, virtual_primary};

#[cfg(test)]
mod tests;
