//! What a recovery does, worked out from what each survivor has: the same on every node that is shown the same surveys.

use quorate_model::{Error, GroupId, NodeId, Result};
use quorate_raft::recovery::Survey;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Why a survivor has part of a group only that was being given its state.
pub(super) const STATE_ON_ITS_WAY: &str = "its state was on its way from another node";
/// Names of lost indices that are printed.
const NAMED_MAX: usize = 20;

/// What a stopped node has: its copy of every group, and what it knows of the installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSurvey {
    /// The application id.
    pub app_id: String,
    /// Its number.
    pub node: NodeId,
    /// The nodes that were not removed, as far as it knows.
    pub nodes: BTreeMap<NodeId, KnownNode>,
    /// The placement groups of each cluster, as far as it knows.
    pub clusters: BTreeMap<String, Vec<GroupId>>,
    /// Its replicas.
    pub replicas: BTreeMap<GroupId, Survey>,
    /// Groups that it has left and not yet removed all of.
    pub leftovers: BTreeSet<GroupId>,
    /// Groups of which it has part only, and why: files are damaged, or still on their way.
    #[serde(default)]
    pub partial: BTreeMap<GroupId, String>,
}

/// A node as others know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownNode {
    /// Its name.
    pub name: String,
    /// Its cluster.
    pub cluster: String,
}

/// How a group goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Future {
    /// With the log of this node, where others that have a replica follow it.
    With {
        /// The node.
        leader: NodeId,
        /// What its log says.
        survey: Survey,
    },
    /// Without what it held: no survivor has a replica. This node makes it anew.
    Empty {
        /// The node.
        founder: NodeId,
    },
    /// Not at all: its whole cluster is lost.
    Lost,
}

/// What a recovery would do.
#[derive(Clone, Debug)]
pub struct RecoveryPlan {
    /// The application id, which confirms the plan.
    pub app_id: String,
    /// The survivors' names.
    pub survivors: Vec<String>,
    /// All others: they are removed for good.
    pub removed: BTreeMap<NodeId, String>,
    /// What becomes of each group, the meta group first.
    pub groups: BTreeMap<GroupId, Future>,
    /// The indices whose groups are made anew, as far as the node that prints the plan knows them.
    pub lost_indices: Vec<String>,
    /// Survivors that have part of a group only, and why.
    partial: Vec<(GroupId, NodeId, String)>,
    names: BTreeMap<NodeId, String>,
}

impl RecoveryPlan {
    /// What survivors with these surveys do together.
    ///
    /// Errors: they are not of one installation, or two are of one node; none has a whole meta group, or one has half of it;
    /// there is nothing to recover.
    pub fn of(surveys: &[NodeSurvey]) -> Result<RecoveryPlan> {
        let by_node: BTreeMap<NodeId, &NodeSurvey> = surveys.iter().map(|it| (it.node, it)).collect();
        if by_node.len() < surveys.len() {
            return Err(Error::invalid("two of the surveys are of the same node"));
        }
        let Some((_, Future::With { leader, .. })) = with_most(&by_node, GroupId::META) else {
            return Err(Error::invalid(
                "no survivor has a whole meta group: without it nothing is known of the indices and the keys",
            ));
        };
        let known = by_node[&leader];
        if let Some(other) = surveys.iter().find(|it| it.app_id != known.app_id) {
            let (one, two) = (&known.app_id, &other.app_id);
            return Err(Error::invalid(format!("the surveys are of two installations, {one} and {two}")));
        }
        let mut names: BTreeMap<NodeId, String> = BTreeMap::new();
        for survey in surveys {
            names.extend(survey.nodes.iter().map(|(id, node)| (*id, node.name.clone())));
        }
        let name = |id: &NodeId| names.get(id).cloned().unwrap_or_else(|| id.to_string());
        let is_half =
            |it: &&NodeSurvey| it.replicas.get(&GroupId::META).is_some_and(|meta| meta.is_restoring);
        if let Some(half) = surveys.iter().find(is_half) {
            return Err(Error::invalid(format!(
                "{} was taking over the state of the meta group when it stopped: go on without its survey, and let it join \
                 anew with an empty folder",
                name(&half.node)
            )));
        }
        let removed: BTreeMap<NodeId, String> =
            known.nodes.keys().filter(|id| !by_node.contains_key(id)).map(|id| (*id, name(id))).collect();
        let mut survivors: Vec<String> = by_node.keys().map(name).collect();
        survivors.sort();
        let mut groups = BTreeMap::new();
        let mut founded: BTreeMap<NodeId, usize> = BTreeMap::new();
        let of_clusters = known
            .clusters
            .iter()
            .flat_map(|(cluster, groups)| groups.iter().map(|it| (*it, cluster.as_str())));
        for (group, cluster) in std::iter::once((GroupId::META, "")).chain(of_clusters) {
            let (group, future) = match with_most(&by_node, group) {
                Some(found) => found,
                None => (group, anew(&by_node, group, cluster, &mut founded)),
            };
            groups.insert(group, future);
        }
        let is_alone = |future: &Future| match future {
            Future::With { leader, survey } => survey.voters == [leader.0] && survey.learners.is_empty(),
            Future::Empty { .. } | Future::Lost => false,
        };
        if surveys.len() == 1 && removed.is_empty() && groups.values().all(is_alone) {
            return Err(Error::invalid(
                "this node is the only one of its installation: there is nothing to recover",
            ));
        }
        Ok(RecoveryPlan {
            app_id: known.app_id.clone(),
            survivors,
            removed,
            groups,
            lost_indices: vec![],
            partial: partial(&by_node),
            names,
        })
    }

