//! How are the actors of this node, each with what waits for it? What operators see in the metrics and of the cluster.

use super::NodeContext;
use crate::groups::Group;
use parking_lot::Mutex;
use quorate_model::GroupId;
use quorate_node::ShardStatus;
use quorate_node::ops::Incarnation;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Shards that are named one by one at most.
const SHARDS_NAMED_MAX: usize = 16;
/// A shard is named when something has waited that long for it, or fails.
const LONG: Duration = Duration::from_secs(1);

/// What an actor does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActorKind {
    /// It has the members of a group agree on what comes next.
    Consensus,
    /// It applies what a group has committed.
    #[default]
    Apply,
    /// It writes the files of an index.
    Shard,
    /// It assigns, moves and removes users.
    UserMapping,
}

impl ActorKind {
    /// All of them.
    pub const ALL: [ActorKind; 4] =
        [ActorKind::Consensus, ActorKind::Apply, ActorKind::Shard, ActorKind::UserMapping];
    /// As the metrics and the JSON spell it.
    pub fn name(self) -> &'static str {
        match self {
            ActorKind::Consensus => "consensus",
            ActorKind::Apply => "apply",
            ActorKind::Shard => "shard",
            ActorKind::UserMapping => "user-mapping",
        }
    }
}

/// How an actor is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ActorReport {
    /// What it does.
    pub kind: ActorKind,
    /// Which group or index it does that for.
    pub of: String,
    /// How much waits for it, what it works on included: entries, pieces of work, users and calls.
    pub queued: u64,
    /// Bytes of what waits, where they are counted.
    pub queued_bytes: u64,
    /// Milliseconds for which the oldest of it has waited.
    pub head_age_ms: u64,
    /// What it does, or waits for.
    pub waits_for: String,
    /// What failed last, if anything did.
    pub last_error: Option<String>,
}

/// What all actors of a kind have waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActorTotals {
    /// How much waits.
    pub queued: u64,
    /// Bytes of it.
    pub queued_bytes: u64,
    /// For how long the oldest of it has waited.
    pub head_age: Duration,
    /// Actors in which something failed that has not succeeded since; of groups, those that stand still.
    pub failing: u64,
}

impl ActorTotals {
    fn add(&mut self, queued: usize, queued_bytes: usize, head_age: Duration, is_failing: bool) {
        self.failing += u64::from(is_failing);
        self.queued += queued as u64;
        self.queued_bytes += queued_bytes as u64;
        self.head_age = self.head_age.max(head_age);
    }
}

/// Where the actor of the user mapping leaves how it is: it is not asked, so the answer comes while it hangs, too.
#[derive(Debug, Default)]
pub struct LeftReport(Mutex<Option<(ActorReport, Instant)>>);

impl LeftReport {
    /// Leaves how the actor is.
    pub fn leave(&self, report: ActorReport) {
        *self.0.lock() = Some((report, Instant::now()));
    }
    /// How it is, as far as it has said; what waited then waits still.
    pub fn left(&self) -> Option<ActorReport> {
        let (mut report, at) = self.0.lock().clone()?;
        if report.queued > 0 {
            report.head_age_ms += at.elapsed().as_millis() as u64;
        }
        Some(report)
    }
}

