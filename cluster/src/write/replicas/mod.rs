//! How indices are linked as replicas (C§3.2): the catalogue first, then the group that feeds them.
//!
//! The catalogue is the home of a link: who may be written to, which name follows which. The group of the primary keeps
//! its own list, which is announced to it (`write/announcements.rs`): a crash between the two heals, and an older list
//! replaces no newer one.
//!
//! The partitions that other clusters have of an index are primaries like it (`meta/partitions.rs`): one command links all of them,
//! and the group of each is told.

use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::command::{Moved, Wanted};
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::meta::{IndexRow, Link, MetaState, too_many};
use crate::read::index_config::{self, IndexConfig};
use crate::write::announcements::Announcement;
use quorate_model::settings::replica;
use quorate_model::{Error, IndexName, Result};
use quorate_node::ops::{Follower, Incarnation, IndexCommand, ReplicaKind};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Instant;

/// Tries to link while others change the same names.
const ATTEMPTS: usize = 8;

/// The incarnations that are kept ready for names that will be replicas, and for partitions of them.
#[derive(Debug, Default)]
pub struct Prepared {
    lives: BTreeMap<IndexName, Incarnation>,
}

/// The names that a `replicas` setting lists; `None` when `changes` has none.
pub fn listed(changes: &Map<String, Value>) -> Result<Option<Vec<Link>>> {
    let Some(value) = changes.get("replicas").or_else(|| changes.get("slaves")) else { return Ok(None) };
    let entries: Vec<&str> = match value {
        Value::String(one) => vec![one],
        Value::Array(list) => list.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => vec![],
    };
    entries.into_iter().map(link_of).collect::<Result<_>>().map(Some)
}

fn link_of(entry: &str) -> Result<Link> {
    let inside = entry.strip_prefix("virtual(").and_then(|rest| rest.strip_suffix(')'));
    let kind = if inside.is_some() { ReplicaKind::Virtual } else { ReplicaKind::Standard };
    Ok(Link { name: IndexName::new(inside.unwrap_or(entry))?, kind })
}

/// Checks that `wanted` may be the replicas of `name`. Errors: `Invalid` with the name that cannot be one.
pub fn check(meta: &MetaState, name: &IndexName, wanted: &[Link]) -> Result<()> {
    let row = meta.catalogue.get(name);
    if let Some(primary) = row.and_then(IndexRow::primary)
        && !wanted.is_empty()
    {
        let primary = &primary.name;
        return Err(Error::invalid(format!("{name} is a replica of {primary}: it cannot have replicas")));
    }
    if let Some(most) = too_many(wanted) {
        return Err(Error::parameter("replicas", &most));
    }
    for (number, link) in wanted.iter().enumerate() {
        let Link { name: replica, kind: _ } = link;
        if replica == name {
            return Err(Error::invalid(format!("{name} cannot be a replica of itself")));
        }
        if wanted[..number].iter().any(|earlier| earlier.name == *replica) {
            return Err(Error::invalid(format!("replicas names {replica} more than once")));
        }
        let Some(row) = meta.catalogue.get(replica) else { continue };
        if !row.replicas().is_empty() {
            return Err(Error::invalid(format!("{replica} has replicas: it cannot be a replica of {name}")));
        }
        if let Some(other) = row.primary().filter(|primary| primary.name != *name) {
            let other = &other.name;
            return Err(Error::invalid(format!("{replica} is a replica of {other}: unlink it there first")));
        }
    }
    Ok(())
}

/// Checks that `destination` may keep its own replicas beside those that a move brings. Errors: `Invalid`.
pub fn check_joined(destination: &IndexName, own: &[Link], brought: &[Link]) -> Result<()> {
    let joined: Vec<Link> = brought.iter().chain(own).cloned().collect();
    match too_many(&joined) {
        Some(most) => Err(Error::invalid(format!(
            "cannot move to {destination}: it would have {} replicas, {} of them brought along; an index has {most}",
            joined.len(),
            brought.len()
        ))),
        None => Ok(()),
    }
}

/// Errors: `Forbidden` when the index is a replica, whose records come from its primary only.
pub fn check_writable(row: &IndexRow, name: &IndexName) -> Result<()> {
    match row.primary() {
        Some(primary) => Err(Error::forbidden(format!(
            "cannot write records to the replica index {name}; write them to its primary {}",
            primary.name.partition().0
        ))),
        None => Ok(()),
    }
}

/// Errors: `Forbidden` with the names that a virtual replica does not take.
pub fn check_settings(row: &IndexRow, changes: &Map<String, Value>) -> Result<()> {
    if row.primary().is_none_or(|primary| primary.kind == ReplicaKind::Standard) {
        return Ok(());
    }
    let forbidden = replica::forbidden_in_virtual(changes);
    if forbidden.is_empty() {
        return Ok(());
    }
    let names = forbidden.join(", ");
    Err(Error::forbidden(format!("The following settings are forbidden in virtual replicas: {names}")))
}

