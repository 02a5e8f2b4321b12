//! Names and numbers that identify things.

use crate::error::{Error, Result};
use crate::limits;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The name of an index: non-empty, at most 256 characters, any script, case-sensitive (C§2).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IndexName(Arc<str>);

impl IndexName {
    /// Checks and wraps a name. Errors: `Invalid` when empty, `*`, over the limit or with control characters.
    pub fn new(name: &str) -> Result<Self> {
        if name.is_empty() || name == "*" {
            return Err(Error::invalid("indexName is not valid: it must not be empty or \"*\""));
        }
        if name.chars().count() > limits::INDEX_NAME_CHARS_MAX {
            return Err(Error::invalid("indexName is not valid: it must have at most 256 characters"));
        }
        if name.chars().any(char::is_control) {
            return Err(Error::invalid("indexName is not valid: it must not contain control characters"));
        }
        Ok(IndexName(name.into()))
    }
    /// A name as the service keeps it: of a caller, or of the part of an index that another cluster has.
    pub fn stored(text: &str) -> Result<Self> {
        match text.split_once(BETWEEN) {
            Some((name, cluster)) => IndexName::new(name)?.partition_in(
                cluster
                    .parse()
                    .map_err(|_| Error::internal(format!("{cluster} is no number of a cluster")))?,
            ),
            None => IndexName::new(text),
        }
    }
    /// The name of the partition of this index that the cluster of a number has, when records are placed by user. It is no
    /// name of a caller.
    pub fn partition_in(&self, cluster: u16) -> Result<Self> {
        match self.partition() {
            (_, None) => Ok(IndexName(format!("{}{BETWEEN}{cluster}", self.0).into())),
            (_, Some(_)) => Err(Error::internal("a partition of an index has no partitions")),
        }
    }
    /// The index, and the number of the cluster when this is the name of the partition that a cluster has.
    pub fn partition(&self) -> (&str, Option<u16>) {
        match self.0.split_once(BETWEEN) {
            Some((name, cluster)) => (name, cluster.parse().ok()),
            None => (&self.0, None),
        }
    }
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
/// Between the name of an index and the number of a cluster; names of callers have no control characters.
const BETWEEN: char = '\u{1f}';

impl fmt::Display for IndexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a record in its index. Numbers in input become their decimal text (C§2).
pub type ObjectId = String;

/// A Raft group of the installation: 0 is the meta group, the others are placement groups (below 4,096).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupId(pub u16);

impl GroupId {
    /// The group that holds the catalogue, keys and clusters.
    pub const META: GroupId = GroupId(0);
    /// No group: in the id of a task it stands for a change of dictionaries, which the meta group decides on and every placement
    /// group has in force before it is published.
    pub const DICTIONARIES: GroupId = GroupId(0xfff);
}
impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A node of the installation: its number as a member of every Raft group. It follows from the identity in the data folder,
/// never from an address, and never comes back once the node was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub u64);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The public id of a write: `log_index << 12 | group`, below 2^53, routes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub u64);

impl TaskId {
    /// Packs the position of a command in its group's log.
    pub fn new(group: GroupId, log_index: u64) -> Self {
        debug_assert!(group.0 < 1 << 12 && log_index < 1 << 41);
        TaskId(log_index << 12 | u64::from(group.0))
    }
    /// The group whose log holds the command.
    pub fn group(self) -> GroupId {
        GroupId((self.0 & 0xfff) as u16)
    }
    /// The command's place in that log.
    pub fn log_index(self) -> u64 {
        self.0 >> 12
    }
}
