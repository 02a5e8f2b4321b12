//! The mailbox of a group: messages in, the core's effects out. All groups of a node share one thread.

use crate::core::{Core, KeptLog, TELL_AFTER_MS};
use crate::effects::{
    BarrierError, Committed, CommittedEntry, Confirmed, Effect, Input, Leadership, MembersError,
    ProposeError, RequestId, Role, SnapshotImage,
};
use crate::log::{GroupReader, Report};
use crate::log_writer::Shared;
use crate::mailbox::{Event, FromLog, Look, MAILBOX, Reply, Request, Shutdown};
use crate::metrics::metrics;
use crate::ports::{CommitSink, Outbox};
use crate::report::Left;
use crate::status::{Status, StatusCell};
use actix::prelude::*;
use quorate_model::GroupId;
use quorate_store::space::Room;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

const TELL_AFTER: Duration = Duration::from_millis(TELL_AFTER_MS);

/// One group on the consensus thread.
pub(crate) struct RaftActor {
    pub(crate) group: GroupId,
    pub(crate) core: Core<GroupReader>,
    pub(crate) sink: Box<dyn CommitSink>,
    pub(crate) outbox: Arc<dyn Outbox>,
    pub(crate) log: Arc<Shared>,
    pub(crate) status: Arc<StatusCell>,
    /// What it says of what waits for it.
    pub(crate) left: Arc<Left>,
    /// What all groups of the node keep for members that lag, less while its disk fills up.
    pub(crate) kept: Arc<KeptLog>,
    pub(crate) room: Room,
    pub(crate) tick: Duration,
    /// What the ticks of all groups are counted from.
    pub(crate) begun: Instant,
    /// What is in memory cannot be used any more.
    pub(crate) has_failed: bool,
    /// Those that wait for an answer, the oldest first, with the time they came.
    pub(crate) replies: BTreeMap<RequestId, (Instant, Reply)>,
    pub(crate) next_id: RequestId,
    pub(crate) ticks: u64,
    /// The change of members that is shown.
    pub(crate) shown_members: u64,
}

impl Actor for RaftActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        self.contained(ctx, |actor, ctx| {
            actor.carry_out(ctx);
            actor.show_members();
        });
        self.wait_for_tick(ctx);
    }
    fn stopped(&mut self, ctx: &mut Self::Context) {
        self.contained(ctx, |actor, ctx| {
            actor.core.stop();
            actor.carry_out(ctx);
        });
    }
}

impl RaftActor {
    /// All groups of a node tick together: one timer wakes the thread, and their heartbeats travel in one frame.
    fn wait_for_tick(&self, ctx: &mut Context<Self>) {
        let tick_ns = self.tick.as_nanos().max(1);
        let since_last = (self.begun.elapsed().as_nanos() % tick_ns) as u64;
        ctx.run_later(self.tick.saturating_sub(Duration::from_nanos(since_last)), |actor, ctx| {
            actor.take_positions(ctx);
            actor.kept.set_tight(actor.room.is_tight());
            actor.handle_input(Input::Tick, ctx);
            actor.contained(ctx, |actor, _| actor.look_around());
            actor.wait_for_tick(ctx);
        });
    }

    fn look_around(&mut self) {
        self.ticks += 1;
        self.show_members();
        self.left.leave(self.replies.len(), self.replies.values().next().map(|(came, _)| *came));
        if self.ticks.is_multiple_of(10) {
            metrics().of_group(self.group, &self.status.load());
        }
    }

    /// Takes the positions in that the state machine has left for the group; no message can be lost over them.
    fn take_positions(&mut self, ctx: &mut Context<Self>) {
        let distrusts = self.status.distrusts.load(Ordering::Acquire);
        if distrusts != self.core.distrusts() {
            self.handle_input(if distrusts { Input::Distrust } else { Input::Trust }, ctx);
        }
        let applied = self.status.reported_applied.load(Ordering::Acquire);
        if applied > self.core.status().applied {
            self.handle_input(Input::Applied(applied), ctx);
        }
        let compact = self.status.wanted_compact.swap(0, Ordering::AcqRel);
        if compact > 0 {
            self.handle_input(Input::Compact(compact), ctx);
        }
    }

    fn handle_input(&mut self, input: Input, ctx: &mut Context<Self>) {
        self.contained(ctx, |actor, ctx| {
            actor.core.handle(input);
            actor.carry_out(ctx);
        });
    }

    /// Runs `step`. The library panics where its own rules are broken: nothing the group holds in memory may be used after
    /// that, and what is durable of it is what a crash would have left. The other groups of the thread go on.
    fn contained(&mut self, ctx: &mut Context<Self>, step: impl FnOnce(&mut Self, &mut Context<Self>)) {
        if !self.has_failed && catch_unwind(AssertUnwindSafe(|| step(self, ctx))).is_err() {
            self.fail("a panic in its consensus", ctx);
        }
    }

    /// Ends the group; requests that wait are answered with `Stopped`, later ones too.
    fn fail(&mut self, reason: &str, ctx: &mut Context<Self>) {
        if std::mem::replace(&mut self.has_failed, true) {
            return;
        }
        tracing::error!(group = %self.group, reason, "the consensus of a group has stopped on this node");
        self.status.store(Status { role: Role::Follower, leader: None, ..self.status.load() });
        if catch_unwind(AssertUnwindSafe(|| self.sink.failed(reason))).is_err() {
            tracing::error!(group = %self.group, "nobody could be told of it");
        }
        self.replies.clear();
        ctx.stop();
    }

