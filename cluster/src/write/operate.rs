//! Copying and moving whole indices (C§3.2).

use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::context::proposer::Accepted;
use crate::context::silence;
use crate::disk::Purpose;
use crate::meta::{IndexRow, Link, MetaState};
use crate::metrics;
use crate::read;
use crate::read::index_config::{self, IndexConfig};
use crate::write::announcements::announce;
use crate::write::configuring;
use crate::write::copies::{self, Filling};
use crate::write::replicas::settled::{is_kept, until_settled};
use crate::write::replicas::{self, Prepared};
use crate::write::tasks;
use crate::write::{Reach, check_files, index_for_write};
use futures_util::future::join_all;
use quorate_model::{Error, IndexName, Result, Settings, TaskId, level};
use quorate_node::ops::IndexCommand;
use serde_json::{Map, Value};
use std::time::{Duration, Instant};

/// Settings that belong to an index and not to its content: no copy carries them.
const NOT_COPIED: [&str; 3] = ["replicas", "mode", "enableReRanking"];
/// The piece of an index that `scope` may name beside synonyms and rules.
const SCOPE_SETTINGS: &str = "settings";
/// Tries to move while others change the links of the same names.
const MOVE_ATTEMPTS: usize = 8;

fn row_of(context: &NodeContext, name: &IndexName) -> Option<IndexRow> {
    context.shared_meta().load().catalogue.get(name).cloned()
}

/// An index that another node has just made must not pass for a missing one.
async fn look_again(context: &NodeContext, source: &IndexName, destination: &IndexName) {
    read::look_again(context, source).await;
    read::look_again(context, destination).await;
}

/// Errors: `Forbidden` when `name` is a replica, which is only its primary's to replace or to move.
fn check_independent(row: Option<&IndexRow>, name: &IndexName, operation: &str) -> Result<()> {
    match row.and_then(IndexRow::primary) {
        Some(primary) => Err(Error::forbidden(format!(
            "cannot {operation} {}: it is a replica of {}; unlink it from its primary first",
            name.partition().0,
            primary.name.partition().0
        ))),
        None => Ok(()),
    }
}

/// For how long a move waits until the records of its source are seen.
const MOVE_SHOWN: Duration = Duration::from_secs(10);

/// Waits until reads see every write to an index that was answered before, in all its partitions that can be reached: else the name
/// that it is moved to would show a part of its records for a moment. Returns a task that is published when they do, if
/// [`MOVE_SHOWN`] was not enough. Errors: the index may not be moved there.
async fn until_all_shown(
    context: &NodeContext,
    source: &IndexName,
    destination: &IndexName,
) -> Result<Option<TaskId>> {
    let meta = context.meta();
    let Some(row) = meta.catalogue.get(source).filter(|_| source != destination) else { return Ok(None) };
    check_independent(Some(row), source, "move")?;
    check_independent(meta.catalogue.get(destination), destination, "move to")?;
    check_files(context, source, row)?;
    let until = Instant::now() + MOVE_SHOWN;
    let shown = async |row: &IndexRow| {
        let nothing = IndexCommand::Records { index: row.incarnation, ops: vec![] };
        // a partition that cannot be asked keeps nobody from moving: its names are the meta group's
        let task =
            context.proposer().propose_index(row.group, nothing, Purpose::Add, until).await.ok()?.task_id;
        (!tasks::until_published(context, task, until).await).then_some(task)
    };
    let others = meta.other_partitions(source).into_iter().filter_map(|name| meta.catalogue.get(&name));
    let partitions = std::iter::once(row).chain(others);
    let reachable = partitions.filter(|row| !silence::is_out_of_reach(context, row.group));
    Ok(join_all(reachable.map(shown)).await.into_iter().find_map(|still_to_come| still_to_come))
}

