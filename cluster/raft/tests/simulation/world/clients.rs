//! What clients do, and what the answers they get must mean.

use super::{Event, World};
use crate::machine::Removing;
use crate::mutant::Mutant;
use bytes::Bytes;
use quorate_raft::effects::Input;
use quorate_raft::lease::{AskId, Removal};
use quorate_raft::{Committed, Confirmed, MemberChange, MembersError, ProposeError, Role};

/// Ticks a change of members may take.
const CHANGE_TICKS: u64 = 200;

/// Whoever waits for an answer.
pub(super) enum Waiting {
    Proposal(Vec<Bytes>),
    Read { at_least: u64 },
    Grant { member: u64, ask: AskId },
    Change(Vec<MemberChange>),
}

impl World {
    pub(super) fn client(&mut self) {
        if !self.is_busy {
            return;
        }
        let pause = self.chance.between(5, self.climate.client_ms_max);
        self.at(pause, Event::Client);
        // Mostly where a leader is, sometimes anywhere.
        let members: Vec<_> = self.machines.keys().copied().collect();
        let mut target = members[self.chance.below(members.len() as u64) as usize];
        if !self.chance.per_mille(200)
            && let Some(leader) = self.leader()
        {
            target = leader;
        }
        if self.chance.per_mille(self.climate.polls) {
            // Everyone who believes to lead answers, deposed ones too.
            let leads = |id: &u64| {
                let machine = &self.machines[id];
                machine.is_up() && machine.core().status().role == Role::Leader
            };
            let leaders: Vec<_> = members.iter().copied().filter(leads).collect();
            leaders.into_iter().for_each(|leader| self.poll(leader));
        }
        if !self.machines[&target].is_up() {
            return;
        }
        if self.chance.per_mille(150) {
            self.read(target);
        } else {
            let parts = self.chance.between(1, 4);
            self.propose(target, parts);
        }
    }

    pub(super) fn request(&mut self, member: u64, waiting: Waiting) -> u64 {
        self.next_request += 1;
        self.waiting.insert((member, self.next_request), waiting);
        self.next_request
    }

    pub fn propose(&mut self, member: u64, parts: u64) {
        let mut data = vec![];
        for _ in 0..parts {
            self.next_payload += 1;
            data.push(Bytes::from(format!("payload {}", self.next_payload)));
        }
        let id = self.request(member, Waiting::Proposal(data.clone()));
        let within_ticks = self.chance.between(5, 60);
        self.input(member, Input::Propose { id, data, within_ticks });
        if self.is(Mutant::AnswersBeforeCommit)
            && let Some(status) = self.machines[&member].core.as_ref().map(|core| core.status())
            && status.role == Role::Leader
        {
            let (last, term) = (status.last_index, status.term);
            self.proposed(member, id, Ok(Committed { first: last + 1 - parts, last, term }));
        }
    }

    fn read(&mut self, member: u64) {
        let at_least = self.acknowledged.keys().next_back().copied().unwrap_or(0);
        let id = self.request(member, Waiting::Read { at_least });
        let input = match self.chance.per_mille(300) {
            true => Input::ConfirmLeader { id, within_ticks: 30 },
            false => Input::ReadBarrier { id, within_ticks: 30 },
        };
        self.input(member, input);
    }

    pub(super) fn barrier(&mut self, member: u64, id: u64, found: Option<u64>) {
        if let Some(Waiting::Read { at_least }) = self.waiting.remove(&(member, id))
            && let Some(index) = found
        {
            assert!(index >= at_least, "a read at {index} misses what was answered before: {at_least}");
        }
    }

