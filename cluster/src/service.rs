//! What the interface calls: every write and read of the service, wherever it is carried out.

use quorate_model::{ApiKey, Error, FacetHits, IndexName, RecordOp, Result, SearchParams, SearchResults, Settings, TaskId};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use quorate_store::files::{Files, RealFiles};
use std::path::PathBuf;
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

/// What a node is started with.
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// The data folder; made when it is missing.
    pub data_dir: PathBuf,
    /// The application id; `None` = the one in the folder, or a new one. Another one than the folder's is refused.
    pub app_id: Option<String>,
    /// The admin key; `None` = the one in the folder, or a new one. Another one than the folder's replaces it.
    pub admin_key: Option<String>,
    /// Writes stop with 503 while less than this is free on the disk of the data folder.
    pub disk_reserve_bytes: u64,
    /// Threads that run searches; 0 = one for each processor.
    pub search_threads: usize,
    /// The file layer, so that tests can cut the power.
    pub files: Arc<dyn Files>,
}
impl ServiceOptions {
    /// The usual options for a data folder.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        ServiceOptions {
            data_dir: data_dir.into(),
            app_id: None,
            admin_key: None,
            disk_reserve_bytes: DISK_RESERVE_BYTES,
            search_threads: 0,
            files: RealFiles::shared(),
        }
    }
}
/// Bytes of the disk that stay free by default: enough for the log and the segments of writes under way.
pub const DISK_RESERVE_BYTES: u64 = 256 << 20;

/// What a start found or made.
#[derive(Clone, Debug)]
pub struct Started {
    /// The application id of the installation.
    pub app_id: String,
    /// The file with the admin key, mode 0600.
    pub admin_key_path: PathBuf,
    /// A search-only key, if there is one.
    pub search_key: Option<String>,
    /// Whether this start replaced an earlier admin key.
    pub replaced_admin_key: bool,
    /// Whether this start made the installation.
    pub first_start: bool,
    /// What the operator should know, one sentence each.
    pub warnings: Vec<String>,
}

/// The service of one node. Cheap to clone.
#[derive(Clone)]
pub struct Service {}

impl Service {
    /// Opens the data folder and starts the node: returns when its groups have leaders and the log is applied.
    ///
    /// Must run inside an actix system. Errors: the folder is in use, of a newer format, of another application id, or
    /// damaged beyond what the log can rebuild.
    pub async fn open(_options: ServiceOptions) -> Result<(Service, Started)> {
        Err(Error::internal("not wired"))
    }
    /// Stops the node: waits for writes under way, dumps the small state, closes every file. Later calls answer 503.
    pub async fn shutdown(&self) {}
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
