//! What stands in a log entry: the envelope, the numbered commands, and how a large batch is cut into parts.

use crate::meta::{Joining, Moved, NodeState, UserStep, Wanted};
use quorate_model::DocumentKind;
use quorate_model::{GroupId, IndexName, NodeId, RecordOp, UserId, limits};
use quorate_node::ops::{Follower, Incarnation, IndexCommand, RawDocument};
use quorate_store::codec;
use serde::{Deserialize, Serialize};

/// First byte of every entry; another value means another layout of what follows.
pub const FORMAT: u8 = 1;
/// The newest commands this program knows. It rises when a variant is appended to any command, which [`Command::level`] then
/// gives the new level.
pub const FEATURE_LEVEL: u16 = 2;
/// The level that every program knows.
pub const FIRST_LEVEL: u16 = 1;
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
    /// Replaces the admin key.
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
    /// Renames over `to`, which keeps its replicas; what `to` and its replicas stood for is doomed.
    MoveIndex {
        /// The source.
        from: IndexName,
        /// The destination.
        to: IndexName,
        /// For each replica of the destination a reserved incarnation in the group of the source.
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
    /// A doomed incarnation has been dropped in its group.
    Dropped {
        /// The incarnation.
        incarnation: Incarnation,
    },
    /// Lets exactly these names be the replicas of an index, all or, if one cannot, none.
    ///
    /// The incarnations of names that are new are this command's task id and the numbers after it.
    SetReplicas {
        /// The primary.
        name: IndexName,
        /// The life of it that the caller saw.
        incarnation: Incarnation,
        /// All its replicas.
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
}

impl Command {
    /// The lowest level of programs that know the command. It is proposed when every node is at that level.
    pub fn level(&self) -> u16 {
        match self {
            Command::Meta(command) => command.level(),
            Command::Index(command) => index_level(command),
        }
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
            | MetaCommand::StepUser { .. }
            | MetaCommand::MakeParts { .. } => 2,
        }
    }
}

