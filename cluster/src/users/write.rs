//! How does a user's write find its cluster, and stay with the user when that is being moved?
//!
//! A write of a user is answered when it is sure to be in the cluster that the user's records are copied from, or in the
//! one that serves the user ([`routing::Write`]). Otherwise it is done again where the user is now: ids are made once, so
//! that changes nothing that is there already. A write of public records goes to the index itself and then to its other
//! partitions, before it is answered; those of a cluster that is down get it when it is back.

use super::partitions::follow;
use super::{records, routing};
use crate::clock::rfc3339;
use crate::clock::write_deadline;
use crate::context::NodeContext;
use crate::context::abreast;
use crate::context::proposer::Accepted;
use crate::ids::IdSource;
use crate::meta::{IndexRow, MetaState};
use crate::metrics;
use crate::types::{CallerOp, Receipt};
use crate::users::env::part_for_write;
use crate::write::env::Env;
use crate::write::growth;
use crate::write::replicas;
use crate::write::{self, ManyReceipt};
use quorate_model::record::with_object_id;
use quorate_model::user::owned_id;
use quorate_model::{Error, IndexName, RecordOp, Result, UserId};
use quorate_node::ops::IndexCommand;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a write waits while its user is being moved: longer than it takes to choose another node to go on with a move
/// and to wait for leases, shorter than clients wait for an answer.
const FROZEN_WAIT: Duration = Duration::from_secs(12);
/// Moves that a write follows.
const MOVES_FOLLOWED: usize = 4;

