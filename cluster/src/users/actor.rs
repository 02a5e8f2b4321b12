//! The actor of the user mapping: assigns users, and moves and removes them while its node leads the meta group, one piece of work
//! for each user at a time. What comes next says [`Core`]; this is its mailbox.

pub mod mailbox;

use super::core::Core;
use super::records::count;
use super::saga::carry_out;
use super::usage::Usage;
use super::{UserDirectory, assign, assign_many, remove};
use crate::context::NodeContext;
use crate::context::actors::{ActorKind, ActorReport};
use crate::panics::panic_text;
use actix::prelude::*;
use futures_util::{FutureExt as _, stream};
use mailbox::{Change, Count, Counted, Ended, Leadership, MAILBOX, Stop, Tick};
use quorate_model::{Error, Result};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// Between two looks while nothing is under way.
const INTERVAL: Duration = Duration::from_millis(250);
/// Between two counts, at least; a count that takes long is followed by a rest of many times as long.
const COUNT_EVERY: Duration = Duration::from_secs(2);
const REST_AFTER_COUNT: u32 = 20;
/// Calls of the interface that may be under way at a time.
const CALLS_MAX: usize = 1_024;

/// The actor of the user mapping.
pub struct UserMappingActor {
    context: Arc<NodeContext>,
    users: Arc<UserDirectory>,
    core: Core,
    began: Instant,
    calls: usize,
    /// Says whether the node leads the meta group; ends when that group is opened anew.
    led: Option<watch::Receiver<bool>>,
    /// Let go of when the actor ends, and its thread with it.
    _ends: oneshot::Sender<()>,
}

impl UserMappingActor {
    /// Starts the actor on a thread of its own, which ends with [`UserDirectory::stop`], and lets callers find it.
    pub fn run(context: Arc<NodeContext>, users: Arc<UserDirectory>) -> io::Result<JoinHandle<()>> {
        let (found, finds) = std::sync::mpsc::channel();
        let directory = users.clone();
        let run = move || {
            System::new().block_on(async move {
                let (ends, has_ended) = oneshot::channel();
                let (core, began) = (Core::default(), Instant::now());
                let actor =
                    UserMappingActor { context, users, core, began, calls: 0, led: None, _ends: ends };
                let _starter_is_gone = found.send(actor.start());
                let _it_is_let_go_of = has_ended.await;
            });
        };
        let thread = std::thread::Builder::new().name("user-mapping".into()).spawn(run)?;
        // who stops it must find it
        directory.found(finds.recv().map_err(io::Error::other)?);
        Ok(thread)
    }

    /// Runs `step`. After a panic what is to be done is read from the mapping anew: work that is under way may be begun twice,
    /// as it is when another node takes over.
    fn contained(&mut self, step: impl FnOnce(&mut Self)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| step(self))) {
            let text = panic_text(&*panic);
            tracing::error!(panic = text, "the user mapping panicked; it begins anew");
            self.core = self.core.begun_anew(format!("a panic: {text}"));
        }
        self.say();
    }
    fn say(&self) {
        let status = self.core.status(self.began.elapsed());
        self.context.mapping_report().leave(ActorReport {
            kind: ActorKind::UserMapping,
            of: String::new(),
            queued: (status.queued + self.calls) as u64,
            queued_bytes: 0,
            head_age_ms: status.head_age.as_millis() as u64,
            waits_for: status.waits_for.to_owned(),
            last_error: status.last_error,
        });
    }
    /// Hears of leaderships of the meta group from now on, unless it does already.
    fn follow_leadership(&mut self, context: &mut Context<Self>) {
        if self.led.as_ref().is_some_and(|led| led.has_changed().is_ok()) {
            return;
        }
        let Ok(group) = self.context.groups().meta() else { return };
        let led = group.led.clone();
        context.notify(Leadership(*led.borrow()));
        self.led = Some(led.clone());
        context.add_message_stream(stream::unfold(led, async |mut led| {
            led.changed().await.ok()?;
            let leads = *led.borrow_and_update();
            Some((Leadership(leads), led))
        }));
    }
    /// Begins what is to be done now.
    fn look(&mut self, context: &mut Context<Self>) {
        self.contained(|actor| {
            let meta = actor.context.meta();
            for work in actor.core.next(&meta, actor.began.elapsed()) {
                let node = actor.context.clone();
                context.add_message_stream(stream::once(async move {
                    // who never hears of the end would never begin it again
                    let outcome = caught(carry_out(&*node, &work)).await;
                    Ended(work, outcome)
                }));
            }
        });
    }
}

