//! How operators change the installation: nodes drain, leave and replace each other, groups get another leader.

use super::find;
use super::overview::{self, GroupView, NodeView, Overview};
use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::command::NodeState;
use crate::context::NodeContext;
use crate::context::silence::GONE_S;
use crate::disk::Purpose;
use crate::meta::{MetaState, NodeRow};
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use quorate_model::{Error, GroupId, NodeId, Result};

/// Whether a change is made although it may cost something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Refuse it, saying what it would cost.
    No,
    /// Make it.
    Yes,
}

/// Moves everything off a node, which goes on answering. It gives up what it holds of a group when all that are to vote there
/// hold everything themselves, however long that takes.
///
/// Errors: `NotFound`; `Invalid` for the last node of a cluster, for one that does not answer and has what the others lack, and while
/// another one that has its groups does not answer.
pub async fn drain(context: &NodeContext, seen: &Overview, node: &str) -> Result<()> {
    let id = check_drain(&context.meta(), seen, node)?;
    set_state(context, id, NodeState::Draining).await
}

/// Whether a node may be drained, and its number.
pub(super) fn check_drain(meta: &MetaState, seen: &Overview, node: &str) -> Result<NodeId> {
    let (id, row) = find(meta, node)?;
    check_not_last(meta, id, row, "drained")?;
    match is_reachable(seen, &row.name) {
        true => check_others_answer(seen, &row.name)?,
        false => check_copies(seen, &row.name, "drained")?,
    }
    Ok(id)
}

/// Lets a drained node hold replicas again. Errors: `NotFound`, `Invalid` for a node that was removed.
pub async fn undrain(context: &NodeContext, node: &str) -> Result<()> {
    let meta = context.meta();
    let (id, row) = find(&meta, node)?;
    check_present(row)?;
    set_state(context, id, NodeState::Active).await
}

/// Takes a node out for good: its number never comes back. `seen` is how the installation was just before.
///
/// Errors: `NotFound`; `Invalid` when it is alive and not drained, unless forced; `Invalid` when groups would be without a majority that
/// answers, and for the last node of a cluster.
pub async fn remove(context: &NodeContext, seen: &Overview, node: &str, force: Force) -> Result<()> {
    let id = check_removal(&context.meta(), seen, node, force)?;
    set_state(context, id, NodeState::Removed).await
}

/// Whether a node may be taken out, and its number.
pub(super) fn check_removal(meta: &MetaState, seen: &Overview, node: &str, force: Force) -> Result<NodeId> {
    let (id, row) = find(meta, node)?;
    check_present(row)?;
    check_not_last(meta, id, row, "removed")?;
    match force {
        Force::No => {
            check_gone(seen, &row.name)?;
            check_dispensable(seen, &row.name)?;
        }
        Force::Yes => check_majority(seen, &row.name)?,
    }
    Ok(id)
}

/// Gives a group to another leader, now and, as long as every node leads its share, for later.
///
/// Errors: `NotFound`; `Invalid` when the node does not vote in the group; `Unavailable` when nobody leads it.
pub async fn transfer(context: &NodeContext, seen: &Overview, group: GroupId, to: &str) -> Result<()> {
    let meta = context.meta();
    let (id, row) = find(&meta, to)?;
    let Some(view) = seen.groups.iter().find(|view| view.id == group.0) else {
        return Err(Error::not_found(format!("there is no group {group}")));
    };
    if !view.voters.contains(&row.name) {
        let voters = view.voters.join(", ");
        return Err(Error::invalid(format!("{} has no vote in group {group}; {voters} have", row.name)));
    }
    if !view.has_full_copy(&row.name) {
        return Err(Error::invalid(format!(
            "{} has no full copy of group {group} yet: it cannot lead what it is still fetching",
            row.name
        )));
    }
    let leader = view.leader.as_deref().ok_or_else(|| {
        Error::unavailable(format!("group {group} has no leader at present, so nobody can hand it over"))
    })?;
    let wanted = meta.wanted(group);
    if group != GroupId::META && wanted.contains(&id) && wanted.first() != Some(&id) {
        let nodes = std::iter::once(id).chain(wanted.into_iter().filter(|node| *node != id)).collect();
        let place = MetaCommand::Place { group, nodes };
        context.proposer().propose_meta(place, Purpose::Remove, write_deadline()).await?;
    }
    if leader == row.name {
        return Ok(());
    }
    hand_over(context, find(&meta, leader)?.0, group, id).await
}

