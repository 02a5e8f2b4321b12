//! What becomes of a replica whose files are damaged: it is found, handed over, taken anew, tried again.

use super::mutant::Mutant;
use super::replica::{Fetch, Replica};
use super::world::{GROUPS, Node, PIECES_MAX, World};
use quorate_model::{GroupId, NodeId};
use quorate_raft::StateCopy;
use quorate_raft::effects::Input;
use quorate_raft::memory::State;

/// Rounds of a thousand in which a state that is taken anew is given up.
const VAIN_PER_MILLE: u64 = 20;
/// Virtual milliseconds between two tries.
const RETRY_MS: u64 = 2_000;

impl World {
    /// Something of a group rots on a disk, never on one that a majority needs, and is found.
    pub(super) fn damage(&mut self, id: NodeId) {
        let group = GROUPS[self.chance.between(1, GROUPS.len() as u64 - 1) as usize];
        let is_coming = self.is_coming(id);
        if !self.is_present(id) || !self.nodes[&id].is_up || is_coming || !self.does_without(id) {
            return;
        }
        let Some(replica) = self.replica(id, group) else { return };
        if replica.is_full_on_disk() && replica.fetch.is_none() {
            (replica.is_damaged, replica.is_condemned, replica.tried) = (true, true, None);
            let leads = replica.leads();
            self.counts.damaged += 1;
            self.counts.damaged_leaders += u64::from(leads);
            self.mend(id, group);
        }
    }
    /// Whether a replica says that it could lead.
    pub(super) fn may_lead(&self, id: NodeId, group: GroupId) -> bool {
        let replica = self.nodes.get(&id).and_then(|node| node.replicas.get(&group));
        replica.is_some_and(|it| !it.is_condemned)
    }
    /// Hands a group that this node cannot lead to one that can, if there is one.
    pub(super) fn give_to_able(&mut self, id: NodeId, group: GroupId) {
        let Some(core) = self.replica(id, group).and_then(|replica| replica.core.as_ref()) else { return };
        let members = core.membership();
        let able = members.followers.iter().find(|it| {
            it.is_live
                && members.voters.contains(&it.member)
                && it.copy != StateCopy::Fetching
                && self.may_lead(NodeId(it.member), group)
        });
        if let Some(able) = able.map(|it| it.member) {
            self.input(id, group, Input::TransferLeader(able));
        }
    }

    /// Has a damaged state taken anew, again and again, as long as somebody holds a right one; a leader goes first.
    pub(super) fn mend(&mut self, id: NodeId, group: GroupId) {
        let now = self.now;
        let Some(replica) = self.replica(id, group) else { return };
        let is_early = replica.tried.is_some_and(|at| now < at + RETRY_MS);
        if !replica.is_condemned || replica.fetch.is_some() || replica.core.is_none() || is_early {
            return;
        }
        let voters = replica.core.as_ref().map(|core| core.membership().voters);
        let hands_over = replica.leads() && voters.is_some_and(|voters| voters != [id.0]);
        let says_full = |(other, node): (&NodeId, &Node)| {
            let said = node.replicas.get(&group).and_then(Replica::report);
            *other != id && node.is_up && self.is_present(*other) && said.is_some_and(|it| it.is_full())
        };
        if !self.nodes.iter().any(says_full) {
            self.replica(id, group).expect("it runs").tried = Some(now);
            return self.input(id, group, Input::Trust);
        }
        match hands_over {
            true => {
                self.input(id, group, Input::Distrust);
                self.give_to_able(id, group);
            }
            false => self.take_anew(id, group),
        }
    }
    fn take_anew(&mut self, id: NodeId, group: GroupId) {
        let left = self.chance.between(1, PIECES_MAX);
        let replica = self.replica(id, group).expect("it runs");
        let index = replica.state.index;
        replica.fetch = Some(Fetch { index, from: None, coming: State::default(), left, is_anew: true });
        self.input(id, group, Input::Distrust);
    }
    /// A state that is taken anew does not come for so long that the group goes on with what it has. Returns whether that is so.
    pub(super) fn gives_up(&mut self, id: NodeId, group: GroupId, fetch: Fetch) -> bool {
        if !fetch.is_anew || !self.is_rough || !self.chance.per_mille(VAIN_PER_MILLE) {
            return false;
        }
        let (now, trusts) = (self.now, self.is(Mutant::TrustsAgainAfterAFailedFetch));
        let replica = self.replica(id, group).expect("it runs");
        (replica.fetch, replica.tried) = (None, Some(now));
        let waiting = Vec::from(std::mem::take(&mut replica.waiting));
        if trusts {
            replica.is_condemned = false;
        }
        self.counts.vain += 1;
        self.apply(id, group, &waiting);
        if trusts {
            self.input(id, group, Input::Trust);
        }
        true
    }
}

impl Replica {
    /// A start finds what is damaged again.
    pub(super) fn find_damage(&mut self) {
        (self.is_condemned, self.tried) = (self.is_damaged, None);
    }
}
