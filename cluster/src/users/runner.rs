//! Does what the core of the user mapping says, and leaves beside it how it is. It knows no actor.

use super::actor::mailbox::Change;
use super::core::{Core, Work};
use super::records::count;
use super::saga::carry_out;
use super::usage::Usage;
use super::{UserDirectory, assign, assign_many, remove};
use crate::context::NodeContext;
use crate::context::actors::{ActorKind, ActorReport};
use crate::panics::panic_text;
use futures_util::FutureExt as _;
use quorate_model::{Error, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two counts, at least; a count that takes long is followed by a rest of many times as long.
const COUNT_EVERY: Duration = Duration::from_secs(2);
const REST_AFTER_COUNT: u32 = 20;

/// The core with the node that it works for.
pub(super) struct Runner {
    context: Arc<NodeContext>,
    users: Arc<UserDirectory>,
    core: Core,
    began: Instant,
}

impl Runner {
    pub fn new(context: Arc<NodeContext>, users: Arc<UserDirectory>) -> Runner {
        Runner { context, users, core: Core::default(), began: Instant::now() }
    }
    /// The node that it works for.
    pub fn context(&self) -> &Arc<NodeContext> {
        &self.context
    }
    /// Runs `step`. After a panic what is to be done is read from the mapping anew: work that is under way may be begun twice,
    /// as it is when another node takes over.
    fn contained<T: Default>(&mut self, step: impl FnOnce(&mut Self) -> T) -> T {
        let done = catch_unwind(AssertUnwindSafe(|| step(self))).unwrap_or_else(|panic| {
            let text = panic_text(&*panic);
            tracing::error!(panic = text, "the user mapping panicked; it begins anew");
            self.core = self.core.begun_anew(format!("a panic: {text}"));
            T::default()
        });
        self.say();
        done
    }
    fn say(&self) {
        let status = self.core.status(self.began.elapsed());
        self.context.users().mapping.leave(ActorReport {
            kind: ActorKind::UserMapping,
            of: String::new(),
            queued: status.queued as u64,
            queued_bytes: 0,
            head_age_ms: status.head_age.as_millis() as u64,
            waits_for: status.waits_for.to_owned(),
            last_error: status.last_error,
        });
    }
    /// The node leads the meta group from now on, or does not any more.
    pub fn lead(&mut self, leads: bool) {
        self.core.lead(leads);
    }
    /// The work to begin now.
    pub fn next(&mut self) -> Vec<Work> {
        self.contained(|runner| runner.core.next(&runner.context.meta(), runner.began.elapsed()))
    }
    /// Notes that work has ended.
    pub fn ended(&mut self, work: &Work, outcome: Result<()>) {
        if let Err(error) = &outcome {
            tracing::warn!(user = %work.user, what = ?work.what, %error, "work for a user failed; it is tried again");
        }
        let outcome = outcome.map_err(|error| error.to_string());
        self.contained(|runner| runner.core.ended(work, outcome, runner.began.elapsed()));
    }
    /// Begins a call of the interface. Errors: `Unavailable` while too many are under way.
    pub fn begin_call(&mut self) -> Result<()> {
        let begun = self.core.begin_call();
        self.say();
        begun.ok_or_else(|| Error::unavailable("too many changes of users are under way; try again"))
    }
    /// A call of the interface has ended.
    pub fn end_call(&mut self) {
        self.core.end_call();
    }
    /// Lets everybody see what was counted from `began` on, and says how long to rest.
    pub fn counted(&self, usage: Result<Usage>, began: Instant) -> Duration {
        match usage {
            Ok(usage) if usage != **self.users.usage.load() => self.users.usage.store(Arc::new(usage)),
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "the records of users are not counted"),
        }
        COUNT_EVERY.max(began.elapsed() * REST_AFTER_COUNT)
    }
}

/// Carries out what the interface asks for.
pub(super) async fn change(node: Arc<NodeContext>, change: Change) -> Result<u64> {
    caught(async {
        match change {
            Change::Assign { users, cluster } => assign_many(&node, users, &cluster).await,
            Change::Move { user, cluster } => assign(&node, user, &cluster).await,
            Change::Remove { user } => remove(&node, user).await,
        }
    })
    .await
}

/// Does a piece of work: who never hears of its end would never begin it again.
pub(super) async fn work(node: Arc<NodeContext>, work: &Work) -> Result<()> {
    caught(carry_out(&*node, work)).await
}

/// Counts what users have.
pub(super) async fn usage(node: Arc<NodeContext>) -> Result<Usage> {
    match node.shared_meta().load().users.is_enabled {
        true => caught(count(&node)).await,
        false => Ok(Usage::default()),
    }
}

/// Awaits `work`; a panic is its error.
async fn caught<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(Error::internal("a panic")))
}
