//! What brings the groups to where they are wanted: every node looks after the groups it leads, and the leader of the meta
//! group after the plan. Only scheduling: what it decides becomes a command or a change of members, so it may stop anywhere.

use crate::command::MetaCommand;
use crate::disk::Purpose;
use crate::groups::Group;
use crate::leases::now_ms;
use crate::meta::MetaState;
use crate::placement;
use crate::requests::{PeerAnswer, PeerRequest};
use crate::router::{Router, write_deadline};
use crate::start::{Founding, Starter};
use bytes::Bytes;
use quorate_model::{GroupId, NodeId, Result};
use quorate_raft::lease::Removal;
use quorate_raft::{MemberChange, Membership, Progress};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks when nothing happens.
const INTERVAL: Duration = Duration::from_millis(250);
/// Changes of the plan in one round.
const PLAN_CHANGES: usize = 64;
/// Entries that a member may lack and still count as caught up.
const CAUGHT_UP: u64 = 1_000;
/// How long a leader may take to say who is a member.
const ASK: Duration = Duration::from_secs(1);
/// How long a change of members may take.
const CHANGE: Duration = Duration::from_secs(10);
/// How long a node leads a group before it gives it to the one that should lead, and between two attempts: one that has
/// just handed over because it stops must not get it back.
const TRANSFER_EVERY: Duration = Duration::from_secs(5);
/// How long a node that stops listens for others that could lead a group: they are heard of with the first heartbeat.
const LISTEN: Duration = Duration::from_secs(1);

/// What has to happen next to the members of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Change the members like this, together.
    Change(Vec<MemberChange>),
    /// Hand the leadership over.
    Transfer(NodeId),
    /// Wait for these to catch up.
    Wait(Vec<NodeId>),
    /// Nothing.
    Rest,
}

/// The next step for a group that `self_id` leads, whose log ends at `last_index`.
pub fn next_step(
    self_id: NodeId,
    wanted: &[NodeId],
    voters: usize,
    members: &Membership,
    last_index: u64,
) -> Step {
    if members.is_joint || wanted.is_empty() {
        return Step::Rest;
    }
    if let Some(new) = wanted.iter().find(|node| !members.contains(node.0)) {
        return Step::Change(vec![MemberChange::AddLearner(new.0)]);
    }
    let is_ready = |node: NodeId| {
        node == self_id
            || members.progress(node.0).is_some_and(|it| it.is_live && it.matched + CAUGHT_UP >= last_index)
    };
    let (should_vote, _) = wanted.split_at(voters.clamp(1, wanted.len()));
    let new: Vec<NodeId> =
        should_vote.iter().filter(|node| !members.voters.contains(&node.0)).copied().collect();
    let late: Vec<NodeId> = new.iter().filter(|node| !is_ready(**node)).copied().collect();
    if !late.is_empty() {
        return Step::Wait(late);
    }
    let mut changes: Vec<MemberChange> = new.iter().map(|node| MemberChange::AddVoter(node.0)).collect();
    let leaves_itself = !should_vote.contains(&self_id);
    if leaves_itself && new.is_empty() {
        // the last one out is removed by its successor
        return match should_vote.iter().find(|node| is_ready(**node)) {
            Some(next) => Step::Transfer(*next),
            None => Step::Wait(should_vote.to_vec()),
        };
    }
    if !leaves_itself {
        for voter in members.voters.iter().map(|&voter| NodeId(voter)).filter(|it| !should_vote.contains(it))
        {
            changes.push(match wanted.contains(&voter) {
                true => MemberChange::AddLearner(voter.0),
                false => MemberChange::Remove(voter.0),
            });
        }
        let gone = members.learners.iter().filter(|learner| !wanted.contains(&NodeId(**learner)));
        changes.extend(gone.map(|&learner| MemberChange::Remove(learner)));
    }
    match changes.is_empty() {
        false => Step::Change(changes),
        true if should_vote[0] != self_id && is_ready(should_vote[0]) => Step::Transfer(should_vote[0]),
        true => Step::Rest,
    }
}

