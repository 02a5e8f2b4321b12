//! A whole group in virtual time: members, disks, a network and clients, all driven by one seed, and what must hold.

use crate::chance::Chance;
use crate::machine::{Machine, State};
use bytes::Bytes;
use quorate_raft::effects::{Delivery, Effect, Input};
use quorate_raft::messages::{MessageKind, PeerMessage};
use quorate_raft::{Committed, CommittedEntry, Leadership, MemberChange, MembersError, ProposeError, Role};
use std::collections::{BTreeMap, BTreeSet};

const TICK_MS: u64 = 100;

/// How unkind the world is; counts are per thousand.
#[derive(Clone, Copy, Debug)]
pub struct Climate {
    pub lose: u64,
    pub duplicate: u64,
    pub delay_ms_max: u64,
    /// For each effect that is carried out.
    pub crash: u64,
    pub sync_ms_max: u64,
    /// For each round of disturbance, every 250 ms.
    pub partition: u64,
    pub disk_full: u64,
    pub change_members: u64,
    pub compact: u64,
}

impl Climate {
    pub const CALM: Climate = Climate {
        lose: 0,
        duplicate: 0,
        delay_ms_max: 5,
        crash: 0,
        sync_ms_max: 5,
        partition: 0,
        disk_full: 0,
        change_members: 0,
        compact: 0,
    };
    pub const ROUGH: Climate = Climate {
        lose: 50,
        duplicate: 30,
        delay_ms_max: 120,
        crash: 4,
        sync_ms_max: 60,
        partition: 80,
        disk_full: 15,
        change_members: 0,
        compact: 200,
    };
}

#[derive(Debug)]
enum Event {
    Tick(u64, u64),
    Deliver(Vec<u8>),
    SnapshotSent {
        from: u64,
        to: u64,
        outcome: Delivery,
    },
    Synced {
        member: u64,
        life: u64,
        seq: u64,
    },
    /// A member looks for a state to continue from that is at least as new as the snapshot at `index`.
    Renew {
        member: u64,
        life: u64,
        index: u64,
    },
    Start(u64),
    Client,
    Disturb,
}

pub struct World {
    pub chance: Chance,
    pub climate: Climate,
    pub now: u64,
    events: BTreeMap<(u64, u64), Event>,
    next_event: u64,
    pub machines: BTreeMap<u64, Machine>,
    /// Pairs that cannot talk, one way.
    pub cut: BTreeSet<(u64, u64)>,
    next_request: u64,
    next_payload: u64,
    waiting: BTreeMap<(u64, u64), Waiting>,
    /// The truth, as the first member applied it.
    pub history: Vec<(CommittedEntry, State)>,
    acknowledged: BTreeMap<u64, Bytes>,
    refused: BTreeSet<Bytes>,
    leaders: BTreeMap<u64, u64>,
    pub changes: Vec<(u64, Result<u64, MembersError>)>,
    pub restores: u64,
    pub renewals: u64,
    pub snapshots_wanted: u64,
    /// Whether the network tells what became of a snapshot's message.
    pub reports_snapshots: bool,
    /// Snapshots are gone when they are fetched: members continue from the newest state of another one.
    pub snapshots_are_gone: bool,
    pub answers: u64,
    pub is_busy: bool,
    /// A number over everything that happened, to compare two runs.
    pub trace: u64,
}

enum Waiting {
    Proposal(Vec<Bytes>),
    Read { at_least: u64 },
    Change,
}

impl World {
    pub fn new(seed: u64, voters: &[u64], spare: &[u64], climate: Climate) -> World {
        let mut world = World {
            chance: Chance::new(seed),
            climate,
            now: 0,
            events: BTreeMap::new(),
            next_event: 0,
            machines: BTreeMap::new(),
            cut: BTreeSet::new(),
            next_request: 0,
            next_payload: 0,
            waiting: BTreeMap::new(),
            history: vec![],
            acknowledged: BTreeMap::new(),
            refused: BTreeSet::new(),
            leaders: BTreeMap::new(),
            changes: vec![],
            restores: 0,
            renewals: 0,
            snapshots_wanted: 0,
            reports_snapshots: true,
            snapshots_are_gone: false,
            answers: 0,
            is_busy: true,
            trace: 0,
        };
        for id in voters.iter().chain(spare) {
            let initial = if spare.contains(id) { vec![] } else { voters.to_vec() };
            world.machines.insert(*id, Machine::new(*id, initial));
            world.start(*id);
        }
        world.at(1, Event::Client);
        world.at(1, Event::Disturb);
        world
    }

