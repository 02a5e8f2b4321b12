//! Which searches are counted for analytics, and what is kept of them (C§18)?
//!
//! Hot path: a few short texts are copied, of hits their objectIDs, once the answer has been written. Nothing is handed over that was
//! allocated for it: there are some hundred searches between two looks at what waits, and each would have to find memory of its own.

use crate::call::Call;
use quorate_cluster::{Searcher, ServedSearch};
use quorate_model::event::search::{SHOWN_MAX, TAGS_MAX, filter_texts};
use quorate_model::event::{QueryId, id_values};
use quorate_model::{IndexName, SearchParams, SearchResults};
use serde_bytes::Bytes;
use serde_json::Value;

/// What is kept of a search until it is answered.
#[derive(Clone, Debug)]
pub struct Counting {
    user_token: Option<String>,
    tags: Vec<String>,
    filters: Vec<String>,
}

impl Counting {
    /// Of the parameters that a caller gave, before those of the key; `None` when they say `analytics: false`.
    pub fn of(params: &SearchParams) -> Option<Counting> {
        if params.other.get("analytics") == Some(&Value::Bool(false)) {
            return None;
        }
        // as few as are kept in the end: a request may have many more
        Some(Counting { user_token: None, tags: tags_of(params), filters: filter_texts(&params.filter) })
    }
    /// The same, by whom the call names.
    pub fn by(self, user_token: Option<&str>) -> Counting {
        let user_token = user_token.filter(|token| !token.is_empty()).map(str::to_owned);
        Counting { user_token, ..self }
    }
    /// Notes the search, which has been answered with an id. It counts when the call is: nobody sees the results of one that fails.
    pub fn note(
        &self,
        call: &Call<'_>,
        index: &IndexName,
        results: &SearchResults,
        query_id: Option<QueryId>,
    ) {
        let of_address = || call.address.map_or(Searcher::Unknown, Searcher::Address);
        let country = call.state.locations().and_then(|locations| locations.country_of(call.address?));
        call.note.served(ServedSearch {
            index: index.as_str(),
            user: self.user_token.as_deref().map_or_else(of_address, Searcher::Token),
            time_ms: call.note.began_ms,
            query: &results.query,
            nb_hits: results.nb_hits,
            shown: id_values(&results.hits, SHOWN_MAX).map(Bytes::new).collect(),
            tags: self.tags.iter().map(String::as_str).collect(),
            filters: self.filters.iter().map(String::as_str).collect(),
            country: country.as_deref(),
            query_id,
        });
    }
}

/// The tags that count (C§18.5).
fn tags_of(params: &SearchParams) -> Vec<String> {
    let tags = params.other.get("analyticsTags").and_then(Value::as_array);
    let tags = tags.into_iter().flatten().filter_map(Value::as_str);
    tags.take(TAGS_MAX).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_more_tags_are_kept_than_count() {
        let tags_of = |tags: Value| {
            let members = json!({"analyticsTags": tags}).as_object().cloned().unwrap();
            tags_of(&SearchParams::from_json(&members).unwrap())
        };
        let tags: Vec<String> = (0..1_000).map(|n| n.to_string()).collect();
        assert_eq!(tags_of(json!(tags)), tags[..TAGS_MAX]);
        assert_eq!(tags_of(json!(["a"])), ["a"]);
    }
}
