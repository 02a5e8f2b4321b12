//! Does this node know the names and keys as they are now?
//!
//! Every node has the catalogue. It goes by it while it has a lease of the meta group, so that it knows all that was answered, and
//! has heard from the leader of that group without a break. Otherwise it asks the meta group first, and goes on with what it
//! knows only when nobody answers (cluster/DECISIONS.md, reads of the catalogue). A break is over when a question was answered, not
//! when something is heard again: what was decided meanwhile comes after that.

use crate::clock::steady_ms;
use crate::clock::within;
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::groups::Group;
use quorate_model::{Error, Result};
use quorate_raft::PeerMessage;
use quorate_raft::lease::LEASE_MS;
use quorate_raft::messages::MessageKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long the meta group may take to say how far it is.
const ASK: Duration = Duration::from_secs(1);
/// How long nothing may be heard of the leader of the meta group, which says something every fifth of a second; in milliseconds.
const WORD_MS: u64 = 1_000;

/// What this node has heard of the meta group, by [`steady_ms`].
#[derive(Debug, Default)]
pub struct Abreast {
    /// The last word of its leader, or to it.
    heard: AtomicU64,
    /// The same while all that was decided since the last answered question has been heard of; 0 after a break.
    unbroken: AtomicU64,
    /// The newest term of a word: a newer one is a break, since another leader may have decided what this node was not told.
    term: AtomicU64,
    /// Nobody is kept waiting for another question before this time.
    silent_until: AtomicU64,
    /// How often something was heard after a break.
    returns: AtomicU64,
    /// Others may have decided something while the log of this node had no room, and no question was answered since.
    lacks: AtomicBool,
    /// Somebody goes by what may be old.
    wanted: Notify,
}

impl Abreast {
    /// Whether nothing that the meta group decided more than a second before `now` can be unknown here. Cost: an atomic load.
    fn is_told(&self, now: u64) -> bool {
        let last = self.unbroken.load(Ordering::Acquire);
        last > 0 && now <= last.saturating_add(WORD_MS)
    }
    /// Whether who is content with what this node knows has to wait for a question at `now`: one that nobody answered is not
    /// repeated for the length of a lease, so that a node that is cut off goes on reading.
    fn asks(&self, now: u64) -> bool {
        now >= self.silent_until.load(Ordering::Acquire)
    }
    /// A message of the meta group has arrived at `now`.
    pub fn heard(&self, message: &PeerMessage, now: u64) {
        match message.kind {
            MessageKind::Append
            | MessageKind::AppendResponse
            | MessageKind::Heartbeat
            | MessageKind::HeartbeatResponse
            | MessageKind::Snapshot => self.has_word(message.term, now),
            MessageKind::Vote
            | MessageKind::VoteResponse
            | MessageKind::TransferLeader
            | MessageKind::TimeoutNow
            | MessageKind::ReadIndex
            | MessageKind::ReadIndexResponse
            | MessageKind::PreVote
            | MessageKind::PreVoteResponse => {}
        }
    }
    fn has_word(&self, term: u64, now: u64) {
        let newest = self.term.fetch_max(term, Ordering::AcqRel);
        if term < newest {
            return;
        }
        let before = self.heard.swap(now, Ordering::AcqRel);
        if now > before.saturating_add(WORD_MS) {
            self.returns.fetch_add(1, Ordering::AcqRel);
            // it can be asked again
            self.silent_until.store(0, Ordering::Release);
        }
        if now > before.saturating_add(WORD_MS) || term > newest {
            return self.unbroken.store(0, Ordering::Release);
        }
        let goes_on = |last: u64| (last > 0 && now <= last.saturating_add(WORD_MS)).then_some(last.max(now));
        // an error is a break, which a word does not end
        let _ = self.unbroken.fetch_update(Ordering::AcqRel, Ordering::Acquire, goes_on);
    }
    /// A question of `asked` was answered, and what was decided before it is known here.
    fn learned(&self, asked: u64) {
        self.unbroken.fetch_max(asked.max(1), Ordering::AcqRel);
        self.silent_until.store(0, Ordering::Release);
        self.lacks.store(false, Ordering::Release);
    }
    /// How often something was heard after a break.
    fn returns(&self) -> u64 {
        self.returns.load(Ordering::Acquire)
    }
    /// Nobody answered a question until `now`, which was asked after so many returns. One that was asked before the last return says
    /// nothing about now.
    fn heard_nothing(&self, now: u64, returns: u64) {
        if self.returns() == returns {
            self.silent_until.store(now + LEASE_MS, Ordering::Release);
        }
    }
}

/// Waits until this node knows everything that the meta group had decided when it was asked. Errors: `Unavailable` when it does
/// not answer within a second.
pub async fn learn(context: &NodeContext) -> Result<()> {
    let (group, deadline, asked) = (context.groups().meta()?, Instant::now() + ASK, steady_ms());
    let barrier = group.raft.read_barrier(within(deadline)).await;
    let log_index = barrier.map_err(|error| Error::unavailable(error.to_string()))?;
    group.wait_applied(log_index, deadline).await?;
    context.abreast().learned(asked);
    Ok(())
}

