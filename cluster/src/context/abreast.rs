//! Does this node know the names and keys as they are now?
//!
//! Every node has the catalogue. With a lease of the meta group it knows all that was answered; without one it asks the meta
//! group first, and goes on with what it knows only when nobody answers (cluster/DECISIONS.md, reads of the catalogue).

use crate::clock::steady_ms;
use crate::clock::within;
use crate::context::NodeContext;
use quorate_model::{Error, Result};
use quorate_raft::lease::LEASE_MS;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long the meta group may take to say how far it is.
const ASK: Duration = Duration::from_secs(1);

/// Whether the meta group answered when it was asked last.
#[derive(Debug, Default)]
pub struct Abreast {
    /// Nobody is kept waiting for another question before this time, by [`steady_ms`].
    silent_until: AtomicU64,
}

impl Abreast {
    /// Whether who is content with what this node knows has to wait for a question at `now`: one that nobody answered is not
    /// repeated for the length of a lease, so that a node that is cut off goes on reading.
    fn asks(&self, now: u64) -> bool {
        now >= self.silent_until.load(Ordering::Acquire)
    }
    /// Nobody answered a question at `now`.
    fn heard_nothing(&self, now: u64) {
        self.silent_until.store(now + LEASE_MS, Ordering::Release);
    }
}

/// Waits until this node knows everything that the meta group had decided when it was asked. Errors: `Unavailable` when it does
/// not answer within a second.
pub async fn learn(context: &NodeContext) -> Result<()> {
    let (group, deadline) = (context.groups().meta()?, Instant::now() + ASK);
    let barrier = group.raft.read_barrier(within(deadline)).await;
    let log_index = barrier.map_err(|error| Error::unavailable(error.to_string()))?;
    group.wait_applied(log_index, deadline).await
}

/// Whether nobody can have been told of a change of the catalogue that this node does not know. Cost: one lock that is hardly
/// ever waited for; an atomic load on a node without others.
fn is_abreast(context: &NodeContext) -> bool {
    if context.shared_meta().load().nodes.len() <= 1 {
        return true;
    }
    let meta = context.groups().meta();
    meta.is_ok_and(|group| group.leases.may_read(|_| *group.applied.borrow()))
}

/// Before something known is used that others may have changed: waits, on a node without a lease of the meta group, until it
/// knows what they know; at most a second, and not again for some seconds when nobody answers. Cost with a lease: one lock.
pub async fn keep_abreast(context: &NodeContext) {
    if is_abreast(context) || !context.abreast().asks(steady_ms()) {
        return;
    }
    if let Err(error) = learn(context).await {
        context.abreast().heard_nothing(steady_ms());
        tracing::debug!(%error, "this node goes on with the names and keys that it knows");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_nobody_answered_is_not_repeated_at_once() {
        let abreast = Abreast::default();
        assert!(abreast.asks(0), "nothing was asked yet");
        abreast.heard_nothing(10);
        assert!(!abreast.asks(10 + LEASE_MS - 1));
        assert!(abreast.asks(10 + LEASE_MS));
    }
}
