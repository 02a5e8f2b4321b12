//! What does each criterion count of a record, and what do hits say of it? The table that the reference goes over (C§7).

use super::ranker::{Found, Ranker};
use super::typo::Match;
use super::wanted::Step;
use quorate_model::settings::Criterion;
use serde_json::Value;

/// What a criterion counts: less is better, the first number before the second.
pub type Count = (i64, i64);

/// One criterion.
pub struct Row {
    pub criterion: Criterion,
    /// What it counts, of what one way to read the query found in a record.
    pub counts: fn(&Ranker<'_>, &Found, &Value) -> Count,
    /// Its members of `_rankingInfo`, by what it counts.
    pub info: fn(&Ranker<'_>, Count, &Found, &Value) -> Vec<(&'static str, i64)>,
}
/// Every criterion but those that sort by attributes.
pub const ROWS: &[Row] = &[
    Row {
        criterion: Criterion::Typo,
        counts: |_, found, _| (found.typos(), 0),
        info: |_, typos, _, _| vec![("nbTypos", typos.0)],
    },
    Row {
        criterion: Criterion::Geo,
        counts: |ranker, _, record| {
            let around = ranker.around();
            (around.bucket(around.metres(record)).into(), 0)
        },
        info: |ranker, bucket, _, record| {
            let around = ranker.around();
            let precision = around.metres(record).map_or(1, |metres| around.precision_at(metres));
            vec![("geoDistance", bucket.0), ("geoPrecision", precision.into())]
        },
    },
    Row {
        criterion: Criterion::Words,
        counts: |_, found, _| (found.missing(), 0),
        info: |_, missing, found, _| vec![("words", found.words as i64 - missing.0)],
    },
    Row {
        criterion: Criterion::Filters,
        counts: |ranker, _, record| (-i64::from(ranker.score(record)), 0),
        info: |_, score, _, _| vec![("filters", -score.0)],
    },
    Row {
        criterion: Criterion::Proximity,
        counts: |ranker, found, _| (ranker.distances(found), 0),
        info: |_, distances, _, _| vec![("proximityDistance", distances.0)],
    },
    Row {
        criterion: Criterion::Attribute,
        counts: |ranker, found, _| {
            let (attribute, word) = ranker.best_place(found);
            (attribute.into(), word.into())
        },
        info: |_, place, _, _| vec![("firstMatchedWord", place.0 * 1000 + place.1)],
    },
    Row {
        criterion: Criterion::Exact,
        counts: |ranker, found, _| (-ranker.exact_words(found), 0),
        info: |_, exact, _, _| vec![("nbExactWords", -exact.0)],
    },
];
impl Found {
    /// Typos of all words that are there.
    fn typos(&self) -> i64 {
        let of_step = |(step, words): &(Step, Vec<Vec<Match>>)| {
            let of_words = words.iter().filter_map(|matches| Some(matches.first()?.typos)).sum::<u32>();
            i64::from(step.typos + of_words)
        };
        self.steps.iter().map(of_step).sum()
    }
    /// Words that are not there.
    fn missing(&self) -> i64 {
        self.steps.iter().filter(|(_, words)| words.iter().any(Vec::is_empty)).count() as i64
    }
}
