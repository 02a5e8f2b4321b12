//! Recommendations of records, or of values of a facet.

use super::call::{Location, ReadCall};
use super::search::rights_of;
use super::view;
use crate::context::NodeContext;
use crate::types::ReadRights;
use quorate_model::{IndexName, Recommendation, Result, SearchResults};
use quorate_node::IndexView;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What goes with a record, or is trending; see [`crate::Service::recommend`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommend {
    /// The index.
    pub index: IndexName,
    /// What is asked, with what the model says.
    pub asked: Recommendation,
    /// What it may show.
    pub rights: ReadRights,
}

impl ReadCall for Recommend {
    const NAME: &'static str = "Recommend";
    type Answer = SearchResults;
    type Source = Arc<IndexView>;

    async fn locate(&self, context: &NodeContext) -> Result<Location<Arc<IndexView>>> {
        view(context, &self.index).await
    }
    async fn read(self, context: &NodeContext, view: Arc<IndexView>) -> Result<SearchResults> {
        let settings = view.configuration.settings().clone();
        let rights = rights_of(self.rights);
        let results = context.node().pool().recommend(view, self.asked, rights).await?;
        Ok(results.with_settings(&settings))
    }
}
