//! What stands in a log entry: the envelope and the numbered commands.

mod entry_chunks;
mod meta;
mod meta_chunks;
mod meta_level;
mod rows;

pub use entry_chunks::join;
pub use meta::{MetaCommand, MetaRow};
pub use meta_chunks::is_cut;
pub use rows::{Copied, Joining, Looked, Moved, NodeState, Source, Subject, UserStep, WantedReplica};

use quorate_model::level::Needs;
use quorate_node::ops::IndexCommand;
use quorate_store::codec;
use serde::{Deserialize, Serialize};

/// First byte of every entry; another value means another layout of what follows.
pub const FORMAT: u8 = 1;
/// Bytes of the envelope before the command.
const HEADER_BYTES: usize = 1 + 2 + 8 + 4 + 4;

/// Everything a log may ask a group to do. Variants are numbered by their order: append, never reorder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// On the catalogue and the keys; meta group only.
    Meta(MetaCommand),
    /// On the records and settings of one index; placement groups only.
    Index(IndexCommand),
}

impl Command {
    /// Whether it only has replicas compared.
    pub fn is_comparison(&self) -> bool {
        matches!(self, Command::Index(IndexCommand::Compare) | Command::Meta(MetaCommand::Compare))
    }
}

impl Command {
    /// The lowest level of programs that know the command and all that it holds, and what needs that. It is proposed when
    /// every node is at that level. Cost: settings and resources are parsed once anything of them began after the first level.
    pub fn needs(&self) -> Needs {
        match self {
            Command::Meta(command) => command.needs(),
            Command::Index(command) => command.needs(),
        }
    }
    /// The level alone.
    pub fn level(&self) -> u16 {
        self.needs().level
    }
}

/// One log entry, opened: a whole command or a chunk of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Unix milliseconds, given by the proposer.
    pub time_ms: u64,
    /// Position among the chunks, from 0.
    pub chunk: u32,
    /// How many chunks the command was cut into.
    pub chunks: u32,
    /// The command, or this chunk's share of it.
    pub command: Command,
}

/// An entry that cannot be read: written by a newer program, or damaged.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// Shorter than its envelope.
    #[error("log entry of {0} bytes is shorter than its envelope")]
    Short(usize),
    /// Of a layout this program does not know.
    #[error("log entry has format {0}, this program reads {FORMAT}")]
    Format(u8),
    /// With commands this program does not know.
    #[error(
        "log entry has a command of level {level}, this node knows commands up to {known}: start a newer version"
    )]
    Newer {
        /// The level it needs.
        level: u16,
        /// The level this node has.
        known: u16,
    },
    /// The command's bytes do not decode.
    #[error("log entry cannot be decoded: {0}")]
    Body(String),
}

impl Entry {
    /// The bytes that the log carries.
    pub fn encode(&self) -> Vec<u8> {
        self.encode_at(self.command.level())
    }
    fn encode_at(&self, level: u16) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.push(FORMAT);
        bytes.extend_from_slice(&level.to_le_bytes());
        bytes.extend_from_slice(&self.time_ms.to_le_bytes());
        bytes.extend_from_slice(&self.chunk.to_le_bytes());
        bytes.extend_from_slice(&self.chunks.to_le_bytes());
        bytes.extend_from_slice(&codec::encode(&self.command));
        bytes
    }
    /// Opens an entry of the log on a node that knows commands up to `known`.
    pub fn decode(bytes: &[u8], known: u16) -> Result<Entry, EntryError> {
        let Some((header, body)) = bytes.split_at_checked(HEADER_BYTES) else {
            return Err(EntryError::Short(bytes.len()));
        };
        if header[0] != FORMAT {
            return Err(EntryError::Format(header[0]));
        }
        let level = u16::from_le_bytes([header[1], header[2]]);
        if level > known {
            return Err(EntryError::Newer { level, known });
        }
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let time_ms = u64::from(word(3)) | u64::from(word(7)) << 32;
        let command = codec::decode(body, body.len()).map_err(|e| EntryError::Body(e.to_string()))?;
        Ok(Entry { time_ms, chunk: word(11), chunks: word(15), command })
    }
}

/// Encodes a command as the entries that are to stand next to each other in the log.
pub fn entries(time_ms: u64, command: Command) -> Vec<Vec<u8>> {
    let level = command.level();
    entries_at(time_ms, command, level)
}

/// As [`entries`], for a command whose level is known.
pub fn entries_at(time_ms: u64, command: Command, level: u16) -> Vec<Vec<u8>> {
    // a node that does not know one chunk must not begin with another: all name the level of the whole
    let commands: Vec<Command> = match command {
        Command::Index(command) => entry_chunks::cut(command).into_iter().map(Command::Index).collect(),
        Command::Meta(command) => meta_chunks::cut(command).into_iter().map(Command::Meta).collect(),
    };
    let chunks = commands.len() as u32;
    let entry = |(chunk, command)| Entry { time_ms, chunk: chunk as u32, chunks, command }.encode_at(level);
    commands.into_iter().enumerate().map(entry).collect()
}

#[cfg(test)]
mod tests;
