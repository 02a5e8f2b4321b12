//! Which calls has this node answered lately (C§14)?
//!
//! The last [`CALLS_MAX`] are in memory as bytes, each where one was that it or another pushed out, so that noting a call copies
//! its bytes once, outside of the lock, and mostly allocates nothing. A thread of its own writes what is new to files (`files.rs`) every
//! [`WRITE_EVERY`], at most the calls that are kept, however many there were: nobody who is answered waits for a disk. A process that
//! is killed loses the calls of that time, and a machine without power those that its system had not written.

mod call;
mod files;
mod forget;

pub use call::{CallFilter, CallKind, CallsAsked, InnerCall, LoggedCall, Secret, Text};

use crate::clock;
use files::LogFiles;
use forget::{Lately, Users};
use parking_lot::{Condvar, Mutex};
use quorate_node::ForgottenUsers;
use quorate_store::codec;
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Calls that are kept (C§20).
pub const CALLS_MAX: usize = 1_000;
/// Bytes of a call: more than those who note one make of it. All that are kept are a thousand times as large at most.
pub const CALL_BYTES_MAX: usize = 24 << 10;
/// How many merge the answers of several nodes at a time: each holds up to [`CALLS_MAX`] calls of every node.
pub const READERS: usize = 2;
/// How long they are kept (C§20).
const KEPT_MS: u64 = 7 * 24 * 3_600 * 1_000;
/// Between two writes.
const WRITE_EVERY: Duration = Duration::from_secs(1);
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

/// A call as it is kept. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq)]
struct Kept {
    time_ms: u64,
    bytes: Arc<Vec<u8>>,
}

impl Kept {
    /// From what a file holds, if that is a call.
    fn read(bytes: Vec<u8>) -> Option<Kept> {
        let time_ms = decoded(&bytes)?.time_ms;
        Some(Kept { time_ms, bytes: Arc::new(bytes) })
    }
}

/// The calls in memory, the oldest first.
#[derive(Default)]
struct Ring {
    calls: VecDeque<Kept>,
    /// How many there have been.
    total: u64,
}

impl Ring {
    /// Gives the one that it pushes out.
    fn push(&mut self, call: Kept) -> Option<Kept> {
        let pushed_out = if self.calls.len() < CALLS_MAX { None } else { self.calls.pop_front() };
        self.calls.push_back(call);
        self.total += 1;
        pushed_out
    }
    /// Those that came behind the first `seen` and are still there.
    fn behind(&self, seen: u64) -> Vec<Kept> {
        let new = (self.total - seen).min(self.calls.len() as u64) as usize;
        self.calls.range(self.calls.len() - new..).cloned().collect()
    }
}

impl Ring {
    /// Lets some of those go that came behind the first `seen`.
    fn drop_behind(&mut self, seen: u64, is_to_go: impl Fn(&Kept) -> bool) {
        let new = (self.total - seen).min(self.calls.len() as u64) as usize;
        let (mut at, before) = (0, self.calls.len());
        self.calls.retain(|call| {
            at += 1;
            at <= before - new || !is_to_go(call)
        });
        self.total -= (before - self.calls.len()) as u64;
    }
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
    /// `forgotten` names since it was asked last are taken out within [`WRITE_EVERY`].
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
    /// Notes a call; one that is larger than any is made is left out. Cost: a copy of its bytes, to where those of the call were that
    /// this thread has pushed out last; the lock is held for two moves.
    pub fn note(&self, call: &LoggedCall<'_>) {
        thread_local! {
            static FREE: Cell<Option<Arc<Vec<u8>>>> = const { Cell::new(None) };
        }
        // one that somebody reads is let go
        let mut place = FREE.take().filter(|free| Arc::strong_count(free) == 1).unwrap_or_default();
        let bytes = Arc::get_mut(&mut place).expect("nobody else has it, and nobody can get it");
        bytes.clear();
        codec::encode_into(bytes, call);
        if bytes.len() > CALL_BYTES_MAX {
            return FREE.set(Some(place));
        }
        let pushed_out = self.0.ring.lock().push(Kept { time_ms: call.time_ms, bytes: place });
        FREE.set(pushed_out.map(|call| call.bytes));
    }
    /// The newest calls that are asked for, the newest first. Cost: reading all that are kept.
    pub fn latest(&self, asked: &CallsAsked) -> Vec<LoggedCall<'static>> {
        let since_ms = clock::unix_ms().saturating_sub(KEPT_MS);
        let calls: Vec<Kept> = self.0.ring.lock().calls.iter().cloned().collect();
        let young = calls.iter().rev().filter(|call| call.time_ms >= since_ms);
        let calls = young.filter_map(|call| decoded(&call.bytes));
        calls.filter(|call| asked.wants(call)).take(asked.most).collect()
    }
}

