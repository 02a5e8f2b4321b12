//! How are records written and read by id (§4.3, C§3.5)?

pub mod batch;
pub mod get;
pub mod many;
pub mod one;
