//! What an index has beside its records, as of every write that was answered before: for copies and new replicas.

use super::call::{Location, ReadCall, ask_by, bounded_ms, given_up, in_group};
use super::{resources, settings, virtual_primary};
use crate::clock::within;
use crate::context::NodeContext;
use crate::meta::IndexRow;
use quorate_model::{Error, GroupId, ResourceKind, Result, Settings};
use quorate_node::ops::{Incarnation, RawResource};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Instant;

/// Settings and resources of one index.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "SentConfig", into = "SentConfig")]
pub struct IndexConfig {
    /// The settings as they were set; links are not among them.
    pub settings: Arc<Settings>,
    /// The resources of the kinds that were asked for.
    pub resources: Vec<(ResourceKind, Vec<RawResource>)>,
}

impl IndexConfig {
    /// Whether the other one says the same.
    pub fn is_like(&self, other: &IndexConfig) -> bool {
        self.settings.document == other.settings.document && self.resources == other.resources
    }
}

/// The configuration of an index; [`IndexConfig`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetIndexConfig {
    /// The group.
    pub group: GroupId,
    /// The index.
    pub incarnation: Incarnation,
    /// The resources that are wanted beside the settings.
    pub kinds: Vec<ResourceKind>,
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
        let resources = resources::of(context.node(), incarnation);
        let resources = kinds.iter().map(|kind| (*kind, resources.raw(*kind))).collect();
        Ok(IndexConfig { settings: settings::applied(context.node(), incarnation), resources })
    }
}

/// The configuration of an index, from a node that has it.
pub async fn now(
    context: &NodeContext,
    row: &IndexRow,
    kinds: &[ResourceKind],
    deadline: Instant,
) -> Result<IndexConfig> {
    let (kinds, within_ms) = (kinds.to_vec(), within(deadline).as_millis() as u64);
    let call = GetIndexConfig { group: row.group, incarnation: row.incarnation, kinds, within_ms };
    ask_by(context, call, deadline).await
}

/// The same as reads show it: a virtual replica has its primary's settings where those shape the index.
pub async fn shown(
    context: &NodeContext,
    row: &IndexRow,
    kinds: &[ResourceKind],
    deadline: Instant,
) -> Result<IndexConfig> {
    let IndexConfig { settings, resources } = now(context, row, kinds, deadline).await?;
    let primary = virtual_primary(row).and_then(|primary| context.meta().catalogue.get(primary).cloned());
    let of_primary = match primary {
        Some(primary) => Some(now(context, &primary, &[], deadline).await?.settings),
        None => None,
    };
    Ok(IndexConfig { settings: settings::shown(row, settings, of_primary.as_deref())?, resources })
}

/// A configuration on its way between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SentConfig {
    settings: Map<String, Value>,
    #[serde(rename = "documents")]
    resources: Vec<(ResourceKind, Vec<SentResource>)>,
}

/// A synonym or a rule on its way between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SentResource {
    object_id: String,
    #[serde(with = "quorate_model::wire::text")]
    document: Vec<u8>,
}

impl From<IndexConfig> for SentConfig {
    fn from(IndexConfig { settings, resources }: IndexConfig) -> Self {
        let sent = |RawResource { object_id, document }| SentResource { object_id, document };
        let resources = resources.into_iter().map(|(kind, raw)| (kind, raw.into_iter().map(sent).collect()));
        SentConfig { settings: settings.document.clone(), resources: resources.collect() }
    }
}
impl TryFrom<SentConfig> for IndexConfig {
    type Error = Error;
    fn try_from(SentConfig { settings, resources }: SentConfig) -> Result<Self> {
        let raw = |SentResource { object_id, document }| RawResource { object_id, document };
        let resources = resources.into_iter().map(|(kind, sent)| (kind, sent.into_iter().map(raw).collect()));
        let settings = Arc::new(Settings::from_document(&settings)?);
        Ok(IndexConfig { settings, resources: resources.collect() })
    }
}