impl Shared {
    fn write_on(&self, forgotten: &dyn Fn() -> ForgottenUsers) {
        let mut expire_at = Instant::now();
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
            self.write();
            left.add(now);
            if self.forget(left.clone()) {
                left = ForgottenUsers::default();
            }
            if is_last {
                return;
            }
        }
    }
    /// Writes what is not written yet, without calls that began before somebody was forgotten whom they name.
    fn write(&self) {
        let mut keeper = self.keeper.lock();
        loop {
            let mut ring = self.ring.lock();
            ring.drop_behind(keeper.written, |call| {
                keeper
                    .lately
                    .may_be_in(&call.bytes, || decoded(&call.bytes).map_or(0, |call| call.began_ms()))
            });
            let (calls, total) = (ring.behind(keeper.written), ring.total);
            drop(ring);
            if calls.is_empty() || !keeper.change(&calls, total, |files| files.append(&calls)) {
                return;
            }
        }
    }
    /// Forgets calls of users, also in the files; whether that went well.
    fn forget(&self, forgotten: ForgottenUsers) -> bool {
        let Some(users) = Users::new(forgotten) else { return true };
        let mut keeper = self.keeper.lock();
        let mut ring = self.ring.lock();
        ring.calls.retain(|call| !users.may_be_in(&call.bytes));
        let (calls, total) = (ring.behind(0), ring.total);
        drop(ring);
        // the files have older calls, too
        keeper.change(&calls, total, |files| files.rewrite(&calls))
    }
    /// Forgets what is older than it may be, also in the files.
    fn expire(&self, now_ms: u64) {
        let since_ms = now_ms.saturating_sub(KEPT_MS);
        let mut keeper = self.keeper.lock();
        let mut ring = self.ring.lock();
        ring.calls.retain(|call| call.time_ms >= since_ms);
        let (calls, total) = (ring.behind(0), ring.total);
        drop(ring);
        let oldest_ms = keeper.files.as_ref().and_then(LogFiles::oldest_ms);
        if oldest_ms.is_some_and(|oldest_ms| oldest_ms < since_ms) {
            keeper.change(&calls, total, |files| files.rewrite(&calls));
        }
    }
}

impl Keeper {
    /// Writes the first of `calls`, the last of which is the one with the number `total`; `change` says how many. Gives whether that
    /// went well, and says so once when it begins to fail.
    fn change(
        &mut self,
        calls: &[Kept],
        total: u64,
        change: impl FnOnce(&mut LogFiles) -> io::Result<usize>,
    ) -> bool {
        let Some(files) = &mut self.files else { return false };
        match change(files) {
            Ok(written) => {
                self.written = total - (calls.len() - written) as u64;
                self.fails = false;
                true
            }
            Err(error) => {
                if !std::mem::replace(&mut self.fails, true) {
                    tracing::warn!(%error, "the request log cannot be written; its calls are missing after a restart");
                }
                false
            }
        }
    }
}

fn decoded(call: &[u8]) -> Option<LoggedCall<'static>> {
    codec::decode(call, CALL_BYTES_MAX).ok()
}

#[cfg(test)]
mod tests;
