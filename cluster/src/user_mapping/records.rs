//! How do a user's records get from one part of an index into another, and how are they deleted and counted?
//!
//! Copying compares the two parts and writes the difference, so it may be done again, and a second time only takes what
//! changed since.

use super::owned;
use super::parts::seen;
use super::usage::{Figures, Usage};
use crate::disk::Purpose;
use crate::meta::{IndexRow, MetaState};
use crate::read;
use crate::router::{Accepted, Router};
use quorate_model::{Error, GroupId, IndexName, RecordOp, Result, UserId, limits};
use quorate_node::Node;
use quorate_node::ops::IndexCommand;
use serde_json::{Value, json};
use std::time::Instant;

/// Records of one command and of one call to another node at most.
const RECORDS_AT_A_TIME: usize = 250;

/// The parameters of a deletion with the owner whose records it is for.
pub fn deletion_of(user: &UserId, params: &[u8]) -> Result<Vec<u8>> {
    let mut params: Value = serde_json::from_slice(params)
        .map_err(|error| Error::internal(format!("a checked deletion: {error}")))?;
    params[quorate_model::user::OWNER] = json!(user.as_str());
    Ok(params.to_string().into_bytes())
}

/// Makes the user's records in the part `to` those of the part `from` as of every write answered before. Reads see them
/// when this returns.
pub async fn copy(
    router: &Router,
    node: &Node,
    from: &IndexName,
    to: &IndexName,
    user: &UserId,
    deadline: Instant,
) -> Result<()> {
    let (source, row) = (read::row(router, from)?, read::row(router, to)?);
    let wanted = owned::digest(router, node, &source, user, deadline).await?;
    let mut found = owned::digest(router, node, &row, user, deadline).await?;
    let differs = |(id, number): (String, u64)| (found.remove(&id) != Some(number)).then_some(id);
    let puts: Vec<String> = wanted.into_iter().filter_map(differs).collect();
    let deletes: Vec<String> = found.into_keys().collect();
    let mut last = None;
    for ids in puts.chunks(RECORDS_AT_A_TIME) {
        let records = owned::records(router, node, &source, ids, deadline).await?;
        let put = |(id, record): (&String, Option<Vec<u8>>)| {
            Some(RecordOp::Put { object_id: id.clone(), record: record? })
        };
        let ops = ids.iter().zip(records).filter_map(put).collect();
        last = Some(propose(router, &row, ops, Purpose::Add, deadline).await?);
    }
    for ids in deletes.chunks(RECORDS_AT_A_TIME) {
        let ops = ids.iter().map(|id| RecordOp::Delete { object_id: id.clone() }).collect();
        last = Some(propose(router, &row, ops, Purpose::Remove, deadline).await?);
    }
    let last = match last {
        Some(accepted) => accepted,
        // an attempt before may have written everything, and not every reader shows it yet
        None => propose(router, &row, vec![], Purpose::Remove, deadline).await?,
    };
    seen(router, node, &last, deadline).await
}

async fn propose(
    router: &Router,
    row: &IndexRow,
    ops: Vec<RecordOp>,
    purpose: Purpose,
    deadline: Instant,
) -> Result<Accepted> {
    let command = IndexCommand::Records { index: row.incarnation, ops };
    router.propose_index(row.group, command, purpose, deadline).await
}

/// The indices that callers name.
pub fn indices(meta: &MetaState) -> Vec<IndexName> {
    meta.catalogue.iter().map(|(name, _)| name.clone()).filter(|name| name.part().1.is_none()).collect()
}

/// Moves what is new of a user's records between two clusters.
pub async fn copy_all(
    router: &Router,
    node: &Node,
    user: &UserId,
    from: u16,
    to: u16,
    deadline: Instant,
) -> Result<()> {
    for name in indices(&router.meta()) {
        let meta = router.meta();
        let Some(row) = meta.catalogue.get(&name) else { continue };
        if row.primary().is_some() {
            continue;
        }
        let source = meta.part_of(&name, from)?;
        if meta.catalogue.get(&source).is_none() {
            continue;
        }
        let target = meta.part_of(&name, to)?;
        if meta.catalogue.get(&target).is_none() {
            let row = read::row(router, &source)?;
            if owned::digest(router, node, &row, user, deadline).await?.is_empty() {
                continue;
            }
        }
        let target = super::parts::part_for_write(router, node, &name, to, deadline).await?;
        copy(router, node, &source, &target, user, deadline).await?;
    }
    Ok(())
}

/// Deletes a user's records in a cluster; returns when no reader sees them any more.
pub async fn delete_in(
    router: &Router,
    node: &Node,
    user: &UserId,
    cluster: u16,
    deadline: Instant,
) -> Result<()> {
    let mut accepted = vec![];
    for name in indices(&router.meta()) {
        let meta = router.meta();
        let Ok(part) = meta.part_of(&name, cluster) else { continue };
        let Some(row) = meta.catalogue.get(&part).filter(|row| row.primary().is_none()) else { continue };
        let ops = vec![RecordOp::DeleteBy { params: deletion_of(user, b"{}")? }];
        accepted.push(propose(router, row, ops, Purpose::Remove, deadline).await?);
    }
    for accepted in &accepted {
        seen(router, node, accepted, deadline).await?;
    }
    Ok(())
}

/// Counts what all indices have of each user.
pub async fn count(router: &Router, node: &Node) -> Result<Usage> {
    let meta = router.meta();
    let rows = meta.catalogue.iter().filter(|(_, row)| row.primary().is_none());
    let cluster_of = |group: GroupId| group.0.checked_sub(1).map(|group| group / limits::PLACEMENT_GROUPS);
    let mut usage = Usage::default();
    for (_, row) in rows {
        let Some(cluster) = cluster_of(row.group) else { continue };
        let owners = owned::owners(router, node, row).await?;
        for (owner, (records, bytes)) in owners {
            let Ok(user) = UserId::new(&owner) else { continue };
            // what a move has copied or not deleted yet counts where the user is
            let is_here =
                user.is_public() || meta.users.map.get(&user).is_some_and(|row| row.cluster == cluster);
            if is_here {
                usage.add(cluster, user, Figures { records, bytes });
            }
        }
    }
    Ok(usage)
}
