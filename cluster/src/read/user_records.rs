//! What does an index hold of the users whose records it has?

use super::call::{Location, ReadCall, ask, ask_by, bounded_ms, given_up, in_group};
use crate::clock::within;
use crate::context::NodeContext;
use crate::meta::IndexRow;
use crate::types::{OwnedDigest, Owners, Whose};
use quorate_model::wire::Text;
use quorate_model::{Error, GroupId, Result};
use quorate_node::ops::Incarnation;
use quorate_node::{IndexView, Node};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks whether this node shows what is written.
const LOOK: Duration = Duration::from_millis(5);

/// The records of an owner as of every write that was answered before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetOwned {
    /// The group.
    pub group: GroupId,
    /// The index.
    pub incarnation: Incarnation,
    /// Which records.
    pub whose: Whose,
    /// Milliseconds until the asker gives up.
    #[serde(deserialize_with = "bounded_ms")]
    pub within_ms: u64,
}

impl ReadCall for GetOwned {
    const NAME: &'static str = "Owned";
    type Answer = OwnedDigest;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<OwnedDigest> {
        let GetOwned { group, incarnation, whose, within_ms } = self;
        let view = view_now(context, (group, incarnation), given_up(within_ms)).await?;
        let Some(view) = view else { return Ok(OwnedDigest::new()) };
        let owned = move || Ok(view.owned(whose.owner.as_str(), whose.ids.as_deref()));
        context.node().pool().run_patiently(move |_| owned()).await
    }
}

/// Records by their stored ids, in order, as of every write that was answered before, whoever may see them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetStored {
    /// The group.
    pub group: GroupId,
    /// The index.
    pub incarnation: Incarnation,
    /// The ids.
    pub ids: Vec<String>,
    /// Milliseconds until the asker gives up.
    #[serde(deserialize_with = "bounded_ms")]
    pub within_ms: u64,
}

impl ReadCall for GetStored {
    const NAME: &'static str = "Stored";
    type Answer = Vec<Option<Text>>;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<Vec<Option<Text>>> {
        let GetStored { group, incarnation, ids, within_ms } = self;
        let view = view_now(context, (group, incarnation), given_up(within_ms)).await?;
        let Some(view) = view else { return Ok(ids.iter().map(|_| None).collect()) };
        let record = move |id: &String| view.record(id).map(|record| Text(record.to_vec()));
        context.node().pool().run_patiently(move |_| Ok(ids.iter().map(record).collect())).await
    }
}

/// What every owner has in an index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetOwners {
    /// The group.
    pub group: GroupId,
    /// The index.
    pub incarnation: Incarnation,
}

impl ReadCall for GetOwners {
    const NAME: &'static str = "Owners";
    type Answer = Owners;
    type Source = ();

    async fn locate(&self, context: &NodeContext) -> Result<Location<()>> {
        Ok(in_group(context, self.group))
    }
    async fn read(self, context: &NodeContext, (): ()) -> Result<Owners> {
        match view_of(context.node(), self.incarnation).await? {
            Some(view) => context.node().pool().run_patiently(move |_| Ok(view.owners())).await,
            None => Ok(Owners::new()),
        }
    }
}

/// The owner's records; see [`GetOwned`].
pub async fn digest(
    context: &NodeContext,
    row: &IndexRow,
    whose: &Whose,
    deadline: Instant,
) -> Result<OwnedDigest> {
    let (whose, within_ms) = (whose.clone(), within(deadline).as_millis() as u64);
    let call = GetOwned { group: row.group, incarnation: row.incarnation, whose, within_ms };
    ask_by(context, call, deadline).await
}

/// The raw JSON of records; see [`GetStored`].
pub async fn records(
    context: &NodeContext,
    row: &IndexRow,
    ids: &[String],
    deadline: Instant,
) -> Result<Vec<Option<Vec<u8>>>> {
    let (ids, within_ms) = (ids.to_vec(), within(deadline).as_millis() as u64);
    let call = GetStored { group: row.group, incarnation: row.incarnation, ids, within_ms };
    let texts = ask_by(context, call, deadline).await?;
    Ok(texts.into_iter().map(|text| text.map(|it| it.0)).collect())
}

/// What every owner has in an index.
pub async fn owners(context: &NodeContext, row: &IndexRow) -> Result<Owners> {
    ask(context, GetOwners { group: row.group, incarnation: row.incarnation }).await
}

/// What this node's replica shows once it shows everything that was answered before; `None` before anything was written
/// to the index.
async fn view_now(
    context: &NodeContext,
    (id, incarnation): (GroupId, Incarnation),
    deadline: Instant,
) -> Result<Option<Arc<IndexView>>> {
    let group = context.group(id)?;
    let barrier = group.raft.read_barrier(within(deadline)).await;
    let log_index = barrier.map_err(|error| Error::unavailable(error.to_string()))?;
    group.wait_applied(log_index, deadline).await?;
    context.node().publish_now(id, log_index);
    while context.node().records_visible_through(id) < log_index {
        if Instant::now() >= deadline {
            return Err(Error::unavailable(format!("group {id} does not show yet what is written")));
        }
        tokio::time::sleep(LOOK).await;
    }
    view_of(context.node(), incarnation).await
}

/// What reads of an index see; `None` before anything was written to it.
async fn view_of(node: &Node, incarnation: Incarnation) -> Result<Option<Arc<IndexView>>> {
    if node.index(incarnation).is_none() {
        return Ok(None);
    }
    let opener = node.clone();
    node.pool().run_patiently(move |_| Ok(Some(opener.view(incarnation)?))).await
}
