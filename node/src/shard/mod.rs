//! The writing side of one index shard: a queue of work, a core that does it in order, and the actor that runs the core.

mod actor;
mod attempts;
mod core;
mod failures;
mod handle;
mod open;
mod operations;
mod options;
mod queue;
mod rebuild;
mod work;

pub use failures::Failures;
pub use handle::{ShardHandle, Unclosed};
pub use options::{Pace, ShardOptions};
pub use queue::{ShardQueue, ShardStatus};
