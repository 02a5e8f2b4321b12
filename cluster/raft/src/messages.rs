//! What members say to each other: our own mirror of the consensus messages, so that only our framing meets the network.

use bytes::Bytes;
use quorate_model::limits;
use quorate_store::codec;
use raft::eraftpb;
use serde::{Deserialize, Serialize};

/// Bytes of a change of members inside an entry; the only protobuf that is decoded from what others sent.
pub const CONF_CHANGE_BYTES_MAX: usize = 4 << 10;
/// Bytes of an encoded message at most: a full append (1 MiB) beside one oversize entry.
pub const MESSAGE_BYTES_MAX: usize = limits::ENTRY_BYTES_MAX + (4 << 20);
/// Bytes of the snapshot description inside a message.
pub const SNAPSHOT_BYTES_MAX: usize = 1 << 20;

/// Why bytes or a message are refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The bytes are not a message.
    #[error("not a message: {0}")]
    Encoding(String),
    /// A part is over its limit.
    #[error("{0} is over its limit")]
    TooLarge(&'static str),
}

/// The kind of a message. Variants are appended, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum MessageKind {
    Append,
    AppendResponse,
    Vote,
    VoteResponse,
    Snapshot,
    Heartbeat,
    HeartbeatResponse,
    TransferLeader,
    TimeoutNow,
    ReadIndex,
    ReadIndexResponse,
    PreVote,
    PreVoteResponse,
}

/// The kind of an entry. Variants are appended, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum EntryKind {
    Normal,
    ConfChange,
}

/// An entry of the log on its way to another member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PeerEntry {
    pub kind: EntryKind,
    pub term: u64,
    pub log_index: u64,
    #[serde(with = "serde_bytes")]
    pub data: Vec<u8>,
    #[serde(with = "serde_bytes")]
    pub context: Vec<u8>,
}

/// The members of a group as of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PeerMembers {
    pub voters: Vec<u64>,
    pub learners: Vec<u64>,
    pub voters_outgoing: Vec<u64>,
    pub learners_next: Vec<u64>,
    pub auto_leave: bool,
}

/// A snapshot's description on its way to another member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PeerSnapshot {
    pub log_index: u64,
    pub term: u64,
    pub members: PeerMembers,
    #[serde(with = "serde_bytes")]
    pub data: Vec<u8>,
}

/// One consensus message of one group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct PeerMessage {
    pub kind: MessageKind,
    pub from: u64,
    pub to: u64,
    pub term: u64,
    pub log_term: u64,
    pub log_index: u64,
    pub commit: u64,
    pub commit_term: u64,
    pub request_snapshot: u64,
    pub reject: bool,
    pub reject_hint: u64,
    pub priority: i64,
    #[serde(with = "serde_bytes")]
    pub context: Vec<u8>,
    pub entries: Vec<PeerEntry>,
    pub snapshot: Option<PeerSnapshot>,
}

impl PeerMessage {
    /// The bytes of one message inside a frame of the peer connection.
    pub fn encode(&self) -> Vec<u8> {
        codec::encode(self)
    }
    /// Reads a message. Errors: `Encoding`; sizes of parts are checked by [`PeerMessage::into_raft`].
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        codec::decode(bytes, MESSAGE_BYTES_MAX).map_err(|e| MessageError::Encoding(e.to_string()))
    }

    /// Mirrors a message of the consensus library; `None` for kinds that never travel.
    pub(crate) fn from_raft(m: eraftpb::Message) -> Option<Self> {
        let kind = kind_from_raft(m.msg_type)?;
        // Every message carries the field, most of them an empty one.
        let snapshot = m.snapshot.into_option().filter(|s| !s.is_empty()).map(snapshot_from_raft);
        Some(PeerMessage {
            kind,
            from: m.from,
            to: m.to,
            term: m.term,
            log_term: m.log_term,
            log_index: m.index,
            commit: m.commit,
            commit_term: m.commit_term,
            request_snapshot: m.request_snapshot,
            reject: m.reject,
            reject_hint: m.reject_hint,
            priority: m.priority,
            context: m.context.to_vec(),
            entries: m.entries.into_iter().map(entry_from_raft).collect(),
            snapshot,
        })
    }

    /// Turns a received message into one of the consensus library.
    ///
    /// Errors: `TooLarge` for a change of members or a snapshot description over its limit.
    pub fn into_raft(self) -> Result<eraftpb::Message, MessageError> {
        let mut m = eraftpb::Message::default();
        m.msg_type = kind_into_raft(self.kind);
        m.from = self.from;
        m.to = self.to;
        m.term = self.term;
        m.log_term = self.log_term;
        m.index = self.log_index;
        m.commit = self.commit;
        m.commit_term = self.commit_term;
        m.request_snapshot = self.request_snapshot;
        m.reject = self.reject;
        m.reject_hint = self.reject_hint;
        m.priority = self.priority;
        m.context = self.context.into();
        let entries = self.entries.into_iter().map(entry_into_raft).collect::<Result<Vec<_>, _>>()?;
        m.entries = entries.into();
        if let Some(snapshot) = self.snapshot {
            m.set_snapshot(snapshot_into_raft(snapshot)?);
        }
        Ok(m)
    }
}

