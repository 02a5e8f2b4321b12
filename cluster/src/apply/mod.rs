//! How committed entries change this node: one actor for each group takes them in log order.
//!
//! [`staging`] makes whole commands of entries, [`cut`] remembers which were cut, [`group`] applies them and decides what the log
//! must keep, [`meta`] and [`indices`] are the state machines, [`inbox`] is where consensus leaves what is committed, [`snapshot_life`] is what becomes of a snapshot that the group
//! continues from, `runner` says what is done next, [`actor`] runs it all.

pub mod actor;
mod cut;
pub mod group;
pub mod inbox;
mod indices;
pub mod left;
pub mod meta;
mod runner;
pub mod snapshot_life;
pub mod staging;

use crate::command::{Command, EntryError};
use quorate_node::LogPosition;
use quorate_node::ops::Incarnation;
use quorate_store::dump::Head;
use quorate_store::incoming::Replacement;
use quorate_store::layout::Layout;

pub use quorate_node::Halt;
/// Why a group cannot go on: never the fault of a command, whose errors are outcomes.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The entry cannot be read.
    #[error("log index {log_index}: {source}")]
    Entry {
        /// Where it stands.
        log_index: u64,
        /// What is wrong.
        source: EntryError,
    },
    /// The entry is for another kind of group.
    #[error("log index {log_index}: the command is not one for this group")]
    Foreign {
        /// Where it stands.
        log_index: u64,
    },
    /// The node could not carry it out.
    #[error("{0}")]
    Node(#[from] quorate_node::Error),
    /// The metadata store could not be read or written.
    #[error("{0}")]
    Store(#[from] quorate_store::StoreError),
    /// A row of the metadata store is not what was written.
    #[error("{0}")]
    Row(#[from] crate::meta::RowError),
}

impl Failure {
    /// Whether a newer program would go on: the group stands still until there is one, and the rest of the node goes on.
    pub fn is_of_newer_program(&self) -> bool {
        match self {
            Failure::Entry { source: EntryError::Newer { .. }, .. } => true,
            Failure::Entry { .. }
            | Failure::Foreign { .. }
            | Failure::Node(_)
            | Failure::Store(_)
            | Failure::Row(_) => false,
        }
    }
}

/// The state machine of one group.
pub trait Machine: Send + 'static {
    /// The log index after which entries are needed again after a start.
    fn replay_from(&self) -> Result<u64, Failure>;
    /// The log index that the metadata store reflects.
    fn applied(&self) -> u64;
    /// Carries out one command. After an error, or a panic, the state may be half.
    fn apply(&mut self, at: LogPosition, command: Command) -> Result<(), Failure>;
    /// Passes an entry that holds no command.
    fn pass(&mut self, log_index: u64);
    /// Puts what changed since the last call into the metadata store, with the applied position.
    fn checkpoint(&mut self) -> Result<(), Failure>;
    /// The log index through which everything but the metadata store is durable without the log.
    fn durable_through(&self) -> u64;
    /// The log index through which entries hold what is to be forgotten: the log is cut there soon, however little is in it.
    fn forgets_through(&self) -> u64 {
        0
    }
    /// The incarnations that hold files here.
    fn incarnations(&self) -> Vec<Incarnation>;
    /// Everything is applied that the log had at the start. May be called again.
    fn replayed(&mut self) {}
    /// Whether a checkpoint would write something that no entry waits for.
    fn has_changes(&self) -> bool {
        false
    }
    /// Goes on with what waits for nothing but time; called every few seconds.
    fn upkeep(&mut self) -> Result<(), Failure> {
        Ok(())
    }
    /// Makes everything but the metadata store durable and links its files into `into`, laid out as a data folder.
    fn export(&mut self, into: &Layout) -> Result<(), Failure>;
    /// Puts another state in the place of the whole state, the tree included. After an error the state may be half.
    fn replace(&mut self, with: &Replacement) -> Result<Head, Failure>;
    /// Removes everything but the metadata store: this node has left the group.
    fn leave(&mut self) -> Result<(), Failure>;
    /// Makes everything durable and closes it.
    fn close(&mut self) -> Result<(), Failure>;
    /// Whether the group stands still, for the machine's own threads and those that ask.
    fn halt(&self) -> Halt;
    /// Lets everything go as a crash would: the state may be half, and nothing of it may become durable.
    fn abandon(&mut self);
}
