//! What the rooms of this crate hand to each other, and to callers: what is asked for and what is answered.

use quorate_model::analytics::Day;
use quorate_model::{GroupId, IndexName, RecommendModel, RecordOp, TaskId, UserId};
use quorate_node::page::After;
use quorate_node::{Digest, EventsDigest, IndexDigest, Installed, ModelKey, Report};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The answer to a write that is on disk on a majority.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// Identifies the write; `published` once every reader sees it.
    pub task_id: TaskId,
    /// RFC 3339 UTC with milliseconds.
    pub updated_at: String,
    /// One per operation that names a record, in order, generated ones included (C§3.5).
    pub object_ids: Vec<String>,
}

/// A record operation as the caller gave it: the id may still be missing, the record may still lack it.
#[derive(Clone, Debug)]
pub enum CallerOp {
    /// Add or replace, as `quorate_model::record::parse_record` gives it: `object_id` of `None` asks for a generated one,
    /// which is put into `record`; otherwise `record` contains it.
    Put {
        /// The id, if the caller gave one.
        object_id: Option<String>,
        /// Raw JSON object.
        record: Vec<u8>,
    },
    /// An operation that is complete as it is (Partial, Delete, DeleteBy, Clear).
    Ready(RecordOp),
    /// Removes records, settings, everything (batch action `delete`).
    DeleteIndex,
}

/// `operation` of C§3.2.
#[derive(Clone, Debug)]
pub enum IndexOperation {
    /// Copies everything, or with `scope` only the named parts.
    Copy {
        /// Any of `settings`, `synonyms`, `rules`; `None` = everything.
        scope: Option<Vec<String>>,
        /// Whether the keys that are for the source alone come along with everything: who manages keys says so.
        keys: bool,
    },
    /// Renames over the destination.
    Move,
}

/// One element of a multi-get (C§3.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectRequest {
    /// Index.
    pub index: IndexName,
    /// Record.
    pub object_id: String,
    /// Paths to return; `None` = all.
    pub attributes_to_retrieve: Option<Vec<String>>,
}

/// What the caller's key lets a read show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadRights {
    /// Admin key or the right seeUnretrievableAttributes.
    pub sees_unretrievable: bool,
    /// Cap of hitsPerPage from the key; 0 = none.
    pub max_hits_per_query: u64,
    /// Bytes of the hits or records at most; 0 = [`quorate_model::limits::ANSWER_BYTES_MAX`], also where an older program asks.
    #[serde(default)]
    pub bytes_max: usize,
}

/// A row of `GET /1/indexes` (C§3.1).
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct IndexInfo {
    pub name: IndexName,
    pub created_at: String,
    pub updated_at: String,
    pub entries: u64,
    pub data_size: u64,
    pub file_size: u64,
    pub last_build_time_s: u64,
    pub pending_tasks: u64,
    pub primary: Option<IndexName>,
    pub replicas: Vec<String>,
    /// Whether it is a virtual replica.
    pub is_virtual: bool,
}

/// The stored ids of an owner's records, each with a number that differs when the records do.
pub type OwnedDigest = BTreeMap<String, u64>;

/// For each owner the records and their bytes.
pub type Owners = BTreeMap<String, (u64, u64)>;

/// Which records are asked about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Whose {
    /// Their owner.
    pub owner: UserId,
    /// Only those with these stored ids.
    pub ids: Option<Vec<String>>,
}

/// Hashes of what one node holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeDigest {
    /// The node.
    pub node: String,
    /// Its replicas, without the meta group.
    pub groups: Vec<GroupDigest>,
}

/// Hashes of what one replica holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupDigest {
    /// Its group.
    pub group: GroupId,
    /// The log index that it is of.
    pub through: u64,
    /// Whether nothing was applied while the indices were looked at: then it is of exactly that log index.
    pub is_exact: bool,
    /// Its indices, in the order of their incarnations.
    pub indices: Vec<NamedDigest>,
    /// Incarnations of which nobody can say what they held, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<u64>,
    /// Of the meta group: its parts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, Digest>,
    /// Of a placement group: what it holds beside indices, if that is known. Nodes of earlier programs do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<EventsDigest>,
}

