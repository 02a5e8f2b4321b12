//! How is an ordered map changed while others read it as it was? Copies share what did not change.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Entries of a run at most; two neighbours that have less than half of it together become one.
const RUN_MAX: usize = 256;

type Run<K, V> = Arc<Vec<(K, V)>>;

/// An ordered map. A clone costs a pointer. A change of one that has clones copies a run and the list of all runs: a
/// microsecond at a thousand entries, some tens of them at a million.
#[derive(Clone)]
pub struct SharedMap<K, V> {
    /// Each has entries, and all of one come before those of the next.
    runs: Arc<Vec<Run<K, V>>>,
    len: usize,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        SharedMap { runs: Arc::default(), len: 0 }
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K, V> SharedMap<K, V> {
    /// Every entry, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.runs.iter().flat_map(|run| run.iter()).map(|(key, value)| (key, value))
    }
    /// Every key, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }
    /// Everything that a key stands for, by key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
    /// The entries behind all those whose key comes before what is meant, by key. Cost: two binary searches.
    pub fn from(&self, comes_before: impl Fn(&K) -> bool) -> impl Iterator<Item = (&K, &V)> {
        let is_behind = |run: &Run<K, V>| run.last().is_some_and(|(key, _)| comes_before(key));
        let run = self.runs.partition_point(is_behind);
        let first = self.runs.get(run).map_or(0, |run| run.partition_point(|(key, _)| comes_before(key)));
        let entries = self.runs[run..].iter().flat_map(|run| run.iter());
        entries.skip(first).map(|(key, value)| (key, value))
    }
    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Whether both are one map, without a change between them. Cost: a comparison.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.runs, &other.runs)
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// What `key` stands for.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let run = self.runs.get(self.run_of(key))?;
        let at = run.binary_search_by(|(it, _)| it.borrow().cmp(key)).ok()?;
        Some(&run[at].1)
    }
    /// Whether `key` stands for something.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }
    /// Lets `key` stand for `value` and returns what it stood for.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let number = self.run_of(&key);
        let runs = Arc::make_mut(&mut self.runs);
        if runs.is_empty() {
            runs.push(Arc::default());
        }
        let run = Arc::make_mut(&mut runs[number]);
        let at = match run.binary_search_by(|(it, _)| it.cmp(&key)) {
            Ok(at) => return Some(std::mem::replace(&mut run[at].1, value)),
            Err(at) => at,
        };
        run.insert(at, (key, value));
        self.len += 1;
        if run.len() > RUN_MAX {
            // keys mostly rise: what is behind the last one goes into a run that has room
            let cut = if at + 1 == run.len() { at } else { run.len() / 2 };
            let behind = run.split_off(cut);
            runs.insert(number + 1, Arc::new(behind));
        }
        None
    }
    /// Takes `key` out and returns what it stood for. What is not there copies nothing.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let number = self.run_of(key);
        let at = self.runs.get(number)?.binary_search_by(|(it, _)| it.borrow().cmp(key)).ok()?;
        let runs = Arc::make_mut(&mut self.runs);
        let (_, value) = Arc::make_mut(&mut runs[number]).remove(at);
        self.len -= 1;
        if runs[number].is_empty() {
            runs.remove(number);
        }
        let has_room = |runs: &[Run<K, V>], first: usize| {
            runs.get(first + 1).is_some_and(|next| runs[first].len() + next.len() < RUN_MAX / 2)
        };
        for first in [Some(number), number.checked_sub(1)].into_iter().flatten() {
            if has_room(runs, first) {
                let next = runs.remove(first + 1);
                Arc::make_mut(&mut runs[first]).extend(next.iter().cloned());
            }
        }
        Some(value)
    }
    /// The run that has `key`, or would have it.
    fn run_of<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        let begins_behind = |run: &Run<K, V>| run[0].0.borrow() <= key;
        self.runs.partition_point(begins_behind).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    proptest! {
        /// Against the map of the standard library, with a clone held before every change.
        #[test]
        fn it_holds_what_an_ordered_map_holds(changes in prop::collection::vec((0u32..1_500, any::<bool>()), 0..4_000)) {
            let (mut map, mut model) = (SharedMap::default(), BTreeMap::new());
            for (number, (key, is_put)) in changes.into_iter().enumerate() {
                let (held, held_model) = (map.clone(), (number % 500 == 0).then(|| model.clone()));
                match is_put {
                    true => prop_assert_eq!(map.insert(key, number), model.insert(key, number)),
                    false => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                }
                prop_assert_eq!(map.get(&key), model.get(&key));
                if let Some(before) = held_model {
                    prop_assert!(held.iter().eq(before.iter()));
                }
            }
            prop_assert!(map.iter().eq(model.iter()));
            for from in [0, 1, 700, 1_499, 1_500] {
                prop_assert!(map.from(|key| *key < from).eq(model.range(from..)), "from {}", from);
            }
            prop_assert_eq!(map.len(), model.len());
            prop_assert!(map.runs.iter().all(|run| !run.is_empty() && run.len() <= RUN_MAX));
        }
    }

    #[test]
    fn runs_are_full_when_keys_rise_and_few_when_most_are_gone() {
        let mut map = SharedMap::default();
        for key in 0..100 * RUN_MAX {
            map.insert(key, ());
        }
        assert_eq!(map.runs.len(), 100);
        for key in (0..100 * RUN_MAX).filter(|key| key % 64 > 0) {
            map.remove(&key);
        }
        assert_eq!((map.len(), map.iter().count()), (400, 400));
        assert!(map.runs.len() <= 8, "{} runs", map.runs.len());
        let same = map.clone();
        assert!(map.remove(&1).is_none() && map.is_same(&same), "it copies nothing");
        map.insert(0, ());
        assert!(!map.is_same(&same) && map == same, "whatever is changed, it is another one");
    }

    /// Each change is of a map that a reader holds, as the meta state's are.
    #[test]
    fn a_change_copies_one_run_however_large_the_map_is() {
        for entries in [2_000, 200_000_u64] {
            let mut map = SharedMap::default();
            for key in 0..entries {
                map.insert(key * 2, key);
            }
            for number in 0..500 {
                let held = map.clone();
                map.insert(number * (entries / 500) * 2 + 1, number);
                let shared: BTreeSet<_> = held.runs.iter().map(Arc::as_ptr).collect();
                let copied = map.runs.iter().filter(|run| !shared.contains(&Arc::as_ptr(run)));
                let sizes: Vec<usize> = copied.map(|run| run.len()).collect();
                let all: usize = sizes.iter().sum();
                assert!((1..=2).contains(&sizes.len()) && all <= RUN_MAX + 1, "{sizes:?} of {entries}");
            }
        }
    }
}
