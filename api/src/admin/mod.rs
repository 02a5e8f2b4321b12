//! What do operators ask and change (`/admin/…`, admin key)?

pub mod events;
pub mod models;

use crate::call::Call;
use crate::reply::Reply;
use quorate_cluster::membership::Force;
use quorate_model::{Error, GroupId, Result};
use quorate_wire::json::Object;
use serde::Deserialize;

/// `GET /admin/cluster`: nodes, groups and replicas, as every node that can be reached says.
pub async fn overview(call: &Call<'_>) -> Result<Reply> {
    let overview = call.service().overview().await?;
    let body = serde_json::to_vec(&overview).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Reply::ok(body))
}

/// `GET /admin/cluster/digest`: hashes of what the node that is asked holds, index by index.
pub async fn digest(call: &Call<'_>) -> Result<Reply> {
    let digest = call.service().digest().await?;
    let body = serde_json::to_vec(&digest).map_err(|error| Error::internal(error.to_string()))?;
    Ok(Reply::ok(body))
}

/// `POST /admin/nodes/{node}/drain`: its replicas move to other nodes.
pub async fn drain(call: &Call<'_>) -> Result<Reply> {
    let node = &call.names[0];
    call.service().drain_node(node).await?;
    Ok(told(&format!(
        "{node} is draining: its replicas move to other nodes; GET /admin/cluster shows how far it is. Where two nodes are left, each group \
         has one voter, without which it stops"
    )))
}

/// `POST /admin/nodes/{node}/undrain`: it may hold replicas again.
pub async fn undrain(call: &Call<'_>) -> Result<Reply> {
    let node = &call.names[0];
    call.service().undrain_node(node).await?;
    Ok(told(&format!("{node} takes its share of the replicas again")))
}

/// `DELETE /admin/nodes/{node}`: it leaves for good. With `?force=true` also when it is alive and not drained.
pub async fn remove(call: &Call<'_>) -> Result<Reply> {
    let node = &call.names[0];
    call.service().remove_node(node, force(call)?).await?;
    Ok(told(&format!(
        "{node} is removed for good: stop it if it runs; with an empty data folder the machine may join again"
    )))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewAdminKey {
    #[serde(rename = "adminKey")]
    admin_key: Option<String>,
}

/// `POST /admin/admin-key`: the installation goes by another admin key, and by the one before for a while.
pub async fn replace_admin_key(call: &Call<'_>) -> Result<Reply> {
    let body: NewAdminKey = call.typed().await?;
    let key = body.admin_key.ok_or_else(|| Error::invalid("adminKey is required: the new admin key"))?;
    call.service().replace_admin_key(&key).await?;
    Ok(told("the admin key is replaced; the one before counts for a while more (admin-key-overlap-s)"))
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Replacement {
    with: Option<String>,
}

/// `POST /admin/nodes/{node}/replace`, optionally `{"with": NODE}`: another node takes its place.
pub async fn replace(call: &Call<'_>) -> Result<Reply> {
    let node = &call.names[0];
    let Replacement { with } =
        if call.body.is_empty() { Replacement::default() } else { call.typed().await? };
    let new = call.service().replace_node(node, with.as_deref(), force(call)?).await?;
    Ok(told(&format!("{new} takes the place of {node}, which is removed for good")))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewLeader {
    node: Option<String>,
}

/// `POST /admin/groups/{group}/leader`, `{"node": NODE}`: it hands the group to this node.
pub async fn transfer(call: &Call<'_>) -> Result<Reply> {
    let group = call.names[0].parse().map_err(|_| Error::parameter("group", "number of a group"))?;
    let NewLeader { node } = call.typed().await?;
    let node =
        node.ok_or_else(|| Error::invalid("Parameter node is missing: the name of the next leader"))?;
    call.service().transfer_leader(GroupId(group), &node).await?;
    Ok(told(&format!("group {group} is handed to {node}")))
}

/// `POST /admin/recover`: which groups have lost their majority, and what to do about it. It changes nothing.
pub async fn recovery(call: &Call<'_>) -> Result<Reply> {
    Ok(told(&call.service().overview().await?.recovery_plan()))
}

fn force(call: &Call<'_>) -> Result<Force> {
    Ok(if call.query.flag("force", false)? { Force::Yes } else { Force::No })
}

pub(super) fn told(message: &str) -> Reply {
    let mut body = Vec::with_capacity(128);
    let mut object = Object::open(&mut body);
    object.string("message", message);
    object.close();
    Reply::ok(body)
}