    pub(super) fn leader_confirmed(&mut self, leader: u64, id: u64, found: Option<Confirmed>) {
        if let Some(confirmed) = found {
            assert_eq!(self.leaders.get(&confirmed.term), Some(&leader), "it leads in this term");
        }
        match (self.waiting.remove(&(leader, id)), found) {
            (Some(Waiting::Read { at_least }), Some(Confirmed { log_index, .. })) => {
                assert!(log_index >= at_least, "a confirmation at {log_index} misses an answer: {at_least}");
            }
            (Some(Waiting::Grant { member, ask }), Some(confirmed)) => {
                self.grant(leader, member, ask, confirmed);
            }
            _ => {}
        }
    }

    pub(super) fn proposed(&mut self, member: u64, id: u64, result: Result<Committed, ProposeError>) {
        let Some(Waiting::Proposal(data)) = self.waiting.remove(&(member, id)) else { return };
        self.counts.answers += 1;
        match result {
            Ok(Committed { first, last, term }) => {
                assert_eq!(last - first + 1, data.len() as u64);
                for (index, payload) in (first..).zip(data) {
                    if let Some((entry, _)) = self.history.get(index as usize - 1) {
                        assert_eq!(
                            (&entry.data, entry.term),
                            (&payload, term),
                            "answered, but something else is there"
                        );
                    }
                    self.acknowledged.insert(index, payload);
                }
            }
            Err(error) if !error.outcome_is_unknown() => self.refused.extend(data),
            Err(_) => {}
        }
    }

    // Changes of members.

    pub fn change_members(&mut self, member: u64, changes: Vec<MemberChange>) {
        let id = self.request(member, Waiting::Change(changes.clone()));
        let within_ticks = CHANGE_TICKS;
        self.input(member, Input::ChangeMembers { id, changes, context: Bytes::new(), within_ticks });
    }

    /// Changes members, as soon as those who are removed read no more.
    pub(super) fn change_members_with_leases(&mut self, leader: u64, changes: Vec<MemberChange>) {
        let give_up_at = self.now + 10_000;
        let machine = self.machine(leader);
        if machine.is_up() && machine.removing.is_none() {
            machine.removing = Some(Removing { changes, give_up_at });
            let life = machine.life;
            self.try_removal(leader, life);
        }
    }

    pub(super) fn try_removal(&mut self, leader: u64, life: u64) {
        let is_hasty = self.is(Mutant::RemovesReaders);
        let now = self.time_of(leader);
        let world_now = self.now;
        let machine = self.machine(leader);
        let Some(Removing { changes, give_up_at }) = &machine.removing else { return };
        let may: Vec<_> = removed(changes).map(|member| machine.granter.may_remove(now, member)).collect();
        if may.contains(&Removal::NotLeader) {
            machine.removing = None;
        } else if is_hasty || may.iter().all(|may| *may == Removal::Now) {
            let changes = changes.clone();
            machine.removing = None;
            removed(&changes).for_each(|member| machine.granter.removal_proposed(member));
            self.change_members(leader, changes);
        } else if world_now > *give_up_at {
            let changes = changes.clone();
            machine.removing = None;
            removed(&changes).for_each(|member| machine.granter.keep(member));
        } else {
            self.at(200, Event::TryRemoval { member: leader, life });
        }
    }

    pub(super) fn members_changed(&mut self, member: u64, id: u64, result: Result<u64, MembersError>) {
        if let Some(Waiting::Change(changes)) = self.waiting.remove(&(member, id)) {
            match &result {
                Err(MembersError::Busy | MembersError::NotLeader { .. } | MembersError::Refused(_)) => {
                    let granter = &mut self.machine(member).granter;
                    for member in removed(&changes) {
                        granter.removal_refused(member);
                        granter.keep(member);
                    }
                }
                // It may yet be committed.
                Err(MembersError::Timeout | MembersError::Stopped) | Ok(_) => {}
            }
        }
        self.changes.push((member, result));
    }
}

fn removed(changes: &[MemberChange]) -> impl Iterator<Item = u64> {
    changes.iter().filter_map(|change| match change {
        MemberChange::Remove(member) => Some(*member),
        MemberChange::AddVoter(_) | MemberChange::AddLearner(_) => None,
    })
}
