//! What did users do, and what follows from it? Events as rows of Parquet files, and models of what goes together.
//!
//! Synchronous, without a clock and without chance: times are arguments, and the same events give the same bytes on every node.
#![warn(missing_docs)]

pub mod analytics;
pub mod chains;
pub mod error;
pub mod forgotten;
pub mod learn;
pub mod merge;
pub mod neighbours;
pub mod page;
pub mod rollup;
pub mod rows;
pub mod segment;
pub mod store;
pub mod suggestions;
pub mod trends;
