//! Reading and searching the synonyms and rules of an index (§4.6, §4.8).

use crate::context::NodeContext;
use crate::meta::IndexRow;
use crate::read;
use crate::read::remote::{self, Way, read_deadline};
use crate::rpc::calls::ServiceCall;
use quorate_model::document::DocumentQuery;
use quorate_model::{DocumentHits, DocumentKind, IndexName, Result};
use quorate_node::ops::Incarnation;
use quorate_node::{Documents, Node};
use std::sync::Arc;

/// How many documents an index has, and how many of `ids` are among them; from a node that has its group.
pub async fn count_of(
    context: &NodeContext,
    row: &IndexRow,
    kind: DocumentKind,
    ids: Vec<String>,
) -> Result<(usize, usize)> {
    let (group, incarnation) = (row.group, row.incarnation);
    if read::is_readable(context, group) {
        return Ok(count(context.node(), incarnation, kind, &ids));
    }
    let call = ServiceCall::Count { group, incarnation, kind, ids };
    remote::ask(context, group, call, read_deadline()).await
}

/// How many documents an index has as applied here, and how many of `ids` are among them.
pub fn count(node: &Node, index: Incarnation, kind: DocumentKind, ids: &[String]) -> (usize, usize) {
    let documents = of(node, index);
    (documents.count(kind), ids.iter().filter(|id| documents.contains(kind, id)).count())
}

/// The documents of an index as applied here; none before anything was written to it.
pub fn of(node: &Node, index: Incarnation) -> Arc<Documents> {
    node.index(index).map_or_else(Arc::default, |state| state.documents.load_full())
}

/// One document as it was saved. Errors: `NotFound`.
pub async fn get(
    context: &NodeContext,
    name: &IndexName,
    kind: DocumentKind,
    object_id: &str,
) -> Result<Way<Vec<u8>>> {
    let row = read::known_row(context, name).await?;
    if !read::serves(context, row.group).await {
        return Ok(Way::There(row.group));
    }
    let documents = of(context.node(), row.incarnation);
    let found = match kind {
        DocumentKind::Synonyms => documents.synonyms.get(object_id).map(|synonym| &synonym.document),
        DocumentKind::Rules => documents.rules.get(object_id).map(|rule| &rule.document),
    };
    let found = found.ok_or_else(|| kind.missing())?;
    Ok(Way::Here(found.as_bytes().to_vec()))
}

/// A page of the documents that match, by objectID from the last to the first. Errors: `NotFound` for a missing index.
pub async fn search(
    context: &NodeContext,
    name: &IndexName,
    kind: DocumentKind,
    asked: &DocumentQuery,
) -> Result<Way<DocumentHits>> {
    let row = read::known_row(context, name).await?;
    if !read::serves(context, row.group).await {
        return Ok(Way::There(row.group));
    }
    let documents = of(context.node(), row.incarnation);
    let settings = read::applied_settings(context.node(), row.incarnation);
    let asked = asked.clone();
    context.node().pool().run(move |_| Ok(Way::Here(documents.search(kind, &settings, &asked)))).await
}
