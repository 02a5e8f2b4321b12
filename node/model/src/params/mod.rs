//! Search parameters, typed (C§4). `None` = not given: the index setting, then the default, applies.

mod echo;
pub(crate) mod lenient;
pub(crate) mod members;
mod overlay;
mod parse;
#[cfg(test)]
mod tests;

pub use echo::{echo, echo_pairs};
pub use overlay::Forced;
pub(crate) use parse::kept;
pub use parse::{DELETE_BY_NAMES, given};

use crate::filter::Filter;
use crate::wire::{exact, exact_boxes};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// `typoTolerance` (C§4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum TypoTolerance {
    On,
    Off,
    Min,
    Strict,
}
/// `queryType` (C§4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
#[expect(clippy::enum_variant_names, reason = "the values have these names in the interface")]
pub enum QueryType {
    PrefixLast,
    PrefixAll,
    PrefixNone,
}
/// `removeWordsIfNoResults` (C§4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum RemoveWords {
    None,
    LastWords,
    FirstWords,
    AllOptional,
}
/// `exactOnSingleWordQuery` (C§7.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ExactOnSingleWord {
    Attribute,
    None,
    Word,
}
/// `sortFacetValuesBy` (C§4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum FacetSort {
    Count,
    Alpha,
}
/// For which languages something is on: `ignorePlurals`, `removeStopWords` (C§4.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForLanguages {
    /// Off.
    None,
    /// `true`: the query languages, or all that are supported.
    Query,
    /// The languages listed.
    Listed(Vec<String>),
}
/// `advancedSyntaxFeatures` (C§4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SyntaxFeatures {
    pub exact_phrase: bool,
    pub exclude_words: bool,
}
/// `alternativesAsExact` (C§4.6): which alternatives of a query word count as exact matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct AlternativesAsExact {
    pub plurals: bool,
    pub single_word_synonyms: bool,
    pub multi_word_synonyms: bool,
    pub conjugations: bool,
}
/// `aroundRadius` (C§4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AroundRadius {
    /// Metres.
    Metres(u64),
    /// Every record with a position.
    All,
}
/// A point in degrees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct LatLng {
    #[serde(with = "exact")]
    pub lat: f64,
    #[serde(with = "exact")]
    pub lng: f64,
}
/// What a request or the settings of an index say about one search.
///
/// The same struct holds the query-time values of the settings, so the effective value of a member is
/// `request.x.or(settings.params.x)` and then the default of the table: `Settings::effective` resolves them all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct SearchParams {
    // attributes
    pub attributes_to_retrieve: Option<Vec<String>>,
    pub restrict_searchable_attributes: Option<Vec<String>>,
    // ranking
    pub min_proximity: Option<u8>,
    pub attribute_criteria_computed_by_min_proximity: Option<bool>,
    pub relevancy_strictness: Option<u64>,
    // filtering and faceting
    /// `filters`, `facetFilters`, `numericFilters` and `tagFilters`, conjoined.
    pub filter: Filter,
    /// `optionalFilters`: never removes hits.
    pub optional_filter: Filter,
    pub sum_or_filters_scores: Option<bool>,
    /// Attribute names, or the single name `*`.
    pub facets: Option<Vec<String>>,
    pub max_values_per_facet: Option<u64>,
    pub sort_facet_values_by: Option<FacetSort>,
    pub faceting_after_distinct: Option<bool>,
    pub max_facet_hits: Option<u64>,
    /// 0 = off.
    pub distinct: Option<u8>,
    // pagination
    pub page: Option<u64>,
    pub hits_per_page: Option<u64>,
    pub offset: Option<u64>,
    pub length: Option<u64>,
    // typos
    pub typo_tolerance: Option<TypoTolerance>,
    pub min_word_size_for_1_typo: Option<u64>,
    pub min_word_size_for_2_typos: Option<u64>,
    pub allow_typos_on_numeric_tokens: Option<bool>,
    pub disable_typo_tolerance_on_attributes: Option<Vec<String>>,
    pub decompound_query: Option<bool>,
    pub query_languages: Option<Vec<String>>,
    pub natural_languages: Option<Vec<String>>,
    pub ignore_plurals: Option<ForLanguages>,
    pub remove_stop_words: Option<ForLanguages>,
    // query strategy
    pub query: Option<String>,
    pub similar_query: Option<String>,
    pub query_type: Option<QueryType>,
    pub remove_words_if_no_results: Option<RemoveWords>,
    pub advanced_syntax: Option<bool>,
    pub advanced_syntax_features: Option<SyntaxFeatures>,
    pub optional_words: Option<Vec<String>>,
    pub exact_on_single_word_query: Option<ExactOnSingleWord>,
    pub alternatives_as_exact: Option<AlternativesAsExact>,
    pub disable_exact_on_attributes: Option<Vec<String>>,
    pub synonyms: Option<bool>,
    pub enable_rules: Option<bool>,
    pub rule_contexts: Option<Vec<String>>,
    // highlighting
    pub attributes_to_highlight: Option<Vec<String>>,
    pub attributes_to_snippet: Option<Vec<String>>,
    pub highlight_pre_tag: Option<String>,
    pub highlight_post_tag: Option<String>,
    pub snippet_ellipsis_text: Option<String>,
    pub restrict_highlight_and_snippet_arrays: Option<bool>,
    pub replace_synonyms_in_highlight: Option<bool>,
    // geo
    pub around_lat_lng: Option<LatLng>,
    pub around_radius: Option<AroundRadius>,
    pub minimum_around_radius: Option<u64>,
    /// (from metres, precision metres), ascending.
    pub around_precision: Option<Vec<(u64, u64)>>,
    /// Each box: two opposite corners.
    #[serde(with = "exact_boxes")]
    pub inside_bounding_box: Option<Vec<[f64; 4]>>,
    /// Each polygon: at least three points.
    pub inside_polygon: Option<Vec<Vec<LatLng>>>,
    // misc
    pub get_ranking_info: Option<bool>,
    pub response_fields: Option<Vec<String>>,
    pub click_analytics: Option<bool>,
    pub user_token: Option<String>,
    pub rendering_content: Option<Value>,
    pub explain: Option<Vec<String>>,
    /// Position of an earlier browse answer.
    pub cursor: Option<String>,
    /// Accepted parameters that act elsewhere or not at all (analytics, languages, personalisation …), as given.
    pub other: serde_json::Map<String, Value>,
    /// What the caller's key forces; it is in the other members already, and put over what rules say.
    pub forced: Option<Arc<Forced>>,
}
