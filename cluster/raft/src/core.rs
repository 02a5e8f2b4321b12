//! What a member of a group does about each event: proposals, messages, time, finished writes. No input or output here.

mod commit;
mod copies;
mod lagging;
mod members;
mod ready;
mod requests;
mod waiting;

use crate::effects::{
    BarrierError, CommittedEntry, Delivery, Effect, Input, Leadership, Persist, Position, ProposeError,
    RequestId, Role,
};
use crate::error::RaftError;
use crate::group_log::GroupLog;
pub use crate::group_log::{LogReader, Stored};
use crate::leaving::lags_behind;
use crate::status::{Membership, Progress, Status};
use bytes::Bytes;
pub use commit::TELL_AFTER_MS;
use commit::Told;
use copies::Copies;
pub use lagging::KeptLog;
use lagging::{KeptPart, Needed};
use quorate_model::{GroupId, limits};
use raft::eraftpb::{ConfState, Entry};
use raft::{Config, ProgressState, RawNode, SnapshotStatus, StateRole};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use waiting::{Barrier, InFlight, PendingChange, Waiter};

/// Milliseconds of a tick unless configured otherwise.
pub const TICK_MS: u64 = 100;
/// Ticks between heartbeats.
const HEARTBEAT_TICKS: usize = 2;
/// Ticks without a leader before an election starts, at least.
const ELECTION_TICKS_MIN: usize = 8;
/// One more than the ticks without a leader before an election starts, at most.
const ELECTION_TICKS_END: usize = 17;
/// The same for a member that waits for its state.
const ELECTION_TICKS_LATE_END: usize = 2 * ELECTION_TICKS_END - ELECTION_TICKS_MIN;
/// Ticks a joint configuration may last before leaving it is proposed.
const JOINT_TICKS_MAX: u64 = 100;
/// Where the log of every group begins: as if a first, empty entry had been applied and cut off. It stands for the
/// founding members. A member that joins cannot get it as an entry, so it gets a snapshot, which names the members;
/// from the entries alone it would never learn who founded the group.
pub(crate) const FOUNDATION: Position = Position { index: 1, term: 1 };
/// Bytes of entries in one append message.
const APPEND_BYTES: u64 = limits::ENTRY_BYTES as u64;
/// Append messages under way to one follower.
const APPENDS_IN_FLIGHT: usize = 64;
/// Bytes of committed entries handed out by one round.
const COMMITTED_BYTES: u64 = 4 << 20;
/// Ticks after which a snapshot that is wanted and not offered is asked for again.
const SNAPSHOT_ASK_TICKS: u64 = 50;
/// Ticks of silence after which a follower does not count as live.
const LIVE_TICKS: u64 = 2 * ELECTION_TICKS_END as u64;
/// Ticks after which a snapshot that was sent and not confirmed counts as lost: its message is small.
const SNAPSHOT_SENT_TICKS: u64 = 50;
/// Read barriers that may wait at once.
const BARRIERS_MAX: usize = 4_096;

/// Entries that were given to the state machine together and are not applied.
#[derive(Clone, Copy, Debug)]
struct Unapplied {
    /// The index of the last one.
    last: u64,
    bytes: u64,
    /// The tick they were given at.
    since: u64,
}

/// How a group starts.
#[derive(Clone, Debug)]
pub struct CoreOptions {
    /// The group.
    pub group: GroupId,
    /// This member; never reused after its log was lost: it could vote twice in a term.
    pub self_id: u64,
    /// The members of a new group; not looked at when the log has some. Empty: wait to be added.
    pub voters: Vec<u64>,
    /// What the state machine has applied durably.
    pub applied: u64,
    /// Spreads election timeouts; the same seed and inputs give the same effects.
    pub seed: u64,
    /// Shared with the other groups of the node.
    pub kept: Arc<KeptLog>,
}

