//! What goes wrong, and what operators do, by chance.

use super::mutant::Mutant;
use super::world::{GROUPS, TAKE_OVER_S, World, joining};
use crate::command::MetaCommand;
use crate::command::NodeState;
use crate::membership::change::{Force, check_drain, check_removal};
use crate::membership::claims::stands_against;
use crate::membership::overview::Overview;
use crate::membership::replace::{Replacing, replacing};
use quorate_model::{NodeId, limits};

/// Nodes at most.
const NODES_MAX: usize = 6;
/// Virtual milliseconds for which a leader takes a member for live that is not.
const LIVE_MS: u64 = 5_000;
/// Groups of a cluster, which may all change when a node is replaced.
const GROUPS_OF_PLAN: u64 = limits::PLACEMENT_GROUPS as u64;

impl World {
    pub(super) fn disturb(&mut self) {
        let ids: Vec<NodeId> = self.nodes.keys().copied().collect();
        let pick = ids[self.chance.below(ids.len() as u64) as usize];
        match self.chance.below(400) {
            0..=4 if self.meta.present_nodes().len() < NODES_MAX && self.meta_lives() => self.add(),
            5..=6 => self.wish(pick, Wish::Drain),
            7 => self.wish(pick, Wish::Undrain),
            8..=13 => self.wish(pick, Wish::Remove),
            14..=16 => {
                let at = self.now + self.chance.between(100, 15_000);
                self.kill(pick, Some(at));
            }
            17 => self.unmount(pick),
            18 => self.lose(pick),
            19 => self.remount(pick),
            20..=24 => self.wish(pick, Wish::Replace),
            25..=26 => self.damage(pick),
            27..=34 => {
                let new = ids[self.chance.below(ids.len() as u64) as usize];
                self.wish(pick, Wish::ReplaceBy(new));
            }
            _ => {}
        }
        self.let_claimants_in();
    }
    fn add(&mut self) {
        let name = format!("n{}", self.next_node);
        let node = self.boot(&name);
        self.command(MetaCommand::AddNode { node, joining: joining(&name) });
    }
    /// Stops a node as kill -9 does; it starts again at a time, or not by itself.
    pub(super) fn kill(&mut self, id: NodeId, starts_at: Option<u64>) {
        let node = self.nodes.get_mut(&id).expect("known");
        if !node.is_up {
            return;
        }
        (node.is_up, node.starts_at) = (false, starts_at);
        node.replicas.values_mut().for_each(super::replica::Replica::crash);
    }
    pub(super) fn start_again(&mut self) {
        let now = self.now;
        let due = self.nodes.iter().filter(|(_, node)| node.starts_at.is_some_and(|at| at <= now));
        let due: Vec<NodeId> = due.map(|(id, _)| *id).collect();
        for id in due {
            self.start(id);
        }
    }
    pub(super) fn start(&mut self, id: NodeId) {
        let (seed, now) = (self.trace, self.now);
        let node = self.nodes.get_mut(&id).expect("known");
        (node.is_up, node.starts_at, node.is_unmounted, node.up_since) = (true, None, false, now);
        for group in GROUPS {
            let Some(replica) = self.replica(id, group) else { continue };
            let has_left = replica.disk.0.lock().stored().conf.is_none() && replica.founders.is_empty();
            if !has_left {
                replica.start(id, seed);
                replica.find_damage();
                self.mend(id, group);
                self.carry_out(id, group);
            }
        }
    }

    // Disks.

    /// A node starts where the disk of another one is not mounted: with its name and its address, and an empty folder.
    fn unmount(&mut self, id: NodeId) {
        if !self.is_present(id) || self.nodes[&id].is_unmounted || self.nodes[&id].claims {
            return;
        }
        self.kill(id, None);
        let name = self.nodes[&id].name.clone();
        let node = self.nodes.get_mut(&id).expect("known");
        (node.is_unmounted, node.starts_at) = (true, None);
        let claimant = self.boot(&name);
        self.nodes.get_mut(&claimant).expect("known").claims = true;
    }
    /// The disk is found; who ran in its place stops.
    fn remount(&mut self, id: NodeId) {
        if !self.nodes[&id].is_unmounted || self.nodes[&id].is_lost || !self.is_present(id) {
            return;
        }
        let name = self.nodes[&id].name.clone();
        self.nodes.retain(|_, node| !(node.claims && node.name == name));
        self.start(id);
    }
    /// A disk is lost for good: never one of those that a majority needs.
    fn lose(&mut self, id: NodeId) {
        if !self.is_present(id) || self.nodes[&id].claims || !self.does_without(id) {
            return;
        }
        if self.is_coming(id) && self.now < self.nodes[&id].heard + LIVE_MS {
            return;
        }
        if !self.nodes[&id].is_unmounted {
            self.unmount(id);
        }
        let node = self.nodes.get_mut(&id).expect("known");
        node.replicas.clear();
        node.is_lost = true;
        self.lost_at = Some(self.now);
    }

    /// Whether a leader may be giving a vote to a node just now, for what it has had so far.
    pub(super) fn is_coming(&self, id: NodeId) -> bool {
        GROUPS.into_iter().any(|group| {
            let listed = self.listed(group);
            self.meta.wanted(group).contains(&id) && !listed.iter().all(|voters| voters.contains(&id))
        })
    }

    // Operators, and nodes that want places.

