//! How much of the log does a node keep for members that lag, and how far is a log cut?

use super::waiting::InFlight;
use super::{Core, LogReader};
use crate::effects::{Position, Role};
use raft::eraftpb::{Message, MessageType};
use raft::{ProgressState, StateRole, Storage};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Ticks after which a silent follower no longer keeps the log from being cut.
const FOLLOWER_GONE_TICKS: u64 = 300;
/// Entries a live follower may lag before the log is cut without it.
const FOLLOWER_LAG_MAX: u64 = 100_000;
/// Bytes of all logs of a node that are kept for members that lag, about: entries may be large, and a member with a full disk takes
/// none at all.
const KEPT_BYTES_MAX: u64 = 1 << 30;
/// The same while the disk of the node fills up: what is on its way to members that do not lag.
const KEPT_BYTES_TIGHT: u64 = 16 << 20;

/// What all groups of a node keep of their logs for members that lag: one of these could otherwise fill the disks of all leaders.
#[derive(Debug)]
pub struct KeptLog {
    bytes: AtomicU64,
    is_tight: AtomicBool,
    most: u64,
}

impl Default for KeptLog {
    fn default() -> Self {
        Self::with_most(KEPT_BYTES_MAX)
    }
}

impl KeptLog {
    /// A bound of so many bytes while the disk has room.
    pub fn with_most(bytes: u64) -> KeptLog {
        KeptLog { bytes: AtomicU64::new(0), is_tight: AtomicBool::new(false), most: bytes }
    }
    /// Bytes that are kept and nobody else needs, about.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }
    /// Bytes that may be kept.
    pub fn bytes_max(&self) -> u64 {
        match self.is_tight.load(Ordering::Acquire) {
            true => self.most.min(KEPT_BYTES_TIGHT),
            false => self.most,
        }
    }
    /// Says whether the disk of the node fills up. What is kept then is cut with the next tick of each group.
    pub fn set_tight(&self, is_tight: bool) {
        self.is_tight.store(is_tight, Ordering::Release);
    }
}

/// The part of one group. It is given back when it is dropped.
#[derive(Debug)]
pub(super) struct KeptPart {
    of: Arc<KeptLog>,
    bytes: u64,
}

impl KeptPart {
    pub(super) fn new(of: Arc<KeptLog>) -> KeptPart {
        KeptPart { of, bytes: 0 }
    }
    /// Keeps so many bytes from now on, unless that is too much with what the other groups keep. Returns whether it does.
    fn keep(&mut self, bytes: u64) -> bool {
        let most = self.of.bytes_max();
        let before = self.bytes;
        let all = |sum: u64| {
            let all = sum - before + bytes;
            (bytes == 0 || all <= most).then_some(all)
        };
        let is_kept = self.of.bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, all).is_ok();
        if is_kept {
            self.bytes = bytes;
        }
        is_kept
    }
}
impl Drop for KeptPart {
    fn drop(&mut self) {
        self.keep(0);
    }
}

/// Through where all members have the log that are waited for, as the leader of a term said it.
///
/// Whoever leads next sends them what they lack. A follower that had cut its log by itself could only send a snapshot, and who
/// takes one gives up what it has: so followers cut no further than the leader itself would.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needed {
    term: u64,
    through: u64,
}

impl Needed {
    /// Notes what a leader says. Programs of earlier releases say nothing.
    pub(super) fn note(&mut self, message: &Message) {
        if is_from_leader(message) && message.priority > 0 && message.term >= self.term {
            *self = Needed { term: message.term, through: message.priority as u64 - 1 };
        }
    }
    fn in_term(&self, term: u64) -> Option<u64> {
        (self.term == term).then_some(self.through)
    }
}

fn is_from_leader(message: &Message) -> bool {
    matches!(message.msg_type, MessageType::MsgAppend | MessageType::MsgHeartbeat)
}

/// Adds to what a leader sends through where others have the log, in a field that only votes use otherwise.
pub(super) fn say(needed: Option<u64>, mut message: Message) -> Message {
    if let Some(through) = needed
        && is_from_leader(&message)
    {
        message.priority = through.min(i64::MAX as u64 - 1) as i64 + 1;
    }
    message
}

impl<R: LogReader> Core<R> {
    /// Through where all of the log is that no other member lacks; `None` unless this member leads.
    pub(super) fn needed(&self) -> Option<u64> {
        let raft = &self.node.raft;
        let has_begun = (self.leadership.role, self.leadership.term) == (Role::Leader, raft.term);
        (raft.state == StateRole::Leader).then(|| match has_begun {
            true => self.lacking().into_iter().min().unwrap_or(u64::MAX),
            false => 0,
        })
    }

    /// Cuts the log as far as it was asked for and members that lag allow, while it can be written or not: a cut is what
    /// makes room.
    pub(super) fn compact(&mut self) {
        // without a leader nobody knows what the others lack
        if self.leader().is_none() {
            return;
        }
        let through = self.kept_behind(self.compact_to.min(self.applied));
        if through < self.node.store().first() {
            return;
        }
        let Some(Position { index, term }) = self.node.mut_store().compact(through) else { return };
        let mut persist = self.next_persist();
        persist.truncated = Some(Position { index, term });
        self.push_persist(persist, InFlight::default());
    }

    /// Up to where the log goes that nobody needs, of what this member itself does not need through `own`. Those that lag furthest are
    /// left out first, when too much would be kept for them.
    fn kept_behind(&mut self, own: u64) -> u64 {
        let begin = self.node.store().first() - 1;
        let behind = |log: &Self, index: u64| log.node.store().bytes_behind(index.max(begin));
        let mut lacking = self.lacking();
        lacking.retain(|through| *through < own);
        lacking.sort_unstable();
        for through in lacking {
            let bytes = behind(self, through).saturating_sub(behind(self, own));
            if self.kept.keep(bytes) {
                return through;
            }
        }
        self.kept.keep(0);
        own
    }

    /// Up to where each live follower has the log, or the snapshot on its way to it (Typesense #2859), if it does not
    /// lag too many entries. On a follower: what its leader says of that.
    fn lacking(&self) -> Vec<u64> {
        let raft = &self.node.raft;
        if self.leadership.role != Role::Leader {
            return self.needed_by_others.in_term(raft.term).into_iter().collect();
        }
        // What a voter lacks that has not answered yet is not known. If it has a state of its own, it should not have to give
        // that up for a snapshot.
        let is_awaited = |id: &u64| *id != self.self_id && !self.copies.has_said(*id);
        let awaits = self.copies.since() + FOLLOWER_GONE_TICKS > self.ticks;
        let awaited = self.members().voters.iter().filter(|id| awaits && is_awaited(id)).map(|_| 0);
        // The library's own mark of activity is cleared at every election timeout; it says little at any one moment.
        let is_live =
            |id: &u64| self.heard.get(id).is_some_and(|heard| heard + FOLLOWER_GONE_TICKS > self.ticks);
        let others = raft.prs().iter().filter(|(id, _)| **id != self.self_id && is_live(id));
        let needed = others.map(|(_, progress)| match progress.state {
            ProgressState::Snapshot => progress.pending_snapshot.max(progress.matched),
            ProgressState::Probe | ProgressState::Replicate => progress.matched,
        });
        let last = self.node.store().last_index().unwrap_or(0);
        let is_near = |matched: &u64| last.saturating_sub(*matched) <= FOLLOWER_LAG_MAX;
        needed.filter(is_near).chain(awaited).collect()
    }
}
