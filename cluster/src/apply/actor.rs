//! Runs one group's apply loop on a thread of its own, where waiting for a disk or a full shard is allowed.

mod messages;
mod snapshots;

pub use messages::{Anew, Close, Incarnations, Leave, LetGo, Wake};

use super::group::{DumpWhen, GroupApply};
use super::inbox::Inbox;
use super::snapshot_life::SnapshotLife;
use super::{Failure, Machine};
use crate::command::FIRST_LEVEL;
use crate::snapshot::SnapshotRoom;
use crate::snapshot::room::Fetch;
use actix::{Actor, ActorContext, AsyncContext, Context, Handler, SpawnHandle};
use messages::Arrived;
use quorate_node::Left;
use quorate_node::halt::panic_text;
use quorate_node::ops::Incarnation;
use quorate_raft::GroupHandle;
use quorate_store::space::Room;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Entries of one turn, after which the other groups of the thread get theirs.
const TURN_ENTRIES: usize = 256;
/// How long a shard may take to say why it has ended.
const WHY: Duration = Duration::from_millis(500);
/// Bytes of one turn.
const TURN_BYTES: usize = 8 << 20;
/// How often a group looks whether a dump is due.
const DUMP_INTERVAL: Duration = Duration::from_secs(10);
/// How often it does while the disk fills up: what a dump gives back of the log is wanted at once.
const TIGHT_INTERVAL: Duration = Duration::from_secs(1);
/// Messages that may wait; all but a few are wake-ups that say the same.
const MAILBOX: usize = 16;

/// The actor of one group's state machine.
pub struct ApplyActor<M: Machine> {
    apply: GroupApply<M>,
    inbox: Arc<Inbox>,
    applied: Arc<watch::Sender<u64>>,
    raft: GroupHandle,
    room: Arc<SnapshotRoom>,
    /// The snapshot that the group continues from; no entries are applied meanwhile.
    life: SnapshotLife,
    /// Its number, and what ends it.
    fetch: Option<(u64, Fetch)>,
    /// Whether consensus has been told that the state does not count.
    is_distrusted: bool,
    /// When something of the life is due, and what wakes the actor then.
    alarm: Option<(Instant, SpawnHandle)>,
    state: State,
    /// The last entry taken when a dump was last looked for.
    looked_at: u64,
    /// The level of the commands that a state made here may depend on.
    level: LevelInForce,
    disk: Room,
}

/// The level of commands that every node of the installation knows, as far as this node knows.
pub type LevelInForce = Arc<dyn Fn() -> u16 + Send + Sync>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// An entry came that a newer program has to apply.
    Halted,
    /// Something failed or panicked: what is in memory may be half.
    Broken,
    Closed,
}

impl<M: Machine> ApplyActor<M> {
    /// An actor that takes from `inbox` and tells `applied` and `raft` how far it has come.
    pub fn new(
        apply: GroupApply<M>,
        inbox: Arc<Inbox>,
        applied: Arc<watch::Sender<u64>>,
        raft: GroupHandle,
        room: Arc<SnapshotRoom>,
    ) -> Self {
        ApplyActor {
            apply,
            inbox,
            applied,
            raft,
            room,
            life: SnapshotLife::default(),
            fetch: None,
            is_distrusted: false,
            alarm: None,
            state: State::Open,
            looked_at: 0,
            level: Arc::new(|| FIRST_LEVEL),
            disk: Room::boundless(),
        }
    }
    /// The same on a disk that may fill up.
    pub fn on_disk(self, disk: Room) -> Self {
        ApplyActor { disk, ..self }
    }
    /// The same, with what says how new the commands are that may be in the log.
    pub fn with_level(self, level: LevelInForce) -> Self {
        ApplyActor { level, ..self }
    }

