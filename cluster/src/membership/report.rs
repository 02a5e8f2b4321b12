//! What a node says of itself: its health, its disk, its searches and how far its replicas are. Nodes send it to each other as
//! JSON; members that one of two versions does not have are left out, or ignored.

use crate::context::NodeContext;
use crate::context::actors::ActorReport;
use crate::context::claims::Claim;
use crate::context::silence::silent_s;
use crate::context::traffic::QueryFigures;
use crate::disk::Purpose;
use crate::groups::Group;
use crate::metrics;
use crate::panics;
use crate::read;
use crate::read::health;
use crate::types::Finding;
use quorate_model::{GroupId, NodeId};
use quorate_raft::{Membership, Role, StateCopy, Status};
use quorate_store::space;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How a node is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeReport {
    /// The version of its program.
    pub version: String,
    /// Seconds since it started.
    pub up_s: u64,
    /// Bytes of its log on disk.
    pub log_bytes: u64,
    /// Free bytes of the disk of its data folder.
    pub disk_free_bytes: u64,
    /// Bytes of that disk in all.
    pub disk_total_bytes: u64,
    /// What keeps it from serving reads.
    pub reads: Vec<String>,
    /// What keeps it from taking writes.
    pub writes: Vec<String>,
    /// What will keep it from one or the other if nothing is done.
    pub warnings: Vec<String>,
    /// Whether its disk is too full for another write.
    pub has_full_disk: bool,
    /// Whether it is too full for anything, so that the log stands still. Nodes of earlier programs do not say so.
    pub is_full_to_the_brim: bool,
    /// The searches it was asked for.
    pub queries: QueryFigures,
    /// Panics since it started: defects that were contained.
    pub panics: u64,
    /// Damaged files, and what its replicas hold otherwise than others.
    pub findings: Vec<Finding>,
    /// Its replicas, the meta group's first.
    pub replicas: Vec<ReplicaReport>,
    /// Seconds for which it has heard nothing of other nodes, or since it started itself.
    pub silent_s: BTreeMap<NodeId, u64>,
    /// Nodes with empty folders that want the places of others.
    pub claims: Vec<Claim>,
    /// Seconds for which the oldest operation of an index has been under way there. Nodes of earlier programs do not say it.
    pub oldest_operation_s: Option<u64>,
    /// How its actors are, those of consensus apart: earlier programs do not know of that kind and would not read the rest.
    pub actors: Vec<ActorReport>,
    /// How the consensus of each of its groups is.
    pub consensus: Vec<ActorReport>,
}

/// How far one replica is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaReport {
    /// Its group.
    pub group: GroupId,
    /// Its part in consensus.
    pub role: MemberRole,
    /// The term.
    pub term: u64,
    /// Who leads, as far as it knows.
    pub leader: Option<NodeId>,
    /// First index that its log still has.
    pub first: u64,
    /// Last index of its log.
    pub last: u64,
    /// Through where it knows entries to be committed.
    pub committed: u64,
    /// Through where it has applied.
    pub applied: u64,
    /// Through where its reads see everything.
    pub shown: u64,
    /// Whether it may serve reads now.
    pub has_lease: bool,
    /// The members that vote.
    pub voters: Vec<NodeId>,
    /// The members that only follow.
    pub learners: Vec<NodeId>,
    /// Whether a change of members is half through.
    pub is_changing: bool,
    /// Why it applies nothing more; `None` while it does.
    #[serde(default)]
    pub halted: Option<String>,
    /// What it has of the state; `None` from a program that does not say it.
    #[serde(default)]
    pub copy: Option<CopyReport>,
    /// The index of the change that made the members what they are; 0 from a program that does not say it.
    #[serde(default)]
    pub members_since: u64,
    /// The members that lack something that is committed, as far as the leader knows; of any other replica none.
    #[serde(default)]
    pub behind: Vec<NodeId>,
}

/// What a replica has of the state of its group. Programs of all levels know these two, and no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CopyReport {
    /// All of it, durably.
    Whole,
    /// Part of it is on its way, or is known not to be what it should be: nobody may go on account of it.
    Fetching,
}

