//! Which index a name stands for, and how many each group has: an immutable map whose copies share what did not change.

use super::rows::{Row, RowChange, StateTable, number};
use quorate_model::{GroupId, IndexName};
use quorate_node::ops::{Incarnation, ReplicaKind};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A row for each name.
const INDEX: u8 = b'i';
const CATALOGUE_CHANGED: u8 = b'c';
/// Buckets of the map. A change copies one of them and the list of all: some microseconds at 10^5 names.
const BUCKETS: usize = 256;

/// Another index's name in a row, and how the two are linked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The name.
    pub name: IndexName,
    /// How the replica of the two follows.
    pub kind: ReplicaKind,
}

impl Link {
    /// The link in the form of the setting `replicas`, with the name that callers know.
    pub fn shown(&self) -> String {
        let name = self.name.partition().0;
        match self.kind {
            ReplicaKind::Standard => name.to_owned(),
            ReplicaKind::Virtual => format!("virtual({name})"),
        }
    }
}

/// Whether an index follows another one or is followed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Neither.
    #[default]
    Alone,
    /// These follow it, at least one.
    Primary(Vec<Link>),
    /// It follows this one.
    Replica(Link),
}

impl Role {
    /// A primary of these replicas, if there are any.
    pub fn primary_of(replicas: Vec<Link>) -> Role {
        if replicas.is_empty() { Role::Alone } else { Role::Primary(replicas) }
    }
}

/// What the catalogue knows of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexRow {
    /// Which life of the name it is.
    pub incarnation: Incarnation,
    /// The group whose log orders its writes.
    pub group: GroupId,
    /// Unix milliseconds.
    pub created_ms: u64,
    /// Its replicas, or its primary.
    pub role: Role,
}

impl IndexRow {
    /// What follows it.
    pub fn replicas(&self) -> &[Link] {
        match &self.role {
            Role::Primary(replicas) => replicas,
            Role::Alone | Role::Replica(_) => &[],
        }
    }
    /// What it follows.
    pub fn primary(&self) -> Option<&Link> {
        match &self.role {
            Role::Replica(primary) => Some(primary),
            Role::Alone | Role::Primary(_) => None,
        }
    }
}

type Bucket = FxHashMap<IndexName, IndexRow>;

/// The map from names to indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    buckets: Arc<[Arc<Bucket>]>,
    /// How many names each group has.
    counts: Arc<BTreeMap<GroupId, usize>>,
}

impl Default for Catalogue {
    fn default() -> Self {
        let empty = Arc::new(Bucket::default());
        Catalogue { buckets: vec![empty; BUCKETS].into(), counts: Arc::default() }
    }
}

impl StateTable for Catalogue {
    fn kinds(&self) -> &'static [u8] {
        &[INDEX]
    }
    fn hashed_as(&self) -> &'static str {
        "indices"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(self.iter().map(|(name, row)| RowChange::index(name, row)))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        self.put(row.index()?, row.decoded()?);
        Some(())
    }
}

impl RowChange {
    pub(super) fn index(name: &IndexName, row: &IndexRow) -> RowChange {
        Self::encoded(INDEX, name.as_str().as_bytes(), row)
    }
    pub(super) fn no_index(name: &IndexName) -> RowChange {
        Self::delete(INDEX, name.as_str().as_bytes())
    }
    /// Whether it is about an index.
    pub(super) fn is_of_index(&self) -> bool {
        self.key.first() == Some(&INDEX)
    }
}

/// The log index of the last command that changed the catalogue, since level 4.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CatalogueChanged(pub u64);

impl StateTable for CatalogueChanged {
    fn kinds(&self) -> &'static [u8] {
        &[CATALOGUE_CHANGED]
    }
    fn hashed_as(&self) -> &'static str {
        "levels"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        Box::new(std::iter::once(self.row()))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        self.0 = number(row.value)?;
        Some(())
    }
}

impl CatalogueChanged {
    pub(super) fn row(self) -> RowChange {
        RowChange::put(CATALOGUE_CHANGED, b"", self.0.to_be_bytes().to_vec())
    }
}