    fn at(&mut self, delay: u64, event: Event) {
        self.next_event += 1;
        self.events.insert((self.now + delay, self.next_event), event);
    }

    /// Lets time pass.
    pub fn run(&mut self, ms: u64) {
        let end = self.now + ms;
        while let Some(next) = self.events.first_entry()
            && next.key().0 <= end
        {
            let ((now, _), event) = next.remove_entry();
            self.now = now;
            self.happen(event);
        }
        self.now = end;
    }

    /// Lets time pass until something holds.
    pub fn run_until(&mut self, what: &str, ms: u64, mut holds: impl FnMut(&World) -> bool) {
        let end = self.now + ms;
        while !holds(self) {
            assert!(self.now < end, "not within {ms} ms: {what}\n{}", self.describe());
            self.run(10);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Tick(member, life) => {
                if self.machines[&member].life == life && self.machines[&member].core.is_some() {
                    let jitter = self.chance.below(10);
                    self.at(TICK_MS - 5 + jitter, Event::Tick(member, life));
                    self.input(member, Input::Tick);
                }
            }
            Event::Deliver(bytes) => self.deliver(&bytes),
            Event::SnapshotSent { from, to, outcome } => {
                self.input(from, Input::SnapshotSent { to, outcome })
            }
            Event::Synced { member, life, seq } => self.synced(member, life, seq),
            Event::Renew { member, life, index } => self.renew(member, life, index),
            Event::Start(member) => self.start(member),
            Event::Client => self.client(),
            Event::Disturb => self.disturb(),
        }
    }

    // Members.

    pub fn start(&mut self, member: u64) {
        let machine = self.machines.get_mut(&member).expect("members are known");
        if machine.core.is_some() {
            return;
        }
        machine.start(self.trace ^ member);
        let life = machine.life;
        self.at(self.now % 7 + member, Event::Tick(member, life));
        self.carry_out(member);
    }

    pub fn crash(&mut self, member: u64) {
        let machine = self.machines.get_mut(&member).expect("members are known");
        let kept = self.chance.below(machine.unsynced.len() as u64 + 1);
        machine.crash(kept);
        machine.disk_is_full = false;
        // Whoever waited there never hears what became of it.
        self.waiting.retain(|(at, _), _| *at != member);
    }

    pub fn input(&mut self, member: u64, input: Input) {
        let machine = self.machines.get_mut(&member).expect("members are known");
        let Some(core) = &mut machine.core else { return };
        core.handle(input);
        self.carry_out(member);
    }

    fn carry_out(&mut self, member: u64) {
        let Some(core) = self.machines.get_mut(&member).and_then(|m| m.core.as_mut()) else { return };
        for effect in core.take_effects() {
            if self.chance.per_mille(self.climate.crash) {
                self.crash(member);
                let pause = self.chance.between(10, 3_000);
                self.at(pause, Event::Start(member));
                return;
            }
            self.carry_out_one(member, effect);
        }
        // Applying may have led to more.
        let machine = self.machines.get_mut(&member).expect("members are known");
        let applied = machine.state.index;
        if let Some(core) = &mut machine.core
            && core.status().applied < applied
        {
            self.input(member, Input::Applied(applied));
        }
    }