/// What consensus does not know of a replica.
pub(super) struct Local {
    /// What its state machine has applied.
    pub applied: u64,
    /// What reads see of that.
    pub shown: u64,
    /// Whether it may serve reads.
    pub has_lease: bool,
    /// Whether what it holds is what it should be, as far as it was looked at.
    pub is_sound: bool,
    /// Why it stands still, if it does.
    pub halted: Option<String>,
}

impl ReplicaReport {
    /// What a replica says of itself.
    pub(super) fn of(group: GroupId, status: &Status, members: &Membership, local: Local) -> ReplicaReport {
        let ids = |members: &[u64]| members.iter().copied().map(NodeId).collect();
        let behind = members.followers.iter().filter(|it| !it.has_committed);
        ReplicaReport {
            group,
            role: match status.role {
                Role::Leader => MemberRole::Leader,
                Role::Follower => MemberRole::Follower,
                Role::Candidate => MemberRole::Candidate,
            },
            term: status.term,
            leader: status.leader.map(NodeId),
            first: status.first_index,
            last: status.last_index,
            committed: status.committed,
            applied: local.applied,
            shown: local.shown,
            has_lease: local.has_lease,
            halted: local.halted,
            voters: ids(&members.voters),
            learners: ids(&members.learners),
            is_changing: members.is_joint,
            copy: match status.copy {
                _ if !local.is_sound => Some(CopyReport::Fetching),
                StateCopy::Whole { .. } => Some(CopyReport::Whole),
                StateCopy::Fetching => Some(CopyReport::Fetching),
                StateCopy::Unknown => None,
            },
            members_since: members.since,
            behind: behind.map(|it| NodeId(it.member)).collect(),
        }
    }
    /// Whether this is a full copy: the whole state, durable, with nothing on its way. Of an older program that is known only
    /// while it has applied all that it knows to be committed.
    pub fn is_full(&self) -> bool {
        match self.copy {
            Some(CopyReport::Whole) => true,
            Some(CopyReport::Fetching) => false,
            None => self.applied > 0 && self.applied >= self.committed,
        }
    }
}

/// The part of a member in consensus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberRole {
    /// It orders the writes.
    Leader,
    /// It follows one that does.
    Follower,
    /// It asks for votes.
    Candidate,
}

/// How this node is. Cost: a look at the files of the log.
pub async fn own(context: &NodeContext) -> NodeReport {
    let layout = context.node().layout().clone();
    let on_disk = tokio::task::spawn_blocking(move || {
        let total = space::of(layout.root()).map_or(0, |space| space.total_bytes);
        (metrics::bytes_below(&layout.raft()), total)
    });
    // a look at the disk that fails is no reason to say nothing
    let (log_bytes, disk_total_bytes) = on_disk.await.unwrap_or_default();
    let health = health::of(context);
    NodeReport {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        up_s: context.readiness().up().as_secs(),
        log_bytes,
        disk_free_bytes: context.disk().free_bytes(),
        disk_total_bytes,
        reads: health.reads,
        writes: health.writes,
        warnings: health.warnings,
        has_full_disk: context.disk().admit(Purpose::Add).is_err(),
        is_full_to_the_brim: context.disk().admit(Purpose::Remove).is_err(),
        queries: context.calls().traffic.figures(),
        panics: panics::count(),
        findings: context.integrity().findings(),
        replicas: context.groups().all().iter().map(|group| replica(context, group)).collect(),
        silent_s: silent_s(context),
        claims: context.claims().waiting(),
        oldest_operation_s: Some(context.operations().oldest().as_secs()),
        actors: context.actor_reports(),
        consensus: context.consensus_reports(),
    }
}

fn replica(context: &NodeContext, group: &Group) -> ReplicaReport {
    // before what is committed, or it could seem to be ahead of that
    let shown = group.visible_through(context.node());
    let applied = *group.applied.borrow();
    let (status, membership) = (group.status(), group.raft.membership());
    let local = Local {
        applied,
        shown,
        has_lease: match group.id {
            GroupId::META => group.leases.may_read(|_| shown),
            id => read::is_readable(context, id),
        },
        is_sound: context.integrity().is_sound(group.id) && !context.node().lacks_files(group.id),
        halted: group.halt.reason().map(str::to_owned),
    };
    ReplicaReport::of(group.id, &status, &membership, local)
}
