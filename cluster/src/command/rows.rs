//! What commands of the meta group hold beside names and numbers. Their bytes are in logs: fields are only ever appended.

use quorate_model::{GroupId, IndexName};
use quorate_node::ops::{Incarnation, ReplicaKind};
use serde::{Deserialize, Serialize};

/// How a node introduces itself; also at later starts, when its addresses or its program may have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joining {
    /// Its name.
    pub name: String,
    /// Its cluster.
    pub cluster: String,
    /// Where its peers find it.
    pub peer: String,
    /// Where its clients find it.
    pub http: String,
    /// The newest commands its program knows.
    pub level: u16,
}

/// Whether a node takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeState {
    /// It may hold replicas and lead.
    Active,
    /// Its replicas move away; it still answers.
    Draining,
    /// It is gone for good: its number never comes back, and peers do not speak to it.
    Removed,
}

/// A replica as a list names it, or what is prepared for the partition of one that another cluster has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedReplica {
    /// Its name.
    pub name: IndexName,
    /// How it is to follow.
    pub kind: ReplicaKind,
    /// A reserved incarnation in the primary's group, with the settings of the index that has the name now.
    pub prepared: Option<Incarnation>,
}

/// Where a replica of the destination of a move goes on, or the partition of one that another cluster has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Its name.
    pub name: IndexName,
    /// A reserved incarnation in the group of what it will follow, with the replica's settings.
    pub incarnation: Incarnation,
}

/// Something that the meta group decides and placement groups keep, too (`meta/announcements.rs`).
///
/// Logs and rows name it by a number. That of an index is its incarnation, which is 4,096 at least; those below are the
/// numbers of groups, free for what all indices of a group share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "u64", into = "u64")]
pub enum Subject {
    /// What follows a primary.
    Replicas(Incarnation),
    /// The dictionaries, in this group.
    Dictionaries(GroupId),
}

/// Below it are the numbers of groups.
const FIRST_INCARNATION: u64 = 1 << 12;

impl From<u64> for Subject {
    fn from(number: u64) -> Subject {
        match u16::try_from(number) {
            Ok(group) if number < FIRST_INCARNATION => Subject::Dictionaries(GroupId(group)),
            Ok(_) | Err(_) => Subject::Replicas(number),
        }
    }
}
impl From<Subject> for u64 {
    fn from(subject: Subject) -> u64 {
        match subject {
            Subject::Replicas(primary) => primary,
            Subject::Dictionaries(group) => u64::from(group.0),
        }
    }
}

/// The catalogue in which somebody has been at every index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// The log index of the last command that had changed it.
    pub changed: u64,
    /// Copies that begin after this log index take what was done to the indices.
    pub through: u64,
}

/// An index or a partition of one that was copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its name.
    pub name: IndexName,
    /// The life of it that was copied.
    pub incarnation: Incarnation,
}

/// The copy of an index or of a partition of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copied {
    /// The name that it gets.
    pub name: IndexName,
    /// A reserved incarnation.
    pub incarnation: Incarnation,
    /// Its group.
    pub group: GroupId,
}

/// The next step of a move or a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UserStep {
    /// Most records are copied: writes wait from now on.
    Freeze,
    /// Everything is copied: reads go to the new cluster.
    Flip,
    /// The old cluster has nothing of the user any more.
    Settle,
    /// The move ends where it began; what was copied is deleted.
    GiveUp,
    /// Nothing of a removed user is left.
    Forget,
    /// Every node reads in the new cluster: writes go on there.
    Land,
    /// Writes go on where they were; the move is tried again later. From [`quorate_model::level::LOOKED`] on.
    Thaw,
}
