//! Durable bytes of one node: the file layer, the small-state store, its dump, and how values are framed.
pub mod files;
