//! Which searches of an index count, user by user?

use crate::chains::{Chain, Typed};
use crate::error::Result;
use crate::rows::{EventRow, RowKind, SearchRow};
use crate::segment::RowFilter;
use crate::store::EventView;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows between two looks at whether to stop: far less than 100 ms.
const LOOK_ROWS: usize = 1_024;

/// The searches of an index in some time, with a query, that count. What was typed at several nodes becomes one search by the rule of chains.
pub struct CountedSearches<'c> {
    /// Where the rows are.
    pub view: &'c EventView,
    /// The index.
    pub index: &'c str,
    /// Only searches with one of these tags, if there are any.
    pub tags: &'c [String],
    /// When they were asked, Unix milliseconds.
    pub times_ms: Range<u64>,
    /// Whether to stop.
    pub stop: &'c AtomicBool,
}

impl CountedSearches<'_> {
    /// Gives each of them with the number of its user: those of one user come one after another. Returns whether these were all: it may
    /// have been stopped.
    ///
    /// Cost: the rows of the index in that time are read.
    pub(super) fn each(&self, mut give: impl FnMut(u64, SearchRow)) -> Result<bool> {
        let wanted = RowFilter { index: Some(self.index), ..RowFilter::ALL };
        let (mut chain, mut users, mut last): (Chain, u64, Option<EventRow>) = (Chain::default(), 1, None);
        let mut add = |user, ended: Option<Typed>| {
            let counts = ended.filter(|Typed { search, .. }| self.counts(search));
            counts.into_iter().for_each(|Typed { search, .. }| give(user, search));
        };
        for (number, row) in self.view.rows(wanted, self.times_ms.clone())?.enumerate() {
            if number % LOOK_ROWS == 0 && self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let mut row = row?;
            if !last.as_ref().is_some_and(|last| last.is_of_same_user(&row)) {
                add(users, chain.end());
                users += 1;
            }
            match (row.kind, row.search.take()) {
                (RowKind::Search, Some(search)) => add(users, chain.then(Typed::at(row.time_ms, *search))),
                _ => {
                    if let Some(id) = row.query_id {
                        chain.named(id);
                    }
                }
            }
            last = Some(row);
        }
        add(users, chain.end());
        Ok(true)
    }
    fn counts(&self, search: &SearchRow) -> bool {
        let is_tagged = |tag: &String| search.tags.contains(tag);
        !search.query.is_empty() && (self.tags.is_empty() || self.tags.iter().any(is_tagged))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::store::EventStore;
    use quorate_model::IndexName;
    use quorate_model::event::{CountedSearch, TextList};
    use quorate_store::files::RealFiles;
    use std::sync::Arc;

    pub const HOUR: u64 = 3_600_000;

    fn search(user: &str, time_ms: u64, query: &str, tags: &[&str], filters: &[&str]) -> CountedSearch {
        CountedSearch {
            index: IndexName::new("shop").unwrap(),
            user: user.to_owned(),
            time_ms,
            query: query.to_owned(),
            hits: 1,
            shown: TextList::default(),
            tags: tags.iter().collect(),
            filters: filters.iter().collect(),
            country: None,
            query_ids: vec![],
            stands: false,
        }
    }

    /// A store with searches of three users.
    pub fn stored() -> (tempfile::TempDir, EventStore) {
        let folder = tempfile::tempdir().unwrap();
        let mut store = EventStore::open(Arc::new(RealFiles), folder.path()).unwrap();
        let elsewhere = search("ann", HOUR, "x", &[], &["color:red"]);
        let searches = [
            search("ann", HOUR, "red", &["web"], &["color:blue"]),
            // on another node
            search("ann", HOUR + 1_000, "red lamp", &["web"], &["color:red", "price<10"]),
            search("ann", 9 * HOUR, "red lamp", &["web"], &["color:red", "color:-blue"]),
            search("ann", 9 * HOUR + 60_000, "desk", &["app"], &["brand:a"]),
            search("bob", HOUR, "red lamp", &["app", "web"], &["color:pink", "brand:a:b"]),
            search("bob", 2 * HOUR, "", &["web"], &["color:red"]),
            search("eve", 99 * HOUR, "late", &[], &["color:late"]),
            CountedSearch { index: IndexName::new("other").unwrap(), ..elsewhere },
        ];
        store.append_searches(1, &searches);
        (folder, store)
    }
}
