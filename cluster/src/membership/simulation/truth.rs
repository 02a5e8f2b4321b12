//! What must hold after every round, and what must come about when all faults end.

use super::replica::Replica;
use super::world::{GROUPS, World};
use quorate_model::{GroupId, NodeId};
use quorate_raft::CommittedEntry;
use quorate_raft::memory::State;

/// Virtual milliseconds within which everything comes to rest.
const SETTLE_MS: u64 = 300_000;

impl World {
    pub(super) fn check_applied(&mut self, group: GroupId, entry: &CommittedEntry, state: State) {
        let history = self.history.entry(group).or_default();
        match history.get(entry.index as usize - 1) {
            Some((truth, known)) => {
                assert_eq!(truth, entry, "members agree on every committed entry");
                assert_eq!(*known, state, "the state is a function of the log");
            }
            None => history.push((entry.clone(), state)),
        }
    }

    /// The two sets of members that a group lists, as the latest change on any disk has it; the second while one is half
    /// through.
    pub(super) fn listed(&self, group: GroupId) -> Vec<Vec<NodeId>> {
        self.listed_by(group, |_| true)
    }
    /// The same as the disks of some nodes have it.
    fn listed_by(&self, group: GroupId, counts: impl Fn(NodeId) -> bool) -> Vec<Vec<NodeId>> {
        let nodes = self.nodes.iter().filter(|(id, _)| counts(**id));
        let replicas = nodes.filter_map(|(_, node)| node.replicas.get(&group));
        let newest = replicas.filter_map(|it| it.disk.0.lock().stored().conf).max_by_key(|(since, _)| *since);
        let Some((_, conf)) = newest else { return vec![] };
        let ids = |members: &[u64]| members.iter().copied().map(NodeId).collect::<Vec<_>>();
        let sets = [ids(&conf.voters), ids(&conf.voters_outgoing)];
        sets.into_iter().filter(|set| !set.is_empty()).collect()
    }
    /// Whether a node has a full copy that can still be of use: who was removed never comes back.
    fn has_full_copy(&self, id: NodeId, group: GroupId) -> bool {
        let replica = self.nodes.get(&id).and_then(|node| node.replicas.get(&group));
        self.is_present(id) && replica.is_some_and(Replica::is_full_on_disk)
    }
    /// Whether a majority of those that each group lists has full copies, with everything that was committed, without a node.
    pub(super) fn does_without(&self, id: NodeId) -> bool {
        GROUPS.into_iter().all(|group| {
            let end = self.history.get(&group).map_or(0, |history| history.len() as u64);
            let is_new = |it: &NodeId| {
                self.has_full_copy(*it, group) && self.nodes[it].replicas[&group].last_on_disk() >= end
            };
            // without it, the others know of the members what their own disks say
            let listed = self.listed_by(group, |other| other != id);
            // a group of one that is about to give it the second vote could not go on without it, nor one that is to have two
            let wanted = self.meta.wanted(group);
            let is_small = wanted.contains(&id) && wanted.len() < 3 || listed.iter().any(|it| it.len() < 3);
            let is_needed = is_small && self.nodes[&id].replicas.contains_key(&group);
            // one that is not founded yet could only be founded by its founder
            !listed.is_empty()
                && !is_needed
                && listed.iter().all(|voters| {
                    let full = voters.iter().filter(|it| **it != id && is_new(it)).count();
                    full > voters.len() / 2
                })
        })
    }

    pub(super) fn check(&mut self) {
        self.note_full_voters();
        for group in GROUPS {
            for voters in self.listed(group) {
                let full = voters.iter().filter(|id| self.has_full_copy(**id, group)).count();
                // Nobody waits for a voter that went down while it fetched what it had to give up, and while it is down nobody knows
                // whether it ever comes back: the others go on as if it had what it had. One that never had everything as a voter is no
                // such exception, nor is a group whose only full copy is that of one member among several.
                let is_cut_off = |id: &&NodeId| {
                    let was_full = self.full_voters.contains(&(group, **id));
                    was_full
                        && self.is_present(**id)
                        && !self.nodes[id].is_up
                        && !self.has_full_copy(**id, group)
                };
                let cut_off = voters.iter().filter(is_cut_off).count().min(full.saturating_sub(1));
                assert!(
                    full + cut_off > voters.len() / 2,
                    "{} ms: group {group} lists {voters:?}, and {full} of them have full copies\n{}",
                    self.now,
                    self.describe()
                );
            }
            let Some((last, _)) = self.answered.get(&group).and_then(|it| it.last_key_value()) else {
                continue;
            };
            let ids = self.nodes.keys().filter(|id| self.has_full_copy(**id, group));
            let most = ids.map(|id| self.nodes[id].replicas[&group].last_on_disk()).max().unwrap_or(0);
            assert!(
                most >= *last,
                "{} ms: {last} of group {group} was answered, and full copies go through {most}\n{}",
                self.now,
                self.describe()
            );
        }
    }

