//! How the whole installation is: what the registry says of nodes and groups beside what the nodes say of themselves.

use super::name_of;
use super::report::{CopyReport, MemberRole, NodeReport, ReplicaReport};
use crate::command::NodeState;
use crate::context::actors::ActorReport;
use crate::context::claims::Claim;
use crate::context::traffic::QueryFigures;
use crate::meta::{MetaState, NodeRow};
use crate::peer::PeerStatus;
use quorate_model::{GroupId, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The installation as one node sees it. The answer of `GET /admin/cluster`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// The application id.
    pub app_id: String,
    /// The node that answers.
    pub answered_by: String,
    /// Level of the newest commands that are used: every node knows them.
    pub level: u16,
    /// Whether every group is where it is wanted, led, and every node reached.
    pub is_settled: bool,
    /// What is not as it should be, one sentence each.
    pub waits: Vec<String>,
    /// The nodes, in the order they joined.
    pub nodes: Vec<NodeView>,
    /// The groups, the meta group first.
    pub groups: Vec<GroupView>,
    /// Nodes with empty folders that wait for the places of others.
    #[serde(default)]
    pub claims: Vec<ClaimView>,
}

/// A node with an empty folder that has the name and the address of a node of the installation, and waits for its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimView {
    /// Whose place.
    pub name: String,
    /// The number of the one that waits, hexadecimal.
    pub id: String,
    /// Where its clients would find it.
    pub http_address: String,
    /// Level of the newest commands that it knows.
    pub level: u16,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    /// Its name.
    pub name: String,
    /// Its number, hexadecimal.
    pub id: String,
    /// Its cluster.
    pub cluster: String,
    /// `active`, `draining` or `removed`.
    pub state: String,
    /// Where other nodes find it.
    pub peer_address: String,
    /// Where clients find it.
    pub http_address: String,
    /// The meta log index of its joining.
    pub since: u64,
    /// Level of the newest commands that it knows.
    pub level: u16,
    /// Whether it answered.
    pub is_reachable: bool,
    /// Seconds for which no node that answered has heard of it.
    #[serde(default)]
    pub silent_s: u64,
    /// Why it did not.
    pub failure: Option<String>,
    /// The version of its program.
    pub version: Option<String>,
    /// Seconds since its start.
    pub up_seconds: Option<u64>,
    /// How far its clock is ahead of that of the node that answers.
    pub clock_ahead_ms: Option<i64>,
    /// Milliseconds of the last round trip to it.
    pub round_trip_ms: Option<f64>,
    /// Bytes of its log.
    pub log_bytes: Option<u64>,
    /// Free bytes of its disk.
    pub disk_free_bytes: Option<u64>,
    /// All bytes of its disk.
    pub disk_total_bytes: Option<u64>,
    /// What keeps it from reads.
    pub reads: Vec<String>,
    /// What keeps it from writes.
    pub writes: Vec<String>,
    /// What will keep it from one or the other if nothing is done.
    pub warnings: Vec<String>,
    /// Searches since its start.
    pub queries: QueryFigures,
    /// Panics since its start: defects that were contained, its log has them.
    #[serde(default)]
    pub panics: u64,
    /// How its actors are: of those that write the files of indices only the ones that something has long waited for.
    #[serde(default)]
    pub actors: Vec<ActorReport>,
    /// Replicas it has.
    pub replicas: usize,
    /// Groups it leads.
    pub leads: usize,
}

/// A group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupView {
    /// Its number; 0 is the meta group.
    pub id: u16,
    /// Its cluster; the meta group has none.
    pub cluster: Option<String>,
    /// The nodes that are to have it; the first of them should lead, except of the meta group.
    pub wanted: Vec<String>,
    /// The members that vote.
    pub voters: Vec<String>,
    /// The members that only follow.
    pub learners: Vec<String>,
    /// The leader.
    pub leader: Option<String>,
    /// The leader's term.
    pub term: u64,
    /// Its replicas on the nodes that answered.
    pub replicas: Vec<ReplicaView>,
    /// How many of them are full: the whole state, durable, with nothing on its way.
    #[serde(default)]
    pub full_copies: usize,
    /// Whether a change of its members is half through.
    #[serde(default)]
    pub is_changing: bool,
    /// The members that lack something that is committed, as far as the leader knows.
    #[serde(default)]
    pub behind: Vec<String>,
    /// What it waits for; `None` when it is as it should be.
    pub waits: Option<String>,
}

