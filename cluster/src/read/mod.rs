//! The path of a read: the name is looked up in memory, the node's view of the index answers, or another node does.

pub mod documents;
pub mod health;
pub mod owned;
pub mod parts;
pub mod remote;
pub mod serve;

use crate::clock::rfc3339;
use crate::context::NodeContext;
use crate::context::abreast;
use crate::groups::leases::Shown;
use crate::meta::{IndexRow, Link, Role};
use crate::read::remote::{Way, read_deadline};
use crate::rpc::calls::ServiceCall;
use crate::types::{IndexInfo, ObjectRequest, ReadRights};
use futures_util::future::try_join_all;
use quorate_model::wire::Text;
use quorate_model::{Error, ErrorKind, Filter, GroupId, IndexName, Result, Settings};
use quorate_node::ops::{Incarnation, ReplicaKind};
use quorate_node::search::ObjectReader;
use quorate_node::{IndexStats, IndexView, Node};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The settings of an index as applied here; the defaults before anything was written to it.
pub fn applied_settings(node: &Node, incarnation: Incarnation) -> Arc<Settings> {
    node.index(incarnation).map_or_else(Arc::default, |index| index.settings.load_full())
}

/// The settings of `name` as a caller sees them. Errors: `NotFound`.
pub async fn shown_settings(context: &NodeContext, name: &IndexName) -> Result<Way<Arc<Settings>>> {
    let row = known_row(context, name).await?;
    if !serves(context, row.group).await {
        return Ok(Way::There(row.group));
    }
    let of_primary = match virtual_primary(&row) {
        Some(primary) => Some(applied_settings(context.node(), self::row(context, primary)?.incarnation)),
        None => None,
    };
    shown(&row, applied_settings(context.node(), row.incarnation), of_primary.as_deref()).map(Way::Here)
}

/// The primary that a virtual replica shows the records of.
pub fn virtual_primary(row: &IndexRow) -> Option<&IndexName> {
    row.primary().filter(|link| link.kind == ReplicaKind::Virtual).map(|link| &link.name)
}

/// The settings of an index as a caller sees them: a virtual replica has its primary's, which are `of_primary`, where they
/// shape the index, and the links are those of the catalogue.
pub fn shown(row: &IndexRow, own: Arc<Settings>, of_primary: Option<&Settings>) -> Result<Arc<Settings>> {
    match &row.role {
        Role::Alone => Ok(own),
        Role::Primary(links) => {
            let replicas: Vec<String> = links.iter().map(Link::shown).collect();
            let changes = Map::from_iter([("replicas".to_owned(), Value::from(replicas))]);
            Ok(Arc::new(own.merge(&changes)?))
        }
        Role::Replica(Link { name: primary, kind: _ }) => {
            let mut shown = match of_primary {
                None => (*own).clone(),
                Some(of_primary) => Settings::from_document(&of_primary.on_virtual(&own.document))?,
            };
            shown.index.primary = Some(primary.part().0.to_owned());
            Ok(Arc::new(shown))
        }
    }
}

/// What reads of the index that `name` stands for see now. Errors: `NotFound`.
pub async fn view(context: &NodeContext, name: &IndexName) -> Result<Way<Arc<IndexView>>> {
    let row = known_row(context, name).await?;
    if !serves(context, row.group).await {
        return Ok(Way::There(row.group));
    }
    match view_of(context, &row).await {
        Err(error) if error.kind == ErrorKind::NotFound => {
            let again = self::row(context, name)?;
            if !serves(context, again.group).await {
                // this node gave its replica away between the two looks
                return Ok(Way::There(again.group));
            }
            // moved or copied over between the two looks
            let viewed = match again.incarnation == row.incarnation {
                // a part is made with its index, whether anything is written to it or not, and so is an index with parts
                true if name.part().1.is_some() || context.meta().users.is_enabled => {
                    Ok(context.node().view_or_empty(row.incarnation, row.group)?)
                }
                true => Err(error),
                false => view_of(context, &again).await,
            };
            viewed.map(Way::Here).map_err(|error| named(error, name))
        }
        other => other.map(Way::Here),
    }
}

/// Does `work` on what reads of the index see now, if that is here. Errors: `NotFound`.
pub async fn on_view<T>(
    context: &NodeContext,
    name: &IndexName,
    work: impl AsyncFnOnce(Arc<IndexView>) -> Result<T>,
) -> Result<Way<T>> {
    match view(context, name).await? {
        Way::Here(view) => work(view).await.map(Way::Here),
        Way::There(group) => Ok(Way::There(group)),
    }
}

