//! How queued writes of all groups become durable: everything that waits in one batch, one sync for it, then the reports.

use crate::effects::{Persist, SnapshotChange};
use crate::log::{FatalHook, Listener, Report};
use crate::log_batch::{EntryExt, KEY_ERASED, add_to_batch, region};
use crate::log_engine::{OpenEngine, RaftEngine};
use crate::log_queue::Queue;
use crate::log_room::{has_space, lacks_room};
use crate::metrics::metrics;
use parking_lot::{Condvar, Mutex};
use quorate_model::GroupId;
use quorate_store::space::Room;
use raft_engine::LogBatch;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Pause before a failed write is tried again.
const RETRY: Duration = Duration::from_millis(200);
/// Time between two looks for files that may be removed, at most, while the disk fills up.
const PURGE_TIGHT: Duration = Duration::from_millis(200);
/// The share of the time that looks may take while it does not: one part in this many.
const PURGE_SHARE: u32 = 20;
/// Live bytes of the log at most while it is written anew for the sake of what was cut: a longer one is, piece by piece, when there
/// are more files.
const ERASE_BYTES_MAX: usize = 256 << 20;

pub(crate) struct Shared {
    pub(crate) engine: Arc<OpenEngine>,
    dir: PathBuf,
    queue: Mutex<Queue>,
    wake: Condvar,
    listeners: Mutex<FxHashMap<GroupId, Listener>>,
    stalled: Mutex<Option<String>>,
    on_fatal: FatalHook,
    purge_every: Duration,
    /// Through where each group wants its entries off the disk.
    to_erase: Mutex<BTreeMap<GroupId, u64>>,
    erase_every: Duration,
    room: Room,
}