    /// Notes which voters have had full copies since they have been voters.
    fn note_full_voters(&mut self) {
        for group in GROUPS {
            let voters: Vec<NodeId> = self.listed(group).concat();
            self.full_voters.retain(|(of, id)| *of != group || voters.contains(id));
            let full = voters.into_iter().filter(|id| self.has_full_copy(*id, group));
            let full: Vec<(GroupId, NodeId)> = full.map(|id| (group, id)).collect();
            self.full_voters.extend(full);
        }
    }

    /// Ends all faults, and sees that everything comes to the place where it is wanted, with everything that was answered.
    pub fn settle(&mut self) {
        self.is_rough = false;
        let unmounted: Vec<NodeId> = self
            .nodes
            .iter()
            .filter(|(id, node)| node.is_unmounted && !node.is_lost && self.is_present(**id))
            .map(|(id, _)| *id)
            .collect();
        for id in unmounted {
            let name = self.nodes[&id].name.clone();
            self.nodes.retain(|_, node| !(node.claims && node.name == name));
            self.start(id);
        }
        let down =
            self.nodes.iter().filter(|(id, node)| !node.is_up && !node.is_unmounted && self.is_present(**id));
        let down: Vec<NodeId> = down.map(|(id, _)| *id).collect();
        down.into_iter().for_each(|id| self.start(id));
        let end = self.now + SETTLE_MS;
        while !self.is_settled() {
            assert!(self.now < end, "it does not settle\n{}", self.describe());
            self.run(500);
            self.let_claimants_in();
            self.give_places();
            for group in GROUPS {
                let leader = self
                    .nodes
                    .iter()
                    .find(|(_, it)| it.is_up && it.replicas.get(&group).is_some_and(Replica::leads));
                if let Some(id) = leader.map(|(id, _)| *id) {
                    self.propose(id, group);
                }
            }
        }
        for (group, answered) in &self.answered {
            for (index, data) in answered {
                let (entry, _) = &self.history[group][*index as usize - 1];
                assert_eq!(&entry.data, data, "an answered entry was lost");
            }
        }
    }
    fn is_settled(&self) -> bool {
        GROUPS.into_iter().all(|group| {
            let wanted = self.meta.wanted(group);
            let mut members = self.listed(group);
            let Some(mut voters) = members.pop().filter(|_| members.is_empty()) else { return false };
            let mut heirs = crate::membership::leaving::heirs(&self.meta, group);
            voters.sort();
            heirs.sort();
            let answered =
                self.answered.get(&group).and_then(|it| it.last_key_value()).map_or(0, |(last, _)| *last);
            let is_full = |id: &NodeId| {
                let replica = self.nodes[id].replicas.get(&group);
                self.has_full_copy(*id, group)
                    && replica.is_some_and(|it| it.fetch.is_none() && it.state.index >= answered)
            };
            voters == heirs && wanted.iter().all(is_full)
        })
    }
    /// Where everything is, for the text of a failure.
    pub(super) fn describe(&self) -> String {
        let mut text = String::new();
        for (id, node) in &self.nodes {
            let state = self.meta.nodes.get(id).map(|row| row.state);
            text.push_str(&format!(
                "{id:?} {} {state:?} up {} unmounted {}\n",
                node.name, node.is_up, node.is_unmounted
            ));
            for (group, it) in &node.replicas {
                let full = self.has_full_copy(*id, *group);
                let status = it.core.as_ref().map(|core| (core.status(), core.membership()));
                text.push_str(&format!(
                    "  {group}: full {full} applied {} durable {} last {} fetch {:?} {status:?}\n",
                    it.state.index,
                    it.durable.index,
                    it.last_on_disk(),
                    it.fetch
                ));
            }
        }
        for group in GROUPS {
            text.push_str(&format!(
                "{group}: wanted {:?} listed {:?}\n",
                self.meta.wanted(group),
                self.listed(group)
            ));
        }
        text
    }
}