/// Renames `source` over `destination`, which keeps its replicas: they are filled with the new records. Those of the
/// source stay linked, too. A missing source is no error.
pub async fn move_index(
    context: &NodeContext,
    source: &IndexName,
    destination: &IndexName,
) -> Result<Accepted> {
    let (deadline, _operating) = (write_deadline(), context.operations().begin());
    look_again(context, source, destination).await;
    let still_to_come = until_all_shown(context, source, destination).await?;
    let announcing = context.janitor().announcing(deadline).await?;
    for _ in 0..MOVE_ATTEMPTS {
        let (from, to) = (row_of(context, source), row_of(context, destination));
        check_independent(from.as_ref(), source, "move")?;
        check_independent(to.as_ref(), destination, "move to")?;
        let kept = to.as_ref().filter(|_| source != destination).map_or(&[][..], IndexRow::replicas);
        if let Some(from) = &from {
            check_files(context, source, from)?;
            replicas::check_joined(destination, kept, from.replicas())?;
        }
        let prepared = match &from {
            Some(_) => {
                let kept: Vec<&Link> = kept.iter().collect();
                replicas::prepare_filled(context, source, &kept, deadline).await?
            }
            None => Prepared::default(),
        };
        let (from_name, to_name) = (source.clone(), destination.clone());
        let command = MetaCommand::MoveIndex { from: from_name, to: to_name, replicas: prepared.moved() };
        let mut accepted = context.proposer().propose_meta(command, Purpose::Add, deadline).await?;
        let is_as_before =
            |from: &IndexRow| row_of(context, source).is_some_and(|now| now.incarnation == from.incarnation);
        // what was made ready is not used where the source stands for something else by now
        let refused = source != destination
            && from
                .as_ref()
                .is_some_and(|from| is_as_before(from) || prepared.is_unused(&context.meta(), kept));
        replicas::abandon_unused(context, &prepared).await;
        if refused {
            continue;
        }
        if let Some(moved) = from.filter(|_| !kept.is_empty()) {
            let revision = accepted.task_id.log_index();
            let told = announce(context, moved.incarnation.into(), revision, deadline).await?;
            accepted = told.unwrap_or(accepted);
        }
        drop(announcing);
        context.janitor().wake();
        tasks::until_known(context, deadline).await?;
        metrics::accepted("move");
        accepted.task_id = prepared.rebuilt().or(still_to_come).unwrap_or(accepted.task_id);
        return Ok(accepted);
    }
    Err(Error::unavailable(format!("{destination} is being changed by others; try again")))
}

/// Whether an index may be copied over this one. Errors: `Forbidden` for a replica, `Invalid` for one that has replicas.
fn check_copy(meta: &MetaState, destination: &IndexName) -> Result<()> {
    let old = meta.catalogue.get(destination);
    check_independent(old, destination, "copy to")?;
    match old.is_some_and(|row| !row.replicas().is_empty()) {
        true => Err(Error::invalid(format!("cannot copy to {}: it has replicas", destination.partition().0))),
        false => Ok(()),
    }
}

/// Makes `destination` a copy of `source` with all its parts; a missing source gives an empty index. With `keys` those that are for the
/// source alone are for the copy as well.
pub async fn copy_index(
    context: &NodeContext,
    (source, destination): (&IndexName, &IndexName),
    keys: bool,
) -> Result<Accepted> {
    let deadline = write_deadline();
    if source == destination {
        let row = index_for_write(context, source, deadline).await?;
        let nothing = IndexCommand::Records { index: row.incarnation, ops: vec![] };
        return context.proposer().propose_index(row.group, nothing, Purpose::Add, deadline).await;
    }
    let _operating = context.operations().begin();
    look_again(context, source, destination).await;
    if let Some(row) = row_of(context, source) {
        check_files(context, source, &row)?;
    }
    let check = |meta: &MetaState| check_copy(meta, destination);
    let accepted = copies::copy(context, (source, destination), check, deadline).await;
    context.janitor().wake();
    let accepted = accepted?;
    tasks::until_known(context, deadline).await?;
    if keys {
        copy_keys(context, source, destination, deadline).await?;
    }
    metrics::accepted("copy");
    Ok(accepted)
}

