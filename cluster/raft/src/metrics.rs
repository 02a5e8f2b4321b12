//! What `/metrics` says about consensus and its log.

use crate::status::Status;
use prometheus::{Histogram, HistogramOpts, IntCounter, IntGauge, IntGaugeVec, Opts};
use quorate_model::GroupId;
use std::sync::OnceLock;

pub(crate) struct Metrics {
    pub(crate) syncs: Histogram,
    pub(crate) written_bytes: IntCounter,
    pub(crate) batches: IntCounter,
    pub(crate) proposals: IntCounter,
    pub(crate) stalled: IntGauge,
    first_index: IntGaugeVec,
    committed_index: IntGaugeVec,
    applied_index: IntGaugeVec,
    pending_bytes: IntGaugeVec,
}

/// The metrics of this process, registered at first use.
pub(crate) fn metrics() -> &'static Metrics {
    static METRICS: OnceLock<Metrics> = OnceLock::new();
    METRICS.get_or_init(Metrics::register)
}

impl Metrics {
    fn register() -> Metrics {
        let of_group = |name: &str, help: &str| {
            registered(IntGaugeVec::new(Opts::new(name, help), &["group"]).expect("the name is a valid one"))
        };
        let buckets = vec![0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0];
        let syncs = HistogramOpts::new("quorate_raft_log_sync_seconds", "Duration of syncs of the Raft log.")
            .buckets(buckets);
        let counter = |name: &str, help: &str| {
            registered(IntCounter::new(name, help).expect("the name is a valid one"))
        };
        Metrics {
            syncs: registered(Histogram::with_opts(syncs).expect("the name is a valid one")),
            written_bytes: counter("quorate_raft_log_written_bytes_total", "Bytes written to the Raft log."),
            batches: counter(
                "quorate_raft_log_batches_total",
                "Batches written to the Raft log, of any number of groups.",
            ),
            proposals: counter("quorate_raft_proposals_total", "Proposals that were appended."),
            stalled: registered(
                IntGauge::new("quorate_raft_log_stalled", "1 while the Raft log cannot be written.")
                    .expect("the name is a valid one"),
            ),
            first_index: of_group("quorate_raft_first_index", "First index of the log."),
            committed_index: of_group("quorate_raft_committed_index", "Last committed index."),
            applied_index: of_group("quorate_raft_applied_index", "Last applied index."),
            pending_bytes: of_group("quorate_raft_pending_bytes", "Bytes of proposals that wait."),
        }
    }

    pub(crate) fn of_group(&self, group: GroupId, status: &Status) {
        let label = group.to_string();
        let set = |gauge: &IntGaugeVec, value: u64| gauge.with_label_values(&[&label]).set(value as i64);
        set(&self.first_index, status.first_index);
        set(&self.committed_index, status.committed);
        set(&self.applied_index, status.applied);
        set(&self.pending_bytes, status.pending_bytes);
    }
}

fn registered<C: prometheus::core::Collector + Clone + 'static>(collector: C) -> C {
    if let Err(error) = prometheus::register(Box::new(collector.clone())) {
        tracing::warn!(%error, "a metric of the raft log is not registered");
    }
    collector
}