    fn carry_out_one(&mut self, member: u64, effect: Effect) {
        match effect {
            Effect::Persist(persist) => {
                let machine = self.machines.get_mut(&member).expect("members are known");
                let (life, seq) = (machine.life, persist.seq);
                machine.unsynced.push_back(persist);
                let delay = self.chance.between(1, self.climate.sync_ms_max);
                self.at(delay, Event::Synced { member, life, seq });
            }
            Effect::Send(messages) => messages.into_iter().for_each(|message| self.send(member, message)),
            Effect::Apply(entries) => self.apply(member, &entries),
            Effect::Restore(image) => {
                self.restores += 1;
                let state = State::from_image(&image);
                let truth = self.history[state.index as usize - 1].1;
                assert_eq!(state, truth, "a snapshot shows the common history");
                if self.snapshots_are_gone {
                    let life = self.machines[&member].life;
                    return self.at(50, Event::Renew { member, life, index: state.index });
                }
                let machine = self.machines.get_mut(&member).expect("members are known");
                machine.state = state;
                machine.durable_state = state;
            }
            Effect::SnapshotWanted => {
                self.snapshots_wanted += 1;
                let image = self.machines[&member].state.image();
                self.input(member, Input::OfferSnapshot(image));
            }
            Effect::Leadership(leadership) => self.leadership(member, leadership),
            Effect::Proposed(id, result) => self.proposed(member, id, result),
            Effect::Barrier(id, result) => {
                if let Some(Waiting::Read { at_least }) = self.waiting.remove(&(member, id))
                    && let Ok(index) = result
                {
                    assert!(
                        index >= at_least,
                        "a read at {index} misses what was answered before: {at_least}"
                    );
                }
            }
            Effect::LeaderConfirmed(id, result) => {
                if let Some(Waiting::Read { at_least }) = self.waiting.remove(&(member, id))
                    && let Ok(confirmed) = result
                {
                    assert!(
                        confirmed.log_index >= at_least,
                        "a confirmation misses what was answered before"
                    );
                    assert_eq!(self.leaders.get(&confirmed.term), Some(&member), "it leads in this term");
                }
            }
            Effect::MembersChanged(id, result) => {
                self.waiting.remove(&(member, id));
                self.changes.push((member, result));
            }
            Effect::Fatal(reason) => panic!("member {member}: {reason}"),
        }
    }

    /// Continues from another member's state, once this member's log holds everything up to it.
    fn renew(&mut self, member: u64, life: u64, index: u64) {
        let newest =
            self.machines.values().filter(|machine| machine.id != member).map(|machine| machine.state);
        let newest = newest.max_by_key(|state| state.index).expect("several members");
        let machine = self.machines.get_mut(&member).expect("members are known");
        let Some(core) = machine.core.as_ref().filter(|_| machine.life == life) else { return };
        if newest.index < index || core.status().durable < newest.index {
            return self.at(50, Event::Renew { member, life, index });
        }
        machine.state = newest;
        machine.durable_state = newest;
        self.renewals += 1;
        self.input(member, Input::Applied(newest.index));
    }

    fn synced(&mut self, member: u64, life: u64, seq: u64) {
        let machine = self.machines.get_mut(&member).expect("members are known");
        if machine.life != life {
            return;
        }
        if machine.disk_is_full {
            let machine_life = life;
            self.at(50, Event::Synced { member, life: machine_life, seq });
            return;
        }
        machine.sync(seq);
        self.input(member, Input::Persisted(seq));
    }

    // The network.

    fn send(&mut self, from: u64, message: PeerMessage) {
        self.note(message.term << 8 | message.kind as u64);
        self.check_promise(from, &message);
        let to = message.to;
        let is_snapshot = message.kind == MessageKind::Snapshot;
        let is_lost = self.cut.contains(&(from, to)) || self.chance.per_mille(self.climate.lose);
        let delay = self.chance.between(1, self.climate.delay_ms_max);
        if is_snapshot && self.reports_snapshots {
            let outcome = if is_lost { Delivery::Failed } else { Delivery::Arrived };
            self.at(delay + 20, Event::SnapshotSent { from, to, outcome });
        }
        if is_lost {
            return;
        }
        let bytes = message.encode();
        if self.chance.per_mille(self.climate.duplicate) {
            let again = delay + self.chance.below(500);
            self.at(again, Event::Deliver(bytes.clone()));
        }
        self.at(delay, Event::Deliver(bytes));
    }

