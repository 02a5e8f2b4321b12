//! Which calls has this node answered lately (C§14)?
//!
//! The last [`CALLS_MAX`] are in memory as bytes, each where one was that it or another pushed out, so that noting a call copies
//! its bytes once, outside of the lock. They are the bytes of whoever notes calls, which are read when somebody asks, or by a thread
//! of the log's own: it makes of what is new what is kept, without keys, and writes that to files (`files.rs`) every [`WRITE_EVERY`],
//! or [`WRITE_EVERY_OF_MANY`]. So nobody who is answered waits for a disk, and of however many calls at most those are read that are
//! kept. A process that is killed loses the calls of that time, and a machine without power those that its system had not written.

mod call;
mod files;
mod forget;
mod ring;

pub use call::{CallFilter, CallKind, CallsAsked, InnerCall, LoggedCall, Secret, Text};
pub use ring::ReadNoted;

use crate::clock;
use files::LogFiles;
use forget::{Lately, Users};
use parking_lot::{Condvar, Mutex};
use quorate_node::ForgottenUsers;
use ring::{Kept, Ring};
use std::cell::Cell;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Calls that are kept (C§20).
pub const CALLS_MAX: usize = 1_000;
/// Bytes of a call: more than those who note one make of it. All that are kept are a thousand times as large at most.
pub const CALL_BYTES_MAX: usize = 24 << 10;
/// Bytes of a call as it is noted and not written yet: with what is masked or left out then.
const NOTED_BYTES_MAX: usize = 2 * CALL_BYTES_MAX;
/// Bytes that come into a cache at once.
const CACHE_LINE_BYTES: usize = 64;
/// How many times as many are looked at, of the memory that the next call is noted in: most calls take less.
const CACHE_LINES_MAX: usize = 64;
/// How many merge the answers of several nodes at a time: each holds up to [`CALLS_MAX`] calls of every node.
pub const READERS: usize = 2;
/// How long they are kept (C§20).
const KEPT_MS: u64 = 7 * 24 * 3_600 * 1_000;
/// Between two writes.
const WRITE_EVERY: Duration = Duration::from_secs(1);
/// The same while so many calls come that few of those that are written are among the last ones a moment later.
const WRITE_EVERY_OF_MANY: Duration = Duration::from_secs(5);
/// Between two looks for calls that are older than they may be.
const EXPIRE_EVERY: Duration = Duration::from_secs(3_600);

/// The last calls of a node. Cheap to clone.
#[derive(Clone, Default)]
pub struct RequestLog(Arc<Shared>);