impl Catalogue {
    /// The indices that callers name, in no order.
    pub fn named(&self) -> Vec<IndexName> {
        self.iter().map(|(name, _)| name.clone()).filter(|name| name.partition().1.is_none()).collect()
    }
    /// The index that `name` stands for.
    pub fn get(&self, name: &IndexName) -> Option<&IndexRow> {
        self.buckets[bucket_of(name)].get(name)
    }
    /// Lets `name` stand for `row` and returns what it stood for.
    pub fn put(&mut self, name: IndexName, row: IndexRow) -> Option<IndexRow> {
        let group = row.group;
        let earlier = self.bucket_mut(&name).insert(name, row);
        self.count(earlier.as_ref(), Some(group));
        earlier
    }
    /// Takes `name` out.
    pub fn remove(&mut self, name: &IndexName) -> Option<IndexRow> {
        let removed = self.bucket_mut(name).remove(name);
        self.count(removed.as_ref(), None);
        removed
    }
    /// Every index, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&IndexName, &IndexRow)> {
        self.buckets.iter().flat_map(|bucket| bucket.iter())
    }
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.len()).sum()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.buckets.iter().all(|bucket| bucket.is_empty())
    }
    /// How many of them a group has.
    pub fn count_of(&self, group: GroupId) -> usize {
        self.counts.get(&group).copied().unwrap_or(0)
    }
    fn count(&mut self, before: Option<&IndexRow>, after: Option<GroupId>) {
        let before = before.map(|row| row.group);
        if before == after {
            return;
        }
        let counts = Arc::make_mut(&mut self.counts);
        if let Some(count) = before.and_then(|group| counts.get_mut(&group)) {
            *count -= 1;
        }
        if let Some(group) = after {
            *counts.entry(group).or_default() += 1;
        }
        counts.retain(|_, count| *count > 0);
    }
    fn bucket_mut(&mut self, name: &IndexName) -> &mut Bucket {
        Arc::make_mut(&mut Arc::make_mut(&mut self.buckets)[bucket_of(name)])
    }
}

fn bucket_of(name: &IndexName) -> usize {
    name_hash(name) as usize % BUCKETS
}

/// The group for a new index: the one of `1..=groups` with the highest weight for its name (rendezvous hashing), so
/// that a later change of `groups` would move few names.
pub fn group_of(name: &IndexName, groups: u16) -> GroupId {
    let hash = name_hash(name);
    let weight = |group: &u16| mix(hash ^ mix(u64::from(*group)));
    GroupId((1..=groups).max_by_key(weight).unwrap_or(1))
}

/// FNV-1a; written out because it decides where data lives and must never change.
fn name_hash(name: &IndexName) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    mix(name.as_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The finalizer of SplitMix64.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_spread_over_the_groups_and_stay_where_they_are() {
        let mut counts = [0; 17];
        for i in 0..1_600 {
            let name = IndexName::new(&format!("index_{i}")).expect("valid");
            counts[usize::from(group_of(&name, 16).0)] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|&n| (60..=150).contains(&n)), "{counts:?}");
        let group = |name: &str| group_of(&IndexName::new(name).expect("valid"), 16).0;
        assert_eq!([group("products"), group("a"), group("日本")], [8, 6, 13]);
    }

    #[test]
    fn a_copy_keeps_what_it_had() {
        let name = |i: u64| IndexName::new(&format!("n{i}")).expect("valid");
        let row = |incarnation| IndexRow { incarnation, group: GroupId(1), created_ms: 0, role: Role::Alone };
        let mut now = Catalogue::default();
        for i in 0..500 {
            assert_eq!(now.put(name(i), row(i)), None);
        }
        let before = now.clone();
        assert_eq!(now.put(name(3), row(1_000)), Some(row(3)));
        assert_eq!(now.remove(&name(4)), Some(row(4)));
        assert_eq!((before.get(&name(3)), before.get(&name(4))), (Some(&row(3)), Some(&row(4))));
        assert_eq!((now.get(&name(3)), now.get(&name(4))), (Some(&row(1_000)), None));
        assert_eq!((before.len(), now.len(), now.iter().count()), (500, 499, 499));
    }

    #[test]
    fn the_indices_of_each_group_are_counted() {
        let name = |i: u64| IndexName::new(&format!("n{i}")).expect("valid");
        let row =
            |group| IndexRow { incarnation: 1, group: GroupId(group), created_ms: 0, role: Role::Alone };
        let mut catalogue = Catalogue::default();
        for i in 0..30 {
            catalogue.put(name(i), row(1 + (i % 2) as u16));
        }
        let before = catalogue.clone();
        // another life in another group, the same group again, one that goes, one that was never there
        catalogue.put(name(0), row(3));
        catalogue.put(name(1), row(2));
        catalogue.remove(&name(2));
        catalogue.remove(&name(2));
        let counts = |it: &Catalogue| [1, 2, 3, 4].map(|group| it.count_of(GroupId(group)));
        assert_eq!((counts(&before), counts(&catalogue)), ([15, 15, 0, 0], [13, 15, 1, 0]));
        for i in 0..30 {
            catalogue.remove(&name(i));
        }
        assert_eq!(catalogue, Catalogue::default());
    }
}
