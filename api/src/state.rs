//! What do all requests of a node share?

use crate::auth::Authenticator;
use crate::connection::ConnectionRules;
use crate::listener::Listeners;
use crate::location::Locations;
use crate::metrics::Metrics;
use crate::network::Networks;
use crate::room::Room;
use quorate_cluster::Service;
use quorate_model::limits;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The service with everything around it that takes requests. Cheap to clone.
#[derive(Clone)]
pub struct ApiState(Arc<Shared>);

struct Shared {
    service: Service,
    authenticator: Authenticator,
    metrics: Metrics,
    limits: Limits,
    room: Room,
    strangers: Room,
    answers: Room,
    locations: Option<Arc<Locations>>,
    trusted_proxies: Networks,
    draining: AtomicBool,
    listeners: OnceLock<Listeners>,
    connections: OnceLock<ConnectionRules>,
}

/// Bounds an operator may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a body after decompression.
    pub body_bytes_max: usize,
    /// Bytes of the body of a search.
    pub search_body_bytes_max: usize,
    /// Bytes of the body of a call that asks for many things at once.
    pub multi_body_bytes_max: usize,
    /// Bytes of a minified record.
    pub record_bytes_max: usize,
    /// Bytes of an answer.
    pub answer_bytes_max: usize,
}
impl Default for Limits {
    fn default() -> Self {
        Limits {
            body_bytes_max: limits::BODY_BYTES_MAX,
            search_body_bytes_max: limits::SEARCH_BODY_BYTES_MAX,
            multi_body_bytes_max: limits::MULTI_BODY_BYTES_MAX,
            record_bytes_max: limits::RECORD_BYTES_MAX,
            answer_bytes_max: limits::ANSWER_BYTES_MAX,
        }
    }
}

impl Limits {
    /// Bytes that all answers under way have together.
    fn answers_bytes_max(&self) -> usize {
        self.answer_bytes_max.max(ANSWER_BYTES_MIN).saturating_mul(ANSWERS_AT_A_TIME)
    }
    /// Bytes of a page of synonyms or rules: the most that a caller who is alone may hold of what answers have, so what is longer
    /// could never be sent.
    pub fn documents_bytes_max(&self) -> usize {
        self.answers_bytes_max() / 2
    }
}

/// Bodies of full size that may be in memory at a time, over all callers.
const BODIES_AT_A_TIME: usize = 3;
/// Bytes that are taken for a body of full size where it is configured smaller: its tree of values may be as large.
const BODY_BYTES_MIN: usize = 64 << 20;
/// Bytes that are taken for an answer of full size where it is configured smaller: a page of rules or keys has limits of its own.
const ANSWER_BYTES_MIN: usize = 16 << 20;
/// Answers of full size that may be under way at a time, over all callers.
const ANSWERS_AT_A_TIME: usize = 4;

/// Bytes of a body or an answer that is taken and given however much others hold: an ordinary search has less.
const SHARE_BYTES: usize = 16 << 10;
/// Memory for bodies of callers whose key is not known yet.
const STRANGERS_BYTES: usize = 8 << 20;

impl ApiState {
    /// Wraps a service, for a table of so many routes.
    pub fn new(
        routes: usize,
        service: Service,
        limits: Limits,
        locations: Option<Arc<Locations>>,
        trusted_proxies: Networks,
    ) -> Self {
        ApiState(Arc::new(Shared {
            service,
            authenticator: Authenticator::default(),
            metrics: Metrics::new(routes),
            limits,
            room: Room::new(
                "large bodies",
                limits.body_bytes_max.max(BODY_BYTES_MIN).saturating_mul(BODIES_AT_A_TIME),
                SHARE_BYTES,
            ),
            answers: Room::new("large answers", limits.answers_bytes_max(), SHARE_BYTES),
            strangers: Room::new("large bodies of strangers", STRANGERS_BYTES, 0),
            locations,
            trusted_proxies,
            draining: AtomicBool::new(false),
            listeners: OnceLock::new(),
            connections: OnceLock::new(),
        }))
    }
    /// The service.
    pub fn service(&self) -> &Service {
        &self.0.service
    }
    /// The check of credentials.
    pub fn authenticator(&self) -> &Authenticator {
        &self.0.authenticator
    }
    /// The figures.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }
    /// The bounds.
    pub fn limits(&self) -> Limits {
        self.0.limits
    }
    /// The places of callers, when the operator gave them.
    pub fn locations(&self) -> Option<&Locations> {
        self.0.locations.as_deref()
    }
    /// Proxies whose word on the address of their callers counts.
    pub fn trusted_proxies(&self) -> &Networks {
        &self.0.trusted_proxies
    }
    /// Memory for bodies.
    pub fn room(&self) -> &Room {
        &self.0.room
    }
    /// Memory for answers under way.
    pub fn answers(&self) -> &Room {
        &self.0.answers
    }
    /// Memory for bodies of callers whose key stands in the body.
    pub fn strangers(&self) -> &Room {
        &self.0.strangers
    }
    /// Names the addresses that are kept to one kind of work, once, before the first request.
    pub fn set_listeners(&self, listeners: Listeners) {
        let set = self.0.listeners.set(listeners);
        assert!(set.is_ok(), "a server is bound once");
    }
    /// The addresses that are kept to one kind of work; none when the server is not split.
    pub fn listeners(&self) -> &Listeners {
        self.0.listeners.get_or_init(Listeners::default)
    }
    /// Says which connections the node insists on, once, before the first request.
    pub fn want_connections(&self, wanted: ConnectionRules) {
        let set = self.0.connections.set(wanted);
        assert!(set.is_ok(), "a server is bound once");
    }
    /// Which connections the node insists on; on none in particular when nobody has said so.
    pub fn wanted_connections(&self) -> ConnectionRules {
        self.0.connections.get().copied().unwrap_or_default()
    }
    /// Makes `/readyz` answer 503 from now on, so that balancers turn away before the node stops.
    pub fn drain(&self) {
        self.0.draining.store(true, Ordering::Relaxed);
    }
    /// Whether the node is about to stop.
    pub fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Relaxed)
    }
}
