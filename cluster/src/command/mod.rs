//! What stands in a log entry: the envelope and the numbered commands.

mod parts;
mod rows;

pub use parts::join;
pub use rows::{Copied, Joining, Looked, Moved, NodeState, Source, UserStep, Wanted};

use quorate_model::level::{self, Needs, OF_USERS};
use quorate_model::{GroupId, IndexName, NodeId, RecordOp, UserId};
use quorate_node::ops::{Incarnation, IndexCommand};
use quorate_store::codec;
use serde::{Deserialize, Serialize};

/// First byte of every entry; another value means another layout of what follows.
pub const FORMAT: u8 = 1;
/// The newest commands this program knows. It rises when a variant is appended to any command, which [`Command::level`] then
/// gives the new level, and when commands do more than before, which they do from the moment at which the level is in force.
pub const FEATURE_LEVEL: u16 = 4;
/// The level that every program knows.
pub const FIRST_LEVEL: u16 = level::FIRST;
/// From this level on, commands that link or move an index do so to the parts that other clusters have of it.
pub const PARTS_FOLLOW_LEVEL: u16 = 3;
/// From this level on, a new admin key replaces the one that its proposer knew, which still counts for a time.
pub const KEY_ROTATION_LEVEL: u16 = 4;
/// From this level on, a node that takes another one's place counts before that one leaves: the level must not rise between.
pub const PLACES_COUNT_LEVEL: u16 = 4;
/// From this level on, steps of moves and ends of copies have no effect when what they rest on has changed, copies and users
/// whose writes wait take turns, and a move whose last part takes too long is tried again.
pub const LOOKED_LEVEL: u16 = 4;
/// From this level on, a leader has the replicas of its group compare what they hold at one place of the log.
pub const COMPARE_LEVEL: u16 = 4;
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

