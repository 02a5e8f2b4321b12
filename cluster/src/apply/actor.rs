//! Runs one group's apply loop on a thread of its own, where waiting for a disk or a full shard is allowed.

mod messages;

pub use super::runner::LevelInForce;
pub use messages::{Anew, Close, Count, Incarnations, Leave, LetGo, Wake};

use super::Machine;
use super::group::GroupApply;
use super::inbox::Inbox;
use super::runner::{Runner, State};
use super::snapshot_life::Times;
use crate::snapshot::SnapshotRoom;
use actix::{Actor, ActorContext, AsyncContext, Context, Handler, SpawnHandle};
use messages::Arrived;
use quorate_node::ops::Incarnation;
use quorate_raft::GroupHandle;
use quorate_store::space::Room;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How often a group looks whether a dump is due.
const DUMP_INTERVAL: Duration = Duration::from_secs(10);
/// How often it does while the disk fills up: what a dump gives back of the log is wanted at once.
const TIGHT_INTERVAL: Duration = Duration::from_secs(1);
/// Messages that may wait; all but a few are wake-ups that say the same.
const MAILBOX: usize = 16;

/// The actor of one group's state machine.
pub struct ApplyActor<M: Machine> {
    runner: Runner<M>,
    /// When something of the life of a snapshot is due, and what wakes the actor then.
    alarm: Option<(Instant, SpawnHandle)>,
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
        ApplyActor { runner: Runner::new(apply, inbox, applied, raft, room), alarm: None }
    }
    /// The same on a disk that may fill up.
    pub fn on_disk(mut self, disk: Room) -> Self {
        self.runner.disk = disk;
        self
    }
    /// The same, with what says how new the commands are that may be in the log.
    pub fn with_level(mut self, level: LevelInForce) -> Self {
        self.runner.level = level;
        self
    }
}

impl<M: Machine + Unpin> ApplyActor<M> {
    /// Does what can be done now, and says what is waited for.
    fn go_on(&mut self, ctx: &mut Context<Self>) {
        let runner = &mut self.runner;
        if runner.state == State::Open && !runner.is_broken() {
            let actor = ctx.address();
            runner.look_at_snapshots(
                &(Arc::new(move |fetch, incoming| actor.do_send(Arrived { fetch, incoming })) as _),
            );
            if !runner.life.keeps_entries() && runner.contained(Runner::turn) == Some(true) {
                ctx.notify(Wake);
            }
            self.set_alarm(ctx);
        }
        self.runner.say();
    }
    /// Has the actor woken when something of the life of a snapshot is due.
    fn set_alarm(&mut self, ctx: &mut Context<Self>) {
        let due = self.runner.life.due_at().filter(|_| self.runner.state == State::Open);
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
}

impl<M: Machine + Unpin> Actor for ApplyActor<M> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.notify(Wake);
        self.runner.serve_snapshots();
        ctx.run_interval(DUMP_INTERVAL, |actor, _| actor.runner.look_now_and_then());
        ctx.run_interval(TIGHT_INTERVAL, |actor, _| actor.runner.look_when_tight());
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
        self.runner.life.arrived(fetch, incoming, Instant::now());
        self.go_on(ctx);
    }
}

impl<M: Machine + Unpin> Handler<Anew> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, Anew { from, within, done }: Anew, ctx: &mut Self::Context) {
        if self.runner.state == State::Open {
            let (taken, now) = (self.runner.apply.taken(), Instant::now());
            self.runner.life.take_anew(from, taken, done, Times { now, until: now + within });
            self.go_on(ctx);
        }
    }
}

impl<M: Machine + Unpin> Handler<Count> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, Count(counts): Count, ctx: &mut Self::Context) {
        self.runner.life.count(counts);
        self.go_on(ctx);
    }
}

impl<M: Machine + Unpin> Handler<Incarnations> for ApplyActor<M> {
    type Result = Vec<Incarnation>;

    fn handle(&mut self, _: Incarnations, _: &mut Self::Context) -> Self::Result {
        self.runner.apply.incarnations()
    }
}

impl<M: Machine + Unpin> Handler<Close> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, _: Close, _: &mut Self::Context) {
        self.runner.close();
    }
}

impl<M: Machine + Unpin> Handler<LetGo> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, _: LetGo, ctx: &mut Self::Context) {
        self.runner.let_go();
        ctx.stop();
    }
}

impl<M: Machine + Unpin> Handler<Leave> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, _: Leave, ctx: &mut Self::Context) {
        self.runner.leave();
        ctx.stop();
    }
}
