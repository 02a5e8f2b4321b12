//! How queued writes of all groups become durable: everything that waits in one batch, one sync for it, then the reports.

use crate::effects::Persist;
use crate::log::{FatalHook, Listener, RaftEngine, Report, add_to_batch};
use crate::metrics::metrics;
use parking_lot::{Condvar, Mutex};
use quorate_model::GroupId;
use raft_engine::LogBatch;
use rustc_hash::FxHashMap;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of one batch; a write that is larger goes alone.
const BATCH_BYTES: usize = 32 << 20;
/// Pause before a failed write is tried again.
const RETRY: Duration = Duration::from_millis(200);
/// Free bytes beyond the batch that a retry wants to see.
const PROBE_BYTES: usize = 64 << 10;
/// Name of the file that tries for space; it exists only for that moment.
const PROBE_NAME: &str = "space-probe";

pub(crate) struct Shared {
    pub(crate) engine: Arc<RaftEngine>,
    dir: PathBuf,
    queue: Mutex<Queue>,
    wake: Condvar,
    listeners: Mutex<FxHashMap<GroupId, Listener>>,
    stalled: Mutex<Option<String>>,
    on_fatal: FatalHook,
    purge_every: Duration,
}

#[derive(Default)]
struct Queue {
    writes: std::collections::VecDeque<Persist>,
    is_stopping: bool,
}

impl Shared {
    pub(crate) fn new(
        engine: Arc<RaftEngine>,
        dir: PathBuf,
        on_fatal: FatalHook,
        purge_every: Duration,
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
        }
    }
    pub(crate) fn submit(&self, persist: Persist) {
        self.queue.lock().writes.push_back(persist);
        self.wake.notify_one();
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

    /// Takes what waits, up to the size of a batch; `None`: stop.
    fn take(&self) -> Option<Vec<Persist>> {
        let mut queue = self.queue.lock();
        while queue.writes.is_empty() {
            if queue.is_stopping {
                return None;
            }
            self.wake.wait(&mut queue);
        }
        let mut bytes = 0;
        let mut taken = Vec::new();
        while let Some(next) = queue.writes.front().map(Persist::bytes) {
            if !taken.is_empty() && bytes + next > BATCH_BYTES {
                break;
            }
            bytes += next;
            taken.extend(queue.writes.pop_front());
        }
        Some(taken)
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
    let mut last_purge = Instant::now();
    let mut wants_purge = false;
    while let Some(writes) = shared.take() {
        match write_until_done(shared, &writes) {
            Outcome::Durable => {}
            Outcome::GivenUp => return,
        }
        wants_purge |= writes.iter().any(|w| w.truncated.is_some());
        report(shared, writes);
        if wants_purge && last_purge.elapsed() >= shared.purge_every {
            wants_purge = false;
            last_purge = Instant::now();
            purge(shared);
        }
    }
}

enum Outcome {
    Durable,
    GivenUp,
}

/// Writes one batch, waiting for space as long as it takes. A failed write leaves the engine as it was.
fn write_until_done(shared: &Shared, writes: &[Persist]) -> Outcome {
    loop {
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
        let bytes: usize = writes.iter().map(Persist::bytes).sum();
        loop {
            if !shared.pause() {
                return Outcome::GivenUp;
            }
            // Freed entries may be what makes room.
            purge(shared);
            if has_space(shared, bytes) {
                break;
            }
        }
    }
}

fn write(shared: &Shared, writes: &[Persist]) -> Result<(), raft_engine::Error> {
    let mut batch = LogBatch::with_capacity(writes.len() * 3);
    for persist in writes {
        add_to_batch(&mut batch, persist)?;
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

fn purge(shared: &Shared) {
    match catch_unwind(AssertUnwindSafe(|| shared.engine.purge_expired_files())) {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::warn!(%error, "cannot purge the raft log"),
        Err(_) => shared.fatal("a sync of the raft log failed while purging"),
    }
}

/// Whether a file of the batch's size can be written. The engine would start a new file at each failed attempt.
fn has_space(shared: &Shared, bytes: usize) -> bool {
    let path = shared.dir.join(PROBE_NAME);
    let tried = std::fs::File::create(&path).and_then(|mut file| {
        let zeros = vec![0; 64 << 10];
        let mut left = bytes + PROBE_BYTES;
        while left > 0 {
            let count = left.min(zeros.len());
            file.write_all(&zeros[..count])?;
            left -= count;
        }
        Ok(())
    });
    // A leftover is replaced by the next probe.
    let _ = std::fs::remove_file(&path);
    tried.is_ok()
}
