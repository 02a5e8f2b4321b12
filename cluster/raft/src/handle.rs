//! What can be asked of a group from any thread, and how is that bounded?

use crate::actor::RaftActor;
use crate::effects::{
    BarrierError, Committed, Confirmed, Delivery, Input, MemberChange, MembersError, ProposeError,
    SnapshotImage,
};
use crate::log_writer::Shared;
use crate::mailbox::{Event, Look, MAILBOX, Reply, Request, Shutdown};
use crate::messages::{MessageError, PeerMessage};
use crate::report::{ConsensusStatus, Left, status_of};
use crate::status::{Membership, Status, StatusCell};
use actix::prelude::*;
use bytes::Bytes;
use quorate_model::{GroupId, limits};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Pause between two looks at whether the state machine is still behind.
const BEHIND_LOOK: Duration = Duration::from_millis(20);
/// How long a log may not be written before its group is better led elsewhere: the first tries again come within that time.
const STALLED: Duration = Duration::from_secs(1);

/// The group has no room for this message now; send it again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mailbox of the group is full")]
pub struct MailboxFull;

/// A group, from any thread.
#[derive(Clone)]
pub struct GroupHandle {
    pub(crate) group: GroupId,
    pub(crate) address: Addr<RaftActor>,
    pub(crate) status: Arc<StatusCell>,
    pub(crate) left: Arc<Left>,
    /// The log closes with the host, whoever still has this.
    pub(crate) log: Weak<Shared>,
    pub(crate) tick_ms: u64,
}

