//! Which terms of a segment stand for a word of the query beside its own? (C§6.4 plural, synonym, alternative correction)
//!
//! Hot path: a dictionary look-up for each word that stands for the query word; the rest only when one of them is a term.

use super::expand::{ExpandOptions, sum_up};
use crate::index::Segment;
use crate::query::words::Other;
use crate::terms::{Counted, Expansion, Interval};

/// The expansion with the terms of `others`; `None` when the segment has none of them.
pub fn with_others(
    segment: &Segment,
    own: &Expansion,
    others: &[Other],
    options: ExpandOptions,
) -> Option<Expansion> {
    let terms = segment.terms();
    let mut wider: Option<Expansion> = None;
    for other in others {
        let Some((low, high, is_term)) = terms.starting_with(&other.text) else { continue };
        if !is_term && !other.prefix {
            continue;
        }
        let wider = wider.get_or_insert_with(|| Expansion {
            is_widened: true,
            documents: Counted::default(),
            ..own.clone()
        });
        let high = if other.prefix { high } else { low + 1 };
        overlay(&mut wider.intervals, Interval { low, high, typos: other.typos });
        if is_term {
            if options.whole_words {
                overlay(&mut wider.whole_words, Interval { low, high: low + 1, typos: other.typos });
            }
            if other.exact {
                wider.exact_too.push(low);
            }
        }
    }
    let mut wider = wider?;
    wider.exact_too.sort_unstable();
    // of whole words only the very word is its own: others that begin with it are not
    let whole = wider.exact.map_or((0, 0), |exact| (exact, exact + 1));
    let both = [(&mut wider.intervals, (wider.low, wider.high)), (&mut wider.whole_words, whole)];
    for (intervals, own) in both {
        // the word's own terms stay in front, as in every expansion
        intervals.sort_unstable_by_key(|interval| {
            let is_own = interval.typos == 0 && interval.low >= own.0 && interval.high <= own.1;
            (!is_own, interval.low)
        });
    }
    sum_up(&mut wider, &segment.lists());
    Some(wider)
}
/// Adds an interval to disjoint ones; every term keeps its fewest typos.
fn overlay(intervals: &mut Vec<Interval>, new: Interval) {
    let mut rest = vec![new];
    let mut kept = Vec::with_capacity(intervals.len() + 2);
    for old in intervals.drain(..) {
        if old.typos <= new.typos {
            rest = rest.into_iter().flat_map(|part| without(part, old)).collect();
            kept.push(old);
        } else {
            kept.extend(without(old, new));
        }
    }
    kept.extend(rest);
    *intervals = kept;
}
/// What is left of an interval outside of another one.
fn without(interval: Interval, cut: Interval) -> impl Iterator<Item = Interval> {
    let before = Interval { high: interval.high.min(cut.low), ..interval };
    let after = Interval { low: interval.low.max(cut.high), ..interval };
    [before, after].into_iter().filter(|part| part.low < part.high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_term_keeps_its_fewest_typos() {
        let mut seed = 11u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % n
        };
        for _ in 0..300 {
            let mut intervals = vec![];
            let mut typos_of = [9u8; 20];
            for _ in 0..next(6) {
                let low = next(18) as u32;
                let new = Interval {
                    low,
                    high: low + 1 + next(20 - u64::from(low) - 1) as u32,
                    typos: next(3) as u8,
                };
                overlay(&mut intervals, new);
                for typos in &mut typos_of[new.low as usize..new.high as usize] {
                    *typos = (*typos).min(new.typos);
                }
            }
            let mut found = [9u8; 20];
            for interval in &intervals {
                for typos in &mut found[interval.low as usize..interval.high as usize] {
                    assert_eq!(*typos, 9, "intervals overlap");
                    *typos = interval.typos;
                }
            }
            assert_eq!(found, typos_of);
        }
    }
}
