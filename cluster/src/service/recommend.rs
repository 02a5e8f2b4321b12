//! What the interface calls for recommendations (C§17).

use super::Service;
use crate::read::call::ask;
use crate::read::candidates::{GetCandidates, GetTrends};
use crate::read::is_readable;
use crate::read::recommend::Recommend;
use crate::types::ReadRights;
use quorate_model::{
    Candidates, ErrorKind, IndexName, RecommendModel, Recommendation, Result, SearchResults,
};
use quorate_node::ModelKey;

impl Service {
    /// What a model says of the events of an index: of a source, which related-products and bought-together need, or in general.
    /// Nothing where there is no such index or model, or the model does not know the source.
    ///
    /// Errors: `Unavailable`.
    pub async fn candidates(
        &self,
        index: &IndexName,
        model: RecommendModel,
        object_id: Option<&str>,
    ) -> Result<Candidates> {
        let context = self.open_context()?;
        let meta = context.meta();
        if !meta
            .other_partitions(index)
            .iter()
            .chain([index])
            .any(|partition| meta.catalogue.get(partition).is_some())
        {
            // a name that somebody makes up has nothing computed for it
            return Ok(Candidates::default());
        }
        let group = context.group_for(index)?;
        match (model, object_id) {
            (RecommendModel::RelatedProducts | RecommendModel::BoughtTogether, Some(object_id)) => {
                let key = ModelKey { index: index.clone(), model };
                let call = GetCandidates { group, key, object_id: object_id.to_owned() };
                match ask(context, call).await {
                    // nobody has the file of the model: it is made anew
                    Err(error) if error.kind == ErrorKind::Unavailable && is_readable(context, group) => {
                        Ok(Candidates::default())
                    }
                    asked => asked,
                }
            }
            (RecommendModel::TrendingItems | RecommendModel::TrendingFacets, _) => {
                ask(context, GetTrends { group, index: index.clone() }).await
            }
            // what is alike is computed from the records
            (
                RecommendModel::RelatedProducts
                | RecommendModel::BoughtTogether
                | RecommendModel::LookingSimilar,
                _,
            ) => Ok(Candidates::default()),
        }
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