fn index_level(command: &IndexCommand) -> u16 {
    match command {
        IndexCommand::Records { .. }
        | IndexCommand::Settings { .. }
        | IndexCommand::Copy { .. }
        | IndexCommand::Drop { .. }
        | IndexCommand::SaveDocuments { .. }
        | IndexCommand::DeleteDocument { .. }
        | IndexCommand::Replicas { .. } => FIRST_LEVEL,
        IndexCommand::ForUser { .. } => 2,
        IndexCommand::Forward { command } => index_level(command),
        IndexCommand::Sequence { commands } => commands.iter().map(index_level).max().unwrap_or(FIRST_LEVEL),
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
    // a node that does not know one part must not begin with another
    let level = command.level();
    let commands = match command {
        Command::Index(command) => cut(command).into_iter().map(Command::Index).collect(),
        command @ Command::Meta(_) => vec![command],
    };
    let parts = commands.len() as u32;
    let entry = |(part, command)| Entry { time_ms, part: part as u32, parts, command }.encode_at(level);
    commands.into_iter().enumerate().map(entry).collect()
}

/// Cuts a command over the entry limit at record boundaries; [`join`] undoes it.
fn cut(command: IndexCommand) -> Vec<IndexCommand> {
    match command {
        IndexCommand::Records { index, ops } => cut_records(index, ops),
        IndexCommand::Sequence { commands } => {
            let bytes: usize = commands.iter().map(command_bytes).sum();
            if bytes <= limits::ENTRY_BYTES {
                return vec![IndexCommand::Sequence { commands }];
            }
            commands.into_iter().flat_map(cut).collect()
        }
        IndexCommand::SaveDocuments { index, kind, documents, replace } => {
            cut_documents(index, kind, documents, replace)
        }
        IndexCommand::Forward { command } => {
            let forward = |part| IndexCommand::Forward { command: Box::new(part) };
            cut(*command).into_iter().map(forward).collect()
        }
        whole @ (IndexCommand::Settings { .. }
        | IndexCommand::DeleteDocument { .. }
        | IndexCommand::Copy { .. }
        | IndexCommand::Drop { .. }
        // whoever makes one keeps it below the limit
        | IndexCommand::ForUser { .. }
        | IndexCommand::Replicas { .. }) => vec![whole],
    }
}

fn cut_records(index: Incarnation, ops: Vec<RecordOp>) -> Vec<IndexCommand> {
    let mut parts = Vec::new();
    let (mut part, mut bytes) = (Vec::new(), 0);
    for op in ops {
        let op_bytes = op_bytes(&op);
        if bytes + op_bytes > limits::ENTRY_BYTES && !part.is_empty() {
            parts.push(IndexCommand::Records { index, ops: std::mem::take(&mut part) });
            bytes = 0;
        }
        bytes += op_bytes;
        part.push(op);
    }
    if parts.is_empty() || !part.is_empty() {
        parts.push(IndexCommand::Records { index, ops: part });
    }
    parts
}

/// The first part drops earlier documents when that was asked for, the others add to it.
fn cut_documents(
    index: Incarnation,
    kind: DocumentKind,
    documents: Vec<RawDocument>,
    replace: bool,
) -> Vec<IndexCommand> {
    let mut parts: Vec<Vec<RawDocument>> = vec![Vec::new()];
    let mut bytes = 0;
    for document in documents {
        let document_bytes = raw_bytes(&document);
        let part = parts.last_mut().expect("never empty");
        if bytes + document_bytes > limits::ENTRY_BYTES && !part.is_empty() {
            parts.push(vec![document]);
            bytes = document_bytes;
        } else {
            part.push(document);
            bytes += document_bytes;
        }
    }
    let part =
        |(at, documents)| IndexCommand::SaveDocuments { index, kind, documents, replace: replace && at == 0 };
    parts.into_iter().enumerate().map(part).collect()
}

/// Puts the parts of a cut command together again, in their order.
pub fn join(parts: Vec<IndexCommand>) -> IndexCommand {
    let mut commands: Vec<IndexCommand> = Vec::with_capacity(parts.len());
    for part in parts {
        let apart = match commands.last_mut() {
            Some(last) => merge(last, part),
            None => Some(part),
        };
        commands.extend(apart);
    }
    match commands.len() {
        1 => commands.remove(0),
        _ => IndexCommand::Sequence { commands },
    }
}

/// Lets `command` also do what `next` does if that is more of the same; gives `next` back otherwise.
fn merge(command: &mut IndexCommand, next: IndexCommand) -> Option<IndexCommand> {
    match (command, next) {
        (
            IndexCommand::Records { index, ops },
            IndexCommand::Records { index: next_index, ops: next_ops },
        ) if *index == next_index => {
            ops.extend(next_ops);
            None
        }
        (
            IndexCommand::SaveDocuments { index, kind, documents, replace: _ },
            IndexCommand::SaveDocuments {
                index: next_index,
                kind: next_kind,
                documents: next,
                replace: false,
            },
        ) if *index == next_index && *kind == next_kind => {
            documents.extend(next);
            None
        }
        (IndexCommand::Forward { command }, IndexCommand::Forward { command: next }) => {
            merge(command, *next).map(|next| IndexCommand::Forward { command: Box::new(next) })
        }
        (_, next) => Some(next),
    }
}

/// About how many bytes an operation takes in an entry.
fn op_bytes(op: &RecordOp) -> usize {
    const FRAME: usize = 32;
    FRAME
        + match op {
            RecordOp::Put { object_id, record } => object_id.len() + record.len(),
            RecordOp::Partial { object_id, changes, create: _ } => object_id.len() + changes.len(),
            RecordOp::Delete { object_id } => object_id.len(),
            RecordOp::DeleteBy { params } => params.len(),
            RecordOp::Clear => 0,
        }
}

fn raw_bytes(document: &RawDocument) -> usize {
    const FRAME: usize = 32;
    FRAME + document.object_id.len() + document.document.len()
}

fn command_bytes(command: &IndexCommand) -> usize {
    match command {
        IndexCommand::Records { index: _, ops } => ops.iter().map(op_bytes).sum(),
        IndexCommand::Settings { index: _, changes, replace: _ } => changes.len(),
        IndexCommand::Forward { command } => command_bytes(command),
        IndexCommand::ForUser { user, epoch: _, command } => user.as_str().len() + command_bytes(command),
        IndexCommand::Sequence { commands } => commands.iter().map(command_bytes).sum(),
        IndexCommand::SaveDocuments { index: _, kind: _, documents, replace: _ } => {
            documents.iter().map(raw_bytes).sum()
        }
        IndexCommand::DeleteDocument { index: _, kind: _, object_id } => object_id.len(),
        IndexCommand::Replicas { primary: _, revision: _, followers } => {
            followers.len() * std::mem::size_of::<Follower>()
        }
        IndexCommand::Copy { .. } | IndexCommand::Drop { .. } => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_node::ops::ReplicaKind;

    fn put(id: &str, bytes: usize) -> RecordOp {
        RecordOp::Put { object_id: id.into(), record: vec![b'x'; bytes] }
    }
    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn the_bytes_of_every_command_stay_what_they_are() {
        let name = || IndexName::new("a").expect("valid");
        let meta = Command::Meta;
        let index = Command::Index;
        let joining =
            Joining { name: "n".into(), cluster: "c".into(), peer: "p".into(), http: "h".into(), level: 1 };
        let user = || UserId::new("u").expect("valid");
        // first the number of the kind of command, then that of the command, then its fields
        let cases = [
            (
                meta(MetaCommand::SetUp { app_id: "A".into(), admin_key: [7; 32], search_key: vec![1] }),
                format!("00 00 0141 {} 0101", "07".repeat(32)),
            ),
            (meta(MetaCommand::StartNode), "00 01".into()),
            (meta(MetaCommand::SetAdminKey { admin_key: [9; 32] }), format!("00 02 {}", "09".repeat(32))),
            (meta(MetaCommand::CreateIndex { name: name(), group: GroupId(3) }), "00 03 0161 03".into()),
            (meta(MetaCommand::DeleteIndex { name: name(), incarnation: 4096 }), "00 04 0161 fb0010".into()),
            (
                meta(MetaCommand::MoveIndex {
                    from: name(),
                    to: name(),
                    replicas: vec![Moved { name: name(), incarnation: 7 }],
                }),
                "00 05 0161 0161 01 0161 07".into(),
            ),
            (meta(MetaCommand::BeginCopy { group: GroupId(2) }), "00 06 02".into()),
            (
                meta(MetaCommand::PointIndex { name: name(), incarnation: 5, group: GroupId(2) }),
                "00 07 0161 05 02".into(),
            ),
            (meta(MetaCommand::AbandonCopy { incarnation: 5 }), "00 08 05".into()),
            (meta(MetaCommand::Dropped { incarnation: 5 }), "00 09 05".into()),
            (
                meta(MetaCommand::SetReplicas {
                    name: name(),
                    incarnation: 5,
                    replicas: vec![
                        Wanted { name: name(), kind: ReplicaKind::Standard, prepared: None },
                        Wanted { name: name(), kind: ReplicaKind::Virtual, prepared: Some(9) },
                    ],
                }),
                "00 0a 0161 05 02 0161 00 00 0161 01 0109".into(),
            ),
            (meta(MetaCommand::Settled { incarnation: 5, revision: 7 }), "00 0b 05 07".into()),
            (meta(MetaCommand::PutKey { key: vec![1] }), "00 0c 0101".into()),
            (meta(MetaCommand::DeleteKey { value: "k".into() }), "00 0d 016b".into()),
            (
                index(IndexCommand::Records {
                    index: 5,
                    ops: vec![
                        RecordOp::Put { object_id: "i".into(), record: vec![2] },
                        RecordOp::Partial { object_id: "i".into(), changes: vec![3], create: true },
                        RecordOp::Delete { object_id: "i".into() },
                        RecordOp::DeleteBy { params: vec![4] },
                        RecordOp::Clear,
                    ],
                }),
                "01 00 05 05  00 0169 0102  01 0169 0103 01  02 0169  03 0104  04".into(),
            ),
            (
                index(IndexCommand::Settings { index: 5, changes: vec![1], replace: true }),
                "01 01 05 0101 01".into(),
            ),
            (index(IndexCommand::Copy { from: 5, to: 6 }), "01 02 05 06".into()),
            (index(IndexCommand::Drop { index: 5 }), "01 03 05".into()),
            (
                index(IndexCommand::Sequence { commands: vec![IndexCommand::Drop { index: 5 }] }),
                "01 04 01 03 05".into(),
            ),
            (
                index(IndexCommand::SaveDocuments {
                    index: 5,
                    kind: DocumentKind::Rules,
                    documents: vec![RawDocument { object_id: "i".into(), document: vec![2] }],
                    replace: true,
                }),
                "01 05 05 01 01 0169 0102 01".into(),
            ),
            (
                index(IndexCommand::DeleteDocument {
                    index: 5,
                    kind: DocumentKind::Synonyms,
                    object_id: "i".into(),
                }),
                "01 06 05 00 0169".into(),
            ),
            (
                index(IndexCommand::Replicas {
                    primary: 5,
                    revision: 7,
                    followers: vec![
                        Follower { incarnation: 6, kind: ReplicaKind::Standard },
                        Follower { incarnation: 8, kind: ReplicaKind::Virtual },
                    ],
                }),
                "01 07 05 07 02  06 00  08 01".into(),
            ),
            (
                index(IndexCommand::Forward { command: Box::new(IndexCommand::Drop { index: 5 }) }),
                "01 08 03 05".into(),
            ),
            (
                index(IndexCommand::ForUser {
                    user: user(),
                    epoch: 3,
                    command: Box::new(IndexCommand::Drop { index: 5 }),
                }),
                "01 09 0175 03 03 05".into(),
            ),
            (
                meta(MetaCommand::AddNode { node: NodeId(9), joining }),
                "00 0e 09 016e 0163 0170 0168 01".into(),
            ),
            (
                meta(MetaCommand::SetNodeState { node: NodeId(9), state: NodeState::Removed }),
                "00 0f 09 02".into(),
            ),
            (
                meta(MetaCommand::Place { group: GroupId(5), nodes: vec![NodeId(9), NodeId(1)] }),
                "00 10 05 02 09 01".into(),
            ),
            (meta(MetaCommand::EnableUsers), "00 11".into()),
            (meta(MetaCommand::AssignUsers { cluster: 1, users: vec![user()] }), "00 12 01 01 0175".into()),
            (meta(MetaCommand::MoveUser { user: user(), to: 2 }), "00 13 0175 02".into()),
            (meta(MetaCommand::RemoveUser { user: user() }), "00 14 0175".into()),
            (
                meta(MetaCommand::StepUser { user: user(), epoch: 3, step: UserStep::GiveUp }),
                "00 15 0175 03 03".into(),
            ),
            (meta(MetaCommand::MakeParts { name: name() }), "00 16 0161".into()),
        ];
        for (command, expected) in cases {
            let entry = Entry { time_ms: 0x0102_0304_0506, part: 1, parts: 2, command };
            let bytes = entry.encode();
            let level = if is_of_users(&entry.command) { "0200" } else { "0100" };
            let envelope = format!("01 {level} 0605040302010000 01000000 02000000");
            assert_eq!(hex(&bytes), format!("{envelope}{expected}").replace(' ', ""), "{entry:?}");
            assert_eq!(Entry::decode(&bytes, FEATURE_LEVEL).expect("own bytes"), entry);
        }
    }

    /// Whether it came with the mapping of users, which is level 2.
    fn is_of_users(command: &Command) -> bool {
        matches!(
            command,
            Command::Meta(
                MetaCommand::EnableUsers
                    | MetaCommand::AssignUsers { .. }
                    | MetaCommand::MoveUser { .. }
                    | MetaCommand::RemoveUser { .. }
                    | MetaCommand::StepUser { .. }
                    | MetaCommand::MakeParts { .. }
            ) | Command::Index(IndexCommand::ForUser { .. })
        )
    }

    #[test]
    fn a_node_reads_what_its_level_knows_whoever_wrote_it() {
        let entry = |command| Entry { time_ms: 1, part: 0, parts: 1, command }.encode();
        let (old, new) =
            (entry(Command::Meta(MetaCommand::StartNode)), entry(Command::Meta(MetaCommand::EnableUsers)));
        assert!(Entry::decode(&old, 1).is_ok() && Entry::decode(&old, 2).is_ok());
        assert!(Entry::decode(&new, 2).is_ok());
        let refused = Entry::decode(&new, 1).expect_err("a level that this node does not know");
        assert!(matches!(refused, EntryError::Newer { level: 2, known: 1 }), "{refused}");
        let inner = IndexCommand::Forward { command: Box::new(IndexCommand::Drop { index: 1 }) };
        assert_eq!(Command::Index(IndexCommand::Sequence { commands: vec![inner] }).level(), 1);
    }

    #[test]
    fn entries_that_cannot_be_read_say_why() {
        let good =
            Entry { time_ms: 1, part: 0, parts: 1, command: Command::Meta(MetaCommand::StartNode) }.encode();
        let changed = |at: usize, to: u8| {
            let mut bytes = good.clone();
            bytes[at] = to;
            bytes
        };
        let cases = [
            (good[..5].to_vec(), "log entry of 5 bytes is shorter"),
            (changed(0, 2), "format 2"),
            (changed(1, 9), "a command of level 9"),
            (good[..good.len() - 1].to_vec(), "cannot be decoded"),
            (changed(HEADER_BYTES, 77), "cannot be decoded"),
        ];
        for (bytes, expected) in cases {
            let message = Entry::decode(&bytes, FEATURE_LEVEL).expect_err("unreadable").to_string();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn a_batch_is_cut_between_records_and_joined_again() {
        let mib = limits::ENTRY_BYTES;
        let cases: [(&[usize], usize); 6] = [
            (&[], 1),
            (&[10, 10, 10], 1),
            (&[mib], 1),
            (&[mib, mib], 2),
            (&[mib / 2, mib / 2, 10], 2),
            (&[10, 2 * mib, 10], 3),
        ];
        for (sizes, expected) in cases {
            let ops: Vec<_> =
                sizes.iter().enumerate().map(|(i, &bytes)| put(&i.to_string(), bytes)).collect();
            let whole = IndexCommand::Records { index: 7, ops };
            let parts = entries(3, Command::Index(whole.clone()));
            assert_eq!(parts.len(), expected, "{sizes:?}");
            let opened: Vec<_> =
                parts.iter().map(|bytes| Entry::decode(bytes, FEATURE_LEVEL).expect("own bytes")).collect();
            for (i, entry) in opened.iter().enumerate() {
                assert_eq!((entry.part as usize, entry.parts as usize, entry.time_ms), (i, expected, 3));
            }
            let commands = opened.into_iter().map(|entry| match entry.command {
                Command::Index(command) => command,
                Command::Meta(command) => panic!("{command:?}"),
            });
            assert_eq!(join(commands.collect()), whole);
        }
    }

    #[test]
    fn c20_many_rules_are_cut_and_replace_the_earlier_ones_once() {
        let document = |i: usize| RawDocument {
            object_id: i.to_string(),
            document: vec![b'x'; limits::RULE_CONSEQUENCE_BYTES_MAX],
        };
        let documents = |count: usize| (0..count).map(document).collect::<Vec<_>>();
        for (count, parts, replace) in [(0, 1, true), (10, 1, false), (25, 3, true), (25, 3, false)] {
            let whole = IndexCommand::SaveDocuments {
                index: 7,
                kind: DocumentKind::Rules,
                documents: documents(count),
                replace,
            };
            let cut = cut(whole.clone());
            assert_eq!(cut.len(), parts, "{count}");
            for (at, part) in cut.iter().enumerate() {
                let IndexCommand::SaveDocuments { replace: drops, .. } = part else { panic!("{part:?}") };
                assert_eq!(*drops, replace && at == 0);
            }
            assert_eq!(join(cut), whole);
            let forwarded = IndexCommand::Forward { command: Box::new(whole) };
            assert_eq!(join(super::cut(forwarded.clone())), forwarded);
        }
    }

    #[test]
    fn a_long_sequence_keeps_its_order() {
        let records = IndexCommand::Records {
            index: 7,
            ops: (0..3).map(|i| put(&i.to_string(), limits::ENTRY_BYTES / 2)).collect(),
        };
        let reset = IndexCommand::Settings { index: 7, changes: b"{}".to_vec(), replace: true };
        let whole = IndexCommand::Sequence { commands: vec![reset, records] };
        let parts = cut(whole.clone());
        assert_eq!(parts.len(), 4);
        assert_eq!(join(parts), whole);
    }
}