/// Whether this node may lack what the meta group has decided, and cannot learn of it: its log has no room, while those of a majority have
/// or had since then, and the last question came to nothing. One whose group stands still for an entry goes on with what it knows: all
/// nodes may have met that, and so does one of a majority that has no room, for nothing is decided then. Looked at every second, since
/// other nodes ask how this one is. Cost: some atomic loads and a lock.
pub fn is_behind(context: &NodeContext) -> bool {
    let (disk, abreast) = (context.disk(), context.abreast());
    let is_stuck = |group: &Arc<Group>| {
        !group.is_led_here() && !group.halt.is_set() && disk.admit(Purpose::Remove).is_err()
    };
    let Some(group) = context.groups().meta().ok().filter(is_stuck) else { return false };
    let own = (context.self_id(), "this node");
    let decides = disk.full_majority(own, &group.raft.membership().voters, Purpose::Remove).is_none();
    // also when no caller has made it ask: others may have no room either by the time one does
    if decides && !is_abreast(context) {
        abreast.lacks.store(true, Ordering::Release);
    }
    !abreast.asks(steady_ms()) && (decides || abreast.lacks.load(Ordering::Acquire))
}

/// Whether nobody can have been told of a change of the catalogue that this node does not know, nor any be a second old. Cost: an
/// atomic load and one lock that is hardly ever waited for; an atomic load on a node without others.
fn is_abreast(context: &NodeContext) -> bool {
    if context.shared_meta().load().nodes.len() <= 1 {
        return true;
    }
    let is_told = |now| context.abreast().is_told(now);
    let meta = context.groups().meta();
    meta.is_ok_and(|group| group.leases.may_read_if(is_told, |_| *group.applied.borrow()))
}

/// As [`keep_abreast`], for who must not go on otherwise. Errors: `Unavailable` when the meta group does not answer within a second.
pub async fn be_abreast(context: &NodeContext) -> Result<()> {
    if is_abreast(context) { Ok(()) } else { Box::pin(learn(context)).await }
}

/// Before something known is used that others may have changed: waits, on a node without a lease of the meta group, or that has
/// not heard of its leader for a second, until it knows what they know; at most a second, and when nobody answers not again for
/// some seconds or until something is heard. Cost otherwise: an atomic load and a lock.
///
/// Errors: `Unavailable` when this node cannot follow what others decide, who can be asked ([`is_behind`]).
pub async fn keep_abreast(context: &NodeContext) -> Result<()> {
    if is_abreast(context) {
        return Ok(());
    }
    let abreast = context.abreast();
    let behind = || match is_behind(context) {
        true => Err(Error::unavailable(
            "the disk of this node is full, and it may lack what others have decided; ask another one",
        )),
        false => Ok(()),
    };
    if !abreast.asks(steady_ms()) {
        abreast.wanted.notify_one();
        return behind();
    }
    let returns = abreast.returns();
    if let Err(error) = Box::pin(learn(context)).await {
        abreast.heard_nothing(steady_ms(), returns);
        behind()?;
        tracing::debug!(%error, "this node goes on with the names and keys that it knows");
    }
    Ok(())
}

/// Goes on asking for those who do not wait for it, so that the first answer counts for all of them, until the task is aborted.
pub async fn ask(context: Arc<NodeContext>) {
    loop {
        context.abreast().wanted.notified().await;
        if let Err(error) = learn(&context).await {
            tracing::trace!(%error, "the meta group does not say yet how far it is");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_nobody_answered_is_not_repeated_at_once() {
        let abreast = Abreast::default();
        assert!(abreast.asks(0), "nothing was asked yet");
        abreast.heard_nothing(10, 0);
        assert!(!abreast.asks(10 + LEASE_MS - 1));
        assert!(abreast.asks(10 + LEASE_MS));
    }

    #[test]
    fn what_is_heard_after_a_break_is_asked_about() {
        let abreast = Abreast::default();
        abreast.has_word(2, 5_000);
        assert!(!abreast.is_told(5_000), "a word says nothing of what came before it");
        abreast.learned(5_100);
        for now in (5_300..20_000).step_by(200) {
            abreast.has_word(2, now);
            assert!(abreast.is_told(now + WORD_MS));
        }
        let last = 19_900;
        assert!(!abreast.is_told(last + WORD_MS + 1));
        let returns = abreast.returns();
        abreast.heard_nothing(last + 3_000, returns);
        assert!(!abreast.asks(last + 3_100));
        abreast.has_word(2, last + 3_200);
        assert!(abreast.asks(last + 3_200), "it is back");
        assert!(!abreast.is_told(last + 3_200));
        abreast.has_word(2, last + 3_400);
        assert!(!abreast.is_told(last + 3_400), "further words do not say what it has missed");
        abreast.heard_nothing(last + 3_500, returns);
        assert!(abreast.asks(last + 3_500), "that question was asked before");
        abreast.learned(last + 3_300);
        assert!(abreast.is_told(last + 3_500));
    }

    #[test]
    fn another_leader_is_asked() {
        let abreast = Abreast::default();
        abreast.has_word(2, 5_000);
        for (term, is_told) in [(2, true), (3, false), (2, true), (3, true), (5, false)] {
            abreast.learned(5_050);
            abreast.has_word(term, 5_100);
            assert_eq!(abreast.is_told(5_100), is_told, "{term}");
        }
    }
}