/// A replica of a group on a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaView {
    /// The node.
    pub node: String,
    /// `leader`, `follower`, `candidate` or `learner`.
    pub role: String,
    /// First and last index of its log.
    pub log_first: u64,
    /// Last index of its log.
    pub log_last: u64,
    /// Through where it knows entries to be committed.
    pub committed: u64,
    /// Through where it has applied.
    pub applied: u64,
    /// Through where its reads see everything.
    pub shown: u64,
    /// Entries that the leader has committed and its reads do not see yet.
    pub lag: u64,
    /// Whether it may serve reads.
    pub has_lease: bool,
    /// Why it applies nothing more; `None` while it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
    /// `full`, or `fetching` while part of the state is on its way or known not to be what it should be.
    #[serde(default)]
    pub copy: String,
}

/// The word for a full copy.
const FULL: &str = "full";

impl GroupView {
    /// Whether a node holds the whole state of the group, as it says itself.
    pub fn has_full_copy(&self, node: &str) -> bool {
        self.replicas.iter().any(|replica| replica.node == node && replica.copy == FULL)
    }
    /// How many of those that vote beside a node hold full copies, and how many must before it may go: a majority of all that
    /// vote, for without one the group could not even take note that the node is gone. A copy that lacks
    /// something that is committed does not count: without the node that has it, it may have to give up what it has for a snapshot.
    /// Of one whose log ends before that of another voter begins that is known without a leader, too.
    pub fn copies_without(&self, node: &str) -> (usize, usize) {
        let of_voters = || self.replicas.iter().filter(|replica| self.voters.contains(&replica.node));
        let begins = of_voters().map(|replica| replica.log_first).max().unwrap_or(0);
        let is_behind = |it: &ReplicaView| it.log_last + 1 < begins || self.behind.contains(&it.node);
        let stays = |it: &&ReplicaView| it.node != node && it.copy == FULL && !is_behind(it);
        (of_voters().filter(stays).count(), self.voters.len() / 2 + 1)
    }
}

type Reports = BTreeMap<NodeId, Result<NodeReport, String>>;

/// Puts together what is known.
pub fn assemble(meta: &MetaState, self_id: NodeId, reports: &Reports, peers: &[PeerStatus]) -> Overview {
    let groups: Vec<GroupView> = std::iter::once(GroupId::META)
        .chain(meta.placement.keys().copied())
        .map(|group| group_view(meta, group, reports))
        .collect();
    let present = meta.present_nodes();
    let nodes: Vec<NodeView> = present
        .iter()
        .map(|(id, row)| NodeView {
            leads: groups.iter().filter(|group| group.leader.as_ref() == Some(&row.name)).count(),
            silent_s: silent_s(*id, reports),
            ..node_view(*id, row, reports.get(id), peers.iter().find(|peer| peer.node == *id))
        })
        .collect();
    let mut waits: Vec<String> = vec![];
    for node in &nodes {
        if let Some(failure) = &node.failure {
            waits.push(format!("{}: {failure}", node.name));
        }
        if node.state == state_text(NodeState::Draining) {
            let name = &node.name;
            let held = match node.is_reachable {
                true => node.replicas.saturating_sub(1),
                // only the leaders of groups know who their members are
                false => groups.iter().filter(|group| group.may_have(node)).count(),
            };
            waits.push(match (held, node.is_reachable) {
                (0, _) => format!("{name} is drained and can be removed"),
                (held, true) => format!("{name} still holds {held} replicas"),
                (held, false) => format!("{name} is to leave {held} groups, and does not answer"),
            });
        }
    }
    for (id, report) in reports {
        let findings = report.iter().flat_map(|report| &report.findings);
        waits.extend(findings.map(|it| format!("{}, group {}: {}", name_of(meta, *id), it.group, it.what)));
    }
    let claims = claims(reports);
    waits.extend(claims.iter().map(|claim| {
        let name = &claim.name;
        format!(
            "{name}: a node with its name and its address and an empty folder waits for its place; mount its disk, or give the \
             place away with `quorate cluster replace {name}`"
        )
    }));
    waits.extend(
        groups.iter().filter_map(|group| Some(format!("group {}: {}", group.id, group.waits.as_ref()?))),
    );
    Overview {
        level: meta.level(),
        app_id: meta.installation.as_ref().map_or_else(String::new, |it| it.app_id.clone()),
        answered_by: name_of(meta, self_id),
        is_settled: waits.is_empty(),
        waits,
        nodes,
        groups,
        claims,
    }
}

