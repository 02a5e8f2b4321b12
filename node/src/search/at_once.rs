//! Which searches run on the thread that asks, and what becomes of those that turn out to be long?

use super::{ReadRights, SearchPool, search_limits};
use crate::index::IndexView;
use crate::payer::Payer;
use quorate_engine::{Scratch, SearchLimits};
use quorate_model::{SearchParams, SearchResults};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Records of an index that is searched on the thread that asks, at most.
const LIGHT_RECORDS: u64 = 250_000;
/// Bytes of the text that is searched for there.
const LIGHT_QUERY_BYTES: usize = 128;
/// Hits of a page that is shown there.
const LIGHT_HITS: u64 = 100;
/// How long such an attempt may take. One that took more than half of it may have been cut somewhere, and does not count.
const ATTEMPT: Duration = Duration::from_millis(20);
/// The same while others ask, too, who wait for the thread meanwhile.
const ATTEMPT_BESIDE: Duration = Duration::from_millis(10);
/// After an attempt of this length others have a turn.
const PAUSE_AFTER: Duration = Duration::from_millis(1);

impl SearchPool {
    /// As [`SearchPool::search`], for a caller whose thread may do a short search itself: handing one over and back costs two
    /// wake-ups, which is more than a search of a small index takes. One that turns out to be long goes to the pool, and so do
    /// the next ones of who pays for it.
    pub async fn search_at_once(
        &self,
        view: &Arc<IndexView>,
        params: impl Into<Box<SearchParams>>,
        rights: ReadRights,
    ) -> quorate_model::Result<SearchResults> {
        let params: Box<SearchParams> = params.into();
        let began = Instant::now();
        let payer = Payer::current();
        let sharing = &self.queue.sharing;
        sharing.asks(payer, began);
        let is_shared = sharing.is_shared(began);
        if !is_light(view, &params) || is_shared && sharing.is_long(payer, began) {
            return Box::pin(self.search(view.clone(), params, rights)).await;
        }
        let most = if is_shared { ATTEMPT_BESIDE } else { ATTEMPT };
        let (results, took) = attempt(view, &params, rights, (began, most));
        if took > PAUSE_AFTER {
            // the next query of the same request is not to hold up everybody else
            tokio::task::yield_now().await;
        }
        match results {
            Some(results) => results,
            None => {
                if is_shared {
                    sharing.was_long(payer, Duration::ZERO, Instant::now());
                }
                Box::pin(self.search(view.clone(), params, rights)).await
            }
        }
    }
}

/// Whether a search hardly ever takes a millisecond.
fn is_light(view: &IndexView, params: &SearchParams) -> bool {
    let usual = &view.configuration.settings().params;
    let hits = params.length.or(params.hits_per_page).or(usual.hits_per_page);
    hits.is_none_or(|hits| hits <= LIGHT_HITS)
        && params.query.as_ref().is_none_or(|query| query.len() <= LIGHT_QUERY_BYTES)
        && params.similar_query.is_none()
        && params.inside_polygon.is_none()
        && view.shard.record_count() <= LIGHT_RECORDS
}

/// Searches on this thread, which began at a time and may take so long; no results when that was not as short as expected.
fn attempt(
    view: &IndexView,
    params: &SearchParams,
    rights: ReadRights,
    (began, most): (Instant, Duration),
) -> (Option<quorate_model::Result<SearchResults>>, Duration) {
    thread_local!(static SCRATCH: RefCell<Scratch> = RefCell::default());
    let limits = search_limits(rights, began + most);
    // a page of long records is not shown here either: the thread has others to answer
    let limits = SearchLimits { deadline: limits.deadline.with_showing(), ..limits };
    let mut scratch = SCRATCH.take();
    let searched = catch_unwind(AssertUnwindSafe(|| {
        let results = quorate_engine::search(&view.shard, &view.configuration, params, &limits, &mut scratch);
        (results, scratch)
    }));
    let took = began.elapsed();
    // after a panic the pool says what is to be said of it
    let Ok((results, scratch)) = searched else { return (None, took) };
    SCRATCH.set(scratch);
    ((took < most / 2).then_some(results), took)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::IndexState;
    use quorate_model::GroupId;

    fn asked(query: &str) -> SearchParams {
        SearchParams { query: Some(query.into()), ..SearchParams::default() }
    }

    #[test]
    fn what_took_too_long_on_the_thread_that_asks_does_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = IndexState::new(1, GroupId(1), folder.path().into(), Arc::default(), 0, 0);
        let view = state.view().expect("an empty index");
        let rights = ReadRights::default();
        let within = |most| attempt(&view, &asked("a"), rights, (Instant::now(), most)).0;
        assert!(within(Duration::ZERO).is_none());
        let found = within(Duration::from_secs(60)).expect("in time");
        assert_eq!(found.expect("an answer").nb_hits, 0);
        assert!(is_light(&view, &asked(&"a".repeat(LIGHT_QUERY_BYTES))));
        assert!(!is_light(&view, &asked(&"a".repeat(LIGHT_QUERY_BYTES + 1))));
        let page_of = |hits| SearchParams { hits_per_page: Some(hits), ..asked("a") };
        assert!(is_light(&view, &page_of(LIGHT_HITS)) && !is_light(&view, &page_of(LIGHT_HITS + 1)));
        let window = SearchParams { length: Some(LIGHT_HITS + 1), offset: Some(0), ..page_of(1) };
        assert!(!is_light(&view, &window));
    }
}
