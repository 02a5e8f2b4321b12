//! What do the rules of an index do to a query and to its results (C§10)?
//!
//! Hot path: an index without rules costs one comparison. With rules a query costs a look-up for each of its words and a
//! short comparison for each rule that shares its rarest word, about 20 ns each; hits cost nothing. A rule that
//! applies and has long parameters has them read, about 8 µs a kilobyte, twice. Rules that are not
//! about words are found by their context or their filters.
pub mod act;
mod alternatives;
mod compile;
mod edits;
mod matching;
pub mod promote;
pub mod recommend;
mod request;
mod words;

pub use act::{Effects, Ruled, act};
pub use compile::RuleSet;
pub use recommend::RecommendRules;
