//! The path of a read: the name is looked up in memory, the node's view of the index answers.

use crate::meta::{IndexRow, Link, Role};
use crate::mint::rfc3339;
use crate::replicas;
use crate::router::{Router, within};
use crate::service::{IndexInfo, ObjectRequest, ReadRights};
use quorate_model::{Error, ErrorKind, Filter, GroupId, IndexName, Result, Settings};
use quorate_node::ops::{Incarnation, ReplicaKind};
use quorate_node::search::ObjectReader;
use quorate_node::{IndexView, Node};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// The settings of an index as of every write that was answered before.
pub async fn settings_now(
    router: &Router,
    node: &Node,
    row: &IndexRow,
    deadline: Instant,
) -> Result<Arc<Settings>> {
    let group = router.group(row.group)?;
    let barrier = group.raft.read_barrier(within(deadline)).await;
    let log_index = barrier.map_err(|error| Error::unavailable(error.to_string()))?;
    group.wait_applied(log_index, deadline).await?;
    Ok(applied_settings(node, row))
}

/// The settings of an index as applied here; the defaults before anything was written to it.
pub fn applied_settings(node: &Node, row: &IndexRow) -> Arc<Settings> {
    node.index(row.incarnation).map_or_else(Arc::default, |index| index.settings.load_full())
}

/// The settings of `name` as a caller sees them: a virtual replica has its primary's where they shape the index, and the
/// links are those of the catalogue. Errors: `NotFound`.
pub fn shown_settings(router: &Router, node: &Node, name: &IndexName) -> Result<Arc<Settings>> {
    let row = readable_row(router, node, name)?;
    let settings = applied_settings(node, &row);
    match &row.role {
        Role::Alone => Ok(settings),
        Role::Primary(links) => {
            let replicas: Vec<String> = links.iter().map(replicas::shown).collect();
            let changes = Map::from_iter([("replicas".to_owned(), Value::from(replicas))]);
            Ok(Arc::new(settings.merge(&changes)?))
        }
        Role::Replica(Link { name: primary, kind }) => {
            let mut shown = match kind {
                ReplicaKind::Standard => (*settings).clone(),
                ReplicaKind::Virtual => {
                    let of_primary = applied_settings(node, &self::row(router, primary)?);
                    Settings::from_document(&of_primary.on_virtual(&settings.document))?
                }
            };
            shown.index.primary = Some(primary.to_string());
            Ok(Arc::new(shown))
        }
    }
}

/// What reads of the index that `name` stands for see now. Errors: `NotFound`.
pub async fn view(router: &Router, node: &Node, name: &IndexName) -> Result<Arc<IndexView>> {
    let row = readable_row(router, node, name)?;
    match view_of(router, node, &row).await {
        // moved or copied over between the two looks
        Err(error) if error.kind == ErrorKind::NotFound => match self::row(router, name)? {
            again if again.incarnation != row.incarnation => {
                view_of(router, node, &again).await.map_err(|error| named(error, name))
            }
            _ => Err(named(error, name)),
        },
        other => other,
    }
}

fn named(error: Error, name: &IndexName) -> Error {
    match error.kind {
        ErrorKind::NotFound => Error::no_index(name.as_str()),
        _ => error,
    }
}

/// What the catalogue knows of `name`. Errors: `NotFound`.
pub fn row(router: &Router, name: &IndexName) -> Result<IndexRow> {
    let meta = router.shared_meta().load();
    meta.catalogue.get(name).cloned().ok_or_else(|| Error::no_index(name.as_str()))
}

/// Whether reads of a group may be served from this node's replica, if it has one. Cost: one lock that is hardly ever waited
/// for; without a lease the group's positions as well.
pub fn is_readable(router: &Router, node: &Node, group: GroupId) -> bool {
    let local = router.groups().get(group);
    local.is_some_and(|it| it.leases.may_read(|| node.shown_through(group)))
}

/// As [`row`], for a read that is served from this node's replica. Errors: `NotFound`, `Unavailable`.
pub fn readable_row(router: &Router, node: &Node, name: &IndexName) -> Result<IndexRow> {
    let row = row(router, name)?;
    check_readable(router, node, row.group)?;
    Ok(row)
}

/// Errors: `Unavailable` when reads of the group cannot be served from this node.
fn check_readable(router: &Router, node: &Node, group: GroupId) -> Result<()> {
    match is_readable(router, node, group) {
        true => Ok(()),
        false => Err(Error::unavailable("this node is not up to date with the others; ask another one")),
    }
}

