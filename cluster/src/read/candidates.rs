//! What do the models of an index recommend, before anything is known of its records?

use super::call::{Location, ReadCall, in_group};
use super::view::is_readable;
use crate::clock::unix_ms;
use crate::context::NodeContext;
use quorate_model::{Candidates, Error, GroupId, IndexName, Result};
use quorate_node::ModelKey;
use serde::{Deserialize, Serialize};

/// What a model says of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetCandidates {
    /// The group of the name.
    pub group: GroupId,
    /// The model.
    pub key: ModelKey,
    /// The source.
    pub object_id: String,
}

impl ReadCall for GetCandidates {
    const NAME: &'static str = "Candidates";
    type Answer = Candidates;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        // the file of a model may be on its way here while another node has it
        let is_here = match context.node().model(self.group, &self.key) {
            Some(state) => state.present.is_some(),
            None => true,
        };
        Ok(match is_here && is_readable(context, self.group) {
            true => Location::Local(()),
            false => Location::Remote(self.group),
        })
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<Candidates> {
        let node = context.node().clone();
        let read = move || node.candidates(self.group, &self.key, &self.object_id).unwrap_or_default();
        // it reads files
        let read = tokio::task::spawn_blocking(read).await;
        read.map_err(|_| Error::internal("reading a model broke off"))
    }
}

/// What trends in an index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetTrends {
    /// The group of the name.
    pub group: GroupId,
    /// The name of the index.
    pub index: IndexName,
}

impl ReadCall for GetTrends {
    const NAME: &'static str = "Trends";
    type Answer = Candidates;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<Candidates> {
        let (node, GetTrends { group, index }) = (context.node().clone(), self);
        let key = (group, index.clone());
        let compute = move || Ok(node.trending(group, index.as_str(), unix_ms())?);
        let trends = context.insights().trends.of(key, compute).await?;
        Ok(Candidates::clone(&trends))
    }
}
