//! Which queries did most users ask of an index?

use super::counted::CountedSearches;
use crate::error::Result;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Queries that are counted at a time: when there are more, those that one user asked are let go.
const QUERIES_MAX: usize = 1_000_000;
/// Bytes of the queries of an answer.
const BYTES_MAX: usize = 8 << 20;

/// The queries that most users asked, each with how many did, the most popular first. `None` when it is stopped.
///
/// Cost: the rows of the index in that time are read.
pub fn popular(searches: &CountedSearches<'_>, most: usize) -> Result<Option<Vec<(String, u64)>>> {
    let mut counts = Counts { of: FxHashMap::default(), queries_max: QUERIES_MAX };
    let is_whole = searches.each(|user, search| counts.add(user, search.query))?;
    Ok(is_whole.then(|| counts.most_popular(most)))
}

/// How many users asked each query; users come one after another.
struct Counts {
    /// For each query how many asked it, and the number of the last one.
    of: FxHashMap<Arc<str>, (u64, u64)>,
    queries_max: usize,
}

impl Counts {
    fn add(&mut self, user: u64, query: Arc<str>) {
        let (users, last) = self.of.entry(query).or_default();
        if *last != user {
            (*users, *last) = (*users + 1, user);
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
    use crate::suggestions::counted::tests::{HOUR, stored};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn users_are_counted_once_and_what_is_typed_becomes_one_search() {
        let (_folder, store) = stored();
        let view = store.view();
        let of = |tags: &[&str], until: u64, most| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            let stop = AtomicBool::new(false);
            let searches =
                CountedSearches { view: &view, index: "shop", tags: &tags, times_ms: 0..until, stop: &stop };
            let found = popular(&searches, most).unwrap().unwrap();
            found.into_iter().map(|(query, users)| format!("{query} {users}")).collect::<Vec<_>>()
        };
        assert_eq!(of(&[], 50 * HOUR, 10), ["red lamp 2", "desk 1"]);
        assert_eq!(of(&[], 100 * HOUR, 2), ["red lamp 2", "desk 1"]);
        assert_eq!(of(&["app"], 100 * HOUR, 10), ["desk 1", "red lamp 1"]);
        assert_eq!(of(&["no"], 100 * HOUR, 10), [""; 0]);
        let stop = AtomicBool::new(true);
        let stopped =
            CountedSearches { view: &view, index: "shop", tags: &[], times_ms: 0..HOUR * 99, stop: &stop };
        assert_eq!(popular(&stopped, 10).unwrap(), None);
    }

    #[test]
    fn queries_that_one_user_asked_are_let_go_when_there_are_too_many() {
        let mut counts = Counts { of: FxHashMap::default(), queries_max: 2 };
        for (user, query) in [(1, "a"), (2, "a"), (2, "b"), (3, "c"), (3, "d")] {
            counts.add(user, query.into());
        }
        assert_eq!(counts.most_popular(9), [("a".to_owned(), 2), ("d".to_owned(), 1)]);
    }
}
