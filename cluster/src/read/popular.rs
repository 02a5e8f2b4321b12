//! Which queries did most users ask of an index lately?

use super::call::{Location, ReadCall, in_group};
use crate::context::NodeContext;
use quorate_model::{Error, GroupId, IndexName, Result};
use quorate_node::suggestions::{CountedSearches, popular};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The queries that most users asked of an index, each with how many did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PopularQueries {
    /// The group of the name.
    pub group: GroupId,
    /// The index.
    pub index: IndexName,
    /// Only searches with one of these tags, if there are any.
    pub tags: Vec<String>,
    /// When they were asked, Unix milliseconds.
    pub times_ms: Range<u64>,
    /// How many are answered.
    pub most: usize,
}

impl ReadCall for PopularQueries {
    const NAME: &'static str = "PopularQueries";
    type Answer = Vec<(String, u64)>;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<Vec<(String, u64)>> {
        let PopularQueries { group, index, tags, times_ms, most } = self;
        let of = Searches { group, index, tags, times_ms };
        of.count(context, move |searches| popular(searches, most).map(Option::unwrap_or_default)).await
    }
}

/// Searches of an index whose name is a group's.
pub(super) struct Searches {
    pub group: GroupId,
    pub index: IndexName,
    /// Only those with one of these tags, if there are any.
    pub tags: Vec<String>,
    /// When they were asked, Unix milliseconds.
    pub times_ms: Range<u64>,
}

impl Searches {
    /// Counts them on a thread beside, until nobody asks any more; the default where there are no events.
    pub async fn count<T: Default + Send + 'static, E: Display + Send + 'static>(
        self,
        context: &NodeContext,
        count: impl FnOnce(&CountedSearches<'_>) -> std::result::Result<T, E> + Send + 'static,
    ) -> Result<T> {
        let Some(view) = context.node().events(self.group) else { return Ok(T::default()) };
        let stop = Arc::new(AtomicBool::new(false));
        // when the asker is gone
        let _stops = Stops(stop.clone());
        let Searches { group: _, index, tags, times_ms } = self;
        let read = move || {
            count(&CountedSearches { view: &view, index: index.as_str(), tags: &tags, times_ms, stop: &stop })
        };
        match tokio::task::spawn_blocking(read).await {
            Ok(outcome) => outcome.map_err(|error| Error::internal(error.to_string())),
            Err(_) => Err(Error::internal("counting searches broke off")),
        }
    }
}

struct Stops(Arc<AtomicBool>);
impl Drop for Stops {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