/// One member of one group. Feed it with [`Core::handle`], then carry out [`Core::take_effects`].
pub struct Core<R: LogReader> {
    group: GroupId,
    self_id: u64,
    seed: u64,
    node: RawNode<GroupLog<R>>,
    effects: Vec<Effect>,
    ticks: u64,
    /// Last sequence number of a write that was handed out.
    seq: u64,
    in_flight: VecDeque<InFlight>,
    hard_state_unsaved: bool,
    /// Committed entries that are not handed yet: a change of members among them waits for a write.
    to_hand: VecDeque<Entry>,
    /// Everything up to here is durably known as committed, at least.
    durable_commit: u64,
    /// The term that is durable here, at least.
    durable_term: u64,
    /// The write that raises `durable_commit`, and to what.
    commit_saved_by: Option<(u64, u64)>,
    /// Everything up to here went through consensus: configuration changes applied, waiting proposals answered.
    handed: u64,
    /// Everything up to here was given to the state machine.
    delivered: u64,
    applied: u64,
    /// Nothing is delivered until this write is durable: the configuration of a delivered change must be on disk.
    delivery_after: Option<u64>,
    unapplied: VecDeque<Unapplied>,
    unapplied_bytes: u64,
    /// The index of a snapshot that the state machine has been given and not confirmed.
    restoring: Option<u64>,
    /// Whether the state machine takes anew what it has.
    distrusts: bool,
    waiters: BTreeMap<(u64, RequestId), Waiter>,
    barriers: BTreeMap<RequestId, Barrier>,
    /// Counts the rounds of confirmation that this member has begun.
    rounds: u64,
    /// The last term of its own in which this member had an entry committed.
    confirms_in: u64,
    change: Option<PendingChange>,
    joint_since: Option<u64>,
    compact_to: u64,
    /// What is kept for members that lag.
    kept: KeptPart,
    /// Where the log ended that this member had when it left the group before.
    left: Position,
    stalled: Option<String>,
    /// The tick at which that began.
    stalled_since: u64,
    leadership: Leadership,
    /// The tick at which the state machine was asked for a snapshot that it has not offered yet.
    snapshot_asked: Option<u64>,
    /// Members that a snapshot was sent to and that have not confirmed it, with its index and the tick it was noticed at.
    snapshots_sent: BTreeMap<u64, (u64, u64)>,
    /// The tick at which each other member was last heard of.
    heard: BTreeMap<u64, u64>,
    /// What the others said of their states.
    copies: Copies,
    /// How far the leader of this member says that the log is needed.
    needed_by_others: Needed,
    told: Told,
}