fn named(error: Error, name: &IndexName) -> Error {
    match error.kind {
        ErrorKind::NotFound => Error::no_index(name.as_str()),
        _ => error,
    }
}

/// What the catalogue knows of `name`. Errors: `NotFound`.
pub fn row(context: &NodeContext, name: &IndexName) -> Result<IndexRow> {
    let meta = context.shared_meta().load();
    meta.catalogue.get(name).cloned().ok_or_else(|| Error::no_index(name.as_str()))
}

/// As [`row`], as the others know it: a node that may be behind asks first. Errors also: `Unavailable` for a name that is missing
/// here when this node cannot find out, for a caller who hears that there is no such index asks nobody else.
pub async fn known_row(context: &NodeContext, name: &IndexName) -> Result<IndexRow> {
    catch_up_for(context, name).await?;
    row(context, name)
}

/// Before `name` is used: waits until this node knows every index that was made or changed before, as far as the meta group
/// can be asked. Costs a lock for a name that is known to a node with a lease of the meta group.
pub async fn look_again(context: &NodeContext, name: &IndexName) {
    if let Err(error) = catch_up_for(context, name).await {
        tracing::debug!(index = %name, %error, "this node may not know of an index yet");
    }
}

/// Errors: `Unavailable` when the name is not known here and the others cannot be asked.
async fn catch_up_for(context: &NodeContext, name: &IndexName) -> Result<()> {
    let is_known = {
        let meta = context.shared_meta().load();
        meta.nodes.len() <= 1 || meta.catalogue.get(name).is_some()
    };
    if is_known {
        abreast::keep_abreast(context).await;
        return Ok(());
    }
    abreast::learn(context).await.map_err(|_| {
        Error::unavailable(format!(
            "this node does not know the index {name}, and cannot ask the others about it at present"
        ))
    })
}

/// Whether reads of a group may be served from this node's replica, if it has one. Cost: one lock that is hardly ever waited
/// for; without a lease the group's positions as well.
pub fn is_readable(context: &NodeContext, group: GroupId) -> bool {
    let local = context.groups().get(group);
    let shows = |what| match what {
        Shown::Everything => context.node().shown_through(group),
        Shown::Records => context.node().visible_through(group),
    };
    local.is_some_and(|it| it.leases.may_read(shows))
}

/// Whether this node serves a read of a group: it may, and its replica shows what other nodes have shown its clients meanwhile.
/// Cost beside [`is_readable`]: an atomic load; some milliseconds when others served the last reads.
pub async fn serves(context: &NodeContext, group: GroupId) -> bool {
    let until = Instant::now() + CATCH_UP;
    while is_readable(context, group) {
        match context.seen().awaited(group) {
            0 => return true,
            through if context.node().visible_through(group) >= through => {
                context.seen().is_shown(group, through)
            }
            _ if Instant::now() >= until => return false,
            through => {
                context.node().publish_now(group, through);
                tokio::time::sleep(CATCH_UP_LOOK).await;
            }
        }
    }
    false
}

/// How long a read waits for this node's replica before it goes to another one.
const CATCH_UP: Duration = Duration::from_millis(100);
/// How often it is looked for.
const CATCH_UP_LOOK: Duration = Duration::from_millis(1);

