//! What a placement group's log says about indices: the commands that node machines apply.

use quorate_model::{DocumentKind, RecordOp, UserId};
use serde::{Deserialize, Serialize};

/// Identifies one life of an index: a name that is deleted and made again, or moved over, has another one.
///
/// It is `log_index << 12 | group` of the meta command that made it: unique for ever.
pub type Incarnation = u64;

/// A synonym or a rule as it is saved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawDocument {
    /// Its id.
    pub object_id: String,
    /// A raw JSON object with that id.
    #[serde(with = "serde_bytes")]
    pub document: Vec<u8>,
}

/// How a replica follows its primary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplicaKind {
    /// It holds the primary's records, indexed with its own settings.
    Standard,
    /// It holds settings only; searches run on the primary's records.
    Virtual,
}

/// An index that follows another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follower {
    /// The replica.
    pub incarnation: Incarnation,
    /// How it follows.
    pub kind: ReplicaKind,
}

/// A command on one index. Variants are numbered by their order: append, never reorder (style §2.5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum IndexCommand {
    /// Applies record operations in order, atomically. Makes the shard when the incarnation is new.
    Records {
        /// The index.
        index: Incarnation,
        /// The operations.
        ops: Vec<RecordOp>,
    },
    /// Changes settings: members replace, `null` resets.
    Settings {
        /// The index.
        index: Incarnation,
        /// A raw JSON object.
        #[serde(with = "serde_bytes")]
        changes: Vec<u8>,
        /// Drops every earlier setting first.
        replace: bool,
    },
    /// Makes `to` a copy of `from` (records, settings, synonyms, rules) as of this point of the log. A missing `from` gives an empty index.
    Copy {
        /// Source.
        from: Incarnation,
        /// Destination: a new incarnation in the same group.
        to: Incarnation,
    },
    /// Removes the index with its files.
    Drop {
        /// The index.
        index: Incarnation,
    },
    /// Several commands on one index, in order, as one.
    Sequence {
        /// The commands.
        commands: Vec<IndexCommand>,
    },
    /// Saves synonyms or rules. One with the id of another one replaces it, the last of a list wins.
    ///
    /// A change that would leave more of them than an index may have is none.
    SaveDocuments {
        /// The index.
        index: Incarnation,
        /// Which.
        kind: DocumentKind,
        /// What to save.
        documents: Vec<RawDocument>,
        /// Drops all earlier ones of the kind first.
        replace: bool,
    },
    /// Removes a synonym or a rule; a missing one is no error.
    DeleteDocument {
        /// The index.
        index: Incarnation,
        /// Which.
        kind: DocumentKind,
        /// Its id.
        object_id: String,
    },
    /// Lets exactly these indices follow `primary`: new ones are filled with its records as of this point of the log,
    /// and every later record operation on it is carried out on them, too. Those left out go their own way.
    Replicas {
        /// The index that is followed.
        primary: Incarnation,
        /// Which list it is; one that is not newer than the list in force changes nothing.
        revision: u64,
        /// All that follow.
        followers: Vec<Follower>,
    },
    /// Carries out a change of settings, synonyms or rules of an index also on all that follow it; virtual replicas take
    /// the settings that they may have.
    Forward {
        /// What is done to the index.
        command: Box<IndexCommand>,
    },
    /// Carries a command out for whoever moves or removes a user, and refuses all later ones of an earlier epoch: what
    /// somebody decided who has been overtaken since has no effect. It may name several indices of the group.
    ForUser {
        /// The user.
        user: UserId,
        /// The epoch of the user that it was decided on.
        epoch: u64,
        /// What is done.
        command: Box<IndexCommand>,
    },
    /// Lets every replica hash, later and elsewhere, what it holds at this place of the log. It changes nothing.
    Compare,
}