#[derive(Default)]
struct Shared {
    ring: Mutex<Ring>,
    /// Locked before the ring where both are.
    keeper: Mutex<Keeper>,
    stop: Mutex<bool>,
    stopped: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What is in the files.
#[derive(Default)]
struct Keeper {
    files: Option<LogFiles>,
    /// How many calls have been written, or lost because they could not be.
    written: u64,
    /// Whether a write failed and none has succeeded since.
    fails: bool,
    /// Users of whom calls may be answered that began before they were forgotten.
    lately: Lately,
}

impl RequestLog {
    /// Takes over what the files hold, and keeps what comes there from now on, until [`RequestLog::close`]. Calls of users that
    /// `forgotten` names since it was asked last are taken out within [`WRITE_EVERY`], which is how often it is asked.
    pub fn keep_in(&self, paths: [PathBuf; 2], forgotten: impl Fn() -> ForgottenUsers + Send + 'static) {
        let (files, calls) = LogFiles::open(paths);
        let mut keeper = self.0.keeper.lock();
        let mut ring = self.0.ring.lock();
        for call in calls {
            ring.push(call);
        }
        *keeper = Keeper { files: Some(files), written: ring.total, ..Keeper::default() };
        drop((ring, keeper));
        let shared = self.0.clone();
        let thread =
            std::thread::Builder::new().name("request-log".into()).spawn(move || shared.write_on(&forgotten));
        match thread {
            Ok(thread) => *self.0.thread.lock() = Some(thread),
            Err(error) => tracing::warn!(%error, "the request log is not kept over restarts"),
        }
    }
    /// Removes what earlier starts have kept.
    pub fn forget_files(paths: &[PathBuf; 2]) {
        LogFiles::remove(paths);
    }
    /// Writes what is not written yet and ends the thread. Blocks.
    pub fn close(&self) {
        *self.0.stop.lock() = true;
        self.0.stopped.notify_all();
        if let Some(thread) = self.0.thread.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("writing the request log panicked");
        }
    }
    /// Notes a call that is answered at a time, Unix milliseconds: `write` puts it at the end of what it is given, and `read` gives it
    /// back, without keys. One that is larger than any is made is left out. Cost: that of `write`, to where the bytes of the call were
    /// that this thread has pushed out last; the lock is held for two moves.
    pub fn note(&self, time_ms: u64, write: impl FnOnce(&mut Vec<u8>), read: ReadNoted) {
        thread_local! {
            static FREE: Cell<Option<Arc<Vec<u8>>>> = const { Cell::new(None) };
        }
        // one that somebody reads is let go
        let mut place = FREE.take().filter(|free| Arc::strong_count(free) == 1).unwrap_or_default();
        let bytes = Arc::get_mut(&mut place).expect("nobody else has it, and nobody can get it");
        bytes.clear();
        write(bytes);
        if bytes.len() > NOTED_BYTES_MAX {
            return FREE.set(Some(place));
        }
        let free = self.0.ring.lock().push(Kept::noted(time_ms, place, read)).map(|call| call.bytes);
        // it has left the caches long ago, and comes all at once when each of its lines is looked at, not each when it is written to
        let lines =
            free.iter().flat_map(|bytes| bytes.iter().step_by(CACHE_LINE_BYTES).take(CACHE_LINES_MAX));
        std::hint::black_box(lines.fold(0, |all, byte| all ^ byte));
        FREE.set(free);
    }
    /// The newest calls that are asked for, the newest first. Cost: reading all that are kept.
    pub fn latest(&self, asked: &CallsAsked) -> Vec<LoggedCall> {
        let since_ms = clock::unix_ms().saturating_sub(KEPT_MS);
        let calls: Vec<Kept> = self.0.ring.lock().calls.iter().cloned().collect();
        let young = calls.iter().rev().filter(|call| call.time_ms >= since_ms);
        let calls = young.filter_map(Kept::read);
        calls.filter(|call| asked.wants(call)).take(asked.most).collect()
    }
}

