//! How indices are linked as replicas (C§3.2): the catalogue first, then the group that feeds them.
//!
//! The catalogue is the home of a link: who may be written to, which name follows which. The group of the primary keeps
//! its own list, which is announced to it (`write/announcements.rs`): a crash between the two heals, and an older list
//! replaces no newer one.
//!
//! The partitions that other clusters have of an index are primaries like it (`meta/partitions.rs`): one command links all of them,
//! and the group of each is told.

use crate::command::{MetaCommand, WantedReplica};
use crate::context::NodeContext;
use crate::disk::Purpose;
use crate::meta::{IndexRow, Link, MetaState, too_many};
use crate::read;
use crate::read::index_config;
use crate::write::Reach;
use crate::write::announcements::Announcement;
use quorate_model::settings::replica;
use quorate_model::{Error, IndexName, Result};
use quorate_node::ops::{Follower, Incarnation, IndexCommand, ReplicaKind};
use serde_json::{Map, Value};
use std::time::Instant;

mod prepared;
pub mod settled;
pub mod told;
#[cfg(test)]
use prepared::fill;
pub use prepared::{Prepared, abandon_unused, prepare, prepare_filled};

/// Tries to link while others change the same names.
const ATTEMPTS: usize = 8;

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
    let inside = entry.strip_prefix("virtual(").and_then(|rest| rest.strip_suffix(')')).map(str::trim);
    let kind = if inside.is_some() { ReplicaKind::Virtual } else { ReplicaKind::Standard };
    Ok(Link { name: IndexName::new(inside.unwrap_or(entry))?, kind })
}

/// Whether a name looks like a modifier of another one: `Virtual(name)`.
fn is_modified(name: &IndexName) -> bool {
    name.as_str().split_once('(').is_some_and(|(word, rest)| {
        let word = word.trim();
        !word.is_empty() && word.chars().all(char::is_alphanumeric) && rest.ends_with(')')
    })
}