/// Looks after groups until the task is aborted.
pub async fn run(router: Arc<Router>, starter: Arc<Starter>) {
    let mut transferred = BTreeMap::new();
    loop {
        let meta = router.meta();
        introduce(&router, &meta);
        if let Err(error) = start_wanted(&starter, &meta) {
            tracing::error!(%error, "cannot start a group");
        }
        leave_unwanted(&router, &starter, &meta).await;
        for group in router.groups().all() {
            match group.is_led_here() {
                true => look_after(&router, &meta, &group, &mut transferred).await,
                false => drop(transferred.remove(&group.id)),
            }
        }
        if router.groups().meta().is_ok_and(|group| group.is_led_here())
            && let Err(error) = plan(&router).await
        {
            tracing::debug!(%error, "the plan waits");
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Tells the transport where the other nodes are.
pub fn introduce(router: &Router, meta: &MetaState) {
    // one that was just added knows the others from those who added it
    if let Some(peers) = router.peers().filter(|_| !meta.nodes.is_empty()) {
        let others = meta.nodes.iter().filter(|(id, row)| **id != router.self_id() && row.is_present());
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

/// Leaves groups that are not wanted here, once their leaders say that this node is no member any more.
async fn leave_unwanted(router: &Router, starter: &Starter, meta: &MetaState) {
    for group in router.groups().placement() {
        let wanted = meta.wanted(group.id);
        if wanted.is_empty() || wanted.contains(&router.self_id()) || group.is_led_here() {
            continue;
        }
        for node in wanted {
            let request = PeerRequest::IsMember { group: group.id };
            if let Ok(PeerAnswer::Truth(false)) = router.ask(node, &request, Instant::now() + ASK).await {
                tracing::info!(group = group.id.0, "this node leaves a group");
                if let Err(error) = starter.leave_group(group.id).await {
                    tracing::warn!(group = group.id.0, %error, "not all of a group that was left is removed yet");
                }
                break;
            }
        }
    }
}

/// Whether this node can do what a leader has to: apply what is in the log, and take writes.
pub fn may_lead(router: &Router, group: &Group) -> bool {
    group.halt.reason().is_none() && router.disk().admit(Purpose::Add).is_ok()
}

/// Whether another node says that of itself. Errors count as no.
async fn is_able(router: &Router, group: &Group, node: NodeId) -> bool {
    let request = PeerRequest::MayLead { group: group.id };
    matches!(router.ask(node, &request, Instant::now() + ASK).await, Ok(PeerAnswer::Truth(true)))
}

/// Hands a group that this node cannot lead to one that can, if there is one.
async fn give_to_able(router: &Router, group: &Group) {
    for next in heirs(group) {
        if is_able(router, group, NodeId(next)).await {
            tracing::info!(group = group.id.0, %next, "this node cannot lead at present: handing the leadership over");
            let _tried_again_later = group.raft.transfer_leader(next);
            return;
        }
    }
}

async fn look_after(
    router: &Router,
    meta: &MetaState,
    group: &Group,
    transferred: &mut BTreeMap<GroupId, Instant>,
) {
    let wanted = meta.wanted(group.id);
    let (members, last) = (group.raft.membership(), group.status().last_index);
    group.leases.keep(&wanted);
    if !may_lead(router, group) {
        give_to_able(router, group).await;
        return;
    }
    match next_step(router.self_id(), &wanted, meta.wanted_voters(group.id), &members, last) {
        Step::Rest | Step::Wait(_) => {}
        Step::Change(changes) if !may_leave(group, &changes) => {}
        Step::Change(changes) => {
            // the next look tries again
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
        Step::Transfer(next) => {
            // the meta group is led by whoever was elected, as long as that is a voter
            let is_at_home = group.id == GroupId::META && wanted.contains(&router.self_id());
            let is_early =
                transferred.entry(group.id).or_insert_with(Instant::now).elapsed() < TRANSFER_EVERY;
            if !is_at_home && !is_early {
                transferred.insert(group.id, Instant::now());
                if is_able(router, group, next).await {
                    tracing::debug!(group = group.id.0, %next, "handing the leadership over");
                    let _tried_again_later = group.raft.transfer_leader(next.0);
                }
            }
        }
    }
}

/// Whether those that a change removes read no more; from this question on they get no leave to.
fn may_leave(group: &Group, changes: &[MemberChange]) -> bool {
    let mut granter = group.leases.granter().lock();
    changes.iter().all(|change| match *change {
        MemberChange::Remove(member) => granter.may_remove(now_ms(), member) == Removal::Now,
        MemberChange::AddVoter(_) | MemberChange::AddLearner(_) => true,
    })
}

/// Carries the plan on: where replicas are wanted follows from which nodes there are.
async fn plan(router: &Router) -> Result<()> {
    for _ in 0..PLAN_CHANGES {
        let Some((group, nodes)) = placement::next_change(&router.meta()) else { return Ok(()) };
        let place = MetaCommand::Place { group, nodes };
        router.propose_meta(place, Purpose::Remove, write_deadline()).await?;
    }
    Ok(())
}

/// Gives every leadership away before this node stops, to whoever is nearest to the end of the log. Returns when none is
/// left, or at the deadline, sooner when nobody is heard of who could lead.
pub async fn hand_over(router: &Router, deadline: Instant) {
    let self_id = router.self_id().0;
    let has_other_voters =
        |group: &Group| group.raft.membership().voters.iter().any(|voter| *voter != self_id);
    let listens_until = Instant::now() + LISTEN;
    loop {
        let mut left = 0;
        for group in router.groups().all().iter().filter(|group| group.is_led_here()) {
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

/// Who may lead a group next, the one that is nearest to the end of the log first.
fn heirs(group: &Group) -> Vec<u64> {
    let members = group.raft.membership();
    let is_heir = |it: &&Progress| it.is_live && members.voters.contains(&it.member);
    let mut heirs: Vec<&Progress> = members.followers.iter().filter(is_heir).collect();
    heirs.sort_by_key(|it| std::cmp::Reverse(it.matched));
    heirs.into_iter().map(|it| it.member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(voters: &[u64], learners: &[u64], behind: &[u64]) -> Membership {
        let others = voters.iter().chain(learners).filter(|&&member| member != 1);
        let progress = |&member: &u64| Progress {
            member,
            matched: if behind.contains(&member) { 0 } else { 5_000 },
            is_live: true,
        };
        Membership {
            voters: voters.to_vec(),
            learners: learners.to_vec(),
            leaving: vec![],
            is_joint: false,
            followers: others.map(progress).collect(),
        }
    }
    fn step(wanted: &[u64], voters: usize, members: &Membership) -> Step {
        let wanted: Vec<NodeId> = wanted.iter().copied().map(NodeId).collect();
        next_step(NodeId(1), &wanted, voters, members, 5_000)
    }

    #[test]
    fn members_follow_what_is_wanted_step_by_step() {
        use MemberChange::{AddLearner, AddVoter, Remove};
        let change = |changes: &[MemberChange]| Step::Change(changes.to_vec());
        let cases: [(&[u64], usize, Membership, Step); 14] = [
            (&[1], 1, members(&[1], &[], &[]), Step::Rest),
            (&[], 0, members(&[1], &[], &[]), Step::Rest),
            (&[1, 2], 1, members(&[1], &[], &[]), change(&[AddLearner(2)])),
            (&[1, 2], 1, members(&[1], &[2], &[]), Step::Rest),
            (&[1, 2, 3], 3, members(&[1], &[2], &[]), change(&[AddLearner(3)])),
            (&[1, 2, 3], 3, members(&[1], &[2, 3], &[3]), Step::Wait(vec![NodeId(3)])),
            (&[1, 2, 3], 3, members(&[1], &[2, 3], &[]), change(&[AddVoter(2), AddVoter(3)])),
            (&[1, 2, 3], 3, members(&[1, 2, 3], &[], &[2]), Step::Rest),
            (&[2, 1, 3], 3, members(&[1, 2, 3], &[], &[]), Step::Transfer(NodeId(2))),
            (&[2, 1, 3], 3, members(&[1, 2, 3], &[], &[2]), Step::Rest),
            // one of three is replaced
            (&[1, 2, 4], 3, members(&[1, 2, 3], &[4], &[]), change(&[AddVoter(4), Remove(3)])),
            // the leader itself is replaced: its successor comes first, then leads, then removes it
            (&[4, 2, 3], 3, members(&[1, 2, 3], &[4], &[]), change(&[AddVoter(4)])),
            (&[4, 2, 3], 3, members(&[1, 2, 3, 4], &[], &[]), Step::Transfer(NodeId(4))),
            // with two nodes one votes
            (&[2, 1], 1, members(&[1], &[2], &[]), change(&[AddVoter(2)])),
        ];
        for (wanted, voters, members, expected) in cases {
            assert_eq!(step(wanted, voters, &members), expected, "{wanted:?} {members:?}");
        }
        let joint = Membership { is_joint: true, ..members(&[1], &[], &[]) };
        assert_eq!(step(&[1, 2], 1, &joint), Step::Rest, "one change at a time");
    }
}