async fn hand_over(context: &NodeContext, leader: NodeId, group: GroupId, to: NodeId) -> Result<()> {
    if leader == context.self_id() {
        let local = context.group(group)?;
        return local.raft.transfer_leader(to.0).map_err(|full| Error::unavailable(full.to_string()));
    }
    match context.peers().ask(leader, &PeerRequest::TransferLeader { group, to }, write_deadline()).await? {
        PeerAnswer::Done => Ok(()),
        PeerAnswer::NotLeader { .. } => {
            Err(Error::unavailable(format!("group {group} has just got another leader; try again")))
        }
        PeerAnswer::Failed { kind, message, .. } => Err(Error::new(kind, message)),
        other => Err(crate::rpc::peer_client::unexpected(leader, &other)),
    }
}

async fn set_state(context: &NodeContext, node: NodeId, state: NodeState) -> Result<()> {
    let command = MetaCommand::SetNodeState { node, state };
    context.proposer().propose_meta(command, Purpose::Remove, write_deadline()).await?;
    tracing::info!(%node, ?state, "an operator changed the state of a node");
    Ok(())
}

pub(super) fn check_present(row: &NodeRow) -> Result<()> {
    match row.is_present() {
        true => Ok(()),
        false => Err(Error::invalid(format!("{} was removed from the installation already", row.name))),
    }
}

fn check_not_last(meta: &MetaState, id: NodeId, row: &NodeRow, done: &str) -> Result<()> {
    check_present(row)?;
    let others = meta.present_nodes().into_iter();
    let mut others = others.filter(|(other, of)| *other != id && of.is_active() && of.cluster == row.cluster);
    match others.next() {
        Some(_) => Ok(()),
        None => Err(Error::invalid(format!(
            "{} cannot be {done}: it is the last active node of the cluster {}",
            row.name, row.cluster
        ))),
    }
}

/// Whether each group that a node has a replica of has enough full copies without it.
pub(super) fn check_copies(seen: &Overview, name: &str, done: &str) -> Result<()> {
    let held = || seen.groups.iter().filter(|group| holds(seen, group, name));
    // until then a majority of each of two sets is needed
    if let Some(group) = held().find(|group| group.is_changing) {
        return Err(Error::invalid(format!(
            "{name} cannot be {done} yet: group {} is just changing its members; try again in a moment",
            group.id
        )));
    }
    let lacks = |group: &&GroupView| {
        let (have, need) = group.copies_without(name);
        have < need
    };
    let lacking: Vec<&GroupView> = held().filter(lacks).collect();
    let Some(first) = lacking.first() else { return check_led(held(), name) };
    let (have, need) = first.copies_without(name);
    let ids: Vec<String> = lacking.iter().take(NAMED_MAX).map(|group| group.id.to_string()).collect();
    let named = match lacking.len().saturating_sub(NAMED_MAX) {
        0 => format!("group {}", ids.join(", ")),
        more => format!("group {} and {more} more", ids.join(", ")),
    };
    Err(Error::invalid(format!(
        "{name} cannot be {done} yet: without it there are too few full copies of {} (of the first there are {have}, and {need} \
         are needed). Wait until the others have fetched theirs, or start those that are down: quorate cluster status \
         counts the copies. Force it only when the data is lost anyway",
        named
    )))
}

/// Whether all others that have groups of a node answer: one that is down would count among those that take over.
fn check_others_answer(seen: &Overview, name: &str) -> Result<()> {
    let is_down = |node: &NodeView| {
        !node.is_reachable
            && node.name != name
            && node.state == super::overview::state_text(NodeState::Active)
    };
    let held = seen.groups.iter().filter(|group| group.id != 0 && holds(seen, group, name));
    let groups: Vec<&GroupView> = held.collect();
    let shares = |node: &NodeView| groups.iter().any(|group| holds(seen, group, &node.name));
    match seen.nodes.iter().find(|node| is_down(node) && shares(node)) {
        Some(NodeView { name: silent, .. }) => Err(Error::invalid(format!(
            "{name} cannot be drained yet: {silent}, which has groups of it too, does not answer; start it, or remove it first"
        ))),
        None => Ok(()),
    }
}

/// Whether a node is a member of a group, or still has its files. Who the members are only a leader knows: without one, a node
/// of its cluster that does not answer may be among them.
fn holds(seen: &Overview, group: &GroupView, name: &str) -> bool {
    let has_files = group.replicas.iter().any(|replica| replica.node == name);
    let of_cluster = |node: &NodeView| group.cluster.as_ref().is_none_or(|cluster| *cluster == node.cluster);
    let silent = seen.nodes.iter().find(|node| node.name == name && !node.is_reachable);
    let may_hold = group.leader.is_none() && silent.is_some_and(of_cluster);
    has_files || may_hold || group.voters.iter().chain(&group.learners).any(|member| member == name)
}