    /// Runs `step`; `None` when it failed or panicked, now or before: the group stands still then, and nothing of what it has
    /// in memory becomes durable. What is durable is whole, and the log has the rest.
    fn contained<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, Failure>) -> Option<T> {
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
    fn is_broken(&mut self) -> bool {
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
    fn turn(&mut self) -> Result<bool, Failure> {
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
        let bound = self.contained(|actor| {
            actor.apply.upkeep()?;
            actor.apply.dump(when)
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
}

impl<M: Machine + Unpin> ApplyActor<M> {
    /// Does what can be done now, and says what is waited for.
    fn go_on(&mut self, ctx: &mut Context<Self>) {
        if self.state == State::Open && !self.is_broken() {
            self.look_at_snapshots(ctx);
            if !self.life.keeps_entries() && self.contained(Self::turn) == Some(true) {
                ctx.notify(Wake);
            }
            self.set_alarm(ctx);
        }
        self.say();
    }
    /// Has the actor woken when something of the life of a snapshot is due.
    fn set_alarm(&mut self, ctx: &mut Context<Self>) {
        let due = self.life.due_at().filter(|_| self.state == State::Open);
        if self.alarm.map(|(at, _)| at) == due {
            return;
        }
        if let Some((_, alarm)) = self.alarm.take() {
            ctx.cancel_future(alarm);
        }
        self.alarm = due.map(|at| {
            let rest = at.saturating_duration_since(Instant::now());
            let wake = |actor: &mut Self, ctx: &mut Context<Self>| {
                actor.alarm = None;
                actor.go_on(ctx);
            };
            (at, ctx.run_later(rest, wake))
        });
    }
    fn say(&self) {
        let halt = self.apply.halt();
        let waits_for = match self.state {
            State::Open => self.life.waits_for().unwrap_or("entries"),
            State::Halted => "a newer program",
            State::Broken => "being opened anew",
            State::Closed => "nothing: it has ended",
        };
        self.inbox.says(waits_for, halt.reason().or(self.life.last_error()));
    }
}
impl<M: Machine> ApplyActor<M> {
    fn end_fetch(&mut self) {
        self.life.stop();
        self.fetch = None;
    }
}

impl<M: Machine + Unpin> Actor for ApplyActor<M> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.notify(Wake);
        self.serve_snapshots();
        ctx.run_interval(DUMP_INTERVAL, |actor, _| {
            actor.room.store().expire();
            if actor.state == State::Open {
                let taken = actor.apply.taken();
                let when = if taken == actor.looked_at { DumpWhen::Idle } else { DumpWhen::Due };
                actor.looked_at = taken;
                actor.look_for_dump(when);
            }
        });
        ctx.run_interval(TIGHT_INTERVAL, |actor, _| {
            if actor.state == State::Open && actor.disk.is_tight() {
                actor.look_for_dump(DumpWhen::Idle);
            }
        });
    }
}

impl<M: Machine + Unpin> Handler<Wake> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        self.go_on(ctx);
    }
}

impl<M: Machine + Unpin> Handler<Arrived> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, Arrived { incoming, fetch }: Arrived, ctx: &mut Self::Context) {
        self.life.arrived(fetch, incoming, Instant::now());
        self.go_on(ctx);
    }
}

impl<M: Machine + Unpin> Handler<Anew> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, Anew { from, done }: Anew, ctx: &mut Self::Context) {
        if self.state == State::Open {
            self.life.take_anew(from, self.apply.taken(), done, Instant::now());
            self.go_on(ctx);
        }
    }
}

impl<M: Machine + Unpin> Handler<Incarnations> for ApplyActor<M> {
    type Result = Vec<Incarnation>;

    fn handle(&mut self, _: Incarnations, _: &mut Self::Context) -> Self::Result {
        self.apply.incarnations()
    }
}

impl<M: Machine + Unpin> Handler<Close> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, _: Close, _: &mut Self::Context) {
        if self.state == State::Closed {
            return;
        }
        // entries that follow a snapshot do not follow what is here
        let has_entries = !self.life.keeps_entries();
        self.end_fetch();
        while has_entries && self.state == State::Open && self.contained(Self::turn) == Some(true) {}
        let bound = self.contained(|actor| actor.apply.close());
        self.compact(bound.flatten());
        self.state = State::Closed;
        self.say();
    }
}

impl<M: Machine + Unpin> Handler<LetGo> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, _: LetGo, ctx: &mut Self::Context) {
        // it may have been a shard's thread that found out
        self.is_broken();
        self.end_fetch();
        self.state = State::Closed;
        self.say();
        ctx.stop();
    }
}

impl<M: Machine + Unpin> Handler<Leave> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, _: Leave, ctx: &mut Self::Context) {
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
        ctx.stop();
    }
}
