//! How does a search that counts become a row?

use super::{EventRow, RowKind, SearchRow, Text, first_eight, user_hash};
use quorate_model::event::CountedSearch;
use quorate_store::codec;
use sha2::{Digest, Sha256};

/// The row of a search that the log has at `log_index`. Index, user, query and country go through `share`, which may give a text that is
/// there already. Cost: a digest of the search.
pub fn of_search(search: &CountedSearch, log_index: u64, share: &mut dyn FnMut(&str) -> Text) -> EventRow {
    EventRow {
        index: share(search.index.as_str()),
        user_hash: user_hash(&search.user),
        user: share(&search.user),
        authenticated: None,
        time_ms: search.time_ms,
        is_timed: true,
        kind: RowKind::Search,
        event: None,
        object: None,
        position: None,
        query_id: None,
        value: None,
        price: None,
        quantity: None,
        discount: None,
        currency: None,
        filter: None,
        search: Some(Box::new(SearchRow {
            query: share(&search.query),
            hits: search.hits,
            shown: search.shown.clone(),
            tags: search.tags.clone(),
            country: search.country.as_deref().map(&mut *share),
            query_ids: search.query_ids.clone(),
            filters: search.filters.clone(),
            stands: search.stands,
        })),
        fingerprint: first_eight(Sha256::digest(codec::encode(search))),
        log_index,
    }
}
