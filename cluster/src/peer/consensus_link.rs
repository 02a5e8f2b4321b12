//! Which consensus messages wait for a peer, and which of them travel together.
//!
//! Hot path: one lock and one push a message on the thread of the groups; encoding happens on the transport's thread.

use super::connection::{End, Sink, Source};
use super::frame::{CONSENSUS_BATCH_BYTES, Frame};
use super::link::{Link, LinkError};
use super::metrics::PeerCounters;
use super::types::{Lane, LaneStatus, PeerLimits, PeerVersion};
use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use quorate_model::GroupId;
use quorate_raft::PeerMessage;
use quorate_raft::messages::{MESSAGE_BYTES_MAX, MessageKind};
use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long plain heartbeats wait for those of other groups: a twentieth of the time between two.
const GATHER: Duration = Duration::from_millis(10);
/// What a message weighs beside its entries.
const MESSAGE_BYTES: usize = 128;
/// What an entry weighs beside its data.
const ENTRY_BYTES: usize = 48;

/// Where a link stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There is a connection, or there will be when something is to be sent.
    Open,
    /// Connected.
    Connected,
    /// The last attempt failed a moment ago: nothing is kept.
    Down,
}

/// The consensus messages for one peer.
pub struct ConsensusLink {
    inner: Mutex<Inner>,
    wake: Notify,
    /// Wakes whoever reports what was dropped.
    dropped: Notify,
    limits: PeerLimits,
    counters: PeerCounters,
}

struct Inner {
    state: State,
    waiting: VecDeque<(GroupId, PeerMessage, usize)>,
    bytes: usize,
    /// Something other than plain heartbeats waits.
    is_urgent: bool,
    /// When the oldest one was queued.
    since: Option<Instant>,
    /// Groups that sent something over the present connection.
    talking: BTreeSet<GroupId>,
    unreachable: BTreeSet<GroupId>,
    dropped: u64,
}

impl ConsensusLink {
    /// A link without a connection.
    pub fn new(limits: PeerLimits, counters: PeerCounters) -> Self {
        let inner = Inner {
            state: State::Open,
            waiting: VecDeque::new(),
            bytes: 0,
            is_urgent: false,
            since: None,
            talking: BTreeSet::new(),
            unreachable: BTreeSet::new(),
            dropped: 0,
        };
        ConsensusLink {
            inner: Mutex::new(inner),
            wake: Notify::new(),
            dropped: Notify::new(),
            limits,
            counters,
        }
    }

    /// Queues a message, or drops it when there is no connection to be had or no room.
    pub fn send(&self, group: GroupId, message: PeerMessage) {
        let weight = weight(&message);
        let mut inner = self.inner.lock();
        let has_room = inner.waiting.len() < self.limits.consensus_messages_max
            && (inner.waiting.is_empty() || inner.bytes + weight <= self.limits.consensus_bytes_max);
        if inner.state == State::Down || !has_room {
            self.drop_messages(&mut inner, 1, [group]);
            return;
        }
        inner.is_urgent |= is_urgent(&message);
        inner.since.get_or_insert_with(Instant::now);
        inner.bytes += weight;
        inner.waiting.push_back((group, message, weight));
        inner.talking.insert(group);
        drop(inner);
        self.wake.notify_one();
    }

    fn drop_messages(&self, inner: &mut Inner, count: u64, groups: impl IntoIterator<Item = GroupId>) {
        inner.dropped += count;
        self.counters.dropped.inc_by(count);
        inner.unreachable.extend(groups);
        self.dropped.notify_one();
    }

    /// Waits until messages have been dropped, and returns their groups.
    pub async fn unreachable(&self) -> Vec<GroupId> {
        loop {
            let groups = std::mem::take(&mut self.inner.lock().unreachable);
            if !groups.is_empty() {
                return groups.into_iter().collect();
            }
            self.dropped.notified().await;
        }
    }

    /// Messages dropped so far.
    pub fn dropped(&self) -> u64 {
        self.inner.lock().dropped
    }
}

