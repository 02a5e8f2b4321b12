//! What a group is doing right now, readable from any thread without a lock.

use crate::effects::Role;
use arc_swap::ArcSwap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// A copy of a group's positions. The fields are read one after another, so they may be some entries apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// This member's part.
    pub role: Role,
    /// The term.
    pub term: u64,
    /// The leader, when known.
    pub leader: Option<u64>,
    /// First index that the log still has.
    pub first_index: u64,
    /// Last index of the log.
    pub last_index: u64,
    /// Everything up to here is committed.
    pub committed: u64,
    /// Everything up to here is committed and on this member's disk.
    pub durable: u64,
    /// Everything up to here is applied, as far as it was reported.
    pub applied: u64,
    /// Bytes of proposals that wait for their commit.
    pub pending_bytes: u64,
    /// Bytes handed to the state machine and not reported as applied.
    pub unapplied_bytes: u64,
    /// Ticks since the oldest of those was handed over.
    pub unapplied_ticks: u64,
    /// Ticks for which the log could not be written; 0 while it can.
    pub stalled_ticks: u64,
    /// Whether this member has the whole state of the group.
    pub copy: StateCopy,
}

/// What a member has of the state of its group: the log alone is not the state, since a snapshot stands in for its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateCopy {
    /// It has not said, or its program is too old to say it.
    #[default]
    Unknown,
    /// Part of it is on its way: the log goes on behind a snapshot that the state machine has not taken in.
    Fetching,
    /// All of it, durably: the state that the log goes on from, and the log. The state machine has applied through here.
    Whole {
        /// The applied index.
        applied: u64,
    },
}

impl StateCopy {
    /// Whether it is known to have all.
    pub fn is_whole(self) -> bool {
        match self {
            StateCopy::Whole { .. } => true,
            StateCopy::Unknown | StateCopy::Fetching => false,
        }
    }
    /// The number that answers of a member carry. 0 is what members say that know nothing of it.
    pub(crate) fn to_number(self) -> i64 {
        match self {
            StateCopy::Unknown => 0,
            StateCopy::Fetching => -1,
            StateCopy::Whole { applied } => i64::try_from(applied).unwrap_or(i64::MAX).max(1),
        }
    }
    /// Reads what [`Self::to_number`] made.
    pub(crate) fn from_number(number: i64) -> StateCopy {
        match u64::try_from(number) {
            Ok(0) => StateCopy::Unknown,
            Ok(applied) => StateCopy::Whole { applied },
            Err(_) => StateCopy::Fetching,
        }
    }
}

/// The members of a group, and how far each has come as far as this member knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// Those that vote, ascending.
    pub voters: Vec<u64>,
    /// Those that only follow, ascending.
    pub learners: Vec<u64>,
    /// Those of them that are gone when the change is through which is half through now.
    pub leaving: Vec<u64>,
    /// Whether a change of members is half through.
    pub is_joint: bool,
    /// The index of the change that made the members what they are.
    pub since: u64,
    /// On the leader: each other member with what it is known to have of the log. Empty elsewhere.
    pub followers: Vec<Progress>,
}

/// How far a follower has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The follower.
    pub member: u64,
    /// It has the log up to here.
    pub matched: u64,
    /// Whether that is everything that is committed.
    pub has_committed: bool,
    /// Whether it was heard of during the last election timeouts.
    pub is_live: bool,
    /// What it said last of its state, in this term of its leader. One that a snapshot is sent to counts as fetching: it is about
    /// to give up the state that it has.
    pub copy: StateCopy,
}

impl Membership {
    /// Whether this is a member, voting or not.
    pub fn contains(&self, member: u64) -> bool {
        self.voters.contains(&member) || self.learners.contains(&member)
    }
    /// The progress of a follower.
    pub fn progress(&self, member: u64) -> Option<Progress> {
        self.followers.iter().find(|follower| follower.member == member).copied()
    }
}

#[derive(Debug, Default)]
pub(crate) struct StatusCell {
    pub(crate) membership: ArcSwap<Membership>,
    role: AtomicU64,
    term: AtomicU64,
    leader: AtomicU64,
    first_index: AtomicU64,
    last_index: AtomicU64,
    committed: AtomicU64,
    durable: AtomicU64,
    applied: AtomicU64,
    /// Counted by the handle when it admits a proposal and when that is answered.
    pub(crate) pending_bytes: AtomicU64,
    unapplied_bytes: AtomicU64,
    unapplied_ticks: AtomicU64,
    stalled_ticks: AtomicU64,
    /// A [`StateCopy`] as its number.
    copy: AtomicI64,
    /// What the state machine reported last.
    pub(crate) reported_applied: AtomicU64,
    /// Whether the state machine takes anew what it has.
    pub(crate) distrusts: AtomicBool,
    /// Up to where the log may be cut; 0: nothing new.
    pub(crate) wanted_compact: AtomicU64,
}

impl StatusCell {
    pub(crate) fn load(&self) -> Status {
        let get = |cell: &AtomicU64| cell.load(Ordering::Acquire);
        Status {
            role: match get(&self.role) {
                2 => Role::Leader,
                1 => Role::Candidate,
                _ => Role::Follower,
            },
            term: get(&self.term),
            leader: Some(get(&self.leader)).filter(|&leader| leader != 0),
            first_index: get(&self.first_index),
            last_index: get(&self.last_index),
            committed: get(&self.committed),
            durable: get(&self.durable),
            applied: get(&self.applied),
            pending_bytes: get(&self.pending_bytes),
            unapplied_bytes: get(&self.unapplied_bytes),
            unapplied_ticks: get(&self.unapplied_ticks),
            stalled_ticks: get(&self.stalled_ticks),
            copy: StateCopy::from_number(self.copy.load(Ordering::Acquire)),
        }
    }
    /// Stores everything but `pending_bytes`, which the handles count.
    pub(crate) fn store(&self, status: Status) {
        let Status {
            role,
            term,
            leader,
            first_index,
            last_index,
            committed,
            durable,
            applied,
            pending_bytes: _,
            unapplied_bytes,
            unapplied_ticks,
            stalled_ticks,
            copy,
        } = status;
        let role = match role {
            Role::Follower => 0,
            Role::Candidate => 1,
            Role::Leader => 2,
        };
        let put = |cell: &AtomicU64, value| cell.store(value, Ordering::Release);
        put(&self.role, role);
        put(&self.term, term);
        put(&self.leader, leader.unwrap_or(0));
        put(&self.first_index, first_index);
        put(&self.last_index, last_index);
        put(&self.committed, committed);
        put(&self.durable, durable);
        put(&self.applied, applied);
        put(&self.unapplied_bytes, unapplied_bytes);
        put(&self.unapplied_ticks, unapplied_ticks);
        put(&self.stalled_ticks, stalled_ticks);
        self.copy.store(copy.to_number(), Ordering::Release);
    }
}