/// Awaits `work`; a panic is its error.
async fn caught<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::internal("a panic")))
}

impl Actor for UserMappingActor {
    type Context = Context<Self>;
    fn started(&mut self, context: &mut Self::Context) {
        context.set_mailbox_capacity(MAILBOX);
        context.run_interval(INTERVAL, |_, context| context.notify(Tick));
        context.notify(Count);
        self.follow_leadership(context);
    }
}

impl Handler<Change> for UserMappingActor {
    type Result = ResponseActFuture<Self, Result<u64>>;
    fn handle(&mut self, change: Change, _: &mut Self::Context) -> Self::Result {
        if self.calls >= CALLS_MAX {
            let full = Err(Error::unavailable("too many changes of users are under way; try again"));
            return Box::pin(std::future::ready(full).into_actor(self));
        }
        self.calls += 1;
        self.say();
        let node = self.context.clone();
        let change = caught(async move {
            match change {
                Change::Assign { users, cluster } => assign_many(&node, users, &cluster).await,
                Change::Move { user, cluster } => assign(&node, user, &cluster).await,
                Change::Remove { user } => remove(&node, user).await,
            }
        });
        Box::pin(change.into_actor(self).map(|accepted, actor, context| {
            actor.calls -= 1;
            actor.look(context);
            accepted
        }))
    }
}
impl Handler<Ended> for UserMappingActor {
    type Result = ();
    fn handle(&mut self, Ended(work, outcome): Ended, context: &mut Self::Context) {
        if let Err(error) = &outcome {
            tracing::warn!(user = %work.user, what = ?work.what, %error, "work for a user failed; it is tried again");
        }
        self.contained(|actor| {
            actor.core.ended(&work, outcome.map_err(|error| error.to_string()), actor.began.elapsed());
        });
        self.look(context);
    }
}
impl Handler<Tick> for UserMappingActor {
    type Result = ();
    fn handle(&mut self, _: Tick, context: &mut Self::Context) {
        self.follow_leadership(context);
        self.look(context);
    }
}
impl Handler<Leadership> for UserMappingActor {
    type Result = ();
    fn handle(&mut self, Leadership(leads): Leadership, context: &mut Self::Context) {
        self.core.lead(leads);
        self.look(context);
    }
}
impl Handler<Count> for UserMappingActor {
    type Result = ();
    fn handle(&mut self, _: Count, context: &mut Self::Context) {
        let (node, began) = (self.context.clone(), Instant::now());
        context.add_message_stream(stream::once(async move {
            let is_enabled = node.shared_meta().load().users.is_enabled;
            let usage = if is_enabled { caught(count(&node)).await } else { Ok(Usage::default()) };
            Counted(usage, began)
        }));
    }
}
impl Handler<Counted> for UserMappingActor {
    type Result = ();
    fn handle(&mut self, Counted(usage, began): Counted, context: &mut Self::Context) {
        match usage {
            Ok(usage) if usage != **self.users.usage.load() => self.users.usage.store(Arc::new(usage)),
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "the records of users are not counted"),
        }
        let rest = COUNT_EVERY.max(began.elapsed() * REST_AFTER_COUNT);
        context.run_later(rest, |_, context| context.notify(Count));
    }
}
impl Handler<Stop> for UserMappingActor {
    type Result = ();
    fn handle(&mut self, _: Stop, context: &mut Self::Context) {
        context.stop();
    }
}
