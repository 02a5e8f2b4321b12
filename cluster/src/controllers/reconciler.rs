//! What brings the groups to where they are wanted: every node looks after the groups it leads, and the leader of the meta
//! group after the plan. Only scheduling: what it decides becomes a command or a change of members, so it may stop anywhere.

use crate::clock::steady_ms;
use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::groups::Group;
use crate::groups::start::{Founding, Starter};
use crate::membership::leaving;
use crate::membership::placement;
use crate::membership::{self, NodeReport};
use crate::meta::MetaState;
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use bytes::Bytes;
use futures_util::future::join_all;
use quorate_model::{GroupId, NodeId, Result, level};
use quorate_raft::lease::Removal;
use quorate_raft::{MemberChange, Membership, Progress, StateCopy};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks when nothing happens.
const INTERVAL: Duration = Duration::from_millis(250);
/// Changes of the plan in one round.
const PLAN_CHANGES: usize = 64;
/// Entries that a member may lack and still count as caught up.
const CAUGHT_UP: u64 = 1_000;
/// How long a node may take to say whether it can lead.
const ASK: Duration = Duration::from_secs(1);
/// Between two looks whether what is not wanted here may go.
const LEAVE_LOOK: Duration = Duration::from_secs(1);
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

/// A group as its leader sees it.
#[derive(Clone, Copy, Debug)]
pub struct Led<'a> {
    /// The leader.
    pub self_id: NodeId,
    /// What it has of the state.
    pub copy: StateCopy,
    /// Where its log ends.
    pub last_index: u64,
    /// The members, with what they say of themselves.
    pub members: &'a Membership,
}

impl Led<'_> {
    /// Whether a member has the whole state durably and has applied nearly everything, as it said itself. The end of its log
    /// says nothing about that: it begins behind a snapshot whose files may be on their way for long.
    fn is_full(&self, node: NodeId) -> bool {
        let is_near = |copy: StateCopy| match copy {
            StateCopy::Whole { applied } => applied + CAUGHT_UP >= self.last_index,
            StateCopy::Fetching | StateCopy::Unknown => false,
        };
        match node == self.self_id {
            true => is_near(self.copy),
            false => self.members.progress(node.0).is_some_and(|it| is_near(it.copy)),
        }
    }
    /// Whether a member may vote or lead now.
    fn is_ready(&self, node: NodeId) -> bool {
        let progress = self.members.progress(node.0);
        let is_near = progress.is_some_and(|it| it.is_live && it.matched + CAUGHT_UP >= self.last_index);
        (node == self.self_id || is_near) && self.is_full(node)
    }
}

/// The next step for a group that this node leads.
pub fn next_step(led: Led<'_>, wanted: &[NodeId], voters: usize) -> Step {
    let Led { self_id, members, .. } = led;
    if members.is_joint || wanted.is_empty() {
        return Step::Rest;
    }
    if let Some(new) = wanted.iter().find(|node| !members.contains(node.0)) {
        return Step::Change(vec![MemberChange::AddLearner(new.0)]);
    }
    let is_ready = |node: NodeId| led.is_ready(node);
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
        // nobody goes, or gives its vote up, before a majority of those that are to vote hold everything, and all that live
        let full = should_vote.iter().filter(|node| led.is_full(**node)).count();
        let lives = |node: &NodeId| *node == self_id || members.progress(node.0).is_some_and(|it| it.is_live);
        let is_awaited = should_vote.iter().any(|node| lives(node) && !led.is_full(*node));
        let takes_away = changes.iter().any(|change| match change {
            MemberChange::AddVoter(_) => false,
            MemberChange::AddLearner(_) | MemberChange::Remove(_) => true,
        });
        if takes_away && (is_awaited || full <= should_vote.len() / 2) {
            return Step::Wait(should_vote.iter().filter(|node| !led.is_full(**node)).copied().collect());
        }
    }
    match changes.is_empty() {
        false => Step::Change(changes),
        true if should_vote[0] != self_id && is_ready(should_vote[0]) => Step::Transfer(should_vote[0]),
        true => Step::Rest,
    }
}

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
async fn is_able(context: &NodeContext, group: &Group, node: NodeId) -> bool {
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
        give_to_able(context, group).await;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn members(voters: &[u64], learners: &[u64], behind: &[u64]) -> Membership {
        let others = voters.iter().chain(learners).filter(|&&member| member != 1);
        let progress = |&member: &u64| Progress {
            member,
            matched: if behind.contains(&member) { 0 } else { 5_000 },
            has_committed: !behind.contains(&member),
            is_live: true,
            copy: match behind.contains(&member) {
                true => StateCopy::Fetching,
                false => StateCopy::Whole { applied: 4_990 },
            },
        };
        Membership {
            voters: voters.to_vec(),
            learners: learners.to_vec(),
            leaving: vec![],
            is_joint: false,
            since: 0,
            followers: others.map(progress).collect(),
        }
    }
    fn led(members: &Membership) -> Led<'_> {
        Led { self_id: NodeId(1), copy: StateCopy::Whole { applied: 5_000 }, last_index: 5_000, members }
    }
    fn step(wanted: &[u64], voters: usize, members: &Membership) -> Step {
        let wanted: Vec<NodeId> = wanted.iter().copied().map(NodeId).collect();
        next_step(led(members), &wanted, voters)
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
        // the log of those that fetch is as long as any
        let mut described = members(&[1], &[2, 3], &[]);
        described.followers.iter_mut().for_each(|it| it.copy = StateCopy::Fetching);
        assert_eq!(step(&[1, 2, 3], 3, &described), Step::Wait(vec![NodeId(2), NodeId(3)]));
        assert_eq!(
            step(&[2], 1, &Membership { voters: vec![1], learners: vec![2], ..described.clone() }),
            Step::Wait(vec![NodeId(2)])
        );
        let voters = Membership { voters: vec![1, 2, 3], learners: vec![], ..described };
        assert_eq!(step(&[2, 3], 1, &voters), Step::Wait(vec![NodeId(2)]), "nobody to lead next");
        // who is not wanted stays while too few of the others hold everything
        assert_eq!(
            step(&[1, 2, 4], 3, &members(&[1, 2, 3, 4], &[], &[2, 4])),
            Step::Wait(vec![NodeId(2), NodeId(4)])
        );
        let mut one_late = members(&[1, 2, 3, 4], &[], &[2]);
        assert_eq!(step(&[1, 2, 4], 3, &one_late), Step::Wait(vec![NodeId(2)]));
        one_late.followers[0].is_live = false;
        assert_eq!(step(&[1, 2, 4], 3, &one_late), change(&[Remove(3)]), "nobody waits for the dead");
        let poor = members(&[1], &[2, 3], &[]);
        let fetching = Led { copy: StateCopy::Fetching, ..led(&poor) };
        assert_eq!(
            next_step(fetching, &[NodeId(1), NodeId(2)], 1),
            Step::Wait(vec![NodeId(1)]),
            "3 may be the only one"
        );
        let joint = Membership { is_joint: true, ..members(&[1], &[], &[]) };
        assert_eq!(step(&[1, 2], 1, &joint), Step::Rest, "one change at a time");
    }
}