    /// What a member promises must be on its disk.
    fn check_promise(&mut self, from: u64, message: &PeerMessage) {
        let machine = self.machines.get_mut(&from).expect("members are known");
        let stored = machine.disk.0.lock().stored();
        match message.kind {
            MessageKind::VoteResponse if !message.reject => {
                let vote = (stored.hard_state.term, stored.hard_state.vote);
                assert!(
                    vote == (message.term, message.to) || vote.0 > message.term,
                    "member {from} gives a vote that is not durable"
                );
            }
            MessageKind::AppendResponse if !message.reject => {
                assert!(
                    stored.last >= message.log_index,
                    "member {from} confirms entries that are not durable"
                );
            }
            MessageKind::Vote | MessageKind::Append | MessageKind::Heartbeat => {
                // The leader of a group of several asked for votes with a durable term before.
                let is_alone = stored.conf.as_ref().is_none_or(|(_, conf)| conf.voters.len() < 2);
                assert!(
                    is_alone || stored.hard_state.term >= message.term,
                    "member {from} uses a term that is not durable"
                );
                machine.told_term = machine.told_term.max(stored.hard_state.term);
            }
            _ => {}
        }
    }

    fn deliver(&mut self, bytes: &[u8]) {
        let message = PeerMessage::decode(bytes).expect("own bytes decode");
        let to = message.to;
        let message = message.into_raft().expect("own messages are within limits");
        self.input(to, Input::Step(Box::new(message)));
    }

    /// Cuts a member off from all others.
    pub fn isolate(&mut self, member: u64) {
        let others: Vec<_> = self.machines.keys().copied().filter(|id| *id != member).collect();
        self.cut.extend(others.iter().flat_map(|other| [(member, *other), (*other, member)]));
    }

    // Clients.

    fn client(&mut self) {
        if !self.is_busy {
            return;
        }
        let pause = self.chance.between(5, 150);
        self.at(pause, Event::Client);
        // Mostly where a leader is, sometimes anywhere.
        let members: Vec<_> = self.machines.keys().copied().collect();
        let mut target = members[self.chance.below(members.len() as u64) as usize];
        if !self.chance.per_mille(200)
            && let Some(leader) = self.leader()
        {
            target = leader;
        }
        if self.chance.per_mille(150) {
            self.read(target);
        } else {
            let parts = self.chance.between(1, 4);
            self.propose(target, parts);
        }
    }

    fn request(&mut self, member: u64, waiting: Waiting) -> u64 {
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
    }

    fn read(&mut self, member: u64) {
        let at_least = self.acknowledged.keys().next_back().copied().unwrap_or(0);
        let id = self.request(member, Waiting::Read { at_least });
        let confirms = self.chance.per_mille(300);
        self.input(
            member,
            match confirms {
                true => Input::ConfirmLeader { id, within_ticks: 30 },
                false => Input::ReadBarrier { id, within_ticks: 30 },
            },
        );
    }

    pub fn change_members(&mut self, member: u64, changes: Vec<MemberChange>) {
        let id = self.request(member, Waiting::Change);
        self.input(member, Input::ChangeMembers { id, changes, context: Bytes::new(), within_ticks: 200 });
    }

