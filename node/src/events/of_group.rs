//! How does a group keep the events that its log tells of?
//!
//! An entry adds rows in memory, without any input or output. They become files after half a minute, or once they are many; until
//! then the log is what a restart reads. Small files become large ones, and forgotten users leave them, on a thread beside the
//! group's own, one at a time on a node.

use super::{NodeEvents, SharedArrivals, SharedStore, Turn};
use crate::error::{Error, Result};
use crate::event_digest::EventsPin;
use crate::lower_priority;
use crate::models::registry::ModelState;
use parking_lot::Mutex;
use quorate_insights::store::{Compaction, EventStore, KeptRows};
use quorate_model::GroupId;
use quorate_model::analytics::Day;
use quorate_model::event::{CountedSearch, Event};
use quorate_store::files::Files;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long rows stay in memory alone.
const SEALED_AFTER: Duration = Duration::from_secs(30);
/// Between two attempts to make files of rows, or to look for what is to be written anew.
const LOOK: Duration = Duration::from_secs(5);
/// How long what is derived of files goes on when somebody waits for being forgotten.
const DERIVES_ON: Duration = Duration::from_secs(30);
/// Bytes of rows in memory beyond which a group does not go on before they are files.
const WAITING_BYTES_MAX: usize = 64 << 20;
/// Bytes of rows in memory of all groups beyond which the next group that gets some makes files of its own.
const NODE_WAITING_BYTES_MAX: usize = 256 << 20;
/// The events of a group, as its machine has them.
pub(crate) struct Events {
    group: GroupId,
    store: SharedStore,
    arrivals: SharedArrivals,
    files: Arc<dyn Files>,
    folder: PathBuf,
    node: Arc<NodeEvents>,
    /// Bytes of rows in memory that the node knows of.
    counted: usize,
    /// When rows began to wait for becoming files.
    waits_since: Option<Instant>,
    /// Whether a user is to be forgotten, as memory and log alone know.
    forgets: bool,
    /// When making files of them failed last.
    failed: Option<Instant>,
    /// When it was looked last for what is to be written anew.
    looked: Option<Instant>,
    compactor: Option<Compactor>,
    /// What the metadata store knows its files to have.
    kept: KeptRows,
}

