//! Which values of a facet match what somebody types? (C§8.3)

use super::matched::Matched;
use super::{Listing, listed, ordinal_counts, worth};
use crate::analysis::{Analyzer, TokenOptions};
use crate::clock::Clock;
use crate::limits::SearchLimits;
use crate::query::Word;
use crate::response::json;
use crate::response::marks::{Detail, Marker, Marks};
use quorate_model::{Error, FacetHits, Result, Settings};
use rustc_hash::FxHashMap;

/// Bytes of a value that are looked through for words in the time of ranking a document.
const MARKED_PER_UNIT: usize = 16;

/// Tags around matches.
pub struct Tags<'a> {
    /// Before.
    pub pre: &'a str,
    /// After.
    pub post: &'a str,
}
/// The values that contain every word, in order; all values when there are no words. Those not looked at in time are left out.
///
/// Errors: `Invalid` when the values take more bytes than they may.
#[allow(clippy::too_many_arguments)]
pub fn matching_values(
    settings: &Settings,
    segments: &[Matched<'_>],
    path: &str,
    analyzer: &Analyzer,
    words: &[Word],
    listing: Listing,
    tags: &Tags<'_>,
    limits: &SearchLimits,
) -> Result<FacetHits> {
    let mut clock = Clock::new(&limits.deadline);
    let counts = counts(segments, path, &mut clock);
    let mut marker = Marker::new(settings, analyzer, words, &[], false);
    // every word may match with as many typos as its length allows
    let typos = vec![4u8; words.len()];
    let all = (1u32 << words.len()) - 1;
    let mut marking = clock.clone();
    let matches = |&(value, _): &(&str, u64)| {
        words.is_empty()
            || !marking.spend(worth_of_marks(value)) && {
                marker.mark(value, TokenOptions::default(), &typos, Detail::Marks);
                u32::from(marker.marks.words) == all
            }
    };
    let values = listed(counts.into_iter().filter(matches), listing, &mut clock);
    let exhaustive = !clock.rang() && !marking.rang();
    let mut showing = Clock::new(&limits.deadline.of_showing());
    let mut left = limits.bytes_max;
    let mut hits = Vec::with_capacity(values.len());
    for (value, count) in values {
        marker.marks.marked.clear();
        if !showing.spend(worth_of_marks(value)) {
            marker.mark(value, TokenOptions::default(), &typos, Detail::Marks);
        }
        let rest = left.checked_sub(json::escaped_len(value));
        let shown = rest.and_then(|rest| highlighted(value, &marker.marks, tags, rest));
        let Some((highlighted, rest)) = shown else { return Err(too_big(limits.bytes_max)) };
        left = rest;
        hits.push((value.to_owned(), highlighted, count));
    }
    Ok(FacetHits { hits, exhaustive })
}
/// How many of the matching records have each value, as far as there is time.
fn counts<'a>(segments: &[Matched<'a>], path: &str, clock: &mut Clock) -> FxHashMap<&'a str, u64> {
    let mut counts: FxHashMap<&str, u64> = FxHashMap::default();
    for matched in segments {
        let Some(column) = matched.segment.facet(path) else { continue };
        for (ordinal, count) in ordinal_counts(&column, matched, clock) {
            let value = column.value(ordinal);
            if clock.spend(worth(value)) {
                return counts;
            }
            *counts.entry(value).or_default() += count;
        }
    }
    counts
}
fn worth_of_marks(value: &str) -> u32 {
    1 + (value.len() / MARKED_PER_UNIT) as u32
}
/// The value with tags around its marks, and the bytes that are left of `bytes_max`; `None` when it takes more.
fn highlighted(value: &str, marks: &Marks, tags: &Tags<'_>, bytes_max: usize) -> Option<(String, usize)> {
    let of_tags = json::escaped_len(tags.pre) + json::escaped_len(tags.post);
    let bytes = json::escaped_len(value).checked_add(marks.marked.len().checked_mul(of_tags)?)?;
    let left = bytes_max.checked_sub(bytes)?;
    let mut out =
        String::with_capacity(value.len() + marks.marked.len() * (tags.pre.len() + tags.post.len()));
    let mut at = 0;
    for &(start, end) in &marks.marked {
        out.push_str(&value[at..start]);
        out.push_str(tags.pre);
        out.push_str(&value[start..end]);
        out.push_str(tags.post);
        at = end;
    }
    out.push_str(&value[at..]);
    Some((out, left))
}
/// What a caller is told whose values take more bytes than an answer may.
fn too_big(bytes_max: usize) -> Error {
    Error::invalid(format!(
        "The answer is too big: its values may take {bytes_max} bytes together. Ask for fewer of them with maxFacetHits, or for \
         shorter tags"
    ))
}