impl Shared {
    fn write_on(&self, forgotten: &dyn Fn() -> ForgottenUsers) {
        let (mut expire_at, mut written_at) = (Instant::now(), Instant::now());
        // whom files still name because they could not be written
        let mut left = ForgottenUsers::default();
        loop {
            if Instant::now() >= expire_at {
                self.expire(clock::unix_ms());
                expire_at = Instant::now() + EXPIRE_EVERY;
            }
            let mut stop = self.stop.lock();
            if !*stop {
                self.stopped.wait_for(&mut stop, WRITE_EVERY);
            }
            let is_last = *stop;
            drop(stop);
            let (now, now_ms) = (forgotten(), clock::unix_ms());
            {
                let mut keeper = self.keeper.lock();
                keeper.lately.expire(now_ms);
                keeper.lately.add(now.clone(), now_ms);
            }
            left.add(now);
            let may_wait = !is_last && left == ForgottenUsers::default() && self.may_wait();
            if may_wait && written_at.elapsed() < WRITE_EVERY_OF_MANY {
                continue;
            }
            self.write();
            written_at = Instant::now();
            if self.forget(left.clone()) {
                left = ForgottenUsers::default();
            }
            if is_last {
                return;
            }
        }
    }
    /// Whether few of the calls that would be written now are among the last ones a moment later: as many as are kept are new. Nobody
    /// waits whose calls may name a user who was forgotten.
    fn may_wait(&self) -> bool {
        let keeper = self.keeper.lock();
        keeper.lately.is_empty() && self.ring.lock().total - keeper.written >= CALLS_MAX as u64
    }
    /// Writes what is not written yet, without calls that began before somebody was forgotten whom they name.
    fn write(&self) {
        let mut keeper = self.keeper.lock();
        let mut settled = self.settle(&keeper, keeper.written, |_| false);
        // what comes meanwhile waits for the next time, however much that is
        while !settled.calls.is_empty() {
            let Some(written) = keeper.change(&settled, LogFiles::append) else { return };
            settled.calls.drain(..written);
        }
    }
    /// Forgets calls of users, also in the files; whether that went well.
    fn forget(&self, forgotten: ForgottenUsers) -> bool {
        let Some(users) = Users::new(forgotten) else { return true };
        self.forget_those(|call| users.may_be_in(call), |_| true)
    }
    /// Forgets what is older than it may be, also in the files.
    fn expire(&self, now_ms: u64) {
        let since_ms = now_ms.saturating_sub(KEPT_MS);
        let has_old = |files: &LogFiles| files.oldest_ms().is_some_and(|oldest_ms| oldest_ms < since_ms);
        self.forget_those(|call| call.time_ms < since_ms, has_old);
    }
    /// Takes calls out of memory, and out of the files if those may have them; whether that went well.
    fn forget_those(
        &self,
        is_to_go: impl Fn(&LoggedCall) -> bool,
        is_in_files: impl FnOnce(&LogFiles) -> bool,
    ) -> bool {
        let mut keeper = self.keeper.lock();
        let settled = self.settle(&keeper, 0, is_to_go);
        if settled.taken_out == 0 && !keeper.files.as_ref().is_none_or(is_in_files) {
            return true;
        }
        // some of those that were written are gone; where the files cannot be written, others are missing after a restart
        keeper.written = keeper.written.min(settled.total);
        keeper.change(&settled, LogFiles::rewrite).is_some()
    }
    /// Makes of the calls that came behind the first `seen` what is kept of them, without those that are to go, and without new ones of
    /// users who were forgotten lately. Cost: of each new one some microseconds; the lock of callers is held for two passes over pointers.
    fn settle(&self, keeper: &Keeper, seen: u64, is_to_go: impl Fn(&LoggedCall) -> bool) -> Settled {
        let (calls, total) = {
            let ring = self.ring.lock();
            (ring.behind(seen), ring.total)
        };
        let is_to_go = |call: &LoggedCall, is_new| is_to_go(call) || is_new && keeper.lately.may_be_in(call);
        let settled: Vec<Option<Kept>> = calls.iter().map(|call| call.settled(is_to_go)).collect();
        let taken_out = self.ring.lock().settle(&settled, total);
        Settled { calls: settled.into_iter().flatten().collect(), total: total - taken_out, taken_out }
    }
}

/// What became of calls in memory.
struct Settled {
    /// Those that stay.
    calls: Vec<Kept>,
    /// The number of the last.
    total: u64,
    /// How many are gone that were still there.
    taken_out: u64,
}

impl Keeper {
    /// Writes the first of the calls, and gives how many, as `change` does; nothing where that failed, which is said once when it
    /// begins.
    fn change(
        &mut self,
        Settled { calls, total, .. }: &Settled,
        change: impl FnOnce(&mut LogFiles, &[Kept]) -> io::Result<usize>,
    ) -> Option<usize> {
        let files = self.files.as_mut()?;
        match change(files, calls) {
            Ok(written) => {
                self.written = total - (calls.len() - written) as u64;
                self.fails = false;
                Some(written)
            }
            Err(error) => {
                if !std::mem::replace(&mut self.fails, true) {
                    tracing::warn!(%error, "the request log cannot be written; its calls are missing after a restart");
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
