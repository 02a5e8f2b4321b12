//! Which searches have events of this moment named?
//!
//! What a user types may be held by another node than the one that is sent the events. Each member of the group learns of them as it
//! applies its log.

use quorate_model::IndexName;
use quorate_model::event::{Event, QueryId};
use std::collections::VecDeque;

/// Names that wait at most; the oldest go.
const NAMES_MAX: usize = 16_384;
/// Events that were received longer ago name nothing that is still being typed.
const RECENT_MS: u64 = 60_000;

/// An event of a user of an index names a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSearch {
    /// The index.
    pub index: IndexName,
    /// The user.
    pub user: String,
    /// The search.
    pub id: QueryId,
}

/// Those that nobody has asked for yet.
#[derive(Debug, Default)]
pub(crate) struct NamedSearches(VecDeque<NamedSearch>);

impl NamedSearches {
    /// Adds what events name that were received at a time (both Unix milliseconds). Cost: two texts copied for each that names a search.
    pub fn add(&mut self, events: &[Event], time_ms: u64, now_ms: u64) {
        if time_ms.saturating_add(RECENT_MS) < now_ms {
            return;
        }
        for event in events {
            let named = |id| NamedSearch { index: event.index.clone(), user: event.user.clone(), id };
            self.0.extend(event.query_ids().map(named));
        }
        let many = self.0.len().saturating_sub(NAMES_MAX);
        self.0.drain(..many);
    }
    /// All of them, once.
    pub fn take(&mut self) -> Vec<NamedSearch> {
        std::mem::take(&mut self.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::event::{EventKind, EventTarget};

    #[test]
    fn recent_events_name_searches_and_only_so_many() {
        let event = |id| Event {
            kind: EventKind::Click,
            name: "e".into(),
            index: IndexName::new("shop").expect("a name"),
            user: "ann".into(),
            authenticated: None,
            time_ms: None,
            query_id: id,
            target: EventTarget::Filters(vec![]),
            value: None,
            currency: None,
        };
        let mut named = NamedSearches::default();
        named.add(&[event(Some(QueryId(1))), event(None)], 5, 5 + RECENT_MS);
        named.add(&[event(Some(QueryId(2)))], 4, 5 + RECENT_MS);
        assert_eq!(named.take().iter().map(|named| named.id).collect::<Vec<_>>(), [QueryId(1)]);
        assert_eq!(named.take(), []);
        for id in 0..NAMES_MAX + 3 {
            named.add(&[event(Some(QueryId(id as u128)))], 9, 9);
        }
        let all = named.take();
        assert_eq!((all.len(), all[0].id), (NAMES_MAX, QueryId(3)));
    }
}
