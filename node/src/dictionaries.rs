//! Which dictionaries do the indices of this node go by? One value for all of them.

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use quorate_engine::Schema;
use quorate_engine::language::{CustomEntries, Dictionaries, Languages};
use quorate_model::GroupId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The newest dictionaries that this node knows, and what its groups were told of them. Cheap to clone.
///
/// Queries go by them at once. Where segments hold parts of compounds, a group rebuilds them when its log says so.
#[derive(Clone, Debug, Default)]
pub struct SharedDictionaries(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    newest: ArcSwap<Dictionaries>,
    /// Their place in the log of whoever decides on them; it rises once they are there.
    revision: AtomicU64,
    groups: Mutex<BTreeMap<GroupId, Following>>,
}

/// What a group was told of dictionaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The oldest revision that its indices may go by.
    pub revision: u64,
    /// Where its log said so.
    pub log_index: u64,
}

/// What a group was told, and since when it goes by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Following {
    /// What it was told last.
    pub told: Told,
    /// What it was told from this log index on waits for this node to know the dictionaries.
    pub waits_since: Option<u64>,
    /// What it was told from the first log index on acts since the second one, at which the node knew the dictionaries.
    pub late: Option<(u64, u64)>,
}

impl Following {
    /// The log index at which what the group was told at `log_index` acts; `None` when it does not act yet.
    fn acts_at(&self, log_index: u64) -> Option<u64> {
        let is_told_since = |since: u64| (since..=self.told.log_index).contains(&log_index);
        match (self.waits_since, self.late) {
            (Some(since), _) if is_told_since(since) => None,
            (_, Some((since, at))) if is_told_since(since) => Some(at),
            _ => Some(log_index),
        }
    }
    /// Through where reads see everything, when they do through `shown` apart from what the group was told: not yet what it waits for,
    /// and what it was told late only once reads see where that acts.
    fn visible_through(&self, shown: u64) -> u64 {
        let unseen = match (self.waits_since, self.late) {
            (Some(since), _) => Some(since),
            (None, Some((since, at))) => (shown < at).then_some(since),
            (None, None) => None,
        };
        unseen.map_or(shown, |since| shown.min(since.saturating_sub(1)))
    }
}

impl SharedDictionaries {
    /// Lets all indices go by these.
    pub fn set(&self, revision: u64, custom: CustomEntries) {
        self.0.newest.store(Arc::new(Dictionaries::new(custom)));
        self.0.revision.store(revision, Ordering::Release);
    }
    /// Other forms of a word, plurals of a singular and the other way round, in the languages of these codes; in all when there are none.
    pub fn forms(&self, word: &str, codes: &[String]) -> Vec<String> {
        self.newest().declensions(word, Languages::of_query(codes))
    }
    /// Their revision.
    pub fn revision(&self) -> u64 {
        self.0.revision.load(Ordering::Acquire)
    }
    /// The newest.
    pub(crate) fn newest(&self) -> Arc<Dictionaries> {
        self.0.newest.load_full()
    }
    /// Whether a schema has the newest. Cost: an atomic load.
    pub(crate) fn are_in(&self, schema: &Schema) -> bool {
        Arc::ptr_eq(schema.dictionaries(), &self.0.newest.load())
    }
    /// What a group was told last, if it was told anything.
    pub fn told(&self, group: GroupId) -> Option<Told> {
        self.following(group).map(|following| following.told)
    }
    pub(crate) fn following(&self, group: GroupId) -> Option<Following> {
        self.0.groups.lock().get(&group).copied()
    }
    /// Notes how far a group is; `None` forgets it.
    pub(crate) fn note(&self, group: GroupId, following: Option<Following>) {
        let mut groups = self.0.groups.lock();
        match following {
            Some(following) => drop(groups.insert(group, following)),
            None => drop(groups.remove(&group)),
        }
    }
    /// Through where reads see everything of a group, when they do through `shown` apart from dictionaries.
    pub(crate) fn visible_through(&self, group: GroupId, shown: u64) -> u64 {
        self.following(group).map_or(shown, |following| following.visible_through(shown))
    }
    /// The log index at which what a group was told at `log_index` acts; `None` when it does not act yet.
    pub(crate) fn acts_at(&self, group: GroupId, log_index: u64) -> Option<u64> {
        self.following(group).map_or(Some(log_index), |following| following.acts_at(log_index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_did_not_know_yet_acts_where_it_knew_it() {
        let told = Told { revision: 9, log_index: 20 };
        let plain = Following { told, ..Following::default() };
        assert_eq!((plain.acts_at(20), plain.acts_at(15)), (Some(20), Some(15)));
        let waits = Following { waits_since: Some(12), ..plain };
        assert_eq!([11, 12, 20, 21].map(|at| waits.acts_at(at)), [Some(11), None, None, Some(21)]);
        let late = Following { late: Some((12, 30)), ..plain };
        assert_eq!([11, 12, 20, 21].map(|at| late.acts_at(at)), [Some(11), Some(30), Some(30), Some(21)]);
        assert_eq!([5, 25].map(|shown| plain.visible_through(shown)), [5, 25]);
        assert_eq!([5, 12, 25].map(|shown| waits.visible_through(shown)), [5, 11, 11]);
        assert_eq!([5, 29, 30, 31].map(|shown| late.visible_through(shown)), [5, 11, 30, 31]);
    }
}