/// What is known of a node. Errors: `Invalid` for one that was not there yet when all were asked, so that nothing is known.
fn find_seen<'o>(seen: &'o Overview, name: &str) -> Result<&'o NodeView> {
    seen.nodes.iter().find(|node| node.name == name).ok_or_else(|| {
        Error::invalid(format!(
            "{name} has just joined, and has not said yet what it holds; try again in a moment"
        ))
    })
}

/// Whether a node that does not answer has been silent for so long that no leader gives it a vote any more: one who votes and never
/// comes back may leave a group without a majority.
pub(super) fn check_gone(seen: &Overview, name: &str) -> Result<()> {
    match find_seen(seen, name)? {
        node if !node.is_reachable && node.silent_s < GONE_S => Err(Error::invalid(format!(
            "{name} does not answer, but was heard of {} s ago: groups that were about to give it a vote know after {GONE_S} s \
             that it is gone; try again then",
            node.silent_s
        ))),
        _ => Ok(()),
    }
}

/// Whether the groups that a node votes in go on without it, which ceases to take part for good: the others that vote and answer have
/// to be a majority. Otherwise nobody could take note that it is gone, and it would be refused when it comes back.
pub(super) fn check_majority(seen: &Overview, name: &str) -> Result<()> {
    let goes_on = |group: &&GroupView| {
        let answering = group.voters.iter().filter(|voter| *voter != name && is_reachable(seen, voter));
        2 * answering.count() > group.voters.len()
    };
    let votes = |group: &&GroupView| group.voters.iter().any(|voter| voter == name);
    let Some(group) = seen.groups.iter().filter(votes).find(|group| !goes_on(group)) else { return Ok(()) };
    let others = group.voters.iter().map(String::as_str).filter(|it| *it != name);
    let silent: Vec<&str> = others.clone().filter(|it| !is_reachable(seen, it)).collect();
    if !is_reachable(seen, name) && 2 * others.count() <= group.voters.len() {
        return Err(Error::invalid(format!(
            "{name} cannot be removed, not by force either: group {} has no majority without it, and never would again. Start it; \
             if its disk is lost for good, stop the others and let them go on without it by quorate cluster recover",
            group.id
        )));
    }
    let leaves = |name: &&str| {
        let is_present =
            |node: &NodeView| node.name == **name && node.state != overview::state_text(NodeState::Removed);
        !seen.nodes.iter().any(is_present)
    };
    let others = match silent.iter().find(|name| leaves(name)) {
        Some(leaving) => format!("{leaving} is just leaving it: try again in a moment"),
        None if silent.is_empty() => {
            "the others do not vote there yet: drain it, and wait until they do".to_owned()
        }
        None if is_reachable(seen, name) => {
            format!("{} does not answer: start it, or remove it first", silent.join(", "))
        }
        None => format!(
            "{} does not answer either: start one of them; if their disks are lost for good, stop the others and let them go on \
             without them by quorate cluster recover",
            silent.join(", ")
        ),
    };
    Err(Error::invalid(format!(
        "{name} cannot be removed, not by force either: without it group {} has no majority, for {others}",
        group.id
    )))
}

/// Whether all groups of a node have leaders, which alone know their members, and could take note that it is gone.
fn check_led<'g>(held: impl Iterator<Item = &'g GroupView>, name: &str) -> Result<()> {
    let unled: Vec<String> =
        held.filter(|group| group.leader.is_none()).map(|group| group.id.to_string()).collect();
    match unled.is_empty() {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "{name} is a member of groups without a leader ({}): start what is missing of them first, or go on without what is \
             lost for good by quorate cluster recover",
            unled.join(", ")
        ))),
    }
}

/// Groups that a refusal names.
const NAMED_MAX: usize = 8;

/// Whether the installation does without the node at once.
pub(super) fn check_dispensable(seen: &Overview, name: &str) -> Result<()> {
    let node = find_seen(seen, name)?;
    let held = seen.groups.iter().filter(|group| group.id != 0 && holds(seen, group, name));
    let held: Vec<&GroupView> = held.collect();
    if node.is_reachable && node.state == super::overview::state_text(NodeState::Active) {
        return Err(Error::invalid(format!(
            "{name} is alive and holds {} replicas: drain it first, or force its removal",
            held.len()
        )));
    }
    if node.is_reachable && !held.is_empty() {
        return Err(Error::invalid(format!(
            "{name} still holds {} replicas: wait until they have moved, or force its removal",
            held.len()
        )));
    }
    check_led(held.into_iter(), name)?;
    check_copies(seen, name, "taken out")
}

pub(super) fn is_reachable(seen: &Overview, name: &str) -> bool {
    seen.nodes.iter().any(|node: &NodeView| node.name == name && node.is_reachable)
}

#[cfg(test)]
#[path = "change_tests.rs"]
pub(super) mod tests;
