//! What the cluster counts for `/metrics`.

use prometheus::{CounterVec, Gauge, GaugeVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts};
use std::sync::LazyLock;
use std::time::Duration;

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
static CLAIMED: LazyLock<IntGauge> = LazyLock::new(|| {
    let text = "Bytes that what was accepted will take of the data folder's disk, with merges that go on.";
    registered(IntGauge::new("quorate_disk_claimed_bytes", text).expect("a valid metric"))
});
static RESERVE: LazyLock<IntGauge> = LazyLock::new(|| {
    let text = "Free bytes of the data folder's disk below which writes stop.";
    registered(IntGauge::new("quorate_disk_reserve_bytes", text).expect("a valid metric"))
});
static FULL_DISKS: LazyLock<IntGauge> = LazyLock::new(|| {
    let text =
        "Nodes, this one included, whose disks are too full for another write, as far as this one knows.";
    registered(IntGauge::new("quorate_full_disks", text).expect("a valid metric"))
});
static FAILING: LazyLock<IntGauge> = LazyLock::new(|| {
    let text = "Index shards that cannot write what was applied, and try again.";
    registered(IntGauge::new("quorate_shards_failing", text).expect("a valid metric"))
});
static INDICES: LazyLock<IntGauge> = LazyLock::new(|| {
    registered(IntGauge::new("quorate_indices", "Names in the catalogue.").expect("a valid metric"))
});

static QUEUES: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let opts =
        Opts::new("quorate_queue_length", "What waits: searches for a thread, writes to be seen by reads.");
    registered(IntGaugeVec::new(opts, &["queue"]).expect("a valid metric"))
});
static OPEN: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let opts = Opts::new("quorate_open_shards", "Index shards with an open writer or an open view.");
    registered(IntGaugeVec::new(opts, &["for"]).expect("a valid metric"))
});
static RESIDENT: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let opts =
        Opts::new("quorate_resident_bytes", "Resident memory of the process: its own, and mapped files.");
    registered(IntGaugeVec::new(opts, &["kind"]).expect("a valid metric"))
});
static STORE_FAILED: LazyLock<IntGauge> = LazyLock::new(|| {
    let text = "Whether a write into the metadata store failed: changes are in memory until the next start, which rebuilds it.";
    registered(IntGauge::new("quorate_metadata_store_failed", text).expect("a valid metric"))
});
static DISK: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let opts = Opts::new("quorate_disk_bytes", "Bytes of files in the data folder, by part.");
    registered(IntGaugeVec::new(opts, &["part"]).expect("a valid metric"))
});

static ACTOR_QUEUE: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let text = "What waits for actors, by kind: committed entries, work for shards, users and calls.";
    registered(
        IntGaugeVec::new(Opts::new("quorate_actor_queue_length", text), &["actor"]).expect("a valid metric"),
    )
});
static ACTOR_BYTES: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let opts = Opts::new("quorate_actor_queue_bytes", "Bytes of what waits for actors, by kind.");
    registered(IntGaugeVec::new(opts, &["actor"]).expect("a valid metric"))
});
static ACTOR_AGE: LazyLock<GaugeVec> = LazyLock::new(|| {
    let opts = Opts::new(
        "quorate_actor_head_age_seconds",
        "For how long the oldest of what waits for an actor of the kind has waited.",
    );
    registered(GaugeVec::new(opts, &["actor"]).expect("a valid metric"))
});
static ACTORS_FAILING: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let text = "Actors of the kind in which something failed that has not succeeded since; of apply, groups that stand still.";
    registered(
        IntGaugeVec::new(Opts::new("quorate_actors_failing", text), &["actor"]).expect("a valid metric"),
    )
});

static SNAPSHOTS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let opts =
        Opts::new("quorate_snapshots_total", "Snapshots of groups: offered to others, continued from here.");
    registered(IntCounterVec::new(opts, &["what"]).expect("a valid metric"))
});
static SNAPSHOT_BYTES: LazyLock<IntCounter> = LazyLock::new(|| {
    let text = "Bytes of snapshots fetched from other nodes.";
    registered(IntCounter::new("quorate_snapshot_bytes_total", text).expect("a valid metric"))
});