/// A change of what the whole installation knows. Variants are numbered by their order: append, never reorder.
///
/// A command that no longer fits the state (an index that is gone, a name that is taken) changes nothing: that is its
/// outcome, the same on every member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum MetaCommand {
    /// First start of an installation; later ones change nothing.
    SetUp {
        /// The application id.
        app_id: String,
        /// SHA-256 of the admin key.
        admin_key: [u8; 32],
        /// The first search-only key, as a JSON document.
        #[serde(with = "serde_bytes")]
        search_key: Vec<u8>,
    },
    /// A process start. Its log index makes the ids that this process mints unlike those of every other one.
    StartNode,
    /// Replaces the admin key at once; programs from [`KEY_ROTATION_LEVEL`] on propose `RotateAdminKey`.
    SetAdminKey {
        /// SHA-256 of the new one.
        admin_key: [u8; 32],
    },
    /// Adds a name to the catalogue; its incarnation is this command's task id.
    CreateIndex {
        /// The new name.
        name: IndexName,
        /// Where its records will live.
        group: GroupId,
    },
    /// Takes a name out of the catalogue if it still has this incarnation, and dooms what it stood for.
    DeleteIndex {
        /// The name.
        name: IndexName,
        /// The life of it that the caller saw.
        incarnation: Incarnation,
    },
    /// Renames over `to`, which keeps its replicas; what `to` and its replicas stood for is tombstoned.
    MoveIndex {
        /// The source.
        from: IndexName,
        /// The destination.
        to: IndexName,
        /// For each replica of the destination a reserved incarnation in the group of the source, and for parts of them.
        replicas: Vec<Moved>,
    },
    /// Reserves an incarnation, which is this command's task id, as the destination of a copy.
    BeginCopy {
        /// Group of the source, hence of the copy.
        group: GroupId,
    },
    /// Ends a copy: lets a name stand for a reserved incarnation and dooms what it stood for.
    PointIndex {
        /// The destination's name.
        name: IndexName,
        /// The reserved incarnation.
        incarnation: Incarnation,
        /// Its group.
        group: GroupId,
    },
    /// Gives a reserved incarnation up and dooms it.
    AbandonCopy {
        /// The reserved incarnation.
        incarnation: Incarnation,
    },
    /// A tombstoned incarnation has been dropped in its group.
    Dropped {
        /// The incarnation.
        incarnation: Incarnation,
    },
    /// Lets exactly these names be the replicas of an index, all or, if one cannot, none; their parts follow its parts.
    ///
    /// The incarnations of names that are new are this command's task id and the numbers after it.
    SetReplicas {
        /// The primary.
        name: IndexName,
        /// The life of it that the caller saw.
        incarnation: Incarnation,
        /// All its replicas, and what is prepared for parts of them.
        replicas: Vec<Wanted>,
    },
    /// The group of a primary has been told of its replicas.
    Settled {
        /// The primary.
        incarnation: Incarnation,
        /// The list it was told of.
        revision: u64,
    },
    /// Adds a key or replaces the one with its value.
    PutKey {
        /// The key as a JSON document.
        #[serde(with = "serde_bytes")]
        key: Vec<u8>,
    },
    /// Removes a key.
    DeleteKey {
        /// The key string.
        value: String,
    },
    /// Adds a node, or takes over what has changed of one since its last start.
    AddNode {
        /// Its number.
        node: NodeId,
        /// How it introduces itself.
        joining: Joining,
    },
    /// Lets a node take part, drains it, or removes it for good.
    SetNodeState {
        /// Its number.
        node: NodeId,
        /// What it becomes.
        state: NodeState,
    },
    /// Says where the replicas of a placement group are wanted.
    Place {
        /// The group.
        group: GroupId,
        /// The nodes; the first should lead.
        nodes: Vec<NodeId>,
    },
    /// From now on records are placed by user.
    EnableUsers,
    /// Puts users that are in no cluster yet into one.
    AssignUsers {
        /// Its number.
        cluster: u16,
        /// The users, at most [`crate::meta::USERS_PER_COMMAND_MAX`].
        users: Vec<UserId>,
    },
    /// Begins to move a user for whom nothing is under way.
    MoveUser {
        /// The user.
        user: UserId,
        /// Number of the cluster that is to serve the user.
        to: u16,
    },
    /// Begins to remove a user for whom nothing is under way.
    RemoveUser {
        /// The user.
        user: UserId,
    },
    /// Goes on with a move or a removal.
    StepUser {
        /// The user.
        user: UserId,
        /// The epoch that the step was decided on.
        epoch: u64,
        /// The step.
        step: UserStep,
    },
    /// Lets every cluster have its part of an index: for clusters that came after it.
    MakeParts {
        /// The index.
        name: IndexName,
    },
    /// Has the primaries in a placement group told again of what follows them.
    Reannounce {
        /// The group.
        group: GroupId,
    },
    /// Replaces the admin key unless it was replaced since the proposer looked; the one before counts for a time.
    RotateAdminKey {
        /// SHA-256 of the new one.
        admin_key: [u8; 32],
        /// The revision of the one that it is to replace.
        replaces: u64,
        /// For how many milliseconds the one before still counts.
        overlap_ms: u64,
    },
    /// Goes on with a move or a removal unless there are indices by now, or will be, that were not looked at.
    StepUserAfterLook {
        /// The user.
        user: UserId,
        /// The epoch that the step was decided on.
        epoch: u64,
        /// The step.
        step: UserStep,
        /// What was looked at.
        looked: Looked,
    },
    /// Ends a copy of an index with all its parts, or of one that is missing, unless the source has been replaced meanwhile:
    /// a name stands for what is reserved, and what it and its parts stood for is tombstoned.
    PointCopy {
        /// The destination's name.
        name: IndexName,
        /// What was copied.
        sources: Vec<Source>,
        /// The copies: one of the index, which has the destination's name, and one of each part.
        copies: Vec<Copied>,
    },
    /// Reserves the destinations of a copy unless a user's writes wait or a move waits for its turn: one in each group, with this command's task id and
    /// the numbers after it.
    BeginCopies {
        /// The groups of the sources, at most [`crate::meta::COPIES_MAX`].
        groups: Vec<GroupId>,
    },
    /// Lets a node take the place of the one with its name and its address, which is removed for good.
    TakePlace {
        /// Its number.
        node: NodeId,
        /// How it introduces itself.
        joining: Joining,
    },
    /// Lets every member hash, later and elsewhere, what it holds at this place of the log. It changes nothing.
    Compare,
}

impl Command {
    /// The lowest level of programs that know the command and all that it holds, and what needs that. It is proposed when
    /// every node is at that level. Cost: settings and documents are parsed once anything of them began after the first level.
    pub fn needs(&self) -> Needs {
        match self {
            Command::Meta(MetaCommand::PutKey { key }) => level::of_key(key),
            Command::Meta(command) => Needs::level(command.level()),
            Command::Index(command) => index_needs(command),
        }
    }
    /// The level alone.
    pub fn level(&self) -> u16 {
        self.needs().level
    }
}

