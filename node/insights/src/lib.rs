//! What did users do, and what follows from it? Events as rows of Parquet files, and models of what goes together.
//!
//! Synchronous, without a clock and without chance: times are arguments, and the same events give the same bytes on every node.
