//! What must come about when all faults end.

use super::leases::all_members;
use super::{Climate, World};
use crate::machine::Machine;
use quorate_raft::effects::Input;

/// More removals of one member than are proposed in a run.
const PROPOSALS_MAX: u32 = 1_000;

impl World {
    /// Ends all faults, starts everyone, and sees that everything comes to the same end.
    pub fn settle(&mut self) {
        let polls = self.climate.polls;
        self.climate = Climate { polls, ..Climate::CALM };
        self.cut.clear();
        let members: Vec<_> = self.machines.keys().copied().collect();
        for member in members {
            let machine = self.machine(member);
            machine.slowness = 1;
            if std::mem::take(&mut machine.disk_is_full) {
                self.input(member, Input::Stalled(None));
            }
            self.go_on(member);
            self.start(member);
        }
        self.is_busy = false;
        self.run_until("a leader that everyone follows", 120_000, World::is_settled);
        let before = self.history.len();
        // A leader that is handing its leadership over takes none.
        for _ in 0..60 {
            if self.history.len() < before + 3
                && let Some(leader) = self.leader()
            {
                self.propose(leader, 3);
                self.run(1_000);
            }
        }
        self.run_until("a last write", 1_000, |world| world.history.len() >= before + 3);
        self.run_until("everyone at the same place", 60_000, World::is_settled);
        for (index, payload) in &self.acknowledged {
            let (entry, _) = &self.history[*index as usize - 1];
            assert_eq!(&entry.data, payload, "an answered entry was lost");
        }
        if polls > 0 {
            self.settle_leases();
        }
    }

    /// Whoever is a member gets a lease, and what was written last is published.
    fn settle_leases(&mut self) {
        let leader = self.leader().expect("settled with a leader");
        let machine = self.machine(leader);
        // Nothing in the log can remove anyone any more.
        machine.removing = None;
        for member in all_members(machine) {
            (0..PROPOSALS_MAX).for_each(|_| machine.granter.removal_refused(member));
            machine.granter.keep(member);
        }
        let all_read = |world: &World| {
            all_members(&world.machines[&leader]).into_iter().all(|member| world.may_read(member))
        };
        self.run_until("everyone may read", 20_000, all_read);
        let last = self.acknowledged.keys().next_back().copied().unwrap_or(0);
        for _ in 0..100 {
            self.poll(leader);
            self.run(100);
            if self.published >= last {
                return;
            }
        }
        panic!("the last write is not published\n{}", self.describe());
    }

    /// Whether the leader's members have all applied the same, everything.
    fn is_settled(&self) -> bool {
        let Some(leader) = self.leader() else { return false };
        let core = self.machines[&leader].core();
        let conf = core.members();
        if !conf.voters_outgoing.is_empty() {
            return false;
        }
        let status = core.status();
        let mut members = conf.voters.iter().chain(&conf.learners);
        members.all(|id| {
            let machine: &Machine = &self.machines[id];
            let follows = machine.core.as_ref().is_some_and(|core| core.status().leader == Some(leader));
            follows
                && machine.state.index == status.last_index
                && machine.state.index == self.history.len() as u64
        })
    }
}
