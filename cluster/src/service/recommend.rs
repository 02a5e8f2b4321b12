//! What the interface calls for recommendations (§4.14).

use super::Service;
use crate::read::call::ask;
use crate::read::recommend::Recommend;
use crate::types::ReadRights;
use quorate_model::{Candidates, IndexName, RecommendModel, Recommendation, Result, SearchResults};

impl Service {
    /// What a model says of the events of an index, for a source or in general. No model is made of events yet, so none says
    /// anything.
    pub async fn candidates(
        &self,
        _index: &IndexName,
        _model: RecommendModel,
        _object_id: Option<&str>,
    ) -> Result<Candidates> {
        self.open_context()?;
        Ok(Candidates::default())
    }
    /// Recommends records of an index, or values of a facet, from what a model says and from the records as they are now.
    ///
    /// Errors: `NotFound`, `Invalid`, `Unavailable` when the search queue is full.
    pub async fn recommend(
        &self,
        index: &IndexName,
        asked: Recommendation,
        rights: ReadRights,
    ) -> Result<SearchResults> {
        ask(self.open_context()?, Recommend { index: index.clone(), asked, rights }).await
    }
}