impl GroupDigest {
    /// Of a group that held nothing at a log index.
    pub fn of(group: GroupId, through: u64) -> GroupDigest {
        GroupDigest {
            group,
            through,
            is_exact: true,
            indices: vec![],
            unknown: vec![],
            parts: BTreeMap::new(),
            events: None,
        }
    }
}

/// Hashes of what one replica has of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedDigest {
    /// Its name; nothing for one that the catalogue does not name (any more).
    pub index: Option<String>,
    /// Which life of which index.
    pub incarnation: u64,
    /// The hashes.
    #[serde(flatten)]
    pub digest: IndexDigest,
}

/// Something that is not as it should be on this node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The group.
    pub group: GroupId,
    /// What it is, with file or index, and what is done about it.
    pub what: String,
}

/// Which dictionaries a language has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryLanguage {
    /// Its code.
    pub code: &'static str,
    /// Custom entries in each dictionary, by its number; `None` where the language has neither standard nor custom ones.
    pub entries: [Option<u64>; 3],
}

/// A model of recommendations, as the node that leads its group knows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelFigures {
    /// The name of the index.
    pub index: IndexName,
    /// Which.
    pub model: RecommendModel,
    /// The one that is in force, if there is one.
    pub installed: Option<Installed>,
    /// What it learned from; of one that is not in force the last build.
    pub report: Option<Report>,
    /// Whether it waits for being built or is being built.
    pub is_awaited: bool,
    /// The last build since the node leads.
    pub last_build: Option<BuildAttempt>,
}

/// What became of a build.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BuildAttempt {
    /// When it ended, Unix milliseconds.
    pub at_ms: u64,
    /// How long it took.
    pub took_ms: u64,
    /// Why there is no model of it.
    pub reason: Option<String>,
}

impl ModelFigures {
    /// Of a model of which nothing is known yet.
    pub fn of(key: &ModelKey) -> ModelFigures {
        let ModelKey { index, model } = key.clone();
        ModelFigures { index, model, installed: None, report: None, is_awaited: false, last_build: None }
    }
}

/// What is there of events.
#[derive(Clone, Debug, PartialEq)]
pub struct EventsFound {
    /// Groups that have a replica on a node that answered.
    pub groups: Vec<EventsOfGroup>,
    /// Nodes that did not answer.
    pub unheard: Vec<UnheardNode>,
}

/// What is there of the events of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct EventsOfGroup {
    /// The group.
    pub group: GroupId,
    /// Rows of each day, as the replica says that has most: those that are repeated and not merged yet count more than once.
    pub days: BTreeMap<Day, u64>,
    /// On each node.
    pub replicas: Vec<EventReplica>,
}

/// What a node has of the events of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct EventReplica {
    /// The name of the node.
    pub node: String,
    /// Entries of the log that another node has applied and this one has not.
    pub lag_entries: u64,
    /// The first day that has rows.
    pub oldest: Option<Day>,
    /// The last one.
    pub newest: Option<Day>,
    /// Rows in files.
    pub rows: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Rows in memory.
    pub waiting_rows: u64,
    /// Bytes of these.
    pub waiting_bytes: u64,
    /// Bytes of files that are derived of rows.
    pub rollup_bytes: u64,
    /// Files that are damaged or gone.
    pub lost_files: u64,
    /// Rows of these, as far as they are known.
    pub lost_rows: u64,
}

/// A node that did not answer.
#[derive(Clone, Debug, PartialEq)]
pub struct UnheardNode {
    /// Its name.
    pub node: String,
    /// Why.
    pub reason: String,
}

/// Rows of events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowsPage {
    /// How many.
    pub rows: u64,
    /// The last one, when others may follow.
    pub next: Option<After>,
    /// A Parquet file, base64; empty when there are no rows.
    pub parquet: String,
}
