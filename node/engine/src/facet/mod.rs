//! How many of the matching records have each value of a facet? (C§8.2)
pub mod common;
pub mod matched;
pub mod search;
pub mod selection;

use crate::bits;
use crate::clock::Clock;
use crate::index::{FacetColumn, FacetDocs, FacetOrdinals};
use crate::response::json;
use common::Facet;
use matched::{Documents, Matched};
use quorate_model::params::FacetSort;
use quorate_model::results::{FacetCounts, FacetStats};
use quorate_model::settings::{Effective, IndexSettings};
use quorate_model::{Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};
use selection::Selection;
use std::slice;

/// How the values of a facet are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Order of the values.
    pub sort: FacetSort,
    /// Values listed at most.
    pub limit: usize,
}
impl Listing {
    /// Those of the facets of a search.
    pub fn of(params: &Effective) -> Listing {
        Listing { sort: params.sort_facet_values_by, limit: params.max_values_per_facet as usize }
    }
}

/// The attributes to count: the requested ones that are declared and not filter-only, in request order, each once.
pub fn requested(settings: &IndexSettings, facets: &[String]) -> Vec<String> {
    let declared = &settings.attributes_for_faceting;
    let mut seen = FxHashSet::default();
    let mut names = vec![];
    for facet in facets {
        let listed =
            if facet == "*" { &declared[..] } else { declared.get(facet).map_or(&[][..], slice::from_ref) };
        for attribute in listed.iter().filter(|attribute| !attribute.filter_only) {
            if seen.insert(attribute.path.as_str()) {
                names.push(attribute.path.clone());
            }
        }
    }
    names
}
/// The bytes that values of facets may take in an answer.
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    max: usize,
    left: usize,
}
impl Bytes {
    /// So many.
    pub fn new(max: usize) -> Bytes {
        Bytes { max, left: max }
    }
    /// Takes those of a text. Errors: `Invalid` when there are not so many left.
    fn take(&mut self, text: &str) -> Result<()> {
        let left = self.left.checked_sub(json::escaped_len(text));
        self.left = left.ok_or_else(|| {
            Error::invalid(format!(
                "The answer is too big: it may have {} bytes. Ask for fewer facets, or for fewer values with maxValuesPerFacet",
                self.max
            ))
        })?;
        Ok(())
    }
}
/// Counts one facet over all segments; `None` when no matching record has a value, or the clock rings: some of the counts would
/// be wrong. `selection` is what is known of how the matching records came to be. Errors: `Invalid` when its values take more bytes
/// than are left.
pub fn count(
    segments: &[Matched<'_>],
    selection: &Selection<'_>,
    path: &str,
    listing: Listing,
    bytes: &mut Bytes,
    clock: &mut Clock,
) -> Result<Option<FacetCounts>> {
    let values = match segments {
        [matched] => of_segment(matched, selection, path, listing, clock),
        _ => of_segments(segments, selection, path, listing, clock),
    };
    let Some(Values { values, complete, kind }) = values else { return Ok(None) };
    // booleans can be compared as numbers, but they have no average
    let stats = match kind {
        Kind::Booleans => None,
        Kind::Others => stats(segments, path, clock),
    };
    if clock.rang() {
        return Ok(None);
    }
    // before any of them is copied
    bytes.take(path)?;
    values.iter().try_for_each(|(value, _)| bytes.take(value))?;
    let values = values.into_iter().map(|(value, count)| (value.to_string(), count)).collect();
    Ok(Some(FacetCounts { attribute: path.to_string(), values, complete, stats }))
}
/// The listed values of a facet that some matching record has.
struct Values<'a> {
    values: Vec<(&'a str, u64)>,
    /// Whether they are all there are.
    complete: bool,
    kind: Kind,
}
/// What all values of a facet are, the unlisted ones included.
enum Kind {
    Booleans,
    Others,
}
impl Kind {
    fn of<'a>(mut values: impl Iterator<Item = &'a str>) -> Kind {
        if values.all(|value| matches!(value, "true" | "false")) { Kind::Booleans } else { Kind::Others }
    }
}
/// In one segment, the texts of values that cannot be listed are not looked at.
fn of_segment<'a>(
    matched: &Matched<'a>,
    selection: &Selection<'_>,
    path: &str,
    listing: Listing,
    clock: &mut Clock,
) -> Option<Values<'a>> {
    let column = matched.segment.facet(path)?;
    let mut counts = selection.counts(Facet { path, column }, matched, clock);
    if counts.is_empty() {
        return None;
    }
    let kind = Kind::of(counts.iter().map(|&(ordinal, _)| column.value(ordinal)));
    let complete = counts.len() <= listing.limit;
    if !complete && listing.sort == FacetSort::Count && listing.limit > 0 {
        let (_, &mut (_, least), _) =
            counts.select_nth_unstable_by_key(listing.limit - 1, |&(_, count)| std::cmp::Reverse(count));
        counts.retain(|&(_, count)| count >= least);
    }
    let values = counts.into_iter().map(|(ordinal, count)| (column.value(ordinal), count));
    Some(Values { values: listed(values, listing, clock), complete, kind })
}
fn of_segments<'a>(
    segments: &[Matched<'a>],
    selection: &Selection<'_>,
    path: &str,
    listing: Listing,
    clock: &mut Clock,
) -> Option<Values<'a>> {
    let mut merged: FxHashMap<&str, u64> = FxHashMap::default();
    for matched in segments {
        let Some(column) = matched.segment.facet(path) else { continue };
        for (ordinal, count) in selection.counts(Facet { path, column }, matched, clock) {
            let value = column.value(ordinal);
            if clock.spend(worth(value)) {
                return None;
            }
            *merged.entry(value).or_default() += count;
        }
    }
    if merged.is_empty() {
        return None;
    }
    let kind = Kind::of(merged.keys().copied());
    let complete = merged.len() <= listing.limit;
    Some(Values { values: listed(merged.into_iter(), listing, clock), complete, kind })
}
/// Bytes of a value that are compared or hashed in the time of ranking a document.
const BYTES_PER_UNIT: usize = 256;
/// What a value is worth that is compared with few others, as documents that are ranked.
fn worth(value: &str) -> u32 {
    1 + (value.len() / BYTES_PER_UNIT) as u32
}
/// A value with the number of records that have it.
type Counted<'a> = (&'a str, u64);
/// Values that are kept at least before those are left out that come too late in the order.
const KEPT_MIN: usize = 1_024;
/// The first values in the asked order, of those that are looked at before the clock rings.
fn listed<'a>(
    values: impl Iterator<Item = Counted<'a>>,
    listing: Listing,
    clock: &mut Clock,
) -> Vec<Counted<'a>> {
    let Listing { sort, limit } = listing;
    let order = |a: &Counted<'_>, b: &Counted<'_>| match sort {
        FacetSort::Count => b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)),
        FacetSort::Alpha => a.cmp(b),
    };
    let kept_max = KEPT_MIN.max(2 * limit);
    let mut kept: Vec<Counted<'_>> = Vec::with_capacity(values.size_hint().0.min(kept_max));
    let cut = |kept: &mut Vec<Counted<'a>>| {
        if limit > 0 && kept.len() > limit {
            kept.select_nth_unstable_by(limit - 1, order);
        }
        kept.truncate(limit);
    };
    for value in values {
        if clock.spend(worth(value.0)) {
            break;
        }
        kept.push(value);
        if kept.len() >= kept_max {
            cut(&mut kept);
        }
    }
    cut(&mut kept);
    kept.sort_unstable_by(order);
    kept
}
/// The values that some document of the set has, by ordinal, with the number of such documents. Nothing of it counts once the
/// clock has rung.
///
/// Cost: the least of a look at the stored counts (all documents), a walk of the set and a walk of the values.
pub fn ordinal_counts(column: &FacetColumn<'_>, matched: &Matched<'_>, clock: &mut Clock) -> Vec<(u32, u64)> {
    let &Matched { set, documents, .. } = matched;
    let values = column.value_count() as usize;
    if documents == column.documents() {
        return counted(column, clock, |_| 0, |_, docs| docs.count());
    }
    let walked = documents.min(column.documents() - documents);
    let by_values = column.dense_values().len() * set.len() * 2 + column.listed() * 2 + values * 2;
    let by_documents = walked * if column.offsets().is_none() { 3 } else { 12 } + values;
    if by_values < by_documents {
        return counted(column, clock, worth_of_common, |_, docs| common_count(docs, set));
    }
    if walked < documents {
        return counted_by_the_others(column, set, clock);
    }
    if documents * SPARSE < values {
        return counted_one_by_one(column, matched, clock);
    }
    let counts = walk(column, matched, clock).into_iter().enumerate().filter(|(_, count)| *count > 0);
    counts.map(|(ordinal, count)| (ordinal as u32, u64::from(count))).collect()
}
/// Where most documents are in the set: the stored counts without the documents that are not.
fn counted_by_the_others(column: &FacetColumn<'_>, set: &[u64], clock: &mut Clock) -> Vec<(u32, u64)> {
    let mut others: Vec<u64> = set.iter().map(|word| !word).collect();
    bits::clear_from(&mut others, column.documents() as u32);
    let missing = walk(column, others.as_slice(), clock);
    counted(column, clock, |_| 0, |ordinal, docs| docs.count() - u64::from(missing[ordinal as usize]))
}
/// Counts by ordinal, from a walk of the documents.
///
/// Where values are few, the same one comes again and again and would wait for its counter: several take turns.
fn walk(column: &FacetColumn<'_>, documents: &(impl Documents + ?Sized), clock: &mut Clock) -> Vec<u32> {
    let values = column.value_count() as usize;
    let turns = if values <= VALUES_WITH_TURNS { 4 } else { 1 };
    let mut counts = vec![0u32; values * turns];
    let mut turn = 0;
    let mut count = |ordinal: u32| {
        // the mark of no value is no ordinal
        if (ordinal as usize) < values {
            counts[turn + ordinal as usize] += 1;
            turn = if turn == 0 { values * (turns - 1) } else { turn - values };
        }
    };
    match column.ordinals() {
        FacetOrdinals::U8(ordinals) => {
            each_ordinal(column, ordinals, documents, clock, |o| count(u32::from(o)))
        }
        FacetOrdinals::U16(ordinals) => {
            each_ordinal(column, ordinals, documents, clock, |o| count(u32::from(o)))
        }
        FacetOrdinals::U32(ordinals) => each_ordinal(column, ordinals, documents, clock, count),
    }
    for table in 1..turns {
        let (first, others) = counts.split_at_mut(values);
        let other = &others[(table - 1) * values..table * values];
        first.iter_mut().zip(other).for_each(|(count, more)| *count += more);
    }
    counts.truncate(values);
    counts
}
/// Values of a column up to which several counters of each fit the nearest cache.
const VALUES_WITH_TURNS: usize = 1_024;
/// How many times more values than documents make it worth to sort what is found instead of counting by ordinal.
const SPARSE: usize = 16;

