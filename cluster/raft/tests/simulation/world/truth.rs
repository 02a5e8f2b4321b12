//! What must hold after every step, whatever happened.

use super::{Event, World};
use crate::machine::Machine;
use crate::mutant::Mutant;
use quorate_raft::effects::Input;
use quorate_raft::memory::State;
use quorate_raft::{CommittedEntry, Leadership, Role, SnapshotImage};

impl World {
    pub(super) fn apply(&mut self, member: u64, entries: &[CommittedEntry]) {
        for entry in entries {
            if self.snapshots_are_gone && entry.index <= self.machines[&member].state.index {
                // It has continued from a later state than the snapshot's.
                continue;
            }
            let is_doubled = self.is(Mutant::AppliesTwice) && self.chance.per_mille(2);
            let machine = self.machine(member);
            machine.state.apply(entry);
            if is_doubled {
                machine.state.take_in(entry);
            }
            let state = machine.state;
            self.check_applied(entry, state);
        }
        let is_durable = self.chance.per_mille(200);
        let delay = self.chance.between(0, self.climate.show_ms_max);
        let machine = self.machine(member);
        if is_durable {
            machine.durable_state = machine.state;
        }
        let (life, digest) = (machine.life, machine.state.digest);
        self.at(delay, Event::Show { member, life });
        self.note(digest);
    }

    fn check_applied(&mut self, entry: &CommittedEntry, state: State) {
        match self.history.get(entry.index as usize - 1) {
            Some((truth, known)) => {
                assert_eq!(truth, entry, "members agree on every committed entry");
                assert_eq!(*known, state, "the state is a function of the log");
            }
            None => {
                assert!(!self.refused.contains(&entry.data), "a refused proposal was committed: {entry:?}");
                if let Some(payload) = self.acknowledged.get(&entry.index) {
                    assert_eq!(payload, &entry.data, "an answered entry was lost");
                }
                self.history.push((entry.clone(), state));
            }
        }
    }

    pub(super) fn restore(&mut self, member: u64, image: &SnapshotImage) {
        self.counts.restores += 1;
        let state = State::from_image(image);
        let truth = self.history[state.index as usize - 1].1;
        assert_eq!(state, truth, "a snapshot shows the common history");
        if self.snapshots_are_gone {
            let life = self.machines[&member].life;
            return self.at(50, Event::Renew { member, life, index: state.index });
        }
        let machine = self.machine(member);
        machine.state = state;
        machine.durable_state = state;
        machine.shown = machine.shown.max(state.index);
    }

    /// Continues from another member's state, once this member's log holds everything up to it.
    pub(super) fn renew(&mut self, member: u64, life: u64, index: u64) {
        let others = self.machines.values().filter(|machine| machine.id != member);
        let newest =
            others.map(|machine| machine.state).max_by_key(|state| state.index).expect("several members");
        let machine = self.machine(member);
        let Some(core) = &machine.core else { return };
        if newest.index < index || core.status().durable < newest.index {
            return self.at(50, Event::Renew { member, life, index });
        }
        machine.state = newest;
        machine.durable_state = newest;
        machine.shown = machine.shown.max(newest.index);
        self.counts.renewals += 1;
        self.input(member, Input::Applied(newest.index));
    }

    pub(super) fn leadership(&mut self, member: u64, leadership: Leadership) {
        self.note(leadership.term << 4 | member);
        self.tell(|| format!("{member}: {leadership:?}"));
        if leadership.role == Role::Leader {
            let leader = *self.leaders.entry(leadership.term).or_insert(member);
            assert_eq!(leader, member, "two leaders in term {}", leadership.term);
        }
        self.note_leadership(member, leadership);
    }

    /// Any read that this member would serve now must show what anyone was told is published, and nothing older than
    /// what a read here has shown before.
    pub(super) fn look_at_reads(&mut self, member: u64) {
        if !self.machines[&member].is_up() || !self.may_read(member) {
            return;
        }
        self.counts.reads += 1;
        let published = self.published;
        let machine = self.machine(member);
        assert!(
            machine.shown >= published,
            "member {member} reads at {}, behind what is published: {published}",
            machine.shown
        );
        assert!(
            machine.shown >= machine.served,
            "member {member} reads at {}, and has read at {} before",
            machine.shown,
            machine.served
        );
        machine.served = machine.shown;
    }

    pub(super) fn note(&mut self, value: u64) {
        self.trace = (self.trace ^ value ^ self.now).wrapping_mul(0x0100_0000_01b3);
    }

    /// The leader of the highest term that runs.
    pub fn leader(&self) -> Option<u64> {
        let running = self.machines.values().filter_map(|m| Some((m.core.as_ref()?.status(), m.id)));
        running
            .filter(|(status, _)| status.role == Role::Leader)
            .max_by_key(|(status, _)| status.term)
            .map(|(_, id)| id)
    }

    /// Where every member is, for the text of a failure.
    pub(super) fn describe(&self) -> String {
        let describe = |machine: &Machine| match &machine.core {
            None => format!("{}: down\n", machine.id),
            Some(core) => format!(
                "{}: applied {} shown {} {:?} {:?} {:?}\n",
                machine.id,
                machine.state.index,
                machine.shown,
                core.status(),
                core.members(),
                machine.holder.leases(),
            ),
        };
        self.machines.values().map(describe).collect()
    }
}
