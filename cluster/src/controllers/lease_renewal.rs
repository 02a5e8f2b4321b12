//! Asks the leaders for leases to serve reads, and gives them for the groups that this node leads.

use crate::clock::steady_ms;
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::groups::{Group, Groups};
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use futures_util::future::join_all;
use quorate_model::{GroupId, NodeId};
use quorate_raft::StateCopy;
use quorate_raft::lease::{ASK_EVERY_MS, AskId, Grant};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a majority may take to confirm a leader.
const CONFIRM: Duration = Duration::from_millis(700);
/// How long an answer may take: a node that is gone must not keep this one from asking the others in time.
const ANSWER: Duration = Duration::from_millis(ASK_EVERY_MS - 100);

/// Asks for leases until the task is aborted.
pub async fn run(context: Arc<NodeContext>) {
    let mut times = tokio::time::interval(Duration::from_millis(ASK_EVERY_MS));
    times.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        times.tick().await;
        let mut asks: BTreeMap<NodeId, Vec<(GroupId, AskId)>> = BTreeMap::new();
        for group in context.groups().all().iter().filter(|group| !group.halt.is_set()) {
            // without the state it could not read, and the leader would wait for it to show what is written
            if group.status().copy == StateCopy::Fetching || is_stuck(&context, group) {
                continue;
            }
            let leader = if group.is_led_here() { Some(context.self_id()) } else { group.leader() };
            if let Some(leader) = leader {
                asks.entry(leader).or_default().push((group.id, group.leases.ask()));
            }
        }
        join_all(asks.into_iter().map(|(leader, asks)| ask(&context, leader, asks))).await;
    }
}

/// Whether this replica cannot write what is committed, so that it does not show it: the leader would wait for it for as long as its
/// disk is ill, or so full that its log takes nothing. A lease that it has already says nothing: it is renewed from what was shown when
/// its chain began. The leader itself asks on: when the disks of all are ill, reads go by its lease.
fn is_stuck(context: &NodeContext, group: &Group) -> bool {
    let node = context.node();
    let is_behind = || group.visible_through(node) < group.status().committed;
    let is_failing = || node.is_failing(group.id) && is_behind();
    !group.is_led_here() && (context.disk().admit(Purpose::Remove).is_err() || is_failing())
}

async fn ask(context: &NodeContext, leader: NodeId, asks: Vec<(GroupId, AskId)>) {
    let granted = match leader == context.self_id() {
        true => grant(context.groups(), leader, asks).await,
        false => {
            let request = PeerRequest::Leases { asks };
            match context.peers().ask(leader, &request, Instant::now() + ANSWER).await {
                Ok(PeerAnswer::Granted(granted)) => granted,
                // the leader is gone, or it is one no more: ask again
                Ok(_) | Err(_) => return,
            }
        }
    };
    for (id, ask, grant) in granted {
        if let Some(group) = context.groups().get(id) {
            group.leases.granted(ask, grant);
        }
    }
}

/// Answers a node that asks for leases: those that this node may grant.
pub async fn grant(
    groups: &Groups,
    member: NodeId,
    asks: Vec<(GroupId, AskId)>,
) -> Vec<(GroupId, AskId, Grant)> {
    let led = asks.into_iter().filter_map(|(id, ask)| Some((groups.get(id)?, ask)));
    let granted = led.map(async |(group, ask): (Arc<Group>, AskId)| {
        if group.halt.is_set() {
            return None;
        }
        let confirmed = group.raft.confirm_leader(CONFIRM).await.ok()?;
        let applied = *group.applied.borrow();
        group.leases.look_at_members();
        let grant = group.leases.granter().lock().grant(steady_ms(), member.0, confirmed, applied);
        Some((group.id, ask, grant.ok()?))
    });
    join_all(granted).await.into_iter().flatten().collect()
}