impl GroupView {
    /// Whether a node is a member of this placement group, or may be one for all that is known.
    fn may_have(&self, node: &NodeView) -> bool {
        let is_unknown = self.leader.is_none() && self.cluster.as_ref() == Some(&node.cluster);
        let mut members = self.voters.iter().chain(&self.learners);
        self.id != GroupId::META.0 && (is_unknown || members.any(|member| *member == node.name))
    }
}

/// For how long nobody who answers has heard of a node; 0 of one that answers.
fn silent_s(id: NodeId, reports: &Reports) -> u64 {
    if reports.get(&id).is_some_and(Result::is_ok) {
        return 0;
    }
    let heard = reports.values().filter_map(|report| report.as_ref().ok()?.silent_s.get(&id));
    heard.copied().min().unwrap_or(0)
}

/// Who waits for the place of another, each once.
fn claims(reports: &Reports) -> Vec<ClaimView> {
    let heard = reports.values().filter_map(|report| report.as_ref().ok()).flat_map(|report| &report.claims);
    let by_node: BTreeMap<NodeId, &Claim> = heard.map(|claim| (claim.node, claim)).collect();
    let view = |claim: &Claim| ClaimView {
        name: claim.joining.name.clone(),
        id: claim.node.to_string(),
        http_address: claim.joining.http.clone(),
        level: claim.joining.level,
    };
    by_node.into_values().map(view).collect()
}

impl Overview {
    /// Whether every node takes reads and writes.
    pub fn takes_all_calls(&self) -> bool {
        self.nodes.iter().all(|node| node.reads.is_empty() && node.writes.is_empty())
    }
    /// Which groups cannot take writes because their majority is gone, and what to do about it; plain text.
    pub fn recovery_plan(&self) -> String {
        let unled: Vec<&GroupView> = self.groups.iter().filter(|group| group.leader.is_none()).collect();
        if unled.is_empty() {
            return "every group has a leader: there is nothing to recover".to_owned();
        }
        let mut text = String::from("these groups have no leader among the nodes that can be reached:\n");
        for group in &unled {
            let missing: Vec<&str> = group
                .voters
                .iter()
                .filter(|voter| !group.replicas.iter().any(|replica| replica.node == **voter))
                .map(String::as_str)
                .collect();
            let most = group.replicas.iter().max_by_key(|it| (it.log_last, it.committed));
            let survivor = match most {
                Some(it) => format!("{} has most of it (log through {})", it.node, it.log_last),
                None => "no replica of it can be reached".to_owned(),
            };
            let missing = if missing.is_empty() { "none".to_owned() } else { missing.join(", ") };
            text.push_str(&format!("  group {}: voters out of reach: {missing}; {survivor}\n", group.id));
        }
        text.push_str(RECOVERY_STEPS);
        text
    }
}