    /// The groups that no survivor has anything of and that are made anew.
    pub fn emptied(&self) -> impl Iterator<Item = (GroupId, NodeId)> {
        self.groups.iter().filter_map(|(group, future)| match future {
            Future::Empty { founder } => Some((*group, *founder)),
            Future::With { .. } | Future::Lost => None,
        })
    }

    /// The plan for people: what would be done, and what can be lost.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} would go on as {} of {}; {} would be removed for good.\n\n\
             Do this only when the majority is lost for good. If the others can be started again, start them: nothing is\n\
             lost then. If more nodes are left that can be read, let them take part, all of them stopped: write what each has\n\
             to a file with --write-survey FILE, bring the files together, and give the same ones, as --survey FILE, to this\n\
             command on every survivor. Each group goes on with the longest log among them, but not with that of a node whose files\n\
             of it are damaged or still on their way, unless nobody else has all that is known to be committed.\n\n",
            self.survivors.join(", "),
            if self.survivors.len() == 1 { "the only node" } else { "the nodes" },
            self.app_id,
            if self.removed.is_empty() { "nobody".to_owned() } else { listed(self.removed.values()) },
        );
        let name = |id: &NodeId| self.names.get(id).cloned().unwrap_or_else(|| id.to_string());
        row(&mut text, ["group", "goes on with", "term", "committed", "last index", "voters"]);
        for (group, future) in &self.groups {
            let of = if *group == GroupId::META { "meta".to_owned() } else { group.to_string() };
            match future {
                Future::With { leader, survey: Survey { voters, term, committed, last, .. } } => {
                    let [term, committed, last] = [term, committed, last].map(u64::to_string);
                    row(&mut text, [&of, &name(leader), &term, &committed, &last, &voters.len().to_string()]);
                }
                Future::Empty { founder } => {
                    row(&mut text, [&of, &format!("{}, empty", name(founder)), "-", "-", "-", "-"]);
                }
                Future::Lost => row(&mut text, [&of, "nobody", "-", "-", "-", "-"]),
            }
        }
        text.push_str(
            "\nWhat can be lost: every write that the others had and no survivor had. Such writes were answered, and may have\n\
             been published: nothing here shows which they are. Clients that wait for their tasks may be told that they are\n\
             published, or that they are not, for ever.\n\
             What can appear: writes at the end of a log above that were never answered.\n\
             What must never happen again: a start of one of the others with the folder it has.\n",
        );
        let emptied: Vec<String> = self.emptied().map(|(group, _)| group.to_string()).collect();
        if !emptied.is_empty() {
            writeln!(
                text,
                "\nNo survivor has a replica of group {}. What is in there is lost: {}.",
                listed(&emptied),
                listed(&self.lost_indices)
            )
            .expect("writing to a string");
        }
        self.tell_partial(&mut text, name);
        if self.groups.values().any(|future| *future == Future::Lost) {
            text.push_str(
                "\nGroups that go on with nobody are of a cluster that has no node left: their indices stay out of reach.\n",
            );
        }
        text
    }
    /// Who has part of a group only, and whether it goes on with that all the same.
    fn tell_partial(&self, text: &mut String, name: impl Fn(&NodeId) -> String) {
        for (group, node, why) in &self.partial {
            let leads = matches!(self.groups.get(group), Some(Future::With { leader, .. }) if leader == node);
            let so = match leads {
                true => {
                    "group goes on with it all the same, because no other survivor has all that is known to be committed"
                }
                false => "group does not go on with it",
            };
            writeln!(text, "\n{} has part of group {group} only ({why}): the {so}.", name(node))
                .expect("writing to a string");
        }
    }
}

