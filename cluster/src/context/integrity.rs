//! What the checks of files and replicas have found.

use crate::metrics;
use crate::types::{Finding, GroupDigest};
use parking_lot::Mutex;
use quorate_model::{GroupId, NodeId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Findings of a group that are told one by one.
const TOLD_MAX: usize = 20;

/// What the last checks found.
#[derive(Debug, Default)]
pub struct Integrity {
    state: Mutex<BTreeMap<GroupId, Checked>>,
}

/// What the checks of one replica found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Files that do not read as they were written.
    pub damage: Vec<Finding>,
    /// What other replicas hold otherwise.
    pub difference: Vec<Finding>,
    /// What the replica held at the last log index at which replicas were compared.
    pub digest: Option<GroupDigest>,
    /// When its files were last read wholly.
    pub looked: Option<Instant>,
    /// Whether it is to be replaced.
    pub mending: Mending,
    /// When that was last tried in vain.
    pub tried: Option<Instant>,
}

/// Whether this replica is to be replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mending {
    /// It is as good as any.
    #[default]
    None,
    /// By the state of one of these members.
    Wanted(Vec<NodeId>),
    /// Its state is on the way.
    Begun,
}

impl Integrity {
    /// What is wrong now, as far as it was looked at.
    pub fn findings(&self) -> Vec<Finding> {
        let each = |checked: &Checked| checked.damage.iter().chain(&checked.difference).cloned().collect();
        self.state.lock().values().flat_map(|checked| -> Vec<Finding> { each(checked) }).collect()
    }
    /// The hashes of a group at the last log index at which replicas were compared.
    pub fn digest(&self, group: GroupId) -> Option<GroupDigest> {
        self.state.lock().get(&group)?.digest.clone()
    }
    /// Whether this replica is to be replaced by what others hold, or is being replaced: it is not one to lead.
    pub fn is_condemned(&self, group: GroupId) -> bool {
        self.state.lock().get(&group).is_some_and(|checked| checked.mending != Mending::None)
    }
    /// Whether this replica holds what it should, as far as it was looked at: no file is damaged, and it is not to be replaced. Any
    /// other is no full copy, whether or not somebody has a better one.
    pub fn is_sound(&self, group: GroupId) -> bool {
        let is_sound = |it: &Checked| it.damage.is_empty() && it.mending == Mending::None;
        self.state.lock().get(&group).is_none_or(is_sound)
    }
    /// Changes what is noted of a replica.
    pub fn update<T>(&self, group: GroupId, act: impl FnOnce(&mut Checked) -> T) -> T {
        let done = act(self.state.lock().entry(group).or_default());
        metrics::damaged(self.findings().len());
        done
    }
    /// Forgets all other groups.
    pub fn retain(&self, groups: &BTreeSet<GroupId>) {
        self.state.lock().retain(|group, _| groups.contains(group));
    }
    /// How long ago the files of a replica were read wholly.
    pub fn age(&self, group: GroupId) -> Option<Duration> {
        Some(self.state.lock().get(&group)?.looked?.elapsed())
    }
    /// Replaces the findings of one kind, logs those that are news, and lets the replica be replaced if others are right.
    pub fn tell(
        &self,
        group: GroupId,
        kind: Kind,
        found: impl IntoIterator<Item = String>,
        right: &[NodeId],
    ) {
        let mut findings: Vec<Finding> = found.into_iter().map(|what| Finding { group, what }).collect();
        let known = self.findings();
        for finding in findings.iter().filter(|finding| !known.contains(finding)).take(TOLD_MAX) {
            tracing::error!(group = group.0, what = finding.what, "this node does not hold what it should");
        }
        if findings.len() > TOLD_MAX {
            let more = findings.len() - TOLD_MAX;
            findings.truncate(TOLD_MAX);
            findings.push(Finding { group, what: format!("and {more} more") });
        }
        self.update(group, |checked| {
            let is_news = match (&checked.mending, kind) {
                (Mending::None, _) | (Mending::Wanted(_), Kind::Difference) => true,
                (Mending::Wanted(_), Kind::Damage) | (Mending::Begun, _) => false,
            };
            if !findings.is_empty() && !right.is_empty() && is_news {
                checked.mending = Mending::Wanted(right.to_vec());
            }
            *match kind {
                Kind::Damage => &mut checked.damage,
                Kind::Difference => &mut checked.difference,
            } = findings;
        });
    }
}

/// Of what kind a finding is.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A file does not read as it was written.
    Damage,
    /// Other replicas hold something else.
    Difference,
}
