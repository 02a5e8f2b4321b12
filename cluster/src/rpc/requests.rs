//! What nodes ask each other, and what they answer. Variants are appended, never reused: nodes of two versions talk.

use crate::command::Joining;
use crate::disk::Purpose;
use crate::rate_limit::{Promise, Question, Report};
use crate::snapshot::SnapshotRequest;
use quorate_model::{ErrorKind, GroupId, NodeId, TaskId};
use quorate_raft::lease::{AskId, Grant};
use quorate_store::codec;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::collections::BTreeSet;

/// Bytes of an encoded request or answer at most; bounded by the lane already.
const BYTES_MAX: usize = 256 << 20;

/// A question to another node. The one who is asked never passes it on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PeerRequest {
    /// May this node join, or come back with other addresses?
    Join {
        /// Who asks.
        node: NodeId,
        /// How it introduces itself.
        joining: Joining,
        /// The peer addresses of the nodes without an installation that it has heard of.
        known: BTreeSet<String>,
    },
    /// Put these entries into the log of a group that you lead.
    Propose {
        /// The group.
        group: GroupId,
        /// What the write does to the disk.
        purpose: Purpose,
        /// The entries, in order, next to each other.
        entries: Vec<ByteBuf>,
        /// Milliseconds until the asker gives up.
        within_ms: u64,
    },
    /// Is this task published? For the leader of its group.
    IsPublished {
        /// The task.
        task: TaskId,
    },
    /// Do reads of your replica see the command at this place?
    IsVisible {
        /// The group.
        group: GroupId,
        /// The place of the command in its log.
        log_index: u64,
    },
    /// May I serve reads of these groups, which you lead? With the number of each question.
    Leases {
        /// The groups.
        asks: Vec<(GroupId, AskId)>,
    },
    /// A read of a group that the asker cannot serve, as JSON: see `calls`.
    Call {
        /// A `calls::CallEnvelope`.
        #[serde(with = "serde_bytes")]
        call: Vec<u8>,
    },
    /// A piece of a snapshot, or the list of its files.
    Snapshot(SnapshotRequest),
    /// How far are the groups you are a member of?
    Status,
    /// Am I a member of this group, which you lead?
    IsMember {
        /// The group.
        group: GroupId,
    },
    /// Hand the leadership of a group over to this node.
    TransferLeader {
        /// The group.
        group: GroupId,
        /// The next leader.
        to: NodeId,
    },
    /// Can you lead this group: apply its log and take its writes?
    MayLead {
        /// The group.
        group: GroupId,
    },
    /// Which is the admin key of the installation?
    AdminKey {
        /// Its SHA-256, as the asker knows it.
        digest: [u8; 32],
    },
    /// What does your replica of this group hold, as hashes of the last time it was checked?
    Digest {
        /// The group.
        group: GroupId,
    },
    /// Do all readers of this group, which you lead, go by dictionaries of this revision or later ones?
    GoesByDictionaries {
        /// The group.
        group: GroupId,
        /// The revision.
        revision: u64,
    },
    /// How far may I count calls by a counter whose home you are?
    Count(Question),
    /// So far are counters; what was promised to this slot is used or given back.
    Counts {
        /// The slot of the asker.
        slot: u64,
        /// The counters that have changed.
        reports: Vec<Report>,
    },
    /// Which counters do you know that the asker has to know?
    AllCounts,
}

/// The answer to a [`PeerRequest`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum PeerAnswer {
    /// To `Join`: it is a node of this installation now.
    Joined {
        /// The application id.
        app_id: String,
        /// The peer addresses of all nodes.
        addresses: Vec<(NodeId, String)>,
    },
    /// To `Join`: this node has no installation itself.
    NotFounded {
        /// The peer addresses of such nodes that it has heard of.
        known: BTreeSet<String>,
        /// The addresses that it was told to ask.
        told: BTreeSet<String>,
    },
    /// To `Propose`: in the log of a majority.
    Committed {
        /// Place of the last entry.
        log_index: u64,
    },
    /// To what only a leader can do: this node does not lead the group, but this one may.
    NotLeader {
        /// Who leads, as far as it is known.
        leader: Option<NodeId>,
    },
    /// To `IsPublished`, `IsVisible`, `IsMember`, `MayLead` and `GoesByDictionaries`.
    Truth(bool),
    /// To `Leases`: those that are granted.
    Granted(Vec<(GroupId, AskId, Grant)>),
    /// To `Call`: a `calls::Answered` as JSON.
    Called(#[serde(with = "serde_bytes")] Vec<u8>),
    /// To `Snapshot`.
    Bytes(#[serde(with = "serde_bytes")] Vec<u8>),
    /// To `Status` and `Digest`: JSON.
    Status(#[serde(with = "serde_bytes")] Vec<u8>),
    /// To what is done and has nothing to say.
    Done,
    /// It cannot be done.
    Failed {
        /// The kind of error.
        kind: ErrorKind,
        /// Its text.
        message: String,
        /// Whether it may have been done all the same.
        outcome_is_unknown: bool,
    },
    /// To `AdminKey`.
    AdminKey(AdminKeyText),
    /// To `Count`.
    Counted(Promise),
    /// To `AllCounts`.
    Counts(Vec<Report>),
}

/// The admin key, if the node that was asked has it. No log shows it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct AdminKeyText(pub Option<String>);

impl std::fmt::Debug for AdminKeyText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "an admin key" } else { "no admin key" })
    }
}

/// Bytes of a request.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    codec::encode(message)
}

/// A request from its bytes; `None` when they are none.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    codec::decode(bytes, BYTES_MAX).ok()
}
