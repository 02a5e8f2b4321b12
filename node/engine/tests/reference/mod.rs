//! What should a search answer? The obvious slow way: every record, every word, every position, no index.
//!
//! Nothing here uses the engine: it has its own words, its own edit distance, its own tuple and its own filters.

// each test program uses its own part of it
#![allow(dead_code, reason = "each test program uses its part of it")]

pub mod attribute;
pub mod case;
pub mod compare;
pub mod exact;
pub mod facet_search;
pub mod filters;
pub mod groups;
pub mod growth;
pub mod highlight;
pub mod letters;
pub mod order;
pub mod places;
pub mod proximity;
pub mod queries;
pub mod ranker;
pub mod readings;
pub mod relevant;
pub mod shard;
pub mod spoken;
pub mod texts;
pub mod tokens;
pub mod typo;
pub mod wanted;