impl Shared {
    pub(crate) fn new(
        engine: Arc<OpenEngine>,
        dir: PathBuf,
        on_fatal: FatalHook,
        purge_every: Duration,
        erase_every: Duration,
        room: Room,
    ) -> Self {
        Shared {
            engine,
            dir,
            queue: Mutex::default(),
            wake: Condvar::new(),
            listeners: Mutex::default(),
            stalled: Mutex::default(),
            on_fatal,
            purge_every,
            to_erase: Mutex::default(),
            erase_every,
            room,
        }
    }
    /// Takes the entries of a group through `through` off the disk soon after they are cut, unless that has been done.
    pub(crate) fn erase(&self, group: GroupId, through: u64) {
        if self.erased(group) >= through {
            return;
        }
        let mut to_erase = self.to_erase.lock();
        let wanted = to_erase.entry(group).or_default();
        *wanted = through.max(*wanted);
    }
    /// Through where the entries of a group have left the disk because they were to.
    pub(crate) fn erased(&self, group: GroupId) -> u64 {
        let found = self.engine.get(region(group), KEY_ERASED);
        found.and_then(|index| index.try_into().ok()).map_or(0, u64::from_le_bytes)
    }
    /// When to look next for entries that are to leave the disk.
    fn next_erase(&self, looked: Instant) -> Option<Instant> {
        (!self.to_erase.lock().is_empty()).then(|| looked + self.erase_every)
    }
    pub(crate) fn submit(&self, persist: Persist) {
        self.queue.lock().push(persist);
        self.wake.notify_one();
    }
    /// How many writes wait, without those that are being written.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.lock().len()
    }
    pub(crate) fn listen(&self, group: GroupId, listener: Listener) {
        if let Some(reason) = self.stalled() {
            listener(Report::Stalled(reason));
        }
        self.listeners.lock().insert(group, listener);
    }
    pub(crate) fn stop(&self) {
        self.queue.lock().is_stopping = true;
        self.wake.notify_one();
    }
    pub(crate) fn stalled(&self) -> Option<String> {
        self.stalled.lock().clone()
    }
    pub(crate) fn fatal(&self, reason: &str) {
        (self.on_fatal)(reason);
    }

    /// When to look again for files that may be removed, when the last look took so long: writes wait meanwhile.
    fn next_purge(&self, took: Duration) -> Instant {
        let pause = match self.room.is_tight() {
            true => self.purge_every.min(PURGE_TIGHT).max(took),
            false => self.purge_every.max(took * PURGE_SHARE),
        };
        Instant::now() + pause
    }

    /// Takes what waits, up to the size of a batch; nothing when it is time to look for files that may be removed. `None`:
    /// stop.
    fn take(&self, until: Option<Instant>) -> Option<Vec<Persist>> {
        let mut queue = self.queue.lock();
        while queue.is_empty() {
            if queue.is_stopping {
                return None;
            }
            match until {
                None => self.wake.wait(&mut queue),
                Some(until) if self.wake.wait_until(&mut queue, until).timed_out() => return Some(vec![]),
                Some(_) => {}
            }
        }
        Some(queue.take())
    }

    /// Waits a moment; false when the log is being closed.
    fn pause(&self) -> bool {
        let mut queue = self.queue.lock();
        let end = Instant::now() + RETRY;
        while !queue.is_stopping {
            if self.wake.wait_until(&mut queue, end).timed_out() {
                return true;
            }
        }
        false
    }

    fn report_all(&self, report: &Report) {
        let listeners: Vec<_> = self.listeners.lock().values().cloned().collect();
        for listener in listeners {
            listener(report.clone());
        }
    }

    fn set_stalled(&self, reason: Option<String>) {
        let before = std::mem::replace(&mut *self.stalled.lock(), reason.clone());
        match (before, reason) {
            (None, Some(reason)) => {
                tracing::warn!(reason, "the raft log cannot be written, writes are refused until it can");
                metrics().stalled.set(1);
                self.report_all(&Report::Stalled(reason));
            }
            (Some(_), None) => {
                tracing::info!("the raft log can be written again");
                metrics().stalled.set(0);
                self.report_all(&Report::Resumed);
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
}

/// The writer thread.
pub(crate) fn run(shared: &Shared) {
    // a start finds files that the last process had no time to remove
    let mut took = Duration::ZERO;
    let mut purge_at = Some(shared.next_purge(took));
    let mut looked = Instant::now();
    while let Some(mut writes) = shared.take(purge_at.into_iter().chain(shared.next_erase(looked)).min()) {
        if !writes.is_empty() {
            match write_until_done(shared, &mut writes) {
                Outcome::Durable => {}
                Outcome::GivenUp => return,
            }
            if std::mem::take(&mut shared.queue.lock().has_cut) {
                purge_at.get_or_insert_with(|| shared.next_purge(took));
            }
            report(shared, writes);
        }
        if purge_at.is_some_and(|at| at <= Instant::now()) {
            // by time and not with the next write, which may not come: it is refused while dead files fill the disk
            let start = Instant::now();
            let purged = purge(shared);
            took = start.elapsed();
            purge_at = match purged {
                Purged::All => None,
                Purged::More => Some(shared.next_purge(took)),
            };
        }
        if shared.next_erase(looked).is_some_and(|at| at <= Instant::now()) {
            erase(shared);
            looked = Instant::now();
        }
    }
}

enum Outcome {
    Durable,
    GivenUp,
}

/// Writes one batch, waiting for space as long as it takes. A failed write leaves the engine as it was.
fn write_until_done(shared: &Shared, writes: &mut [Persist]) -> Outcome {
    let bytes: usize = writes.iter().map(Persist::bytes).sum();
    loop {
        if let Some(reason) = lacks_room(&shared.room, writes) {
            shared.set_stalled(Some(reason));
            match wait_for_room(shared, writes, bytes) {
                Outcome::Durable => {}
                Outcome::GivenUp => return Outcome::GivenUp,
            }
        }
        // A panic here is a failed sync: the kernel may have dropped the pages, so trying again could report
        // success for bytes that are gone. The hook ends the process.
        let written = catch_unwind(AssertUnwindSafe(|| write(shared, writes)));
        match written {
            Ok(Ok(())) => {
                shared.set_stalled(None);
                return Outcome::Durable;
            }
            Ok(Err(error)) => shared.set_stalled(Some(error.to_string())),
            Err(_) => {
                shared.fatal("a sync of the raft log failed");
                return Outcome::GivenUp;
            }
        }
        match wait_for_room(shared, writes, bytes) {
            Outcome::Durable => {}
            Outcome::GivenUp => return Outcome::GivenUp,
        }
    }
}

/// Waits until the disk has room for a batch. Freed entries may be what makes it, also those whose cuts wait behind the batch.
fn wait_for_room(shared: &Shared, writes: &mut [Persist], bytes: usize) -> Outcome {
    loop {
        if !shared.pause() {
            return Outcome::GivenUp;
        }
        match cut_at_once(shared, writes) {
            Outcome::Durable => {}
            Outcome::GivenUp => return Outcome::GivenUp,
        }
        purge(shared);
        if lacks_room(&shared.room, writes).is_none() && has_space(&shared.dir, bytes) {
            return Outcome::Durable;
        }
    }
}

/// Makes the cuts among all that waits, and nothing else of it. A disk that is full to the last byte refuses them like other
/// writes, and they are tried again.
fn cut_at_once(shared: &Shared, writes: &mut [Persist]) -> Outcome {
    let mut cuts = shared.queue.lock().cuts(writes);
    cuts.retain(|cut| is_durable(shared, cut));
    if cuts.is_empty() {
        return Outcome::Durable;
    }
    match catch_unwind(AssertUnwindSafe(|| write(shared, &cuts))) {
        Ok(Ok(())) => shared.queue.lock().forget(writes, &cuts),
        Ok(Err(error)) => tracing::debug!(%error, "the log cannot be cut yet"),
        Err(_) => {
            shared.fatal("a sync of the raft log failed");
            return Outcome::GivenUp;
        }
    }
    Outcome::Durable
}

/// Whether the last entry that a cut removes is in the log on disk: none is cut before.
fn is_durable(shared: &Shared, cut: &Persist) -> bool {
    cut.truncated.is_some_and(|at| {
        let found = shared.engine.get_entry::<EntryExt>(region(cut.group), at.index);
        found.is_ok_and(|entry| entry.is_some_and(|entry| entry.term == at.term))
    })
}

fn write(shared: &Shared, writes: &[Persist]) -> Result<(), raft_engine::Error> {
    let mut batch = LogBatch::with_capacity(writes.len() * 3);
    for persist in writes {
        let is_alone = !matches!(persist.snapshot, SnapshotChange::Keep);
        if is_alone {
            shared.engine.write(&mut batch, true)?;
        }
        add_to_batch(&shared.engine, &mut batch, persist)?;
        if is_alone {
            shared.engine.write(&mut batch, true)?;
        }
    }
    shared.engine.write(&mut batch, true)?;
    metrics().batches.inc();
    Ok(())
}

/// Tells every group in the batch how far it got.
fn report(shared: &Shared, writes: Vec<Persist>) {
    let mut through = FxHashMap::default();
    for persist in &writes {
        through.insert(persist.group, persist.seq);
    }
    // Entries are freed before the groups go on, outside of any lock.
    drop(writes);
    let listeners: Vec<_> = {
        let listeners = shared.listeners.lock();
        through.into_iter().filter_map(|(group, seq)| Some((listeners.get(&group)?.clone(), seq))).collect()
    };
    for (listener, seq) in listeners {
        listener(Report::Persisted(seq));
    }
}

/// What a look for files to remove has come to.
enum Purged {
    /// What can be removed is.
    All,
    /// Old files hold entries of groups that have to be cut, or the next look may remove more: each rewrites the older files only.
    More,
}

fn purge(shared: &Shared) -> Purged {
    let before = shared.engine.get_used_size();
    match catch_unwind(AssertUnwindSafe(|| shared.engine.purge_expired_files())) {
        Ok(Ok(pinning)) if pinning.is_empty() && shared.engine.get_used_size() == before => Purged::All,
        Ok(Ok(_)) => Purged::More,
        Ok(Err(error)) => {
            tracing::warn!(%error, "cannot purge the raft log");
            Purged::More
        }
        Err(_) => {
            shared.fatal("a sync of the raft log failed while purging");
            Purged::All
        }
    }
}

/// Notes what has left the disk: who wishes it again, after a start, too, costs nothing.
fn note_erased(engine: &RaftEngine, erased: &[(GroupId, u64)]) -> Result<(), raft_engine::Error> {
    let mut batch = LogBatch::with_capacity(erased.len());
    for (group, through) in erased {
        batch.put(region(*group), KEY_ERASED.to_vec(), through.to_le_bytes().to_vec())?;
    }
    engine.write(&mut batch, true).map(|_| ())
}

/// Writes the live entries anew and removes every older file, if entries were cut that are to leave the disk. Cost: a copy of what is
/// live; writes wait meanwhile.
fn erase(shared: &Shared) {
    let is_cut = |(group, through): (&GroupId, &u64)| {
        shared.engine.first_index(region(*group)).is_none_or(|first| first > *through)
    };
    let cut: Vec<(GroupId, u64)> = shared
        .to_erase
        .lock()
        .iter()
        .filter(|it| is_cut(*it))
        .map(|(group, through)| (*group, *through))
        .collect();
    let live = shared.engine.get_used_size();
    let has_room = live <= ERASE_BYTES_MAX && !shared.room.is_tight() && has_space(&shared.dir, live);
    if cut.is_empty() || !has_room {
        return;
    }
    let written = catch_unwind(AssertUnwindSafe(|| {
        let purge = shared.engine.purge_manager();
        // the word that entries are cut is in a newer file than they are, and goes last
        purge.must_rewrite_rewrite_queue();
        purge.must_rewrite_append_queue(None, None);
        note_erased(&shared.engine, &cut)
    }));
    match written {
        Ok(Ok(())) => shared.to_erase.lock().retain(|group, through| !cut.contains(&(*group, *through))),
        // what is live is written anew once more
        Ok(Err(error)) => tracing::warn!(%error, "cannot note what has left the raft log"),
        Err(_) => shared.fatal("the raft log could not be written anew"),
    }
}
