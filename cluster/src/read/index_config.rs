//! What an index has beside its records, as of every write that was answered before: for copies and new replicas.

use super::call::{Location, ReadCall, ask_by, bounded_ms, given_up, in_group};
use super::{documents, settings};
use crate::clock::within;
use crate::context::NodeContext;
use crate::meta::IndexRow;
use quorate_model::{DocumentKind, Error, GroupId, Result, Settings};
use quorate_node::ops::{Incarnation, RawDocument};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Instant;

/// Settings and documents of one index.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "SentConfig", into = "SentConfig")]
pub struct IndexConfig {
    /// The settings as they were set; links are not among them.
    pub settings: Arc<Settings>,
    /// The documents of the kinds that were asked for.
    pub documents: Vec<(DocumentKind, Vec<RawDocument>)>,
}

impl IndexConfig {
    /// Whether the other one says the same.
    pub fn is_like(&self, other: &IndexConfig) -> bool {
        self.settings.document == other.settings.document && self.documents == other.documents
    }
}

/// The configuration of an index; [`IndexConfig`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetIndexConfig {
    /// The group.
    pub group: GroupId,
    /// The index.
    pub incarnation: Incarnation,
    /// The documents that are wanted beside the settings.
    pub kinds: Vec<DocumentKind>,
    /// Milliseconds until the asker gives up.
    #[serde(deserialize_with = "bounded_ms")]
    pub within_ms: u64,
}

impl ReadCall for GetIndexConfig {
    const NAME: &'static str = "Parts";
    type Answer = IndexConfig;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<IndexConfig> {
        let GetIndexConfig { group, incarnation, kinds, within_ms } = self;
        let (group, deadline) = (context.group(group)?, given_up(within_ms));
        let barrier = group.raft.read_barrier(within(deadline)).await;
        let log_index = barrier.map_err(|error| Error::unavailable(error.to_string()))?;
        group.wait_applied(log_index, deadline).await?;
        let documents = documents::of(context.node(), incarnation);
        let documents = kinds.iter().map(|kind| (*kind, documents.raw(*kind))).collect();
        Ok(IndexConfig { settings: settings::applied(context.node(), incarnation), documents })
    }
}

/// The configuration of an index, from a node that has it.
pub async fn now(
    context: &NodeContext,
    row: &IndexRow,
    kinds: &[DocumentKind],
    deadline: Instant,
) -> Result<IndexConfig> {
    let (kinds, within_ms) = (kinds.to_vec(), within(deadline).as_millis() as u64);
    let call = GetIndexConfig { group: row.group, incarnation: row.incarnation, kinds, within_ms };
    ask_by(context, call, deadline).await
}

/// A configuration on its way between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SentConfig {
    settings: Map<String, Value>,
    documents: Vec<(DocumentKind, Vec<SentDocument>)>,
}

/// A synonym or a rule on its way between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SentDocument {
    object_id: String,
    #[serde(with = "quorate_model::wire::text")]
    document: Vec<u8>,
}

impl From<IndexConfig> for SentConfig {
    fn from(IndexConfig { settings, documents }: IndexConfig) -> Self {
        let sent = |RawDocument { object_id, document }| SentDocument { object_id, document };
        let documents = documents.into_iter().map(|(kind, raw)| (kind, raw.into_iter().map(sent).collect()));
        SentConfig { settings: settings.document.clone(), documents: documents.collect() }
    }
}
impl TryFrom<SentConfig> for IndexConfig {
    type Error = Error;
    fn try_from(SentConfig { settings, documents }: SentConfig) -> Result<Self> {
        let raw = |SentDocument { object_id, document }| RawDocument { object_id, document };
        let documents = documents.into_iter().map(|(kind, sent)| (kind, sent.into_iter().map(raw).collect()));
        let settings = Arc::new(Settings::from_document(&settings)?);
        Ok(IndexConfig { settings, documents: documents.collect() })
    }
}
