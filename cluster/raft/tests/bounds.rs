//! Does what a member holds in memory, and what a node keeps of its logs for others, stay within its bounds, whatever disks do?

#![allow(
    clippy::field_reassign_with_default,
    reason = "generated protobuf types are made empty and then filled"
)]

use bytes::Bytes;
use quorate_model::GroupId;
use quorate_raft::core::{Core, CoreOptions, KeptLog};
use quorate_raft::effects::{Effect, Input, Persist, ProposeError};
use quorate_raft::memory::SharedMemoryLog;
use quorate_raft::{PeerMessage, Role};
use raft::eraftpb::{Entry, Message, MessageType};
use std::sync::Arc;

/// The member that is not played.
const SELF: u64 = 1;
const OTHER: u64 = 2;
const LAGGING: u64 = 3;
const TERM: u64 = 2;
const LONG: u64 = 1 << 40;

/// One of three members; the others are played.
struct Member {
    core: Core<SharedMemoryLog>,
    disk: SharedMemoryLog,
    /// Whether its disk takes writes.
    writes: bool,
    /// What it does not take.
    unwritten: Vec<Persist>,
    sent: Vec<PeerMessage>,
    applied: u64,
    refused: Vec<ProposeError>,
}

impl Member {
    fn start(group: u16, kept: &Arc<KeptLog>) -> Member {
        let disk = SharedMemoryLog::default();
        let options = CoreOptions {
            group: GroupId(group),
            self_id: SELF,
            voters: vec![SELF, OTHER, LAGGING],
            applied: 0,
            seed: 1,
            kept: kept.clone(),
        };
        let stored = disk.0.lock().stored();
        let core = Core::new(options, stored, disk.clone()).unwrap();
        let mut member =
            Member { core, disk, writes: true, unwritten: vec![], sent: vec![], applied: 0, refused: vec![] };
        member.carry_out();
        member
    }
    fn handle(&mut self, input: Input) {
        self.core.handle(input);
        self.carry_out();
    }
    fn carry_out(&mut self) {
        loop {
            let effects = self.core.take_effects();
            if effects.is_empty() {
                return;
            }
            for effect in effects {
                match effect {
                    Effect::Persist(persist) => {
                        self.unwritten.push(persist);
                        if self.writes {
                            self.write();
                        }
                    }
                    Effect::Send(messages) => self.sent.extend(messages),
                    Effect::Apply(entries) => {
                        self.applied = entries.last().map_or(self.applied, |entry| entry.index);
                        self.core.handle(Input::Applied(self.applied));
                    }
                    Effect::Proposed(_, Err(error)) => self.refused.push(error),
                    Effect::TellLater
                    | Effect::Restore(_)
                    | Effect::SnapshotWanted
                    | Effect::Proposed(..)
                    | Effect::Barrier(..)
                    | Effect::LeaderConfirmed(..)
                    | Effect::MembersChanged(..)
                    | Effect::Leadership(_) => {}
                    Effect::Fatal(reason) => panic!("{reason}"),
                }
            }
        }
    }
    fn write(&mut self) {
        for persist in std::mem::take(&mut self.unwritten) {
            self.disk.0.lock().write(&persist);
            self.core.handle(Input::Persisted(persist.seq));
        }
    }
    fn step(&mut self, message: Message) {
        self.handle(Input::Step(Box::new(message)));
    }

    /// Lets `OTHER` answer everything, and `LAGGING` what is no entry.
    fn answer(&mut self) {
        while !self.sent.is_empty() {
            for sent in std::mem::take(&mut self.sent) {
                let asked = sent.into_raft().unwrap();
                let kind = match asked.msg_type {
                    MessageType::MsgRequestPreVote => MessageType::MsgRequestPreVoteResponse,
                    MessageType::MsgRequestVote => MessageType::MsgRequestVoteResponse,
                    MessageType::MsgHeartbeat => MessageType::MsgHeartbeatResponse,
                    MessageType::MsgAppend if asked.to == OTHER => MessageType::MsgAppendResponse,
                    _ => continue,
                };
                let mut answer = message(kind, asked.to, asked.term);
                answer.index = asked.index + asked.entries.len() as u64;
                (answer.commit, answer.context) = (asked.commit, asked.context);
                self.step(answer);
            }
        }
    }
    fn lead(&mut self) {
        self.handle(Input::Campaign);
        self.answer();
        self.tick();
        self.tick();
        assert_eq!(self.core.status().role, Role::Leader);
    }
    fn tick(&mut self) {
        self.handle(Input::Tick);
        self.answer();
    }
    fn propose(&mut self, data: Bytes) {
        self.handle(Input::Propose {
            id: self.core.status().last_index,
            data: vec![data],
            within_ticks: LONG,
        });
        self.answer();
    }
    /// Entries of the log that the state machine needs no more.
    fn kept_entries(&self, cut_to: u64) -> u64 {
        (cut_to + 1).saturating_sub(self.core.status().first_index)
    }
}

fn message(kind: MessageType, from: u64, term: u64) -> Message {
    let mut message = Message::default();
    message.msg_type = kind;
    (message.from, message.to, message.term) = (from, SELF, term);
    message
}

