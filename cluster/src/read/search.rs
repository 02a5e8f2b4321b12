//! Searches, pages of a browse, and values of a facet.

use super::call::{self, Location, ReadCall};
use super::settings::GetSettings;
use super::view;
use crate::context::NodeContext;
use crate::types::ReadRights;
use quorate_model::{FacetHits, IndexName, Result, SearchParams, SearchResults};
use quorate_node::IndexView;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A search; see [`crate::Service::search`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// The index.
    pub index: IndexName,
    /// What is searched.
    pub params: Box<SearchParams>,
    /// What it may show.
    pub rights: ReadRights,
    /// Whether the thread that asks may search itself when that is short: those of the connections between nodes may not.
    #[serde(skip)]
    pub at_once: bool,
}

impl ReadCall for Search {
    const NAME: &'static str = "Search";
    type Answer = SearchResults;
    type Source = Arc<IndexView>;

    async fn locate(&self, context: &NodeContext) -> Result<Location<Arc<IndexView>>> {
        view(context, &self.index).await
    }
    async fn read(self, context: &NodeContext, view: Arc<IndexView>) -> Result<SearchResults> {
        let (pool, rights) = (context.node().pool(), rights_of(self.rights));
        let results = match self.at_once {
            true => pool.search_at_once(&view, self.params, rights).await?,
            false => Box::pin(pool.search(view.clone(), self.params, rights)).await?,
        };
        Ok(results.with_settings(view.configuration.settings()))
    }
}

/// A page of a browse; see [`crate::Service::browse`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Browse {
    /// The index.
    pub index: IndexName,
    /// What is browsed.
    pub params: Box<SearchParams>,
    /// Where the page before ended.
    pub after: Option<Vec<u8>>,
    /// What it may show.
    pub rights: ReadRights,
}

impl ReadCall for Browse {
    const NAME: &'static str = "Browse";
    type Answer = SearchResults;
    type Source = Arc<IndexView>;

    async fn locate(&self, context: &NodeContext) -> Result<Location<Arc<IndexView>>> {
        view(context, &self.index).await
    }
    async fn read(self, context: &NodeContext, view: Arc<IndexView>) -> Result<SearchResults> {
        let settings = view.configuration.settings().clone();
        let (params, rights) = (*self.params, rights_of(self.rights));
        let results = context.node().pool().browse(view, params, self.after, rights).await?;
        Ok(results.with_settings(&settings))
    }
}

/// A search for values of a facet; see [`crate::Service::search_facet`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchFacet {
    /// The index.
    pub index: IndexName,
    /// The facet.
    pub facet: String,
    /// What its values are searched for.
    pub facet_query: String,
    /// Which records count.
    pub params: Box<SearchParams>,
    /// What it may show; of an older program nothing that is hidden.
    #[serde(default)]
    pub rights: ReadRights,
}

impl ReadCall for SearchFacet {
    const NAME: &'static str = "SearchFacet";
    type Answer = FacetHits;
    type Source = Arc<IndexView>;

    async fn locate(&self, context: &NodeContext) -> Result<Location<Arc<IndexView>>> {
        view(context, &self.index).await
    }
    async fn read(self, context: &NodeContext, view: Arc<IndexView>) -> Result<FacetHits> {
        let SearchFacet { index: _, facet, facet_query, params, rights } = self;
        let rights = rights_of(rights);
        context.node().pool().search_facet(view, facet, facet_query, *params, rights).await
    }
}

/// The results of a search or a browse, with what the settings of the index say about how they are shown.
pub async fn results(
    context: &NodeContext,
    index: &IndexName,
    call: impl ReadCall<Answer = SearchResults>,
) -> Result<SearchResults> {
    let results = call::ask(context, call).await?;
    if results.settings.is_some() {
        return Ok(results);
    }
    // of a program that does not say it
    let settings = Box::pin(call::ask(context, GetSettings { index: index.clone() })).await?;
    Ok(results.with_settings(&settings.0))
}

/// The rights in the node's words.
pub(super) fn rights_of(rights: ReadRights) -> quorate_node::ReadRights {
    let ReadRights { sees_unretrievable, max_hits_per_query, bytes_max } = rights;
    quorate_node::ReadRights { sees_unretrievable, max_hits_per_query, bytes_max }
}
