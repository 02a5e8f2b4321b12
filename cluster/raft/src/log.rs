//! Where the logs of all groups of a node are kept: one `raft-engine` store, one sync for everything that waits.

use crate::core::{LogReader, Stored};
use crate::effects::{Persist, Position};
use crate::error::RaftError;
use crate::leaving::leave;
use crate::log_batch::{
    EntryExt, FORMAT, KEY_CONF, KEY_FORMAT, KEY_HARD_STATE, KEY_IDENTITY, KEY_LEFT, KEY_RESTORED,
    KEY_SNAPSHOT, KEY_TRUNCATED, region,
};
use crate::log_engine::OpenEngine;
use crate::log_files::{EngineFiles, LogFiles, RealLogFiles};
use crate::log_inspect::{self, Torn};
use crate::log_mark::{Durable, MarkWriter};
use crate::log_writer::{Shared, run};
use quorate_model::GroupId;
use quorate_store::space::Room;
use raft::eraftpb::{Entry, HardState, Snapshot, SnapshotMetadata};
use raft_engine::{Config, ReadableSize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Bytes of one file of the log.
const FILE_BYTES: u64 = 32 << 20;
/// Files of the log above which those without live entries are removed and thin ones rewritten.
const PURGE_FILES: u64 = 2;

/// The part of the entries in rewritten files that may be dead before these are written once more: the engine counts entries and
/// not bytes, and a few dead ones of 8 MiB among many small ones fill a disk.
const REWRITTEN_GARBAGE_RATIO: f64 = 0.0;
/// Time between two looks for files that may be removed.
const PURGE_EVERY: Duration = Duration::from_secs(2);
/// Time between two looks for entries that are to leave the disk: each that finds some writes what is live anew.
const ERASE_EVERY: Duration = Duration::from_secs(45);

/// What the log tells a group about its writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// Everything up to this [`Persist::seq`] is durable.
    Persisted(u64),
    /// The log cannot be written for this reason. What was handed in is kept and tried again.
    Stalled(String),
    /// It can be written again.
    Resumed,
}

/// Receives the reports of one group. Called on the writer thread; must not block.
pub type Listener = Arc<dyn Fn(Report) + Send + Sync>;
/// Called when the process must stop; the text says why.
pub type FatalHook = Arc<dyn Fn(&str) + Send + Sync>;

/// How the log is opened.
#[derive(Clone)]
pub struct LogOptions {
    /// The folder.
    pub dir: PathBuf,
    /// The file layer.
    pub files: Arc<dyn LogFiles>,
    /// Called when a sync has failed: what is on disk is not known then, so nothing may go on.
    pub on_fatal: FatalHook,
    /// Bytes of one file of the log, about.
    pub file_bytes: u64,
    /// Time between two looks for files that may be removed, after logs were cut.
    pub purge_every: Duration,
    /// Time between two looks for entries that are to leave the disk ([`GroupHandle::erase`](crate::GroupHandle::erase)).
    pub erase_every: Duration,
    /// The disk: half of the last part of its reserve is kept from entries, so that what was applied can be made durable and
    /// the log be cut.
    pub room: Room,
}

impl LogOptions {
    /// The real file system; a failure aborts the process.
    pub fn new(dir: &Path) -> Self {
        LogOptions::on(LogLayer::default(), dir)
    }
    /// The usual options on another layer.
    pub fn on(layer: LogLayer, dir: &Path) -> Self {
        let LogLayer { files, on_fatal, file_bytes, purge_every } = layer;
        LogOptions {
            dir: dir.to_path_buf(),
            files,
            on_fatal,
            file_bytes,
            purge_every,
            erase_every: ERASE_EVERY,
            room: Room::boundless(),
        }
    }
}

/// What the log of a node stands on, so that tests can fail its disk: the members of the same names in [`LogOptions`].
#[derive(Clone)]
pub struct LogLayer {
    /// The file layer.
    pub files: Arc<dyn LogFiles>,
    /// Called when a sync has failed; must end the process.
    pub on_fatal: FatalHook,
    /// Bytes of one file of the log, about.
    pub file_bytes: u64,
    /// Time between two looks for files that may be removed, after logs were cut.
    pub purge_every: Duration,
}

impl Default for LogLayer {
    /// The real file system; a failure aborts the process.
    fn default() -> Self {
        LogLayer {
            files: Arc::new(RealLogFiles),
            on_fatal: abort_process(),
            file_bytes: FILE_BYTES,
            purge_every: PURGE_EVERY,
        }
    }
}

impl fmt::Debug for LogLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogLayer { files: _, on_fatal: _, file_bytes, purge_every } = self;
        let mut shown = f.debug_struct("LogLayer");
        shown.field("file_bytes", file_bytes).field("purge_every", purge_every).finish_non_exhaustive()
    }
}

