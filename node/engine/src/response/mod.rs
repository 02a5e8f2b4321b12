//! What does a hit look like on the wire?
pub mod highlight;
pub mod hit;
pub mod hits;
pub mod json;
pub mod marks;
mod matches;
pub mod paths;
mod plain;
pub mod record;
mod sieve;
mod snippet;
