//! What does a virtual replica keep of its primary's hits, and in which order? (C§7.11)
//!
//! The contract leaves the measure of relevance open; its weights are the decided ones.

use super::order::by_key;
use super::ranker::Ranked;
use quorate_model::settings::{Criterion, SortKey};
use serde_json::Value;

/// Cuts the hits of the primary and orders the rest by the keys; `ranking` is the primary's.
pub fn cut_and_sort(
    ranked: &mut Vec<(Ranked, &Value)>,
    ranking: &[Criterion],
    keys: &[SortKey],
    strictness: u64,
    is_placeholder: bool,
) {
    if !is_placeholder && strictness > 0 {
        let proximity = ranked.iter().map(|(one, _)| one.count(&Criterion::Proximity).0).min().unwrap_or(0);
        let attribute = ranked.iter().map(|(one, _)| one.count(&Criterion::Attribute).0).min().unwrap_or(0);
        let relevances: Vec<i64> =
            ranked.iter().map(|(one, _)| relevance(one, ranking, proximity, attribute)).collect();
        let best = relevances.iter().copied().max().unwrap_or(0);
        let mut each = relevances.iter();
        ranked.retain(|_| each.next().is_some_and(|one| one * 100 >= best * strictness as i64));
    }
    let sorts = ranking.iter().filter_map(|criterion| match criterion {
        Criterion::Sort(key) => Some(key),
        _ => None,
    });
    let keys: Vec<&SortKey> = sorts.chain(keys).collect();
    ranked.sort_by(|a, b| {
        let by = keys.iter().map(|key| by_key(key, a.1, b.1)).find(|order| order.is_ne());
        by.unwrap_or(std::cmp::Ordering::Equal)
    });
}
fn relevance(one: &Ranked, ranking: &[Criterion], proximity: i64, attribute: i64) -> i64 {
    let count = |criterion| one.count(&criterion).0;
    let farther = match count(Criterion::Proximity) - proximity {
        0 => 0,
        1..=2 => 1,
        3..=6 => 2,
        7..=14 => 3,
        15..=30 => 4,
        31..=62 => 5,
        _ => 6,
    };
    let shortcomings = [
        (Criterion::Typo, 20 * count(Criterion::Typo)),
        (Criterion::Words, 30 * count(Criterion::Words)),
        (Criterion::Proximity, 5 * farther),
        (Criterion::Attribute, 5 * (count(Criterion::Attribute) - attribute)),
        (Criterion::Exact, 5 * (one.found.words as i64 + count(Criterion::Exact))),
    ];
    let counted = shortcomings.iter().filter(|(criterion, _)| ranking.contains(criterion));
    (100 - counted.map(|(_, cost)| *cost).sum::<i64>()).max(0)
}
