//! Does the transport keep its promises over loopback? Harness: nodes of one process, and fake ones that misbehave.

mod fake;
mod pressure;
mod protocol;
mod refusals;
mod talk;

use super::{ClusterSecret, Lane, PeerError, PeerHandler, PeerLimits, PeerOptions, PeerVersion, Peers};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use quorate_model::{GroupId, NodeId};
use quorate_raft::PeerMessage;
use quorate_raft::messages::{EntryKind, MessageKind, PeerEntry};
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a test waits for something before it fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A number no other test uses: metrics are counted by it.
fn node_id() -> NodeId {
    static NEXT: AtomicU64 = AtomicU64::new(1_000);
    NodeId(NEXT.fetch_add(1, Ordering::Relaxed))
}

fn soon() -> Instant {
    Instant::now() + PATIENCE
}

fn secret() -> ClusterSecret {
    ClusterSecret::from_bytes([3; 32])
}

/// Notes what arrives, and answers requests as their first byte says.
#[derive(Default)]
struct Recorder {
    messages: Mutex<Vec<(NodeId, GroupId, PeerMessage, Instant)>>,
    unreachable: Mutex<Vec<(NodeId, BTreeSet<GroupId>)>>,
    met: Mutex<Vec<NodeId>>,
    removed: Mutex<BTreeSet<NodeId>>,
    running: Arc<AtomicU64>,
}

/// Counts while it lives.
struct Running(Arc<AtomicU64>);
impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl PeerHandler for Recorder {
    fn consensus(&self, from: NodeId, messages: Vec<(GroupId, PeerMessage)>) {
        let now = Instant::now();
        self.messages.lock().extend(messages.into_iter().map(|(group, message)| (from, group, message, now)));
    }
    fn request(&self, _from: NodeId, _lane: Lane, request: Bytes) -> BoxFuture<'static, Bytes> {
        self.running.fetch_add(1, Ordering::SeqCst);
        let running = Running(self.running.clone());
        let first = request.first().copied();
        async move {
            let _running = running;
            match first {
                // like a panic, without the report that takes seconds
                Some(b'!') => std::panic::resume_unwind(Box::new("asked to")),
                Some(b'~') => std::future::pending().await,
                Some(b'#') => vec![b'#'; 1 << 20].into(),
                _ => request,
            }
        }
        .boxed()
    }
    fn unreachable(&self, to: NodeId, groups: Vec<GroupId>) {
        self.unreachable.lock().push((to, groups.into_iter().collect()));
    }
    fn may_speak(&self, from: NodeId) -> bool {
        !self.removed.lock().contains(&from)
    }
    fn met(&self, peer: NodeId, _version: &PeerVersion) {
        self.met.lock().push(peer);
    }
}

/// One node of a test.
struct Node {
    id: NodeId,
    address: String,
    peers: Peers,
    heard: Arc<Recorder>,
}

impl Drop for Node {
    fn drop(&mut self) {
        self.peers.stop();
    }
}

/// The ordinary bounds, with patience for a machine that does much else.
fn limits() -> PeerLimits {
    PeerLimits {
        ping_every: Duration::from_secs(4),
        connect_within: Duration::from_secs(10),
        ..PeerLimits::default()
    }
}

/// Bounds that notice silence soon; too soon for a busy machine, when nothing may be lost.
fn impatient() -> PeerLimits {
    PeerLimits { ping_every: Duration::from_millis(100), ..limits() }
}

fn options(id: NodeId) -> PeerOptions {
    PeerOptions {
        node: id,
        secret: secret(),
        also: None,
        listener: TcpListener::bind("127.0.0.1:0").unwrap(),
        version: PeerVersion::of_this_program(1),
        installation: None,
        limits: limits(),
    }
}

fn start(options: PeerOptions) -> Node {
    let (id, address) = (options.node, options.listener.local_addr().unwrap().to_string());
    let heard = Arc::new(Recorder::default());
    let peers = Peers::start(options, heard.clone()).unwrap();
    Node { id, address, peers, heard }
}

/// Nodes that know each other's addresses.
fn nodes<const N: usize>(limits: PeerLimits) -> [Node; N] {
    let nodes = std::array::from_fn(|_| start(PeerOptions { limits, ..options(node_id()) }));
    introduce(&nodes.each_ref());
    nodes
}

fn introduce(nodes: &[&Node]) {
    let all: BTreeMap<NodeId, String> = nodes.iter().map(|node| (node.id, node.address.clone())).collect();
    for node in nodes {
        node.peers.set_addresses(all.clone());
    }
}

impl Node {
    async fn ask(&self, to: &Node, request: &[u8]) -> Result<Bytes, PeerError> {
        self.ask_until(to, request, soon()).await
    }
    async fn ask_until(&self, to: &Node, request: &[u8], deadline: Instant) -> Result<Bytes, PeerError> {
        self.peers.ask(to.id, Lane::Requests, Bytes::copy_from_slice(request), deadline).await
    }
    fn say(&self, to: NodeId, group: u16, message: PeerMessage) {
        use quorate_raft::Outbox;
        self.peers.send(GroupId(group), vec![PeerMessage { from: self.id.0, to: to.0, ..message }]);
    }
    /// Whether it has complained about something with these words.
    fn has_complained(&self, part: &str) -> bool {
        self.peers.complaints().iter().any(|text| text.contains(part))
    }
}

/// A message with this number and `bytes` of an entry.
fn message(log_index: u64, bytes: usize) -> PeerMessage {
    let entry =
        PeerEntry { kind: EntryKind::Normal, term: 1, log_index, data: vec![7; bytes], context: vec![] };
    PeerMessage {
        kind: MessageKind::Append,
        from: 0,
        to: 0,
        term: 1,
        log_term: 1,
        log_index,
        commit: 0,
        commit_term: 0,
        request_snapshot: 0,
        reject: false,
        reject_hint: 0,
        priority: 0,
        context: vec![],
        entries: if bytes > 0 { vec![entry] } else { vec![] },
        snapshot: None,
    }
}

/// Waits until `holds`. Panics with `what` when it does not within the patience of a test.
async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = soon();
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Asks until there is an answer: a connection may have to be made first.
async fn reaches(from: &Node, to: &Node) {
    let deadline = soon();
    loop {
        match from.ask(to, b"hello").await {
            Ok(answer) => return assert_eq!(answer, "hello"),
            Err(error) => assert!(Instant::now() < deadline, "no answer: {error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
