//! What goes wrong, and what operators do, by chance.

use super::leases::all_members;
use super::{Event, World};
use crate::machine::GROUP;
use crate::mutant::Mutant;
use quorate_model::chance::Chance;
use quorate_raft::effects::Input;
use quorate_raft::leaving::leave;
use quorate_raft::memory::State;
use quorate_raft::{MemberChange, Role};

impl World {
    pub(super) fn disturb(&mut self) {
        self.at(250, Event::Disturb);
        let members: Vec<_> = self.machines.keys().copied().collect();
        let pick = |chance: &mut Chance| members[chance.below(members.len() as u64) as usize];
        let climate = self.climate;
        if self.chance.per_mille(climate.partition) {
            let (one, other) = (pick(&mut self.chance), pick(&mut self.chance));
            match self.chance.below(4) {
                0 => drop(self.cut.insert((one, other))),
                1 => self.isolate(one),
                _ => self.cut.clear(),
            }
        }
        if self.chance.per_mille(climate.disk_full) {
            let member = pick(&mut self.chance);
            let machine = self.machine(member);
            machine.disk_is_full = !machine.disk_is_full;
            let reason = machine.disk_is_full.then(|| "no space".to_owned());
            self.input(member, Input::Stalled(reason));
        }
        if self.chance.per_mille(climate.disk_slow) {
            let slowness = if self.chance.per_mille(500) { 20 } else { 1 };
            let member = pick(&mut self.chance);
            self.machine(member).slowness = slowness;
        }
        if self.chance.per_mille(climate.compact) {
            let member = pick(&mut self.chance);
            let machine = &self.machines[&member];
            let through = match self.is(Mutant::CutsTooMuch) {
                true => machine.state.index,
                false => machine.durable_state.index.saturating_sub(self.chance.below(20)),
            };
            self.input(member, Input::Compact(through));
        }
        if self.chance.per_mille(climate.stop) {
            let member =
                self.leader().filter(|_| self.chance.per_mille(500)).unwrap_or(pick(&mut self.chance));
            let ms = self.chance.between(200, 12_000);
            self.stop(member, ms);
        }
        if self.chance.per_mille(climate.transfer)
            && let Some(leader) = self.leader()
        {
            let to = pick(&mut self.chance);
            self.transfer(leader, to);
        }
        if self.chance.per_mille(climate.change_members)
            && let Some(leader) = self.leader()
        {
            let (one, other) = (pick(&mut self.chance), pick(&mut self.chance));
            let changes = self.chance_changes(one, other);
            match climate.polls {
                0 => self.change_members(leader, changes),
                _ => self.change_members_with_leases(leader, changes),
            }
        }
        if climate.change_members > 0 && self.chance.per_mille(100) {
            let member = pick(&mut self.chance);
            self.destroy_if_removed(member);
        }
    }

    fn transfer(&mut self, leader: u64, to: u64) {
        let machine = self.machine(leader);
        if machine.is_up() {
            machine.granter.hands_over();
            let life = machine.life;
            self.counts.transfers += 1;
            self.input(leader, Input::TransferLeader(to));
            self.at(2_000, Event::StayLeader { member: leader, life });
        }
    }

    /// Some change that leaves at least two of three or more voters.
    fn chance_changes(&mut self, one: u64, other: u64) -> Vec<MemberChange> {
        match self.chance.below(5) {
            0 => vec![MemberChange::AddVoter(one)],
            1 => vec![MemberChange::AddLearner(one)],
            _ if one == other => vec![MemberChange::AddVoter(one)],
            2 => vec![MemberChange::AddVoter(one), MemberChange::AddLearner(other)],
            _ => vec![MemberChange::AddVoter(one), MemberChange::Remove(other)],
        }
    }

    /// A node that sees that it was removed, and hears the same from a leader, gives its replica up; if it is added again,
    /// it begins from nothing but the term and vote it had. Its own log is not enough: those that stay may need its vote to
    /// learn of the removal.
    fn destroy_if_removed(&mut self, member: u64) {
        let machine = &self.machines[&member];
        let members = all_members(machine);
        let is_removed = !members.is_empty() && !members.contains(&member);
        let is_confirmed = self.machines.iter().any(|(other, machine)| {
            let leads = machine.is_up() && machine.core().status().role == Role::Leader;
            *other != member && leads && !all_members(machine).contains(&member)
        });
        if !machine.is_up() || !is_removed || !is_confirmed {
            return;
        }
        self.tell(|| format!("{member} leaves"));
        self.counts.removed += 1;
        self.crash(member);
        let machine = self.machine(member);
        let stored = machine.disk.0.lock().stored();
        let persist = leave(GROUP, &stored, &machine.disk).expect("the log can be read");
        machine.disk.0.lock().write(&persist);
        machine.voters.clear();
        machine.state = State::default();
        machine.durable_state = State::default();
        machine.shown = 0;
        machine.known = 0;
        let pause = self.chance.between(10, 2_000);
        self.at(pause, Event::Start(member));
    }
}