impl NodeContext {
    /// How the actors are: those of the groups and of the user mapping, and of shards those that something has long waited for, the
    /// longest first. Cost: a lock for each.
    pub fn actor_reports(&self) -> Vec<ActorReport> {
        let now = Instant::now();
        let groups = self.groups().all();
        let mut reports: Vec<ActorReport> = groups.iter().map(|group| of_group(group, now)).collect();
        reports.extend(self.users().mapping.left());
        let mut shards = self.node().shard_statuses();
        shards.retain(|(_, status)| status.failures > 0 || status.head_age >= LONG);
        shards.sort_by_key(|(_, status)| std::cmp::Reverse(status.head_age));
        shards.truncate(SHARDS_NAMED_MAX);
        reports.extend(shards.into_iter().map(|(incarnation, status)| self.of_shard(incarnation, status)));
        reports
    }
    /// How the consensus of each group is. Cost: a lock for each.
    pub fn consensus_reports(&self) -> Vec<ActorReport> {
        self.groups().all().iter().map(|group| of_consensus(group)).collect()
    }
    /// What waits for the actors of each kind. Cost: a lock for each.
    pub fn actor_totals(&self) -> [(ActorKind, ActorTotals); 4] {
        let now = Instant::now();
        let mut totals = ActorKind::ALL.map(|kind| (kind, ActorTotals::default()));
        for group in self.groups().all() {
            let consensus = group.raft.consensus();
            let bytes = consensus.queued_bytes as usize;
            totals[0].1.add(consensus.queued, bytes, consensus.head_age, consensus.last_error.is_some());
            let status = group.inbox.status(now);
            totals[1].1.add(status.queued, status.queued_bytes, status.head_age, group.halt.is_set());
        }
        for (_, status) in self.node().shard_statuses() {
            let is_failing = status.failures > 0;
            totals[2].1.add(status.queued, status.queued_bytes, status.head_age, is_failing);
        }
        if let Some(report) = self.users().mapping.left() {
            let head_age = Duration::from_millis(report.head_age_ms);
            let is_failing = report.queued > 0 && report.last_error.is_some();
            totals[3].1.add(report.queued as usize, 0, head_age, is_failing);
        }
        totals
    }
    fn of_shard(&self, incarnation: Incarnation, status: ShardStatus) -> ActorReport {
        let meta = self.shared_meta().load();
        let name = meta.catalogue.iter().find(|(_, row)| row.incarnation == incarnation);
        ActorReport {
            kind: ActorKind::Shard,
            of: name.map_or_else(|| format!("{incarnation:x}"), |(name, _)| name.to_string()),
            queued: status.queued as u64,
            queued_bytes: status.queued_bytes as u64,
            head_age_ms: status.head_age.as_millis() as u64,
            waits_for: status.waits_for.to_owned(),
            last_error: status.last_error,
        }
    }
}

fn name_of(group: GroupId) -> String {
    match group {
        GroupId::META => "meta".to_owned(),
        id => id.to_string(),
    }
}

fn of_consensus(group: &Group) -> ActorReport {
    let status = group.raft.consensus();
    ActorReport {
        kind: ActorKind::Consensus,
        of: name_of(group.id),
        queued: status.queued as u64,
        queued_bytes: status.queued_bytes,
        head_age_ms: status.head_age.as_millis() as u64,
        waits_for: status.waits_for.to_owned(),
        last_error: status.last_error.map(str::to_owned),
    }
}

fn of_group(group: &Group, now: Instant) -> ActorReport {
    let status = group.inbox.status(now);
    ActorReport {
        kind: ActorKind::Apply,
        of: name_of(group.id),
        queued: status.queued as u64,
        queued_bytes: status.queued_bytes as u64,
        head_age_ms: status.head_age.as_millis() as u64,
        waits_for: status.waits_for.to_owned(),
        last_error: status.last_error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waited_when_an_actor_last_said_so_waits_still() {
        let left = LeftReport::default();
        assert_eq!(left.left(), None);
        let report =
            ActorReport { kind: ActorKind::UserMapping, queued: 2, head_age_ms: 5, ..Default::default() };
        left.leave(report.clone());
        std::thread::sleep(Duration::from_millis(3));
        let later = left.left().expect("a report");
        assert!(later.head_age_ms >= 8, "{later:?}");
        assert_eq!(ActorReport { head_age_ms: 5, ..later }, report);
        left.leave(ActorReport { queued: 0, head_age_ms: 0, ..report });
        std::thread::sleep(Duration::from_millis(3));
        assert_eq!(left.left().expect("a report").head_age_ms, 0, "nothing waits");
    }

    #[test]
    fn kinds_are_spelt_alike_everywhere() {
        for kind in ActorKind::ALL {
            assert_eq!(serde_json::to_value(kind).expect("JSON"), kind.name());
        }
    }
}
