//! What the work of a node rests on: its groups and indices, what it knows, and the ways out of it.

pub mod abreast;
pub mod actors;
pub mod builds;
pub mod calls;
pub mod claims;
pub mod each_node;
pub mod insights;
pub mod integrity;
pub mod janitor;
pub mod newest;
pub mod operations;
pub mod proposer;
pub mod readiness;
pub mod reports;
pub mod searches;
pub mod seen;
pub mod silence;
pub mod traffic;
pub mod trends;
pub mod user_writes;
pub mod users;

use crate::context::abreast::Abreast;
use crate::context::builds::Builds;
use crate::context::calls::Calls;
use crate::context::claims::Claims;
use crate::context::insights::Insights;
use crate::context::integrity::Integrity;
use crate::context::janitor::JanitorHandle;
use crate::context::newest::Newest;
use crate::context::operations::Operations;
use crate::context::proposer::{Proposer, ProposerParts};
use crate::context::readiness::Readiness;
use crate::context::reports::Reports;
use crate::context::searches::Searches;
use crate::context::seen::Seen;
use crate::context::trends::Trends;
use crate::context::users::Users;
use crate::disk::DiskGuard;
use crate::groups::{Group, Groups};
use crate::ids::IdSource;
use crate::meta::{MetaState, SharedMeta};
use crate::options::ServiceOptions;
use crate::rpc::peer_client::PeerClient;
use quorate_model::{Error, GroupId, IndexName, NodeId, ResourceKind, Result, level};
use quorate_node::Node;
use std::sync::Arc;

/// One node, as everything above its groups sees it.
pub struct NodeContext {
    self_id: NodeId,
    node: Node,
    groups: Arc<Groups>,
    meta: SharedMeta,
    ids: Arc<IdSource>,
    disk: Arc<DiskGuard>,
    peers: Arc<PeerClient>,
    proposer: Proposer,
    janitor: JanitorHandle,
    told_dictionaries: Newest<GroupId>,
    operations: Operations,
    seen: Seen,
    abreast: Abreast,
    readiness: Readiness,
    integrity: Integrity,
    claims: Claims,
    calls: Calls,
    insights: Insights,
    users: Users,
}

/// What is open before there is a context.
pub struct Opened {
    /// This node.
    pub self_id: NodeId,
    /// Its indices.
    pub node: Node,
    /// Its groups.
    pub groups: Arc<Groups>,
    /// The meta state as requests read it.
    pub meta: SharedMeta,
    /// The disk of the data folder.
    pub disk: DiskGuard,
}

impl NodeContext {
    /// Of a node that has just been opened.
    pub fn new(opened: Opened, options: &ServiceOptions) -> NodeContext {
        let Opened { self_id, node, groups, meta, disk } = opened;
        let (ids, disk, peers) = (Arc::new(IdSource::new(0)), Arc::new(disk), Arc::<PeerClient>::default());
        let proposer = Proposer::new(ProposerParts {
            self_id,
            groups: groups.clone(),
            meta: meta.clone(),
            ids: ids.clone(),
            disk: disk.clone(),
            peers: peers.clone(),
            index_limits: options.index_limits,
        });
        let integrity = Integrity::open(node.layout().damage(), options.files.clone());
        NodeContext {
            self_id,
            node,
            groups,
            meta,
            ids,
            disk,
            peers,
            proposer,
            janitor: JanitorHandle::default(),
            told_dictionaries: Newest::default(),
            operations: Operations::default(),
            seen: Seen::default(),
            abreast: Abreast::default(),
            readiness: Readiness::new(),
            integrity,
            claims: Claims::new(options.take_over_s),
            calls: Calls::new(options.request_log),
            insights: Insights {
                searches: Searches::default(),
                reports: Reports::default(),
                trends: Trends::default(),
                builds: Builds::new(options.model_builds),
            },
            users: Users::default(),
        }
    }
    /// This node.
    pub fn self_id(&self) -> NodeId {
        self.self_id
    }
    /// The indices.
    pub fn node(&self) -> &Node {
        &self.node
    }
    /// The groups of this node.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }
    /// The group with this number, if this node is a member. Errors: `Unavailable`.
    pub fn group(&self, id: GroupId) -> Result<Arc<Group>> {
        self.groups
            .get(id)
            .ok_or_else(|| Error::unavailable(format!("this node has no replica of group {id}")))
    }
    /// The group for a new index: one of this node's cluster.
    pub fn group_for(&self, name: &IndexName) -> Result<GroupId> {
        let meta = self.meta.load();
        let cluster = meta.nodes.get(&self.self_id).and_then(|row| meta.clusters.get(&row.cluster));
        let group = cluster.map(|cluster| meta.group_in(cluster.number, name));
        group.ok_or_else(|| Error::unavailable("this node has not joined its cluster yet"))
    }
    /// The catalogue and the keys as of now.
    pub fn meta(&self) -> Arc<MetaState> {
        self.meta.load_full()
    }
    /// The kinds of resources that indices can have as long as the level in force does not rise: what every node knows.
    pub fn resource_kinds(&self) -> Vec<ResourceKind> {
        level::kinds_at(self.meta.load().level())
    }
    /// What requests read of the catalogue and the keys.
    pub fn shared_meta(&self) -> &SharedMeta {
        &self.meta
    }
    /// Ids and times.
    pub fn ids(&self) -> &IdSource {
        &self.ids
    }
    /// The disk of the data folder.
    pub fn disk(&self) -> &DiskGuard {
        &self.disk
    }
    /// The way to the other nodes.
    pub fn peers(&self) -> &PeerClient {
        &self.peers
    }
    /// The way into the logs.
    pub fn proposer(&self) -> &Proposer {
        &self.proposer
    }
    /// Wakes the background work.
    pub fn janitor(&self) -> &JanitorHandle {
        &self.janitor
    }
    /// Which revision of the dictionaries this node is telling each group of.
    pub fn told_dictionaries(&self) -> &Newest<GroupId> {
        &self.told_dictionaries
    }
    /// The operations of indices that are under way on this node.
    pub fn operations(&self) -> &Operations {
        &self.operations
    }
    /// What others served that this node could not serve.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }
    /// Whether the meta group answers this node.
    pub fn abreast(&self) -> &Abreast {
        &self.abreast
    }
    /// How far the start of this node has got.
    pub fn readiness(&self) -> &Readiness {
        &self.readiness
    }
    /// What the checks of files and replicas found.
    pub fn integrity(&self) -> &Integrity {
        &self.integrity
    }
    /// Who waits for the place of another node.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }
    /// What calls leave behind.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }
    /// What is made of searches and events.
    pub fn insights(&self) -> &Insights {
        &self.insights
    }
    /// What goes on for users of a mapping.
    pub fn users(&self) -> &Users {
        &self.users
    }
    /// Nodes other than this one that may have a replica of a group, the best ones to ask for a read first: whoever served
    /// the last one, since another one may not show yet what that showed, then the leader.
    pub fn holders(&self, group: GroupId) -> Vec<NodeId> {
        let (leader, last) = (self.proposer.known_leader(group), self.seen.served_by(group));
        let mut holders: Vec<NodeId> = last.into_iter().chain(leader.filter(|_| leader != last)).collect();
        let wanted = self.meta.load().wanted(group);
        holders.extend(wanted.into_iter().filter(|node| Some(*node) != leader && Some(*node) != last));
        holders.retain(|node| *node != self.self_id);
        holders
    }
}