/// Gives virtual replicas that are to become standard ones what they show of their primary but for its order, in time before they are
/// linked: it acts from then on, and who changes it afterwards comes later. `changes` are those of the primary.
pub async fn take_over_from_primary(
    context: &NodeContext,
    name: &IndexName,
    wanted: &[Link],
    changes: &Map<String, Value>,
    deadline: Instant,
) -> Result<()> {
    let meta = context.meta();
    let row = meta.catalogue.get(name);
    let is_turned = |link: &&Link| {
        let before = row.into_iter().flat_map(IndexRow::replicas).find(|before| before.name == link.name);
        link.kind == ReplicaKind::Standard && before.is_some_and(|before| before.kind == ReplicaKind::Virtual)
    };
    for Link { name, kind: _ } in wanted.iter().filter(is_turned) {
        loop {
            let row = context.meta().catalogue.get(name).cloned();
            let row = row.ok_or_else(|| Error::no_index(name.as_str()))?;
            let shown = index_config::shown(context, &row, &[], deadline).await?.settings;
            let changes = serde_json::to_vec(&shown.taken_over_from_primary(changes));
            let changes = changes.expect("a JSON object always serialises");
            let command = IndexCommand::Settings { index: row.incarnation, changes, replace: false };
            context.proposer().propose_index(row.group, command, Purpose::Add, deadline).await?;
            if settled::is_kept(context, (name, Reach::Index), row.incarnation, deadline).await? {
                break;
            }
        }
    }
    Ok(())
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
        if is_modified(replica) && meta.catalogue.get(replica).is_none() {
            return Err(Error::parameter("replicas", "array of index names or virtual(name)"));
        }
        if replica == name {
            return Err(Error::invalid(format!("{name} cannot be a replica of itself")));
        }
        if wanted[..number].iter().any(|earlier| earlier.name == *replica) {
            return Err(Error::invalid(format!("replicas names {replica} more than once")));
        }
        if meta.suggestions.contains_key(replica) {
            return Err(Error::invalid(format!(
                "{replica} is a suggestions index: it cannot be a replica of {name}"
            )));
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

/// Refuses records of an index, or its deletion, by what this node knows once it has looked again. Errors: `Forbidden` for replicas.
pub async fn check_known(context: &NodeContext, name: &IndexName, deletes_index: bool) -> Result<()> {
    read::look_again(context, name).await;
    match context.shared_meta().load().catalogue.get(name) {
        Some(row) if deletes_index => check_deletable(row),
        Some(row) => check_writable(row, name),
        None => Ok(()),
    }
}
/// Errors: `Forbidden` when the index is a replica.
pub fn check_deletable(row: &IndexRow) -> Result<()> {
    match row.primary() {
        Some(_) => Err(Error::forbidden("cannot delete a replica index; unlink it from its primary first")),
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

/// Replicas that the catalogue has from now on, and whose group is still to be told.
#[derive(Debug)]
pub struct Linked {
    /// The primary.
    pub primary: Incarnation,
    /// The revision of the announcement.
    pub revision: u64,
    /// What the group has to be told.
    pub told: Announcement,
    /// Until when it has to be told by who linked them.
    pub until: Instant,
}

/// Links `wanted` as the replicas of `name`, whose group is still to be told.
pub async fn link(
    context: &NodeContext,
    name: &IndexName,
    wanted: &[Link],
    deadline: Instant,
) -> Result<Linked> {
    let _operating = context.operations().begin();
    for _ in 0..ATTEMPTS {
        let meta = context.meta();
        check(&meta, name, wanted)?;
        let row = meta.catalogue.get(name).cloned().ok_or_else(|| Error::no_index(name.as_str()))?;
        let is_new = |link: &&Link| meta.catalogue.get(&link.name).is_some_and(|it| it.primary().is_none());
        let converted: Vec<&Link> = wanted.iter().filter(is_new).collect();
        let prepared = prepare(context, name, &converted, deadline).await?;
        let as_wanted = |link: &Link, name: &IndexName| WantedReplica {
            name: name.clone(),
            kind: link.kind,
            prepared: prepared.of(name),
        };
        let own = wanted.iter().map(|link| as_wanted(link, &link.name));
        let of_parts = prepared.names().filter(|name| name.partition().1.is_some()).filter_map(|partition| {
            let link = wanted.iter().find(|link| link.name.as_str() == partition.partition().0)?;
            Some(as_wanted(link, partition))
        });
        let replicas = own.chain(of_parts).collect();
        let set = MetaCommand::SetReplicas { name: name.clone(), incarnation: row.incarnation, replicas };
        let until = deadline.min(Instant::now() + told::TELLING);
        let revision =
            context.proposer().propose_meta(set, Purpose::Add, deadline).await?.task_id.log_index();
        let meta = context.meta();
        abandon_unused(context, &prepared).await;
        let is_linked = |now: &IndexRow| now.incarnation == row.incarnation && now.replicas() == wanted;
        if meta.catalogue.get(name).is_some_and(is_linked) {
            let told = announcement(&meta, row.incarnation, revision);
            let told = told.ok_or_else(|| Error::no_index(name.as_str()))?;
            return Ok(Linked { primary: row.incarnation, revision, told, until });
        }
    }
    Err(Error::unavailable(format!("the replicas of {name} are being changed by others; try again")))
}

/// What the group of an index has to be told of its replicas at `revision`; `None` when it is gone.
pub fn announcement(meta: &MetaState, primary: Incarnation, revision: u64) -> Option<Announcement> {
    let (_, row) = meta.catalogue.iter().find(|(_, row)| row.incarnation == primary)?;
    Some(announcement_of(meta, row, revision, &[]))
}

/// The same of a row, with `more` that are to follow beside those that the catalogue has.
fn announcement_of(meta: &MetaState, row: &IndexRow, revision: u64, more: &[Follower]) -> Announcement {
    let follower = |link: &Link| {
        let incarnation = meta.catalogue.get(&link.name)?.incarnation;
        Some(Follower { incarnation, kind: link.kind })
    };
    let followers = row.replicas().iter().filter_map(follower).chain(more.iter().cloned()).collect();
    let command = IndexCommand::Replicas { primary: row.incarnation, revision, followers };
    Announcement { group: row.group, command }
}

#[cfg(test)]
mod tests;