/// The view of an index; that of a virtual replica is its primary's with its own configuration.
async fn view_of(context: &NodeContext, row: &IndexRow) -> Result<Arc<IndexView>> {
    match row.primary() {
        Some(Link { name: primary, kind: ReplicaKind::Virtual }) => {
            let primary = self::row(context, primary)?;
            let of_primary = open_view(context.node(), &primary).await?;
            match context.node().index(row.incarnation) {
                Some(replica) => Ok(Arc::new(replica.over(&of_primary)?)),
                // linked, but its group has not heard of it yet
                None => Ok(of_primary),
            }
        }
        Some(_) | None => open_view(context.node(), row).await,
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

/// Records by id, in request order; those that do not pass `filter` as if they were not there. Each comes from where its
/// index is.
pub async fn objects(
    context: &NodeContext,
    requests: Vec<ObjectRequest>,
    rights: ReadRights,
    filter: Filter,
) -> Result<Vec<Option<Vec<u8>>>> {
    let (views, elsewhere) = views(context, &requests).await?;
    if elsewhere.is_empty() {
        return fetch(context.node(), views, requests, rights, filter).await;
    }
    let mut records = vec![None; requests.len()];
    let (mut here, mut there) = (vec![], BTreeMap::<GroupId, Vec<(usize, ObjectRequest)>>::new());
    for (number, request) in requests.into_iter().enumerate() {
        match elsewhere.get(&request.index) {
            Some(group) => there.entry(*group).or_default().push((number, request)),
            None => here.push((number, request)),
        }
    }
    let fetched = async {
        let (numbers, requests): (Vec<_>, Vec<_>) = here.into_iter().unzip();
        Ok::<_, Error>((numbers, fetch(context.node(), views, requests, rights, filter.clone()).await?))
    };
    let deadline = read_deadline();
    let sent = there.into_iter().flat_map(|(group, requests)| {
        let calls: Vec<_> = requests.chunks(OBJECTS_OF_CALL).map(<[_]>::to_vec).collect();
        calls.into_iter().map(move |calls| (group, calls))
    });
    let asked = sent.map(async |(group, calls)| {
        let (numbers, requests): (Vec<usize>, Vec<ObjectRequest>) = calls.into_iter().unzip();
        let call = ServiceCall::Objects { requests, rights, filter: filter.clone() };
        let texts: Vec<Option<Text>> = remote::ask(context, group, call, deadline).await?;
        let found: Vec<Option<Vec<u8>>> = texts.into_iter().map(|text| text.map(|it| it.0)).collect();
        Ok::<_, Error>((numbers, found))
    });
    let (fetched, asked) = tokio::try_join!(fetched, try_join_all(asked))?;
    let (mut bytes, bytes_max) = (0, rights_of(rights).bytes_max());
    for (numbers, found) in asked.into_iter().chain([fetched]) {
        for (number, record) in numbers.into_iter().zip(found) {
            check_bytes(&mut bytes, record.as_ref(), bytes_max)?;
            records[number] = record;
        }
    }
    Ok(records)
}

/// Records that one call to another node asks for at most, so that their sum stays far below what a message may take.
const OBJECTS_OF_CALL: usize = 250;

/// The same, if all of the indices can be read here.
pub async fn objects_here(
    context: &NodeContext,
    requests: Vec<ObjectRequest>,
    rights: ReadRights,
    filter: Filter,
) -> Result<Way<Vec<Option<Vec<u8>>>>> {
    let (views, elsewhere) = views(context, &requests).await?;
    match elsewhere.into_values().next() {
        Some(group) => Ok(Way::There(group)),
        None => fetch(context.node(), views, requests, rights, filter).await.map(Way::Here),
    }
}

type Views = BTreeMap<IndexName, Arc<IndexView>>;

/// The views of the indices that can be read here, and the groups of the others. Errors: `NotFound`.
async fn views(
    context: &NodeContext,
    requests: &[ObjectRequest],
) -> Result<(Views, BTreeMap<IndexName, GroupId>)> {
    let (mut views, mut elsewhere) = (Views::new(), BTreeMap::new());
    for ObjectRequest { index, .. } in requests {
        if views.contains_key(index) || elsewhere.contains_key(index) {
            continue;
        }
        match view(context, index).await? {
            Way::Here(view) => drop(views.insert(index.clone(), view)),
            Way::There(group) => drop(elsewhere.insert(index.clone(), group)),
        }
    }
    Ok((views, elsewhere))
}

async fn fetch(
    node: &Node,
    views: Views,
    requests: Vec<ObjectRequest>,
    rights: ReadRights,
    filter: Filter,
) -> Result<Vec<Option<Vec<u8>>>> {
    let rights = rights_of(rights);
    node.pool()
        .run(move |_| {
            let reader = |(name, view)| (name, ObjectReader::new(view, &filter));
            let readers: BTreeMap<&IndexName, ObjectReader<'_>> =
                views.iter().map(|(name, view)| (name, &**view)).map(reader).collect();
            let mut bytes = 0;
            let fetch = |request: &ObjectRequest| {
                let ObjectRequest { index, object_id, attributes_to_retrieve } = request;
                let record = readers[index].object(object_id, attributes_to_retrieve.as_deref(), rights);
                check_bytes(&mut bytes, record.as_ref(), rights.bytes_max())?;
                Ok(record)
            };
            requests.iter().map(fetch).collect()
        })
        .await
}

/// Adds a record to what an answer holds. Errors: `Invalid` when that is too much.
fn check_bytes(bytes: &mut usize, record: Option<&Vec<u8>>, bytes_max: usize) -> Result<()> {
    *bytes += record.map_or(0, Vec::len);
    match *bytes <= bytes_max {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "The answer is too big: its records may take {bytes_max} bytes together. Ask for fewer of them, or for fewer \
             attributes with attributesToRetrieve"
        ))),
    }
}

