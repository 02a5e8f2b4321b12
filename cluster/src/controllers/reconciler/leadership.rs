//! Who can lead a group, and how does a node give away what it leads?

use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::groups::Group;
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use quorate_model::{NodeId, level};
use quorate_raft::{Progress, StateCopy};
use std::time::{Duration, Instant};

/// How long a node may take to say whether it can lead.
const ASK: Duration = Duration::from_secs(1);
/// How long a node that stops listens for others that could lead a group: they are heard of with the first heartbeat.
const LISTEN: Duration = Duration::from_secs(1);

/// Whether this node can do what a leader has to: hold the right state, show it, apply what is in the log, write that to its files,
/// and take writes.
pub fn may_lead(context: &NodeContext, group: &Group) -> bool {
    let is_whole = group.status().copy != StateCopy::Fetching;
    let is_right = !context.integrity().is_condemned(group.id);
    let stands =
        group.halt.reason().is_some() || group.raft.is_stalled() || context.node().is_failing(group.id);
    is_whole && is_right && !stands && context.disk().admit(Purpose::Add).is_ok()
}

/// Whether another node says that of itself. Errors count as no. Programs of the first level do not know the question and lead
/// what they are given.
pub(super) async fn is_able(context: &NodeContext, group: &Group, node: NodeId) -> bool {
    if context.meta().nodes.get(&node).is_some_and(|row| row.level == level::FIRST) {
        return true;
    }
    let request = PeerRequest::MayLead { group: group.id };
    matches!(context.peers().ask(node, &request, Instant::now() + ASK).await, Ok(PeerAnswer::Truth(true)))
}

/// Hands a group that this node cannot lead to one that can, if there is one.
pub async fn give_to_able(context: &NodeContext, group: &Group) {
    for next in heirs(group) {
        if is_able(context, group, NodeId(next)).await {
            tracing::info!(group = group.id.0, %next, "this node cannot lead at present: handing the leadership over");
            let _tried_again_later = group.raft.transfer_leader(next);
            return;
        }
    }
}

/// Gives every leadership away before this node stops, to whoever is nearest to the end of the log. Returns when none is
/// left, or at the deadline, sooner when nobody is heard of who could lead.
pub async fn hand_over(context: &NodeContext, deadline: Instant) {
    let self_id = context.self_id().0;
    let has_other_voters =
        |group: &Group| group.raft.membership().voters.iter().any(|voter| *voter != self_id);
    let listens_until = Instant::now() + LISTEN;
    loop {
        let mut left = 0;
        for group in context.groups().all().iter().filter(|group| group.is_led_here()) {
            match heirs(group).first() {
                Some(next) => {
                    left += 1;
                    let _tried_again_below = group.raft.transfer_leader(*next);
                }
                // who has led for a moment only may not have heard of the others yet
                None if has_other_voters(group) && Instant::now() < listens_until => left += 1,
                None => {}
            }
        }
        if left == 0 || Instant::now() >= deadline {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Who may lead a group next, the one that is nearest to the end of the log first: nobody whose state is on its way.
fn heirs(group: &Group) -> Vec<u64> {
    let members = group.raft.membership();
    let is_heir =
        |it: &&Progress| it.is_live && members.voters.contains(&it.member) && it.copy != StateCopy::Fetching;
    let mut heirs: Vec<&Progress> = members.followers.iter().filter(is_heir).collect();
    heirs.sort_by_key(|it| std::cmp::Reverse(it.matched));
    heirs.into_iter().map(|it| it.member).collect()
}