impl MetaCommand {
    fn level(&self) -> u16 {
        match self {
            MetaCommand::SetUp { .. }
            | MetaCommand::StartNode
            | MetaCommand::SetAdminKey { .. }
            | MetaCommand::CreateIndex { .. }
            | MetaCommand::DeleteIndex { .. }
            | MetaCommand::MoveIndex { .. }
            | MetaCommand::BeginCopy { .. }
            | MetaCommand::PointIndex { .. }
            | MetaCommand::AbandonCopy { .. }
            | MetaCommand::Dropped { .. }
            | MetaCommand::SetReplicas { .. }
            | MetaCommand::Settled { .. }
            | MetaCommand::PutKey { .. }
            | MetaCommand::DeleteKey { .. }
            | MetaCommand::AddNode { .. }
            | MetaCommand::SetNodeState { .. }
            | MetaCommand::Place { .. } => FIRST_LEVEL,
            MetaCommand::EnableUsers
            | MetaCommand::AssignUsers { .. }
            | MetaCommand::MoveUser { .. }
            | MetaCommand::RemoveUser { .. }
            | MetaCommand::MakeParts { .. } => 2,
            MetaCommand::StepUser { step, .. } => match step {
                UserStep::Freeze
                | UserStep::Flip
                | UserStep::Settle
                | UserStep::GiveUp
                | UserStep::Forget
                | UserStep::Land => 2,
                UserStep::Thaw => LOOKED_LEVEL,
            },
            MetaCommand::Reannounce { .. } => 3,
            MetaCommand::RotateAdminKey { .. } => KEY_ROTATION_LEVEL,
            MetaCommand::StepUserAfterLook { .. }
            | MetaCommand::PointCopy { .. }
            | MetaCommand::BeginCopies { .. } => LOOKED_LEVEL,
            MetaCommand::TakePlace { .. } => 4,
            MetaCommand::Compare => COMPARE_LEVEL,
        }
    }
}

fn index_needs(command: &IndexCommand) -> Needs {
    match command {
        IndexCommand::Records { ops, .. } => ops.iter().map(operation_needs).fold(Needs::NOTHING, Needs::or),
        IndexCommand::Settings { changes, .. } => level::of_settings(changes),
        IndexCommand::SaveDocuments { kind, documents, .. } => {
            let each = documents.iter().map(|document| level::of_document(*kind, &document.document));
            each.fold(Needs::NOTHING, Needs::or)
        }
        IndexCommand::Copy { .. }
        | IndexCommand::Drop { .. }
        | IndexCommand::DeleteDocument { .. }
        | IndexCommand::Replicas { .. } => Needs::NOTHING,
        IndexCommand::Compare => Needs::level(COMPARE_LEVEL),
        IndexCommand::ForUser { command, .. } => Needs::level(OF_USERS).or(index_needs(command)),
        IndexCommand::Forward { command } => index_needs(command),
        IndexCommand::Sequence { commands } => {
            commands.iter().map(index_needs).fold(Needs::NOTHING, Needs::or)
        }
    }
}

fn operation_needs(op: &RecordOp) -> Needs {
    match op {
        RecordOp::DeleteBy { params } => level::of_delete_by(params),
        // the built-in operations are those of the first level
        RecordOp::Put { .. } | RecordOp::Partial { .. } | RecordOp::Delete { .. } | RecordOp::Clear => {
            Needs::NOTHING
        }
    }
}

/// One log entry, opened: a whole command or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Unix milliseconds, given by the proposer.
    pub time_ms: u64,
    /// Position among the parts, from 0.
    pub part: u32,
    /// How many parts the command was cut into.
    pub parts: u32,
    /// The command, or this part's share of it.
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
        bytes.extend_from_slice(&self.part.to_le_bytes());
        bytes.extend_from_slice(&self.parts.to_le_bytes());
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
        Ok(Entry { time_ms, part: word(11), parts: word(15), command })
    }
}

/// Encodes a command as the entries that are to stand next to each other in the log.
pub fn entries(time_ms: u64, command: Command) -> Vec<Vec<u8>> {
    let level = command.level();
    entries_at(time_ms, command, level)
}

/// As [`entries`], for a command whose level is known.
pub fn entries_at(time_ms: u64, command: Command, level: u16) -> Vec<Vec<u8>> {
    // a node that does not know one part must not begin with another: all name the level of the whole
    let commands = match command {
        Command::Index(command) => parts::cut(command).into_iter().map(Command::Index).collect(),
        command @ Command::Meta(_) => vec![command],
    };
    let parts = commands.len() as u32;
    let entry = |(part, command)| Entry { time_ms, part: part as u32, parts, command }.encode_at(level);
    commands.into_iter().enumerate().map(entry).collect()
}

#[cfg(test)]
mod tests;
