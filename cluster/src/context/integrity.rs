//! What the checks of files and replicas have found.
//!
//! A damaged replica is no full copy, and a node that starts again knows it at once: what was found stands in a file for as long as it
//! is so. The next look could be days away.

use crate::metrics;
use crate::types::{Finding, GroupDigest};
use parking_lot::Mutex;
use quorate_model::{GroupId, NodeId};
use quorate_store::files::Files;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two tries to write down what is wrong, on a disk that takes nothing: it is looked at several times a second.
const KEEP_RETRY: Duration = Duration::from_secs(10);
/// Findings of a group that are told one by one.
const TOLD_MAX: usize = 20;
/// What the number of the others begins with.
const AND: &str = "and ";

/// What the last checks found.
#[derive(Debug)]
pub struct Integrity {
    state: Mutex<BTreeMap<GroupId, Checked>>,
    /// Whether any replica is to be replaced, so that reads need no lock as long as none is.
    condemns: AtomicBool,
    file: PathBuf,
    files: Arc<dyn Files>,
    /// What stands in the file, and when it could not be written last.
    kept: Mutex<(Vec<Kept>, Option<Instant>)>,
}

/// What is wrong with a replica, as the file keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    group: GroupId,
    damage: Vec<Finding>,
    difference: Vec<Finding>,
    /// Those that are right.
    right: Vec<NodeId>,
}

impl Kept {
    fn of(group: GroupId, checked: &Checked) -> Option<Kept> {
        let right = match &checked.mending {
            Mending::Wanted(right) | Mending::Begun(right) => right.clone(),
            Mending::None => vec![],
        };
        let (damage, difference) = (checked.damage.clone(), checked.difference.clone());
        let is_wrong = !damage.is_empty() || !difference.is_empty();
        is_wrong.then_some(Kept { group, damage, difference, right })
    }
    fn into_checked(self) -> Checked {
        let mending = match self.right.is_empty() {
            true => Mending::None,
            false => Mending::Wanted(self.right),
        };
        Checked { damage: self.damage, difference: self.difference, mending, ..Checked::default() }
    }
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
    /// Whether nobody said to have anything better when it was last tried: it serves what it has until somebody does.
    pub stands: bool,
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
    /// The state of one of these members is on the way.
    Begun(Vec<NodeId>),
}

/// Whether a finding is how many more there are than those that are told one by one.
pub fn is_count(what: &str) -> bool {
    what.starts_with(AND)
}
fn any_condemned(state: &BTreeMap<GroupId, Checked>) -> bool {
    state.values().any(is_condemned)
}
fn is_condemned(checked: &Checked) -> bool {
    checked.mending != Mending::None
}

