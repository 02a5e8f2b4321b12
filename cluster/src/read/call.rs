//! What is a read: what is asked, what is answered, and what the node does that has what is read?
//!
//! [`ask`] carries a read out here or sends it to a node that can; who is asked carries out the same (`serve.rs`, which has the
//! list of all).

use super::{is_readable, remote};
use crate::context::NodeContext;
use quorate_model::{GroupId, Result, limits};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::{Duration, Instant};

/// Where something is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location<T> {
    /// By this node, from this.
    Local(T),
    /// By another node with a replica of this group.
    Remote(GroupId),
}

/// A read, which can be repeated on another node. Between nodes question and answer are JSON, since nodes of two versions talk:
/// members are only ever added, with a default.
pub trait ReadCall: Serialize + DeserializeOwned {
    /// What it is called between nodes; it stays.
    const NAME: &'static str;
    /// What is answered.
    type Answer: Serialize + DeserializeOwned + Send + 'static;
    /// What a node reads from that serves it.
    type Source;

    /// What this node reads from, if it may serve the call, otherwise whose replicas do.
    async fn locate(&self, context: &NodeContext) -> Result<Location<Self::Source>>;
    /// Carries it out on the node that serves it.
    async fn read(self, context: &NodeContext, source: Self::Source) -> Result<Self::Answer>;
}

/// How long a read may be on its way, over all nodes that are asked.
const READ: Duration = Duration::from_secs(10);

/// When a read that starts now gives up.
pub fn read_deadline() -> Instant {
    Instant::now() + READ
}

/// Carries a read out, here or on a node that can.
///
/// Errors: what it comes to; `TooLarge` when it cannot be sent; `Unavailable` when no node serves it in time.
pub async fn ask<C: ReadCall>(context: &NodeContext, call: C) -> Result<C::Answer> {
    ask_by(context, call, read_deadline()).await
}

/// The same for somebody who gives up at `deadline`.
pub async fn ask_by<C: ReadCall>(context: &NodeContext, call: C, deadline: Instant) -> Result<C::Answer> {
    match call.locate(context).await? {
        Location::Local(source) => call.read(context, source).await,
        // on the heap, so that what is read here need not make room for it
        Location::Remote(group) => Box::pin(remote::ask(context, group, &call, deadline)).await,
    }
}

/// Of a read that goes by its group alone.
pub(super) fn in_group(context: &NodeContext, group: GroupId) -> Location<()> {
    match is_readable(context, group) {
        true => Location::Local(()),
        false => Location::Remote(group),
    }
}

/// When a caller gives up that waits for so long.
pub(super) fn given_up(within_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(within_ms)
}

/// Milliseconds that another node waits: it may not keep this one for longer than a write may take.
pub(super) fn bounded_ms<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<u64, D::Error> {
    Ok(u64::deserialize(deserializer)?.min(limits::WRITE_S * 1_000))
}
