//! Runs one group's apply loop on an apply thread, where waiting for a disk or a full shard is allowed.

use super::group::{DumpWhen, Exported, GroupApply, Replaced};
use super::inbox::Inbox;
use super::{Failure, Machine};
use crate::command::FIRST_LEVEL;
use crate::metrics;
use crate::snapshot::room::Fetch;
use crate::snapshot::{Description, Making, SnapshotRoom};
use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message};
use quorate_model::{Error, NodeId};
use quorate_node::Left;
use quorate_node::halt::panic_text;
use quorate_node::ops::Incarnation;
use quorate_raft::{GroupHandle, SnapshotImage, StateCopy};
use quorate_store::incoming::Incoming;
use quorate_store::space::Room;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

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

/// There may be entries in the inbox.
pub struct Wake;
impl Message for Wake {
    type Result = ();
}

/// Asks for the incarnations that hold files in the group.
pub struct Incarnations;
impl Message for Incarnations {
    type Result = Vec<Incarnation>;
}

/// Applies what is in the inbox, makes everything durable and closes the group's files.
pub struct Close;
impl Message for Close {
    type Result = ();
}

/// A snapshot has arrived for the group, complete and durable.
#[derive(Clone)]
struct Arrived {
    incoming: Incoming,
    /// The fetch that brought it.
    fetch: u64,
}
impl Message for Arrived {
    type Result = ();
}

/// How often it is looked whether the log has reached a snapshot that has arrived, and how long a replacement that could
/// not begin waits.
const REPLACE_LOOK: Duration = Duration::from_millis(200);

/// Takes the state of the group anew from another member: what is here is damaged, or not what the majority has.
pub struct Anew {
    /// Those that may have the right one.
    pub from: Vec<NodeId>,
    /// Told when it is in place; let go of when it does not come.
    pub done: oneshot::Sender<()>,
}
impl Message for Anew {
    type Result = ();
}

/// How long a group waits for a state that it takes anew before it goes on with what it has.
const ANEW: Duration = Duration::from_secs(30 * 60);

/// Removes what this node has of the group and ends: it has left the group.
pub struct Leave;
impl Message for Leave {
    type Result = ();
}

/// Ends without making anything durable: the group is opened anew from what is, as after a crash.
pub struct LetGo;
impl Message for LetGo {
    type Result = ();
}

/// The actor of one group's state machine.
pub struct ApplyActor<M: Machine> {
    apply: GroupApply<M>,
    inbox: Arc<Inbox>,
    applied: Arc<watch::Sender<u64>>,
    raft: GroupHandle,
    room: Arc<SnapshotRoom>,
    /// The snapshot that the group waits for; no entries come meanwhile.
    fetch: Option<Fetch>,
    /// Fetches so far.
    fetches: u64,
    /// The fetch that takes the state anew: nothing is applied until it has ended, since what arrives must not be older.
    anew: Option<(u64, oneshot::Sender<()>)>,
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
            fetch: None,
            fetches: 0,
            anew: None,
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
            self.fetch = None;
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
        if self.anew.is_some() {
            return Ok(false);
        }
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

    /// Makes a snapshot of the group and offers it to lagging members. What it takes to read its files happens on another
    /// thread.
    fn export(&mut self) -> Result<(), Failure> {
        let (group, store) = (self.apply.group(), self.room.store().clone());
        if self.fetch.is_some() {
            return Ok(());
        }
        let (raft, level) = (self.raft.clone(), (self.level)());
        let offer = move |described: Result<Description, Error>| match described {
            Ok(described) => {
                let image = SnapshotImage { index: described.id.index, data: described.encode() };
                // when it is lost it is asked for again
                let _full = raft.offer_snapshot(image);
            }
            Err(error) => tracing::warn!(group = group.0, %error, "cannot make a snapshot of the group"),
        };
        if let Some(known) = store.newest(group, self.apply.machine().applied()) {
            offer(Ok(known));
            return Ok(());
        }
        let Some(draft) = store.begin(group) else { return Ok(()) };
        match self.apply.export(draft.layout())? {
            Exported::Whole(head) => {
                let finish = move || offer(store.finish(draft, head.applied_index, level));
                let begun = std::thread::Builder::new().name(format!("snapshot-{group}")).spawn(finish);
                if let Err(error) = begun {
                    tracing::warn!(group = group.0, %error, "cannot make a snapshot of the group");
                }
            }
            Exported::Not(reason) => tracing::info!(group = group.0, reason, "no snapshot of the group yet"),
        }
        Ok(())
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
            self.raft.compact(bound);
        }
    }
}

impl<M: Machine> ApplyActor<M> {
    /// What is here counts again, if it was taken anew.
    fn end_anew(&mut self) -> Option<oneshot::Sender<()>> {
        self.raft.trust_state();
        self.anew.take().map(|(_, done)| done)
    }
}

impl<M: Machine + Unpin> ApplyActor<M> {
    /// Begins what others asked of the group: a snapshot to continue from, or one to offer.
    fn look_at_snapshots(&mut self, ctx: &mut Context<Self>) {
        if let Some(image) = self.inbox.take_restore() {
            self.restore(&image, ctx);
        }
        if self.inbox.take_wanted() {
            self.contained(Self::export);
        }
    }

