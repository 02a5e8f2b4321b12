//! A whole group in virtual time: members, disks, a network and clients, all driven by one seed.
//!
//! Here is how time passes and how members' effects are carried out; what disturbs them, what clients do, and what must
//! hold lies beside it.

mod clients;
mod climate;
mod disturb;
pub mod leases;
mod network;
mod settle;
mod truth;

use crate::machine::Machine;
use crate::mutant::Mutant;
use bytes::Bytes;
use clients::Waiting;
pub use climate::Climate;
use network::Packet;
use quorate_model::chance::Chance;
use quorate_raft::core::TELL_AFTER_MS;
use quorate_raft::effects::{Delivery, Effect, Input, Persist};
use quorate_raft::memory::State;
use quorate_raft::{CommittedEntry, MembersError};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const TICK_MS: u64 = 100;

/// Something that happens at a moment; most of it to one member.
#[derive(Debug)]
pub enum Event {
    Tick {
        member: u64,
        life: u64,
    },
    Deliver {
        member: u64,
        packet: Packet,
    },
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
    TellCommit {
        member: u64,
        life: u64,
    },
    Show {
        member: u64,
        life: u64,
    },
    /// A member looks for a state to continue from that is at least as new as the snapshot at `index`.
    Renew {
        member: u64,
        life: u64,
        index: u64,
    },
    AskLease {
        member: u64,
        life: u64,
    },
    LookAtPoll {
        member: u64,
        life: u64,
        poll: u64,
    },
    TryRemoval {
        member: u64,
        life: u64,
    },
    StayLeader {
        member: u64,
        life: u64,
    },
    Start(u64),
    GoOn(u64),
    Client,
    Disturb,
}

pub struct World {
    pub chance: Chance,
    pub climate: Climate,
    pub mutant: Option<Mutant>,
    pub now: u64,
    events: BTreeMap<(u64, u64), Event>,
    next_event: u64,
    pub machines: BTreeMap<u64, Machine>,
    /// Pairs that cannot talk, one way.
    pub cut: BTreeSet<(u64, u64)>,
    next_request: u64,
    next_payload: u64,
    waiting: BTreeMap<(u64, u64), Waiting>,
    /// The last round that each member began for a question, for the bug that takes all of them for one.
    rounds: BTreeMap<(u64, Vec<u8>), Vec<u8>>,
    /// The truth, as the first member applied it.
    pub history: Vec<(CommittedEntry, State)>,
    acknowledged: BTreeMap<u64, Bytes>,
    refused: BTreeSet<Bytes>,
    leaders: BTreeMap<u64, u64>,
    /// Some client has been told that everything up to here is published.
    pub published: u64,
    pub changes: Vec<(u64, Result<u64, MembersError>)>,
    pub counts: Counts,
    /// Whether the network tells what became of a snapshot's message.
    pub reports_snapshots: bool,
    /// Snapshots are gone when they are fetched: members continue from the newest state of another one.
    pub snapshots_are_gone: bool,
    pub is_busy: bool,
    is_told: bool,
    /// A number over everything that happened, to compare two runs.
    pub trace: u64,
}

/// How often what happened, to see that a run was about anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub answers: u64,
    pub restores: u64,
    pub renewals: u64,
    pub snapshots_wanted: u64,
    pub published: u64,
    pub reads: u64,
    pub stops: u64,
    pub transfers: u64,
    pub removed: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.answers += other.answers;
        self.restores += other.restores;
        self.renewals += other.renewals;
        self.snapshots_wanted += other.snapshots_wanted;
        self.published += other.published;
        self.reads += other.reads;
        self.stops += other.stops;
        self.transfers += other.transfers;
        self.removed += other.removed;
    }
}

impl World {
    pub fn new(seed: u64, voters: &[u64], spare: &[u64], climate: Climate) -> World {
        World::with_mutant(seed, voters, spare, climate, None)
    }