/// Logs the reason and ends the process at once, so that the next start continues from what is on disk.
pub fn abort_process() -> FatalHook {
    Arc::new(|reason| {
        tracing::error!(reason, "consensus cannot go on, the process ends");
        std::process::abort();
    })
}

/// The log of all groups of a node.
pub struct Log {
    shared: Arc<Shared>,
    syncs: Arc<AtomicU64>,
    writer: Option<std::thread::JoinHandle<()>>,
    /// Ends after the writer.
    _mark: MarkWriter,
}

/// A record that a power cut has cut off is left to the engine, which cuts the rest off.
fn refuse_damage(dir: &Path) -> Result<(), RaftError> {
    let report = log_inspect::inspect(dir)?;
    for Torn { path, at } in &report.torn {
        tracing::warn!(file = %path.display(), offset = at, "the raft log ends in a write that was cut off");
    }
    match report.damage.is_empty() {
        true => Ok(()),
        false => Err(RaftError::Damaged(Box::new(report))),
    }
}

impl Log {
    /// Opens or makes the log. Cost: one pass over its files (about 0.1 s a GiB).
    pub fn open(options: LogOptions) -> Result<Log, RaftError> {
        let LogOptions { dir, files, on_fatal, file_bytes, purge_every, erase_every, room } = options;
        let path =
            dir.to_str().ok_or_else(|| RaftError::Log(format!("the path {} is not text", dir.display())))?;
        let config = Config {
            dir: path.to_owned(),
            recovery_threads: 2,
            target_file_size: ReadableSize(file_bytes),
            purge_threshold: ReadableSize(file_bytes * PURGE_FILES),
            purge_rewrite_garbage_ratio: REWRITTEN_GARBAGE_RATIO,
            enable_log_recycle: false,
            ..Config::default()
        };
        refuse_damage(&dir)?;
        let durable = Arc::new(Durable::default());
        let engine_files = EngineFiles::new(files.clone(), durable.clone());
        let syncs = engine_files.syncs();
        let engine = OpenEngine::open(config, engine_files)?;
        let mark = MarkWriter::start(&dir, &files, durable)
            .map_err(|e| RaftError::Log(format!("cannot write in {}: {e}", dir.display())))?;
        sync_names(&dir).map_err(|e| RaftError::Log(format!("cannot sync {}: {e}", dir.display())))?;
        let shared = Shared::new(Arc::new(engine), dir, on_fatal, purge_every, erase_every, room);
        let shared = Arc::new(shared);
        let for_writer = shared.clone();
        let writer = std::thread::Builder::new()
            .name("raft-log".into())
            .spawn(move || run(&for_writer))
            .map_err(|e| RaftError::Log(e.to_string()))?;
        Ok(Log { shared, syncs, writer: Some(writer), _mark: mark })
    }

    /// What the log holds of a group.
    ///
    /// Errors: `Format`, or `Log` when it cannot be read or has a gap.
    pub fn stored(&self, group: GroupId) -> Result<Stored, RaftError> {
        let engine = &self.shared.engine;
        let region = region(group);
        let Some(identity) = engine.get(region, KEY_IDENTITY) else { return Ok(Stored::default()) };
        let identity = identity.try_into().map(u64::from_le_bytes);
        let identity =
            identity.map_err(|_| RaftError::Log(format!("group {group}: the identity is damaged")))?;
        match engine.get(region, KEY_FORMAT).as_deref() {
            Some(&[found]) if found <= FORMAT => {}
            Some(&[found, ..]) => return Err(RaftError::Format { group, found, known: FORMAT }),
            Some([]) | None => return Err(RaftError::Log(format!("group {group}: the format is missing"))),
        }
        let hard_state = engine.get_message::<HardState>(region, KEY_HARD_STATE).map_err(log_error)?;
        let conf = engine.get_message::<SnapshotMetadata>(region, KEY_CONF).map_err(log_error)?;
        let truncated = engine.get_message::<SnapshotMetadata>(region, KEY_TRUNCATED).map_err(log_error)?;
        let snapshot = engine.get_message::<Snapshot>(region, KEY_SNAPSHOT).map_err(log_error)?;
        let restored = engine.get(region, KEY_RESTORED).and_then(|index| index.try_into().ok());
        let restored = restored.map_or(0, u64::from_le_bytes);
        let position = |found: Option<SnapshotMetadata>| {
            found.map(|at| Position { index: at.index, term: at.term }).unwrap_or_default()
        };
        let truncated = position(truncated);
        let first = engine.first_index(region);
        if first.is_some_and(|first| first > truncated.index + 1) {
            return Err(RaftError::Log(format!(
                "group {group}: entries after {} are missing",
                truncated.index
            )));
        }
        Ok(Stored {
            identity: Some(identity),
            hard_state: hard_state.unwrap_or_default(),
            conf: conf.map(|mut conf| (conf.index, conf.take_conf_state())),
            truncated,
            last: engine.last_index(region).unwrap_or(0).max(truncated.index),
            snapshot: snapshot.filter(|snapshot| snapshot.get_metadata().index > restored),
            left: position(engine.get_message::<SnapshotMetadata>(region, KEY_LEFT).map_err(log_error)?),
        })
    }