#[inline]
fn each_ordinal<T: Copy>(
    column: &FacetColumn<'_>,
    ordinals: &[T],
    documents: &(impl Documents + ?Sized),
    clock: &mut Clock,
    mut visit: impl FnMut(T),
) {
    match column.offsets() {
        None => documents.each(None, clock, |doc| visit(ordinals[doc as usize])),
        Some(offsets) => documents.each(Some(offsets), clock, |doc| {
            let range = offsets[doc as usize] as usize..offsets[doc as usize + 1] as usize;
            ordinals[range].iter().for_each(|&ordinal| visit(ordinal));
        }),
    }
}
fn counted_one_by_one(column: &FacetColumn<'_>, matched: &Matched<'_>, clock: &mut Clock) -> Vec<(u32, u64)> {
    let mut found: Vec<u32> = vec![];
    matched.each(column.offsets(), clock, |doc| found.extend(column.ords_of(doc)));
    found.sort_unstable();
    found.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u64)).collect()
}
/// Values between two thoughts of the time.
const VALUES_AT_ONCE: u32 = 64;
/// What `count` says of each value; `worth` is what that is worth as documents that are ranked.
fn counted(
    column: &FacetColumn<'_>,
    clock: &mut Clock,
    worth: impl Fn(&FacetDocs<'_>) -> u32,
    count: impl Fn(u32, FacetDocs<'_>) -> u64,
) -> Vec<(u32, u64)> {
    let mut counts = vec![];
    column.each_value(|ordinal, docs| {
        if clock.spend(worth(&docs) + u32::from(ordinal % VALUES_AT_ONCE == 0)) {
            return false;
        }
        let count = count(ordinal, docs);
        if count > 0 {
            counts.push((ordinal, count));
        }
        true
    });
    counts
}
/// What [`common_count`] is worth.
fn worth_of_common(docs: &FacetDocs<'_>) -> u32 {
    let looked_at = match docs {
        FacetDocs::List(docs) => docs.len(),
        FacetDocs::Bitmap(words, _) => words.len(),
    };
    (looked_at / 64) as u32
}
fn common_count(docs: FacetDocs<'_>, set: &[u64]) -> u64 {
    match docs {
        FacetDocs::List(docs) => docs.iter().filter(|&&doc| bits::contains(set, doc)).count() as u64,
        FacetDocs::Bitmap(bitmap, _) => bits::count_both(bitmap, set),
    }
}
/// Statistics over every number of the matching records; `None` when there is none. Nothing of it counts once the clock has rung.
///
/// The order of the records makes no difference to a sum that is not enormous: what each addition cuts off is added at the end
/// (Neumaier, 1974).
pub fn stats(segments: &[Matched<'_>], path: &str, clock: &mut Clock) -> Option<FacetStats> {
    let (mut min, mut max, mut count) = (f64::INFINITY, f64::NEG_INFINITY, 0u64);
    let (mut sum, mut cut_off) = (0.0f64, 0.0f64);
    for matched in segments {
        let Some(column) = matched.segment.numeric(path) else { continue };
        let add = |doc| {
            for &x in column.values_of(doc) {
                min = min.min(x);
                max = max.max(x);
                let next = sum + x;
                cut_off += if sum.abs() >= x.abs() { (sum - next) + x } else { (x - next) + sum };
                sum = next;
                count += 1;
            }
        };
        match column.documents() {
            Some(documents) => {
                let in_time = documents.take_while(|_| !clock.is_over());
                in_time.filter(|&doc| bits::contains(matched.set, doc)).for_each(add);
            }
            None => matched.each(column.offsets(), clock, add),
        }
    }
    // a sum beyond all numbers is the largest of them, as that of an increment
    let exact = sum + cut_off;
    let sum = f64::clamp(if exact.is_finite() { exact } else { sum }, f64::MIN, f64::MAX);
    (count > 0).then(|| FacetStats { min, max, avg: (sum / count as f64).clamp(min, max), sum })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    proptest! {
        #[test]
        fn the_first_values_are_those_of_all_in_order(
            counts in proptest::collection::vec(0u64..5, 0..3_000), limit in 0usize..1_500, by_count: bool,
        ) {
            // texts in another order than the numbers
            let texts: Vec<String> = (0..counts.len()).map(|i| format!("{}", i * 7_919 % 10_007)).collect();
            let values: Vec<Counted<'_>> = texts.iter().map(String::as_str).zip(counts).collect();
            let mut all = values.clone();
            let sort = if by_count { FacetSort::Count } else { FacetSort::Alpha };
            all.sort();
            if by_count {
                all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            }
            all.truncate(limit);
            let mut clock = Clock::new(&(Instant::now() + Duration::from_secs(3_600)).into());
            prop_assert_eq!(listed(values.into_iter(), Listing { sort, limit }, &mut clock), all);
        }
    }
}