impl<R: LogReader> Core<R> {
    /// Starts from what the log holds. A member that is the only voter leads when this returns.
    ///
    /// Errors: `LogLost`, `LogCompacted`, `Identity`, `Consensus`.
    pub fn new(options: CoreOptions, stored: Stored, reader: R) -> Result<Self, RaftError> {
        let CoreOptions { group, self_id, voters, applied, seed, kept } = options;
        let is_new = stored.identity.is_none();
        let mut stored = if is_new { found(voters) } else { stored };
        let restore = check(group, self_id, applied, &stored)?;
        let (conf_index, conf) = stored.conf.clone().unwrap_or_default();
        let reported = applied;
        let applied = applied.max(stored.truncated.index);
        let durable_commit = stored.hard_state.commit;
        let durable_term = if is_new { 0 } else { stored.hard_state.term };
        // The commit index is saved together with later writes only, so that it costs no write of its own. What was
        // applied was committed and durable here, and `check` has seen that the log still reaches that far.
        stored.hard_state.commit = stored.hard_state.commit.max(applied);
        let has_commit = stored.hard_state.commit > 0;
        let log = GroupLog::new(&stored, (conf_index, conf.clone()), reader);
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let refused = |e: raft::Error| RaftError::Consensus { group, message: e.to_string() };
        let node = RawNode::new(&config(self_id, applied), log, &logger).map_err(refused)?;
        let mut core = Core {
            group,
            self_id,
            seed,
            node,
            effects: vec![],
            ticks: 0,
            seq: 0,
            in_flight: VecDeque::new(),
            hard_state_unsaved: has_commit,
            to_hand: VecDeque::new(),
            durable_commit,
            durable_term,
            commit_saved_by: None,
            handed: applied,
            delivered: applied,
            applied: reported,
            delivery_after: None,
            unapplied: VecDeque::new(),
            unapplied_bytes: 0,
            restoring: None,
            distrusts: false,
            waiters: BTreeMap::new(),
            barriers: BTreeMap::new(),
            rounds: 0,
            confirms_in: 0,
            change: None,
            joint_since: None,
            compact_to: 0,
            kept: KeptPart::new(kept),
            left: stored.left,
            stalled: None,
            stalled_since: 0,
            leadership: Leadership { role: Role::Follower, term: stored.hard_state.term, leader: None },
            snapshot_asked: None,
            snapshots_sent: BTreeMap::new(),
            heard: BTreeMap::new(),
            copies: Copies::default(),
            needed_by_others: Needed::default(),
            told: Told::default(),
        };
        core.set_election_timeout();
        if is_new {
            let mut first = core.next_persist();
            first.identity = Some(self_id);
            first.conf = Some((conf_index, conf));
            first.truncated = Some(stored.truncated).filter(|truncated| truncated.index > 0);
            core.push_persist(first, InFlight::default());
        }
        if reported == 0 && restore.is_none() && stored.truncated == FOUNDATION {
            let Position { index, term } = FOUNDATION;
            core.effects.push(Effect::Apply(vec![CommittedEntry { index, term, data: Bytes::new() }]));
        }
        match restore {
            Some(snapshot) => core.give_snapshot(snapshot),
            None if stored.snapshot.is_some() => core.snapshot_done(),
            None => {}
        }
        // Members may have changed after the stored configuration.
        core.settle();
        if core.members().voters == [self_id] && !core.is_joint() {
            core.node.campaign().map_err(refused)?;
        }
        core.settle();
        Ok(core)
    }

    /// Takes one event in. Cost: what the event itself needs; effects gather until they are taken.
    pub fn handle(&mut self, input: Input) {
        match input {
            Input::Propose { id, data, within_ticks } => self.propose(id, data, within_ticks),
            Input::Step(message) => self.step(*message),
            Input::Tick => self.tick(),
            Input::Persisted(seq) => self.persisted(seq),
            Input::Stalled(reason) => self.set_stalled(reason),
            Input::Applied(index) => self.applied(index),
            Input::Distrust => self.distrusts = true,
            Input::Trust => self.distrusts = false,
            Input::ChangeMembers { id, changes, context, within_ticks } => {
                self.change_members(id, &changes, context, within_ticks);
            }
            Input::TransferLeader(to) => self.node.transfer_leader(to),
            Input::Unreachable(member) => self.node.report_unreachable(member),
            Input::SnapshotSent { to, outcome } => {
                let status = match outcome {
                    Delivery::Arrived => SnapshotStatus::Finish,
                    Delivery::Failed => SnapshotStatus::Failure,
                };
                self.node.report_snapshot(to, status);
            }
            Input::OfferSnapshot(image) => {
                self.snapshot_asked = None;
                if image.index <= self.applied {
                    self.node.mut_store().offer(image.index, image.data);
                }
            }
            Input::Compact(through) => {
                self.compact_to = self.compact_to.max(through.min(self.applied));
                self.compact();
            }
            Input::TellCommit => self.tell_commit(),
            Input::ReadBarrier { id, within_ticks } => self.read_barrier(id, within_ticks),
            Input::ConfirmLeader { id, within_ticks } => self.confirm_leader(id, within_ticks),
            Input::Campaign if self.is_installing() || self.wins_too_early() || self.must_not_lead() => {}
            Input::Campaign => {
                // Not being allowed to is no error here: another election will come.
                let _ = self.node.campaign();
            }
        }
        self.settle();
    }

