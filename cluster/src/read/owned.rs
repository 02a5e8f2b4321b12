//! What does an index hold of the users whose records it has? Read from this node's replica, otherwise from another node's.

use crate::clock::within;
use crate::context::NodeContext;
use crate::meta::IndexRow;
use crate::read;
use crate::read::remote::{self, read_deadline};
use crate::rpc::calls::ServiceCall;
use crate::types::OwnedDigest;
use crate::types::Owners;
use crate::types::Whose;
use quorate_model::wire::Text;
use quorate_model::{Error, GroupId, Result};
use quorate_node::ops::Incarnation;
use quorate_node::{IndexView, Node};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks whether this node shows what is written.
const LOOK: Duration = Duration::from_millis(5);

/// The owner's records as of every write that was answered before.
pub async fn digest(
    context: &NodeContext,
    row: &IndexRow,
    whose: &Whose,
    deadline: Instant,
) -> Result<OwnedDigest> {
    let (group, incarnation) = (row.group, row.incarnation);
    if read::is_readable(context, group) {
        return digest_here(context, (group, incarnation), whose.clone(), deadline).await;
    }
    let within_ms = within(deadline).as_millis() as u64;
    let call = ServiceCall::Owned { group, incarnation, whose: whose.clone(), within_ms };
    remote::ask(context, group, call, deadline).await
}

/// The same from this node's replica. Errors: `Unavailable` when it does not show what is written in time.
pub async fn digest_here(
    context: &NodeContext,
    place: (GroupId, Incarnation),
    whose: Whose,
    deadline: Instant,
) -> Result<OwnedDigest> {
    let Some(view) = view_now(context, place, deadline).await? else { return Ok(OwnedDigest::new()) };
    context
        .node()
        .pool()
        .run_patiently(move |_| Ok(view.owned(whose.owner.as_str(), whose.ids.as_deref())))
        .await
}

/// The raw JSON of records by their stored ids, in order, as of every write that was answered before.
pub async fn records(
    context: &NodeContext,
    row: &IndexRow,
    ids: &[String],
    deadline: Instant,
) -> Result<Vec<Option<Vec<u8>>>> {
    let (group, incarnation) = (row.group, row.incarnation);
    let texts: Vec<Option<Text>> = match read::is_readable(context, group) {
        true => records_here(context, (group, incarnation), ids.to_vec(), deadline).await?,
        false => {
            let within_ms = within(deadline).as_millis() as u64;
            let call = ServiceCall::Stored { group, incarnation, ids: ids.to_vec(), within_ms };
            remote::ask(context, group, call, deadline).await?
        }
    };
    Ok(texts.into_iter().map(|text| text.map(|it| it.0)).collect())
}

/// The same from this node's replica.
pub async fn records_here(
    context: &NodeContext,
    place: (GroupId, Incarnation),
    ids: Vec<String>,
    deadline: Instant,
) -> Result<Vec<Option<Text>>> {
    let Some(view) = view_now(context, place, deadline).await? else {
        return Ok(ids.iter().map(|_| None).collect());
    };
    let record = move |id: &String| view.record(id).map(|record| Text(record.to_vec()));
    context.node().pool().run_patiently(move |_| Ok(ids.iter().map(record).collect())).await
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
    while context.node().visible_through(id) < log_index {
        if Instant::now() >= deadline {
            return Err(Error::unavailable(format!("group {id} does not show yet what is written")));
        }
        tokio::time::sleep(LOOK).await;
    }
    view_of(context.node(), incarnation).await
}

/// What every owner has in an index.
pub async fn owners(context: &NodeContext, row: &IndexRow) -> Result<Owners> {
    let (group, incarnation) = (row.group, row.incarnation);
    if read::is_readable(context, group) {
        return owners_here(context.node(), incarnation).await;
    }
    remote::ask(context, group, ServiceCall::Owners { group, incarnation }, read_deadline()).await
}

/// The same from this node's replica.
pub async fn owners_here(node: &Node, incarnation: Incarnation) -> Result<Owners> {
    match view_of(node, incarnation).await? {
        Some(view) => node.pool().run_patiently(move |_| Ok(view.owners())).await,
        None => Ok(Owners::new()),
    }
}

/// What reads of an index see; `None` before anything was written to it.
async fn view_of(node: &Node, incarnation: Incarnation) -> Result<Option<Arc<IndexView>>> {
    if node.index(incarnation).is_none() {
        return Ok(None);
    }
    let opener = node.clone();
    node.pool().run_patiently(move |_| Ok(Some(opener.view(incarnation)?))).await
}
