//! Which searches are counted for analytics, and what is kept of them (C§18)?
//!
//! Hot path: a few short texts are copied, of hits their objectIDs, once the answer has been written. Were the bytes of hits handed
//! over, each search would have to find others for its own: there are some hundred searches between two looks at what waits.

use crate::call::Call;
use quorate_cluster::{Searcher, ServedSearch};
use quorate_model::event::search::{SHOWN_MAX, TAGS_MAX, filter_texts};
use quorate_model::event::{QueryId, with_ids_alone};
use quorate_model::{IndexName, SearchParams, SearchResults};
use serde_json::Value;

/// What is kept of a search until it is answered.
#[derive(Clone, Debug)]
pub struct Counting {
    user: Searcher,
    tags: Vec<String>,
    filters: Vec<String>,
}

impl Counting {
    /// Of the parameters that a caller gave, before those of the key; `None` when they say `analytics: false`.
    pub fn of(call: &Call<'_>, params: &SearchParams) -> Option<Counting> {
        if params.other.get("analytics") == Some(&Value::Bool(false)) {
            return None;
        }
        let user = call.address.map_or(Searcher::Unknown, Searcher::Address);
        // as few as are kept in the end: a request may have many more
        Some(Counting { user, tags: tags_of(params), filters: filter_texts(&params.filter) })
    }
    /// The same, by whom the call names.
    pub fn by(self, user_token: Option<&str>) -> Counting {
        match user_token {
            Some(token) if !token.is_empty() => Counting { user: Searcher::Token(token.to_owned()), ..self },
            _ => self,
        }
    }
    /// Notes the search, which has been answered with an id. It counts when the call is: nobody sees the results of one that fails.
    pub fn note(self, call: &Call<'_>, index: &IndexName, results: SearchResults, query_id: Option<QueryId>) {
        let Counting { user, tags, filters } = self;
        let SearchResults { hits, nb_hits, query, .. } = results;
        let country = call.state.locations().and_then(|locations| locations.country_of(call.address?));
        call.note.served(ServedSearch {
            index: index.clone(),
            user,
            time_ms: call.note.began_ms,
            query,
            nb_hits,
            hits: with_ids_alone(&hits, SHOWN_MAX),
            tags,
            filters,
            country,
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