static REBUILDS: LazyLock<IntGauge> = LazyLock::new(|| {
    let text = "Indices whose newest settings wait until their files have been rebuilt.";
    registered(IntGauge::new("quorate_rebuilds", text).expect("a valid metric"))
});
static REBUILD_RECORDS: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let opts = Opts::new("quorate_rebuild_records", "Records of the rebuilds in progress: done, and in all.");
    registered(IntGaugeVec::new(opts, &["state"]).expect("a valid metric"))
});
static EVENT_ROWS: LazyLock<IntGauge> = LazyLock::new(|| {
    let text = "Rows in files of events, of all groups on this node.";
    registered(IntGauge::new("quorate_event_rows", text).expect("a valid metric"))
});
static EVENT_ROWS_LOST: LazyLock<IntGauge> = LazyLock::new(|| {
    let text = "Rows in files of events on this node that are damaged or gone.";
    registered(IntGauge::new("quorate_event_rows_lost", text).expect("a valid metric"))
});
static MODELS_DAMAGED: LazyLock<IntCounter> = LazyLock::new(|| {
    let text = "Files of models that the checks found damaged or gone, and that were fetched or made again.";
    registered(IntCounter::new("quorate_models_damaged_total", text).expect("a valid metric"))
});
static ROLLUPS_DAMAGED: LazyLock<IntCounter> = LazyLock::new(|| {
    let text = "Files of figures of events that the checks found damaged, and that are derived again.";
    registered(IntCounter::new("quorate_event_rollups_damaged_total", text).expect("a valid metric"))
});
static EVENT_BYTES: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let opts = Opts::new(
        "quorate_event_bytes",
        "Bytes of events: in files, in memory on their way there, and of figures in files.",
    );
    registered(IntGaugeVec::new(opts, &["place"]).expect("a valid metric"))
});
static SINK_ROWS: LazyLock<IntCounter> = LazyLock::new(|| {
    let text = "Rows that the sink of events has taken from this node.";
    registered(IntCounter::new("quorate_event_sink_rows_total", text).expect("a valid metric"))
});
static SINK_FAILURES: LazyLock<IntCounter> = LazyLock::new(|| {
    let text = "Times that the sink of events took nothing from this node.";
    registered(IntCounter::new("quorate_event_sink_failures_total", text).expect("a valid metric"))
});
static SINK_LAG_ROWS: LazyLock<IntGauge> = LazyLock::new(|| {
    let text = "Rows that wait for the sink of events at most, of the groups that this node leads.";
    registered(IntGauge::new("quorate_event_sink_lag_rows", text).expect("a valid metric"))
});
static SINK_LAG: LazyLock<Gauge> = LazyLock::new(|| {
    let text =
        "For how long the sink of events has not had everything, of the group that waits longest here.";
    registered(Gauge::new("quorate_event_sink_lag_seconds", text).expect("a valid metric"))
});
static SINK_LOST: LazyLock<IntGauge> = LazyLock::new(|| {
    let text =
        "Rows that became too old since the start before the sink of events was given them, on this node.";
    registered(IntGauge::new("quorate_event_sink_lost_rows", text).expect("a valid metric"))
});
static BUILDS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let text = "Builds that ended on this node, of models and of indices of suggestions, by outcome.";
    let opts = Opts::new("quorate_builds_total", text);
    registered(IntCounterVec::new(opts, &["of", "outcome"]).expect("a valid metric"))
});
static BUILD_SECONDS: LazyLock<CounterVec> = LazyLock::new(|| {
    let opts = Opts::new("quorate_build_seconds_total", "How long these builds took.");
    registered(CounterVec::new(opts, &["of"]).expect("a valid metric"))
});
static BUILDS_RUNNING: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let opts = Opts::new("quorate_builds_running", "Builds that are going on, of models and of suggestions.");
    registered(IntGaugeVec::new(opts, &["of"]).expect("a valid metric"))
});
static SEARCHES_COUNTED: LazyLock<IntCounter> = LazyLock::new(|| {
    let text = "Searches of this node that were counted for analytics.";
    registered(IntCounter::new("quorate_searches_counted_total", text).expect("a valid metric"))
});
static SEARCHES_DROPPED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let text = "Searches that are not counted for analytics: too many waited to be looked at, or for a log.";
    let opts = Opts::new("quorate_searches_dropped_total", text);
    registered(IntCounterVec::new(opts, &["waited_for"]).expect("a valid metric"))
});
static REBUILD_FAILURES: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let opts = Opts::new("quorate_rebuild_failures", "Rebuilds that failed since the start, by reason.");
    registered(IntGaugeVec::new(opts, &["reason"]).expect("a valid metric"))
});