/// An operation on the records of a user, and the id it names.
fn owned(op: CallerOp, user: &UserId, ids: &IdSource) -> Result<(RecordOp, Option<String>)> {
    let stored = |object_id: &str| owned_id(user, object_id);
    let deletion =
        |params: &[u8]| records::deletion_of(user, params).map(|params| RecordOp::DeleteBy { params });
    Ok(match op {
        CallerOp::Put { object_id: Some(id), record }
        | CallerOp::Ready(RecordOp::Put { object_id: id, record }) => {
            (RecordOp::Put { object_id: stored(&id), record }, Some(id))
        }
        CallerOp::Put { object_id: None, record } => {
            let id = ids.object_id();
            (RecordOp::Put { object_id: stored(&id), record: with_object_id(&record, &id) }, Some(id))
        }
        CallerOp::Ready(RecordOp::Partial { object_id: id, changes, create }) => {
            (RecordOp::Partial { object_id: stored(&id), changes, create }, Some(id))
        }
        CallerOp::Ready(RecordOp::PartialUpTo { object_id: id, changes, create, bytes_max }) => {
            (RecordOp::PartialUpTo { object_id: stored(&id), changes, create, bytes_max }, Some(id))
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
pub async fn records(
    context: &NodeContext,
    user: &UserId,
    name: &IndexName,
    ops: Vec<CallerOp>,
) -> Result<Receipt> {
    let (mut owned_ops, mut object_ids) = (Vec::with_capacity(ops.len()), Vec::with_capacity(ops.len()));
    for op in ops {
        let (op, named) = owned(op, user, context.ids())?;
        owned_ops.push(op);
        object_ids.extend(named);
    }
    let owned_ops = bounded(context, user, name, owned_ops, growth::deadline()).await?;
    let accepted = carry_out(context, user, name, owned_ops).await?;
    Ok(write::receipt(accepted, object_ids))
}

/// The same for several indices: in order and as one for each, one after the other.
pub async fn many(
    context: &NodeContext,
    user: &UserId,
    ops: Vec<(IndexName, CallerOp)>,
) -> Result<ManyReceipt> {
    let (mut by_index, mut object_ids) =
        (BTreeMap::<IndexName, (Vec<u64>, Vec<RecordOp>)>::new(), Vec::with_capacity(ops.len()));
    for (place, (name, op)) in (0..).zip(ops) {
        let (op, named) = owned(op, user, context.ids())?;
        let (places, of_index) = by_index.entry(name).or_default();
        places.push(place);
        of_index.push(op);
        object_ids.extend(named);
    }
    // before anything is written: what is refused changes nothing
    for name in by_index.keys() {
        replicas::check_known(context, name, false).await?;
    }
    let by = growth::deadline();
    for (name, (places, ops)) in &mut by_index {
        let bounded = bounded(context, user, name, std::mem::take(ops), by).await;
        *ops = bounded.map_err(|error| write::placed(error, places))?;
    }
    let (mut tasks, mut last_ms) = (BTreeMap::new(), None);
    for (name, (_, ops)) in by_index {
        let accepted = carry_out(context, user, &name, ops).await?;
        last_ms = last_ms.max(Some(accepted.time_ms));
        tasks.insert(name, accepted.task_id);
    }
    let updated_at = rfc3339(last_ms.unwrap_or_else(|| context.ids().time_ms()));
    Ok((tasks, object_ids, updated_at))
}

async fn carry_out(
    context: &NodeContext,
    user: &UserId,
    name: &IndexName,
    ops: Vec<RecordOp>,
) -> Result<Accepted> {
    let accepted = match user.is_public() {
        true => everywhere(context, name, ops).await?,
        false => with_user(context, user, name, ops).await?,
    };
    metrics::accepted("records");
    Ok(accepted)
}

/// Refuses what would make a record too large in the index that holds a user's records as far as this node knows.
async fn bounded(
    context: &NodeContext,
    user: &UserId,
    name: &IndexName,
    ops: Vec<RecordOp>,
    by: Instant,
) -> Result<Vec<RecordOp>> {
    let row = {
        let meta = context.meta();
        let part = match meta.users.map.get(user) {
            Some(assigned) if !user.is_public() => meta.partition_of(name, assigned.cluster)?,
            Some(_) | None => name.clone(),
        };
        meta.catalogue.get(&part).cloned()
    };
    growth::bounded(context, row, ops, by).await
}

async fn propose(env: &impl Env, row: &IndexRow, ops: Vec<RecordOp>, deadline: Instant) -> Result<Accepted> {
    let purpose = write::purpose(&ops);
    let command = IndexCommand::Records { index: row.incarnation, ops };
    env.propose(row.group, command, purpose, deadline).await
}

/// Writes records of a user to the partition of an index that has them, wherever the user is by then.
pub async fn with_user(
    env: &impl Env,
    user: &UserId,
    name: &IndexName,
    ops: Vec<RecordOp>,
) -> Result<Accepted> {
    let until = env.now() + FROZEN_WAIT;
    let mut name = name.clone();
    for _ in 0..MOVES_FOLLOWED {
        let deadline = env.write_deadline();
        // a user who is in no cluster makes no index
        let write = routing::Write::begin(env, user, until).await?;
        let row = part_for_write(env, &name, write.cluster(), deadline).await?;
        let accepted = propose(env, &row, ops.clone(), deadline).await?;
        let counts = write.counts().await?;
        // a node that others do not wait for may have taken an index that is gone
        match name_now(&env.meta(), &name, &row) {
            Some(_) if counts => return Ok(accepted),
            // the user's records may have been moved with it: it stays one write if it goes to the same index again
            Some(now) => name = now,
            None => {}
        }
    }
    Err(Error::unavailable(format!("userID {user} is being moved, or {name} changed by others; try again")))
}

/// What an index is called now, of which `row` is a partition that was known by `name`; `None` when it is gone.
fn name_now(meta: &MetaState, name: &IndexName, row: &IndexRow) -> Option<IndexName> {
    let is_it = |now: &IndexRow| now.incarnation == row.incarnation;
    let mut known = meta.other_partitions(name).into_iter().chain([name.clone()]);
    if known.any(|partition| meta.catalogue.get(&partition).is_some_and(is_it)) {
        return Some(name.clone());
    }
    let (partition, _) = meta.catalogue.iter().find(|(_, now)| is_it(now))?;
    IndexName::new(partition.partition().0).ok()
}

/// Public records go to all clusters: to the index itself, whose task is the answer, and from there to the other partitions.
async fn everywhere(context: &NodeContext, name: &IndexName, ops: Vec<RecordOp>) -> Result<Accepted> {
    let deadline = write_deadline();
    if context.meta().clusters.len() > 1 && context.hold().is_none() {
        // it would be refused afterwards, and stay in what had the name before
        abreast::learn(context).await?;
    }
    let row = write::index_for_write(context, name, deadline).await?;
    replicas::check_writable(&row, name)?;
    let touched = named(&ops);
    let accepted = propose(context, &row, ops, deadline).await?;
    if context.meta().clusters.len() > 1 {
        // partitions that somebody made a moment ago; the write is done, and one that is not known yet gets it later
        if let Err(error) = abreast::learn(context).await {
            tracing::info!(index = %name, %error, "partitions may get public records later");
        }
        follow(context, name, touched.as_deref(), deadline).await?;
    }
    Ok(accepted)
}

/// The stored ids that operations name; `None` when some of them select records in another way.
fn named(ops: &[RecordOp]) -> Option<Vec<String>> {
    ops.iter().map(|op| op.object_id().map(str::to_owned)).collect()
}
