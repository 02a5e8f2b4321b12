//! A leader is confirmed by what was said after it was asked, and by nothing else.

use crate::world::{Climate, World};
use quorate_raft::effects::{Effect, Input};
use quorate_raft::messages::{EntryKind, MessageKind, PeerEntry};
use quorate_raft::{Confirmed, PeerMessage};

/// The number by which a follower knows its read.
const READ: u64 = 124;
/// The number by which the leader knows its question for confirmation.
const CONFIRMATION: u64 = 239;

/// A leader that hears and says only what a test hands on.
struct Alone {
    world: World,
    leader: u64,
    others: [u64; 2],
    heartbeat: PeerMessage,
}

impl Alone {
    fn new() -> Self {
        let mut world = World::new(18, &[1, 2, 3], &[], Climate::CALM);
        world.run(3_000);
        let leader = world.leader().expect("a calm world has a leader");
        let others: Vec<u64> = world.machines.keys().copied().filter(|id| *id != leader).collect();
        let core = world.machine(leader).core.as_mut().expect("it runs");
        core.handle(Input::ConfirmLeader { id: CONFIRMATION - 1, within_ticks: 20 });
        let heartbeat = sent(core.take_effects(), MessageKind::Heartbeat).remove(0);
        Alone { world, leader, others: [others[0], others[1]], heartbeat }
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let core = self.world.machine(self.leader).core.as_mut().expect("it runs");
        core.handle(input);
        core.take_effects()
    }

    fn step(&mut self, message: PeerMessage) -> Vec<Effect> {
        self.handle(Input::Step(Box::new(message.into_raft().expect("within limits"))))
    }

    /// The leader is asked for confirmation; returns the heartbeats of the round that this begins.
    fn confirm(&mut self) -> Vec<PeerMessage> {
        let asked = self.handle(Input::ConfirmLeader { id: CONFIRMATION, within_ticks: 20 });
        assert_eq!(confirmed(&asked), None, "nobody has said anything yet");
        sent(asked, MessageKind::Heartbeat)
    }

    /// A follower asks for its read; returns the heartbeats of the round that this begins.
    fn read(&mut self, from: u64, number: u64) -> Vec<PeerMessage> {
        let data = number.to_be_bytes().to_vec();
        let entry = PeerEntry { kind: EntryKind::Normal, term: 0, log_index: 0, data, context: vec![] };
        let (kind, to, context, entries) = (MessageKind::ReadIndex, self.leader, vec![], vec![entry]);
        let any = self.heartbeat.clone();
        let question = PeerMessage { kind, from, to, term: 0, commit: 0, context, entries, ..any };
        sent(self.step(question), MessageKind::Heartbeat)
    }

    /// A member answers in a round.
    fn answer(&mut self, from: u64, round: &[PeerMessage]) -> Vec<Effect> {
        let heartbeat = round.iter().find(|heartbeat| heartbeat.to == from).expect("everyone is asked");
        let (kind, to) = (MessageKind::HeartbeatResponse, self.leader);
        self.step(PeerMessage { kind, from, to, ..heartbeat.clone() })
    }
}

fn sent(effects: Vec<Effect>, kind: MessageKind) -> Vec<PeerMessage> {
    let messages = effects.into_iter().filter_map(|effect| match effect {
        Effect::Send(messages) => Some(messages),
        _ => None,
    });
    messages.flatten().filter(|message| message.kind == kind).collect()
}

fn confirmed(effects: &[Effect]) -> Option<Confirmed> {
    effects.iter().find_map(|effect| match effect {
        Effect::LeaderConfirmed(CONFIRMATION, Ok(confirmed)) => Some(*confirmed),
        _ => None,
    })
}

/// The reads that are answered: to whom, and by the number that this member knows its read by.
fn answered(effects: Vec<Effect>) -> Vec<(u64, Vec<u8>)> {
    let answers = sent(effects, MessageKind::ReadIndexResponse);
    answers.into_iter().map(|answer| (answer.to, answer.entries[0].data.clone())).collect()
}

/// A follower that has not heard the answer to its read asks again, by the same number. What the third member says late about the
/// first time confirms nothing that was asked in between: it may have voted for another leader since.
#[test]
fn late_answers_to_a_read_do_not_confirm_what_was_asked_after_it() {
    let mut alone = Alone::new();
    let [reader, third] = alone.others;
    let first = alone.read(reader, READ);
    let effects = alone.answer(reader, &first);
    assert_eq!(answered(effects), [(reader, READ.to_be_bytes().to_vec())]);

    alone.confirm();
    let second = alone.read(reader, READ);
    let late = alone.answer(third, &first);
    assert_eq!(confirmed(&late), None, "said before it was asked");
    let fresh = alone.answer(third, &second);
    assert!(confirmed(&fresh).is_some(), "said after it was asked");
    assert_eq!(answered(fresh), [(reader, READ.to_be_bytes().to_vec())], "the read is answered, too");
}

/// Each member numbers its questions itself, so a read of one may have the number of another's confirmation.
#[test]
fn answers_to_a_read_do_not_confirm_a_question_of_the_same_number() {
    let mut alone = Alone::new();
    let [reader, third] = alone.others;
    let read = alone.read(reader, CONFIRMATION);
    let effects = alone.answer(reader, &read);
    assert_eq!(answered(effects), [(reader, CONFIRMATION.to_be_bytes().to_vec())]);

    let round = alone.confirm();
    let late = alone.answer(third, &read);
    assert_eq!(confirmed(&late), None, "said before it was asked");
    let fresh = alone.answer(third, &round);
    assert!(confirmed(&fresh).is_some(), "said after it was asked");
}

/// A read that comes while a confirmation of the same number is under way is not taken for that one: both are answered.
#[test]
fn questions_of_the_same_number_are_each_answered() {
    let mut alone = Alone::new();
    let [reader, third] = alone.others;
    alone.confirm();
    let read = alone.read(reader, CONFIRMATION);
    let effects = alone.answer(third, &read);
    assert!(confirmed(&effects).is_some());
    assert_eq!(answered(effects), [(reader, CONFIRMATION.to_be_bytes().to_vec())]);
}
