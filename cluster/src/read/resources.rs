//! Reading and searching the synonyms and rules of an index (C§11, C§10).

use super::call::{Location, ReadCall, in_group};
use super::{known_row, serves, settings};
use crate::context::NodeContext;
use crate::meta::IndexRow;
use quorate_model::resource::ResourceQuery;
use quorate_model::wire::Text;
use quorate_model::{GroupId, IndexName, ResourceHits, ResourceKind, Result};
use quorate_node::ops::Incarnation;
use quorate_node::{Node, Resources};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The resources of an index as applied here; none before anything was written to it.
pub fn of(node: &Node, index: Incarnation) -> Arc<Resources> {
    node.index(index).map_or_else(Arc::default, |state| state.resources.load_full())
}

/// Where the resources of an index are.
async fn located(context: &NodeContext, index: &IndexName) -> Result<Location<IndexRow>> {
    let row = known_row(context, index).await?;
    Ok(match serves(context, row.group).await {
        true => Location::Local(row),
        false => Location::Remote(row.group),
    })
}

/// One document as it was saved; see [`crate::Service::document`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetResource {
    /// The index.
    pub index: IndexName,
    /// Which resources.
    pub kind: ResourceKind,
    /// The document.
    pub object_id: String,
}

impl ReadCall for GetResource {
    const NAME: &'static str = "Document";
    type Answer = Text;
    type Source = IndexRow;

    async fn locate(&self, context: &NodeContext) -> Result<Location<IndexRow>> {
        located(context, &self.index).await
    }
    async fn read(self, context: &NodeContext, row: IndexRow) -> Result<Text> {
        let (resources, id) = (of(context.node(), row.incarnation), &self.object_id);
        let found = match self.kind {
            ResourceKind::Synonyms => {
                resources.synonyms.get(id).map(|synonym| synonym.document.as_bytes().to_vec())
            }
            ResourceKind::Rules => resources.rules.get(id).map(|rule| rule.document.as_bytes().to_vec()),
            ResourceKind::Recommend(model) => {
                resources.recommend.get(&model).and_then(|rules| rules.get(id)).map(|rule| rule.given())
            }
        };
        found.map(Text).ok_or_else(|| self.kind.missing())
    }
}

/// A page of the resources that match, by objectID from the last to the first; see [`crate::Service::search_resources`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchResources {
    /// The index.
    pub index: IndexName,
    /// Which resources.
    pub kind: ResourceKind,
    /// What is looked for.
    pub asked: ResourceQuery,
}

impl ReadCall for SearchResources {
    const NAME: &'static str = "SearchDocuments";
    type Answer = ResourceHits;
    type Source = IndexRow;

    async fn locate(&self, context: &NodeContext) -> Result<Location<IndexRow>> {
        located(context, &self.index).await
    }
    async fn read(self, context: &NodeContext, row: IndexRow) -> Result<ResourceHits> {
        let resources = of(context.node(), row.incarnation);
        let settings = settings::applied(context.node(), row.incarnation);
        let SearchResources { index: _, kind, asked } = self;
        context.node().pool().run(move |_| resources.search(kind, &settings, &asked)).await
    }
}

/// How many resources an index has, and how many of some ids are among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountResources {
    /// The group.
    pub group: GroupId,
    /// The index.
    pub incarnation: Incarnation,
    /// Which resources.
    pub kind: ResourceKind,
    /// The ids.
    pub ids: Vec<String>,
}

impl ReadCall for CountResources {
    const NAME: &'static str = "Count";
    type Answer = (usize, usize);
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<(usize, usize)> {
        let (resources, kind) = (of(context.node(), self.incarnation), self.kind);
        let known = self.ids.iter().filter(|id| resources.contains(kind, id));
        Ok((resources.count(kind), known.count()))
    }
}