    /// What must be done now, in order.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// The positions of the group. `pending_bytes` is counted by the caller.
    pub fn status(&self) -> Status {
        let log = self.node.store();
        Status {
            role: self.leadership.role,
            term: self.leadership.term,
            leader: self.leadership.leader,
            first_index: log.first(),
            last_index: self.node.raft.raft_log.last_index(),
            committed: self.node.raft.raft_log.committed,
            durable: self.node.raft.raft_log.committed.min(self.node.raft.raft_log.persisted),
            applied: self.applied,
            pending_bytes: 0,
            unapplied_bytes: self.unapplied_bytes,
            unapplied_ticks: self.unapplied.front().map_or(0, |oldest| self.ticks - oldest.since),
            stalled_ticks: match self.stalled {
                Some(_) => (self.ticks - self.stalled_since).max(1),
                None => 0,
            },
            copy: self.copy(),
        }
    }

    /// The members as this member knows them.
    pub fn members(&self) -> &ConfState {
        &self.node.store().conf().1
    }

    /// The index of the change that made the members what they are.
    pub fn members_since(&self) -> u64 {
        self.node.store().conf().0
    }

    /// The members and, on the leader, how far each has come.
    pub fn membership(&self) -> Membership {
        let conf = self.members();
        let mut membership = Membership {
            voters: conf.voters.iter().chain(&conf.voters_outgoing).copied().collect(),
            learners: conf.learners.iter().chain(&conf.learners_next).copied().collect(),
            leaving: vec![],
            is_joint: self.is_joint(),
            since: self.members_since(),
            followers: vec![],
        };
        let stays = |id: &u64| {
            [&conf.voters, &conf.learners, &conf.learners_next].iter().any(|list| list.contains(id))
        };
        membership.leaving.extend(conf.voters_outgoing.iter().filter(|id| !stays(id)));
        for list in [&mut membership.voters, &mut membership.learners] {
            list.sort_unstable();
            list.dedup();
        }
        if self.leadership.role == Role::Leader {
            let is_live = |id: &u64| self.heard.get(id).is_some_and(|heard| heard + LIVE_TICKS > self.ticks);
            let others = self.node.raft.prs().iter().filter(|(id, _)| **id != self.self_id);
            let progress = |(id, progress): (&u64, &raft::Progress)| Progress {
                member: *id,
                matched: progress.matched,
                has_committed: progress.matched >= self.node.raft.raft_log.committed,
                is_live: is_live(id),
                copy: self.copy_of(*id, progress),
            };
            membership.followers = others.map(progress).collect();
            membership.followers.sort_unstable_by_key(|follower| follower.member);
        }
        membership
    }

    /// The term and first index of the log, for tests and simulations of safety.
    pub fn vote(&self) -> u64 {
        self.node.raft.vote
    }

    fn step(&mut self, mut message: raft::eraftpb::Message) {
        if message.msg_type == raft::eraftpb::MessageType::MsgPropose {
            return;
        }
        self.heard.insert(message.from, self.ticks);
        if self.is_too_much(&message) {
            return;
        }
        if self.is_installing() || self.is_of_an_earlier_life(&message) || lags_behind(self.left, &message) {
            return;
        }
        let is_handed_over = message.msg_type == raft::eraftpb::MessageType::MsgTimeoutNow;
        if is_handed_over && (self.wins_too_early() || self.must_not_lead()) {
            return;
        }
        if message.msg_type == raft::eraftpb::MessageType::MsgReadIndex && !self.name_round(&mut message) {
            return;
        }
        self.needed_by_others.note(&message);
        if self.copies.note(&message) {
            self.weigh();
        }
        // Refused messages are those of unknown members or of past terms; the sender will try again.
        let _ = self.node.step(message);
    }

    /// A member that was removed and comes back begins with an empty log. What a leader says about the log it had before
    /// would make the library panic.
    fn is_of_an_earlier_life(&self, message: &raft::eraftpb::Message) -> bool {
        message.msg_type == raft::eraftpb::MessageType::MsgHeartbeat
            && message.commit > self.node.raft.raft_log.last_index()
    }

