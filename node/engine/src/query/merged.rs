//! Which value of each parameter acts: the request's or the settings'?

use quorate_model::{SearchParams, Settings};

/// The parameters of a request, completed by the settings. `None` still means the default.
pub fn merged(settings: &Settings, request: &SearchParams) -> SearchParams {
    let mut p = request.clone();
    let s = &settings.params;
    macro_rules! complete {
        ($($field:ident)*) => { $( if p.$field.is_none() { p.$field = s.$field.clone(); } )* };
    }
    complete! {
        attributes_to_retrieve restrict_searchable_attributes min_proximity
        attribute_criteria_computed_by_min_proximity sum_or_filters_scores facets max_values_per_facet
        sort_facet_values_by faceting_after_distinct max_facet_hits distinct hits_per_page typo_tolerance
        min_word_size_for_1_typo min_word_size_for_2_typos allow_typos_on_numeric_tokens
        disable_typo_tolerance_on_attributes query_type remove_words_if_no_results advanced_syntax optional_words
        exact_on_single_word_query disable_exact_on_attributes synonyms enable_rules attributes_to_highlight
        attributes_to_snippet highlight_pre_tag highlight_post_tag snippet_ellipsis_text
        restrict_highlight_and_snippet_arrays minimum_around_radius around_precision
    }
    p
}
