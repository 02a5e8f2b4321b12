//! The way of a read to another node: who may have what this one lacks, in which order they are asked, when it is given up.
//!
//! One hop only: who is asked serves the call or says that it cannot. A read that this node can serve never comes here.

use crate::context::NodeContext;
use crate::rpc::calls::{Answered, Asked, ServiceCall, decode_answer, encode_call};
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use quorate_model::{Error, ErrorKind, GroupId, Result, limits};
use quorate_node::Payer;
use serde::de::DeserializeOwned;
use std::time::{Duration, Instant};

/// Where something is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way<T> {
    /// By this node, from this.
    Here(T),
    /// By another node with a replica of this group.
    There(GroupId),
}

impl<T> Way<T> {
    /// The same place of something made of it.
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Way<U> {
        match self {
            Way::Here(it) => Way::Here(make(it)),
            Way::There(group) => Way::There(group),
        }
    }
}

/// How long one node may take: a search of full length and a wait for a thread.
const ANSWER: Duration = Duration::from_millis(2 * limits::SEARCH_MS);
/// How long a read may be on its way, over all nodes that are asked.
const READ: Duration = Duration::from_secs(10);
/// How often all nodes are asked.
const ROUNDS: u32 = 2;
/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(150);

/// When a read that starts now gives up.
pub fn read_deadline() -> Instant {
    Instant::now() + READ
}

/// Asks the nodes that may have a replica of `group`, one after another, until one serves the call.
///
/// Errors: what the call comes to there; `TooLarge` when it cannot be sent; `Unavailable` when none serves it in time.
pub async fn ask<T: DeserializeOwned>(
    context: &NodeContext,
    group: GroupId,
    call: ServiceCall,
    deadline: Instant,
) -> Result<T> {
    let meta = *context.groups().meta()?.applied.borrow();
    let mut asked = Asked { meta, read: None, payer: Payer::current(), call };
    let mut reason = None;
    for round in 0..ROUNDS {
        if round > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        for node in context.holders(group) {
            let by = deadline.min(Instant::now() + ANSWER);
            let applied = context.groups().get(group).map(|local| *local.applied.borrow());
            asked.read = Some(context.seen().asked_of(node, group, applied));
            let request = PeerRequest::Call { call: encode_call(&asked)? };
            let answered = match context.peers().ask(node, &request, by).await {
                Ok(PeerAnswer::Called(bytes)) => decode_answer::<T>(&bytes),
                Ok(PeerAnswer::Failed { message, .. }) => {
                    reason = Some(message);
                    continue;
                }
                Ok(_) => None,
                Err(unasked) => {
                    reason = Some(Error::from(unasked).message);
                    continue;
                }
            };
            match answered {
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