    /// Whether a campaign would end at once, for nobody else votes any more, while part of the log is not durable yet: the
    /// library would panic, and an election that no other voter takes part in can wait for the disk.
    fn wins_too_early(&self) -> bool {
        let raft = &self.node.raft;
        raft.state != StateRole::Leader
            && raft.raft_log.persisted < raft.raft_log.last_index()
            && raft.prs().is_singleton()
    }

    fn tick(&mut self) {
        self.ticks += 1;
        if !self.is_installing() && !self.wins_too_early() {
            self.node.tick();
        }
        self.expire_requests();
        self.watch_members();
        self.watch_snapshots();
        self.compact();
    }

    /// Sends snapshots again that nobody confirmed. The library waits for a report for ever, and the member gets nothing
    /// meanwhile. A member confirms what it was sent before its state machine has fetched any of it.
    fn watch_snapshots(&mut self) {
        let is_leader = self.node.raft.state == StateRole::Leader;
        let progress = self.node.raft.prs().iter();
        let waiting = progress.filter(|(_, progress)| is_leader && progress.state == ProgressState::Snapshot);
        let waiting: BTreeMap<u64, u64> =
            waiting.map(|(id, progress)| (*id, progress.pending_snapshot)).collect();
        self.snapshots_sent.retain(|id, (index, _)| waiting.get(id) == Some(index));
        for (id, index) in waiting {
            let (_, since) = *self.snapshots_sent.entry(id).or_insert((index, self.ticks));
            if since + SNAPSHOT_SENT_TICKS <= self.ticks {
                self.snapshots_sent.remove(&id);
                self.node.report_snapshot(id, SnapshotStatus::Failure);
            }
        }
    }

    /// Brings everything that follows from the last event into the effects.
    fn settle(&mut self) {
        self.set_election_timeout();
        self.weigh();
        self.pump();
        // Before anything is delivered: what is shown under another leader must not be taken for the old one's.
        self.note_leadership();
        self.tell_later();
        self.deliver();
        if let Some(reason) = self.node.store().take_read_error() {
            self.fatal(format!("group {}: cannot read the log: {reason}", self.group));
        }
        let is_asked = self.snapshot_asked.is_some_and(|asked| asked + SNAPSHOT_ASK_TICKS > self.ticks);
        if self.node.store().take_snapshot_wanted() && !is_asked {
            self.snapshot_asked = Some(self.ticks);
            self.effects.push(Effect::SnapshotWanted);
        }
    }

    fn note_leadership(&mut self) {
        let leadership = self.current_leadership();
        if leadership != self.leadership {
            let before = (self.leadership.term, self.leadership.leader);
            self.leadership = leadership;
            self.told.forget();
            self.copies.forget(self.ticks);
            self.effects.push(Effect::Leadership(leadership));
            self.fail_confirmations();
            if before != (leadership.term, leadership.leader) {
                self.ask_new_leader();
            }
        }
    }

    fn current_leadership(&self) -> Leadership {
        let raft = &self.node.raft;
        let role = match raft.state {
            StateRole::Leader => Role::Leader,
            StateRole::Follower => Role::Follower,
            StateRole::Candidate | StateRole::PreCandidate => Role::Candidate,
        };
        Leadership { role, term: raft.term, leader: Some(raft.leader_id).filter(|&id| id != 0) }
    }

    /// Replaces the library's random timeout by one that follows from the seed, so that a simulation replays.
    fn set_election_timeout(&mut self) {
        let span = (ELECTION_TICKS_END - ELECTION_TICKS_MIN) as u64;
        // A new draw for every term and, while votes are split without a new term, for every longest timeout.
        let round = self.ticks / ELECTION_TICKS_END as u64;
        let draw = mix(self.seed ^ mix(self.self_id) ^ mix(self.node.raft.term << 20 | round));
        // whoever waits for its state lets all others try first
        let after = if self.must_not_lead() { ELECTION_TICKS_END } else { ELECTION_TICKS_MIN };
        self.node.raft.set_randomized_election_timeout(after + (draw % span) as usize);
    }

