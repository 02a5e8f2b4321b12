//! Who moves and removes users? The leader of the meta group, one piece of work for each user at a time.

use super::UserDirectory;
use super::core::Core;
use super::records::count;
use super::saga::carry_out;
use crate::context::NodeContext;
use futures_util::FutureExt as _;
use quorate_model::Error;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Between two looks while nothing is under way.
const INTERVAL: Duration = Duration::from_millis(250);
/// Between two counts, at least; a count that takes long is followed by a rest of many times as long.
const COUNT_EVERY: Duration = Duration::from_secs(2);
const REST_AFTER_COUNT: u32 = 20;

/// Works until the task is aborted; what was under way then is begun again by whoever leads next.
pub async fn run(context: Arc<NodeContext>) {
    let (mut core, mut works, began) = (Core::default(), JoinSet::new(), Instant::now());
    loop {
        if leads(&context) {
            for work in core.next(&context.meta(), began.elapsed()) {
                let context = context.clone();
                works.spawn(async move {
                    let outcome = AssertUnwindSafe(carry_out(&*context, &work)).catch_unwind().await;
                    // who never hears of the end would never begin it again
                    let outcome = outcome.unwrap_or_else(|_| Err(Error::internal("a panic")));
                    (work, outcome)
                });
            }
        }
        tokio::select! {
            Some(Ok((work, outcome))) = works.join_next(), if !works.is_empty() => {
                if let Err(error) = &outcome {
                    tracing::warn!(user = %work.user, what = ?work.what, %error, "work for a user failed; it is tried again");
                }
                core.ended(&work, outcome.map_err(drop), began.elapsed());
            }
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

fn leads(context: &NodeContext) -> bool {
    context.groups().meta().is_ok_and(|group| group.is_led_here())
}

/// Counts what users have, until the task is aborted.
pub async fn keep_count(context: Arc<NodeContext>, users: Arc<UserDirectory>) {
    loop {
        let began = Instant::now();
        if context.shared_meta().load().users.is_enabled {
            match count(&context).await {
                Ok(usage) if usage != **users.usage.load() => users.usage.store(Arc::new(usage)),
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "the records of users are not counted"),
            }
        }
        tokio::time::sleep(COUNT_EVERY.max(began.elapsed() * REST_AFTER_COUNT)).await;
    }
}
