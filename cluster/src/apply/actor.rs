//! Runs one group's apply loop on an apply thread, where waiting for a disk or a full shard is allowed.

use super::group::{DumpWhen, GroupApply};
use super::inbox::Inbox;
use super::{Failure, Machine, stop_process};
use actix::{Actor, AsyncContext, Context, Handler, Message};
use quorate_node::ops::Incarnation;
use quorate_raft::GroupHandle;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Entries of one turn, after which the other groups of the thread get theirs.
const TURN_ENTRIES: usize = 256;
/// Bytes of one turn.
const TURN_BYTES: usize = 8 << 20;
/// How often a group looks whether a dump is due.
const DUMP_INTERVAL: Duration = Duration::from_secs(10);
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

/// The actor of one group's state machine.
pub struct ApplyActor<M: Machine> {
    apply: GroupApply<M>,
    inbox: Arc<Inbox>,
    applied: Arc<watch::Sender<u64>>,
    raft: GroupHandle,
    state: State,
    /// The last entry taken when a dump was last looked for.
    looked_at: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Closed,
}

impl<M: Machine> ApplyActor<M> {
    /// An actor that takes from `inbox` and tells `applied` and `raft` how far it has come.
    pub fn new(
        apply: GroupApply<M>,
        inbox: Arc<Inbox>,
        applied: Arc<watch::Sender<u64>>,
        raft: GroupHandle,
    ) -> Self {
        ApplyActor { apply, inbox, applied, raft, state: State::Open, looked_at: 0 }
    }

    /// Runs `step` and stops the process when it fails or panics.
    fn or_stop<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, Failure>) -> T {
        let group = self.apply.group();
        match catch_unwind(AssertUnwindSafe(|| step(self))) {
            Ok(Ok(value)) => value,
            Ok(Err(failure)) => stop_process(group, &failure),
            Err(_) => stop_process(group, &"a panic, see above"),
        }
    }

    /// Applies up to one turn of entries; returns whether more wait.
    fn turn(&mut self) -> Result<bool, Failure> {
        let entries = self.inbox.take(TURN_ENTRIES, TURN_BYTES);
        if entries.is_empty() {
            return Ok(false);
        }
        for entry in &entries {
            self.apply.take(entry)?;
        }
        self.apply.checkpoint()?;
        let taken = self.apply.taken();
        self.raft.report_applied(taken);
        self.applied.send_replace(taken);
        let bound = self.apply.dump(DumpWhen::Due)?;
        self.compact(bound);
        Ok(!self.inbox.is_empty())
    }

    fn compact(&self, bound: Option<u64>) {
        if let Some(bound) = bound {
            tracing::debug!(group = self.apply.group().0, log_index = bound, "the log may be cut");
            self.raft.compact(bound);
        }
    }
}

impl<M: Machine + Unpin> Actor for ApplyActor<M> {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.notify(Wake);
        ctx.run_interval(DUMP_INTERVAL, |actor, _| {
            if actor.state == State::Open {
                let taken = actor.apply.taken();
                let when = if taken == actor.looked_at { DumpWhen::Idle } else { DumpWhen::Due };
                actor.looked_at = taken;
                let bound = actor.or_stop(|actor| {
                    actor.apply.upkeep()?;
                    actor.apply.dump(when)
                });
                actor.compact(bound);
            }
        });
    }
}

impl<M: Machine + Unpin> Handler<Wake> for ApplyActor<M> {
    type Result = ();

    fn handle(&mut self, _: Wake, ctx: &mut Self::Context) {
        if self.state == State::Open && self.or_stop(Self::turn) {
            ctx.notify(Wake);
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
        while self.or_stop(Self::turn) {}
        let bound = self.or_stop(|actor| actor.apply.close());
        self.compact(bound);
        self.state = State::Closed;
    }
}
