//! Whether a write is published: every reader sees it (C§1.6). The leader of its group knows.

use crate::clock::steady_ms;
use crate::context::NodeContext;
use crate::groups::Group;
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use futures_util::future::join_all;
use quorate_model::{GroupId, NodeId, TaskId};
use quorate_raft::Role;
use quorate_raft::lease::{Published, Shows};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a leader may take to answer; without an answer the task is not published, and the client asks again.
const ANSWER: Duration = Duration::from_secs(3);
/// How many nodes are asked that may be the leader.
const ATTEMPTS: usize = 3;
/// How long a replica may take to say what it shows.
const PROBE: Duration = Duration::from_secs(1);

/// Whether every reader sees the write.
///
/// An id beyond the last one issued is not published; one from before is, whatever became of its index.
pub async fn is_published(context: &NodeContext, task: TaskId) -> bool {
    let (id, log_index) = (task.group(), task.log_index());
    let deadline = Instant::now() + ANSWER;
    for attempt in 0..ATTEMPTS {
        let Some(leader) = context.proposer().leader(id, attempt) else { return false };
        if leader == context.self_id() {
            return match context.groups().get(id) {
                Some(group) => is_published_here(context, &group, log_index).await,
                None => false,
            };
        }
        match context.peers().ask(leader, &PeerRequest::IsPublished { task }, deadline).await {
            Ok(PeerAnswer::Truth(is_published)) => return is_published,
            Ok(PeerAnswer::NotLeader { leader: next }) => context.proposer().led_by_another(id, next),
            Ok(_) => return false,
            Err(_) => context.proposer().led_by_another(id, None),
        }
    }
    false
}

/// The same, on the leader of the group; false on other nodes.
pub async fn is_published_here(context: &NodeContext, group: &Group, log_index: u64) -> bool {
    if !is_visible(context, group, log_index) {
        return false;
    }
    let holders = group.leases.granter().lock().holders(steady_ms());
    let others = holders.into_iter().filter(|&holder| holder != context.self_id().0);
    let probes = others.map(async |holder| {
        let request = PeerRequest::IsVisible { group: group.id, log_index };
        let answer = context.peers().ask(NodeId(holder), &request, Instant::now() + PROBE).await;
        let shows = match answer {
            Ok(PeerAnswer::Truth(true)) => Shows::Yes,
            Ok(PeerAnswer::Truth(false)) => Shows::No,
            Ok(_) | Err(_) => Shows::Unknown,
        };
        (holder, shows)
    });
    let mut shown: BTreeMap<u64, Shows> = join_all(probes).await.into_iter().collect();
    shown.insert(context.self_id().0, Shows::Yes);
    // after all that was found out
    let status = group.status();
    let term = (status.role == Role::Leader).then_some(status.term);
    let shows = |holder: u64| shown.get(&holder).copied().unwrap_or(Shows::Unknown);
    group.leases.granter().lock().published(steady_ms(), term, log_index, shows) == Published::Yes
}

/// Whether reads of this replica see the command. Of the meta group: whether everything that is under way here goes by it.
pub fn is_visible(context: &NodeContext, group: &Group, log_index: u64) -> bool {
    if log_index > *group.applied.borrow() {
        return false;
    }
    match group.id {
        GroupId::META => !context.user_writes().hold_up(&context.shared_meta().load()),
        id => context.node().is_visible(id, log_index),
    }
}
