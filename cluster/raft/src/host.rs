//! How a node runs its groups: one log, one consensus thread, a handle for each group.

use crate::actor::RaftActor;
use crate::core::{Core, CoreOptions, KeptLog, TICK_MS};
use crate::effects::{
    BarrierError, Committed, Confirmed, Delivery, Input, MemberChange, MembersError, ProposeError,
    SnapshotImage,
};
use crate::error::RaftError;
use crate::log::{Log, LogLayer, LogOptions};
use crate::log_writer::Shared;
use crate::mailbox::{Event, FromLog, Look, MAILBOX, Reply, Request, Shutdown};
use crate::messages::{MessageError, PeerMessage};
use crate::ports::{CommitSink, NoPeers, Outbox};
use crate::status::{Membership, Status, StatusCell};
use actix::prelude::*;
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_model::{GroupId, limits};
use quorate_store::space::Room;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long leaving a group may take.
const LEAVE: Duration = Duration::from_secs(20);
/// Pause between two looks at whether a group has stopped.
const STOP_LOOK: Duration = Duration::from_millis(5);
/// Pause between two looks at whether the state machine is still behind.
const BEHIND_LOOK: Duration = Duration::from_millis(20);
/// How long a log may not be written before its group is better led elsewhere: the first tries again come within that time.
const STALLED: Duration = Duration::from_secs(1);

/// How the consensus of a node is opened.
#[derive(Clone)]
pub struct RaftOptions {
    /// The folder of the log.
    pub dir: PathBuf,
    /// Milliseconds of a tick: heartbeats every 2, elections after 8 to 16.
    pub tick_ms: u64,
    /// Where messages to other members go.
    pub outbox: Arc<dyn Outbox>,
    /// What the log that all groups share stands on.
    pub log: LogLayer,
    /// The disk of the folder: its last part is not for the log.
    pub room: Room,
    /// Spreads election timeouts.
    pub seed: u64,
}

impl RaftOptions {
    /// No peers, the real file system, abort on fatal errors.
    pub fn new(dir: &Path) -> Self {
        RaftOptions {
            dir: dir.to_path_buf(),
            tick_ms: TICK_MS,
            outbox: Arc::new(NoPeers),
            log: LogLayer::default(),
            room: Room::boundless(),
            seed: u64::from(std::process::id()),
        }
    }
}

/// How a group starts.
pub struct GroupOptions {
    /// What the state machine has applied durably; entries after it are delivered again.
    pub applied: u64,
    /// The members of a new group; the log's own, when it has some, win.
    pub voters: Vec<u64>,
    /// This member.
    pub self_id: u64,
    /// Receives what the group decides.
    pub sink: Box<dyn CommitSink>,
}

/// The consensus of a node: its log and its groups.
pub struct RaftHost {
    log: Log,
    arbiter: ArbiterHandle,
    system: System,
    thread: Option<std::thread::JoinHandle<()>>,
    options: RaftOptions,
    groups: Mutex<FxHashSet<GroupId>>,
    kept: Arc<KeptLog>,
    begun: Instant,
}

impl RaftHost {
    /// Opens the log and starts the consensus thread.
    pub fn open(options: RaftOptions) -> Result<RaftHost, RaftError> {
        let log_options = LogOptions::on(options.log.clone(), &options.dir);
        let log = Log::open(LogOptions { room: options.room.clone(), ..log_options })?;
        let (started, when_started) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("consensus".into())
            .spawn(move || {
                let runner = System::new();
                let sent = started.send((System::current(), Arbiter::current()));
                if sent.is_ok()
                    && let Err(error) = runner.run()
                {
                    tracing::error!(%error, "the consensus thread failed");
                }
            })
            .map_err(|e| RaftError::Log(e.to_string()))?;
        let (system, arbiter) = when_started.recv().map_err(|e| RaftError::Log(e.to_string()))?;
        let begun = Instant::now();
        Ok(RaftHost {
            log,
            arbiter,
            system,
            thread: Some(thread),
            options,
            groups: Mutex::default(),
            kept: Arc::default(),
            begun,
        })
    }

    /// Starts a group. A group of this member alone leads when this returns; proposals may follow at once.
    ///
    /// Errors: those of [`RaftError`] when log and state machine do not fit together.
    pub fn start_group(&self, group: GroupId, options: GroupOptions) -> Result<GroupHandle, RaftError> {
        if !self.groups.lock().insert(group) {
            return Err(RaftError::NotStarted { group, message: "it runs already" });
        }
        let started = self.start(group, options);
        if started.is_err() {
            self.groups.lock().remove(&group);
        }
        started
    }