impl Integrity {
    /// What an earlier process has found, as far as it was so at the end. A file that cannot be read says nothing.
    pub fn open(file: PathBuf, files: Arc<dyn Files>) -> Integrity {
        let read = || -> std::io::Result<Vec<Kept>> {
            files.before_read(&file)?;
            Ok(serde_json::from_slice(&std::fs::read(&file)?)?)
        };
        let kept = read().unwrap_or_else(|error| {
            if error.kind() != std::io::ErrorKind::NotFound {
                tracing::warn!(%error, file = %file.display(), "what was found wrong here is not known any more");
            }
            vec![]
        });
        let state = kept.iter().cloned().map(|it| (it.group, it.into_checked())).collect();
        let condemns = AtomicBool::new(any_condemned(&state));
        Integrity { state: Mutex::new(state), condemns, file, files, kept: Mutex::new((kept, None)) }
    }
    /// Brings the file up to date. Without room for it, or when the disk fails, this process knows what it knows, and tries again
    /// later.
    fn keep(&self) {
        let mut guard = self.kept.lock();
        let (kept, failed) = &mut *guard;
        let now: Vec<Kept> =
            self.state.lock().iter().filter_map(|(group, checked)| Kept::of(*group, checked)).collect();
        if *kept == now || failed.is_some_and(|at| at.elapsed() < KEEP_RETRY) {
            return;
        }
        let text = serde_json::to_vec(&now).unwrap_or_default();
        match self.files.write_atomic(&self.file, &text) {
            Ok(()) => (*kept, *failed) = (now, None),
            Err(error) => {
                *failed = Some(Instant::now());
                tracing::warn!(%error, "what is wrong here is forgotten by a restart");
            }
        }
    }
    /// What is wrong now, as far as it was looked at.
    pub fn findings(&self) -> Vec<Finding> {
        let each = |checked: &Checked| checked.damage.iter().chain(&checked.difference).cloned().collect();
        self.state.lock().values().flat_map(|checked| -> Vec<Finding> { each(checked) }).collect()
    }
    /// What does not read as it was written in a group. Cost: a lock, and a copy of what there is.
    pub fn damage(&self, group: GroupId) -> Vec<String> {
        let state = self.state.lock();
        let damage = state.get(&group).into_iter().flat_map(|checked| &checked.damage);
        damage.map(|finding| finding.what.clone()).collect()
    }
    /// The hashes of a group at the last log index at which replicas were compared.
    pub fn digest(&self, group: GroupId) -> Option<GroupDigest> {
        self.state.lock().get(&group)?.digest.clone()
    }
    /// Whether this replica is to be replaced by what others hold, or is being replaced: it is not one to lead. Cost: an
    /// atomic load as long as no replica is.
    pub fn is_condemned(&self, group: GroupId) -> bool {
        self.condemns.load(Ordering::Acquire) && self.state.lock().get(&group).is_some_and(is_condemned)
    }
    /// Whether reads of this replica go to others: it is to be replaced by what they have, as far as anybody has something better.
    /// Cost: an atomic load as long as no replica is.
    pub fn gives_way(&self, group: GroupId) -> bool {
        let gives_way = |checked: &Checked| is_condemned(checked) && !checked.stands;
        self.condemns.load(Ordering::Acquire) && self.state.lock().get(&group).is_some_and(gives_way)
    }
    /// Whether this replica holds what it should, as far as it was looked at: no file is damaged, and it is not to be replaced. Any
    /// other is no full copy, whether or not somebody has a better one.
    pub fn is_sound(&self, group: GroupId) -> bool {
        let is_sound = |it: &Checked| it.damage.is_empty() && it.mending == Mending::None;
        self.state.lock().get(&group).is_none_or(is_sound)
    }
    /// Changes what is noted of a replica.
    pub fn update<T>(&self, group: GroupId, act: impl FnOnce(&mut Checked) -> T) -> T {
        let done = {
            let mut state = self.state.lock();
            let done = act(state.entry(group).or_default());
            self.condemns.store(any_condemned(&state), Ordering::Release);
            done
        };
        metrics::damaged(self.findings().len());
        self.keep();
        done
    }
    /// Forgets all other groups.
    pub fn retain(&self, groups: &BTreeSet<GroupId>) {
        self.state.lock().retain(|group, _| groups.contains(group));
        self.keep();
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
            findings.push(Finding { group, what: format!("{AND}{more} more") });
        }
        self.update(group, |checked| {
            let is_news = match (&checked.mending, kind) {
                (Mending::None, _) | (Mending::Wanted(_), Kind::Difference) => true,
                (Mending::Wanted(_), Kind::Damage) | (Mending::Begun(_), _) => false,
            };
            if !findings.is_empty() && !right.is_empty() && is_news {
                (checked.mending, checked.stands) = (Mending::Wanted(right.to_vec()), false);
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

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_store::files::RealFiles;

    fn opened(dir: &tempfile::TempDir) -> Integrity {
        Integrity::open(dir.path().join("damage.json"), RealFiles::shared())
    }

    #[test]
    fn what_is_wrong_is_known_after_a_restart_until_it_is_mended() {
        let dir = tempfile::tempdir().unwrap();
        let (damaged, differing, sound) = (GroupId(1), GroupId(2), GroupId(3));
        let first = opened(&dir);
        first.tell(damaged, Kind::Damage, ["a file".to_owned()], &[]);
        first.tell(differing, Kind::Difference, ["a hash".to_owned()], &[NodeId(7)]);
        first.tell(sound, Kind::Damage, [], &[]);
        drop(first);

        let second = opened(&dir);
        assert_eq!([damaged, differing, sound].map(|it| second.is_sound(it)), [false, false, true]);
        assert!(second.is_condemned(differing) && !second.is_condemned(damaged));
        second.update(differing, |it| assert_eq!(it.mending, Mending::Wanted(vec![NodeId(7)])));
        // another state is on its way, and the process ends before it is there
        second.update(differing, |it| it.mending = Mending::Begun(vec![NodeId(7)]));
        second.tell(damaged, Kind::Damage, [], &[]);
        drop(second);

        let third = opened(&dir);
        assert_eq!([damaged, differing].map(|it| third.is_sound(it)), [true, false]);
        third.update(differing, |it| *it = Checked::default());
        assert!(opened(&dir).is_sound(differing));
        third.tell(damaged, Kind::Damage, ["a file".to_owned()], &[]);
        third.retain(&BTreeSet::from([sound]));
        assert!(opened(&dir).is_sound(damaged), "a replica that this node has no more");
        std::fs::write(dir.path().join("damage.json"), "{").unwrap();
        assert!(opened(&dir).findings().is_empty(), "the node starts all the same");
    }
}
