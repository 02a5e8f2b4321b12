//! The way of a read to another node: who may have what this one lacks, in which order they are asked, when it is given up.
//!
//! One hop only: who is asked serves the call or says that it cannot. A read that this node can serve never comes here.

use super::call::ReadCall;
use crate::context::NodeContext;
use crate::rpc::calls::{Answered, CallEnvelope, ReadOf, decode_answer, encode_call};
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use quorate_model::{Error, ErrorKind, GroupId, Result, limits};
use quorate_node::Payer;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long one node may take: a search of full length and a wait for a thread.
const ANSWER: Duration = Duration::from_millis(2 * limits::SEARCH_MS);
/// How often all nodes are asked.
const ROUNDS: u32 = 2;
/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(150);

/// What is sent to a node that is to carry a call out; `read` says which group it reads and what was seen of it. Errors:
/// `TooLarge`.
pub fn question<C: ReadCall>(context: &NodeContext, call: &C, read: Option<ReadOf>) -> Result<PeerRequest> {
    let meta = *context.groups().meta()?.applied.borrow();
    let call = BTreeMap::from([(C::NAME, call)]);
    let asked = CallEnvelope { meta, read, payer: Payer::current(), call };
    Ok(PeerRequest::Call { call: encode_call(&asked)? })
}

/// What became of a call there; `None` when this node does not know such an answer.
pub fn answered<C: ReadCall>(answer: PeerAnswer) -> Option<Answered<C::Answer>> {
    match answer {
        PeerAnswer::Called(bytes) => decode_answer(&bytes),
        _ => None,
    }
}

/// Asks the nodes that may have a replica of `group`, one after another, until one serves the call.
///
/// Errors: what the call comes to there; `TooLarge` when it cannot be sent; `Unavailable` when none serves it in time.
pub async fn ask<C: ReadCall>(
    context: &NodeContext,
    group: GroupId,
    call: &C,
    deadline: Instant,
) -> Result<C::Answer> {
    ask_within(context, group, call, deadline, ANSWER).await
}

/// The same for a call that may take a node longer than a search does.
pub async fn ask_within<C: ReadCall>(
    context: &NodeContext,
    group: GroupId,
    call: &C,
    deadline: Instant,
    answer: Duration,
) -> Result<C::Answer> {
    let mut reason = None;
    for round in 0..ROUNDS {
        if round > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        for node in context.holders(group) {
            let by = deadline.min(Instant::now() + answer);
            let applied = context.groups().get(group).map(|local| *local.applied.borrow());
            let read = context.seen().asked_of(node, group, applied);
            let request = question(context, call, Some(read))?;
            let answer = match context.peers().ask(node, &request, by).await {
                Ok(PeerAnswer::Failed { message, .. }) => {
                    reason = Some(message);
                    continue;
                }
                Ok(answer) => answer,
                Err(unasked) => {
                    reason = Some(Error::from(unasked).message);
                    continue;
                }
            };
            match answered::<C>(answer) {
                Some(Answered::DoneAt { applied, answer }) => {
                    context.seen().note(group, node, applied);
                    return Ok(answer);
                }
                // of a program that does not say how far it is
                Some(Answered::Done(answer)) => {
                    context.seen().note(group, node, 0);
                    return Ok(answer);
                }
                Some(Answered::Failed(sent)) => match Error::from(sent) {
                    busy if busy.kind == ErrorKind::Unavailable => reason = Some(busy.message),
                    error => return Err(error),
                },
                // it knows less than this node, or is of another version
                Some(Answered::NotHere) | None => {}
            }
        }
        if Instant::now() + PAUSE >= deadline {
            break;
        }
    }
    // this node may be the only one that serves now, although it shows a little less than they did
    context.seen().forget(group);
    let reason = reason.unwrap_or_else(|| "no node with an up-to-date replica is known".to_owned());
    Err(Error::unavailable(format!("the nodes that have this index cannot answer at present: {reason}")))
}
