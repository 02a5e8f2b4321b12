//! What this node is to its peers, and what it knows of each of them.

use super::complaints::Complaints;
use super::greetings::Greetings;
use super::hello::{Hello, Purpose};
use super::metrics::PeerCounters;
use super::tls::Identity;
use super::traffic::Traffic;
use super::types::{PeerHandler, PeerLimits, PeerVersion};
use crate::clock;
use parking_lot::{Mutex, RwLock};
use quorate_model::NodeId;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// This node, as its connections need it.
pub struct Local {
    /// Its number.
    pub node: NodeId,
    /// A number that no other start of it has.
    pub life: u64,
    /// Its certificate.
    pub identity: Identity,
    /// What it announces.
    pub version: PeerVersion,
    /// The application id, once known.
    pub installation: RwLock<Option<String>>,
    /// The bounds.
    pub limits: PeerLimits,
    /// What it does with what arrives.
    pub handler: Arc<dyn PeerHandler>,
    /// What was logged already.
    pub complaints: Complaints,
    /// Who may come in, and from where nodes come.
    pub greetings: Greetings,
    /// Ends everything.
    pub stopped: CancellationToken,
}

impl Local {
    /// Its greeting at the beginning of a connection.
    pub fn hello(&self, purpose: Purpose) -> Hello {
        let PeerVersion { protocol_lowest, protocol_highest, feature_level, program } = self.version.clone();
        Hello {
            protocol_lowest,
            protocol_highest,
            node: self.node,
            purpose: purpose.number(),
            feature_level,
            program,
            installation: self.installation.read().clone(),
            unix_ms: clock::unix_ms(),
            extra: vec![Hello::of_life(self.life)],
        }
    }
}

/// What is known of a peer, over all connections with it.
pub struct Known {
    facts: Mutex<Facts>,
    /// Its row of the metrics.
    pub counters: PeerCounters,
}

/// The changing part of [`Known`].
#[derive(Clone, Default)]
pub struct Facts {
    /// When something last arrived.
    pub heard: Option<Instant>,
    /// Of the last ping.
    pub round_trip: Option<Duration>,
    /// As of the last greeting.
    pub clock_ahead_ms: Option<i64>,
    /// What it announced.
    pub version: Option<PeerVersion>,
    /// Why it could not be reached.
    pub failure: Option<String>,
}

impl Known {
    /// Of a peer that was not met yet.
    pub fn new(node: NodeId) -> Self {
        Known { facts: Mutex::default(), counters: PeerCounters::of(node) }
    }
    /// A copy of it.
    pub fn facts(&self) -> Facts {
        self.facts.lock().clone()
    }
    /// Notes a greeting.
    pub fn met(&self, version: &PeerVersion, clock_ahead_ms: i64) {
        let mut facts = self.facts.lock();
        facts.heard = Some(Instant::now());
        facts.version = Some(version.clone());
        facts.clock_ahead_ms = Some(clock_ahead_ms);
    }
    /// Notes how an attempt to reach it ended.
    pub fn reached(&self, failure: Option<String>) {
        self.facts.lock().failure = failure;
    }
    /// Notes the time a ping took.
    pub fn round_trip(&self, round_trip: Duration) {
        self.facts.lock().round_trip = Some(round_trip);
    }
    /// Adds what a connection moved since `before`, and returns what it has moved by now.
    pub fn count(&self, traffic: &Traffic, before: (u64, u64)) -> (u64, u64) {
        let now = traffic.bytes();
        self.counters.moved(now.0 - before.0, now.1 - before.1);
        if let Some(heard) = Instant::now().checked_sub(traffic.silence()) {
            let mut facts = self.facts.lock();
            facts.heard = facts.heard.max(Some(heard));
        }
        now
    }
}
