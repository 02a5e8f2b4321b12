//! The actor of the user mapping: assigns users, and moves and removes them while its node leads the meta group, one piece of work
//! for each user at a time. What comes next says the core, [`Runner`] does it; this is its mailbox.

pub mod mailbox;

use super::UserDirectory;
use super::runner::{self, Runner};
use crate::context::NodeContext;
use actix::prelude::*;
use futures_util::stream;
use mailbox::{Change, Count, Counted, Ended, Leadership, MAILBOX, Stop, Tick};
use quorate_model::Result;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// Between two looks while nothing is under way.
const INTERVAL: Duration = Duration::from_millis(250);

/// The actor of the user mapping.
pub struct UserMappingActor {
    runner: Runner,
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
                let actor = UserMappingActor { runner: Runner::new(context, users), led: None, _ends: ends };
                let _starter_is_gone = found.send(actor.start());
                let _it_is_let_go_of = has_ended.await;
            });
        };
        let thread = std::thread::Builder::new().name("user-mapping".into()).spawn(run)?;
        // who stops it must find it
        directory.found(finds.recv().map_err(io::Error::other)?);
        Ok(thread)
    }

    /// Hears of leaderships of the meta group from now on, unless it does already.
    fn follow_leadership(&mut self, context: &mut Context<Self>) {
        if self.led.as_ref().is_some_and(|led| led.has_changed().is_ok()) {
            return;
        }
        let Ok(group) = self.runner.context().groups().meta() else { return };
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
        for work in self.runner.next() {
            let node = self.runner.context().clone();
            context.add_message_stream(stream::once(async move {
                let outcome = runner::work(node, &work).await;
                Ended(work, outcome)
            }));
        }
    }
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
        if let Err(full) = self.runner.begin_call() {
            return Box::pin(std::future::ready(Err(full)).into_actor(self));
        }
        let change = runner::change(self.runner.context().clone(), change);
        Box::pin(change.into_actor(self).map(|accepted, actor, context| {
            actor.runner.end_call();
            actor.look(context);
            accepted
        }))
    }
}
impl Handler<Ended> for UserMappingActor {
    type Result = ();
    fn handle(&mut self, Ended(work, outcome): Ended, context: &mut Self::Context) {
        self.runner.ended(&work, outcome);
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
        self.runner.lead(leads);
        self.look(context);
    }
}
impl Handler<Count> for UserMappingActor {
    type Result = ();
    fn handle(&mut self, _: Count, context: &mut Self::Context) {
        let (node, began) = (self.runner.context().clone(), Instant::now());
        context.add_message_stream(stream::once(async move { Counted(runner::usage(node).await, began) }));
    }
}
impl Handler<Counted> for UserMappingActor {
    type Result = ();
    fn handle(&mut self, Counted(usage, began): Counted, context: &mut Self::Context) {
        let rest = self.runner.counted(usage, began);
        context.run_later(rest, |_, context| context.notify(Count));
    }
}
impl Handler<Stop> for UserMappingActor {
    type Result = ();
    fn handle(&mut self, _: Stop, context: &mut Self::Context) {
        context.stop();
    }
}
