//! What does a query word stand for in a segment, and what is kept of that with the segment?
mod expansion;
mod expansions;

pub use expansion::{Counted, Cut, Expansion, Interval};
pub use expansions::Expansions;
