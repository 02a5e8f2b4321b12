//! Which parameters stand for several others? (C§4.5 naturalLanguages, C§4.6 similarQuery)

use quorate_model::params::{ForLanguages, QueryType, RemoveWords};
use quorate_model::settings::Effective;

/// Gives the parameters that others imply their values.
///
/// A spoken sentence drops its stop words, finds all forms of the others and gives words up when nothing has them all. A
/// similar query takes the place of the query: its words match whole, none of them must, and stop words do not count.
/// The context that a spoken sentence adds to rules is theirs to add.
pub fn apply(params: &mut Effective) {
    if !params.natural_languages.is_empty() {
        let languages = ForLanguages::Listed(params.natural_languages.clone());
        params.ignore_plurals = languages.clone();
        params.remove_stop_words = languages;
        params.remove_words_if_no_results = RemoveWords::AllOptional;
    }
    if !params.similar_query.is_empty() {
        params.query = params.similar_query.clone();
        params.query_type = QueryType::PrefixNone;
        params.advanced_syntax = false;
        if params.remove_stop_words == ForLanguages::None {
            params.remove_stop_words = ForLanguages::Query;
        }
    }
}
