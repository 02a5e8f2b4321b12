//! What members send each other, what the network makes of it, and what a promise must rest on.

use super::leases::LeaseMessage;
use super::{Event, World};
use crate::mutant::Mutant;
use quorate_raft::PeerMessage;
use quorate_raft::effects::{Delivery, Input};
use quorate_raft::messages::MessageKind;

/// Something on its way.
#[derive(Clone, Debug)]
pub enum Packet {
    Consensus(Vec<u8>),
    Lease { from: u64, message: LeaseMessage },
}

impl World {
    pub(super) fn send(&mut self, from: u64, message: PeerMessage) {
        self.note(message.term << 8 | message.kind as u64);
        self.check_promise(from, &message);
        if self.is(Mutant::MixesRounds) && message.kind == MessageKind::Heartbeat {
            self.rounds.insert((from, question(&message.context)), message.context.clone());
        }
        let to = message.to;
        let is_snapshot = message.kind == MessageKind::Snapshot;
        let arrives = self.transmit(from, to, Packet::Consensus(message.encode()));
        if is_snapshot && self.reports_snapshots {
            let (outcome, delay) = match arrives {
                Some(delay) => (Delivery::Arrived, delay),
                None => (Delivery::Failed, self.climate.delay_ms_max),
            };
            self.at(delay + 20, Event::SnapshotSent { from, to, outcome });
        }
    }

    /// Sends something off; returns when it arrives, if ever. It may arrive twice, and later than what is sent after it.
    pub(super) fn transmit(&mut self, from: u64, to: u64, packet: Packet) -> Option<u64> {
        if !self.machines.contains_key(&to) {
            return None;
        }
        let is_lost = self.cut.contains(&(from, to)) || self.chance.per_mille(self.climate.lose);
        let delay = self.chance.between(1, self.climate.delay_ms_max);
        if is_lost {
            return None;
        }
        if self.chance.per_mille(self.climate.duplicate) {
            // Mostly soon, sometimes long after anyone expects it.
            let later_max = if self.chance.per_mille(100) { 8_000 } else { 500 };
            let again = delay + self.chance.below(later_max);
            self.at(again, Event::Deliver { member: to, packet: packet.clone() });
        }
        self.at(delay, Event::Deliver { member: to, packet });
        Some(delay)
    }

    pub(super) fn deliver(&mut self, to: u64, packet: Packet) {
        if self.machines[&to].core.is_none() {
            return;
        }
        match packet {
            Packet::Consensus(bytes) => {
                let mut message = PeerMessage::decode(&bytes).expect("own bytes decode");
                if self.is(Mutant::MixesRounds)
                    && message.kind == MessageKind::HeartbeatResponse
                    && let Some(last) = self.rounds.get(&(to, question(&message.context)))
                {
                    message.context = last.clone();
                }
                let message = message.into_raft().expect("own messages are within limits");
                self.input(to, Input::Step(Box::new(message)));
            }
            Packet::Lease { from, message } => self.lease_message(to, from, message),
        }
    }

    /// What a member promises must be on its disk, or was there until it heard of a later term: a promise that leaves late
    /// is one that travels long.
    fn check_promise(&mut self, from: u64, message: &PeerMessage) {
        let machine = self.machine(from);
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
                    stored.last >= message.log_index || stored.hard_state.term > message.term,
                    "member {from} confirms entries that are not durable"
                );
            }
            MessageKind::Vote | MessageKind::Append | MessageKind::Heartbeat => {
                assert!(
                    stored.hard_state.term >= message.term,
                    "member {from} uses a term that is not durable"
                );
                machine.told_term = machine.told_term.max(stored.hard_state.term);
            }
            _ => {}
        }
    }

    /// Cuts a member off from all others.
    pub fn isolate(&mut self, member: u64) {
        let others: Vec<_> = self.machines.keys().copied().filter(|id| *id != member).collect();
        self.cut.extend(others.iter().flat_map(|other| [(member, *other), (*other, member)]));
    }
}

/// What a round is about, whichever round it is: the number of the question, at its end.
fn question(context: &[u8]) -> Vec<u8> {
    context[context.len().saturating_sub(8)..].to_vec()
}
