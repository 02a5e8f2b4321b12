//! What the interface calls: every write and read of the service, wherever it is carried out.

use quorate_model::{ApiKey, Error, FacetHits, IndexName, RecordOp, Result, SearchParams, SearchResults, Settings, TaskId};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

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
    /// Add or replace. `object_id` of `None` asks for a generated one. `record` is a raw JSON object; if it has a
    /// member objectID it equals `object_id`.
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
/// `operation` of §4.5.
#[derive(Clone, Debug)]
pub enum IndexOperation {
    /// Copies records and settings, or with `scope` only the named parts.
    Copy {
        /// Any of `settings`, `synonyms`, `rules`; `None` = everything.
        scope: Option<Vec<String>>,
    },
    /// Renames over the destination.
    Move,
}
/// One element of a multi-get (§4.3).
#[derive(Clone, Debug)]
pub struct ObjectRequest {
    /// Index.
    pub index: IndexName,
    /// Record.
    pub object_id: String,
    /// Paths to return; `None` = all.
    pub attributes_to_retrieve: Option<Vec<String>>,
}
/// What the caller's key lets a read show.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadRights {
    /// Admin key or the right seeUnretrievableAttributes.
    pub sees_unretrievable: bool,
    /// Cap of hitsPerPage from the key; 0 = none.
    pub max_hits_per_query: u64,
}
/// A row of `GET /1/indexes` (§2.4).
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
}
/// Whether this node can do its work, and why not.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// Reasons against reads; empty = ready.
    pub reads: Vec<String>,
    /// Reasons against writes; empty = ready.
    pub writes: Vec<String>,
}

/// The service of one node. Cheap to clone.
#[derive(Clone)]
pub struct Service {}

impl Service {
    /// Applies `ops` to one index in order, atomically; creates the index when it is missing. `DeleteIndex` is allowed anywhere.
    pub async fn write_records(&self, _index: &IndexName, _ops: Vec<CallerOp>) -> Result<Receipt> {
        Err(Error::internal("not wired"))
    }
    /// Same for several indices, one entry and one task each, ids in the order of the operations.
    pub async fn write_many(&self, _ops: Vec<(IndexName, CallerOp)>) -> Result<(BTreeMap<IndexName, TaskId>, Vec<String>, String)> {
        Err(Error::internal("not wired"))
    }
    /// Changes settings: members of `changes` replace, `null` resets. Already validated by `Settings::merge`.
    pub async fn set_settings(&self, _index: &IndexName, _changes: Map<String, Value>, _forward_to_replicas: bool) -> Result<Receipt> {
        Err(Error::internal("not wired"))
    }
    /// Removes an index; a missing one is no error.
    pub async fn delete_index(&self, _index: &IndexName) -> Result<Receipt> {
        Err(Error::internal("not wired"))
    }
    /// Copies or moves (C§3.2).
    pub async fn operate(&self, _source: &IndexName, _destination: &IndexName, _operation: IndexOperation) -> Result<Receipt> {
        Err(Error::internal("not wired"))
    }
    /// The settings of an index. Errors: `NotFound`.
    pub async fn settings(&self, _index: &IndexName) -> Result<Arc<Settings>> {
        Err(Error::internal("not wired"))
    }
    /// Every index, by name.
    pub async fn indices(&self) -> Result<Vec<IndexInfo>> {
        Err(Error::internal("not wired"))
    }
    /// Runs one query. Errors: `NotFound`, `Invalid`, `Unavailable` when the search queue is full.
    pub async fn search(&self, _index: &IndexName, _params: SearchParams, _rights: ReadRights) -> Result<SearchResults> {
        Err(Error::internal("not wired"))
    }
    /// One page of a browse; the next position is in `cursor` (§4.2 rules 5 and 6, C§8.8).
    pub async fn browse(&self, _index: &IndexName, _params: SearchParams, _after: Option<Vec<u8>>, _rights: ReadRights) -> Result<SearchResults> {
        Err(Error::internal("not wired"))
    }
    /// Values of a facet that match `facet_query` among the records `params` selects.
    pub async fn search_facet(&self, _index: &IndexName, _facet: &str, _facet_query: &str, _params: SearchParams) -> Result<FacetHits> {
        Err(Error::internal("not wired"))
    }
    /// Records by id, in request order, as raw JSON; `None` where there is none. Errors: `NotFound` for a missing index.
    pub async fn objects(&self, _requests: Vec<ObjectRequest>, _rights: ReadRights) -> Result<Vec<Option<Vec<u8>>>> {
        Err(Error::internal("not wired"))
    }
    /// Whether every reader sees the write (C§1.6: an id beyond the last issued one is not published).
    pub async fn is_published(&self, _task: TaskId) -> Result<bool> {
        Err(Error::internal("not wired"))
    }
    /// The application id of the installation.
    pub fn app_id(&self) -> &str {
        ""
    }
    /// The key with this value, if it exists and has not expired. Constant-time comparison is the caller's work.
    pub fn key(&self, _value: &str) -> Option<Arc<ApiKey>> {
        None
    }
    /// All keys but the admin key, for the check of secured keys (C§13.3).
    pub fn keys(&self) -> Vec<Arc<ApiKey>> {
        vec![]
    }
    /// Whether `value` is the admin key; constant time.
    pub fn is_admin_key(&self, _value: &str) -> bool {
        false
    }
    /// Whether this node can serve.
    pub fn health(&self) -> Health {
        Health::default()
    }
}