    fn proposed(&mut self, member: u64, id: u64, result: Result<Committed, ProposeError>) {
        let Some(Waiting::Proposal(data)) = self.waiting.remove(&(member, id)) else { return };
        self.answers += 1;
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

    // What must hold.

    fn apply(&mut self, member: u64, entries: &[CommittedEntry]) {
        let machine = self.machines.get_mut(&member).expect("members are known");
        for entry in entries {
            if entry.index <= machine.state.index {
                // it has continued from a later state than the snapshot's
                continue;
            }
            machine.state.apply(entry);
            match self.history.get(entry.index as usize - 1) {
                Some((truth, state)) => {
                    assert_eq!(truth, entry, "members agree on every committed entry");
                    assert_eq!(*state, machine.state);
                }
                None => {
                    assert!(
                        !self.refused.contains(&entry.data),
                        "a refused proposal was committed: {entry:?}"
                    );
                    if let Some(payload) = self.acknowledged.get(&entry.index) {
                        assert_eq!(payload, &entry.data, "an answered entry was lost");
                    }
                    self.history.push((entry.clone(), machine.state));
                }
            }
        }
        if self.chance.per_mille(200) {
            machine.durable_state = machine.state;
        }
        let digest = machine.state.digest;
        self.note(digest);
    }

    fn leadership(&mut self, member: u64, leadership: Leadership) {
        self.note(leadership.term << 4 | member);
        if leadership.role == Role::Leader {
            let leader = *self.leaders.entry(leadership.term).or_insert(member);
            assert_eq!(leader, member, "two leaders in term {}", leadership.term);
        }
    }

    fn note(&mut self, value: u64) {
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

    // Disturbance.

    fn disturb(&mut self) {
        self.at(250, Event::Disturb);
        let members: Vec<_> = self.machines.keys().copied().collect();
        let pick = |chance: &mut Chance| members[chance.below(members.len() as u64) as usize];
        if self.chance.per_mille(self.climate.partition) {
            let (one, other) = (pick(&mut self.chance), pick(&mut self.chance));
            match self.chance.below(4) {
                0 => drop(self.cut.insert((one, other))),
                1 => self.isolate(one),
                _ => self.cut.clear(),
            }
        }
        if self.chance.per_mille(self.climate.disk_full) {
            let member = pick(&mut self.chance);
            let machine = self.machines.get_mut(&member).expect("members are known");
            machine.disk_is_full = !machine.disk_is_full;
            let reason = machine.disk_is_full.then(|| "no space".to_owned());
            self.input(member, Input::Stalled(reason));
        }
        if self.chance.per_mille(self.climate.compact) {
            let member = pick(&mut self.chance);
            let machine = &self.machines[&member];
            let through = machine.durable_state.index.saturating_sub(self.chance.below(20));
            self.input(member, Input::Compact(through));
        }
        if self.chance.per_mille(self.climate.change_members)
            && let Some(leader) = self.leader()
        {
            let (one, other) = (pick(&mut self.chance), pick(&mut self.chance));
            let changes = self.chance_changes(one, other);
            self.change_members(leader, changes);
        }
    }

    /// Some change that leaves at least two of three or more voters.
    fn chance_changes(&mut self, one: u64, other: u64) -> Vec<MemberChange> {
        match self.chance.below(4) {
            0 => vec![MemberChange::AddVoter(one)],
            1 => vec![MemberChange::AddLearner(one)],
            _ if one == other => vec![MemberChange::AddVoter(one)],
            _ => vec![MemberChange::AddVoter(one), MemberChange::Remove(other)],
        }
    }

    /// Ends all faults, starts everyone, and sees that everything comes to the same end.
    pub fn settle(&mut self) {
        self.climate = Climate::CALM;
        self.cut.clear();
        let members: Vec<_> = self.machines.keys().copied().collect();
        for member in members {
            let machine = self.machines.get_mut(&member).expect("members are known");
            if std::mem::take(&mut machine.disk_is_full) {
                self.input(member, Input::Stalled(None));
            }
            self.start(member);
        }
        self.is_busy = false;
        self.run_until("a leader that everyone follows", 120_000, World::is_settled);
        let leader = self.leader().expect("settled with a leader");
        self.propose(leader, 3);
        let before = self.history.len();
        self.run_until("a last write", 60_000, |world| world.history.len() >= before + 3);
        self.run_until("everyone at the same place", 60_000, World::is_settled);
        for (index, payload) in &self.acknowledged {
            let (entry, _) = &self.history[*index as usize - 1];
            assert_eq!(&entry.data, payload, "an answered entry was lost");
        }
    }

    /// Where every member is, for the text of a failure.
    fn describe(&self) -> String {
        let describe = |machine: &Machine| match &machine.core {
            None => format!("{}: down\n", machine.id),
            Some(core) => format!(
                "{}: applied {} {:?} {:?}\n",
                machine.id,
                machine.state.index,
                core.status(),
                core.members()
            ),
        };
        self.machines.values().map(describe).collect()
    }

    /// Whether the leader's members have all applied the same, everything.
    fn is_settled(&self) -> bool {
        let Some(leader) = self.leader() else { return false };
        let core = self.machines[&leader].core.as_ref().expect("a leader runs");
        let conf = core.members();
        if !conf.voters_outgoing.is_empty() {
            return false;
        }
        let status = core.status();
        let mut members = conf.voters.iter().chain(&conf.learners);
        members.all(|id| {
            let machine = &self.machines[id];
            let follows = machine.core.as_ref().is_some_and(|core| core.status().leader == Some(leader));
            follows
                && machine.state.index == status.last_index
                && machine.state.index == self.history.len() as u64
        })
    }
}
