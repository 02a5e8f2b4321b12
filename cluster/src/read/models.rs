//! How are the models of a group, and may one be built? Questions for the node that leads it.

use super::call::{Location, ReadCall};
use crate::context::NodeContext;
use crate::context::builds::Attempt;
use crate::types::{BuildAttempt, ModelFigures};
use quorate_model::{Error, GroupId, Result};
use quorate_node::ModelKey;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Asks for a build of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskForBuild {
    /// The group of the name.
    pub group: GroupId,
    /// The model.
    pub key: ModelKey,
}

/// Asks how the models of a group are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetModels {
    /// The group.
    pub group: GroupId,
}

fn by_leader(context: &NodeContext, group: GroupId) -> Location<()> {
    match context.groups().get(group).is_some_and(|group| group.is_led_here()) {
        true => Location::Local(()),
        false => Location::Remote(group),
    }
}

impl ReadCall for AskForBuild {
    const NAME: &'static str = "AskForBuild";
    type Answer = ();
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(by_leader(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<()> {
        context.builds().ask((self.group, self.key))
    }
}

impl ReadCall for GetModels {
    const NAME: &'static str = "Models";
    type Answer = Vec<ModelFigures>;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(by_leader(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<Vec<ModelFigures>> {
        let attempts: BTreeMap<ModelKey, Attempt> =
            context.builds().of_group(self.group).into_iter().collect();
        let awaited = |key: &ModelKey| context.builds().is_awaited(&(self.group, key.clone()));
        let (node, group) = (context.node().clone(), self.group);
        let models = move || {
            let models = node.models(group).into_iter();
            models.map(|state| (node.model_report(group, &state.key), state)).collect::<Vec<_>>()
        };
        let models = tokio::task::spawn_blocking(models).await;
        let models = models.map_err(|_| Error::internal("reading models broke off"))?;
        let mut figures = BTreeMap::new();
        for (report, state) in models {
            let figure = ModelFigures {
                installed: Some(state.installed),
                report,
                is_awaited: awaited(&state.key),
                ..ModelFigures::of(&state.key)
            };
            figures.insert(state.key, figure);
        }
        for (key, attempt) in attempts {
            let Attempt { at: _, at_ms, took, report, reason } = attempt;
            let figure = figures.entry(key.clone()).or_insert_with(|| ModelFigures::of(&key));
            figure.is_awaited = awaited(&key);
            figure.last_build = Some(BuildAttempt { at_ms, took_ms: took.as_millis() as u64, reason });
            figure.report = figure.report.take().or(report);
        }
        Ok(figures.into_values().collect())
    }
}