/// What an operator does when a majority is lost for good.
const RECOVERY_STEPS: &str = "Start the missing nodes again if you can: nothing is lost then. If they are gone for good, \
stop all that are left and run `quorate cluster recover --data-dir DATA_DIR` on one of them: it prints what can be lost, and \
how to go on with that node alone or with all that are left";

/// The word for a state.
pub fn state_text(state: NodeState) -> &'static str {
    match state {
        NodeState::Active => "active",
        NodeState::Draining => "draining",
        NodeState::Removed => "removed",
    }
}

fn node_view(
    id: NodeId,
    row: &NodeRow,
    report: Option<&Result<NodeReport, String>>,
    peer: Option<&PeerStatus>,
) -> NodeView {
    let NodeRow { name, cluster, peer: peer_address, http, state, level, since } = row.clone();
    let (said, failure) = match report {
        Some(Ok(report)) => (Some(report), None),
        Some(Err(failure)) => (None, Some(failure.clone())),
        None => (None, Some("it was not asked".to_owned())),
    };
    NodeView {
        name,
        id: id.to_string(),
        cluster,
        state: state_text(state).to_owned(),
        peer_address,
        http_address: http,
        since,
        level,
        is_reachable: said.is_some(),
        silent_s: 0,
        failure,
        version: said.map(|it| it.version.clone()),
        up_seconds: said.map(|it| it.up_s),
        clock_ahead_ms: peer.and_then(|it| it.clock_ahead_ms),
        round_trip_ms: peer.and_then(|it| it.round_trip).map(|it| it.as_micros() as f64 / 1_000.0),
        log_bytes: said.map(|it| it.log_bytes),
        disk_free_bytes: said.map(|it| it.disk_free_bytes),
        disk_total_bytes: said.map(|it| it.disk_total_bytes),
        reads: said.map(|it| it.reads.clone()).unwrap_or_default(),
        writes: said.map(|it| it.writes.clone()).unwrap_or_default(),
        warnings: said.map(|it| it.warnings.clone()).unwrap_or_default(),
        queries: said.map(|it| it.queries.clone()).unwrap_or_default(),
        panics: said.map_or(0, |it| it.panics),
        actors: said.map(|it| [&it.consensus[..], &it.actors].concat()).unwrap_or_default(),
        replicas: said.map_or(0, |it| it.replicas.len()),
        leads: 0,
    }
}

fn group_view(meta: &MetaState, group: GroupId, reports: &Reports) -> GroupView {
    let of_group = |report: &NodeReport| report.replicas.iter().find(|it| it.group == group).cloned();
    let replicas: Vec<(NodeId, ReplicaReport)> =
        reports.iter().filter_map(|(id, report)| Some((*id, of_group(report.as_ref().ok()?)?))).collect();
    let leader =
        replicas.iter().filter(|(_, it)| it.role == MemberRole::Leader).max_by_key(|(_, it)| it.term);
    // without a leader the one that has heard most of the group
    let members = leader.or_else(|| replicas.iter().max_by_key(|(_, it)| (it.term, it.committed)));
    let names = |ids: &[NodeId]| ids.iter().map(|&id| name_of(meta, id)).collect::<Vec<_>>();
    let sorted = |ids: &[NodeId]| {
        let mut names = names(ids);
        names.sort();
        names
    };
    let committed = leader.or(members).map_or(0, |(_, it)| it.committed);
    let wanted = meta.wanted(group);
    let view = |(id, it): &(NodeId, ReplicaReport)| ReplicaView {
        node: name_of(meta, *id),
        role: role_text(*id, it, members.map(|(_, it)| it)).to_owned(),
        log_first: it.first,
        log_last: it.last,
        committed: it.committed,
        applied: it.applied,
        shown: it.shown,
        lag: committed.saturating_sub(it.shown),
        has_lease: it.has_lease,
        halted: it.halted.clone(),
        copy: if it.is_full() { FULL } else { "fetching" }.to_owned(),
    };
    GroupView {
        id: group.0,
        cluster: meta.cluster_of(group).map(str::to_owned),
        wanted: names(&wanted),
        voters: members.map(|(_, it)| sorted(&it.voters)).unwrap_or_default(),
        learners: members.map(|(_, it)| sorted(&it.learners)).unwrap_or_default(),
        leader: leader.map(|(id, _)| name_of(meta, *id)),
        term: members.map_or(0, |(_, it)| it.term),
        replicas: replicas.iter().map(view).collect(),
        full_copies: replicas.iter().filter(|(_, it)| it.is_full()).count(),
        is_changing: members.is_some_and(|(_, it)| it.is_changing),
        behind: leader.map(|(_, it)| names(&it.behind)).unwrap_or_default(),
        waits: halted(meta, group, reports)
            .or_else(|| waits(meta, group, &wanted, leader))
            .or_else(|| waits_for_replica(meta, group, &wanted, reports)),
    }
}