/// Gives the bytes of a proposal back when it is answered or its caller goes away.
struct Admission<'s> {
    status: &'s StatusCell,
    bytes: u64,
}
impl Drop for Admission<'_> {
    fn drop(&mut self) {
        self.status.pending_bytes.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

impl GroupHandle {
    /// The group.
    pub fn group(&self) -> GroupId {
        self.group
    }

    /// Appends payloads with consecutive indices, all or none, and waits until the last one is committed. Before that it waits
    /// for the state machine, when that is far behind: what is taken faster than it is applied is seen later and later.
    ///
    /// Errors: `Full` at once above [`limits::PROPOSAL_BYTES_MAX`] waiting or [`limits::UNAPPLIED_BYTES_MAX`]
    /// unapplied bytes, and when the state machine stays behind; `NotLeader`; `Dropped`; `Unavailable` while the log cannot be written; `Timeout` after
    /// `within`, rounded up to ticks. See [`ProposeError::outcome_is_unknown`].
    pub async fn propose(&self, data: Vec<Bytes>, within: Duration) -> Result<Committed, ProposeError> {
        let by = Instant::now() + within;
        let _admission = self.admit(&data)?;
        self.wait_for_apply(by).await?;
        let (reply, answer) = oneshot::channel();
        let within_ticks = self.ticks(by.saturating_duration_since(Instant::now()));
        let input = Input::Propose { id: 0, data, within_ticks };
        match self.address.try_send(Request { input, reply: Reply::Proposal(reply) }) {
            Ok(()) => answer.await.unwrap_or(Err(ProposeError::Stopped)),
            Err(SendError::Full(_)) => Err(ProposeError::Full),
            Err(SendError::Closed(_)) => Err(ProposeError::Stopped),
        }
    }

    async fn wait_for_apply(&self, by: Instant) -> Result<(), ProposeError> {
        while self.is_behind() {
            if Instant::now() >= by {
                return Err(ProposeError::Full);
            }
            tokio::time::sleep(BEHIND_LOOK).await;
        }
        Ok(())
    }
    /// Whether more entries wait for the state machine than it will soon have applied.
    fn is_behind(&self) -> bool {
        let status = self.status();
        status.unapplied_ticks > self.ticks(Duration::from_secs(limits::UNAPPLIED_S))
            && status.committed.saturating_sub(status.applied) > limits::UNAPPLIED_ENTRIES_MAX
    }

    /// Whether the log has not been written for so long that another member should lead.
    pub fn is_stalled(&self) -> bool {
        self.status().stalled_ticks > self.ticks(STALLED)
    }

    fn admit(&self, data: &[Bytes]) -> Result<Admission<'_>, ProposeError> {
        let bytes: u64 = data.iter().map(|d| d.len() as u64).sum();
        let before = self.status.pending_bytes.fetch_add(bytes, Ordering::AcqRel);
        let admission = Admission { status: &self.status, bytes };
        // One that is larger than the limit by itself could never pass; it may when nothing else waits.
        let is_over = before > 0 && before + bytes > limits::PROPOSAL_BYTES_MAX as u64;
        if is_over || self.status().unapplied_bytes > limits::UNAPPLIED_BYTES_MAX as u64 {
            return Err(ProposeError::Full);
        }
        Ok(admission)
    }

    /// Tells the group that the state machine has applied everything up to `log_index`.
    pub fn report_applied(&self, log_index: u64) {
        self.status.reported_applied.fetch_max(log_index, Ordering::AcqRel);
        self.look();
    }

    /// Tells the group that the state machine takes the state that it has anew: this member says that it has no whole one, and
    /// gets no leadership, until [`Self::trust_state`].
    pub fn distrust_state(&self) {
        self.status.distrusts.store(true, Ordering::Release);
        self.look();
    }
    /// Ends what [`Self::distrust_state`] began: the state machine stands by what it has.
    pub fn trust_state(&self) {
        self.status.distrusts.store(false, Ordering::Release);
        self.look();
    }

    /// Lets the log up to `through` go. Only what is applied is cut, and what live followers still need stays.
    pub fn compact(&self, through: u64) {
        self.status.wanted_compact.fetch_max(through, Ordering::AcqRel);
        self.look();
    }

    /// Takes entries through `through` off the disk, soon after the log is cut there: they hold what is to be forgotten.
    pub fn erase(&self, through: u64) {
        if let Some(log) = self.log.upgrade() {
            log.erase(self.group, through);
        }
    }

    /// Through where [`Self::erase`] has come, also in earlier lives.
    pub fn erased(&self) -> u64 {
        self.log.upgrade().map_or(0, |log| log.erased(self.group))
    }

    /// The positions of the group, without waiting.
    pub fn status(&self) -> Status {
        let mut status = self.status.load();
        status.pending_bytes = self.status.pending_bytes.load(Ordering::Acquire);
        status
    }

    /// How the group's consensus is; what waits is known as of its last tick. Cost: a lock.
    pub fn consensus(&self) -> ConsensusStatus {
        let tick = Duration::from_millis(self.tick_ms);
        status_of(&self.status(), self.left.said(), self.address.connected(), tick, Instant::now())
    }

    /// The members of the group, without waiting; how far they are is at most a tick old.
    pub fn membership(&self) -> Arc<Membership> {
        self.status.membership.load_full()
    }

    /// Whether a node votes in the group and no other one is a member, as [`Self::membership`] says it. Cost: an atomic load.
    pub fn has_only(&self, node: u64) -> bool {
        let membership = self.status.membership.load();
        membership.voters == [node] && membership.learners.is_empty()
    }

    /// The index that a linearizable read that starts now must wait for (confirmed by a majority).
    pub async fn read_barrier(&self, within: Duration) -> Result<u64, BarrierError> {
        let (reply, answer) = oneshot::channel();
        let input = Input::ReadBarrier { id: 0, within_ticks: self.ticks(within) };
        match self.address.try_send(Request { input, reply: Reply::Barrier(reply) }) {
            Ok(()) => answer.await.unwrap_or(Err(BarrierError::Stopped)),
            Err(SendError::Full(_)) => Err(BarrierError::Full),
            Err(SendError::Closed(_)) => Err(BarrierError::Stopped),
        }
    }

    /// Has a majority confirm that this member leads, beginning now; what a read lease is granted on.
    ///
    /// Errors: `NotLeader` at once or when leadership is lost meanwhile; `Timeout` after `within`, rounded up to ticks.
    pub async fn confirm_leader(&self, within: Duration) -> Result<Confirmed, BarrierError> {
        let (reply, answer) = oneshot::channel();
        let input = Input::ConfirmLeader { id: 0, within_ticks: self.ticks(within) };
        match self.address.try_send(Request { input, reply: Reply::Confirmation(reply) }) {
            Ok(()) => answer.await.unwrap_or(Err(BarrierError::Stopped)),
            Err(SendError::Full(_)) => Err(BarrierError::Full),
            Err(SendError::Closed(_)) => Err(BarrierError::Stopped),
        }
    }

    /// Changes the members and waits until the change is through. Returns the index it was through at.
    pub async fn change_members(
        &self,
        changes: Vec<MemberChange>,
        context: Bytes,
        within: Duration,
    ) -> Result<u64, MembersError> {
        let (reply, answer) = oneshot::channel();
        let input = Input::ChangeMembers { id: 0, changes, context, within_ticks: self.ticks(within) };
        match self.address.try_send(Request { input, reply: Reply::Members(reply) }) {
            Ok(()) => answer.await.unwrap_or(Err(MembersError::Stopped)),
            Err(SendError::Full(_)) => Err(MembersError::Busy),
            Err(SendError::Closed(_)) => Err(MembersError::Stopped),
        }
    }

    /// Starts handing leadership over; it is given up silently when the target does not catch up.
    pub fn transfer_leader(&self, to: u64) -> Result<(), MailboxFull> {
        self.tell(Input::TransferLeader(to))
    }

    /// Takes a message of another member in. Errors: a part is over its limit. A full mailbox drops it, as a network would.
    pub fn step(&self, message: PeerMessage) -> Result<(), MessageError> {
        let message = message.into_raft()?;
        drop(self.address.try_send(Event(Input::Step(Box::new(message)))));
        Ok(())
    }

    /// Tells the group that a member cannot be reached.
    pub fn report_unreachable(&self, member: u64) -> Result<(), MailboxFull> {
        self.tell(Input::Unreachable(member))
    }

    /// Tells the group how the sending of a snapshot ended. Without it a snapshot that is not confirmed for five seconds is
    /// sent again.
    pub fn report_snapshot(&self, to: u64, outcome: Delivery) -> Result<(), MailboxFull> {
        self.tell(Input::SnapshotSent { to, outcome })
    }

    /// Offers a snapshot of the state at an applied index for lagging members.
    pub fn offer_snapshot(&self, image: SnapshotImage) -> Result<(), MailboxFull> {
        self.tell(Input::OfferSnapshot(image))
    }

    /// Stops the group: requests that wait are answered with `Stopped`, later ones too.
    pub fn shutdown(&self) {
        self.address.do_send(Shutdown);
    }

    fn tell(&self, input: Input) -> Result<(), MailboxFull> {
        self.address.try_send(Event(input)).map_err(|_| MailboxFull)
    }

    fn look(&self) {
        // Every tick looks too, so a full mailbox only delays it.
        drop(self.address.try_send(Look));
    }

    fn ticks(&self, within: Duration) -> u64 {
        (within.as_millis() as u64).div_ceil(self.tick_ms.max(1))
    }
}

const _: () = assert!(MAILBOX >= 256, "a smaller mailbox refuses ordinary bursts");
