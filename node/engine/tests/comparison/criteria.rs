//! What does each criterion count of a record, and what do hits say of it? The table that the reference goes over (C§7).

use super::ranker::{Ranked, Ranker};
use quorate_model::settings::Criterion;
use serde_json::Value;

/// One criterion.
pub struct Row {
    pub criterion: Criterion,
    /// What it counts: less is better, the first number before the second.
    pub counts: fn(&Ranker<'_>, &Ranked, &Value) -> (i64, i64),
    /// Its members of `_rankingInfo`.
    pub info: fn(&Ranker<'_>, &Ranked, &Value) -> Vec<(&'static str, u32)>,
}
/// Every criterion but those that sort by attributes.
pub const ROWS: &[Row] = &[
    Row {
        criterion: Criterion::Typo,
        counts: |_, one, _| (one.typos.into(), 0),
        info: |_, one, _| vec![("nbTypos", one.typos)],
    },
    Row {
        criterion: Criterion::Geo,
        counts: |ranker, one, _| (ranker.around().bucket(one.metres).into(), 0),
        info: |ranker, one, _| {
            let precision = one.metres.map_or(1, |metres| ranker.around().precision_at(metres));
            vec![("geoDistance", ranker.around().bucket(one.metres)), ("geoPrecision", precision)]
        },
    },
    Row {
        criterion: Criterion::Words,
        counts: |_, one, _| (one.missing.into(), 0),
        info: |_, one, _| vec![("words", one.words - one.missing)],
    },
    Row {
        criterion: Criterion::Filters,
        counts: |_, one, _| (-i64::from(one.filters), 0),
        info: |_, one, _| vec![("filters", one.filters)],
    },
    Row {
        criterion: Criterion::Proximity,
        counts: |_, one, _| (one.proximity.into(), 0),
        info: |_, one, _| vec![("proximityDistance", one.proximity)],
    },
    Row {
        criterion: Criterion::Attribute,
        counts: |_, one, _| (one.attribute.0.into(), one.attribute.1.into()),
        info: |_, one, _| vec![("firstMatchedWord", one.attribute.0 * 1000 + one.attribute.1)],
    },
    Row {
        criterion: Criterion::Exact,
        counts: |_, one, _| (-i64::from(one.exact), 0),
        info: |_, one, _| vec![("nbExactWords", one.exact)],
    },
];
