//! What the transport counts for `/metrics`, by peer.

use crate::metrics::registered;
use prometheus::{IntCounter, IntCounterVec, Opts};
use quorate_model::NodeId;
use std::sync::LazyLock;

static BYTES: LazyLock<IntCounterVec> = LazyLock::new(|| {
    counter("quorate_peer_bytes_total", "Encrypted bytes between nodes, by peer.", &["peer", "direction"])
});
static FRAMES: LazyLock<IntCounterVec> = LazyLock::new(|| {
    counter("quorate_peer_frames_total", "Frames sent to a peer, by lane.", &["peer", "lane"])
});
static DROPPED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    counter("quorate_peer_dropped_total", "Consensus messages that could not be sent to a peer.", &["peer"])
});
static CONNECTIONS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    counter(
        "quorate_peer_connections_total",
        "Attempts to connect to a peer, by outcome.",
        &["peer", "outcome"],
    )
});

fn counter(name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    registered(IntCounterVec::new(Opts::new(name, help), labels).expect("a valid metric"))
}

/// The counters of one peer.
#[derive(Clone)]
pub struct PeerCounters {
    received: IntCounter,
    sent: IntCounter,
    /// Frames of consensus sent.
    pub consensus_frames: IntCounter,
    /// Frames of requests and answers sent.
    pub request_frames: IntCounter,
    /// Consensus messages dropped.
    pub dropped: IntCounter,
    /// Connections made.
    pub connected: IntCounter,
    /// Attempts to connect that failed.
    pub failed: IntCounter,
}

impl PeerCounters {
    /// Those of `node`.
    pub fn of(node: NodeId) -> Self {
        let peer = node.to_string();
        let peer = peer.as_str();
        PeerCounters {
            received: BYTES.with_label_values(&[peer, "received"]),
            sent: BYTES.with_label_values(&[peer, "sent"]),
            consensus_frames: FRAMES.with_label_values(&[peer, "consensus"]),
            request_frames: FRAMES.with_label_values(&[peer, "requests"]),
            dropped: DROPPED.with_label_values(&[peer]),
            connected: CONNECTIONS.with_label_values(&[peer, "connected"]),
            failed: CONNECTIONS.with_label_values(&[peer, "failed"]),
        }
    }
    /// Adds bytes that were received and sent.
    pub fn moved(&self, received: u64, sent: u64) {
        self.received.inc_by(received);
        self.sent.inc_by(sent);
    }
}
