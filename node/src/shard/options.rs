//! What a shard is run with, and where a piece of its work stands.

use super::failures::Failures;
use crate::halt::Halt;
use crate::log_place::LogPlace;
use quorate_engine::index::WriterOptions;
use quorate_model::limits;
use quorate_store::files::Files;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What a shard needs beside its index.
#[derive(Clone, Debug)]
pub struct ShardOptions {
    /// The file layer of durable commits.
    pub files: Arc<dyn Files>,
    /// Memory and threads of the index writer.
    pub writer: WriterOptions,
    /// When it commits durably, and tries again what failed.
    pub pace: Pace,
    /// Whether another node leads the index's group: the one that is asked whether a write is visible.
    pub is_led_elsewhere: Arc<AtomicBool>,
    /// Whether the index's group stands still.
    pub halt: Halt,
    /// Counts the rebuilds that failed.
    pub rebuild_failures: Arc<Failures>,
}

/// When shards do what nobody asks for.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Bytes of unflushed segments or operations that make a durable commit due.
    pub flush_bytes: usize,
    /// Age of the oldest unflushed operation that makes a durable commit due.
    pub flush_after: Duration,
    /// How often a shard looks whether something is due. What failed is first tried again after as long.
    pub upkeep: Duration,
}
impl Default for Pace {
    fn default() -> Self {
        Pace {
            flush_bytes: limits::FLUSH_BYTES,
            flush_after: Duration::from_secs(limits::FLUSH_S),
            upkeep: Duration::from_millis(500),
        }
    }
}

/// Where a piece of work stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkPosition {
    /// Its ticket in the shard's progress.
    pub ticket: u64,
    /// Its place in the group's log.
    pub place: LogPlace,
    /// The Raft term of that place.
    pub term: u64,
}