    fn carry_out(&mut self, ctx: &mut Context<Self>) {
        // Whoever is given entries behind a change of members finds the new ones.
        if self.core.members_since() != self.shown_members {
            self.show_members();
        }
        for effect in self.core.take_effects() {
            match effect {
                Effect::Persist(persist) => self.log.submit(persist),
                Effect::Send(messages) => self.outbox.send(self.group, messages),
                Effect::TellLater => {
                    ctx.run_later(TELL_AFTER, |actor, ctx| actor.handle_input(Input::TellCommit, ctx));
                }
                Effect::Apply(entries) => self.apply(entries),
                Effect::Restore(image) => self.restore(image),
                Effect::SnapshotWanted => self.sink.snapshot_wanted(),
                Effect::Leadership(leadership) => self.lead(leadership),
                Effect::Proposed(id, result) => self.answer(id, Answer::Proposal(result)),
                Effect::Barrier(id, result) => self.answer(id, Answer::Barrier(result)),
                Effect::LeaderConfirmed(id, result) => self.answer(id, Answer::Confirmation(result)),
                Effect::MembersChanged(id, result) => self.answer(id, Answer::Members(result)),
                Effect::Fatal(reason) => return self.fail(&reason, ctx),
            }
        }
        self.status.store(self.core.status());
    }

    /// Shows the members as of now, and how far they are, of which readers may be one tick behind.
    fn show_members(&mut self) {
        self.shown_members = self.core.members_since();
        let membership = self.core.membership();
        if **self.status.membership.load() != membership {
            self.status.membership.store(Arc::new(membership));
        }
    }

    fn apply(&mut self, entries: Vec<CommittedEntry>) {
        // Readers of the status never see less than what the state machine was given.
        self.status.store(self.core.status());
        self.sink.committed(entries);
    }
    fn restore(&mut self, image: SnapshotImage) {
        self.sink.restore(image);
    }
    fn lead(&mut self, leadership: Leadership) {
        tracing::debug!(group = %self.group, role = ?leadership.role, term = leadership.term, "leadership");
        self.status.store(self.core.status());
        self.sink.leadership(leadership);
    }

    fn answer(&mut self, id: RequestId, answer: Answer) {
        // A caller that has gone away needs no answer.
        match (self.replies.remove(&id).map(|(_, reply)| reply), answer) {
            (Some(Reply::Proposal(reply)), Answer::Proposal(result)) => drop(reply.send(result)),
            (Some(Reply::Barrier(reply)), Answer::Barrier(result)) => drop(reply.send(result)),
            (Some(Reply::Confirmation(reply)), Answer::Confirmation(result)) => drop(reply.send(result)),
            (Some(Reply::Members(reply)), Answer::Members(result)) => drop(reply.send(result)),
            (Some(_), _) | (None, _) => {
                debug_assert!(false, "request {id} was answered twice or with another's answer")
            }
        }
    }
}

enum Answer {
    Proposal(Result<Committed, ProposeError>),
    Barrier(Result<u64, BarrierError>),
    Confirmation(Result<Confirmed, BarrierError>),
    Members(Result<u64, MembersError>),
}

impl Handler<Event> for RaftActor {
    type Result = ();
    fn handle(&mut self, Event(input): Event, ctx: &mut Self::Context) {
        self.handle_input(input, ctx);
    }
}

impl Handler<FromLog> for RaftActor {
    type Result = ();
    fn handle(&mut self, FromLog(report): FromLog, ctx: &mut Self::Context) {
        let input = match report {
            Report::Persisted(seq) => Input::Persisted(seq),
            Report::Stalled(reason) => Input::Stalled(Some(reason)),
            Report::Resumed => Input::Stalled(None),
        };
        self.handle_input(input, ctx);
    }
}

impl Handler<Request> for RaftActor {
    type Result = ();
    fn handle(&mut self, Request { mut input, reply }: Request, ctx: &mut Self::Context) {
        self.next_id += 1;
        match &mut input {
            Input::Propose { id, data, .. } => {
                metrics().proposals.inc_by(data.len() as u64);
                *id = self.next_id;
            }
            Input::ReadBarrier { id, .. }
            | Input::ConfirmLeader { id, .. }
            | Input::ChangeMembers { id, .. } => *id = self.next_id,
            Input::Step(_)
            | Input::Tick
            | Input::Persisted(_)
            | Input::Stalled(_)
            | Input::Applied(_)
            | Input::Distrust
            | Input::Trust
            | Input::TransferLeader(_)
            | Input::Unreachable(_)
            | Input::SnapshotSent { .. }
            | Input::OfferSnapshot(_)
            | Input::Compact(_)
            | Input::TellCommit
            | Input::Campaign => return,
        }
        self.replies.insert(self.next_id, (Instant::now(), reply));
        self.handle_input(input, ctx);
    }
}

impl Handler<Look> for RaftActor {
    type Result = ();
    fn handle(&mut self, Look: Look, ctx: &mut Self::Context) {
        self.take_positions(ctx);
    }
}

impl Handler<Shutdown> for RaftActor {
    type Result = ();
    fn handle(&mut self, Shutdown: Shutdown, ctx: &mut Self::Context) {
        ctx.stop();
    }
}