    fn claim(&mut self, id: NodeId) {
        let joining = joining(&self.nodes[&id].name.clone());
        if !self.meta_lives() {
            return;
        }
        if self.meta.held_place(id, &joining).is_none() {
            // whoever had the name was removed
            self.command(MetaCommand::AddNode { node: id, joining });
            self.nodes.get_mut(&id).expect("known").claims = false;
            return;
        }
        let stands = stands_against(&self.overview(), &joining.name, TAKE_OVER_S);
        if stands.is_none() || self.is(Mutant::NameAndAddressSuffice) {
            self.take_place(id);
        }
    }
    /// Those who wait go on doing so when all faults have ended.
    pub(super) fn let_claimants_in(&mut self) {
        let claimants = self.nodes.iter().filter(|(_, node)| node.claims && node.is_up).map(|(id, _)| *id);
        let claimants: Vec<NodeId> = claimants.collect();
        claimants.into_iter().for_each(|id| self.claim(id));
    }
    /// An operator gives the places of lost disks away, as soon as that is allowed.
    pub(super) fn give_places(&mut self) {
        let lost = self.nodes.iter().filter(|(_, node)| node.is_lost).map(|(id, _)| *id);
        let lost: Vec<NodeId> = lost.collect();
        lost.into_iter().for_each(|id| self.wish(id, Wish::Replace));
    }
    fn take_place(&mut self, id: NodeId) {
        let joining = joining(&self.nodes[&id].name.clone());
        self.counts.taken += 1;
        self.command(MetaCommand::TakePlace { node: id, joining });
        self.nodes.get_mut(&id).expect("known").claims = false;
    }
    fn wish(&mut self, id: NodeId, wish: Wish) {
        // one change at a time; nor while nobody can know yet that a disk is lost
        let is_news = self.lost_at.is_some_and(|at| self.is_rough && self.now < at + LIVE_MS);
        if !self.meta_lives() || !self.is_present(id) || !self.proposals.is_empty() || is_news {
            return;
        }
        let id = match wish {
            Wish::Remove if self.is(Mutant::OverlooksWhoJustJoined) => self.newest(),
            _ => id,
        };
        let (mut seen, name) = (self.overview(), self.nodes[&id].name.clone());
        if self.mutant == Some(Mutant::ReplacesUnseen) && matches!(wish, Wish::Replace) {
            // nobody says who votes where
            seen.groups.clear();
        }
        let is_up = self.nodes[&id].is_up;
        let was_allowed = |seen: &Overview| check_removal(&self.meta, seen, &name, Force::No).is_ok();
        let seen = match (self.mutant, wish) {
            (Some(Mutant::ActsOnOldNews), Wish::Remove) => {
                self.old_overviews().find(was_allowed).unwrap_or(seen)
            }
            _ => seen,
        };
        let forces = match (self.mutant, wish) {
            (Some(Mutant::RemovesUnseen), Wish::Remove) => !is_up,
            (Some(Mutant::RemovesUndrained), Wish::Remove) => is_up,
            (Some(Mutant::ReplacesUnseen), Wish::Replace) => !is_up,
            (Some(Mutant::ReplacesByNameUnseen), Wish::ReplaceBy(_)) => true,
            (Some(Mutant::AsBefore), Wish::Remove | Wish::Replace) => !is_up,
            (Some(Mutant::OverlooksWhoJustJoined), _) => self.has_just_joined(id),
            _ => false,
        };
        let force = if forces { Force::Yes } else { Force::No };
        match wish {
            Wish::Drain => {
                if let Ok(node) = check_drain(&self.meta, &seen, &name) {
                    self.set_state(node, NodeState::Draining);
                }
            }
            Wish::Undrain => self.set_state(id, NodeState::Active),
            Wish::Remove => {
                if let Ok(node) = check_removal(&self.meta, &seen, &name, force) {
                    self.counts.removed += 1;
                    self.set_state(node, NodeState::Removed);
                }
            }
            Wish::Replace => self.replace(&seen, &name, None, force),
            Wish::ReplaceBy(new) => {
                let new = self.nodes[&new].name.clone();
                self.replace(&seen, &name, Some(&new), force);
            }
        }
    }
    /// The node that joined last.
    fn newest(&self) -> NodeId {
        let present = self.meta.present_nodes();
        present.iter().map(|(id, _)| *id).max().expect("the last node is not removed")
    }
    fn set_state(&mut self, node: NodeId, state: NodeState) {
        self.proposals.push_back(MetaCommand::SetNodeState { node, state });
    }
    fn replace(&mut self, seen: &Overview, old: &str, new: Option<&str>, force: Force) {
        match replacing(&self.meta, seen, old, new, force) {
            Ok(Replacing::Claimed(claim)) => self.take_place(claim.node),
            Ok(Replacing::Named(_, commands)) => {
                self.counts.named += 1;
                // whoever proposes it may die before the last one
                let end =
                    if self.is_rough { self.chance.below(2 * GROUPS_OF_PLAN) as usize } else { usize::MAX };
                self.proposals.extend(commands.into_iter().take(end));
            }
            Err(_) => {}
        }
    }
    /// Carries out what was decided longest ago.
    pub(super) fn propose_next(&mut self) {
        if let Some(command) = self.proposals.pop_front() {
            self.proposed_at = self.now;
            self.command(command);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Wish {
    Drain,
    Undrain,
    Remove,
    /// By an empty folder that waits, or by the node that came last.
    Replace,
    /// By a node that the operator names.
    ReplaceBy(NodeId),
}
