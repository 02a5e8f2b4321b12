//! What brings the groups to where they are wanted: every node looks after the groups it leads, and the leader of the meta
//! group after the plan. Only scheduling: what it decides becomes a command or a change of members, so it may stop anywhere.

mod leadership;
mod step;

pub use leadership::{give_to_able, hand_over, may_lead};
pub use step::{Led, Step, next_step};

use leadership::is_able;

use crate::clock::steady_ms;
use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::controllers::others;
use crate::disk::Purpose;
use crate::groups::Group;
use crate::groups::start::{Founding, Starter};
use crate::membership::leaving;
use crate::membership::placement;
use crate::membership::{self, NodeReport};
use crate::meta::MetaState;
use bytes::Bytes;
use futures_util::future::join_all;
use quorate_model::{GroupId, NodeId, Result};
use quorate_raft::lease::Removal;
use quorate_raft::{MemberChange, Membership, Progress, StateCopy};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks when nothing happens.
const INTERVAL: Duration = Duration::from_millis(250);
/// Changes of the plan in one round.
const PLAN_CHANGES: usize = 64;
/// Between two looks whether what is not wanted here may go.
const LEAVE_LOOK: Duration = Duration::from_secs(1);
/// How long a change of members may take.
const CHANGE: Duration = Duration::from_secs(10);
/// How long a node leads a group before it gives it to the one that should lead, and between two attempts: one that has
/// just handed over because it stops must not get it back.
const TRANSFER_EVERY: Duration = Duration::from_secs(5);
/// Looks after groups until the task is aborted.
pub async fn run(context: Arc<NodeContext>, starter: Arc<Starter>) {
    let mut transferred = BTreeMap::new();
    let mut looked = None;
    loop {
        let meta = context.meta();
        introduce(&context, &meta);
        if let Err(error) = start_wanted(&starter, &meta) {
            tracing::error!(%error, "cannot start a group");
        }
        leave_unwanted(&context, &starter, &meta, &mut looked).await;
        others::look_if_full(&context).await;
        for group in context.groups().all() {
            match group.is_led_here() {
                true => look_after(&context, &meta, &group, &mut transferred).await,
                false => drop(transferred.remove(&group.id)),
            }
        }
        if context.groups().meta().is_ok_and(|group| group.is_led_here())
            && let Err(error) = plan(&context).await
        {
            tracing::debug!(%error, "the plan waits");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Tells the transport where the other nodes are.
pub fn introduce(context: &NodeContext, meta: &MetaState) {
    // one that was just added knows the others from those who added it
    if let Some(peers) = context.peers().connections().filter(|_| !meta.nodes.is_empty()) {
        let others = meta.nodes.iter().filter(|(id, row)| **id != context.self_id() && row.is_present());
        peers.set_addresses(others.map(|(id, row)| (*id, row.peer.clone())).collect());
    }
}

/// Starts the groups that are wanted here and do not run yet; their leaders will add this node to them.
fn start_wanted(starter: &Starter, meta: &MetaState) -> Result<()> {
    for (&group, nodes) in meta.placement.iter() {
        if nodes.contains(&starter.self_id) && starter.groups.get(group).is_none() {
            tracing::info!(group = group.0, "this node gets a replica of a group");
            let founding = match meta.is_founder(starter.self_id, group) {
                true => Founding::Founder,
                false => Founding::Joiner,
            };
            starter.start_group(group, founding)?;
        }
    }
    Ok(())
}

/// Leaves groups that are not wanted here, once all that are to vote there say that they hold everything themselves. Until then
/// what this node has stays, and is given to those who fetch it.
async fn leave_unwanted(
    context: &NodeContext,
    starter: &Starter,
    meta: &MetaState,
    looked: &mut Option<Instant>,
) {
    let is_unwanted = |group: &Arc<Group>| {
        let wanted = meta.wanted(group.id);
        !wanted.is_empty() && !wanted.contains(&context.self_id()) && !group.is_led_here()
    };
    let unwanted: Vec<Arc<Group>> = context.groups().placement().into_iter().filter(is_unwanted).collect();
    if unwanted.is_empty() || looked.is_some_and(|at| at.elapsed() < LEAVE_LOOK) {
        return;
    }
    let heirs: BTreeSet<NodeId> = unwanted.iter().flat_map(|group| leaving::heirs(meta, group.id)).collect();
    let asked = heirs.into_iter().map(async |node| (node, membership::ask(context, node).await.ok()));
    let said: BTreeMap<NodeId, Option<NodeReport>> = join_all(asked).await.into_iter().collect();
    *looked = Some(Instant::now());
    for group in unwanted {
        let known = group.status().committed.max(*group.applied.borrow());
        let of = |node: NodeId| said.get(&node)?.as_ref()?.replicas.iter().find(|it| it.group == group.id);
        match leaving::lacking(context.self_id(), known, &leaving::heirs(meta, group.id), of) {
            None => {
                tracing::info!(group = group.id.0, "this node leaves a group");
                if let Err(error) = starter.leave_group(group.id).await {
                    tracing::warn!(group = group.id.0, %error, "not all of a group that was left is removed yet");
                }
            }
            Some(node) => {
                tracing::debug!(group = group.id.0, %node, "this node keeps a group until others hold all of it");
            }
        }
    }
}

async fn look_after(
    context: &NodeContext,
    meta: &MetaState,
    group: &Group,
    transferred: &mut BTreeMap<GroupId, Instant>,
) {
    let wanted = meta.wanted(group.id);
    let (members, status) = (group.raft.membership(), group.status());
    group.leases.keep(&wanted);
    if !may_lead(context, group) {
        if !others::is_short_everywhere(context, &members.voters) {
            give_to_able(context, group).await;
        }
        return;
    }
    let members = with_older(context, group.id, &wanted, members).await;
    let led = Led {
        self_id: context.self_id(),
        copy: status.copy,
        last_index: status.last_index,
        members: &members,
    };
    match next_step(led, &wanted, meta.wanted_voters(group.id)) {
        Step::Rest | Step::Wait(_) => {}
        // the first lease comes within a second of a start; a member that came before it would stop the reads
        Step::Change(_) if !group.leases.has_lease(group.visible_through(context.node())) => {}
        Step::Change(changes) if !may_leave(group, &changes) => {}
        Step::Change(changes) => {
            change_members(group, changes).await;
        }
        Step::Transfer(next) => {
            // the meta group is led by whoever was elected, as long as that is a voter
            let voters = &wanted[..meta.wanted_voters(group.id).min(wanted.len())];
            let is_at_home = group.id == GroupId::META && voters.contains(&context.self_id());
            let is_early =
                transferred.entry(group.id).or_insert_with(Instant::now).elapsed() < TRANSFER_EVERY;
            if !is_at_home && !is_early {
                transferred.insert(group.id, Instant::now());
                if is_able(context, group, next).await {
                    tracing::debug!(group = group.id.0, %next, "handing the leadership over");
                    let _tried_again_later = group.raft.transfer_leader(next.0);
                }
            }
        }
    }
}

/// Changes the members of a group that this node leads. The next look tries again what does not come about.
pub async fn change_members(group: &Group, changes: Vec<MemberChange>) {
    if !group.leases.may_change(&changes) {
        return;
    }
    tracing::info!(group = group.id.0, ?changes, "changing the members of a group");
    let changed = group.raft.change_members(changes.clone(), Bytes::new(), CHANGE).await;
    group.leases.changed(&changes, &changed);
    if let Err(error) = changed {
        tracing::info!(group = group.id.0, %error, "the members are not changed yet");
    }
}

/// The members with what those say when they are asked whose programs do not say it with every answer. Nobody is asked when
/// all are where they are wanted.
async fn with_older(
    context: &NodeContext,
    group: GroupId,
    wanted: &[NodeId],
    members: Arc<Membership>,
) -> Arc<Membership> {
    let is_older = |it: &&Progress| it.is_live && it.copy == StateCopy::Unknown;
    let older: Vec<u64> = members.followers.iter().filter(is_older).map(|it| it.member).collect();
    let count = members.voters.len() + members.learners.len();
    let is_settled = count == wanted.len() && wanted.iter().all(|node| members.contains(node.0));
    let leads_for_good = group == GroupId::META || wanted.first() == Some(&context.self_id());
    if older.is_empty() || is_settled && leads_for_good && members.learners.len() <= 1 {
        return members;
    }
    let mut members = Membership::clone(&members);
    for follower in members.followers.iter_mut().filter(|it| older.contains(&it.member)) {
        let said = membership::ask(context, NodeId(follower.member)).await.ok();
        let replica = said.and_then(|said| said.replicas.into_iter().find(|it| it.group == group));
        if let Some(replica) = replica {
            follower.copy = match replica.is_full() {
                true => StateCopy::Whole { applied: replica.applied },
                false => StateCopy::Fetching,
            };
        }
    }
    Arc::new(members)
}

/// Whether those that a change removes read no more; from this question on they get no lease.
fn may_leave(group: &Group, changes: &[MemberChange]) -> bool {
    let mut granter = group.leases.granter().lock();
    changes.iter().all(|change| match *change {
        MemberChange::Remove(member) => granter.may_remove(steady_ms(), member) == Removal::Now,
        MemberChange::AddVoter(_) | MemberChange::AddLearner(_) => true,
    })
}

/// Carries the plan on: where replicas are wanted follows from which nodes there are.
async fn plan(context: &NodeContext) -> Result<()> {
    for _ in 0..PLAN_CHANGES {
        let Some((group, nodes)) = placement::next_change(&context.meta()) else { return Ok(()) };
        let place = MetaCommand::Place { group, nodes };
        context.proposer().propose_meta(place, Purpose::Remove, write_deadline()).await?;
    }
    Ok(())
}
