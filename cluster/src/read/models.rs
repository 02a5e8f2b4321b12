//! How are the models of a group, and may one be built? Questions for the node that leads it.

use super::call::{Location, ReadCall};
use crate::clock::{unix_ms, write_deadline};
use crate::context::NodeContext;
use crate::context::builds::{Attempt, Which};
use crate::disk::Purpose;
use crate::types::{BuildAttempt, ModelFigures};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_model::{Error, GroupId, Result};
use quorate_node::{IndexCommand, Made, ModelKey};
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

/// Brings a model that was made elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PutModel {
    /// The group of the name.
    pub group: GroupId,
    /// The model.
    pub key: ModelKey,
    /// Its file, base64.
    pub file: String,
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
        context.insights().builds.ask((self.group, self.key))
    }
}

impl ReadCall for PutModel {
    const NAME: &'static str = "PutModel";
    type Answer = ();
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(by_leader(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<()> {
        let PutModel { group, key, file } = self;
        context.disk().admit(Purpose::Add)?;
        let known = context.node().model(group, &key).map(|state| state.installed);
        let seq = known.map_or(0, |known| known.seq + 1).max(unix_ms());
        let place = context.node().begin_model(group, &key, seq);
        let node = context.node().clone();
        let keep = move || {
            let file = STANDARD.decode(file).map_err(|_| Error::invalid("the model arrives damaged"))?;
            let made =
                node.keep_model(&file, &place).map_err(|error| Error::unavailable(error.to_string()))?;
            Ok::<_, Error>((made, place))
        };
        let kept = tokio::task::spawn_blocking(keep).await;
        // nobody removes the file before it is in force
        let (made, _place) = kept.map_err(|_| Error::internal("keeping a model broke off"))??;
        install(context, &(group, key), seq, &made).await
    }
}

/// Puts a model, whose file is here, in force.
pub async fn install(context: &NodeContext, which: &Which, seq: u64, made: &Made) -> Result<()> {
    let (group, key) = which;
    let Made { length, crc, .. } = *made;
    let command = IndexCommand::InstallModel { key: key.clone(), seq, length, crc };
    let deadline = write_deadline();
    let accepted = context.proposer().propose_index(*group, command, Purpose::Add, deadline).await?;
    context.group(*group)?.wait_applied(accepted.task_id.log_index(), deadline).await?;
    context.insights().builds.files_changed();
    Ok(())
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
            context.insights().builds.of_group(self.group).into_iter().collect();
        let awaited = |key: &ModelKey| context.insights().builds.is_awaited(&(self.group, key.clone()));
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