pub(crate) fn registered<M: prometheus::core::Collector + Clone + 'static>(metric: M) -> M {
    if let Err(error) = prometheus::register(Box::new(metric.clone())) {
        tracing::warn!(%error, "a metric is not shown");
    }
    metric
}

static DAMAGED: LazyLock<IntGauge> = LazyLock::new(|| {
    let text =
        "Damaged files, and groups that hold something else than other replicas, found by the last checks.";
    registered(IntGauge::new("quorate_damage_findings", text).expect("a valid metric"))
});
static COMPARED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let opts = Opts::new(
        "quorate_comparisons_total",
        "Comparisons of a replica with the others of its group: alike, in the minority, undecided.",
    );
    registered(IntCounterVec::new(opts, &["outcome"]).expect("a valid metric"))
});
/// Counts a comparison of a replica with the others of its group.
pub fn compared(outcome: &str) {
    COMPARED.with_label_values(&[outcome]).inc();
}
/// Shows how much the last checks found.
pub fn damaged(findings: usize) {
    DAMAGED.set(findings as i64);
}

/// Counts a write that was refused.
pub fn refused(reason: &str) {
    REFUSED.with_label_values(&[reason]).inc();
}
/// Counts a write that was accepted.
pub fn accepted(kind: &str) {
    WRITES.with_label_values(&[kind]).inc();
}
/// Counts a snapshot that this node has offered to others.
pub fn snapshot_offered() {
    SNAPSHOTS.with_label_values(&["offered"]).inc();
}
/// Counts a snapshot that a group of this node has continued from.
pub fn snapshot_continued() {
    SNAPSHOTS.with_label_values(&["continued"]).inc();
}
/// Counts bytes of snapshots that have come from other nodes.
pub fn snapshot_bytes(bytes: usize) {
    SNAPSHOT_BYTES.inc_by(bytes as u64);
}
/// Shows how far a group is applied.
pub fn applied(group: u16, log_index: u64) {
    APPLIED.with_label_values(&[&group.to_string()]).set(log_index as i64);
}
/// Shows the free bytes, those of them that are spoken for and those that stay free, and the number of indices.
pub fn gauges(free_bytes: u64, claimed_bytes: u64, reserve_bytes: u64, indices: usize) {
    for (gauge, bytes) in [(&FREE, free_bytes), (&CLAIMED, claimed_bytes), (&RESERVE, reserve_bytes)] {
        gauge.set(bytes.min(i64::MAX as u64) as i64);
    }
    INDICES.set(indices as i64);
}
/// Shows how many nodes have no room on their disks.
pub fn full_disks(count: usize) {
    FULL_DISKS.set(count as i64);
}
/// Shows what waits for the actors of a kind, and how many of them fail.
pub fn actors(kind: &str, queued: u64, queued_bytes: u64, head_age: Duration, failing: u64) {
    ACTORS_FAILING.with_label_values(&[kind]).set(failing as i64);
    ACTOR_QUEUE.with_label_values(&[kind]).set(queued as i64);
    ACTOR_BYTES.with_label_values(&[kind]).set(queued_bytes as i64);
    ACTOR_AGE.with_label_values(&[kind]).set(head_age.as_secs_f64());
}
/// Shows what waits in the node and what it holds open.
pub fn node(node: &quorate_node::Node) {
    let (writers, views) = node.open_counts();
    for (queue, length) in [("searches", node.pool().queued()), ("writes", node.pending_writes())] {
        QUEUES.with_label_values(&[queue]).set(length as i64);
    }
    for (purpose, count) in [("writing", writers), ("reading", views)] {
        OPEN.with_label_values(&[purpose]).set(count as i64);
    }
    FAILING.set(node.failing_shards() as i64);
    STORE_FAILED.set(node.store_has_failed().into());
    let rebuilds = node.rebuilds();
    REBUILDS.set(rebuilds.indices as i64);
    for (state, count) in [("done", rebuilds.records.done), ("total", rebuilds.records.total)] {
        REBUILD_RECORDS.with_label_values(&[state]).set(count as i64);
    }
    for (reason, count) in rebuilds.failures {
        REBUILD_FAILURES.with_label_values(&[reason]).set(count as i64);
    }
    let events = node.event_figures();
    EVENT_ROWS.set(events.rows as i64);
    EVENT_ROWS_LOST.set(events.lost_rows as i64);
    for (place, bytes) in
        [("files", events.bytes), ("memory", events.waiting_bytes), ("rollups", events.rollup_bytes)]
    {
        EVENT_BYTES.with_label_values(&[place]).set(bytes as i64);
    }
}
/// Counts files of models that do not read as they were written.
pub fn models_damaged(count: usize) {
    MODELS_DAMAGED.inc_by(count as u64);
}
/// Counts files of figures that do not read as they were written.
pub fn rollups_damaged(count: usize) {
    ROLLUPS_DAMAGED.inc_by(count as u64);
}
/// A build has ended.
pub fn built(of: &str, is_success: bool, took: Duration) {
    let outcome = if is_success { "success" } else { "failure" };
    BUILDS.with_label_values(&[of, outcome]).inc();
    BUILD_SECONDS.with_label_values(&[of]).inc_by(took.as_secs_f64());
}
/// Shows whether something of a kind is being built.
pub fn builds_running(of: &str, is_running: bool) {
    BUILDS_RUNNING.with_label_values(&[of]).set(is_running.into());
}
/// Rows were taken by the sink of events.
pub fn sink_took(rows: usize) {
    SINK_ROWS.inc_by(rows as u64);
}
/// The sink of events took nothing.
pub fn sink_failed() {
    SINK_FAILURES.inc();
}
/// Shows what waits for the sink of events, for how long it has, and how much it never gets.
pub fn sink_lags(rows: u64, longest: Duration, lost: u64) {
    SINK_LAG_ROWS.set(rows.min(i64::MAX as u64) as i64);
    SINK_LAG.set(longest.as_secs_f64());
    SINK_LOST.set(lost.min(i64::MAX as u64) as i64);
}
/// Searches are in a log and count.
pub fn searches_counted(count: usize) {
    SEARCHES_COUNTED.inc_by(count as u64);
}
/// Searches were dropped that waited for this.
pub fn searches_dropped(waited_for: &str, count: usize) {
    SEARCHES_DROPPED.with_label_values(&[waited_for]).inc_by(count as u64);
}
/// Shows the resident memory of the process, where the system tells it.
pub fn memory() {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    for (kind, name) in [("anonymous", "RssAnon:"), ("mapped", "RssFile:")] {
        let kib =
            status.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse().ok());
        RESIDENT.with_label_values(&[kind]).set(kib.map_or(0, |kib: i64| kib << 10));
    }
}
/// Shows the bytes of files in the parts of the data folder. Cost: a look at every file.
pub fn disk(layout: &quorate_store::layout::Layout) {
    let parts = [
        ("indices", layout.indices()),
        ("raft_log", layout.raft()),
        ("metadata_store", layout.state()),
        ("dumps", layout.dumps()),
    ];
    for (part, folder) in parts {
        DISK.with_label_values(&[part]).set(bytes_below(&folder) as i64);
    }
}
/// Bytes of the files in a folder and those below it.
pub fn bytes_below(folder: &std::path::Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let each = entries.flatten().filter_map(|entry| {
        let kind = entry.file_type().ok()?;
        if kind.is_dir() {
            Some(bytes_below(&entry.path()))
        } else {
            entry.metadata().ok().map(|of| of.len())
        }
    });
    each.sum()
}
