//! What goes wrong, and what operators do, by chance.

use super::mutant::Mutant;
use super::world::{GROUPS, TAKE_OVER_S, World, joining};
use crate::command::MetaCommand;
use crate::command::NodeState;
use crate::membership::change::{check_copies, check_dispensable, check_gone, check_not_last};
use crate::membership::claims::stands_against;
use quorate_model::NodeId;

/// Nodes at most.
const NODES_MAX: usize = 6;
/// Virtual milliseconds for which a leader takes a member for live that is not.
const LIVE_MS: u64 = 5_000;

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
        let seed = self.trace;
        let node = self.nodes.get_mut(&id).expect("known");
        (node.is_up, node.starts_at, node.is_unmounted) = (true, None, false);
        for group in GROUPS {
            let Some(replica) = self.replica(id, group) else { continue };
            let has_left = replica.disk.0.lock().stored().conf.is_none() && replica.founders.is_empty();
            if !has_left {
                let is_damaged = replica.is_damaged;
                replica.start(id, seed);
                if is_damaged {
                    // a start finds it again
                    self.take_anew(id, group);
                }
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
    }

    /// Whether a leader may be giving a vote to a node just now, for what it has had so far.
    fn is_coming(&self, id: NodeId) -> bool {
        GROUPS.into_iter().any(|group| {
            let listed = self.listed(group);
            self.meta.wanted(group).contains(&id) && !listed.iter().all(|voters| voters.contains(&id))
        })
    }
    /// Something of a group rots on a disk, never on one that a majority needs, and is found. A leader hands the group over.
    fn damage(&mut self, id: NodeId) {
        let group = GROUPS[self.chance.below(GROUPS.len() as u64) as usize];
        let is_coming = self.is_coming(id);
        let of_group = |it: &Self| {
            let replica = it.nodes[&id].replicas.get(&group)?;
            Some((replica.is_full_on_disk() && replica.fetch.is_none(), replica.leads()))
        };
        if !self.is_present(id) || !self.nodes[&id].is_up || is_coming || !self.does_without(id) {
            return;
        }
        if of_group(self) == Some((true, false)) {
            self.counts.damaged += 1;
            self.replica(id, group).expect("it runs").is_damaged = true;
            self.take_anew(id, group);
        }
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
        let old = self.meta.namesake(id, &joining.name).map(|(old, _)| old);
        self.meta_voters.retain(|voter| Some(*voter) != old);
        self.command(MetaCommand::TakePlace { node: id, joining });
        self.nodes.get_mut(&id).expect("known").claims = false;
    }
    fn wish(&mut self, id: NodeId, wish: Wish) {
        if !self.meta_lives() || !self.is_present(id) {
            return;
        }
        let (seen, row) = (self.overview(), self.meta.nodes[&id].clone());
        let is_up = self.nodes[&id].is_up;
        let removes = match self.mutant {
            Some(Mutant::RemovesUnseen | Mutant::AsBefore) => !is_up,
            Some(Mutant::RemovesUndrained) => is_up,
            _ => false,
        };
        let replaces = self.is(Mutant::ReplacesUnseen) || self.is(Mutant::AsBefore);
        let state = match wish {
            Wish::Drain if check_not_last(&self.meta, id, &row, "drained").is_ok() => {
                let may = is_up || check_copies(&seen, &row.name, "drained").is_ok();
                may.then_some(NodeState::Draining)
            }
            Wish::Undrain => Some(NodeState::Active),
            // whoever unmounted a disk knows that it is not lost: nobody removes such a node in the meantime
            Wish::Remove if check_not_last(&self.meta, id, &row, "removed").is_ok() => {
                let is_gone = check_gone(&seen, &row.name).is_ok();
                let may = is_gone && check_dispensable(&seen, &row.name).is_ok() || removes;
                may.then_some(NodeState::Removed)
            }
            Wish::Replace => {
                let mut waits = self.nodes.iter().filter(|(_, node)| node.claims && node.name == row.name);
                let claimant = waits.next().map(|(id, _)| *id);
                if let Some(claimant) = claimant
                    && !is_up
                    && (check_gone(&seen, &row.name).is_ok()
                        && check_copies(&seen, &row.name, "replaced").is_ok()
                        || replaces)
                {
                    self.take_place(claimant);
                }
                None
            }
            Wish::Drain | Wish::Remove => None,
        };
        let state = state.filter(|state| *state != NodeState::Removed || self.meta_does_without(id));
        if let Some(state) = state {
            if state == NodeState::Removed {
                self.counts.removed += 1;
                self.meta_voters.retain(|voter| *voter != id);
            }
            self.command(MetaCommand::SetNodeState { node: id, state });
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Wish {
    Drain,
    Undrain,
    Remove,
    Replace,
}
