//! What the cluster counts for `/metrics`.

use prometheus::{IntCounterVec, IntGauge, IntGaugeVec, Opts};
use std::sync::LazyLock;

static REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let opts = Opts::new("quorate_writes_refused_total", "Writes answered 503, by reason.");
    registered(IntCounterVec::new(opts, &["reason"]).expect("a valid metric"))
});
static WRITES: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let opts = Opts::new("quorate_writes_total", "Accepted writes, by kind.");
    registered(IntCounterVec::new(opts, &["kind"]).expect("a valid metric"))
});
static APPLIED: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let opts = Opts::new("quorate_apply_position", "Last applied log index, by group.");
    registered(IntGaugeVec::new(opts, &["group"]).expect("a valid metric"))
});
static FREE: LazyLock<IntGauge> = LazyLock::new(|| {
    registered(
        IntGauge::new("quorate_disk_free_bytes", "Free bytes of the data folder's disk.")
            .expect("a valid metric"),
    )
});
static INDICES: LazyLock<IntGauge> = LazyLock::new(|| {
    registered(IntGauge::new("quorate_indices", "Names in the catalogue.").expect("a valid metric"))
});

fn registered<M: prometheus::core::Collector + Clone + 'static>(metric: M) -> M {
    if let Err(error) = prometheus::register(Box::new(metric.clone())) {
        tracing::warn!(%error, "a metric is not shown");
    }
    metric
}

/// Counts a write that was refused.
pub fn refused(reason: &str) {
    REFUSED.with_label_values(&[reason]).inc();
}
/// Counts a write that was accepted.
pub fn accepted(kind: &str) {
    WRITES.with_label_values(&[kind]).inc();
}
/// Shows how far a group is applied.
pub fn applied(group: u16, log_index: u64) {
    APPLIED.with_label_values(&[&group.to_string()]).set(log_index as i64);
}
/// Shows the free bytes and the number of indices.
pub fn gauges(free_bytes: u64, indices: usize) {
    FREE.set(free_bytes.min(i64::MAX as u64) as i64);
    INDICES.set(indices as i64);
}
