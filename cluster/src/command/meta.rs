//! The commands of the meta group, and a row of facts for each.
//!
//! A new one is a variant behind the last one, its row in [`MetaCommand::row`], and an arm of `MetaState::carry_out`
//! (`meta/mod.rs`), which applies it. Everybody else asks the row.

use super::{Copied, Joining, Looked, Moved, NodeState, Source, Subject, UserStep, WantedReplica};
use quorate_model::dictionary::StandardChange;
use quorate_model::level;
use quorate_model::{AllowedSource, DictionaryKind, DictionaryOp, GroupId, IndexName, NodeId, UserId};
use quorate_node::ops::Incarnation;
use serde::{Deserialize, Serialize};

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
    /// A process start. Its log index makes the ids that this process makes unlike those of every other one.
    StartNode,
    /// Replaces the admin key at once; programs from [`level::KEY_ROTATION`] on propose `RotateAdminKey`.
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
    /// Takes a name out of the catalogue if it still has this incarnation, and tombstones what it stood for.
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
        /// For each replica of the destination a reserved incarnation in the group of the source, and for partitions of them.
        replicas: Vec<Moved>,
    },
    /// Reserves an incarnation, which is this command's task id, as the destination of a copy.
    BeginCopy {
        /// Group of the source, hence of the copy.
        group: GroupId,
    },
    /// Ends a copy: lets a name stand for a reserved incarnation and tombstones what it stood for.
    PointIndex {
        /// The destination's name.
        name: IndexName,
        /// The reserved incarnation.
        incarnation: Incarnation,
        /// Its group.
        group: GroupId,
    },
    /// Gives up and tombstones a reserved incarnation.
    AbandonCopy {
        /// The reserved incarnation.
        incarnation: Incarnation,
    },
    /// A tombstoned incarnation has been dropped in its group.
    Dropped {
        /// The incarnation.
        incarnation: Incarnation,
    },
    /// Lets exactly these names be the replicas of an index, all or, if one cannot, none; their partitions follow its partitions.
    ///
    /// The incarnations of names that are new are this command's task id and the numbers after it.
    SetReplicas {
        /// The primary.
        name: IndexName,
        /// The life of it that the caller saw.
        incarnation: Incarnation,
        /// All its replicas, and what is prepared for partitions of them.
        replicas: Vec<WantedReplica>,
    },
    /// A placement group has been told what the meta group decided of something that it keeps, too.
    Announced {
        /// What it was told of.
        subject: Subject,
        /// The meta log index of what was decided.
        revision: u64,
    },
    /// Adds a key or replaces the one with its value; from [`level::MANAGED_KEYS`] on nobody proposes it.
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
    /// Lets every cluster have its partition of an index: for clusters that came after it.
    MakePartitions {
        /// The index.
        name: IndexName,
    },
    /// Has everything announced again that a placement group has to know: it may have forgotten.
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
    /// Ends a copy of an index with all its partitions, or of one that is missing, unless the source has been replaced meanwhile:
    /// a name stands for what is reserved, and what it and its partitions stood for is tombstoned.
    PointCopy {
        /// The destination's name.
        name: IndexName,
        /// What was copied.
        sources: Vec<Source>,
        /// The copies: one of the index, which has the destination's name, and one of each partition.
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
    /// Replaces the list of allowed sources; an empty one lets everybody in.
    SetSources {
        /// All of them, at most [`quorate_model::limits::SOURCES_MAX`].
        sources: Vec<AllowedSource>,
    },
    /// Adds a source to the list, unless that is full, or describes anew the one that is there.
    AppendSource {
        /// The source.
        source: AllowedSource,
    },
    /// Takes a source out of the list.
    RemoveSource {
        /// How it stands there.
        source: String,
    },
    /// Changes the custom entries of a dictionary; a change that would leave too many of them is none.
    ChangeDictionary {
        /// Which.
        kind: DictionaryKind,
        /// Removes all of them first.
        clear: bool,
        /// What is done then, in order.
        ops: Vec<DictionaryOp>,
    },
    /// Switches standard entries of dictionaries off and on.
    SetStandardEntries {
        /// What becomes of those of each dictionary, by its number.
        changes: [StandardChange; 3],
    },
    /// Adds a key unless one has its value or there are too many; it is created at the time of this entry.
    CreateKey {
        /// The key as a JSON document.
        #[serde(with = "serde_bytes")]
        key: Vec<u8>,
    },
    /// Replaces what a living key may do: it keeps its index and the time of its creation, and is valid from this entry on.
    UpdateKey {
        /// The key as a JSON document.
        #[serde(with = "serde_bytes")]
        key: Vec<u8>,
    },
    /// Lets a deleted key that is still known live again, without an end, unless there are too many.
    RestoreKey {
        /// The key string.
        value: String,
    },
    /// Removes every key whose end was a while before the time of this entry.
    RemoveEndedKeys,
    /// Keeps a configuration of query suggestions and wants its index built, unless there are too many, it reads what it makes, or
    /// there is one that has to be new.
    PutSuggestions {
        /// The configuration as a JSON document.
        #[serde(with = "serde_bytes")]
        config: Vec<u8>,
        /// Whether there may be none of this index yet.
        is_new: bool,
    },
    /// Removes a configuration of query suggestions; the index stays.
    DeleteSuggestions {
        /// The suggestions index.
        index: IndexName,
    },
    /// Wants a suggestions index built anew.
    AskForSuggestions {
        /// The suggestions index.
        index: IndexName,
    },
    /// A node begins to build a suggestions index; whoever has begun before is overtaken.
    BeginSuggestions {
        /// The suggestions index.
        index: IndexName,
        /// The node.
        node: NodeId,
    },
    /// A build of a suggestions index has ended.
    EndSuggestions {
        /// The suggestions index.
        index: IndexName,
        /// The log index of its begin.
        begun_at: u64,
        /// Whether the index has what it found.
        is_success: bool,
        /// Its log, compressed.
        #[serde(with = "serde_bytes")]
        log: Vec<u8>,
    },
    /// Reserves an incarnation, which is this command's task id, for what a name will stand for as a replica, or for a partition of that.
    BeginReplica {
        /// The name whose configuration it will have.
        name: IndexName,
        /// Group of what it will follow.
        group: GroupId,
    },
    /// Takes a key away from one of the indices that it is for; it is deleted with the last one.
    DeleteKeyOf {
        /// The key string.
        value: String,
        /// The index.
        index: IndexName,
    },
    /// Lets the keys that are for an index alone be for a copy of it as well.
    CopyKeys {
        /// The index.
        from: IndexName,
        /// The copy.
        to: IndexName,
    },
}

