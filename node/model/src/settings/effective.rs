//! Which value does each query parameter have for one search: the request's, else the setting's, else the default?

use super::Settings;
use super::table::ROWS;
use crate::filter::Filter;
use crate::params::{
    AlternativesAsExact, AroundRadius, ExactOnSingleWord, FacetSort, ForLanguages, LatLng, QueryType,
    RemoveWords, SearchParams, SyntaxFeatures, TypoTolerance,
};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Every query parameter with the value that holds for one search; `None` only where absence has a meaning.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Effective {
    pub attributes_to_retrieve: Vec<String>,
    pub restrict_searchable_attributes: Vec<String>,
    pub min_proximity: u8,
    pub attribute_criteria_computed_by_min_proximity: bool,
    /// 0 to 100.
    pub relevancy_strictness: u64,
    /// `filters`, `facetFilters`, `numericFilters` and `tagFilters`, conjoined.
    pub filter: Filter,
    /// `optionalFilters`: never removes hits.
    pub optional_filter: Filter,
    pub sum_or_filters_scores: bool,
    /// Attribute names, or the single name `*`.
    pub facets: Vec<String>,
    pub max_values_per_facet: u64,
    pub sort_facet_values_by: FacetSort,
    pub faceting_after_distinct: bool,
    pub max_facet_hits: u64,
    /// 0 = off.
    pub distinct: u8,
    pub page: u64,
    pub hits_per_page: u64,
    /// `None` = pages are used, unless `length` is given.
    pub offset: Option<u64>,
    /// `None` = as many as hits_per_page.
    pub length: Option<u64>,
    pub typo_tolerance: TypoTolerance,
    pub min_word_size_for_1_typo: u64,
    pub min_word_size_for_2_typos: u64,
    pub allow_typos_on_numeric_tokens: bool,
    pub disable_typo_tolerance_on_attributes: Vec<String>,
    pub decompound_query: bool,
    pub query_languages: Vec<String>,
    pub natural_languages: Vec<String>,
    pub ignore_plurals: ForLanguages,
    pub remove_stop_words: ForLanguages,
    pub query: String,
    pub similar_query: String,
    pub query_type: QueryType,
    pub remove_words_if_no_results: RemoveWords,
    pub advanced_syntax: bool,
    pub advanced_syntax_features: SyntaxFeatures,
    pub optional_words: Vec<String>,
    pub exact_on_single_word_query: ExactOnSingleWord,
    pub alternatives_as_exact: AlternativesAsExact,
    pub disable_exact_on_attributes: Vec<String>,
    pub synonyms: bool,
    pub enable_rules: bool,
    pub rule_contexts: Vec<String>,
    /// `None` = every searchable attribute.
    pub attributes_to_highlight: Option<Vec<String>>,
    pub attributes_to_snippet: Vec<String>,
    pub highlight_pre_tag: String,
    pub highlight_post_tag: String,
    pub snippet_ellipsis_text: String,
    pub restrict_highlight_and_snippet_arrays: bool,
    pub replace_synonyms_in_highlight: bool,
    pub around_lat_lng: Option<LatLng>,
    /// `None` = automatic.
    pub around_radius: Option<AroundRadius>,
    pub minimum_around_radius: Option<u64>,
    /// (from metres, precision metres), ascending.
    pub around_precision: Vec<(u64, u64)>,
    /// Each box: two opposite corners.
    pub inside_bounding_box: Option<Vec<[f64; 4]>>,
    /// Each polygon: at least three points.
    pub inside_polygon: Option<Vec<Vec<LatLng>>>,
    pub get_ranking_info: bool,
    pub response_fields: Vec<String>,
    pub click_analytics: bool,
    pub user_token: Option<String>,
    pub rendering_content: Option<Value>,
    /// Names of the explanations asked for (C§8.9).
    pub explain: Vec<String>,
    /// Position of an earlier browse answer.
    pub cursor: Option<String>,
    /// Accepted parameters that act elsewhere or not at all: those of the settings, overridden by the request.
    pub other: Map<String, Value>,
}

/// The defaults of the table as parameters.
static DEFAULTS: LazyLock<SearchParams> = LazyLock::new(|| {
    let mut defaults = SearchParams::default();
    for row in ROWS {
        let value = row.default_value();
        if !value.is_null() {
            defaults
                .set(row, row.name, &value)
                .expect("the defaults of the table are valid; a test reads them all");
        }
    }
    // Members of `other` without a request or a setting stay absent: whoever acts on one knows its default.
    defaults.other = Map::new();
    defaults
});

