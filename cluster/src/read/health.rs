//! Whether this node can serve reads and take writes now, and what stands against it.

use crate::context::NodeContext;
use crate::context::abreast;
use crate::disk::Purpose;
use crate::groups::Group;
use crate::meta::MetaState;
use crate::peer::{self, CLOCK_AHEAD_MS, PeerStatus};
use crate::read;
use quorate_model::{GroupId, NodeId, limits};
use quorate_raft::Role;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::time::Duration;

/// Whether this node can do its work, and why not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Reasons against reads; empty = ready.
    pub reads: Vec<String>,
    /// Reasons against writes; empty = ready.
    pub writes: Vec<String>,
    /// What will stand against them if nothing is done.
    pub warnings: Vec<String>,
}

/// A node that was silent for longer counts as out of reach; those that live are heard several times a second.
const SILENCE: Duration = Duration::from_secs(3);
/// Groups that a reason names; more are counted.
const NAMED: usize = 4;

/// How this node is. Cost: a look at each group.
pub fn of(context: &NodeContext) -> Health {
    let mut health = Health::default();
    let meta = context.meta();
    let local = context.groups().all();
    if meta.installation.is_none() {
        let reason = "the node waits for the others to tell it of the installation";
        health.reads.push(reason.into());
        health.writes.push(reason.into());
    }
    let removed = peer::removed(context.self_id());
    let says_so = |peer: PeerStatus| peer.failure.is_some_and(|failure| failure.contains(&removed));
    if context.peers().status().into_iter().any(says_so) {
        let reason = "this node was removed from the installation: stop it; with an empty data folder it can join again";
        health.reads.push(reason.into());
        health.writes.push(reason.into());
    }
    match context.disk().admit(Purpose::Add) {
        Ok(()) => health.warnings.extend(context.disk().warning()),
        Err(error) => health.writes.push(error.message),
    }
    match context.node().failing_shards() {
        0 => {}
        count => {
            health.warnings.push(format!("{count} indices cannot write what was applied, and try again"))
        }
    }
    if context.node().store_has_failed() {
        let consequence = "changes are kept in memory; start the node anew when its disk has room";
        health.warnings.push(format!("the metadata store of this node has failed: {consequence}"));
    }
    for group in &local {
        if let Some(reason) = group.halt.reason() {
            let reason = format!("group {} stands still: {reason}", group.id);
            health.reads.push(reason.clone());
            health.writes.push(reason);
        }
    }
    for (group, reason) in context.groups().failed() {
        let reason = format!("group {group} stands still: {reason}");
        health.reads.push(reason.clone());
        health.writes.push(reason);
    }
    let unled = context.readiness().unled_for(SILENCE).into_iter();
    health.warnings.extend(named(unled, "without a leader on any node that answers"));
    health.warnings.extend(apart(context, &meta));
    for finding in context.integrity().findings() {
        health.warnings.push(format!("group {}: {}", finding.group, finding.what));
    }
    if abreast::is_behind(context) {
        health.reads.push("this node may lack what others have decided: its disk is full".to_owned());
    }
    let behind =
        local.iter().filter(|group| group.status().unapplied_bytes > limits::UNAPPLIED_BYTES_MAX as u64);
    health.writes.extend(named(behind.map(|group| group.id), "behind with the log"));
    let reachable = reachable(context);
    let groups = Groups { context, meta: &meta, reachable: &reachable };
    health.reads.extend(groups.against_reads());
    health.writes.extend(groups.against_writes(&local));
    health.warnings.extend(groups.of_others());
    let full = full_elsewhere(context, &local);
    match full.is_empty() {
        true => health.warnings.extend(full_warning(context)),
        false => health.writes.extend(full),
    }
    health
}

/// The groups that take no writes because too many of their voters have no room, with those that are not this node.
fn full_elsewhere(context: &NodeContext, local: &[std::sync::Arc<Group>]) -> Vec<String> {
    let mut short = BTreeMap::<String, Vec<GroupId>>::new();
    for group in local {
        if let Some(full) = context.disk().without_majority(&group.raft.membership().voters, Purpose::Add) {
            short.entry(full).or_default().push(group.id);
        }
    }
    let text = |(full, groups): (String, Vec<GroupId>)| {
        named(groups.into_iter(), &format!("without a majority that has room: {full}"))
    };
    short.into_iter().filter_map(text).collect()
}
/// Says which other nodes have no room, while that stops nobody.
fn full_warning(context: &NodeContext) -> Option<String> {
    let full = context.disk().full_elsewhere();
    (!full.is_empty()).then(|| format!("disk is almost full on {}", full.join(", ")))
}

/// Says whose clocks are apart from that of this node.
fn apart(context: &NodeContext, meta: &MetaState) -> Option<String> {
    let apart = |peer: &PeerStatus| {
        let ahead_ms = peer.clock_ahead_ms.filter(|ahead_ms| ahead_ms.unsigned_abs() > CLOCK_AHEAD_MS)?;
        let name = &meta.nodes.get(&peer.node).filter(|row| row.is_present())?.name;
        let side = if ahead_ms > 0 { "ahead of" } else { "behind" };
        Some(format!("that of {name} is {} s {side} it", ahead_ms.unsigned_abs() / 1_000))
    };
    let apart: Vec<String> = context.peers().status().iter().filter_map(apart).collect();
    let consequence = "keys and rules begin and end at other times there";
    (!apart.is_empty())
        .then(|| format!("the clock of this node is not that of others: {}; {consequence}", apart.join(", ")))
}

