//! What does a request ask for? Words, phrases, exclusions and everything the segments need to answer.
pub mod alternatives;
pub mod explain;
pub mod plan;
pub mod strategy;
pub mod synonyms;
pub mod words;

pub use alternatives::{Alternative, Path, Unit};
pub use plan::Plan;
pub use words::Word;