/// About how many bytes a message has on the wire, and at least how many.
fn weight(message: &PeerMessage) -> usize {
    let entries: usize = message.entries.iter().map(|e| ENTRY_BYTES + e.data.len() + e.context.len()).sum();
    let snapshot = message.snapshot.as_ref().map_or(0, |s| s.data.len() + 1_024);
    MESSAGE_BYTES + message.context.len() + entries + snapshot
}

/// Whether somebody waits for it: all but the heartbeats that only say "still here".
fn is_urgent(message: &PeerMessage) -> bool {
    let is_heartbeat = matches!(message.kind, MessageKind::Heartbeat | MessageKind::HeartbeatResponse);
    !is_heartbeat || !message.context.is_empty()
}

impl Source for ConsensusLink {
    async fn ready(&self) {
        loop {
            let gathered_at = {
                let inner = self.inner.lock();
                if inner.is_urgent {
                    return;
                }
                inner.since.map(|since| since + GATHER)
            };
            match gathered_at {
                None => self.wake.notified().await,
                Some(at) if at <= Instant::now() => return,
                Some(at) => tokio::select! {
                    () = self.wake.notified() => {}
                    () = tokio::time::sleep_until(at.into()) => {}
                },
            }
        }
    }

    fn fill(&self, out: &mut BytesMut) {
        let mut batch = vec![];
        {
            let mut inner = self.inner.lock();
            let mut bytes = 0;
            while bytes < CONSENSUS_BATCH_BYTES
                && let Some((group, message, weight)) = inner.waiting.pop_front()
            {
                bytes += weight;
                batch.push((group, message));
            }
            inner.bytes -= bytes;
            if inner.waiting.is_empty() {
                inner.is_urgent = false;
                inner.since = None;
            }
        }
        let mut encoded = Vec::with_capacity(batch.len());
        for (group, message) in batch {
            let bytes = message.encode();
            if bytes.len() > MESSAGE_BYTES_MAX {
                tracing::error!(%group, bytes = bytes.len(), "a consensus message is over its limit and was dropped");
                self.drop_messages(&mut self.inner.lock(), 1, [group]);
                continue;
            }
            encoded.push((group, Bytes::from(bytes)));
        }
        if !encoded.is_empty() {
            self.counters.consensus_frames.inc();
            Frame::Consensus(encoded).put(out);
        }
    }
}

impl Link for ConsensusLink {
    fn lane(&self) -> Lane {
        Lane::Consensus
    }
    fn status(&self) -> LaneStatus {
        let inner = self.inner.lock();
        LaneStatus {
            lane: Lane::Consensus,
            connected: inner.state == State::Connected,
            queued_messages: inner.waiting.len(),
            queued_bytes: inner.bytes,
        }
    }
    fn opened(&self) {
        self.inner.lock().state = State::Open;
    }
    fn connected(&self, _to: &PeerVersion) {
        self.inner.lock().state = State::Connected;
    }
    fn lost(&self) {
        let mut inner = self.inner.lock();
        inner.state = State::Open;
        // what was under way is gone, and nobody knows how much of it arrived
        let talking = std::mem::take(&mut inner.talking);
        self.drop_messages(&mut inner, 0, talking);
    }
    fn failed(&self, _error: &LinkError) {
        let mut inner = self.inner.lock();
        inner.state = State::Down;
        let count = inner.waiting.len() as u64;
        let groups: BTreeSet<GroupId> = inner.waiting.drain(..).map(|(group, ..)| group).collect();
        (inner.bytes, inner.is_urgent, inner.since) = (0, false, None);
        self.drop_messages(&mut inner, count, groups);
    }
    fn sink(&self) -> impl Sink {
        NothingComes
    }
}

/// The dialling side of a consensus connection hears nothing but pongs.
struct NothingComes;
impl Sink for NothingComes {
    fn take(&mut self, _frame: Frame) -> Result<(), End> {
        Err(End::ProtocolError("it answered on a connection without answers".into()))
    }
}
