//! Reading and searching the synonyms and rules of an index (C§11, C§10).

use super::call::{Location, ReadCall, in_group};
use super::{known_row, serves, settings};
use crate::context::NodeContext;
use crate::meta::IndexRow;
use quorate_model::document::DocumentQuery;
use quorate_model::wire::Text;
use quorate_model::{DocumentHits, DocumentKind, GroupId, IndexName, Result};
use quorate_node::ops::Incarnation;
use quorate_node::{Documents, Node};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The documents of an index as applied here; none before anything was written to it.
pub fn of(node: &Node, index: Incarnation) -> Arc<Documents> {
    node.index(index).map_or_else(Arc::default, |state| state.documents.load_full())
}

/// Where the documents of an index are.
async fn located(context: &NodeContext, index: &IndexName) -> Result<Location<IndexRow>> {
    let row = known_row(context, index).await?;
    Ok(match serves(context, row.group).await {
        true => Location::Local(row),
        false => Location::Remote(row.group),
    })
}

/// One document as it was saved; see [`crate::Service::document`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetDocument {
    /// The index.
    pub index: IndexName,
    /// Which documents.
    pub kind: DocumentKind,
    /// The document.
    pub object_id: String,
}

impl ReadCall for GetDocument {
    const NAME: &'static str = "Document";
    type Answer = Text;
    type Source = IndexRow;

    async fn locate(&self, context: &NodeContext) -> Result<Location<IndexRow>> {
        located(context, &self.index).await
    }
    async fn read(self, context: &NodeContext, row: IndexRow) -> Result<Text> {
        let (documents, id) = (of(context.node(), row.incarnation), &self.object_id);
        let found = match self.kind {
            DocumentKind::Synonyms => {
                documents.synonyms.get(id).map(|synonym| synonym.document.as_bytes().to_vec())
            }
            DocumentKind::Rules => documents.rules.get(id).map(|rule| rule.document.as_bytes().to_vec()),
            DocumentKind::Recommend(model) => {
                documents.recommend.get(&model).and_then(|rules| rules.get(id)).map(|rule| rule.given())
            }
        };
        found.map(Text).ok_or_else(|| self.kind.missing())
    }
}

/// A page of the documents that match, by objectID from the last to the first; see [`crate::Service::search_documents`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchDocuments {
    /// The index.
    pub index: IndexName,
    /// Which documents.
    pub kind: DocumentKind,
    /// What is looked for.
    pub asked: DocumentQuery,
}

impl ReadCall for SearchDocuments {
    const NAME: &'static str = "SearchDocuments";
    type Answer = DocumentHits;
    type Source = IndexRow;

    async fn locate(&self, context: &NodeContext) -> Result<Location<IndexRow>> {
        located(context, &self.index).await
    }
    async fn read(self, context: &NodeContext, row: IndexRow) -> Result<DocumentHits> {
        let documents = of(context.node(), row.incarnation);
        let settings = settings::applied(context.node(), row.incarnation);
        let SearchDocuments { index: _, kind, asked } = self;
        context.node().pool().run(move |_| documents.search(kind, &settings, &asked)).await
    }
}

/// How many documents an index has, and how many of some ids are among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountDocuments {
    /// The group.
    pub group: GroupId,
    /// The index.
    pub incarnation: Incarnation,
    /// Which documents.
    pub kind: DocumentKind,
    /// The ids.
    pub ids: Vec<String>,
}

impl ReadCall for CountDocuments {
    const NAME: &'static str = "Count";
    type Answer = (usize, usize);
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<(usize, usize)> {
        let (documents, kind) = (of(context.node(), self.incarnation), self.kind);
        let known = self.ids.iter().filter(|id| documents.contains(kind, id));
        Ok((documents.count(kind), known.count()))
    }
}
