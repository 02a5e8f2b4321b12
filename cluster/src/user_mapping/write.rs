//! How does a user's write find its cluster, and stay with the user when that is being moved?
//!
//! A write is answered when the mapping, read after the write was accepted, still says what it said before. Otherwise it
//! may have come too late to be moved, and is done again where the user is now: ids are minted once, so that changes
//! nothing that is there already.

use super::parts::{part_for_write, seen};
use super::{UserDirectory, assigned, records};
use crate::meta::{UserRow, UserState};
use crate::mint::{Mint, rfc3339};
use crate::router::{Accepted, Router, within, write_deadline};
use crate::service::{CallerOp, Receipt};
use crate::sweep::Sweeper;
use crate::write::{self, ManyReceipt};
use quorate_model::record::with_object_id;
use quorate_model::user::owned_id;
use quorate_model::{Error, IndexName, RecordOp, Result, UserId};
use quorate_node::Node;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a write waits while its user is being moved: shorter than clients wait for an answer.
const FROZEN_WAIT: Duration = Duration::from_secs(4);
/// Between two looks at the mapping.
const LOOK: Duration = Duration::from_millis(5);
/// Moves that a write follows.
const MOVES_FOLLOWED: usize = 4;

/// What a write needs of the node.
#[derive(Clone, Copy)]
pub struct Ways<'a> {
    /// Into the groups.
    pub router: &'a Router,
    /// The indices.
    pub node: &'a Node,
    /// The background work.
    pub sweeper: &'a Sweeper,
}

/// An operation on the records of a user, and the id it names.
fn owned(op: CallerOp, user: &UserId, mint: &Mint) -> Result<(RecordOp, Option<String>)> {
    let stored = |object_id: &str| owned_id(user, object_id);
    let deletion =
        |params: &[u8]| records::deletion_of(user, params).map(|params| RecordOp::DeleteBy { params });
    Ok(match op {
        CallerOp::Put { object_id: Some(id), record }
        | CallerOp::Ready(RecordOp::Put { object_id: id, record }) => {
            (RecordOp::Put { object_id: stored(&id), record }, Some(id))
        }
        CallerOp::Put { object_id: None, record } => {
            let id = mint.object_id();
            (RecordOp::Put { object_id: stored(&id), record: with_object_id(&record, &id) }, Some(id))
        }
        CallerOp::Ready(RecordOp::Partial { object_id: id, changes, create }) => {
            (RecordOp::Partial { object_id: stored(&id), changes, create }, Some(id))
        }
        CallerOp::Ready(RecordOp::Delete { object_id: id }) => {
            (RecordOp::Delete { object_id: stored(&id) }, Some(id))
        }
        CallerOp::Ready(RecordOp::DeleteBy { params }) => (deletion(&params)?, None),
        // a user's index is the user's records in it
        CallerOp::Ready(RecordOp::Clear) | CallerOp::DeleteIndex => (deletion(b"{}")?, None),
    })
}

/// Applies a user's operations to one index, in order and as one.
///
/// Errors: `Invalid` for a user that is in no cluster; `Unavailable` when a move of the user takes too long.
pub async fn records(ways: Ways<'_>, user: &UserId, name: &IndexName, ops: Vec<CallerOp>) -> Result<Receipt> {
    let (mut owned_ops, mut object_ids) = (Vec::with_capacity(ops.len()), Vec::with_capacity(ops.len()));
    for op in ops {
        let (op, named) = owned(op, user, ways.router.mint())?;
        owned_ops.push(CallerOp::Ready(op));
        object_ids.extend(named);
    }
    let receipt = carry_out(ways, user, name, owned_ops).await?;
    Ok(Receipt { object_ids, ..receipt })
}