fn row<T: AsRef<str>>(text: &mut String, [group, leader, term, committed, last, voters]: [T; 6]) {
    let [group, leader, term, committed, last, voters] =
        [&group, &leader, &term, &committed, &last, &voters].map(AsRef::as_ref);
    writeln!(text, "{group:<6} {leader:<20} {term:>10} {committed:>12} {last:>12} {voters:>8}")
        .expect("writing to a string");
}

/// Names with commas between them, not too many.
fn listed<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<T> = names.into_iter().collect();
    let shown: Vec<&str> = names.iter().take(NAMED_MAX).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(NAMED_MAX) {
        0 if shown.is_empty() => "nothing".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The replica whose log is the most advanced.
fn most<'a>(of: &[(NodeId, &'a Survey)]) -> Option<(NodeId, &'a Survey)> {
    of.iter().copied().max_by_key(|(node, it)| (it.advance(), *node))
}

/// The survivor whose log of a group is the most advanced, among those that have all of the group. One that has part of it only is
/// chosen when none of these has what it knows to be committed: files can be made good, what no log has cannot.
fn with_most(surveys: &BTreeMap<NodeId, &NodeSurvey>, group: GroupId) -> Option<(GroupId, Future)> {
    let replicas = surveys.iter().filter_map(|(node, survey)| Some((*node, survey.replicas.get(&group)?)));
    let able = replicas.filter(|(_, it)| !it.is_restoring);
    let (part, whole): (Vec<_>, Vec<_>) =
        able.partition(|(node, _)| surveys[node].partial.contains_key(&group));
    // of logs whose last entries are of one term, one is the beginning of the other
    let has_committed = |whole: &Survey, of: &Survey| whole.advance() >= (of.last_term, of.committed);
    let chosen = most(&whole).filter(|(_, it)| part.iter().all(|(_, of)| has_committed(it, of)));
    let (leader, survey) = chosen.or_else(|| most(&[whole, part].concat()))?;
    Some((group, Future::With { leader, survey: survey.clone() }))
}

/// Who has part of a group only, and why.
fn partial(surveys: &BTreeMap<NodeId, &NodeSurvey>) -> Vec<(GroupId, NodeId, String)> {
    let mut partial = vec![];
    for (node, survey) in surveys {
        let restoring = survey.replicas.iter().filter(|(_, it)| it.is_restoring);
        let on_the_way = restoring.map(|(group, _)| (*group, *node, STATE_ON_ITS_WAY.to_owned()));
        partial.extend(on_the_way);
        let others = survey
            .partial
            .iter()
            .filter(|(group, _)| survey.replicas.get(group).is_some_and(|it| !it.is_restoring));
        partial.extend(others.map(|(group, why)| (*group, *node, why.clone())));
    }
    partial.sort();
    partial
}

/// Who makes a group anew: the survivor of its cluster that makes the fewest.
fn anew(
    surveys: &BTreeMap<NodeId, &NodeSurvey>,
    group: GroupId,
    cluster: &str,
    founded: &mut BTreeMap<NodeId, usize>,
) -> Future {
    let is_able = |(node, survey): &(&NodeId, &&NodeSurvey)| {
        survey.nodes.get(node).is_some_and(|it| it.cluster == cluster) && !survey.leftovers.contains(&group)
    };
    let able = surveys.iter().filter(is_able).map(|(node, _)| *node);
    match able.min_by_key(|node| (founded.get(node).copied().unwrap_or(0), *node)) {
        Some(founder) => {
            *founded.entry(founder).or_default() += 1;
            Future::Empty { founder }
        }
        None => Future::Lost,
    }
}

#[cfg(test)]
mod tests;
