//! What does a group's apply loop do next, and what ends it? It has no thread and no clock of its own: the actor gives it both.

mod snapshots;

use super::group::{DumpWhen, GroupApply};
use super::inbox::Inbox;
use super::snapshot_life::SnapshotLife;
use super::{Failure, Machine};
use crate::snapshot::SnapshotRoom;
use crate::snapshot::room::Fetch;
use quorate_model::level;
use quorate_node::Left;
use quorate_node::halt::panic_text;
use quorate_raft::GroupHandle;
use quorate_store::space::Room;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Entries of one turn, after which the other groups of the thread get theirs.
const TURN_ENTRIES: usize = 256;
/// Bytes of one turn.
const TURN_BYTES: usize = 8 << 20;
/// How long a shard may take to say why it has ended.
const WHY: Duration = Duration::from_millis(500);

/// The level of commands that every node of the installation knows, as far as this node knows.
pub type LevelInForce = Arc<dyn Fn() -> u16 + Send + Sync>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Open,
    /// An entry came that a newer program has to apply.
    Halted,
    /// Something failed or panicked: what is in memory may be half.
    Broken,
    Closed,
}

/// The apply loop of one group.
pub(super) struct Runner<M: Machine> {
    pub apply: GroupApply<M>,
    pub inbox: Arc<Inbox>,
    applied: Arc<watch::Sender<u64>>,
    raft: GroupHandle,
    room: Arc<SnapshotRoom>,
    /// The snapshot that the group continues from; no entries are applied meanwhile.
    pub life: SnapshotLife,
    /// Its number, and what ends it.
    fetch: Option<(u64, Fetch)>,
    /// Whether consensus has been told that the state does not count.
    is_distrusted: bool,
    pub state: State,
    /// The last entry taken when a dump was last looked for.
    looked_at: u64,
    /// The level of the commands that a state made here may depend on.
    pub level: LevelInForce,
    pub disk: Room,
}

impl<M: Machine> Runner<M> {
    pub fn new(
        mut apply: GroupApply<M>,
        inbox: Arc<Inbox>,
        applied: Arc<watch::Sender<u64>>,
        raft: GroupHandle,
        room: Arc<SnapshotRoom>,
    ) -> Self {
        apply.note_erased(raft.erased());
        Runner {
            apply,
            inbox,
            applied,
            raft,
            room,
            life: SnapshotLife::default(),
            fetch: None,
            is_distrusted: false,
            state: State::Open,
            looked_at: 0,
            level: Arc::new(|| level::FIRST),
            disk: Room::boundless(),
        }
    }