fn role_text(id: NodeId, replica: &ReplicaReport, members: Option<&ReplicaReport>) -> &'static str {
    match replica.role {
        MemberRole::Leader => "leader",
        MemberRole::Candidate => "candidate",
        MemberRole::Follower if members.is_some_and(|it| it.voters.contains(&id)) => "follower",
        MemberRole::Follower => "learner",
    }
}

/// A node on which the group stands still.
fn halted(meta: &MetaState, group: GroupId, reports: &Reports) -> Option<String> {
    reports.iter().find_map(|(id, report)| {
        let replica = report.as_ref().ok()?.replicas.iter().find(|it| it.group == group)?;
        let reason = replica.halted.as_ref()?;
        Some(format!("it stands still on {}: {reason}", name_of(meta, *id)))
    })
}

/// What a group lacks to be as it is wanted.
fn waits(
    meta: &MetaState,
    group: GroupId,
    wanted: &[NodeId],
    leader: Option<&(NodeId, ReplicaReport)>,
) -> Option<String> {
    let Some((id, it)) = leader else { return Some("no leader".to_owned()) };
    if it.is_changing {
        return Some("a change of its members is half through".to_owned());
    }
    let members: BTreeSet<NodeId> = it.voters.iter().chain(&it.learners).copied().collect();
    if let Some(new) = wanted.iter().find(|node| !members.contains(node)) {
        return Some(format!("{} is to become a member", name_of(meta, *new)));
    }
    if let Some(old) = members.iter().find(|node| !wanted.contains(node)) {
        return Some(format!("{} is to leave", name_of(meta, *old)));
    }
    let voters = wanted.iter().take(meta.wanted_voters(group));
    if let Some(voter) = voters.into_iter().find(|node| !it.voters.contains(node)) {
        return Some(format!("{} is to vote, and is catching up", name_of(meta, *voter)));
    }
    let should_lead = wanted.first().filter(|first| group != GroupId::META && *first != id)?;
    Some(format!("{} should lead", name_of(meta, *should_lead)))
}

/// The node that answers and whose replica cannot be read yet.
fn waits_for_replica(
    meta: &MetaState,
    group: GroupId,
    wanted: &[NodeId],
    reports: &Reports,
) -> Option<String> {
    wanted.iter().find_map(|id| {
        let report = reports.get(id)?.as_ref().ok()?;
        match report.replicas.iter().find(|it| it.group == group) {
            Some(replica) if replica.copy == Some(CopyReport::Fetching) => {
                let why = match report.findings.iter().any(|it| it.group == group) {
                    true => "it does not hold what it should",
                    false => "it is being fetched",
                };
                Some(format!("{} has no full copy yet: {why}", name_of(meta, *id)))
            }
            Some(replica) if replica.has_lease => None,
            Some(_) => Some(format!("{} cannot be read at present", name_of(meta, *id))),
            None => Some(format!("{} is to get a replica", name_of(meta, *id))),
        }
    })
}

#[cfg(test)]
#[path = "overview_tests.rs"]
mod tests;
