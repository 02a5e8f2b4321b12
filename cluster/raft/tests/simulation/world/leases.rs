//! How members ask for leases, how leaders grant them, and how `published` is found out.

use super::clients::Waiting;
use super::network::Packet;
use super::{Event, World};
use crate::machine::Machine;
use crate::mutant::Mutant;
use quorate_raft::effects::Input;
use quorate_raft::lease::{ASK_EVERY_MS, AskId, Grant, HELD_MS, LEASE_MS, Published, Shows};
use quorate_raft::{Confirmed, Leadership, Role};
use std::collections::{BTreeMap, BTreeSet};

/// Milliseconds a client waits for `published`.
const POLL_MS: u64 = 12_000;

/// What members say about leases.
#[derive(Clone, Copy, Debug)]
pub enum LeaseMessage {
    Ask(AskId),
    Granted(AskId, Grant),
    /// Up to where do you show?
    Probe {
        poll: u64,
    },
    Shown {
        poll: u64,
        through: u64,
    },
}

/// Somebody wants to know at a leader whether an index is published.
pub struct Poll {
    log_index: u64,
    shown: BTreeMap<u64, u64>,
    until: u64,
}

impl World {
    /// What a member's clock shows.
    pub(super) fn time_of(&self, member: u64) -> u64 {
        let machine = &self.machines[&member];
        machine.clock.at(self.now)
    }

    /// The time by which a member counts its own leases.
    fn lease_time_of(&self, member: u64) -> u64 {
        let machine = &self.machines[&member];
        match self.is(Mutant::CountsRunningTime) {
            true => machine.clock.at(self.now - machine.stopped_ms.min(self.now)),
            false => machine.clock.at(self.now),
        }
    }

    /// Up to where a member believes that its reads see everything.
    fn shows(&self, member: u64) -> u64 {
        let machine = &self.machines[&member];
        match self.is(Mutant::ShowsBeforeReplay) {
            true => machine.shown.max(machine.known),
            false => machine.shown,
        }
    }

    pub(super) fn may_read(&self, member: u64) -> bool {
        let (now, shows) = (self.lease_time_of(member), self.shows(member));
        let holder = &self.machines[&member].holder;
        let leases = holder.leases();
        match self.mutant {
            Some(Mutant::ReadsAfterEnd) => {
                holder.may_read(now, shows)
                    || leases.end().is_some_and(|end| now > end && now < end + LEASE_MS)
            }
            _ => holder.may_read(now, shows),
        }
    }

    pub(super) fn note_leadership(&mut self, member: u64, leadership: Leadership) {
        let now = self.time_of(member);
        let is_hasty = self.is(Mutant::LeadsAtOnce);
        let ignores = self.is(Mutant::IgnoresDeposition);
        let machine = self.machine(member);
        match leadership.role {
            Role::Leader => {
                let since = if is_hasty { now - HELD_MS.min(now) } else { now };
                let membership = machine.core().membership();
                machine.granter.became_leader(since, leadership.term, &membership);
            }
            Role::Follower | Role::Candidate if ignores => {}
            Role::Follower | Role::Candidate => machine.granter.lost_leadership(),
        }
    }

    /// Tells the leader's side when the members have changed.
    pub(super) fn note_members(&mut self, member: u64) {
        let now = self.time_of(member);
        let machine = &self.machines[&member];
        let Some(since) = machine.core.as_ref().map(|core| core.members_since()) else { return };
        if since != machine.members_since {
            self.tell(|| format!("{member}: members {:?}", self.machines[&member].core().members()));
            let machine = self.machine(member);
            machine.members_since = since;
            let membership = machine.core().membership();
            machine.granter.members_are(now, &membership);
        }
    }

    pub(super) fn ask_lease(&mut self, member: u64, life: u64) {
        let jitter = self.chance.below(100);
        self.at(ASK_EVERY_MS - 50 + jitter, Event::AskLease { member, life });
        let Some(leader) = self.machines[&member].core().status().leader else { return };
        let now = self.lease_time_of(member);
        let ask = self.machine(member).holder.ask(now);
        self.say(member, leader, LeaseMessage::Ask(ask));
    }

    fn say(&mut self, from: u64, to: u64, message: LeaseMessage) {
        if from == to {
            return self.lease_message(to, from, message);
        }
        self.transmit(from, to, Packet::Lease { from, message });
    }

    pub(super) fn lease_message(&mut self, to: u64, from: u64, message: LeaseMessage) {
        match message {
            LeaseMessage::Ask(ask) => self.asked(to, from, ask),
            LeaseMessage::Granted(ask, grant) => self.granted(to, ask, grant),
            LeaseMessage::Probe { poll } => {
                let machine = &self.machines[&to];
                let through = match self.mutant {
                    Some(Mutant::ShowsTooMuch) => machine.state.index,
                    _ => self.shows(to),
                };
                self.say(to, from, LeaseMessage::Shown { poll, through });
            }
            LeaseMessage::Shown { poll, through } => {
                if let Some(Poll { shown, .. }) = self.machine(to).polls.get_mut(&poll) {
                    let known = shown.entry(from).or_default();
                    *known = through.max(*known);
                    self.decide_poll(to, poll);
                }
            }
        }
    }

    // Granting.

