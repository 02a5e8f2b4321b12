//! What a node is started with, and what a start says.

use crate::meta::IndexLimits;
use crate::snapshot;
use quorate_model::level;
use quorate_raft::LogLayer;
use quorate_store::files::{Files, RealFiles};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What a node is started with.
#[derive(Clone, Debug)]
pub struct ServiceOptions {
    /// The data folder; made when it is missing.
    pub data_dir: PathBuf,
    /// The application id; `None` = the one in the folder, or a new one. Another one than the folder's is refused.
    pub app_id: Option<String>,
    /// The admin key; `None` = the one of the installation, or a new one. Another one than at the last start that had one
    /// replaces that of the installation, except on a node that joins.
    pub admin_key: Option<String>,
    /// How long an admin key still counts after it was replaced by the one of this node.
    pub admin_key_overlap: Duration,
    /// Writes stop with 503 while less than this is free on the disk of the data folder.
    pub disk_reserve_bytes: u64,
    /// Bytes per second at which files of snapshots are fetched from other nodes, all groups together.
    pub snapshot_bytes_per_s: u64,
    /// Seconds for which nobody must have heard of a node before one with an empty folder takes its place by itself.
    pub take_over_s: u64,
    /// Whether the folder must hold the data of a node already.
    pub expects: Expected,
    /// The newest commands that this node takes part in, at most [`level::NEWEST`]. A lower one keeps the installation from
    /// using newer ones, so that an older program can still be started in the place of this one.
    pub command_level: u16,
    /// How many indices there may be.
    pub index_limits: IndexLimits,
    /// How files and replicas are checked.
    pub checks: CheckOptions,
    /// Threads that run searches; 0 = one for each processor.
    pub search_threads: usize,
    /// How long rows of events are kept, from the end of their day on.
    pub events_kept: Duration,
    /// After which time models of recommendations are made anew at the latest; `None`: only when somebody asks.
    pub model_builds: Option<Duration>,
    /// Whether the last calls of clients are kept (C§14).
    pub request_log: bool,
    /// How long a group that failed stands still before it is opened anew; each time it fails again, twice as long.
    pub reopen_after: Duration,
    /// The file layer, so that tests can cut the power.
    pub files: Arc<dyn Files>,
    /// The same of the raft log.
    pub log: LogLayer,
    /// Its place among other nodes.
    pub cluster: ClusterOptions,
    /// Where rows of events go beside the node's files; `None` = nowhere.
    pub events_sink: Option<Arc<dyn EventSink>>,
}

/// Takes lines of JSON, a row of an event each.
pub trait EventSink: fmt::Debug + Send + Sync {
    /// Sends lines and waits, for a bounded time, until they are taken. Errors: they may not be, with the reason for operators, who
    /// see no credentials and no rows in it.
    fn send(&self, lines: &[u8]) -> Result<(), String>;
}

/// What the operator knows of a data folder before a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Nothing: an empty one is filled.
    Anything,
    /// It holds the data of a node: an empty one is a disk that is not mounted.
    Data,
}

impl ServiceOptions {
    /// The usual options for a data folder.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        ServiceOptions {
            data_dir: data_dir.into(),
            app_id: None,
            admin_key: None,
            admin_key_overlap: ADMIN_KEY_OVERLAP,
            disk_reserve_bytes: DISK_RESERVE_BYTES,
            snapshot_bytes_per_s: snapshot::fetch::BYTES_PER_S,
            take_over_s: TAKE_OVER_S,
            expects: Expected::Anything,
            command_level: level::NEWEST,
            index_limits: IndexLimits::default(),
            checks: CheckOptions::default(),
            search_threads: 0,
            events_kept: EVENTS_KEPT,
            model_builds: Some(MODEL_BUILDS),
            request_log: true,
            reopen_after: REOPEN_AFTER,
            files: RealFiles::shared(),
            log: LogLayer::default(),
            cluster: ClusterOptions::default(),
            events_sink: None,
        }
    }
}

/// How long an admin key that is replaced still counts by default: longer than nodes and clients are restarted one by one.
pub const ADMIN_KEY_OVERLAP: Duration = Duration::from_secs(3_600);

/// Bytes of the disk that stay free by default: enough for the log and the segments of writes under way.
pub const DISK_RESERVE_BYTES: u64 = 256 << 20;

/// How long rows of events are kept by default.
pub const EVENTS_KEPT: Duration = Duration::from_secs(90 * 24 * 3_600);

/// The default of [`ServiceOptions::model_builds`]: old rows have left the window by then, and forgotten users the rows.
const MODEL_BUILDS: Duration = Duration::from_secs(24 * 3_600);

/// The default of [`ServiceOptions::reopen_after`].
const REOPEN_AFTER: Duration = Duration::from_secs(10);

/// For how long the node whose place it is must not have been heard of by anybody, unless configured otherwise.
pub const TAKE_OVER_S: u64 = 600;

/// The cluster of a node that nobody gave one.
pub const FIRST_CLUSTER: &str = "main";

/// What makes a node one of several.
#[derive(Clone, Debug)]
pub struct ClusterOptions {
    /// The name of the node; `None` = the one it has, at first one made of its identity.
    pub node_name: Option<String>,
    /// The cluster it belongs to (C§15); `None` = the one it is in, at first [`FIRST_CLUSTER`].
    pub cluster: Option<String>,
    /// Where it listens for other nodes; `None` = it has none.
    pub peer_listen: Option<SocketAddr>,
    /// Where others find it, HOST:PORT; `None` = where it listens.
    pub peer_address: Option<String>,
    /// Where clients find it, HOST:PORT; for operators and proxies.
    pub http_address: String,
    /// Peer addresses of nodes of the installation to join; empty = found one.
    pub join: Vec<String>,
    /// Turns the mapping of users to clusters on, for the whole installation and for good (C§15).
    pub multi_cluster: bool,
    /// What all nodes of the installation share; `None` = the one in the folder, or a new one.
    pub join_token: Option<String>,
    /// Another one that counts, while the token is replaced node by node.
    pub join_token_also: Option<String>,
}

impl Default for ClusterOptions {
    /// A node without others.
    fn default() -> Self {
        ClusterOptions {
            node_name: None,
            cluster: None,
            peer_listen: None,
            peer_address: None,
            http_address: String::new(),
            join: vec![],
            multi_cluster: false,
            join_token: None,
            join_token_also: None,
        }
    }
}

/// How the checks go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// Bytes of files and records read in a second.
    pub bytes_per_s: u64,
    /// From the beginning of one pass to that of the next, at least.
    pub every: Duration,
    /// How long the entries of a group wait for a state that is taken anew, each time.
    pub anew_within: Duration,
}

impl Default for CheckOptions {
    /// What costs some hundredths of a processor at most.
    fn default() -> Self {
        let (every, anew_within) = (Duration::from_secs(3_600), Duration::from_secs(30 * 60));
        CheckOptions { bytes_per_s: 4_000_000, every, anew_within }
    }
}

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