impl Events {
    /// Those of a group that its folder has, which should have what is `kept`. The log has the rest.
    pub fn open(
        node: &Arc<NodeEvents>,
        group: GroupId,
        files: Arc<dyn Files>,
        folder: PathBuf,
        kept: KeptRows,
    ) -> Result<Self> {
        let mut store = EventStore::open(files.clone(), &folder)?;
        store.look_for(kept)?;
        let store = Arc::new(Mutex::new(store));
        let arrivals = SharedArrivals::default();
        store.lock().names().for_each(|name| arrivals.lock().know(name, now_ms()));
        node.open(group, store.clone(), arrivals.clone());
        Ok(Events {
            group,
            store,
            arrivals,
            files,
            folder,
            node: node.clone(),
            counted: 0,
            waits_since: None,
            forgets: false,
            failed: None,
            looked: None,
            compactor: None,
            kept,
        })
    }
    /// What its files have, if that has changed since it was asked last.
    pub fn take_kept(&mut self) -> Option<KeptRows> {
        let now = self.store.lock().kept();
        (std::mem::replace(&mut self.kept, now).through != now.through).then_some(now)
    }
    /// The log index through which files have everything; `None` when nothing waits to become one.
    pub fn durable_through(&self) -> Option<u64> {
        let store = self.store.lock();
        store.waits_for().map(|_| store.durable_through())
    }
    /// Takes the events of an entry that was received at a time (Unix milliseconds). Errors: so much waits that more would be without bound, and the disk takes nothing; nothing was
    /// taken.
    pub fn take(&mut self, log_index: u64, time_ms: u64, events: &[Event]) -> Result<()> {
        if log_index > self.store.lock().taken_through() {
            self.arrivals.lock().take(events, time_ms);
            self.node.names(events, time_ms, now_ms());
        }
        self.with_room(|store| store.append(log_index, time_ms, events))
    }
    /// Takes the searches of an entry, as [`Self::take`] takes events.
    pub fn take_searches(&mut self, log_index: u64, searches: &[CountedSearch]) -> Result<()> {
        self.with_room(|store| store.append_searches(log_index, searches))
    }
    fn with_room(&mut self, append: impl FnOnce(&mut EventStore)) -> Result<()> {
        let waiting = self.store.lock().open_bytes();
        if waiting >= WAITING_BYTES_MAX {
            self.seal()?;
        }
        append(&mut self.store.lock());
        let all = self.recount();
        let is_full = self.store.lock().is_full() || all >= NODE_WAITING_BYTES_MAX;
        if is_full && self.failed.is_none_or(|failed| failed.elapsed() >= LOOK) {
            self.seal_or_warn();
        }
        Ok(())
    }
    /// What came for the names of the group since their models learned from it.
    pub fn arrivals(&self) -> &SharedArrivals {
        &self.arrivals
    }
    /// Forgets a user as of an entry, of a time (Unix milliseconds).
    pub fn forget(&mut self, log_index: u64, time_ms: u64, token: &str) {
        self.forgets = true;
        self.store.lock().forget(log_index, token);
        // what was computed until now has them
        self.node.forgets((self.group, log_index), token, time_ms, now_ms());
    }
    /// Notes that a sink has everything through a log index. Returns whether that is new.
    pub fn note_sent(&mut self, through: u64) -> bool {
        self.store.lock().note_sent(through)
    }
    /// Makes files of what has waited, and begins what is to be done with files. To be called every second or so.
    pub fn keep_up(&mut self) {
        self.waits_since = match self.store.lock().waits_for() {
            Some(_) => self.waits_since.or_else(|| Some(Instant::now())),
            None => None,
        };
        // who is forgotten leaves the files only after that is in them
        let after = if self.forgets { LOOK } else { SEALED_AFTER };
        let is_due = self.waits_since.is_some_and(|since| since.elapsed() >= after);
        if is_due && self.failed.is_none_or(|failed| failed.elapsed() >= LOOK) {
            self.seal_or_warn();
        }
        if self.looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            self.looked = Some(Instant::now());
            self.look_at_files();
        }
    }
    fn look_at_files(&mut self) {
        if self.compactor.as_ref().is_some_and(|compactor| !compactor.has_ended()) {
            return;
        }
        self.compactor = None;
        let now_ms = now_ms();
        let mut store = self.store.lock();
        match store.remove_before(now_ms.saturating_sub(self.node.kept.as_millis() as u64)) {
            Ok(unsent) => self.node.removed_unsent(self.group, unsent),
            Err(error) => tracing::warn!(group = self.group.0, %error, "cannot remove old events"),
        }
        let Some(turn) = self.node.compacts() else { return };
        let work = store.compaction(now_ms);
        if work.is_some() || store.rolling(now_ms).is_some() {
            drop(store);
            self.compactor = Compactor::start(self.group, self.store.clone(), &self.node, work, turn);
        }
    }
    /// Makes files of what waits. Errors: it goes on waiting.
    pub fn seal(&mut self) -> Result<()> {
        let sealed = self.store.lock().seal();
        self.failed = sealed.is_err().then(Instant::now);
        self.waits_since = None;
        self.forgets &= sealed.is_err();
        self.recount();
        Ok(sealed?)
    }
    fn seal_or_warn(&mut self) {
        if let Err(error) = self.seal() {
            tracing::warn!(group = self.group.0, %error, "events stay in memory and in the log");
        }
    }
    fn recount(&mut self) -> usize {
        let now = self.store.lock().open_bytes();
        self.node.recount(std::mem::replace(&mut self.counted, now), now)
    }
    /// Notes what there is, with these models, through a log index; `None` when there is more, or less.
    pub fn pin(&self, log_index: u64, models: Vec<ModelState>) -> Option<EventsPin> {
        let since = Day(Day::of(now_ms().saturating_sub(self.node.kept.as_millis() as u64)).0 + 1);
        let store = self.store.lock();
        let is_known = store.taken_through() <= log_index && store.lost().is_empty();
        is_known.then(|| EventsPin { since, view: store.view(), models, sent: store.sent_through() })
    }
    /// Makes everything durable and links it into a folder, which need not be there.
    pub fn export(&mut self, into: &Path) -> Result<()> {
        self.seal()?;
        Ok(self.store.lock().export(into)?)
    }
    /// Makes everything durable that the disk takes; the log has the rest.
    pub fn close(&mut self) {
        self.compactor = None;
        self.seal_or_warn();
    }
    /// Ends the work beside. Nothing more becomes durable.
    pub fn end(&mut self) {
        self.compactor = None;
        self.node.close(self.group, &self.store);
    }
    /// Removes everything.
    pub fn leave(&mut self) -> Result<()> {
        self.end();
        match self.files.remove_dir_all(&self.folder) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::Io { what: format!("removing {}", self.folder.display()), source })
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
impl Drop for Events {
    fn drop(&mut self) {
        self.end();
        self.node.recount(self.counted, 0);
    }
}

