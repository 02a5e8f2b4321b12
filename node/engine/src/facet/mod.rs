//! How many of the matching records have each value of a facet? (C§8.2)
pub mod search;

use crate::filter::is_declared;
use crate::index::{FacetColumn, FacetDocs, Segment};
use crate::matching::bits;
use quorate_model::params::FacetSort;
use quorate_model::results::{FacetCounts, FacetStats};
use quorate_model::settings::IndexSettings;
use rustc_hash::FxHashMap;

/// A segment with the documents of it that match.
pub type Matched<'a> = (&'a Segment, &'a [u64]);

/// How the values of a facet are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Order of the values.
    pub sort: FacetSort,
    /// Values listed at most.
    pub limit: usize,
}

/// The attributes to count: the requested ones that are declared and not filter-only, in request order, each once.
pub fn requested(settings: &IndexSettings, facets: &[String]) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    let countable = |path: &str| {
        is_declared(settings, path)
            && !settings.attributes_for_faceting.iter().any(|facet| facet.path == path && facet.filter_only)
    };
    for facet in facets {
        let all = settings.attributes_for_faceting.iter().map(|declared| &declared.path);
        let listed: Vec<&String> = if facet == "*" { all.collect() } else { vec![facet] };
        for path in listed {
            if countable(path) && !names.contains(path) {
                names.push(path.clone());
            }
        }
    }
    names
}
/// Counts one facet over all segments; `None` when no matching record has a value.
pub fn count(segments: &[Matched<'_>], path: &str, listing: Listing) -> Option<FacetCounts> {
    let values = match segments {
        [(segment, set)] => counts_of(segment, set, path),
        _ => {
            let mut merged: FxHashMap<&str, u64> = FxHashMap::default();
            for (segment, set) in segments {
                for (value, count) in counts_of(segment, set, path) {
                    *merged.entry(value).or_default() += count;
                }
            }
            merged.into_iter().collect()
        }
    };
    if values.is_empty() {
        return None;
    }
    let complete = values.len() <= listing.limit;
    // booleans can be compared as numbers, but they have no average
    let only_booleans = values.iter().all(|(value, _)| matches!(*value, "true" | "false"));
    let stats = if only_booleans { None } else { stats(segments, path) };
    let values =
        listed(values, listing).into_iter().map(|(value, count)| (value.to_string(), count)).collect();
    Some(FacetCounts { attribute: path.to_string(), values, complete, stats })
}
/// The first values in the asked order.
fn listed(mut values: Vec<(&str, u64)>, listing: Listing) -> Vec<(&str, u64)> {
    fn by_count(a: &(&str, u64), b: &(&str, u64)) -> std::cmp::Ordering {
        b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0))
    }
    match listing.sort {
        FacetSort::Count => {
            if values.len() > listing.limit && listing.limit > 0 {
                values.select_nth_unstable_by(listing.limit - 1, by_count);
            }
            values.truncate(listing.limit);
            values.sort_unstable_by(by_count);
        }
        FacetSort::Alpha => {
            values.sort_unstable();
            values.truncate(listing.limit);
        }
    }
    values
}
/// The values of one segment that some matching document has.
fn counts_of<'a>(segment: &'a Segment, set: &[u64], path: &str) -> Vec<(&'a str, u64)> {
    let Some(column) = segment.facet(path) else { return vec![] };
    let counts = ordinal_counts(&column, set);
    let found = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
    found.map(|(ordinal, count)| (column.value(ordinal as u32), count)).collect()
}
/// Counts by ordinal: by a walk of the set or of the values, whichever is shorter.
pub fn ordinal_counts(column: &FacetColumn<'_>, set: &[u64]) -> Vec<u64> {
    let values = column.value_count();
    let by_values = column.dense_values().len() * set.len() + column.listed() * 2;
    let by_documents = bits::count(set) as usize * if column.offsets().is_none() { 4 } else { 12 };
    if by_values < by_documents {
        return (0..values).map(|ordinal| common(column.docs_of(ordinal), set)).collect();
    }
    let mut counts = vec![0u64; values as usize];
    bits::each(set, |doc| {
        for ordinal in column.ords_of(doc) {
            counts[ordinal as usize] += 1;
        }
        true
    });
    counts
}
fn common(docs: FacetDocs<'_>, set: &[u64]) -> u64 {
    match docs {
        FacetDocs::List(docs) => docs.iter().filter(|&&doc| bits::contains(set, doc)).count() as u64,
        FacetDocs::Bitmap(bitmap, _) => {
            bitmap.iter().zip(set).map(|(a, b)| u64::from((a & b).count_ones())).sum()
        }
    }
}
/// Statistics over every number of the matching records; `None` when there is none.
pub fn stats(segments: &[Matched<'_>], path: &str) -> Option<FacetStats> {
    let (mut min, mut max, mut sum, mut count) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0u64);
    for (segment, set) in segments {
        let Some(column) = segment.numeric(path) else { continue };
        bits::each(set, |doc| {
            for &x in column.values_of(doc) {
                min = min.min(x);
                max = max.max(x);
                sum += x;
                count += 1;
            }
            true
        });
    }
    (count > 0).then(|| FacetStats { min, max, avg: sum / count as f64, sum })
}
