//! What does every node of a cluster say to the same call? For what a node knows of itself alone.
//!
//! Such a call is a [`ReadCall`] like any other, whose `locate` finds that this node has what is asked for, since each has its
//! own. Who merges the answers says what a missing one means.

use super::call::{Location, ReadCall};
use super::remote::{answered, question};
use crate::context::NodeContext;
use crate::context::each_node::{Answers, ask_each, others};
use crate::rpc::calls::Answered;
use crate::rpc::requests::PeerAnswer;
use quorate_model::{Error, Result};
use std::time::Duration;

/// Asks every node of this node's cluster, itself included; takes as long as the slowest, at most `within`.
///
/// Errors: `TooLarge` when the call cannot be sent. What a single node cannot answer is said beside its number.
pub async fn ask<C: ReadCall>(
    context: &NodeContext,
    call: C,
    within: Duration,
) -> Result<Answers<C::Answer>> {
    let meta = context.meta();
    let cluster = meta.nodes.get(&context.self_id()).map(|row| row.cluster.as_str());
    ask_in(context, cluster, call, within).await
}

/// The same of every node of the installation.
pub async fn ask_all<C: ReadCall>(
    context: &NodeContext,
    call: C,
    within: Duration,
) -> Result<Answers<C::Answer>> {
    ask_in(context, None, call, within).await
}

async fn ask_in<C: ReadCall>(
    context: &NodeContext,
    cluster: Option<&str>,
    call: C,
    within: Duration,
) -> Result<Answers<C::Answer>> {
    let request = question(context, &call, None)?;
    let read = |answer: PeerAnswer| match answered::<C>(answer)? {
        Answered::Done(answer) | Answered::DoneAt { answer, .. } => Some(Ok(answer)),
        Answered::Failed(sent) => Some(Err(Error::from(sent).message)),
        Answered::NotHere => None,
    };
    let own = async {
        match call.locate(context).await? {
            Location::Local(source) => call.read(context, source).await,
            Location::Remote(_) => Err(Error::internal("each node has its own")),
        }
    };
    let asked = ask_each(context, others(context, cluster), &request, within, read);
    let (asked, own) = tokio::join!(asked, own);
    let mut answers: Answers<C::Answer> =
        asked.into_iter().map(|(node, answer)| (node, answer.and_then(|answer| answer))).collect();
    answers.insert(context.self_id(), own.map_err(|error| error.message));
    Ok(answers)
}