    /// Lets a snapshot be fetched; the other groups of the thread go on meanwhile.
    fn restore(&mut self, image: &SnapshotImage, ctx: &mut Context<Self>) {
        let group = self.apply.group();
        let is_known = self.apply.machine().applied() >= image.index;
        if is_known && self.anew.is_some() {
            // what is taken anew is at least that new
            return self.report();
        }
        // a fetch of an older one ends first: both would write to the same folder
        self.fetch = None;
        if is_known {
            return self.report();
        }
        // what comes takes the place of what is damaged, too: until then that is not trusted
        self.anew = None;
        tracing::info!(group = group.0, log_index = image.index, "the group continues from a snapshot");
        self.fetches += 1;
        let (actor, fetch) = (ctx.address(), self.fetches);
        let done = move |incoming| actor.do_send(Arrived { incoming, fetch });
        match self.room.fetch(group, image, done) {
            Ok(fetch) => self.fetch = Some(fetch),
            Err(error) => {
                tracing::warn!(group = group.0, %error, "cannot begin to fetch a snapshot");
                let image = image.clone();
                ctx.run_later(REPLACE_LOOK, move |actor, ctx| {
                    if actor.fetch.is_none() && actor.state == State::Open {
                        actor.restore(&image, ctx);
                    }
                });
            }
        }
    }

    /// Continues from what has arrived, as soon as the log holds everything up to it.
    fn replace(&mut self, arrived: Arrived, ctx: &mut Context<Self>) {
        if self.fetch.is_none() || self.fetches != arrived.fetch || self.state == State::Closed {
            return;
        }
        let mut reason = "its log is not that far".to_owned();
        if self.raft.status().durable >= arrived.incoming.index {
            let incoming = arrived.incoming.clone();
            let Some(replaced) = self.contained(|actor| actor.apply.replace(incoming)) else { return };
            match replaced {
                Replaced::At(log_index) => {
                    let group = self.apply.group().0;
                    tracing::info!(group, log_index, "the group has continued from a snapshot");
                    metrics::snapshot_continued();
                    self.fetch = None;
                    self.report();
                    if let Some(done) = self.end_anew() {
                        let _nobody_waits = done.send(());
                    }
                    return ctx.notify(Wake);
                }
                Replaced::Not(why) => reason = why,
            }
        }
        tracing::debug!(group = self.apply.group().0, reason, "a snapshot has arrived and waits");
        ctx.run_later(REPLACE_LOOK, move |actor, ctx| actor.replace(arrived, ctx));
    }
}

impl<M: Machine + Unpin> Actor for ApplyActor<M> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.notify(Wake);
        let (inbox, raft) = (Arc::downgrade(&self.inbox), self.raft.clone());
        let (applied, halt) = (self.applied.subscribe(), self.apply.halt());
        self.room.store().serve(self.apply.group(), move |at_least| {
            let Some(inbox) = inbox.upgrade() else { return Making::Not };
            // who waits for a state itself has none to give, for hours perhaps
            let waits = raft.status().copy == StateCopy::Fetching || halt.reason().is_some();
            if waits || *applied.borrow() < at_least {
                return Making::Not;
            }
            inbox.want_snapshot();
            Making::Begun
        });
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
        if self.state == State::Open {
            self.look_at_snapshots(ctx);
            if self.contained(Self::turn) == Some(true) {
                ctx.notify(Wake);
            }
        }
    }
}

impl<M: Machine + Unpin> Handler<Arrived> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, arrived: Arrived, ctx: &mut Self::Context) {
        self.replace(arrived, ctx);
    }
}

impl<M: Machine + Unpin> Handler<Anew> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, asked: Anew, ctx: &mut Self::Context) {
        let group = self.apply.group();
        if self.fetch.is_some() || self.state != State::Open {
            return;
        }
        self.fetches += 1;
        let (actor, fetch, index) = (ctx.address(), self.fetches, self.apply.taken());
        let done = move |incoming| actor.do_send(Arrived { incoming, fetch });
        match self.room.fetch_any(group, index, &asked.from, done) {
            Ok(begun) => {
                tracing::warn!(
                    group = group.0,
                    log_index = index,
                    "the group is taken anew from another node"
                );
                (self.fetch, self.anew) = (Some(begun), Some((fetch, asked.done)));
                // nobody is to count this copy, or to go on its account, before it is whole again
                self.raft.distrust_state();
                ctx.run_later(ANEW, move |actor, ctx| {
                    if actor.anew.as_ref().is_some_and(|(begun, _)| *begun == fetch) {
                        actor.fetch = None;
                        actor.end_anew();
                        tracing::warn!(
                            group = group.0,
                            "no other node has sent the group; it goes on with what it has"
                        );
                        ctx.notify(Wake);
                    }
                });
            }
            Err(error) => tracing::warn!(group = group.0, %error, "cannot begin to fetch a snapshot"),
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
        self.fetch = None;
        while self.state == State::Open && self.contained(Self::turn) == Some(true) {}
        let bound = self.contained(|actor| actor.apply.close());
        self.compact(bound.flatten());
        self.state = State::Closed;
    }
}

impl<M: Machine + Unpin> Handler<LetGo> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, _: LetGo, ctx: &mut Self::Context) {
        // it may have been a shard's thread that found out
        self.is_broken();
        self.fetch = None;
        self.state = State::Closed;
        ctx.stop();
    }
}

impl<M: Machine + Unpin> Handler<Leave> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, _: Leave, ctx: &mut Self::Context) {
        if self.state != State::Closed {
            self.fetch = None;
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