/// The rights in the node's words.
pub fn rights_of(rights: ReadRights) -> quorate_node::ReadRights {
    let ReadRights { sees_unretrievable, max_hits_per_query, bytes_max } = rights;
    quorate_node::ReadRights { sees_unretrievable, max_hits_per_query, bytes_max }
}

/// The names of all indices, in order.
pub fn names(context: &NodeContext) -> Vec<IndexName> {
    let mut names: Vec<IndexName> = context.meta().catalogue.named();
    names.sort();
    names
}

/// The named indices with their figures, without those that are not there any more. Those of a group come from a node that
/// has it.
pub async fn indices(context: &NodeContext, names: &[IndexName]) -> Result<Vec<IndexInfo>> {
    let meta = context.meta();
    let row = |name: &IndexName| {
        let row = meta.catalogue.get(name)?.clone();
        let shown = |row: &IndexRow| {
            virtual_primary(row).and_then(|primary| meta.catalogue.get(primary)).map(|it| it.incarnation)
        };
        let others = meta.other_parts(name).into_iter().filter_map(|part| {
            let row = meta.catalogue.get(&part)?.clone();
            let shown = shown(&row);
            Some((row, shown))
        });
        let shown = shown(&row);
        Some((name.clone(), row, shown, others.collect()))
    };
    type Row = (IndexName, IndexRow, Option<Incarnation>, Vec<(IndexRow, Option<Incarnation>)>);
    let rows: Vec<Row> = names.iter().filter_map(row).collect();
    let mut wanted = BTreeMap::<GroupId, Vec<Incarnation>>::new();
    for (_, row, shown, others) in &rows {
        wanted.entry(row.group).or_default().extend([row.incarnation].into_iter().chain(*shown));
        for (other, shown) in others {
            wanted.entry(other.group).or_default().extend([other.incarnation].into_iter().chain(*shown));
        }
    }
    let deadline = read_deadline();
    let asked = wanted.into_iter().map(async |(group, incarnations)| {
        let figures = match is_readable(context, group) {
            true => figures(context.node(), incarnations.clone()).await?,
            false => {
                let call = ServiceCall::Figures { group, incarnations: incarnations.clone() };
                remote::ask(context, group, call, deadline).await?
            }
        };
        Ok::<_, Error>(incarnations.into_iter().zip(figures))
    });
    let figures: BTreeMap<Incarnation, IndexStats> =
        try_join_all(asked).await?.into_iter().flatten().collect();
    let info = |(name, row, shown, others): Row| {
        let mut info = index_info(&figures, name, &row, shown);
        for (other, shown) in &others {
            let stats = figures.get(&other.incarnation).copied().unwrap_or_default();
            info.entries += records(&figures, &stats, *shown);
            info.data_size += stats.data_bytes;
            info.file_size += stats.file_bytes;
        }
        info
    };
    Ok(rows.into_iter().map(info).collect())
}

/// The figures of indices of this node, in order.
pub async fn figures(node: &Node, incarnations: Vec<Incarnation>) -> Result<Vec<IndexStats>> {
    let known = node.clone();
    let of = move |incarnation: &Incarnation| {
        known.stats(*incarnation).unwrap_or_else(|error| {
            // one damaged index must not hide the others
            tracing::warn!(incarnation, %error, "cannot read the figures of an index");
            IndexStats::default()
        })
    };
    node.pool().run(move |_| Ok(incarnations.iter().map(of).collect())).await
}

/// How many records an index with these figures shows; a virtual replica has those of `shown`, its primary.
fn records(figures: &BTreeMap<Incarnation, IndexStats>, own: &IndexStats, shown: Option<Incarnation>) -> u64 {
    shown.map_or(own.records, |shown| figures.get(&shown).map_or(0, |stats| stats.records))
}

/// A row of the list; a virtual replica counts the records of `shown`, its primary, and holds no bytes.
fn index_info(
    figures: &BTreeMap<Incarnation, IndexStats>,
    name: IndexName,
    row: &IndexRow,
    shown: Option<Incarnation>,
) -> IndexInfo {
    let stats = figures.get(&row.incarnation).copied().unwrap_or_default();
    IndexInfo {
        name,
        created_at: rfc3339(row.created_ms),
        updated_at: rfc3339(stats.updated_ms.max(row.created_ms)),
        entries: records(figures, &stats, shown),
        data_size: stats.data_bytes,
        file_size: stats.file_bytes,
        last_build_time_s: stats.build_ms.div_ceil(1_000),
        pending_tasks: stats.pending,
        primary: row.primary().map(|link| link.name.clone()),
        replicas: row.replicas().iter().map(Link::shown).collect(),
        is_virtual: virtual_primary(row).is_some(),
    }
}
