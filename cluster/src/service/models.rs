//! What operators ask and change of models of recommendations.

use super::Service;
use crate::read::call::ask;
use crate::read::models::{AskForBuild, GetModels};
use crate::types::ModelFigures;
use quorate_model::{Error, GroupId, IndexName, RecommendModel, Result};
use quorate_node::ModelKey;

impl Service {
    /// Asks for a build of a model, which begins soon on the node that leads the group of the name.
    ///
    /// Errors: `Invalid` when the model is not built; `Unavailable`.
    pub async fn build_model(&self, index: &IndexName, model: RecommendModel) -> Result<()> {
        let context = self.open_context()?;
        if !matches!(model, RecommendModel::RelatedProducts | RecommendModel::BoughtTogether) {
            let message = format!(
                "{model} is computed when it is asked for; related-products and bought-together are built"
            );
            return Err(Error::invalid(message));
        }
        let group = context.group_for(index)?;
        ask(context, AskForBuild { group, key: ModelKey { index: index.clone(), model } }).await
    }
    /// How the models of all indices are, by name. Errors: `Unavailable`.
    pub async fn models(&self) -> Result<Vec<ModelFigures>> {
        let context = self.open_context()?;
        let meta = context.meta();
        let groups: Vec<GroupId> = meta.clusters.keys().flat_map(|name| meta.groups_of(name)).collect();
        let mut all = vec![];
        for group in groups {
            all.extend(ask(context, GetModels { group }).await?);
        }
        all.sort_by(|a, b| (&a.index, a.model).cmp(&(&b.index, b.model)));
        Ok(all)
    }
}
