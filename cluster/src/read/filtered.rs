//! Which values of facets did the searches of each query filter by lately?

use super::call::{Location, ReadCall, in_group};
use super::popular::Searches;
use crate::context::NodeContext;
use quorate_model::{GroupId, IndexName, Result};
use quorate_node::suggestions::{CountedSearches, FilteredBy, filtered};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The values of facets that searches of an index filtered by, for each query, the most frequent first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilteredQueries {
    /// The group of the name.
    pub group: GroupId,
    /// The index.
    pub index: IndexName,
    /// Only searches with one of these tags, if there are any.
    pub tags: Vec<String>,
    /// When they were asked, Unix milliseconds.
    pub times_ms: Range<u64>,
    /// The facets.
    pub attributes: Vec<String>,
}

impl ReadCall for FilteredQueries {
    const NAME: &'static str = "FilteredQueries";
    type Answer = Vec<FilteredBy>;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<Vec<FilteredBy>> {
        let FilteredQueries { group, index, tags, times_ms, attributes } = self;
        let of = Searches { group, index, tags, times_ms };
        let count = move |searches: &CountedSearches<'_>| {
            filtered(searches, &attributes).map(Option::unwrap_or_default)
        };
        of.count(context, count).await
    }
}
