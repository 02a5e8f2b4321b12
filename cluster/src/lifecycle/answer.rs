//! What this node does with what other nodes send: consensus messages go to their group, requests are answered.

use crate::clock::steady_ms;
use crate::clock::write_deadline;
use crate::command::Joining;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::context::claims::Claim;
use crate::context::proposer::Attempt;
use crate::controllers::call_counts;
use crate::controllers::lease_renewal;
use crate::controllers::reconciler;
use crate::disk::Purpose;
use crate::lifecycle::admin_key::AdminKeys;
use crate::lifecycle::bootstrap::{Heard, Seekers};
use crate::membership;
use crate::meta::NodeRow;
use crate::peer::{Lane, PeerHandler, PeerVersion};
use crate::read::serve;
use crate::rpc::requests::{AdminKeyText, PeerAnswer, PeerRequest, decode, encode};
use crate::snapshot::{SnapshotRequest, SnapshotStore};
use crate::write::tasks::{self, Question};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use quorate_model::{Error, ErrorKind, GroupId, NodeId, limits};
use quorate_raft::PeerMessage;
use serde_bytes::ByteBuf;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Answers the other nodes.
#[derive(Clone)]
pub struct Answerer {
    context: Arc<NodeContext>,
    snapshots: Arc<SnapshotStore>,
    seekers: Seekers,
    admin_keys: Arc<AdminKeys>,
}

impl Answerer {
    /// An answerer over the groups of this node. `seekers` is shared with the search for an installation.
    pub fn new(
        context: Arc<NodeContext>,
        snapshots: Arc<SnapshotStore>,
        seekers: Seekers,
        admin_keys: Arc<AdminKeys>,
    ) -> Self {
        Answerer { context, snapshots, seekers, admin_keys }
    }

    async fn answer_as_leader(&self, group: GroupId, question: Question) -> PeerAnswer {
        match self.context.groups().get(group) {
            Some(group) if group.is_led_here() => {
                PeerAnswer::Truth(question.answer_here(&self.context, &group).await)
            }
            Some(group) => PeerAnswer::NotLeader { leader: group.leader() },
            None => PeerAnswer::NotLeader { leader: None },
        }
    }

    async fn answer(&self, from: NodeId, request: PeerRequest) -> PeerAnswer {
        match request {
            PeerRequest::Join { node, joining, known } => self.join(from, node, joining, known).await,
            PeerRequest::Propose { group, purpose, entries, within_ms } => {
                self.propose(group, purpose, entries, within_ms).await
            }
            PeerRequest::IsPublished { task } => {
                self.answer_as_leader(task.group(), Question::IsPublished(task.log_index())).await
            }
            PeerRequest::GoesByDictionaries { group, revision } => {
                self.answer_as_leader(group, Question::GoesByDictionaries(revision)).await
            }
            PeerRequest::IsVisible { group, log_index } => {
                let group = self.context.groups().get(group);
                PeerAnswer::Truth(group.is_some_and(|it| tasks::is_visible(&self.context, &it, log_index)))
            }
            PeerRequest::Leases { asks } => {
                PeerAnswer::Granted(lease_renewal::grant(self.context.groups(), from, asks).await)
            }
            PeerRequest::IsMember { group } => match self.context.groups().get(group) {
                Some(group) if group.is_led_here() => {
                    PeerAnswer::Truth(group.raft.membership().contains(from.0))
                }
                Some(group) => PeerAnswer::NotLeader { leader: group.leader() },
                None => PeerAnswer::NotLeader { leader: None },
            },
            PeerRequest::TransferLeader { group, to } => match self.context.groups().get(group) {
                Some(group) if group.is_led_here() => match group.raft.transfer_leader(to.0) {
                    Ok(()) => PeerAnswer::Done,
                    Err(full) => failed(Error::unavailable(full.to_string())),
                },
                Some(group) => PeerAnswer::NotLeader { leader: group.leader() },
                None => PeerAnswer::NotLeader { leader: None },
            },
            PeerRequest::MayLead { group } => {
                let group = self.context.groups().get(group);
                PeerAnswer::Truth(group.is_some_and(|it| reconciler::may_lead(&self.context, &it)))
            }
            PeerRequest::AdminKey { digest } => self.admin_key(from, digest),
            PeerRequest::Snapshot(request) => self.snapshot(request).await,
            PeerRequest::Status => {
                let report = membership::own(&self.context).await;
                PeerAnswer::Status(serde_json::to_vec(&report).expect("a report always serialises"))
            }
            PeerRequest::Digest { group } => match self.context.integrity().digest(group) {
                Some(digest) => {
                    PeerAnswer::Status(serde_json::to_vec(&digest).expect("a digest always serialises"))
                }
                None => failed(Error::unavailable("the group has not been checked while it stood still")),
            },
            PeerRequest::Count(question) => {
                let promise = self.context.calls().rate_limiter.promise(from, &question).await;
                promise.map_or_else(failed, PeerAnswer::Counted)
            }
            PeerRequest::AllCounts => PeerAnswer::Counts(call_counts::known_for(&self.context, from)),
            PeerRequest::Counts { slot, reports } => {
                self.context.calls().rate_limiter.merge(from, slot, &reports);
                PeerAnswer::Done
            }
            PeerRequest::Call { call } => PeerAnswer::Called(serve::serve(&self.context, &call).await),
        }
    }

