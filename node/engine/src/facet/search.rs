//! Which values of a facet match what somebody types? (C§8.3)

use super::matched::Matched;
use super::ordinal_counts;
use crate::analysis::{Analyzer, TokenOptions};
use crate::clock::Clock;
use crate::query::Word;
use crate::response::marks::Marker;
use quorate_model::Settings;
use quorate_model::params::FacetSort;
use rustc_hash::FxHashMap;

/// A value, the value with its matches in tags, and how many records have it.
pub type FacetHit = (String, String, u64);

/// Tags around matches.
pub struct Tags<'a> {
    /// Before.
    pub pre: &'a str,
    /// After.
    pub post: &'a str,
}
/// The values that contain every word, in order; all values when there are no words. Those not looked at when the clock
/// rings are left out.
#[allow(clippy::too_many_arguments)]
pub fn matching_values(
    settings: &Settings,
    segments: &[Matched<'_>],
    path: &str,
    analyzer: &Analyzer,
    words: &[Word],
    sort: FacetSort,
    limit: usize,
    tags: &Tags<'_>,
    clock: &mut Clock,
) -> Vec<FacetHit> {
    let mut counts: FxHashMap<&str, u64> = FxHashMap::default();
    for matched in segments {
        let Some(column) = matched.segment.facet(path) else { continue };
        for (ordinal, count) in ordinal_counts(&column, matched) {
            *counts.entry(column.value(ordinal)).or_default() += count;
        }
    }
    let all = (1u32 << words.len()) - 1;
    let mut marker = Marker::new(settings, analyzer, words, &[], false);
    // every word may match with as many typos as its length allows
    let typos = vec![4u8; words.len()];
    let mut matching: Vec<(&str, u64)> = counts.into_iter().collect();
    if !words.is_empty() {
        matching.retain(|(value, _)| {
            if clock.is_over() {
                return false;
            }
            marker.mark(value, TokenOptions::default(), &typos);
            u32::from(marker.marks.words) == all
        });
    }
    match sort {
        FacetSort::Count => matching.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0))),
        FacetSort::Alpha => matching.sort_unstable(),
    }
    matching.truncate(limit);
    let highlighted = |value: &str, marker: &mut Marker<'_>| {
        marker.mark(value, TokenOptions::default(), &typos);
        let mut out = String::with_capacity(value.len() + 16);
        let mut at = 0;
        for &(start, end) in &marker.marks.marked {
            out.push_str(&value[at..start]);
            out.push_str(tags.pre);
            out.push_str(&value[start..end]);
            out.push_str(tags.post);
            at = end;
        }
        out.push_str(&value[at..]);
        out
    };
    matching
        .into_iter()
        .map(|(value, count)| (value.to_string(), highlighted(value, &mut marker), count))
        .collect()
}
