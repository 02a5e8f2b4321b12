//! Who may answer reads without asking: the read leases of a group, as two state machines without a clock inside.
//!
//! Times are milliseconds of a clock that goes on while the machine sleeps or the process is stopped (`CLOCK_BOOTTIME`),
//! each node its own; they are only compared with times of the same node. What is promised: after `published` was
//! answered for a log index, every read that begins later and is served under a lease shows that index.
//!
//! A replica asks the leader ([`LeaseHolder::ask`]). The leader has a majority confirm that it leads
//! ([`crate::GroupHandle::confirm_leader`]), *beginning after the question arrived* (`core/requests.rs` says why nothing
//! counts that was said before), and grants
//! ([`LeaseGranter::grant`]). The replica reads for [`LEASE_MS`] from when it *asked*; the leader counts it as a holder
//! for [`HELD_MS`] from when it *granted*. Asked comes before granted, and the margin between the two lengths covers
//! clocks that run up to 5 % fast or slow, so no lease outlives its record ([`LeaseGranter::published`] wants every
//! holder to show the index).
//!
//! Why no lease outlives a change of leaders: a majority confirmed the old leader after the question, another majority
//! elected the new one, and whoever is in both confirmed first, since it confirms nothing of an old term afterwards. So
//! the question came before the election, and its lease ends within [`LEASE_MS`] of it. The new leader counts every
//! member as a holder for [`HELD_MS`].
//!
//! Why a lease that begins late misses nothing: its holder shows everything up to [`Grant::through`] before it reads. That
//! is the index that the majority confirmed, raised to the last one the leader answered `published` for. What an
//! earlier leader answered lies below it: it was committed before the election.
//!
//! Why a lease may be renewed without looking again: the chain is unbroken if the renewal *arrives* while the lease before
//! it still runs. Then the leader granted before that lease ended, and counted the holder all along. Only a leader of
//! the same term did; a lease of another term begins anew, beside the old one, which may be used to its end.
//!
//! Why a removed member reads nothing old: its removal is proposed only after its lease has run out and while it gets
//! no other ([`LeaseGranter::may_remove`]). A new leader grants nothing before it has applied what its predecessors left
//! in the log, removals included, and nothing to who is half removed.
//!
//! A deposed leader that has not noticed may still answer `published`: what it shows was committed in its own term,
//! before the election, and every lease of its successors begins above that. So it must not take its successor's
//! entries for its own: the caller looks at [`crate::Status`] after it has looked at what this replica shows.

mod granter;
mod holder;
#[cfg(test)]
mod tests;

pub use granter::{LeaseGranter, NotGranted, Published, Removal, Shows};
pub use holder::{AskId, LeaseHolder, LeaseId, Leases};

/// How long a replica may read after it asked, in milliseconds of its own clock.
pub const LEASE_MS: u64 = 4_000;
/// How long a leader counts a replica as a holder after it granted, in milliseconds of its own clock.
pub const HELD_MS: u64 = 4_500;
/// How often a replica should ask, in milliseconds: two questions may be lost before its lease ends.
pub const ASK_EVERY_MS: u64 = 1_000;
/// How far the rate of a clock may be off, in per cent, in either direction.
pub const DRIFT_PERCENT_MAX: u64 = 5;

const _: () = assert!(
    HELD_MS * (100 - DRIFT_PERCENT_MAX) > LEASE_MS * (100 + DRIFT_PERCENT_MAX),
    "a record outlives its lease when the leader's clock is as fast and the holder's as slow as they may be"
);

/// What a leader grants to a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Grant {
    /// The leader's term.
    pub term: u64,
    /// What the replica must show before it reads under a lease that begins with this grant.
    pub through: u64,
}