    fn start(&self, group: GroupId, options: GroupOptions) -> Result<GroupHandle, RaftError> {
        let GroupOptions { applied, voters, self_id, sink } = options;
        let stored = self.log.stored(group)?;
        let seed = self.options.seed ^ u64::from(group.0) << 32;
        let kept = self.kept.clone();
        let core_options = CoreOptions { group, self_id, voters, applied, seed, kept };
        // The library panics where a log breaks its rules: that must not end the others.
        let reader = self.log.reader(group);
        let core = catch_unwind(AssertUnwindSafe(|| Core::new(core_options, stored, reader)));
        let core = core.map_err(|_| RaftError::Consensus { group, message: "a panic".into() })??;
        let status = Arc::new(StatusCell::default());
        status.store(core.status());
        status.membership.store(Arc::new(core.membership()));
        let actor = RaftActor {
            group,
            core,
            sink,
            outbox: self.options.outbox.clone(),
            log: self.log.shared(),
            kept: self.kept.clone(),
            room: self.options.room.clone(),
            status: status.clone(),
            tick: Duration::from_millis(self.options.tick_ms),
            begun: self.begun,
            has_failed: false,
            replies: FxHashMap::default(),
            next_id: first_id(),
            ticks: 0,
            shown_members: 0,
        };
        let log = self.log.shared();
        let (sender, receiver) = std::sync::mpsc::channel();
        let spawned = self.arbiter.spawn_fn(move || {
            let address = RaftActor::create(|ctx| {
                let address = ctx.address();
                // Past the limit of the mailbox: a lost report would stop the group. There is at most one for each of
                // its few writes under way, and the changes of stalling.
                log.listen(group, Arc::new(move |report| address.do_send(FromLog(report))));
                actor
            });
            drop(sender.send(address));
        });
        let stopped = RaftError::NotStarted { group, message: "the consensus thread has stopped" };
        if !spawned {
            return Err(stopped);
        }
        let address = receiver.recv().map_err(|_| stopped)?;
        let log = Arc::downgrade(&self.log.shared());
        Ok(GroupHandle { group, address, status, log, tick_ms: self.options.tick_ms })
    }

    /// Whether the log has anything of a group that this node has not left: it is a member, or was one.
    pub fn knows(&self, group: GroupId) -> Result<bool, RaftError> {
        Ok(self.log.stored(group)?.conf.is_some())
    }

    /// Stops a group that this member has left for good, and gives up its log but for what [`crate::leaving`] names.
    /// Returns when that is durable; from then on the group can be started again with an empty state machine. Blocks.
    ///
    /// Errors: `NotStarted` when the group has not stopped within [`LEAVE`]; `Log` when nothing is durable for as long.
    pub fn leave_group(&self, handle: &GroupHandle) -> Result<(), RaftError> {
        let group = handle.group;
        self.end(handle)?;
        self.log.leave(group, LEAVE)?;
        self.groups.lock().remove(&group);
        Ok(())
    }

    /// Stops a group that can be started again afterwards, as after a crash: what was queued for its log is durable then. Blocks.
    ///
    /// Errors: as of [`Self::leave_group`]; it can be tried again.
    pub fn stop_group(&self, handle: &GroupHandle) -> Result<(), RaftError> {
        self.end(handle)?;
        // Else the next life of the group could take a word about an earlier write for one about its own.
        self.log.settle(handle.group, LEAVE)?;
        self.groups.lock().remove(&handle.group);
        Ok(())
    }
    fn end(&self, handle: &GroupHandle) -> Result<(), RaftError> {
        let deadline = Instant::now() + LEAVE;
        handle.shutdown();
        while handle.address.connected() {
            if Instant::now() > deadline {
                return Err(RaftError::NotStarted { group: handle.group, message: "it does not stop" });
            }
            std::thread::sleep(STOP_LOOK);
        }
        Ok(())
    }

    /// Syncs of the log so far.
    pub fn log_syncs(&self) -> u64 {
        self.log.syncs()
    }

    /// Why the log cannot be written at present; `None`: it can.
    pub fn log_stalled(&self) -> Option<String> {
        self.log.stalled()
    }
}

impl Drop for RaftHost {
    /// Ends all groups; requests that wait are answered with `Stopped`. Blocks until the queued writes are on disk.
    fn drop(&mut self) {
        self.system.stop();
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the consensus thread panicked");
        }
    }
}

/// The group has no room for this message now; send it again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mailbox of the group is full")]
pub struct MailboxFull;

/// A group, from any thread.
#[derive(Clone)]
pub struct GroupHandle {
    group: GroupId,
    address: Addr<RaftActor>,
    status: Arc<StatusCell>,
    /// The log closes with the host, whoever still has this.
    log: Weak<Shared>,
    tick_ms: u64,
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

    /// The positions of the group, without waiting.
    pub fn status(&self) -> Status {
        let mut status = self.status.load();
        status.pending_bytes = self.status.pending_bytes.load(Ordering::Acquire);
        status
    }

    /// The members of the group, without waiting; how far they are is at most a tick old.
    pub fn membership(&self) -> Arc<Membership> {
        self.status.membership.load_full()
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

/// Where the numbers of requests begin, by chance: a leader's late answer to a read of an earlier life of this member must not
/// be taken for one to a read of this life.
fn first_id() -> u64 {
    RandomState::new().build_hasher().finish() >> 1
}

const _: () = assert!(MAILBOX >= 256, "a smaller mailbox refuses ordinary bursts");