    /// Tells a node of the installation the admin key, not one that asks to be let in.
    fn admin_key(&self, from: NodeId, digest: [u8; 32]) -> PeerAnswer {
        let meta = self.context.meta();
        let is_present = meta.nodes.get(&from).is_some_and(NodeRow::is_present);
        let is_current = meta.installation.as_ref().is_some_and(|it| it.admin_key == digest);
        let key = if is_present && is_current { self.admin_keys.known(&digest) } else { None };
        PeerAnswer::AdminKey(AdminKeyText(key))
    }

    async fn snapshot(&self, request: SnapshotRequest) -> PeerAnswer {
        let store = self.snapshots.clone();
        // it reads files
        match tokio::task::spawn_blocking(move || store.answer(&request)).await {
            Ok(Ok(bytes)) => PeerAnswer::Bytes(bytes.to_vec()),
            Ok(Err(error)) => failed(error),
            Err(_) => failed(Error::internal("reading a snapshot failed")),
        }
    }

    async fn join(
        &self,
        from: NodeId,
        node: NodeId,
        joining: Joining,
        known: BTreeSet<String>,
    ) -> PeerAnswer {
        if from != node {
            return failed(Error::forbidden("a node can only join for itself"));
        }
        let meta = self.context.meta();
        let Some(installation) = &meta.installation else {
            return match self.seekers.note(known.into_iter().chain([joining.peer])) {
                Some(Heard { known, told }) => PeerAnswer::NotFounded { known, told },
                None => failed(Error::unavailable("this node is about to enter its installation")),
            };
        };
        if !meta.nodes.contains_key(&self.context.self_id()) {
            // whoever founds a cluster is its first node
            return failed(Error::unavailable("this node is about to enter its installation"));
        }
        if let Err(reason) = meta.admits_now(node, &joining) {
            return failed(Error::forbidden(reason.to_string()));
        }
        let entered = match meta.held_place(node, &joining) {
            Some(of) => {
                let claim = Claim { node, joining };
                membership::claim(&self.context, claim, of).await
            }
            None => {
                let add = MetaCommand::AddNode { node, joining };
                self.context.proposer().propose_meta(add, Purpose::Remove, write_deadline()).await.map(drop)
            }
        };
        if let Err(error) = entered {
            return failed(error);
        }
        let meta = self.context.meta();
        if meta.nodes.get(&node).is_none_or(|row| !row.is_present()) {
            return failed(Error::unavailable("another node has joined at the same moment; trying again"));
        }
        let address = |(id, row): (NodeId, &NodeRow)| (id, row.peer.clone());
        let addresses = meta.present_nodes().into_iter().map(address).collect();
        PeerAnswer::Joined { app_id: installation.app_id.clone(), addresses }
    }

    async fn propose(
        &self,
        group: GroupId,
        purpose: Purpose,
        entries: Vec<ByteBuf>,
        within_ms: u64,
    ) -> PeerAnswer {
        let within = Duration::from_millis(within_ms).min(Duration::from_secs(limits::WRITE_S));
        let entries = entries.into_iter().map(|entry| Bytes::from(entry.into_vec())).collect();
        match self.context.proposer().propose_here(group, entries, purpose, Instant::now() + within).await {
            Ok(log_index) => PeerAnswer::Committed { log_index },
            Err(Attempt::NotLeader(leader)) => PeerAnswer::NotLeader { leader },
            Err(Attempt::NoRoom(Error { kind, message, .. })) => {
                PeerAnswer::Failed { kind, message, outcome_is_unknown: false }
            }
            Err(Attempt::Failed(error)) => failed(error),
        }
    }
}

fn failed(error: Error) -> PeerAnswer {
    let outcome_is_unknown = error.kind == ErrorKind::Unavailable;
    PeerAnswer::Failed { kind: error.kind, message: error.message, outcome_is_unknown }
}

impl PeerHandler for Answerer {
    fn consensus(&self, _from: NodeId, messages: Vec<(GroupId, PeerMessage)>) {
        for (id, message) in messages {
            if id == GroupId::META {
                self.context.abreast().heard(&message, steady_ms());
            }
            // a group that does not run here yet, or no more: the sender will try again, or stop
            if let Some(group) = self.context.groups().get(id)
                && let Err(error) = group.raft.step(message)
            {
                tracing::warn!(group = id.0, %error, "a consensus message is refused");
            }
        }
    }
    fn request(&self, from: NodeId, _lane: Lane, request: Bytes) -> BoxFuture<'static, Bytes> {
        let answerer = self.clone();
        Box::pin(async move {
            let answer = match decode::<PeerRequest>(&request) {
                Some(request) => answerer.answer(from, request).await,
                None => failed(Error::invalid("this node does not know such a request")),
            };
            Bytes::from(encode(&answer))
        })
    }
    fn unreachable(&self, to: NodeId, groups: Vec<GroupId>) {
        for id in groups {
            if let Some(group) = self.context.groups().get(id) {
                let _told_again_later = group.raft.report_unreachable(to.0);
            }
        }
    }
    fn may_speak(&self, from: NodeId) -> bool {
        self.context.shared_meta().load().nodes.get(&from).is_none_or(NodeRow::is_present)
    }
    fn met(&self, peer: NodeId, version: &PeerVersion) {
        tracing::debug!(%peer, program = version.program, level = version.feature_level, "met a node");
    }
}
