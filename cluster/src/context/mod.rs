//! What the work of a node rests on: its groups and indices, what it knows, and the ways out of it.

pub mod abreast;
pub mod actors;
pub mod builds;
pub mod claims;
pub mod each_node;
pub mod integrity;
pub mod janitor;
pub mod proposer;
pub mod reports;
pub mod searches;
pub mod seen;
pub mod silence;
pub mod traffic;
pub mod trends;
pub mod user_writes;

use crate::context::abreast::Abreast;
use crate::context::actors::LeftReport;
use crate::context::builds::Builds;
use crate::context::claims::Claims;
use crate::context::integrity::Integrity;
use crate::context::janitor::JanitorHandle;
use crate::context::proposer::{Proposer, ProposerParts};
use crate::context::reports::Reports;
use crate::context::searches::Searches;
use crate::context::seen::Seen;
use crate::context::silence::Lagging;
use crate::context::traffic::Traffic;
use crate::context::trends::Trends;
use crate::context::user_writes::UserWrites;
use crate::disk::DiskGuard;
use crate::groups::{Group, Groups};
use crate::ids::IdSource;
use crate::meta::{MetaState, SharedMeta};
use crate::options::ServiceOptions;
use crate::rate_limit::RateLimiter;
use crate::request_log::{READERS, RequestLog};
use crate::rpc::peer_client::PeerClient;
use quorate_model::{Error, GroupId, IndexName, NodeId, ResourceKind, Result, level};
use quorate_node::Node;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

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
    /// What others served that this node could not serve.
    seen: Seen,
    /// When it was made, which is when the node started.
    started: Instant,
    /// Whether this node has had a lease of everything it should have.
    caught_up: AtomicBool,
    traffic: Traffic,
    user_writes: UserWrites,
    lagging: Lagging,
    abreast: Abreast,
    integrity: Integrity,
    builds: Builds,
    trends: Trends,
    claims: Claims,
    request_log: Option<RequestLog>,
    log_readers: Semaphore,
    mapping: LeftReport,
    rate_limiter: RateLimiter,
    searches: Searches,
    reports: Reports,
    take_over_s: u64,
    model_builds: Option<Duration>,
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
            seen: Seen::default(),
            started: Instant::now(),
            caught_up: AtomicBool::new(false),
            traffic: Traffic::default(),
            user_writes: UserWrites::default(),
            lagging: Lagging::default(),
            abreast: Abreast::default(),
            integrity,
            builds: Builds::default(),
            trends: Trends::default(),
            claims: Claims::default(),
            request_log: options.request_log.then(RequestLog::default),
            log_readers: Semaphore::new(READERS),
            mapping: LeftReport::default(),
            rate_limiter: RateLimiter::default(),
            searches: Searches::default(),
            reports: Reports::default(),
            take_over_s: options.take_over_s,
            model_builds: options.model_builds,
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
    /// What others served that this node could not serve.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }
    /// Since when the node runs.
    pub fn started(&self) -> Instant {
        self.started
    }
    /// The searches this node was asked for.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }
    /// The writes of users that are under way on this node.
    pub fn user_writes(&self) -> &UserWrites {
        &self.user_writes
    }
    /// The partitions that a change did not reach.
    pub fn lagging(&self) -> &Lagging {
        &self.lagging
    }
    /// Whether the meta group answers this node.
    pub fn abreast(&self) -> &Abreast {
        &self.abreast
    }
    /// What the checks of files and replicas found.
    pub fn integrity(&self) -> &Integrity {
        &self.integrity
    }
    /// The builds of models of recommendations.
    pub fn builds(&self) -> &Builds {
        &self.builds
    }
    /// What trends.
    pub fn trends(&self) -> &Trends {
        &self.trends
    }
    /// How the actor of the user mapping is.
    pub fn mapping_report(&self) -> &LeftReport {
        &self.mapping
    }
    /// Who waits for the place of another node.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }
    /// The calls that this node answered lately, unless it keeps none.
    pub fn request_log(&self) -> Option<&RequestLog> {
        self.request_log.as_ref()
    }
    /// The calls that keys still allow.
    pub fn rate_limiter(&self) -> &RateLimiter {
        &self.rate_limiter
    }
    /// The searches that this node has served, until they are counted.
    pub fn searches(&self) -> &Searches {
        &self.searches
    }
    /// Figures of searches that this node has made lately.
    pub fn reports(&self) -> &Reports {
        &self.reports
    }
    /// Who may merge the calls of all nodes just now.
    pub fn log_readers(&self) -> &Semaphore {
        &self.log_readers
    }
    /// After which time models are made anew at the latest; `None`: only when somebody asks.
    pub fn model_builds(&self) -> Option<Duration> {
        self.model_builds
    }
    /// Seconds of silence after which the place of a node may be taken.
    pub fn take_over_s(&self) -> u64 {
        self.take_over_s
    }
    /// Whether this node has been able to serve everything it should have at some time since its start.
    pub fn has_caught_up(&self) -> bool {
        self.caught_up.load(Ordering::Acquire)
    }
    /// Notes that it is able to now.
    pub fn note_caught_up(&self) {
        self.caught_up.store(true, Ordering::Release);
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
