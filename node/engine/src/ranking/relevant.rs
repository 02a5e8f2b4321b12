//! In which order does a virtual replica show what its primary ranks best (C§7.11)?
//!
//! Cost: every match is ranked, not only a page of them; each kept hit then takes one look into a column of numbers for
//! each key, or the reading of its record where there is no such column, up to the deadline. Searches of other indices
//! pay one comparison.

use super::criteria::attribute::WORD_BITS;
use super::criteria::{CriterionScores, Field};
use super::key::Layout;
use crate::clock::Deadline;
use crate::index::{NumericColumn, RankKeys, ShardView};
use crate::ranking::top::Entry;
use quorate_model::Settings;
use quorate_model::settings::{Criterion, Effective, SortKey};
use serde_json::{Map, Value};

/// The second order of a virtual replica.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RelevantSort {
    /// The keys that order the kept hits: the primary's sort criteria, then the replica's customRanking.
    keys: Vec<SortKey>,
}

/// What a relevance of the best hit counts.
const BEST: u32 = 100;
/// What each shortcoming takes off a hit's relevance.
const PER_TYPO: u32 = 20;
const PER_MISSING_WORD: u32 = 30;
const PER_PROXIMITY_BUCKET: u32 = 5;
const PER_ATTRIBUTE: u32 = 5;
const PER_INEXACT_WORD: u32 = 5;
/// Hits between two looks at the clock.
const CLOCK_HITS: usize = 256;

impl RelevantSort {
    /// The order of a replica with this `custom_ranking` on an index with the settings of its primary.
    pub fn new(primary: &Settings, custom_ranking: &[SortKey]) -> RelevantSort {
        let sorts = primary.index.ranking.iter().filter_map(|criterion| match criterion {
            Criterion::Sort(key) => Some(key.clone()),
            _ => None,
        });
        RelevantSort { keys: sorts.chain(custom_ranking.iter().cloned()).collect() }
    }

    /// Keeps the most relevant of `entries`, which are all matches in the primary's order, and puts them in this order;
    /// equal ones stay in the primary's. Without a query nothing is cut.
    pub fn apply(
        &self,
        view: &ShardView,
        layout: &Layout,
        params: &Effective,
        entries: &mut Vec<Entry>,
        deadline: &Deadline,
    ) {
        let strictness = params.relevancy_strictness;
        if !params.query.trim().is_empty() && strictness > 0 {
            let base = Base::of(layout, entries);
            let relevance = |entry: &Entry| relevance(&layout.scores(entry.key), base);
            let best = entries.iter().map(relevance).max().unwrap_or(0);
            entries.retain(|entry| u64::from(relevance(entry)) * 100 >= u64::from(best) * strictness);
        }
        let columns: Vec<Vec<Option<NumericColumn<'_>>>> = view
            .segments()
            .iter()
            .map(|segment| self.keys.iter().map(|key| segment.numeric(&key.path)).collect())
            .collect();
        let record_of = |entry: Entry| view.segments()[entry.segment].record(entry.doc);
        let read = |entry| serde_json::from_slice(record_of(entry)).unwrap_or_default();
        let mut is_late = false;
        let mut keyed: Vec<(Vec<u8>, Entry)> = Vec::with_capacity(entries.len());
        for (number, &entry) in entries.iter().enumerate() {
            is_late |= number % CLOCK_HITS == 0 && deadline.is_over();
            let mut out = Vec::with_capacity(self.keys.len() * 10);
            let mut record: Option<Map<String, Value>> = None;
            for (key, column) in self.keys.iter().zip(&columns[entry.segment]) {
                match column {
                    Some(column) => match column.values_of(entry.doc) {
                        [number] => RankKeys::push_number(key, Some(*number), &mut out),
                        [] if !is_late && names(record_of(entry), &key.path) => {
                            RankKeys::push(key, record.get_or_insert_with(|| read(entry)), &mut out);
                        }
                        _ => RankKeys::push_number(key, None, &mut out),
                    },
                    None if is_late => RankKeys::push_number(key, None, &mut out),
                    None => RankKeys::push(key, record.get_or_insert_with(|| read(entry)), &mut out),
                }
            }
            keyed.push((out, entry));
        }
        keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.clear();
        entries.extend(keyed.into_iter().map(|(_, entry)| entry));
    }
}

/// Whether a record may have something at the path: its text holds the name of the last member.
fn names(record: &[u8], path: &str) -> bool {
    let name = path.rsplit('.').next().unwrap_or(path);
    std::str::from_utf8(record).is_ok_and(|text| text.contains(name) || text.contains("\\u"))
}

/// The best that any hit shows where the best possible depends on the query.
#[derive(Clone, Copy, Debug, Default)]
struct Base {
    proximity: u32,
    attribute: u32,
}
impl Base {
    fn of(layout: &Layout, entries: &[Entry]) -> Base {
        let shown = || entries.iter().map(|entry| layout.scores(entry.key));
        Base {
            proximity: shown().map(|scores| scores[Field::Proximity]).min().unwrap_or(0),
            attribute: shown().map(|scores| scores[Field::Attribute] >> WORD_BITS).min().unwrap_or(0),
        }
    }
}

/// How relevant a hit is, 0 to 100: what its typos, missing and inexact words, distances and attribute leave of the best.
/// Criteria that the primary does not rank by take nothing off.
fn relevance(scores: &CriterionScores, base: Base) -> u32 {
    // 1–2, 3–6, 7–14 … words farther apart than in the best hit
    let bucket = (scores[Field::Proximity].saturating_sub(base.proximity) + 1).ilog2();
    let penalty = PER_TYPO * scores[Field::Typo]
        + PER_MISSING_WORD * scores[Field::Words]
        + PER_PROXIMITY_BUCKET * bucket
        + PER_ATTRIBUTE * (scores[Field::Attribute] >> WORD_BITS).saturating_sub(base.attribute)
        + PER_INEXACT_WORD * scores[Field::Exact];
    BEST.saturating_sub(penalty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::key::Groupings;

    #[test]
    fn each_shortcoming_takes_its_share() {
        use Criterion::{Attribute, Exact, Proximity, Typo, Words};
        let layout = Layout::new(&[Typo, Words, Proximity, Attribute, Exact], Groupings::default());
        let none = CriterionScores::default();
        let base = Base { proximity: 1, attribute: 1 };
        for (scores, expected) in [
            (none, 100),
            (none.with(Field::Typo, 1), 80),
            (none.with(Field::Proximity, 1).with(Field::Attribute, 1 << 10 | 9), 100),
            (none.with(Field::Proximity, 2), 95),
            (none.with(Field::Proximity, 8), 85),
            (none.with(Field::Words, 1).with(Field::Exact, 1), 65),
            (none.with(Field::Attribute, 3 << 10 | 7), 90),
            (none.with(Field::Words, 3).with(Field::Typo, 4), 0),
        ] {
            assert_eq!(relevance(&layout.scores(layout.key(&scores)), base), expected, "{scores:?}");
        }
        let by_words = Layout::new(&[Words], Groupings::default());
        let typos = by_words.scores(by_words.key(&none.with(Field::Typo, 3)));
        assert_eq!(relevance(&typos, Base::default()), 100);
    }
}
