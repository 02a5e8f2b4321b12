//! Which indices does this node hold: by number, and by group?

use crate::index::IndexState;
use crate::ops::Incarnation;
use quorate_model::GroupId;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

type OfGroup = FxHashMap<Incarnation, Arc<IndexState>>;

/// The indices of a node. Whatever concerns one index or one group looks at no others.
#[derive(Debug, Default)]
pub(crate) struct Indices {
    groups: BTreeMap<GroupId, OfGroup>,
    /// The group of each.
    places: FxHashMap<Incarnation, GroupId>,
}

impl Indices {
    /// One of them.
    pub fn get(&self, incarnation: Incarnation) -> Option<&Arc<IndexState>> {
        self.groups.get(self.places.get(&incarnation)?)?.get(&incarnation)
    }
    /// Adds one, in the place of the one with its number.
    pub fn insert(&mut self, state: Arc<IndexState>) {
        self.remove(state.incarnation);
        self.places.insert(state.incarnation, state.group);
        self.groups.entry(state.group).or_default().insert(state.incarnation, state);
    }
    /// Takes one out.
    pub fn remove(&mut self, incarnation: Incarnation) -> Option<Arc<IndexState>> {
        let group = self.places.remove(&incarnation)?;
        self.groups.get_mut(&group)?.remove(&incarnation)
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }
    /// All of them, in no order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<IndexState>> {
        self.groups.values().flat_map(|of_group| of_group.values())
    }
    /// Those of a group, in no order.
    pub fn of_group(&self, group: GroupId) -> impl Iterator<Item = &Arc<IndexState>> {
        self.groups.get(&group).into_iter().flat_map(|of_group| of_group.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_is_in_its_group_and_in_no_other() {
        let state = |incarnation, group| {
            let folder = "nowhere".into();
            Arc::new(IndexState::new(incarnation, GroupId(group), folder, Arc::default(), 0, 0))
        };
        let mut indices = Indices::default();
        for (incarnation, group) in [(1, 1), (2, 1), (3, 2), (2, 2)] {
            indices.insert(state(incarnation, group));
        }
        let numbers = |group| {
            let mut numbers: Vec<_> = indices.of_group(GroupId(group)).map(|it| it.incarnation).collect();
            numbers.sort_unstable();
            numbers
        };
        assert_eq!((numbers(1), numbers(2), numbers(3)), (vec![1], vec![2, 3], vec![]));
        assert_eq!((indices.len(), indices.all().count()), (3, 3));
        assert_eq!(indices.get(2).map(|it| it.group), Some(GroupId(2)));
        assert_eq!(indices.remove(2).map(|it| it.group), Some(GroupId(2)));
        assert!(indices.remove(2).is_none() && indices.get(2).is_none() && indices.len() == 2);
    }
}