#[test]
fn all_groups_of_a_node_keep_little_for_members_that_lag_and_nothing_while_its_disk_is_tight() {
    const GROUPS: u16 = 6;
    const ENTRIES: u64 = 300;
    const MIB: u64 = 1 << 20;
    let kept = Arc::new(KeptLog::default());
    let data = Bytes::from(vec![b'x'; MIB as usize]);
    let mut groups: Vec<Member> = (0..GROUPS).map(|group| Member::start(group, &kept)).collect();
    for member in &mut groups {
        member.lead();
        for _ in 0..ENTRIES {
            member.propose(data.clone());
        }
        assert_eq!(member.applied, member.core.status().last_index);
    }
    let wanted = groups[0].applied - 1;
    let all = |groups: &[Member]| groups.iter().map(|member| member.kept_entries(wanted)).sum::<u64>() * MIB;
    let round = |groups: &mut [Member]| {
        for member in groups {
            member.handle(Input::Compact(wanted));
            member.tick();
        }
    };
    round(&mut groups);
    // counted in steps of some MiB
    let step = 5 * MIB * u64::from(GROUPS);
    let (most, is) = (kept.bytes_max(), all(&groups));
    assert_eq!(most, 1 << 30);
    assert!(is <= most + step && is + 2 * ENTRIES * MIB >= most, "{} MiB", is / MIB);
    assert!(kept.bytes() <= most && kept.bytes() + step >= is, "{} MiB", kept.bytes() / MIB);
    // what a group that ends had kept is for the others
    let first = groups.remove(0);
    assert!(first.kept_entries(wanted) == wanted - 1, "the first one kept everything");
    drop(first);
    assert!(kept.bytes() + ENTRIES * MIB <= most + step);
    assert!(kept.bytes() > 0);
    kept.set_tight(true);
    round(&mut groups);
    assert_eq!((all(&groups), kept.bytes()), (0, 0));
    kept.set_tight(false);
}

#[test]
fn members_that_hardly_lag_are_waited_for_while_the_disk_is_tight() {
    let kept = Arc::new(KeptLog::default());
    kept.set_tight(true);
    let mut member = Member::start(1, &kept);
    member.lead();
    for _ in 0..10 {
        member.propose(Bytes::from_static(b"small"));
    }
    member.handle(Input::Compact(member.applied));
    member.tick();
    assert_eq!(member.core.status().first_index, 2, "what is on its way needs no snapshot");
}

#[test]
fn a_follower_whose_log_cannot_be_written_takes_no_more_than_a_few_entries() {
    const ROUNDS: u64 = 10_000;
    let mut member = Member::start(1, &Arc::default());
    let append = |index: u64, term: u64| {
        let mut append = message(MessageType::MsgAppend, OTHER, TERM);
        (append.index, append.log_term, append.commit) = (index - 1, term, index - 1);
        let mut entry = Entry::default();
        (entry.index, entry.term, entry.data) = (index, TERM, vec![b'x'; 10 << 10].into());
        append.entries = vec![entry].into();
        append
    };
    member.step(append(2, 1));
    for index in 3..100 {
        member.step(append(index, TERM));
    }
    let (applied, last) = (member.applied, member.core.status().last_index);
    assert_eq!((applied, last), (98, 99));
    member.writes = false;
    member.handle(Input::Stalled(Some("the disk is full".into())));
    member.sent.clear();
    for round in 0..ROUNDS {
        let mut heartbeat = message(MessageType::MsgHeartbeat, OTHER, TERM);
        heartbeat.commit = last;
        member.step(heartbeat);
        member.step(append(last + 1 + round, TERM));
        member.handle(Input::Compact(2 + round / 200));
        member.handle(Input::Tick);
    }
    let cuts = member.unwritten.iter().filter(|write| write.truncated.is_some()).count();
    let others = member.unwritten.len() - cuts;
    // cuts wait together (`log_queue.rs`); what makes room is not held back
    assert!(others <= 64 && cuts >= 40, "{others} writes and {cuts} cuts wait");
    let bytes: usize = member.unwritten.iter().map(Persist::bytes).sum();
    assert!(bytes <= 64 * (11 << 10), "{bytes} bytes wait");
    let status = member.core.status();
    assert_eq!((status.role, status.leader), (Role::Follower, Some(OTHER)));
    member.writes = true;
    member.write();
    member.handle(Input::Stalled(None));
    assert!(member.sent.len() <= 64 + 256, "{} messages were held back", member.sent.len());
    // it goes on where it stands
    let next = member.core.status().last_index + 1;
    member.sent.clear();
    member.step(append(next, TERM));
    assert_eq!(member.core.status().last_index, next);
    assert!(member.sent.iter().any(|sent| !sent.reject && sent.log_index == next));
}

#[test]
fn a_leader_whose_disk_hangs_refuses_proposals_before_they_are_many() {
    let mut member = Member::start(1, &Arc::default());
    member.lead();
    member.writes = false;
    for _ in 0..6_000 {
        member.propose(Bytes::from_static(b"small"));
    }
    let waits = member.unwritten.len();
    assert!((4_000..=4_096).contains(&waits), "{waits} writes wait");
    assert!(
        member.refused.len() >= 6_000 - 4_096 && member.refused.iter().all(|it| *it == ProposeError::Full)
    );
    member.writes = true;
    member.write();
    member.answer();
    member.propose(Bytes::from_static(b"small"));
    assert_eq!(member.applied, member.core.status().last_index);
}
