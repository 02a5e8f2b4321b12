//! What an index has beside its records, as of every write that was answered before: for copies and new replicas.

use crate::clock::within;
use crate::context::NodeContext;
use crate::meta::IndexRow;
use crate::read;
use crate::read::documents;
use crate::read::remote;
use crate::rpc::calls::{SentParts, ServiceCall};
use quorate_model::{DocumentKind, Error, GroupId, Result, Settings};
use quorate_node::ops::{Incarnation, RawDocument};
use std::sync::Arc;
use std::time::Instant;

/// Settings and documents of one index.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The settings as they were set; links are not among them.
    pub settings: Arc<Settings>,
    /// The documents of the kinds that were asked for.
    pub documents: Vec<(DocumentKind, Vec<RawDocument>)>,
}

/// Reads them from this node's replica of the group, otherwise from another node's.
pub async fn now(
    context: &NodeContext,
    row: &IndexRow,
    kinds: &[DocumentKind],
    deadline: Instant,
) -> Result<Parts> {
    let (group, incarnation) = (row.group, row.incarnation);
    if read::is_readable(context, group) {
        return here(context, (group, incarnation), kinds, deadline).await;
    }
    let within_ms = within(deadline).as_millis() as u64;
    let call = ServiceCall::Parts { group, incarnation, kinds: kinds.to_vec(), within_ms };
    let SentParts { settings, documents } = remote::ask(context, group, call, deadline).await?;
    let documents =
        documents.into_iter().map(|(kind, sent)| (kind, sent.into_iter().map(Into::into).collect()));
    Ok(Parts { settings: Arc::new(Settings::from_document(&settings)?), documents: documents.collect() })
}

/// Reads them from this node's replica of the group. Errors: `Unavailable` when it is not up to date in time.
pub async fn here(
    context: &NodeContext,
    (group, incarnation): (GroupId, Incarnation),
    kinds: &[DocumentKind],
    deadline: Instant,
) -> Result<Parts> {
    let group = context.group(group)?;
    let barrier = group.raft.read_barrier(within(deadline)).await;
    let log_index = barrier.map_err(|error| Error::unavailable(error.to_string()))?;
    group.wait_applied(log_index, deadline).await?;
    let documents = documents::of(context.node(), incarnation);
    let documents = kinds.iter().map(|kind| (*kind, documents.raw(*kind))).collect();
    Ok(Parts { settings: read::applied_settings(context.node(), incarnation), documents })
}

impl From<Parts> for SentParts {
    fn from(Parts { settings, documents }: Parts) -> Self {
        let documents =
            documents.into_iter().map(|(kind, raw)| (kind, raw.into_iter().map(Into::into).collect()));
        SentParts { settings: settings.document.clone(), documents: documents.collect() }
    }
}