/// Links `wanted` as the replicas of `name` and returns its incarnation with what its group has to be told.
pub async fn link(
    context: &NodeContext,
    name: &IndexName,
    wanted: &[Link],
    deadline: Instant,
) -> Result<(Incarnation, Announcement)> {
    for _ in 0..ATTEMPTS {
        let meta = context.meta();
        check(&meta, name, wanted)?;
        let row = meta.catalogue.get(name).cloned().ok_or_else(|| Error::no_index(name.as_str()))?;
        let is_new = |link: &&Link| meta.catalogue.get(&link.name).is_some_and(|it| it.primary().is_none());
        let converted: Vec<&Link> = wanted.iter().filter(is_new).collect();
        let prepared = prepare(context, name, &converted, deadline).await?;
        let as_wanted = |link: &Link, name: &IndexName| Wanted {
            name: name.clone(),
            kind: link.kind,
            prepared: prepared.lives.get(name).copied(),
        };
        let own = wanted.iter().map(|link| as_wanted(link, &link.name));
        let of_parts =
            prepared.lives.keys().filter(|name| name.partition().1.is_some()).filter_map(|partition| {
                let link = wanted.iter().find(|link| link.name.as_str() == partition.partition().0)?;
                Some(as_wanted(link, partition))
            });
        let replicas = own.chain(of_parts).collect();
        let set = MetaCommand::SetReplicas { name: name.clone(), incarnation: row.incarnation, replicas };
        let revision =
            context.proposer().propose_meta(set, Purpose::Add, deadline).await?.task_id.log_index();
        let meta = context.meta();
        abandon_unused(context, &prepared).await;
        let is_linked = |now: &IndexRow| now.incarnation == row.incarnation && now.replicas() == wanted;
        if meta.catalogue.get(name).is_some_and(is_linked) {
            let told = announcement(&meta, row.incarnation, revision);
            return told.map(|told| (row.incarnation, told)).ok_or_else(|| Error::no_index(name.as_str()));
        }
    }
    Err(Error::unavailable(format!("the replicas of {name} are being changed by others; try again")))
}

/// Reserves an incarnation for each of `names` in the group of `primary`, and one for each of their partitions in the group of
/// the partition that it will follow; all with the settings, synonyms and rules that the name has now.
pub async fn prepare(
    context: &NodeContext,
    primary: &IndexName,
    names: &[&Link],
    deadline: Instant,
) -> Result<Prepared> {
    let mut prepared = Prepared::default();
    for Link { name, kind: _ } in names {
        if let Err(error) = prepare_one(context, primary, name, &mut prepared, deadline).await {
            abandon_unused(context, &prepared).await;
            return Err(error);
        }
    }
    Ok(prepared)
}

async fn prepare_one(
    context: &NodeContext,
    primary: &IndexName,
    name: &IndexName,
    prepared: &mut Prepared,
    deadline: Instant,
) -> Result<()> {
    let meta = context.meta();
    let Some(row) = meta.catalogue.get(name) else { return Ok(()) };
    let IndexConfig { settings, documents } =
        index_config::now(context, row, &context.document_kinds(), deadline).await?;
    let saved: Vec<_> = documents.into_iter().filter(|(_, documents)| !documents.is_empty()).collect();
    let partitions = if meta.partitions_follow() { meta.other_partitions(primary) } else { vec![] };
    for followed in std::iter::once(primary).chain(&partitions) {
        let Some(group) = meta.catalogue.get(followed).map(|row| row.group) else { continue };
        let name =
            followed.partition().1.map_or_else(|| Ok(name.clone()), |number| name.partition_in(number))?;
        let begin = MetaCommand::BeginCopy { group };
        let index = context.proposer().propose_meta(begin, Purpose::Add, deadline).await?.task_id.0;
        prepared.lives.insert(name, index);
        let changes = serde_json::to_vec(&settings.document).expect("a JSON object always serialises");
        let mut commands = vec![IndexCommand::Settings { index, changes, replace: true }];
        commands.extend(saved.iter().cloned().map(|(kind, documents)| IndexCommand::SaveDocuments {
            index,
            kind,
            documents,
            replace: true,
        }));
        let command = IndexCommand::Sequence { commands };
        context.proposer().propose_index(group, command, Purpose::Add, deadline).await?;
    }
    Ok(())
}

/// Gives up what was prepared and is still only reserved.
pub async fn abandon_unused(context: &NodeContext, prepared: &Prepared) {
    let unused = |it: &Incarnation| context.shared_meta().load().reserved.contains_key(it);
    for incarnation in prepared.lives.values().copied().filter(unused).collect::<Vec<_>>() {
        let abandon = MetaCommand::AbandonCopy { incarnation };
        if let Err(error) = context.proposer().propose_meta(abandon, Purpose::Remove, write_deadline()).await
        {
            tracing::warn!(%error, "an index that was prepared as a replica stays until the next start");
        }
    }
}

impl Prepared {
    /// Where the replicas of a move's destination go on.
    pub fn moved(&self) -> Vec<Moved> {
        let moved =
            |(name, fresh): (&IndexName, &Incarnation)| Moved { name: name.clone(), incarnation: *fresh };
        self.lives.iter().map(moved).collect()
    }
}

/// What the group of an index has to be told of its replicas at `revision`; `None` when it is gone.
pub fn announcement(meta: &MetaState, primary: Incarnation, revision: u64) -> Option<Announcement> {
    let (_, row) = meta.catalogue.iter().find(|(_, row)| row.incarnation == primary)?;
    let follower = |link: &Link| {
        let incarnation = meta.catalogue.get(&link.name)?.incarnation;
        Some(Follower { incarnation, kind: link.kind })
    };
    let followers = row.replicas().iter().filter_map(follower).collect();
    let command = IndexCommand::Replicas { primary, revision, followers };
    Some(Announcement { group: row.group, command })
}

#[cfg(test)]
mod tests;