/// The same for several indices: in order and as one for each, one after the other.
pub async fn many(ways: Ways<'_>, user: &UserId, ops: Vec<(IndexName, CallerOp)>) -> Result<ManyReceipt> {
    let (mut by_index, mut object_ids) =
        (BTreeMap::<IndexName, Vec<CallerOp>>::new(), Vec::with_capacity(ops.len()));
    for (name, op) in ops {
        let (op, named) = owned(op, user, ways.router.mint())?;
        by_index.entry(name).or_default().push(CallerOp::Ready(op));
        object_ids.extend(named);
    }
    let (mut tasks, mut updated_at) = (BTreeMap::new(), None);
    for (name, ops) in by_index {
        let receipt = carry_out(ways, user, &name, ops).await?;
        updated_at = Some(receipt.updated_at);
        tasks.insert(name, receipt.task_id);
    }
    let updated_at = updated_at.unwrap_or_else(|| rfc3339(ways.router.mint().time_ms()));
    Ok((tasks, object_ids, updated_at))
}

async fn carry_out(ways: Ways<'_>, user: &UserId, name: &IndexName, ops: Vec<CallerOp>) -> Result<Receipt> {
    match user.is_public() {
        true => everywhere(ways, name, ops).await,
        false => with_user(ways, user, name, ops).await,
    }
}

async fn put(ways: Ways<'_>, name: &IndexName, cluster: u16, ops: Vec<CallerOp>) -> Result<Receipt> {
    let Ways { router, node, sweeper } = ways;
    let part = part_for_write(router, node, name, cluster, write_deadline()).await?;
    write::records(router, sweeper, &part, ops).await
}

async fn with_user(ways: Ways<'_>, user: &UserId, name: &IndexName, ops: Vec<CallerOp>) -> Result<Receipt> {
    for _ in 0..MOVES_FOLLOWED {
        let before = writable(ways.router, user, Instant::now() + FROZEN_WAIT).await?;
        let receipt = put(ways, name, before.cluster, ops.clone()).await?;
        let after = mapped_now(ways.router, user).await?;
        let may_be_frozen = matches!(after.state, UserState::Frozen { .. });
        if after.epoch == before.epoch || (after.cluster == before.cluster && !may_be_frozen) {
            return Ok(receipt);
        }
    }
    Err(Error::unavailable(format!("userID {user} is being moved; try again")))
}

/// The mapping of a user, once writes need not wait.
async fn writable(router: &Router, user: &UserId, until: Instant) -> Result<UserRow> {
    loop {
        let row = assigned(&router.meta(), user)?;
        if !matches!(row.state, UserState::Frozen { .. }) {
            return Ok(row);
        }
        if Instant::now() >= until {
            return Err(Error::unavailable(format!("userID {user} is being moved; try again in a moment")));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The mapping of a user as of now, whoever changed it.
async fn mapped_now(router: &Router, user: &UserId) -> Result<UserRow> {
    let (group, deadline) = (router.groups().meta()?, write_deadline());
    let barrier = group.raft.read_barrier(within(deadline)).await;
    let log_index = barrier.map_err(|error| Error::unavailable(error.to_string()))?;
    group.wait_applied(log_index, deadline).await?;
    assigned(&router.meta(), user)
}

/// Public records go to all clusters; the last one is the index itself, whose task is the answer.
async fn everywhere(ways: Ways<'_>, name: &IndexName, ops: Vec<CallerOp>) -> Result<Receipt> {
    let deadline = write_deadline();
    write::index_for_write(ways.router, name, deadline).await?;
    let meta = ways.router.meta();
    let mut home = None;
    for row in meta.clusters.values() {
        if meta.part_of(name, row.number)? == *name {
            home = Some(row.number);
            continue;
        }
        let receipt = put(ways, name, row.number, ops.clone()).await?;
        let accepted = Accepted { task_id: receipt.task_id, time_ms: 0 };
        seen(ways.router, ways.node, &accepted, deadline).await?;
    }
    let home = home.ok_or_else(|| Error::unavailable(format!("index {name} is being moved; try again")))?;
    put(ways, name, home, ops).await
}

impl UserDirectory {
    /// The index that a user's reads of `name` go to. Errors: `Invalid` for a user that is in no cluster.
    pub fn read_part(&self, router: &Router, user: &UserId, name: &IndexName) -> Result<IndexName> {
        let meta = router.shared_meta().load();
        match user.is_public() {
            true => Ok(name.clone()),
            false => meta.read_part(name, assigned(&meta, user)?.cluster),
        }
    }
}