fn kind_from_raft(kind: eraftpb::MessageType) -> Option<MessageKind> {
    use eraftpb::MessageType as T;
    Some(match kind {
        T::MsgAppend => MessageKind::Append,
        T::MsgAppendResponse => MessageKind::AppendResponse,
        T::MsgRequestVote => MessageKind::Vote,
        T::MsgRequestVoteResponse => MessageKind::VoteResponse,
        T::MsgSnapshot => MessageKind::Snapshot,
        T::MsgHeartbeat => MessageKind::Heartbeat,
        T::MsgHeartbeatResponse => MessageKind::HeartbeatResponse,
        T::MsgTransferLeader => MessageKind::TransferLeader,
        T::MsgTimeoutNow => MessageKind::TimeoutNow,
        T::MsgReadIndex => MessageKind::ReadIndex,
        T::MsgReadIndexResp => MessageKind::ReadIndexResponse,
        T::MsgRequestPreVote => MessageKind::PreVote,
        T::MsgRequestPreVoteResponse => MessageKind::PreVoteResponse,
        // Proposals are never forwarded: a forwarded one could be appended twice and its answer lost.
        T::MsgPropose | T::MsgHup | T::MsgBeat | T::MsgUnreachable | T::MsgSnapStatus | T::MsgCheckQuorum => {
            return None;
        }
    })
}

fn kind_into_raft(kind: MessageKind) -> eraftpb::MessageType {
    use eraftpb::MessageType as T;
    match kind {
        MessageKind::Append => T::MsgAppend,
        MessageKind::AppendResponse => T::MsgAppendResponse,
        MessageKind::Vote => T::MsgRequestVote,
        MessageKind::VoteResponse => T::MsgRequestVoteResponse,
        MessageKind::Snapshot => T::MsgSnapshot,
        MessageKind::Heartbeat => T::MsgHeartbeat,
        MessageKind::HeartbeatResponse => T::MsgHeartbeatResponse,
        MessageKind::TransferLeader => T::MsgTransferLeader,
        MessageKind::TimeoutNow => T::MsgTimeoutNow,
        MessageKind::ReadIndex => T::MsgReadIndex,
        MessageKind::ReadIndexResponse => T::MsgReadIndexResp,
        MessageKind::PreVote => T::MsgRequestPreVote,
        MessageKind::PreVoteResponse => T::MsgRequestPreVoteResponse,
    }
}

fn entry_from_raft(e: eraftpb::Entry) -> PeerEntry {
    let kind = match e.entry_type {
        eraftpb::EntryType::EntryNormal => EntryKind::Normal,
        eraftpb::EntryType::EntryConfChange | eraftpb::EntryType::EntryConfChangeV2 => EntryKind::ConfChange,
    };
    PeerEntry { kind, term: e.term, log_index: e.index, data: e.data.to_vec(), context: e.context.to_vec() }
}

fn entry_into_raft(e: PeerEntry) -> Result<eraftpb::Entry, MessageError> {
    let mut entry = eraftpb::Entry::default();
    match e.kind {
        EntryKind::Normal if e.data.len() > limits::ENTRY_BYTES_MAX => {
            return Err(MessageError::TooLarge("an entry"));
        }
        EntryKind::Normal => entry.entry_type = eraftpb::EntryType::EntryNormal,
        EntryKind::ConfChange if e.data.len() > CONF_CHANGE_BYTES_MAX => {
            return Err(MessageError::TooLarge("a change of members"));
        }
        EntryKind::ConfChange => entry.entry_type = eraftpb::EntryType::EntryConfChangeV2,
    }
    entry.term = e.term;
    entry.index = e.log_index;
    entry.data = e.data.into();
    entry.context = e.context.into();
    Ok(entry)
}

fn snapshot_from_raft(mut s: eraftpb::Snapshot) -> PeerSnapshot {
    let mut metadata = s.take_metadata();
    let conf = metadata.take_conf_state();
    PeerSnapshot {
        log_index: metadata.index,
        term: metadata.term,
        members: PeerMembers {
            voters: conf.voters,
            learners: conf.learners,
            voters_outgoing: conf.voters_outgoing,
            learners_next: conf.learners_next,
            auto_leave: conf.auto_leave,
        },
        data: s.data.to_vec(),
    }
}

