//! What does an index hold of the users whose records it has? Read from this node's replica, otherwise from another node's.

use crate::calls::ServiceCall;
use crate::meta::IndexRow;
use crate::read;
use crate::remote::{self, read_deadline};
use crate::router::{Router, within};
use quorate_model::wire::Text;
use quorate_model::{Error, GroupId, Result, UserId};
use quorate_node::ops::Incarnation;
use quorate_node::{IndexView, Node};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks whether this node shows what is written.
const LOOK: Duration = Duration::from_millis(5);

/// The stored ids of an owner's records, each with a number that differs when the records do.
pub type Digest = BTreeMap<String, u64>;
/// For each owner the records and their bytes.
pub type Owners = BTreeMap<String, (u64, u64)>;

/// The owner's records as of every write that was answered before.
pub async fn digest(
    router: &Router,
    node: &Node,
    row: &IndexRow,
    owner: &UserId,
    deadline: Instant,
) -> Result<Digest> {
    let (group, incarnation) = (row.group, row.incarnation);
    if read::is_readable(router, node, group) {
        return digest_here(router, node, (group, incarnation), owner, deadline).await;
    }
    let within_ms = within(deadline).as_millis() as u64;
    let call = ServiceCall::Owned { group, incarnation, owner: owner.clone(), within_ms };
    remote::ask(router, group, call, deadline).await
}

/// The same from this node's replica. Errors: `Unavailable` when it does not show what is written in time.
pub async fn digest_here(
    router: &Router,
    node: &Node,
    (id, incarnation): (GroupId, Incarnation),
    owner: &UserId,
    deadline: Instant,
) -> Result<Digest> {
    let group = router.group(id)?;
    let barrier = group.raft.read_barrier(within(deadline)).await;
    let log_index = barrier.map_err(|error| Error::unavailable(error.to_string()))?;
    group.wait_applied(log_index, deadline).await?;
    while !node.is_visible(id, log_index) {
        if Instant::now() >= deadline {
            return Err(Error::unavailable(format!("group {id} does not show yet what is written")));
        }
        tokio::time::sleep(LOOK).await;
    }
    let Some(view) = view_of(node, incarnation).await? else { return Ok(Digest::new()) };
    let owner = owner.clone();
    node.pool().run(move |_| Ok(view.owned(owner.as_str()))).await
}

/// The raw JSON of records by their stored ids, in order.
pub async fn records(
    router: &Router,
    node: &Node,
    row: &IndexRow,
    ids: &[String],
    deadline: Instant,
) -> Result<Vec<Option<Vec<u8>>>> {
    let (group, incarnation) = (row.group, row.incarnation);
    let texts = match read::is_readable(router, node, group) {
        true => records_here(node, incarnation, ids.to_vec()).await?,
        false => {
            let call = ServiceCall::Stored { group, incarnation, ids: ids.to_vec() };
            remote::ask(router, group, call, deadline).await?
        }
    };
    Ok(texts.into_iter().map(|text: Option<Text>| text.map(|it| it.0)).collect())
}

/// The same from this node's replica.
pub async fn records_here(
    node: &Node,
    incarnation: Incarnation,
    ids: Vec<String>,
) -> Result<Vec<Option<Text>>> {
    let Some(view) = view_of(node, incarnation).await? else { return Ok(ids.iter().map(|_| None).collect()) };
    let record = move |id: &String| view.record(id).map(|record| Text(record.to_vec()));
    node.pool().run(move |_| Ok(ids.iter().map(record).collect())).await
}

/// What every owner has in an index.
pub async fn owners(router: &Router, node: &Node, row: &IndexRow) -> Result<Owners> {
    let (group, incarnation) = (row.group, row.incarnation);
    if read::is_readable(router, node, group) {
        return owners_here(node, incarnation).await;
    }
    remote::ask(router, group, ServiceCall::Owners { group, incarnation }, read_deadline()).await
}

/// The same from this node's replica.
pub async fn owners_here(node: &Node, incarnation: Incarnation) -> Result<Owners> {
    match view_of(node, incarnation).await? {
        Some(view) => node.pool().run(move |_| Ok(view.owners())).await,
        None => Ok(Owners::new()),
    }
}

/// What reads of an index see; `None` before anything was written to it.
async fn view_of(node: &Node, incarnation: Incarnation) -> Result<Option<Arc<IndexView>>> {
    if node.index(incarnation).is_none() {
        return Ok(None);
    }
    let opener = node.clone();
    node.pool().run(move |_| Ok(Some(opener.view(incarnation)?))).await
}
