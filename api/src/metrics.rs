//! How many requests came, how did they end, and how long did they take?

use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, TextEncoder,
};
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

/// Handles on the figures of the process-wide registry.
///
/// Labels are resolved at the first answer of a route, so that routes nobody calls take no room in a scrape and the
/// others cost no look-up.
pub struct Metrics {
    registered: &'static Registered,
    /// One per row of the route table; the last one is for paths no row has.
    rows: Vec<RowFigures>,
    received: IntCounter,
    sent: IntCounter,
}
#[derive(Default)]
struct RowFigures {
    latency: OnceLock<Histogram>,
    /// Answers with status 200, by far the most.
    ok: OnceLock<IntCounter>,
}
struct Registered {
    requests: IntCounterVec,
    latencies: HistogramVec,
    in_flight: IntGauge,
    request_bytes: IntCounterVec,
}

/// Paths no row has share one label, so that callers cannot make up labels.
const UNKNOWN: (&str, &str) = ("-", "unknown");
/// Seconds; queries take some tenths of a millisecond, writes some milliseconds, imports up to seconds.
const BUCKETS: [f64; 14] =
    [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

static REGISTERED: LazyLock<Registered> = LazyLock::new(|| {
    let labels = ["method", "endpoint"];
    let requests = IntCounterVec::new(
        Opts::new("quorate_http_requests_total", "Answered requests."),
        &["method", "endpoint", "status"],
    );
    let latencies = HistogramVec::new(
        HistogramOpts::new(
            "quorate_http_request_seconds",
            "Time from a request's head to its finished answer.",
        )
        .buckets(BUCKETS.to_vec()),
        &labels,
    );
    let in_flight = IntGauge::new("quorate_http_requests_in_flight", "Requests being answered now.");
    let request_bytes = IntCounterVec::new(
        Opts::new("quorate_http_bytes_total", "Body bytes after decompression, received and sent."),
        &["direction"],
    );
    const VALID: &str = "names and labels are constants that prometheus accepts";
    let registered = Registered {
        requests: requests.expect(VALID),
        latencies: latencies.expect(VALID),
        in_flight: in_flight.expect(VALID),
        request_bytes: request_bytes.expect(VALID),
    };
    let registry = prometheus::default_registry();
    const ONCE: &str = "this is the only place that registers these names";
    registry.register(Box::new(registered.requests.clone())).expect(ONCE);
    registry.register(Box::new(registered.latencies.clone())).expect(ONCE);
    registry.register(Box::new(registered.in_flight.clone())).expect(ONCE);
    registry.register(Box::new(registered.request_bytes.clone())).expect(ONCE);
    registered
});

/// A request that is being answered; leaving it counts it out, whatever happened.
pub struct InFlight<'a>(&'a IntGauge);
impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    /// Registers the figures on first use; for a table of so many rows.
    pub fn new(rows: usize) -> Self {
        let registered = &*REGISTERED;
        Metrics {
            registered,
            rows: std::iter::repeat_with(RowFigures::default).take(rows + 1).collect(),
            received: registered.request_bytes.with_label_values(&["in"]),
            sent: registered.request_bytes.with_label_values(&["out"]),
        }
    }
    /// Counts a request in until the result is dropped.
    pub fn enter(&self) -> InFlight<'_> {
        self.registered.in_flight.inc();
        InFlight(&self.registered.in_flight)
    }
    /// Counts a finished request; `row` is its position in the route table, its method and its path there.
    pub fn answered(
        &self,
        row: Option<(usize, &'static str, &'static str)>,
        status: u16,
        bytes: Transferred,
        took: Duration,
    ) {
        let (number, verb, path) = row.unwrap_or((self.rows.len() - 1, UNKNOWN.0, UNKNOWN.1));
        let figures = &self.rows[number];
        let latency =
            figures.latency.get_or_init(|| self.registered.latencies.with_label_values(&[verb, path]));
        latency.observe(took.as_secs_f64());
        let count = |status: &str| self.registered.requests.with_label_values(&[verb, path, status]);
        match status {
            200 => figures.ok.get_or_init(|| count("200")).inc(),
            other => count(&other.to_string()).inc(),
        }
        self.received.inc_by(bytes.received);
        self.sent.inc_by(bytes.sent);
    }
    /// Every figure of the process in the text format of Prometheus.
    pub fn text(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 << 10);
        let families = prometheus::gather();
        if let Err(error) = TextEncoder::new().encode(&families, &mut out) {
            tracing::warn!(%error, "cannot write metrics");
        }
        out
    }
}
/// Body bytes of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Transferred {
    pub received: u64,
    pub sent: u64,
}