fn snapshot_into_raft(s: PeerSnapshot) -> Result<eraftpb::Snapshot, MessageError> {
    if s.data.len() > SNAPSHOT_BYTES_MAX {
        return Err(MessageError::TooLarge("a snapshot description"));
    }
    let PeerMembers { voters, learners, voters_outgoing, learners_next, auto_leave } = s.members;
    let mut conf = eraftpb::ConfState::default();
    conf.voters = voters;
    conf.learners = learners;
    conf.voters_outgoing = voters_outgoing;
    conf.learners_next = learners_next;
    conf.auto_leave = auto_leave;
    let mut snapshot = eraftpb::Snapshot::default();
    snapshot.data = Bytes::from(s.data);
    snapshot.mut_metadata().index = s.log_index;
    snapshot.mut_metadata().term = s.term;
    snapshot.mut_metadata().set_conf_state(conf);
    Ok(snapshot)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> PeerMessage {
        PeerMessage {
            kind: MessageKind::Append,
            from: 1,
            to: 2,
            term: 300,
            log_term: 4,
            log_index: 70_000,
            commit: 6,
            commit_term: 7,
            request_snapshot: 8,
            reject: true,
            reject_hint: 9,
            priority: -1,
            context: b"context".to_vec(),
            entries: vec![
                PeerEntry {
                    kind: EntryKind::Normal,
                    term: 4,
                    log_index: 5,
                    data: b"data".to_vec(),
                    context: vec![],
                },
                PeerEntry {
                    kind: EntryKind::ConfChange,
                    term: 4,
                    log_index: 6,
                    data: vec![],
                    context: b"c".to_vec(),
                },
            ],
            snapshot: Some(PeerSnapshot {
                log_index: 10,
                term: 3,
                members: PeerMembers {
                    voters: vec![1, 2],
                    learners: vec![3],
                    voters_outgoing: vec![1],
                    learners_next: vec![4],
                    auto_leave: true,
                },
                data: b"image".to_vec(),
            }),
        }
    }

    /// Members of different versions read each other: these bytes never change.
    #[test]
    fn golden_bytes() {
        let hex: String = message().encode().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "000102fb2c0104fc7011010006070801090107636f6e7465787402000405046461746100010406000163010a030201020103010101040105696d616765"
        );
        assert_eq!(PeerMessage::decode(&message().encode()), Ok(message()));
    }

    #[test]
    fn every_kind_that_travels_comes_back() {
        use eraftpb::MessageType as T;
        let local =
            [T::MsgPropose, T::MsgHup, T::MsgBeat, T::MsgUnreachable, T::MsgSnapStatus, T::MsgCheckQuorum];
        for number in 0.. {
            let Some(kind) = <T as protobuf::ProtobufEnum>::from_i32(number) else { break };
            match kind_from_raft(kind) {
                Some(ours) => assert_eq!(kind_into_raft(ours), kind),
                None => assert!(local.contains(&kind), "{kind:?} must travel"),
            }
        }
        let there = message().into_raft().unwrap();
        assert_eq!(PeerMessage::from_raft(there), Some(message()));
    }

    #[test]
    fn bad_bytes_and_oversize_parts_are_refused() {
        let bytes = message().encode();
        for cut in 0..bytes.len() {
            assert!(PeerMessage::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << bit;
                // Whatever comes out, nothing panics and nothing is larger than the bytes that came in.
                if let Ok(m) = PeerMessage::decode(&flipped) {
                    assert!(m.encode().len() <= bytes.len() + 8);
                    drop(m.into_raft());
                }
            }
        }
        let mut change = message();
        change.entries[1].data = vec![0; CONF_CHANGE_BYTES_MAX + 1];
        assert_eq!(change.into_raft().unwrap_err(), MessageError::TooLarge("a change of members"));
        let mut image = message();
        image.snapshot.as_mut().unwrap().data = vec![0; SNAPSHOT_BYTES_MAX + 1];
        assert_eq!(image.into_raft().unwrap_err(), MessageError::TooLarge("a snapshot description"));
    }

    /// RUSTSEC-2024-0437: every byte begins another group that nobody knows, inside the one before.
    #[test]
    fn no_change_of_members_is_nested_deeply_enough_to_overflow_a_stack() {
        use protobuf::Message as _;
        const GROUP_15_BEGINS: u8 = 15 << 3 | 3;
        let decode = || {
            let mut change = raft::eraftpb::ConfChangeV2::default();
            change.merge_from_bytes(&[GROUP_15_BEGINS; CONF_CHANGE_BYTES_MAX]).is_err()
        };
        let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(decode).expect("a thread");
        assert!(thread.join().expect("it ends"));
    }
}
