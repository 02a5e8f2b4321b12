//! Which queries did most users ask of an index?

use crate::chains::{Chain, Typed};
use crate::error::Result;
use crate::rows::{Row, RowKind};
use crate::segment::Wanted;
use crate::store::EventView;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Queries that are counted at a time: when there are more, those that one user asked are let go.
const QUERIES_MAX: usize = 1_000_000;
/// Bytes of the queries of an answer.
const BYTES_MAX: usize = 8 << 20;
/// Rows between two looks at whether to stop: far less than 100 ms.
const LOOK_ROWS: usize = 1_024;

/// The queries that most users asked in some time (Unix milliseconds), each with how many did, the most popular first; only searches
/// with one of the tags, if there are any. What was typed at several nodes becomes one search by the rule of chains. `None` when it is
/// stopped.
///
/// Cost: the rows of the index in that time are read.
pub fn popular(
    view: &EventView,
    index: &str,
    tags: &[String],
    times_ms: Range<u64>,
    most: usize,
    stop: &AtomicBool,
) -> Result<Option<Vec<(String, u64)>>> {
    let wanted = Wanted { index: Some(index), ..Wanted::ALL };
    let mut counts = Counts { tags, users: 0, of: FxHashMap::default(), queries_max: QUERIES_MAX };
    let (mut chain, mut last): (Chain, Option<Row>) = (Chain::default(), None);
    for (number, row) in view.rows(wanted, times_ms)?.enumerate() {
        if number % LOOK_ROWS == 0 && stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut row = row?;
        if !last.as_ref().is_some_and(|last| last.is_of_same_user(&row)) {
            counts.add(chain.end());
            counts.users += 1;
        }
        match (row.kind, row.search.take()) {
            (RowKind::Search, Some(search)) => counts.add(chain.then(Typed::at(row.time_ms, *search))),
            _ => {
                if let Some(id) = row.query_id {
                    chain.named(id);
                }
            }
        }
        last = Some(row);
    }
    counts.add(chain.end());
    Ok(Some(counts.most_popular(most)))
}

/// How many users asked each query; users come one after another.
struct Counts<'t> {
    tags: &'t [String],
    /// Users so far.
    users: u64,
    /// For each query how many asked it, and the number of the last one.
    of: FxHashMap<Arc<str>, (u64, u64)>,
    queries_max: usize,
}

impl Counts<'_> {
    fn add(&mut self, counted: Option<Typed>) {
        let Some(Typed { search, .. }) = counted else { return };
        let is_tagged = |tag: &String| search.tags.iter().any(|known| **known == **tag);
        if search.query.is_empty() || !self.tags.is_empty() && !self.tags.iter().any(is_tagged) {
            return;
        }
        let (users, last) = self.of.entry(search.query).or_default();
        if *last != self.users {
            (*users, *last) = (*users + 1, self.users);
        }
        if self.of.len() > self.queries_max {
            self.of.retain(|_, (users, _)| *users > 1);
        }
    }
    fn most_popular(self, most: usize) -> Vec<(String, u64)> {
        let mut all: Vec<(Arc<str>, u64)> =
            self.of.into_iter().map(|(query, (users, _))| (query, users)).collect();
        all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mut bytes = 0;
        let has_room = |(query, _): &(Arc<str>, u64)| {
            bytes += query.len();
            bytes <= BYTES_MAX
        };
        let best = all.into_iter().take(most).take_while(has_room);
        best.map(|(query, users)| (query.to_string(), users)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::SearchRow;
    use crate::store::EventStore;
    use quorate_model::IndexName;
    use quorate_model::event::CountedSearch;
    use quorate_store::files::RealFiles;

    fn search(user: &str, time_ms: u64, query: &str, tags: &[&str]) -> CountedSearch {
        CountedSearch {
            index: IndexName::new("shop").unwrap(),
            user: user.to_owned(),
            time_ms,
            query: query.to_owned(),
            hits: 1,
            shown: vec![],
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            filters: vec![],
            country: None,
            query_ids: vec![],
            stands: false,
        }
    }

    #[test]
    fn users_are_counted_once_and_what_is_typed_becomes_one_search() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = EventStore::open(Arc::new(RealFiles), folder.path()).unwrap();
        const HOUR: u64 = 3_600_000;
        let mut searches = vec![
            search("ann", HOUR, "red", &["web"]),
            // on another node
            search("ann", HOUR + 1_000, "red lamp", &["web"]),
            search("ann", 9 * HOUR, "red lamp", &["web"]),
            search("ann", 9 * HOUR + 60_000, "desk", &["app"]),
            search("bob", HOUR, "red lamp", &["app", "web"]),
            search("bob", 2 * HOUR, "", &["web"]),
            search("eve", 99 * HOUR, "late", &[]),
        ];
        searches
            .push(CountedSearch { index: IndexName::new("other").unwrap(), ..search("ann", HOUR, "x", &[]) });
        store.append_searches(1, &searches);
        let view = store.view();
        let of = |tags: &[&str], until: u64, most| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            let found =
                popular(&view, "shop", &tags, 0..until, most, &AtomicBool::new(false)).unwrap().unwrap();
            found.into_iter().map(|(query, users)| format!("{query} {users}")).collect::<Vec<_>>()
        };
        assert_eq!(of(&[], 50 * HOUR, 10), ["red lamp 2", "desk 1"]);
        assert_eq!(of(&[], 100 * HOUR, 2), ["red lamp 2", "desk 1"]);
        assert_eq!(of(&["app"], 100 * HOUR, 10), ["desk 1", "red lamp 1"]);
        assert_eq!(of(&["no"], 100 * HOUR, 10), [""; 0]);
        let stopped = popular(&view, "shop", &[], 0..HOUR * 99, 10, &AtomicBool::new(true));
        assert_eq!(stopped.unwrap(), None);
    }

    #[test]
    fn queries_that_one_user_asked_are_let_go_when_there_are_too_many() {
        let mut counts = Counts { tags: &[], users: 1, of: FxHashMap::default(), queries_max: 2 };
        for (user, query) in [(1, "a"), (2, "a"), (2, "b"), (3, "c"), (3, "d")] {
            counts.users = user;
            let search = SearchRow { query: query.into(), ..SearchRow::default() };
            counts.add(Some(Typed::at(0, search)));
        }
        assert_eq!(counts.most_popular(9), [("a".to_owned(), 2), ("d".to_owned(), 1)]);
    }
}