    pub fn with_mutant(
        seed: u64,
        voters: &[u64],
        spare: &[u64],
        climate: Climate,
        mutant: Option<Mutant>,
    ) -> World {
        let mut world = World {
            chance: Chance::new(seed),
            climate,
            mutant,
            now: 0,
            events: BTreeMap::new(),
            next_event: 0,
            machines: BTreeMap::new(),
            cut: BTreeSet::new(),
            next_request: 0,
            next_payload: 0,
            waiting: BTreeMap::new(),
            rounds: BTreeMap::new(),
            history: vec![],
            acknowledged: BTreeMap::new(),
            refused: BTreeSet::new(),
            leaders: BTreeMap::new(),
            published: 0,
            changes: vec![],
            counts: Counts::default(),
            reports_snapshots: true,
            snapshots_are_gone: false,
            is_busy: true,
            is_told: std::env::var_os("QUORATE_SIM_TELL").is_some(),
            trace: 0,
        };
        for id in voters.iter().chain(spare) {
            let initial = if spare.contains(id) { vec![] } else { voters.to_vec() };
            let mut machine = Machine::new(*id, initial, &mut world.chance);
            if world.is(Mutant::SkipsSync) {
                machine.truly_synced = Some(Default::default());
            }
            world.machines.insert(*id, machine);
            world.start(*id);
        }
        world.at(1, Event::Client);
        world.at(1, Event::Disturb);
        world
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn at(&mut self, delay: u64, event: Event) {
        self.next_event += 1;
        self.events.insert((self.now + delay, self.next_event), event);
    }

    /// One line of what happens, when somebody looks at a failure.
    fn tell(&self, what: impl FnOnce() -> String) {
        if self.is_told {
            eprintln!("{:>7} {}", self.now, what());
        }
    }

    pub fn machine(&mut self, member: u64) -> &mut Machine {
        self.machines.get_mut(&member).expect("members are known")
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
        let member = match &event {
            Event::Tick { member, life }
            | Event::Synced { member, life, .. }
            | Event::TellCommit { member, life }
            | Event::Show { member, life }
            | Event::Renew { member, life, .. }
            | Event::AskLease { member, life }
            | Event::LookAtPoll { member, life, .. }
            | Event::TryRemoval { member, life }
            | Event::StayLeader { member, life } => {
                let machine = &self.machines[member];
                if machine.life != *life || machine.core.is_none() {
                    return;
                }
                *member
            }
            Event::Deliver { member, .. } | Event::SnapshotSent { from: member, .. } => *member,
            Event::Start(member) => return self.start(*member),
            Event::GoOn(member) => return self.go_on(*member),
            Event::Client => return self.client(),
            Event::Disturb => return self.disturb(),
        };
        if let Some(backlog) = &mut self.machine(member).stopped {
            backlog.push_back(event);
            return;
        }
        self.happen_to_running(event);
        self.look_at_reads(member);
    }

    fn happen_to_running(&mut self, event: Event) {
        match event {
            Event::Tick { member, life } => {
                let jitter = self.chance.below(10);
                self.at(TICK_MS - 5 + jitter, Event::Tick { member, life });
                self.input(member, Input::Tick);
            }
            Event::Deliver { member, packet } => self.deliver(member, packet),
            Event::SnapshotSent { from, to, outcome } => {
                self.input(from, Input::SnapshotSent { to, outcome })
            }
            Event::Synced { member, life, seq } => self.synced(member, life, seq),
            Event::TellCommit { member, .. } => self.input(member, Input::TellCommit),
            Event::Show { member, .. } => {
                let machine = self.machine(member);
                machine.shown = machine.state.index;
            }
            Event::Renew { member, life, index } => self.renew(member, life, index),
            Event::AskLease { member, life } => self.ask_lease(member, life),
            Event::LookAtPoll { member, poll, .. } => self.look_at_poll(member, poll),
            Event::TryRemoval { member, life } => self.try_removal(member, life),
            Event::StayLeader { member, .. } => self.machine(member).granter.stays_leader(),
            Event::Start(_) | Event::GoOn(_) | Event::Client | Event::Disturb => {}
        }
    }

    // Members.

    pub fn start(&mut self, member: u64) {
        let seed = self.trace ^ member;
        let machine = self.machine(member);
        if machine.core.is_some() {
            return;
        }
        machine.start(seed);
        let life = machine.life;
        self.note_members(member);
        self.at(self.now % 7 + member, Event::Tick { member, life });
        if self.climate.polls > 0 {
            self.at(member * 3, Event::AskLease { member, life });
        }
        self.carry_out(member);
    }

    pub fn crash(&mut self, member: u64) {
        self.tell(|| format!("{member} crashes"));
        let unsynced = self.machines[&member].unsynced.len() as u64;
        let kept = self.chance.below(unsynced + 1);
        let machine = self.machine(member);
        machine.crash(kept);
        machine.disk_is_full = false;
        // Whoever waited there never hears what became of it.
        self.waiting.retain(|(at, _), _| *at != member);
    }

    /// Stops a member as a signal would: it does nothing, the world and its clock go on.
    pub fn stop(&mut self, member: u64, ms: u64) {
        if self.machines[&member].is_up() {
            self.counts.stops += 1;
            self.tell(|| format!("{member} stops for {ms} ms"));
            let machine = self.machine(member);
            machine.stopped = Some(VecDeque::new());
            machine.stopped_ms += ms;
            self.at(ms, Event::GoOn(member));
        }
    }

    /// What reached a stopped member happens now, but first whoever waits for an answer gets one.
    fn go_on(&mut self, member: u64) {
        let Some(backlog) = self.machine(member).stopped.take() else { return };
        self.look_at_reads(member);
        if self.is_busy && self.chance.per_mille(self.climate.polls) {
            self.poll(member);
        }
        for event in backlog {
            self.happen(event);
        }
    }

    pub fn input(&mut self, member: u64, input: Input) {
        let Some(core) = &mut self.machine(member).core else { return };
        core.handle(input);
        self.note_members(member);
        self.carry_out(member);
    }

    fn carry_out(&mut self, member: u64) {
        let Some(core) = self.machine(member).core.as_mut() else { return };
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
        let machine = &self.machines[&member];
        let applied = machine.state.index;
        if machine.core.as_ref().is_some_and(|core| core.status().applied < applied) {
            self.input(member, Input::Applied(applied));
        }
    }

    fn carry_out_one(&mut self, member: u64, effect: Effect) {
        match effect {
            Effect::Persist(persist) => self.write(member, persist),
            Effect::Send(messages) => messages.into_iter().for_each(|message| self.send(member, message)),
            Effect::TellLater => {
                let life = self.machine(member).life;
                self.at(TELL_AFTER_MS, Event::TellCommit { member, life });
            }
            Effect::Apply(entries) => self.apply(member, &entries),
            Effect::Restore(image) => self.restore(member, &image),
            Effect::SnapshotWanted => {
                self.counts.snapshots_wanted += 1;
                let image = self.machines[&member].state.image();
                self.input(member, Input::OfferSnapshot(image));
            }
            Effect::Leadership(leadership) => self.leadership(member, leadership),
            Effect::Proposed(id, result) => self.proposed(member, id, result),
            Effect::Barrier(id, result) => self.barrier(member, id, result.ok()),
            Effect::LeaderConfirmed(id, result) => self.leader_confirmed(member, id, result.ok()),
            Effect::MembersChanged(id, result) => self.members_changed(member, id, result),
            Effect::Fatal(reason) => panic!("member {member}: {reason}"),
        }
    }

    // Disks.

    fn write(&mut self, member: u64, mut persist: Persist) {
        if self.is(Mutant::DropsConfiguration) && persist.identity.is_none() {
            persist.conf = None;
        }
        if self.is(Mutant::ForgetsVote)
            && let Some(hard_state) = &mut persist.hard_state
        {
            hard_state.vote = 0;
        }
        let machine = self.machine(member);
        let (life, seq, slowness) = (machine.life, persist.seq, machine.slowness);
        machine.unsynced.push_back(persist);
        let delay = self.chance.between(1, self.climate.sync_ms_max * slowness);
        self.at(delay, Event::Synced { member, life, seq });
    }

    fn synced(&mut self, member: u64, life: u64, seq: u64) {
        if self.machines[&member].disk_is_full {
            self.at(50, Event::Synced { member, life, seq });
            return;
        }
        let is_true = seq == 1 || !self.is(Mutant::SkipsSync) || self.chance.per_mille(100);
        let machine = self.machine(member);
        machine.sync(seq);
        if let Some(truly_synced) = &mut machine.truly_synced
            && is_true
        {
            *truly_synced = machine.disk.0.lock().clone();
        }
        self.input(member, Input::Persisted(seq));
    }
}
