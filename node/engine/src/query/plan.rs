//! What must every segment know to answer one query?

use super::alternatives::{Alternative, Path};
use super::words::{Compounds, Word, Words};
use crate::clock::Deadline;
use crate::index::position::{AttributeNumbers, attribute_numbers};
use crate::index::{SegmentForm, ShardView};
use crate::ranking::criteria::proximity::FAR;
use crate::ranking::distance::GeoQuery;
use crate::ranking::key::{Groupings, Layout, acting_order};
use crate::ranking::rules::{Frame, PositionRules};
use quorate_model::limits::QUERY_WORDS_MAX;
use quorate_model::params::ExactOnSingleWord;
use quorate_model::settings::{Criterion, Effective, IndexSettings};
use quorate_model::{Error, Result, Settings};

/// A query, ready to run on segments.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Words in query order; at most [`QUERY_WORDS_MAX`].
    pub words: Vec<Word>,
    /// Phrases that a record must contain besides, as they are written.
    pub beyond: Vec<Vec<Word>>,
    /// What else may stand for several words, or be several words; at first whatever the query allows, then what the
    /// records have.
    pub alternatives: Vec<Alternative>,
    /// What knows the parts of compound words, when the query's may be taken apart.
    pub compounds: Option<Compounds>,
    /// Stop words that were left out.
    pub stop_words: Vec<Word>,
    /// The ways to read the query; the first is the words as typed.
    pub paths: Vec<Path>,
    /// Words and phrases a record must not contain.
    pub excluded: Vec<Vec<Word>>,
    /// Documents that are not shown, as segment and document.
    pub hidden: Vec<(usize, u32)>,
    /// What positions mean.
    pub rules: PositionRules,
    /// How criteria compare.
    pub layout: Layout,
    /// Sort keys that compare before some other criterion.
    pub groupings: Groupings,
    /// Whether the number of typos is the first criterion, so that documents can be looked at by it.
    pub typos_rank_first: bool,
    /// Best documents wanted from each segment.
    pub limit: usize,
    /// Whether the set of all matching documents is wanted.
    pub wants_set: bool,
    /// Whether wrong first letters with a second edit are looked for.
    pub deep: bool,
    /// Documents evaluated per tier once the page is full.
    pub budget: u64,
    /// When to stop.
    pub deadline: Deadline,
    /// Whether time ran out before all ways to read the query were known.
    pub is_late: bool,
    /// Geographic restriction and order.
    pub geo: GeoQuery,
}
impl Plan {
    /// What a path adds to the scores of its matches.
    pub fn frame(&self, path: &Path) -> Frame {
        let adjacent = self.rules.min_proximity.min(FAR);
        Frame { words: self.words.len(), typos: path.typos, proximity: path.joined * adjacent }
    }
}
/// Documents evaluated per tier of all segments together (engine design, decision 10).
pub const BUDGET: u64 = 100_000;