/// Lets the keys of an index be for a copy of it as well (C§3.2). Before their level all stay where they are.
async fn copy_keys(
    context: &NodeContext,
    source: &IndexName,
    destination: &IndexName,
    deadline: Instant,
) -> Result<()> {
    let meta = context.meta();
    if meta.level() < level::COPIED_KEYS || meta.keys.of(source).next().is_none() {
        return Ok(());
    }
    let command = MetaCommand::CopyKeys { from: source.clone(), to: destination.clone() };
    context.proposer().propose_meta(command, Purpose::Add, deadline).await?;
    Ok(())
}

/// How long a copy stays unnamed because its source is being rebuilt for other settings.
const COPY_REBUILD: Duration = Duration::from_millis(200);

/// Copies the content and waits until reads would see its records. The answer is the task of settings that are not in
/// force yet.
pub async fn fill(
    context: &NodeContext,
    Filling { shown, group, from, to }: &Filling,
    deadline: Instant,
) -> Result<Option<TaskId>> {
    let (group, from, to) = (*group, *from, *to);
    let without = Map::from_iter(NOT_COPIED.map(|name| (name.to_owned(), Value::Null)));
    let changes = serde_json::to_vec(&without).expect("a JSON object always serialises");
    let mut commands = vec![IndexCommand::Copy { from, to }];
    // a virtual replica has the records of its primary and a configuration of its own
    if let Some(replica) = shown.as_ref().filter(|row| row.incarnation != from) {
        let IndexConfig { settings, resources } =
            index_config::shown(context, replica, &context.resource_kinds(), deadline).await?;
        commands.extend(configuring::all(to, &settings.document, resources));
    }
    commands.push(IndexCommand::Settings { index: to, changes, replace: false });
    let command = IndexCommand::Sequence { commands };
    let task = context.proposer().propose_index(group, command, Purpose::Add, deadline).await?.task_id;
    // settings that the source is being rebuilt for follow later, in the copy as in the source
    tasks::until_shown(context, task, COPY_REBUILD, deadline).await
}

/// Copies only the named pieces of the configuration, as they are when all writes answered before are applied; records stay.
pub async fn copy_pieces(
    context: &NodeContext,
    source: &IndexName,
    destination: &IndexName,
    scope: &[String],
) -> Result<Accepted> {
    let deadline = write_deadline();
    if source != destination {
        read::look_again(context, source).await;
    }
    // of a source that is not there nothing is copied: whoever mistypes it would lose what the destination has
    let pieces = match row_of(context, source).filter(|_| source != destination) {
        Some(from) => {
            let mut kinds = context.resource_kinds();
            kinds.retain(|kind| scope.iter().any(|piece| piece == kind.scope()));
            Some(index_config::shown(context, &from, &kinds, deadline).await?)
        }
        None => None,
    };
    loop {
        until_settled(context, (destination, Reach::Index), deadline).await?;
        let to = index_for_write(context, destination, deadline).await?;
        let mut commands = Vec::new();
        if let Some(IndexConfig { settings, resources }) = pieces.clone() {
            if scope.iter().any(|piece| piece == SCOPE_SETTINGS) {
                let ours = index_config::now(context, &to, &[], deadline).await?.settings;
                let document = merged(settings.document.clone(), &ours);
                commands.push(configuring::settings(to.incarnation, &document));
            }
            commands.extend(configuring::resources(to.incarnation, resources));
        }
        let command = match commands.is_empty() {
            true => IndexCommand::Records { index: to.incarnation, ops: vec![] },
            false => IndexCommand::Sequence { commands },
        };
        let accepted = context.proposer().propose_index(to.group, command, Purpose::Add, deadline).await?;
        if is_kept(context, (destination, Reach::Index), to.incarnation, deadline).await? {
            metrics::accepted("copy");
            return Ok(accepted);
        }
    }
}

/// The source's settings with those of the destination that are never copied.
fn merged(mut theirs: Map<String, Value>, ours: &Settings) -> Map<String, Value> {
    for name in NOT_COPIED {
        match ours.document.get(name) {
            Some(value) => drop(theirs.insert(name.to_owned(), value.clone())),
            None => drop(theirs.remove(name)),
        }
    }
    theirs
}
