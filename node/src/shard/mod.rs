//! The writing side of one index shard: a core with the writer, and the actor that owns it.

mod actor;
mod core;
mod rebuild;

pub use actor::{ShardActor, ShardHandle, ShardStatus};
pub use core::{ShardCore, ShardOptions};
pub use rebuild::Failures;