/// A thread that writes files anew, and what is derived of them. Dropped, it ends within some milliseconds, and what it has not finished is as it was.
struct Compactor {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Compactor {
    fn start(
        group: GroupId,
        store: SharedStore,
        node: &Arc<NodeEvents>,
        first: Option<Compaction>,
        turn: Turn,
    ) -> Option<Compactor> {
        let node = node.clone();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let run = move || {
            compact(group, &store, first, &stopped);
            derive(group, &store, &node, &stopped);
            drop(turn);
        };
        match std::thread::Builder::new().name(format!("events-{group}")).spawn(run) {
            Ok(thread) => Some(Compactor { stop, thread: Some(thread) }),
            Err(error) => {
                tracing::warn!(group = group.0, %error, "files of events cannot be written anew");
                None
            }
        }
    }
    fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}
impl Drop for Compactor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _a_panic_was_logged = thread.join();
        }
    }
}

/// Does what is to be done with the files of a group, until there is nothing.
fn compact(group: GroupId, store: &SharedStore, first: Option<Compaction>, stop: &AtomicBool) {
    let mut next = first;
    while let Some(work) = next.take() {
        let done = work.run(stop).and_then(|compacted| match compacted {
            None => Ok(None),
            Some(compacted) => {
                let mut store = store.lock();
                store.put(compacted)?;
                Ok(store.compaction(now_ms()))
            }
        });
        match done {
            Ok(more) => next = more,
            Err(error) => {
                tracing::warn!(group = group.0, %error, "files of events stay as they are for now");
            }
        }
    }
}

/// Derives what reports read of days that are over. Forgetting goes first, that of other groups, too, and what is not done by then is
/// done later.
fn derive(group: GroupId, store: &SharedStore, node: &NodeEvents, stop: &AtomicBool) {
    let (forgets, begun) = (node.forgets_count(), Instant::now());
    let is_over = || {
        let has_to_wait = || node.forgets_count() != forgets && begun.elapsed() >= DERIVES_ON;
        stop.load(Ordering::Relaxed) || has_to_wait()
    };
    let rolling = store.lock().rolling(now_ms());
    if let Some(rolling) = rolling.filter(|_| !is_over()) {
        lower_priority();
        if let Err(error) = rolling.run(&is_over) {
            tracing::warn!(group = group.0, %error, "figures of searches are derived of rows for now");
        }
    }
}

/// Which files are to be written anew depends on the time; what they hold does not.
fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
