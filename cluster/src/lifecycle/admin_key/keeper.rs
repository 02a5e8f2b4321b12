//! What does a node do about the admin key, and say of it, while it runs?

use super::{AdminKeys, Outcome};
use crate::clock;
use crate::context::NodeContext;
use crate::meta::MetaState;
use quorate_model::level;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks at the installation.
const LOOK: Duration = Duration::from_millis(500);

/// Looks after the admin key until the node stops.
pub async fn keep(context: Arc<NodeContext>, keys: Arc<AdminKeys>) {
    let (mut said, mut seen) = (Said::default(), Seen::of(&context.meta()));
    loop {
        match keys.settle(&context).await {
            Ok(Outcome::Settled | Outcome::Replaced) => {}
            Ok(Outcome::Waits) => {
                if context.meta().level() < level::KEY_ROTATION {
                    said.once("the new admin key waits until every node has been upgraded");
                }
            }
            Err(error) => {
                tracing::debug!(%error, "the new admin key");
                said.once(
                    "the new admin key waits: the one before counts until the installation has taken it",
                );
            }
        }
        seen = seen.and_now(&context.meta());
        match keys.keep_file(&context).await {
            Ok(true) => {}
            Ok(false) => {
                said.once("no node that can be reached has the admin key; the file is left as it is")
            }
            Err(error) => {
                tracing::debug!(%error, "the file with the admin key");
                said.once("the file with the admin key cannot be written; trying again");
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What has been said, each at most once.
#[derive(Default)]
struct Said(Vec<&'static str>);

impl Said {
    fn once(&mut self, text: &'static str) {
        if !self.0.contains(&text) {
            self.0.push(text);
            tracing::warn!("{text}");
        }
    }
}

/// Which admin keys counted at the last look.
struct Seen {
    newest: Option<[u8; 32]>,
    counting: usize,
}

impl Seen {
    fn of(meta: &MetaState) -> Seen {
        let mut keys = meta.admin_keys(clock::unix_ms());
        Seen { newest: keys.next(), counting: keys.count() }
    }
    /// Logs what has changed.
    fn and_now(self, meta: &MetaState) -> Seen {
        let now = Seen::of(meta);
        if self.newest.is_some() && now.newest != self.newest {
            let until_ms = meta.key_history.retired.last().map_or(0, |key| key.until_ms);
            let before_counts_until = clock::rfc3339(until_ms);
            tracing::warn!(before_counts_until, "the admin key of the installation was replaced");
        }
        if now.counting < self.counting {
            tracing::warn!("an earlier admin key does not count any more");
        }
        now
    }
}
