//! The actor of one index shard: looks after its core when there is something to do, and when the core asks for it.
//!
//! It has a thread of its own while the shard is written to, so what the core does may wait for a disk. Its mailbox carries
//! wake-ups only: the work lies in the shard's queue, which is bounded by bytes.

use super::core::{Next, ShardCore};
use super::queue::ShardQueue;
use actix::prelude::*;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::oneshot;

/// Wake-ups that may wait; each says the same.
const MAILBOX: usize = 4;
/// Steps of one turn, after which timers get theirs.
const TURN: usize = 64;

/// There may be something to do.
struct Wake;
impl Message for Wake {
    type Result = ();
}

struct ShardActor {
    core: ShardCore,
    queue: Arc<ShardQueue>,
    /// When it is woken next by a timer.
    timer: Option<Instant>,
    /// Let go of when the actor ends, and its thread with it.
    _ends: oneshot::Sender<()>,
}

/// Starts the actor of `core` on a thread of its own, which ends when the queue is closed.
pub(super) fn start(core: ShardCore, queue: Arc<ShardQueue>, name: String) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name).spawn(move || {
        System::new().block_on(async move {
            let (ends, has_ended) = oneshot::channel();
            let _address = ShardActor { core, queue, timer: None, _ends: ends }.start();
            let _it_is_let_go_of = has_ended.await;
        });
    })
}

impl ShardActor {
    /// Does what there is to do, and comes back when the core wants to be looked after again.
    fn turn(&mut self, context: &mut Context<Self>) {
        for _ in 0..TURN {
            if self.queue.is_closed() {
                return context.stop();
            }
            match self.core.step(Instant::now()) {
                Next::AtOnce => {}
                Next::At(at) => return self.come_back(at, context),
                Next::Never => return context.stop(),
            }
        }
        context.notify(Wake);
    }
    /// Sees to a turn at `at`; one that comes earlier sees to the next.
    fn come_back(&mut self, at: Instant, context: &mut Context<Self>) {
        if self.timer.is_some_and(|timer| timer <= at) {
            return;
        }
        self.timer = Some(at);
        context.run_later(at.saturating_duration_since(Instant::now()), move |actor, context| {
            if actor.timer == Some(at) {
                actor.timer = None;
            }
            actor.turn(context);
        });
    }
}

impl Drop for ShardActor {
    /// Whatever ends the actor: nobody waits for it.
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Actor for ShardActor {
    type Context = Context<Self>;
    fn started(&mut self, context: &mut Self::Context) {
        context.set_mailbox_capacity(MAILBOX);
        let owner = context.address().downgrade();
        self.queue.wakes(move || {
            // a full mailbox means that a wake-up is waiting in it already
            if let Some(owner) = owner.upgrade() {
                let _full = owner.try_send(Wake);
            }
        });
        self.turn(context);
    }
}

impl Handler<Wake> for ShardActor {
    type Result = ();
    fn handle(&mut self, _: Wake, context: &mut Self::Context) {
        self.turn(context);
    }
}