    /// Reads of one group's durable entries.
    pub fn reader(&self, group: GroupId) -> GroupReader {
        GroupReader { engine: self.shared.engine.clone(), region: region(group) }
    }

    /// Who hears of the writes of a group; replaces the one before.
    pub fn listen(&self, group: GroupId, listener: Listener) {
        self.shared.listen(group, listener);
    }

    /// Queues a write. Writes of one group become durable in this order, some of them together. The bytes that may wait are bounded by
    /// the groups, how many writes they are by the queue.
    pub fn submit(&self, persist: Persist) {
        self.shared.submit(persist);
    }

    /// How many writes wait, without those that are being written.
    pub fn waiting(&self) -> usize {
        self.shared.waiting()
    }

    /// Gives up what the log holds of a group that this member has left; only what [`crate::leaving`] names stays. Returns
    /// when that is durable. Nothing else may write to the group any more.
    ///
    /// Errors: `Log` when the end of the log cannot be read, or nothing is durable within `within`.
    pub fn leave(&self, group: GroupId, within: Duration) -> Result<(), RaftError> {
        // What was queued before must be on disk before it is read.
        self.settle(group, within)?;
        let stored = self.stored(group)?;
        if stored.identity.is_none() {
            return Ok(());
        }
        let persist = leave(group, &stored, &self.reader(group))?;
        self.write_alone(Persist { seq: u64::MAX, ..persist }, within)
    }

    /// Returns when everything that was queued for a group is durable. Nothing else may write to the group any more.
    ///
    /// Errors: `Log`: it is not within `within`.
    pub fn settle(&self, group: GroupId, within: Duration) -> Result<(), RaftError> {
        self.write_alone(Persist::new(group, u64::MAX - 1), within)
    }

    /// Writes when nothing else writes to the group, and returns when that is durable. Errors: `Log`: it is not in time.
    pub(crate) fn write_alone(&self, persist: Persist, within: Duration) -> Result<(), RaftError> {
        let (group, seq) = (persist.group, persist.seq);
        let (done, is_done) = crossbeam_channel::bounded(1);
        self.listen(
            group,
            Arc::new(move |report| {
                if report == Report::Persisted(seq) {
                    // Somebody who waits no more needs no answer.
                    let _ = done.try_send(());
                }
            }),
        );
        self.submit(persist);
        is_done
            .recv_timeout(within)
            .map_err(|_| RaftError::Log(format!("group {group}: nothing is durable within {within:?}")))
    }

    /// Takes the entries of a group through `through` off the disk once they are cut, within some time: files end when they are
    /// full, and until then what is cut stays in them.
    pub fn erase(&self, group: GroupId, through: u64) {
        self.shared.erase(group, through);
    }

    /// A way to queue writes from elsewhere.
    pub(crate) fn shared(&self) -> Arc<Shared> {
        self.shared.clone()
    }

    /// Syncs so far.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// Why the log cannot be written at present.
    pub fn stalled(&self) -> Option<String> {
        self.shared.stalled()
    }
}

impl Drop for Log {
    /// Writes what is queued and ends the writer thread. While the log cannot be written, what waits is given up:
    /// nobody was told that it is durable.
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the writer thread of the raft log panicked");
        }
    }
}

/// Reads one group's durable entries.
#[derive(Clone)]
pub struct GroupReader {
    engine: Arc<OpenEngine>,
    region: u64,
}

impl LogReader for GroupReader {
    fn entries(&self, low: u64, high: u64, bytes_max: u64) -> Result<Vec<Entry>, RaftError> {
        let mut out = Vec::new();
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        self.engine
            .fetch_entries_to::<EntryExt>(self.region, low, high, Some(bytes_max), &mut out)
            .map_err(log_error)?;
        match out.first() {
            Some(first) if first.index == low => Ok(out),
            _ => Err(RaftError::Log(format!("entry {low} of group {} is missing", self.region - 1))),
        }
    }
}

/// Makes the names of the first files durable; the engine does it for later ones only.
fn sync_names(dir: &Path) -> std::io::Result<()> {
    std::fs::File::open(dir)?.sync_all()?;
    match dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => std::fs::File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

pub(crate) fn log_error(e: raft_engine::Error) -> RaftError {
    RaftError::Log(e.to_string())
}