/// What has to be known of a command beside what applying it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaRow {
    /// Its place among the variants: the byte that stands for it in a log.
    pub number: u8,
    /// The programs that know it are those of this level and above.
    pub level: u16,
    /// Whether it may make indices: then there must be room for them (`meta/index_limits.rs` counts them).
    pub makes_indices: bool,
}

impl MetaCommand {
    /// Its row.
    pub fn row(&self) -> MetaRow {
        let row = |number, level| MetaRow { number, level, makes_indices: false };
        let making = |number, level| MetaRow { number, level, makes_indices: true };
        match self {
            MetaCommand::SetUp { .. } => row(0, level::FIRST),
            MetaCommand::StartNode => row(1, level::FIRST),
            MetaCommand::SetAdminKey { .. } => row(2, level::FIRST),
            MetaCommand::CreateIndex { .. } => making(3, level::FIRST),
            MetaCommand::DeleteIndex { .. } => row(4, level::FIRST),
            MetaCommand::MoveIndex { .. } => row(5, level::FIRST),
            MetaCommand::BeginCopy { .. } => making(6, level::FIRST),
            MetaCommand::PointIndex { .. } => row(7, level::FIRST),
            MetaCommand::AbandonCopy { .. } => row(8, level::FIRST),
            MetaCommand::Dropped { .. } => row(9, level::FIRST),
            MetaCommand::SetReplicas { .. } => making(10, level::FIRST),
            MetaCommand::Announced { .. } => row(11, level::FIRST),
            MetaCommand::PutKey { .. } => row(12, level::FIRST),
            MetaCommand::DeleteKey { .. } => row(13, level::FIRST),
            MetaCommand::AddNode { .. } => row(14, level::FIRST),
            MetaCommand::SetNodeState { .. } => row(15, level::FIRST),
            MetaCommand::Place { .. } => row(16, level::FIRST),
            MetaCommand::EnableUsers => row(17, level::OF_USERS),
            MetaCommand::AssignUsers { .. } => row(18, level::OF_USERS),
            MetaCommand::MoveUser { .. } => row(19, level::OF_USERS),
            MetaCommand::RemoveUser { .. } => row(20, level::OF_USERS),
            MetaCommand::StepUser { step: UserStep::Thaw, .. } => row(21, level::LOOKED),
            MetaCommand::StepUser { .. } => row(21, level::OF_USERS),
            MetaCommand::MakePartitions { .. } => row(22, level::OF_USERS),
            MetaCommand::Reannounce { .. } => row(23, level::PARTITIONS_FOLLOW),
            MetaCommand::RotateAdminKey { .. } => row(24, level::KEY_ROTATION),
            MetaCommand::StepUserAfterLook { .. } => row(25, level::LOOKED),
            MetaCommand::PointCopy { .. } => row(26, level::LOOKED),
            MetaCommand::BeginCopies { .. } => making(27, level::LOOKED),
            MetaCommand::TakePlace { .. } => row(28, level::PLACES_COUNT),
            MetaCommand::Compare => row(29, level::COMPARE),
            MetaCommand::SetSources { .. } => row(30, level::SOURCES),
            MetaCommand::AppendSource { .. } => row(31, level::SOURCES),
            MetaCommand::RemoveSource { .. } => row(32, level::SOURCES),
            MetaCommand::ChangeDictionary { .. } => row(33, level::DICTIONARIES),
            MetaCommand::SetStandardEntries { .. } => row(34, level::DICTIONARIES),
            MetaCommand::CreateKey { .. } => row(35, level::MANAGED_KEYS),
            MetaCommand::UpdateKey { .. } => row(36, level::MANAGED_KEYS),
            MetaCommand::RestoreKey { .. } => row(37, level::MANAGED_KEYS),
            MetaCommand::RemoveEndedKeys => row(38, level::MANAGED_KEYS),
            MetaCommand::PutSuggestions { .. } => row(39, level::RECOMMEND),
            MetaCommand::DeleteSuggestions { .. } => row(40, level::RECOMMEND),
            MetaCommand::AskForSuggestions { .. } => row(41, level::RECOMMEND),
            MetaCommand::BeginSuggestions { .. } => row(42, level::RECOMMEND),
            MetaCommand::EndSuggestions { .. } => row(43, level::RECOMMEND),
            MetaCommand::BeginReplica { .. } => making(44, level::RESERVED_FOR),
            MetaCommand::DeleteKeyOf { .. } => row(45, level::COPIED_KEYS),
            MetaCommand::CopyKeys { .. } => row(46, level::COPIED_KEYS),
        }
    }
}