    fn set_stalled(&mut self, reason: Option<String>) {
        if let Some(reason) = &reason {
            let error = ProposeError::Unavailable { reason: reason.clone() };
            self.fail_waiters(&error);
        }
        if self.stalled.is_none() {
            self.stalled_since = self.ticks;
        }
        self.stalled = reason;
    }

    fn fatal(&mut self, reason: String) {
        self.effects.push(Effect::Fatal(reason));
    }

    fn next_persist(&mut self) -> Persist {
        self.seq += 1;
        Persist::new(self.group, self.seq)
    }
}

/// Answers everything that waits, for the moment the group stops.
impl<R: LogReader> Core<R> {
    /// Fails all waiting requests with `Stopped`.
    pub fn stop(&mut self) {
        self.fail_waiters(&ProposeError::Stopped);
        for (id, barrier) in std::mem::take(&mut self.barriers) {
            self.answer_barrier(id, &barrier, Err(BarrierError::Stopped));
        }
    }
}

/// The log of a new group as its founding members have it. A member that is added later has no voters to start with.
fn found(voters: Vec<u64>) -> Stored {
    let mut stored = Stored::default();
    let mut conf = ConfState::default();
    let is_founded = !voters.is_empty();
    conf.voters = voters;
    stored.conf = Some((0, conf));
    if is_founded {
        let Position { index, term } = FOUNDATION;
        stored.truncated = FOUNDATION;
        stored.last = index;
        stored.conf = stored.conf.map(|(_, conf)| (index, conf));
        stored.hard_state.term = term;
        stored.hard_state.commit = index;
    }
    stored
}

/// Whether log and state machine fit together; a snapshot that must be given to the state machine again.
fn check(
    group: GroupId,
    self_id: u64,
    applied: u64,
    stored: &Stored,
) -> Result<Option<raft::eraftpb::Snapshot>, RaftError> {
    if let Some(found) = stored.identity.filter(|&found| found != self_id) {
        return Err(RaftError::Identity { group, found, expected: self_id });
    }
    if applied > stored.last {
        return Err(RaftError::LogLost { group, last: stored.last, applied });
    }
    if applied >= stored.truncated.index || stored.truncated == FOUNDATION && stored.snapshot.is_none() {
        return Ok(None);
    }
    match &stored.snapshot {
        Some(snapshot) if snapshot.get_metadata().index == stored.truncated.index => {
            Ok(Some(snapshot.clone()))
        }
        _ => Err(RaftError::LogCompacted { group, truncated: stored.truncated.index, applied }),
    }
}

/// The library's options; its defaults are unsafe or unbounded.
fn config(self_id: u64, applied: u64) -> Config {
    Config {
        id: self_id,
        election_tick: ELECTION_TICKS_MIN,
        min_election_tick: ELECTION_TICKS_MIN,
        max_election_tick: ELECTION_TICKS_LATE_END,
        heartbeat_tick: HEARTBEAT_TICKS,
        applied,
        max_size_per_msg: APPEND_BYTES,
        max_inflight_msgs: APPENDS_IN_FLIGHT,
        check_quorum: true,
        pre_vote: true,
        read_only_option: raft::ReadOnlyOption::Safe,
        // `commit` tells them, more sparingly.
        skip_bcast_commit: true,
        batch_append: true,
        priority: 0,
        // The handle bounds what waits (`PROPOSAL_BYTES_MAX`); twice that never refuses half of a proposal.
        max_uncommitted_size: 2 * limits::PROPOSAL_BYTES_MAX as u64,
        max_committed_size_per_ready: COMMITTED_BYTES,
    }
}

/// Spreads the bits of a number (the finalizer of SplitMix64).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