/// The view of an index; that of a virtual replica is its primary's with its own configuration.
async fn view_of(router: &Router, node: &Node, row: &IndexRow) -> Result<Arc<IndexView>> {
    match row.primary() {
        Some(Link { name: primary, kind: ReplicaKind::Virtual }) => {
            let primary = self::row(router, primary)?;
            let of_primary = open_view(node, &primary).await?;
            match node.index(row.incarnation) {
                Some(replica) => Ok(Arc::new(replica.over(&of_primary)?)),
                // linked, but its group has not heard of it yet
                None => Ok(of_primary),
            }
        }
        Some(_) | None => open_view(node, row).await,
    }
}

/// The view of an index with records; one that is not open is opened by the pool, since that reads files.
async fn open_view(node: &Node, row: &IndexRow) -> Result<Arc<IndexView>> {
    let incarnation = row.incarnation;
    if node.index(incarnation).is_some_and(|index| index.is_open()) {
        return Ok(node.view(incarnation)?);
    }
    let opener = node.clone();
    node.pool().run(move |_| Ok(opener.view(incarnation)?)).await
}

/// Records by id, in request order; those that do not pass `filter` as if they were not there.
pub async fn objects(
    router: &Router,
    node: &Node,
    requests: Vec<ObjectRequest>,
    rights: ReadRights,
    filter: Filter,
) -> Result<Vec<Option<Vec<u8>>>> {
    let mut views: BTreeMap<IndexName, Arc<IndexView>> = BTreeMap::new();
    for request in &requests {
        if !views.contains_key(&request.index) {
            views.insert(request.index.clone(), view(router, node, &request.index).await?);
        }
    }
    let rights = rights_of(rights);
    node.pool()
        .run(move |_| {
            let reader = |(name, view)| (name, ObjectReader::new(view, &filter));
            let readers: BTreeMap<&IndexName, ObjectReader<'_>> =
                views.iter().map(|(name, view)| (name, &**view)).map(reader).collect();
            let fetch = |request: &ObjectRequest| {
                let ObjectRequest { index, object_id, attributes_to_retrieve } = request;
                readers[index].object(object_id, attributes_to_retrieve.as_deref(), rights)
            };
            Ok(requests.iter().map(fetch).collect())
        })
        .await
}

/// The rights in the node's words.
pub fn rights_of(rights: ReadRights) -> quorate_node::ReadRights {
    let ReadRights { sees_unretrievable, max_hits_per_query } = rights;
    quorate_node::ReadRights { sees_unretrievable, max_hits_per_query }
}

/// The names of all indices, in order.
pub fn names(router: &Router) -> Vec<IndexName> {
    let mut names: Vec<IndexName> = router.meta().catalogue.iter().map(|(name, _)| name.clone()).collect();
    names.sort();
    names
}

/// The named indices with their figures, without those that are not there any more.
pub async fn indices(router: &Router, node: &Node, names: &[IndexName]) -> Result<Vec<IndexInfo>> {
    let meta = router.meta();
    let row = |name: &IndexName| {
        let row = meta.catalogue.get(name)?.clone();
        let primary = row.primary().filter(|link| link.kind == ReplicaKind::Virtual);
        let shown = primary.and_then(|link| meta.catalogue.get(&link.name)).map(|it| it.incarnation);
        Some((name.clone(), row, shown))
    };
    let rows: Vec<(IndexName, IndexRow, Option<Incarnation>)> = names.iter().filter_map(row).collect();
    let figures = node.clone();
    node.pool()
        .run(move |_| {
            let infos = rows.into_iter().map(|(name, row, shown)| index_info(&figures, name, &row, shown));
            infos.collect()
        })
        .await
}

/// A row of the list; a virtual replica counts the records of `shown`, its primary, and holds no bytes.
fn index_info(node: &Node, name: IndexName, row: &IndexRow, shown: Option<Incarnation>) -> Result<IndexInfo> {
    let stats = match node.stats(row.incarnation) {
        Ok(stats) => stats,
        Err(error) => {
            // one damaged index must not hide the others
            tracing::warn!(index = %name, %error, "cannot read the figures of an index");
            Default::default()
        }
    };
    let records = shown.map(|shown| node.stats(shown).map_or(0, |stats| stats.records));
    Ok(IndexInfo {
        name,
        created_at: rfc3339(row.created_ms),
        updated_at: rfc3339(stats.updated_ms.max(row.created_ms)),
        entries: records.unwrap_or(stats.records),
        data_size: stats.data_bytes,
        file_size: stats.file_bytes,
        last_build_time_s: stats.build_ms.div_ceil(1_000),
        pending_tasks: stats.pending,
        primary: row.primary().map(|link| link.name.clone()),
        replicas: row.replicas().iter().map(replicas::shown).collect(),
        is_virtual: row.primary().is_some_and(|link| link.kind == ReplicaKind::Virtual),
    })
}
