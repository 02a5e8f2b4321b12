//! What operators ask and change of models of recommendations.

use super::Service;
use crate::read::call::{Location, ReadCall, ask};
use crate::read::models::{AskForBuild, GetModels, PutModel};
use crate::read::remote::ask_within;
use crate::types::ModelFigures;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use quorate_model::level::{self, Needs};
use quorate_model::{Error, ErrorKind, GroupId, IndexName, RecommendModel, Result};
use quorate_node::{ModelKey, uploaded};
use std::time::{Duration, Instant};

/// Bytes of the file of a model that is brought from elsewhere.
const FILE_BYTES_MAX: usize = 80 << 20;
/// How long a model may be on its way to the node that leads its group, and into its log.
const UPLOAD: Duration = Duration::from_secs(50);

fn check_has_file(model: RecommendModel) -> Result<()> {
    if matches!(model, RecommendModel::RelatedProducts | RecommendModel::BoughtTogether) {
        return Ok(());
    }
    let computed = "is computed when it is asked for; related-products and bought-together are built";
    Err(Error::invalid(format!("{model} {computed}")))
}

impl Service {
    /// Asks for a build of a model, which begins soon on the node that leads the group of the name.
    ///
    /// Errors: `Invalid` when the model is not built; `Unavailable`.
    pub async fn build_model(&self, index: &IndexName, model: RecommendModel) -> Result<()> {
        let context = self.open_context()?;
        check_has_file(model)?;
        if context.meta().catalogue.get(index).is_none() {
            return Err(Error::not_found(format!("Index {index} does not exist")));
        }
        let group = context.group_for(index)?;
        ask(context, AskForBuild { group, key: ModelKey { index: index.clone(), model } }).await
    }
    /// Puts a model in force that was made elsewhere, of lists of neighbours as JSON lines. It stays until another one is brought, or
    /// a build is asked for.
    ///
    /// Errors: `Unprocessable` when the lines are not as they have to be, `Invalid` when such a model has no file; `Unavailable`.
    pub async fn put_model(&self, index: &IndexName, model: RecommendModel, lines: Bytes) -> Result<()> {
        let context = self.open_context()?;
        check_has_file(model)?;
        context.proposer().check_level(&Needs::level(level::RECOMMEND))?;
        let group = context.group_for(index)?;
        let make = move || match uploaded(&lines) {
            Ok(file) if file.len() > FILE_BYTES_MAX => {
                Err(format!("the model would have {} bytes: at most {FILE_BYTES_MAX}", file.len()))
            }
            Ok(file) => Ok(STANDARD.encode(file)),
            Err(wrong) => Err(wrong),
        };
        let made = tokio::task::spawn_blocking(make).await;
        let made = made.map_err(|_| Error::internal("reading a model broke off"))?;
        let file = made.map_err(|wrong| Error::new(ErrorKind::Unprocessable, wrong))?;
        let call = PutModel { group, key: ModelKey { index: index.clone(), model }, file };
        match call.locate(context).await? {
            Location::Local(()) => call.read(context, ()).await,
            Location::Remote(group) => {
                ask_within(context, group, &call, Instant::now() + UPLOAD, UPLOAD).await
            }
        }
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
