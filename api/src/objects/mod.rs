//! How are records written and read by id (C§3.5)?

pub mod batch;
pub mod get;
pub mod many;
pub mod one;
