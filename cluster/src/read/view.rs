//! Which index does a name stand for, and what do reads of it see on this node?

use super::call::Location;
use crate::context::NodeContext;
use crate::context::abreast;
use crate::groups::leases::Visible;
use crate::meta::{IndexRow, Link};
use quorate_model::{Error, ErrorKind, GroupId, IndexName, Result};
use quorate_node::ops::ReplicaKind;
use quorate_node::{IndexView, Node};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The primary that a virtual replica shows the records of.
pub fn virtual_primary(row: &IndexRow) -> Option<&IndexName> {
    row.primary().filter(|link| link.kind == ReplicaKind::Virtual).map(|link| &link.name)
}

/// What reads of the index that `name` stands for see now. Errors: `NotFound`.
pub async fn view(context: &NodeContext, name: &IndexName) -> Result<Location<Arc<IndexView>>> {
    let row = known_row(context, name).await?;
    if !serves(context, row.group).await {
        return Ok(Location::Remote(row.group));
    }
    match view_of(context, &row).await {
        Err(error) if error.kind == ErrorKind::NotFound => {
            let again = self::row(context, name)?;
            if !serves(context, again.group).await {
                // this node gave its replica away between the two looks
                return Ok(Location::Remote(again.group));
            }
            // moved or copied over between the two looks
            let viewed = match again.incarnation == row.incarnation {
                // a part is made with its index, whether anything is written to it or not, and so is an index with parts
                true if name.partition().1.is_some() || context.meta().users.is_enabled => {
                    Ok(context.node().view_or_empty(row.incarnation, row.group)?)
                }
                true => Err(error),
                false => view_of(context, &again).await,
            };
            viewed.map(Location::Local).map_err(|error| named(error, name))
        }
        other => other.map(Location::Local),
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
        return abreast::keep_abreast(context).await;
    }
    Box::pin(abreast::learn(context)).await.map_err(|_| {
        Error::unavailable(format!(
            "this node does not know the index {name}, and cannot ask the others about it at present"
        ))
    })
}

/// Whether reads of a group may be served from this node's replica, if it has one. Cost: one lock that is hardly ever waited
/// for; without a lease the group's positions as well.
pub fn is_readable(context: &NodeContext, group: GroupId) -> bool {
    let shows = |what| match what {
        Visible::Everything => context.node().visible_through(group),
        Visible::Records => context.node().records_visible_through(group),
    };
    // one that lacks something, or has it otherwise, is replaced by what others have; they are asked until then
    !context.integrity().gives_way(group)
        && context.groups().with(group, |it| it.leases.may_read(shows)) == Some(true)
}

/// Whether this node serves a read of a group: it may, and its replica shows what other nodes have shown its clients meanwhile.
/// Cost beside [`is_readable`]: an atomic load; some milliseconds when others served the last reads.
pub async fn serves(context: &NodeContext, group: GroupId) -> bool {
    let until = Instant::now() + CATCH_UP;
    while is_readable(context, group) {
        match context.seen().awaited(group) {
            0 => return true,
            through if context.node().records_visible_through(group) >= through => {
                context.seen().is_visible(group, through)
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
    Box::pin(node.pool().run(move |_| Ok(opener.view(incarnation)?))).await
}