/// Lays out ranking and rules for the words.
pub fn plan(
    view: &ShardView,
    settings: &Settings,
    params: &Effective,
    words: Words,
    deadline: Deadline,
) -> Result<Plan> {
    debug_assert!(words.wanted.len() <= QUERY_WORDS_MAX);
    let mut order = ranking_order(&settings.index.ranking, params);
    let geo = GeoQuery::new(params);
    // without a centre all are as far away
    order.retain(|criterion| *criterion != Criterion::Geo || geo.centre.is_some());
    let docs_max = view.segments().iter().map(|segment| segment.doc_count()).max().unwrap_or_default();
    let groupings = Groupings::of(&order, settings.index.custom_ranking.len(), docs_max);
    Ok(Plan {
        rules: position_rules(view.form(), settings, params, &order, &words.wanted)?,
        layout: Layout::new(&order, groupings),
        groupings,
        typos_rank_first: order.first() == Some(&Criterion::Typo),
        beyond: words.beyond,
        alternatives: words.alternatives,
        compounds: words.compounds,
        stop_words: words.stop_words,
        paths: vec![Path::typed(words.wanted.len())],
        words: words.wanted,
        excluded: words.excluded,
        hidden: vec![],
        limit: 0,
        wants_set: false,
        deep: false,
        budget: BUDGET,
        deadline,
        is_late: false,
        geo,
    })
}
/// The criteria in acting order; `min` and `strict` put typos first (C§4.5), a similar query its words (C§4.6).
fn ranking_order(ranking: &[Criterion], params: &Effective) -> Vec<Criterion> {
    use quorate_model::params::TypoTolerance::{Min, Off, On, Strict};
    let mut order = acting_order(ranking);
    if !params.similar_query.is_empty() {
        order.retain(|criterion| *criterion != Criterion::Words);
        order.insert(0, Criterion::Words);
    }
    match params.typo_tolerance {
        // before the words of a similar query, too: what is left out is cut off behind what stays
        Min | Strict => {
            order.retain(|criterion| *criterion != Criterion::Typo);
            order.insert(0, Criterion::Typo);
        }
        On | Off => {}
    }
    order
}
/// Attribute numbers of the listed paths; a parent stands for its children.
fn attribute_bits(form: SegmentForm, settings: &IndexSettings, paths: &[String]) -> u32 {
    let listed = |path: &str| paths.iter().any(|listed| covers(listed, path));
    let numbered = settings.searchable_attributes.iter().zip(attribute_numbers(settings, form));
    numbered.filter(|(a, _)| listed(&a.path)).fold(0, |bits, (_, number)| bits | 1 << number)
}
/// Whether `parent` is `path` or an object above it.
pub fn covers(parent: &str, path: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
fn position_rules(
    form: SegmentForm,
    settings: &Settings,
    params: &Effective,
    order: &[Criterion],
    words: &[Word],
) -> Result<PositionRules> {
    let index = &settings.index;
    let all_but = |paths: &[String]| !attribute_bits(form, index, paths);
    let searched = match params.restrict_searchable_attributes.as_slice() {
        [] => u32::MAX,
        paths => {
            check_restriction(index, paths)?;
            attribute_bits(form, index, paths)
        }
    };
    let place = |wanted: &Criterion| order.iter().position(|criterion| criterion == wanted);
    let by_proximity = params.attribute_criteria_computed_by_min_proximity;
    let attribute_first = match (place(&Criterion::Attribute), place(&Criterion::Proximity)) {
        (Some(attribute), Some(proximity)) => attribute < proximity,
        (_, None) => true,
        (None, Some(_)) => false,
    };
    Ok(PositionRules {
        searched,
        typos: all_but(&params.disable_typo_tolerance_on_attributes),
        prefixes: all_but(&index.disable_prefix_on_attributes),
        exact: all_but(&params.disable_exact_on_attributes),
        numbers: AttributeNumbers::new(index, form),
        attributes_rank: !index.searchable_attributes.is_empty(),
        attribute_of_all_matches: attribute_first && !by_proximity,
        min_proximity: u32::from(params.min_proximity),
        exact_on_single_word: match words {
            [word] if word.says_little => ExactOnSingleWord::None,
            _ => params.exact_on_single_word_query,
        },
    })
}
/// The first path that restrictSearchableAttributes must not name, because nothing below it is searchable.
pub fn unsearchable<'p>(index: &IndexSettings, paths: &'p [String]) -> Option<&'p String> {
    let known = |path: &String| index.searchable_attributes.iter().any(|a| covers(path, &a.path));
    paths.iter().find(|path| !known(path))
}
fn check_restriction(index: &IndexSettings, paths: &[String]) -> Result<()> {
    match unsearchable(index, paths) {
        None => Ok(()),
        Some(path) => Err(Error::invalid(format!(
            "Invalid value for \"restrictSearchableAttributes\" parameter, expected attributes listed in \
             searchableAttributes, {path} is not one"
        ))),
    }
}