    /// Runs `step`; `None` when it failed or panicked, now or before: the group stands still then, and nothing of what it has
    /// in memory becomes durable. What is durable is whole, and the log has the rest.
    pub fn contained<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, Failure>) -> Option<T> {
        if self.is_broken() {
            return None;
        }
        let why = match catch_unwind(AssertUnwindSafe(|| step(self))) {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(failure)) => {
                if matches!(failure, Failure::Node(quorate_node::Error::Stopped)) {
                    self.hear_why();
                }
                failure.to_string()
            }
            Err(panic) => format!("a panic: {}", panic_text(&*panic)),
        };
        self.apply.halt().set(format!("log index {}: {why}", self.apply.taking()), Left::Half);
        self.is_broken();
        None
    }
    /// Waits a moment for the reason of a shard that has ended: who waits for its answer learns of the end before that is said.
    fn hear_why(&self) {
        let (halt, until) = (self.apply.halt(), Instant::now() + WHY);
        while !halt.is_set() && Instant::now() < until {
            std::thread::sleep(WHY / 100);
        }
    }
    /// Whether the state may be half, as this thread or one of the machine's has found out. Lets it go when that is news.
    pub fn is_broken(&mut self) -> bool {
        let halt = self.apply.halt();
        if !halt.is_half() {
            return false;
        }
        if self.state != State::Broken {
            self.state = State::Broken;
            self.end_fetch();
            let (group, log_index) = (self.apply.group().0, self.apply.taking());
            tracing::error!(group, log_index, reason = halt.reason(), "the group stands still on this node");
            if catch_unwind(AssertUnwindSafe(|| self.apply.abandon())).is_err() {
                tracing::error!(group, "letting go of a group panicked");
            }
        }
        true
    }

    /// Applies up to one turn of entries; returns whether more wait.
    pub fn turn(&mut self) -> Result<bool, Failure> {
        let entries = self.inbox.take(TURN_ENTRIES, TURN_BYTES);
        if entries.is_empty() {
            return Ok(false);
        }
        let is_halted = !self.apply.take_all(&entries)?;
        self.apply.checkpoint()?;
        self.report();
        if is_halted {
            self.state = State::Halted;
            let (group, halt) = (self.apply.group(), self.apply.halt());
            tracing::error!(group = group.0, reason = halt.reason(), "the group stands still on this node");
            return Ok(false);
        }
        let bound = self.apply.dump(DumpWhen::Due)?;
        self.compact(bound);
        Ok(!self.inbox.is_empty())
    }

    fn report(&self) {
        let taken = self.apply.taken();
        self.raft.report_applied(taken);
        self.applied.send_replace(taken);
    }

    /// Looks whether a dump is due, and lets the log be cut as far as that allows.
    fn look_for_dump(&mut self, when: DumpWhen) {
        let bound = self.contained(|runner| {
            runner.apply.upkeep()?;
            runner.apply.dump(when)
        });
        self.compact(bound.flatten());
    }

    fn compact(&self, bound: Option<u64>) {
        if let Some(bound) = bound {
            tracing::debug!(group = self.apply.group().0, log_index = bound, "the log may be cut");
            if let Some(through) = self.apply.forgets_through() {
                self.raft.erase(through);
            }
            self.raft.compact(bound);
        }
    }
    /// Looks for a dump as often as that is to be; also of a group that rests.
    pub fn look_now_and_then(&mut self) {
        self.room.store().expire();
        if self.state == State::Open {
            let taken = self.apply.taken();
            let when = if taken == self.looked_at { DumpWhen::Idle } else { DumpWhen::Due };
            self.looked_at = taken;
            self.look_for_dump(when);
        }
    }
    /// The same while the disk fills up.
    pub fn look_when_tight(&mut self) {
        if self.state == State::Open && self.disk.is_tight() {
            self.look_for_dump(DumpWhen::Idle);
        }
    }
    /// Says what is waited for.
    pub fn say(&self) {
        let halt = self.apply.halt();
        let waits_for = match self.state {
            State::Open => self.life.waits_for().unwrap_or("entries"),
            State::Halted => "a newer program",
            State::Broken => "being opened anew",
            State::Closed => "nothing: it has ended",
        };
        self.inbox.says(waits_for, halt.reason().or(self.life.last_error()));
    }
    fn end_fetch(&mut self) {
        self.life.stop();
        self.fetch = None;
    }

    /// Applies what is in the inbox, makes everything durable and closes the group's files.
    pub fn close(&mut self) {
        if self.state == State::Closed {
            return;
        }
        // entries that follow a snapshot do not follow what is here
        let has_entries = !self.life.keeps_entries();
        self.end_fetch();
        while has_entries && self.state == State::Open && self.contained(Self::turn) == Some(true) {}
        let bound = self.contained(|runner| runner.apply.close());
        self.compact(bound.flatten());
        self.state = State::Closed;
        self.say();
    }
    /// Ends without making anything durable.
    pub fn let_go(&mut self) {
        // it may have been a shard's thread that found out
        self.is_broken();
        self.end_fetch();
        self.state = State::Closed;
        self.say();
    }
    /// Removes what this node has of the group.
    pub fn leave(&mut self) {
        if self.state != State::Closed {
            self.end_fetch();
            // a state that may be half can go, too
            let left = catch_unwind(AssertUnwindSafe(|| self.apply.leave()));
            if !matches!(left, Ok(Ok(()))) {
                let group = self.apply.group().0;
                tracing::warn!(
                    group,
                    "not all of a group that was left is removed; the next start removes it"
                );
            }
            self.state = State::Closed;
        }
        self.room.store().forget(self.apply.group());
    }
}
