//! Which parameters has a search, in the order in which nodes send them to each other, and what becomes of each?
//!
//! `always` and `perhaps` are what a request may say, else the settings, else the table: there is a default for the former and none for
//! the latter. The stronger of two replaces the weaker; `merged` is `perhaps` and takes the members of both, and `added` holds for a request alone and
//! asks for both. `as` names how a member is written where JSON alone would lose something (`wire.rs`).

/// Gives the list to a macro.
macro_rules! parameters {
    ($with:ident) => {
        $with! {
            // attributes
            attributes_to_retrieve: always Vec<String>,
            restrict_searchable_attributes: always Vec<String>,
            // ranking
            min_proximity: always u8,
            attribute_criteria_computed_by_min_proximity: always bool,
            /// 0 to 100.
            relevancy_strictness: always u64,
            // filtering and faceting
            /// `filters`, `facetFilters`, `numericFilters` and `tagFilters`, conjoined.
            filter: added Filter,
            /// `optionalFilters`: never removes hits.
            optional_filter: added Filter,
            sum_or_filters_scores: always bool,
            /// Attribute names, or the single name `*`.
            facets: always Vec<String>,
            max_values_per_facet: always u64,
            sort_facet_values_by: always FacetSort,
            faceting_after_distinct: always bool,
            max_facet_hits: always u64,
            /// 0 = off.
            distinct: always u8,
            // pagination
            page: always u64,
            hits_per_page: always u64,
            /// `None` = pages are used, unless `length` is given.
            offset: perhaps u64,
            /// `None` = as many as hits_per_page.
            length: perhaps u64,
            // typos
            typo_tolerance: always TypoTolerance,
            min_word_size_for_1_typo: always u64,
            min_word_size_for_2_typos: always u64,
            allow_typos_on_numeric_tokens: always bool,
            disable_typo_tolerance_on_attributes: always Vec<String>,
            decompound_query: always bool,
            query_languages: always Vec<String>,
            natural_languages: always Vec<String>,
            ignore_plurals: always ForLanguages,
            remove_stop_words: always ForLanguages,
            // query strategy
            query: always String,
            similar_query: always String,
            query_type: always QueryType,
            remove_words_if_no_results: always RemoveWords,
            advanced_syntax: always bool,
            advanced_syntax_features: always SyntaxFeatures,
            optional_words: always Vec<String>,
            exact_on_single_word_query: always ExactOnSingleWord,
            alternatives_as_exact: always AlternativesAsExact,
            disable_exact_on_attributes: always Vec<String>,
            synonyms: always bool,
            enable_rules: always bool,
            rule_contexts: always Vec<String>,
            // highlighting
            /// `None` = every searchable attribute.
            attributes_to_highlight: perhaps Vec<String>,
            attributes_to_snippet: always Vec<String>,
            highlight_pre_tag: always String,
            highlight_post_tag: always String,
            snippet_ellipsis_text: always String,
            restrict_highlight_and_snippet_arrays: always bool,
            replace_synonyms_in_highlight: always bool,
            // geo
            around_lat_lng: perhaps LatLng,
            /// `None` = automatic.
            around_radius: perhaps AroundRadius,
            minimum_around_radius: perhaps u64,
            /// (from metres, precision metres), ascending.
            around_precision: always Vec<(u64, u64)>,
            /// Each box: two opposite corners.
            inside_bounding_box: perhaps Vec<[f64; 4]> as "exact_boxes",
            /// Each polygon: at least three points.
            inside_polygon: perhaps Vec<Vec<LatLng>>,
            // misc
            get_ranking_info: always bool,
            response_fields: always Vec<String>,
            click_analytics: always bool,
            user_token: perhaps String,
            rendering_content: merged Arc<Value>,
            /// Names of the explanations asked for (C§8.9).
            explain: always Vec<String>,
            /// Position of an earlier browse answer.
            cursor: perhaps String,
        }
    };
}
pub(crate) use parameters;
