//! Which calls have the nodes of this node's cluster answered lately (C§14)?
//!
//! Each node keeps its own, so all are asked and what they say is put in order. A node that gives no answer in time is left out.
//! An answer has at most `CALLS_MAX` calls of at most `CALL_BYTES_MAX` bytes, far less than nodes send each other.

use super::call::{Location, ReadCall};
use super::every_node;
use crate::context::NodeContext;
use crate::request_log::{CallsAsked, LoggedCall};
use quorate_model::{Error, Result};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a node may take to answer.
const ANSWER: Duration = Duration::from_secs(2);
/// How long one more waits.
const TURN: Duration = Duration::from_secs(2);

/// The calls of a node that are asked for, the newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetCalls(pub CallsAsked);

impl ReadCall for GetCalls {
    const NAME: &'static str = "Calls";
    type Answer = Vec<LoggedCall>;
    type Source = ();

    async fn locate(&self, _: &NodeContext) -> Result<Location<()>> {
        Ok(Location::Local(()))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<Vec<LoggedCall>> {
        let Some(log) = context.calls().log.clone() else { return Ok(vec![]) };
        // it reads all that are kept
        let read = tokio::task::spawn_blocking(move || log.latest(&self.0)).await;
        read.map_err(|_| Error::internal("reading the request log panicked"))
    }
}

/// The calls that are asked for, of all nodes of the cluster that can be reached, the newest first.
///
/// Errors: `Unavailable` when others ask and are not done in time.
pub async fn latest(context: &NodeContext, asked: &CallsAsked) -> Result<Vec<LoggedCall>> {
    let turn = tokio::time::timeout(TURN, context.calls().log_readers.acquire()).await;
    let Ok(Ok(_turn)) = turn else { return Err(Error::unavailable("too many calls read the log at a time")) };
    let answers = every_node::ask(context, GetCalls(asked.clone()), ANSWER).await?;
    let silent = answers.values().filter_map(|answer| answer.as_ref().err());
    silent.for_each(|error| tracing::debug!(error, "a node does not say which calls it answered"));
    let mut calls: Vec<_> = answers.into_values().flatten().flatten().collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.time_ms));
    calls.truncate(asked.most);
    Ok(calls)
}
