//! What do the filters of a query say about the values that can occur?
//!
//! Where nothing but facet filters selects, as when somebody browses, counts follow from what pairs of values have in common;
//! no document is walked but deleted ones. Beside other conditions, a facet that is filtered by can only have the values of
//! the filter, whose documents are few or one bitmap each.

use super::common::Facet;
use super::matched::Matched;
use super::{common, ordinal_counts, worth_of_common};
use crate::clock::Clock;
use crate::filter::is_declared;
use crate::index::{FacetDocs, Segment, fold};
use quorate_model::settings::IndexSettings;
use quorate_model::{Atom, Filter};

/// Values of a facet up to which they are counted by ordinal.
const VALUES_MAX: u32 = 1 << 16;
/// Counts follow from pairs when at most documents / this are deleted.
const DEAD_PART: u32 = 16;

/// Whether anything but the groups of a selection selects documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Words, places, numbers and the like.
    Some,
    /// Nothing.
    None,
}
/// The groups of a filter that are alternatives of one facet.
#[derive(Debug)]
pub struct Selection<'a> {
    groups: Vec<(&'a str, Vec<&'a str>)>,
    others: Others,
}
/// A group in one segment.
struct Chosen<'a> {
    facet: Facet<'a>,
    /// Ascending.
    ordinals: Vec<u32>,
}
impl Chosen<'_> {
    /// Whether no document has two of the values.
    fn is_disjoint(&self) -> bool {
        self.facet.column.offsets().is_none() || self.ordinals.len() < 2
    }
    fn holds(&self, doc: u32) -> bool {
        self.facet.column.ords_of(doc).any(|ordinal| self.ordinals.binary_search(&ordinal).is_ok())
    }
}
impl<'a> Selection<'a> {
    /// Nothing is known of the values.
    pub fn unknown() -> Selection<'a> {
        Selection { groups: vec![], others: Others::Some }
    }
    /// What a filter says; `others` is about everything beside it.
    pub fn new(settings: &IndexSettings, filter: &'a Filter, others: Others) -> Selection<'a> {
        let mut selection = Selection { groups: vec![], others };
        for group in &filter.all {
            let mut path = None;
            let value = |atom: &'a quorate_model::FilterAtom| match &atom.atom {
                Atom::Facet { attribute, value }
                    if !atom.negated && *path.get_or_insert(attribute.as_str()) == attribute =>
                {
                    Some(value.as_str())
                }
                Atom::Facet { .. } | Atom::Tag { .. } | Atom::Numeric { .. } | Atom::Range { .. } => None,
            };
            let values: Option<Vec<&str>> = group.any.iter().map(value).collect();
            match (path, values) {
                (Some(path), Some(values)) if is_declared(settings, path) && path != "objectID" => {
                    selection.groups.push((path, values));
                }
                _ => selection.others = Others::Some,
            }
        }
        selection
    }
    /// The values of a facet that some document of the set has, by ordinal, with the number of such documents. Nothing of it counts
    /// once the clock has rung.
    pub fn counts(&self, facet: Facet<'_>, matched: &Matched<'_>, clock: &mut Clock) -> Vec<(u32, u64)> {
        let known = match self.others {
            Others::None => self.of_pairs(facet, matched.segment, clock),
            Others::Some => None,
        };
        let counts = known.or_else(|| self.among_chosen(facet, matched, clock));
        counts.unwrap_or_else(|| ordinal_counts(&facet.column, matched, clock))
    }
    fn chosen<'s>(&'s self, segment: &'s Segment, number: usize) -> Option<Chosen<'s>> {
        let (path, values) = &self.groups[number];
        let column = segment.facet(path)?;
        let mut ordinals: Vec<u32> =
            values.iter().flat_map(|value| column.fold_range(&fold(value))).collect();
        ordinals.sort_unstable();
        ordinals.dedup();
        Some(Chosen { facet: Facet { path, column }, ordinals })
    }
    /// Counts of documents that nothing but one or two groups select; `None` when pairs of values do not tell.
    fn of_pairs(&self, counted: Facet<'_>, segment: &Segment, clock: &mut Clock) -> Option<Vec<(u32, u64)>> {
        let values = counted.column.value_count();
        if values > VALUES_MAX
            || (segment.doc_count() - segment.alive_count()) > segment.doc_count() / DEAD_PART
        {
            return None;
        }
        let chosen: Option<Vec<Chosen<'_>>> =
            (0..self.groups.len()).map(|number| self.chosen(segment, number)).collect();
        let chosen = chosen?;
        let is_single = counted.column.offsets().is_none();
        let (driver, kept) = match chosen.as_slice() {
            [one] if one.facet.path == counted.path && is_single => (None, Some(one)),
            [one] => (Some(one), None),
            [a, b] if a.facet.path == b.facet.path => return None,
            [a, b] if a.facet.path == counted.path && is_single => (Some(b), Some(a)),
            [a, b] if b.facet.path == counted.path && is_single => (Some(a), Some(b)),
            _ => return None,
        };
        let mut counts = vec![0u64; values as usize];
        if let Some(driver) = driver {
            if !driver.is_disjoint() {
                return None;
            }
            let kept = segment.common_values();
            for &ordinal in &driver.ordinals {
                if clock.rang() {
                    break;
                }
                common::add(kept, driver.facet, ordinal, counted, &mut counts, clock);
            }
        }
        let all = 0..values;
        let (listed, all) = match kept {
            Some(kept) => (kept.ordinals.as_slice(), 0..0),
            None => (&[][..], all),
        };
        if driver.is_none() {
            let docs = |&ordinal: &u32| counted.column.docs_of(ordinal).count();
            listed.iter().for_each(|ordinal| counts[*ordinal as usize] = docs(ordinal));
        }
        each_dead(segment, |doc| {
            // there are fewer in counts that were cut short
            if clock.is_over() {
                return false;
            }
            if chosen.iter().all(|chosen| chosen.holds(doc)) {
                counted.column.ords_of(doc).for_each(|ordinal| counts[ordinal as usize] -= 1);
            }
            true
        });
        let listed = listed.iter().copied().chain(all);
        Some(
            listed
                .map(|ordinal| (ordinal, counts[ordinal as usize]))
                .filter(|(_, count)| *count > 0)
                .collect(),
        )
    }
    /// Counts of the values that a group allows, every document having one of them; `None` when the facet may have others or
    /// a walk of the set is quicker.
    fn among_chosen(
        &self,
        counted: Facet<'_>,
        matched: &Matched<'_>,
        clock: &mut Clock,
    ) -> Option<Vec<(u32, u64)>> {
        if counted.column.offsets().is_some() {
            return None;
        }
        let number = self.groups.iter().position(|(path, _)| *path == counted.path)?;
        let mut ordinals = self.chosen(matched.segment, number)?.ordinals;
        let cost = |&ordinal: &u32| match counted.column.docs_of(ordinal) {
            FacetDocs::List(docs) => docs.len(),
            FacetDocs::Bitmap(bitmap, _) => bitmap.len(),
        };
        // the one that costs most has what the others leave
        let most = (0..ordinals.len()).max_by_key(|&place| cost(&ordinals[place]))?;
        let most = ordinals.remove(most);
        let looked_at: usize = ordinals.iter().map(cost).sum();
        if looked_at > matched.documents {
            return None;
        }
        let mut counts: Vec<(u32, u64)> = Vec::with_capacity(ordinals.len() + 1);
        for ordinal in ordinals {
            let docs = counted.column.docs_of(ordinal);
            if clock.spend(1 + worth_of_common(&docs)) {
                return Some(vec![]);
            }
            counts.push((ordinal, super::common_count(docs, matched.set)));
        }
        let left = matched.documents as u64 - counts.iter().map(|(_, count)| count).sum::<u64>();
        counts.push((most, left));
        counts.sort_unstable();
        counts.retain(|(_, count)| *count > 0);
        Some(counts)
    }
}
/// Calls `visit` with every deleted document until it answers `false`.
fn each_dead(segment: &Segment, mut visit: impl FnMut(u32) -> bool) {
    let Some(alive) = segment.alive() else { return };
    for (i, word) in alive.iter().enumerate() {
        let mut dead = !word;
        while dead != 0 {
            let doc = (i as u32) << 6 | dead.trailing_zeros();
            dead &= dead - 1;
            if doc < segment.doc_count() && !visit(doc) {
                return;
            }
        }
    }
}