impl Settings {
    /// Resolves every query parameter of a request on these settings.
    pub fn effective(&self, request: &SearchParams) -> Effective {
        let (set, default) = (&self.params, &*DEFAULTS);
        macro_rules! optional {
            ($member:ident) => {
                request.$member.clone().or_else(|| set.$member.clone()).or_else(|| default.$member.clone())
            };
        }
        macro_rules! resolved {
            ($member:ident) => {
                optional!($member).expect("the table has a default; a test resolves every member")
            };
        }
        let mut other = set.other.clone();
        other.extend(request.other.iter().map(|(name, value)| (name.clone(), value.clone())));
        Effective {
            attributes_to_retrieve: resolved!(attributes_to_retrieve),
            restrict_searchable_attributes: resolved!(restrict_searchable_attributes),
            min_proximity: resolved!(min_proximity),
            attribute_criteria_computed_by_min_proximity: resolved!(
                attribute_criteria_computed_by_min_proximity
            ),
            relevancy_strictness: resolved!(relevancy_strictness),
            filter: request.filter.clone(),
            optional_filter: request.optional_filter.clone(),
            sum_or_filters_scores: resolved!(sum_or_filters_scores),
            facets: resolved!(facets),
            max_values_per_facet: resolved!(max_values_per_facet),
            sort_facet_values_by: resolved!(sort_facet_values_by),
            faceting_after_distinct: resolved!(faceting_after_distinct),
            max_facet_hits: resolved!(max_facet_hits),
            distinct: resolved!(distinct),
            page: resolved!(page),
            hits_per_page: resolved!(hits_per_page),
            offset: optional!(offset),
            length: optional!(length),
            typo_tolerance: resolved!(typo_tolerance),
            min_word_size_for_1_typo: resolved!(min_word_size_for_1_typo),
            min_word_size_for_2_typos: resolved!(min_word_size_for_2_typos),
            allow_typos_on_numeric_tokens: resolved!(allow_typos_on_numeric_tokens),
            disable_typo_tolerance_on_attributes: resolved!(disable_typo_tolerance_on_attributes),
            decompound_query: resolved!(decompound_query),
            query_languages: resolved!(query_languages),
            natural_languages: resolved!(natural_languages),
            ignore_plurals: resolved!(ignore_plurals),
            remove_stop_words: resolved!(remove_stop_words),
            query: resolved!(query),
            similar_query: resolved!(similar_query),
            query_type: resolved!(query_type),
            remove_words_if_no_results: resolved!(remove_words_if_no_results),
            advanced_syntax: resolved!(advanced_syntax),
            advanced_syntax_features: resolved!(advanced_syntax_features),
            optional_words: resolved!(optional_words),
            exact_on_single_word_query: resolved!(exact_on_single_word_query),
            alternatives_as_exact: resolved!(alternatives_as_exact),
            disable_exact_on_attributes: resolved!(disable_exact_on_attributes),
            synonyms: resolved!(synonyms),
            enable_rules: resolved!(enable_rules),
            rule_contexts: resolved!(rule_contexts),
            attributes_to_highlight: optional!(attributes_to_highlight),
            attributes_to_snippet: resolved!(attributes_to_snippet),
            highlight_pre_tag: resolved!(highlight_pre_tag),
            highlight_post_tag: resolved!(highlight_post_tag),
            snippet_ellipsis_text: resolved!(snippet_ellipsis_text),
            restrict_highlight_and_snippet_arrays: resolved!(restrict_highlight_and_snippet_arrays),
            replace_synonyms_in_highlight: resolved!(replace_synonyms_in_highlight),
            around_lat_lng: optional!(around_lat_lng),
            around_radius: optional!(around_radius),
            minimum_around_radius: optional!(minimum_around_radius),
            around_precision: resolved!(around_precision),
            inside_bounding_box: optional!(inside_bounding_box),
            inside_polygon: optional!(inside_polygon),
            get_ranking_info: resolved!(get_ranking_info),
            response_fields: resolved!(response_fields),
            click_analytics: resolved!(click_analytics),
            user_token: optional!(user_token),
            rendering_content: optional!(rendering_content),
            explain: resolved!(explain),
            cursor: optional!(cursor),
            other,
        }
    }
}
