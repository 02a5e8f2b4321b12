//! Where do promoted records stand among the others (C§10.5)?
//!
//! Cost: one look-up of an id in each segment for a promoted or hidden record; a search that promotes keeps the set of its
//! matching documents, to count each record once.

use super::act::Promoted;
use crate::bits;
use crate::filter::filter_set;
use crate::index::ShardView;
use crate::ranking::top::Entry;
use quorate_model::params::Forced;
use quorate_model::user::public_id;
use quorate_model::{ObjectId, Settings};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The promoted records of one search that exist and may be shown, in the order of their places.
#[derive(Debug, Default)]
pub struct Promotion {
    places: Vec<(u64, Entry)>,
    /// Segment and document of each, with its number in `places`.
    numbers: FxHashMap<(usize, u32), usize>,
}

/// Where records are in a view: segment and document; missing ones are left out.
pub fn located(view: &ShardView, object_ids: &[ObjectId]) -> Vec<(usize, u32)> {
    let segments = || view.segments().iter().enumerate();
    let locate = |object_id: &ObjectId| {
        segments().find_map(|(number, segment)| Some((number, segment.doc_of(object_id)?)))
    };
    // where records belong to users, rules are about the public ones
    object_ids.iter().filter_map(|id| locate(id).or_else(|| locate(&public_id(id)))).collect()
}

impl Promotion {
    /// Finds the records; `is_allowed` says of a segment and document whether filters and places select it. What the caller's key forces
    /// holds for them, too; the filters of the search do where the rule says so, and where the key forces a place.
    pub fn new(
        view: &ShardView,
        settings: &Settings,
        promoted: &[Promoted],
        is_allowed: impl Fn(usize, u32) -> bool,
        forced: Option<&Forced>,
    ) -> Promotion {
        if promoted.is_empty() {
            return Promotion::default();
        }
        let mut places: Vec<(u64, Entry)> = vec![];
        // the place is that of the search, which is told from its filters by nobody
        let has_forced_place = forced.is_some_and(|forced| forced.params.has_place());
        let forced = forced.map(|forced| &forced.filter);
        let of_segment = |segment| forced.and_then(|filter| filter_set(segment, &settings.index, filter));
        let visible: Vec<Option<Vec<u64>>> = view.segments().iter().map(of_segment).collect();
        for Promoted { object_ids, position, filtered } in promoted {
            let shown = located(view, object_ids).into_iter().filter(|&(segment, doc)| {
                visible[segment].as_ref().is_none_or(|set| bits::contains(set, doc))
                    && (!(*filtered || has_forced_place) || is_allowed(segment, doc))
            });
            for (after, (segment, doc)) in shown.enumerate() {
                places.push((position.saturating_add(after as u64), Entry { segment, doc, key: 0 }));
            }
        }
        // stable: at the same place the record of the better rule comes first and the others shift
        places.sort_by_key(|&(position, _)| position);
        let number = |(number, (_, entry)): (usize, &(u64, Entry))| ((entry.segment, entry.doc), number);
        Promotion { numbers: places.iter().enumerate().map(number).collect(), places }
    }
    /// How many records have a place.
    pub fn len(&self) -> usize {
        self.places.len()
    }
    /// Whether no record has one.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
    /// Whether this document has a place.
    pub fn contains(&self, entry: &Entry) -> bool {
        !self.is_empty() && self.numbers.contains_key(&(entry.segment, entry.doc))
    }
    /// The promoted records, then the others as they are ranked; each once.
    pub fn before<'a>(&self, ranked: &'a [Entry]) -> Cow<'a, [Entry]> {
        if self.is_empty() {
            return Cow::Borrowed(ranked);
        }
        let promoted = self.places.iter().map(|&(_, entry)| entry);
        promoted.chain(ranked.iter().copied().filter(|entry| !self.contains(entry))).collect()
    }
    /// How many promoted documents are not in the sets of matching ones.
    pub fn beside(&self, matched: &[Vec<u64>]) -> u64 {
        let beside = |entry: &Entry| !bits::contains(&matched[entry.segment], entry.doc);
        self.places.iter().filter(|(_, entry)| beside(entry)).count() as u64
    }
    /// Puts the promoted of `items` at their places among the others, whose order stays; `entry` names the document that
    /// an item stands for. Places beyond the end are appended in their order.
    pub fn arrange<T>(&self, items: Vec<T>, entry: impl Fn(&T) -> Entry) -> Vec<T> {
        if self.is_empty() {
            return items;
        }
        let mut placed: Vec<(usize, T)> = vec![];
        let mut others: Vec<T> = Vec::with_capacity(items.len());
        for item in items {
            let Entry { segment, doc, key: _ } = entry(&item);
            match self.numbers.get(&(segment, doc)) {
                Some(&at) => placed.push((at, item)),
                None => others.push(item),
            }
        }
        placed.sort_by_key(|&(at, _)| at);
        let mut placed = placed.into_iter().peekable();
        let mut others = others.into_iter();
        let mut out = vec![];
        loop {
            let due = placed.next_if(|&(at, _)| self.places[at].0 <= out.len() as u64);
            match due.map(|(_, item)| item).or_else(|| others.next()) {
                Some(item) => out.push(item),
                None => break,
            }
        }
        out.extend(placed.map(|(_, item)| item));
        out
    }
}
