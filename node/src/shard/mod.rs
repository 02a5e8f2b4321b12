//! The writing side of one index shard: a core with the writer, and the actor that owns it.

mod actor;
mod attempts;
mod core;
mod rebuild;

pub use actor::{ShardActor, ShardHandle, ShardStatus, Unclosed};
pub use core::{Pace, ShardCore, ShardOptions};
pub use rebuild::Failures;