    fn asked(&mut self, leader: u64, member: u64, ask: AskId) {
        let old = match self.mutant {
            Some(Mutant::GrantsUnconfirmed) => self.unconfirmed(leader),
            Some(Mutant::GrantsOnOldConfirmation) => self.machines[&leader].last_confirmed,
            _ => None,
        };
        if let Some(confirmed) = old {
            self.grant(leader, member, ask, confirmed);
        }
        if self.is(Mutant::GrantsUnconfirmed) {
            return;
        }
        let id = self.request(leader, Waiting::Grant { member, ask });
        self.input(leader, Input::ConfirmLeader { id, within_ticks: 20 });
    }

    fn unconfirmed(&self, leader: u64) -> Option<Confirmed> {
        let status = self.machines[&leader].core().status();
        (status.role == Role::Leader).then_some(Confirmed { term: status.term, log_index: status.committed })
    }

    pub(super) fn grant(&mut self, leader: u64, member: u64, ask: AskId, confirmed: Confirmed) {
        let now = self.time_of(leader);
        let forgets = self.is(Mutant::ForgetsHolders);
        let machine = self.machine(leader);
        machine.last_confirmed = Some(confirmed);
        let applied = machine.state.index;
        // Granted in the past, a lease is over at once for the leader.
        let noted = if forgets { now - HELD_MS.min(now) } else { now };
        let Ok(grant) = machine.granter.grant(noted, member, confirmed, applied) else { return };
        self.tell(|| format!("{leader} at {now} grants to {member}: {ask:?} {grant:?} {confirmed:?}"));
        self.say(leader, member, LeaseMessage::Granted(ask, grant));
    }

    fn granted(&mut self, member: u64, ask: AskId, mut grant: Grant) {
        let now = self.lease_time_of(member);
        let mutant = self.mutant;
        let shown = self.machines[&member].shown;
        self.tell(|| format!("{member} at {now} is granted: {ask:?} {grant:?}, shows {shown}"));
        let machine = self.machine(member);
        match mutant {
            Some(Mutant::CountsFromAnswer) => {
                let fresh = machine.holder.ask(now);
                machine.holder.granted(now, fresh, grant);
            }
            Some(Mutant::RenewsLate) => {
                // As if it had arrived just before the end.
                let end = machine.holder.leases().end();
                if end.is_some_and(|end| now >= end && now < end + LEASE_MS) {
                    grant.through = 0;
                }
                machine.holder.granted(now, ask, grant);
            }
            Some(Mutant::ReadsTooEarly) => {
                grant.through = 0;
                machine.holder.granted(now, ask, grant);
            }
            _ => machine.holder.granted(now, ask, grant),
        }
    }

    // Published?

    /// Somebody asks at this member about something that was answered.
    pub(super) fn poll(&mut self, member: u64) {
        let Some(last) = self.acknowledged.keys().next_back().copied() else { return };
        let log_index = last.saturating_sub(self.chance.below(8)).max(1);
        self.next_request += 1;
        let poll = self.next_request;
        let until = self.now + POLL_MS;
        let machine = self.machine(member);
        if machine.is_up() {
            machine.polls.insert(poll, Poll { log_index, shown: BTreeMap::new(), until });
            self.look_at_poll(member, poll);
        }
    }

    /// Probes everyone who may be reading, until it is published or the client has waited long enough.
    pub(super) fn look_at_poll(&mut self, member: u64, poll: u64) {
        self.decide_poll(member, poll);
        let Some(Poll { until, .. }) = self.machines[&member].polls.get(&poll) else { return };
        if self.now > *until {
            self.machine(member).polls.remove(&poll);
            return;
        }
        let now = self.time_of(member);
        let holders = self.machines[&member].granter.holders(now);
        for holder in holders.into_iter().filter(|holder| *holder != member) {
            self.say(member, holder, LeaseMessage::Probe { poll });
        }
        let life = self.machines[&member].life;
        self.at(500, Event::LookAtPoll { member, life, poll });
    }

    fn decide_poll(&mut self, member: u64, poll: u64) {
        let now = self.time_of(member);
        let ignores = self.is(Mutant::IgnoresDeposition);
        let last_term =
            self.leaders.iter().filter(|(_, leader)| **leader == member).map(|(term, _)| *term).max();
        let own = self.shows(member);
        let machine = self.machine(member);
        let Some(Poll { log_index, shown, .. }) = machine.polls.get(&poll) else { return };
        let shows = |id: u64| match shown.get(&id).copied().or((id == member).then_some(own)) {
            Some(through) if through >= *log_index => Shows::Yes,
            Some(_) => Shows::No,
            None => Shows::Unknown,
        };
        let status = machine.core.as_ref().map(|core| core.status());
        let term = status.filter(|status| status.role == Role::Leader).map(|status| status.term);
        let term = if ignores { last_term } else { term };
        let log_index = *log_index;
        match machine.granter.published(now, term, log_index, shows) {
            Published::Yes => {
                machine.polls.remove(&poll);
                self.counts.published += 1;
                self.tell(|| format!("{member} at {now} in {term:?}: {log_index} is published"));
                self.published = self.published.max(log_index);
                self.tell(|| self.describe());
                let members: Vec<_> = self.machines.keys().copied().collect();
                members.into_iter().for_each(|member| self.look_at_reads(member));
            }
            Published::NotYet => {}
            Published::NotLeader => drop(machine.polls.remove(&poll)),
        }
    }
}

/// Everyone in either half of a member's configuration.
pub fn all_members(machine: &Machine) -> BTreeSet<u64> {
    let Some(core) = &machine.core else { return BTreeSet::new() };
    let conf = core.members();
    let lists = [&conf.voters, &conf.learners, &conf.voters_outgoing, &conf.learners_next];
    lists.into_iter().flatten().copied().collect()
}