/// The other nodes that can be reached.
fn reachable(context: &NodeContext) -> BTreeSet<NodeId> {
    let peers = context.peers().status();
    let is_heard = |heard: Option<Duration>| heard.is_some_and(|ago| ago <= SILENCE);
    peers.into_iter().filter(|peer| is_heard(peer.last_heard)).map(|peer| peer.node).collect()
}

struct Groups<'a> {
    context: &'a NodeContext,
    meta: &'a MetaState,
    reachable: &'a BTreeSet<NodeId>,
}

impl Groups<'_> {
    /// The groups of the cluster of this node; all of them as long as nobody knows the node.
    fn placement(&self) -> Vec<GroupId> {
        let placed = self.meta.placement.keys().copied();
        match self.meta.nodes.get(&self.context.self_id()) {
            Some(row) => {
                let own = self.meta.groups_of(&row.cluster);
                placed.filter(|group| own.contains(group)).collect()
            }
            None => placed.collect(),
        }
    }
    /// What others lack does not stand against a node that serves its own.
    fn of_others(&self) -> Vec<String> {
        let own = self.meta.nodes.get(&self.context.self_id()).map(|row| &row.cluster);
        let others = self.meta.clusters.keys().filter(|name| Some(*name) != own);
        let out_of_reach = |name: &String| {
            let groups = self.meta.groups_of(name).into_iter();
            let placed = groups.filter(|group| self.meta.placement.contains_key(group));
            let lost = placed.filter(|&group| !self.is_readable(group) && !self.is_elsewhere(group));
            named(lost, &format!("out of reach, of the cluster {name}"))
        };
        others.filter_map(out_of_reach).collect()
    }
    fn is_readable(&self, group: GroupId) -> bool {
        read::is_readable(self.context, group)
    }
    fn is_elsewhere(&self, group: GroupId) -> bool {
        self.meta.wanted(group).iter().any(|node| self.reachable.contains(node))
    }
    /// A node that has just started serves when it has everything it should have, later also what others have for it.
    fn against_reads(&self) -> Vec<String> {
        let unreadable: Vec<GroupId> =
            self.placement().into_iter().filter(|&group| !self.is_readable(group)).collect();
        let mut reasons = vec![];
        if !self.context.readiness().has_caught_up() {
            let own = unreadable.iter().copied().filter(|&group| self.is_wanted_here(group));
            match named(own, "not up to date here yet") {
                Some(reason) => reasons.push(reason),
                None => self.context.readiness().note_caught_up(),
            }
        }
        let nowhere = unreadable.into_iter().filter(|&group| !self.is_elsewhere(group));
        reasons.extend(named(nowhere, "out of reach for reads"));
        reasons
    }
    fn is_wanted_here(&self, group: GroupId) -> bool {
        let self_id = self.context.self_id();
        // one that is leaving still serves what it votes in: others may not have it yet
        let votes = |it: &std::sync::Arc<Group>| it.raft.membership().voters.contains(&self_id.0);
        self.meta.wanted(group).contains(&self_id)
            || self.context.groups().get(group).as_ref().is_some_and(votes)
    }
    fn against_writes(&self, local: &[std::sync::Arc<Group>]) -> Vec<String> {
        // who only follows never campaigns, and goes on to name a leader that is gone
        let has_leader = |group: &Group| {
            let status = group.status();
            let is_heard = |leader: u64| self.reachable.contains(&NodeId(leader));
            status.role == Role::Leader || status.leader.is_some_and(is_heard)
        };
        // nobody tells one that was a member and keeps its files who leads
        let self_id = self.context.self_id().0;
        let takes_part = |group: &&std::sync::Arc<Group>| {
            let members = group.raft.membership();
            members.voters.contains(&self_id) || members.learners.contains(&self_id)
        };
        let member: Vec<_> = local.iter().filter(takes_part).collect();
        let without = member.iter().filter(|group| !has_leader(group)).map(|group| group.id);
        let mut reasons: Vec<String> = named(without, "without a leader").into_iter().collect();
        let is_local = |id: GroupId| member.iter().any(|group| group.id == id);
        let placed = self.placement().into_iter();
        let remote = placed.filter(|&group| !is_local(group) && !self.is_elsewhere(group));
        reasons.extend(named(remote, "out of reach for writes"));
        reasons
    }
}

/// `groups 1, 2 and 5 more are so`; `None` without any.
fn named(groups: impl Iterator<Item = GroupId>, are: &str) -> Option<String> {
    let groups: Vec<String> = groups.map(|group| group.to_string()).collect();
    let mut text = match groups.len() {
        0 => return None,
        1 => return Some(format!("group {} is {are}", groups[0])),
        _ => format!("groups {}", groups[..groups.len().min(NAMED)].join(", ")),
    };
    if groups.len() > NAMED {
        write!(text, " and {} more", groups.len() - NAMED).expect("writing to a string");
    }
    Some(format!("{text} are {are}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_named_up_to_a_few() {
        let text = |count: u16| named((1..=count).map(GroupId), "without a leader");
        assert_eq!(text(0), None);
        assert_eq!(text(1).as_deref(), Some("group 1 is without a leader"));
        assert_eq!(text(2).as_deref(), Some("groups 1, 2 are without a leader"));
        assert_eq!(text(16).as_deref(), Some("groups 1, 2, 3, 4 and 12 more are without a leader"));
    }
}
