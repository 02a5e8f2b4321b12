//! What do several nodes answer to the same question?

use crate::context::NodeContext;
use crate::meta::NodeRow;
use crate::rpc::peer_client::Unasked;
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use futures_util::future::join_all;
use quorate_model::{Error, NodeId};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What each node answered, or why it did not.
pub type Answers<T> = BTreeMap<NodeId, Result<T, String>>;

/// The other nodes of the installation, or of one of its clusters, that have not left. They may be out of reach.
pub fn others(context: &NodeContext, cluster: Option<&str>) -> Vec<NodeId> {
    let is_meant = |id: NodeId, row: &NodeRow| {
        id != context.self_id() && cluster.is_none_or(|cluster| cluster == row.cluster)
    };
    let meta = context.meta();
    let nodes = meta.present_nodes().into_iter().filter(|(id, row)| is_meant(*id, row));
    nodes.map(|(id, _)| id).collect()
}

/// Asks nodes at once; takes as long as the slowest of them, at most `within`.
///
/// `read` makes what is wanted of an answer; `None` for one that this node does not know.
pub async fn ask_each<T>(
    context: &NodeContext,
    nodes: impl IntoIterator<Item = NodeId>,
    request: &PeerRequest,
    within: Duration,
    read: impl Fn(PeerAnswer) -> Option<T>,
) -> Answers<T> {
    let asked = nodes.into_iter().map(async |id| (id, ask_one(context, id, request, within, &read).await));
    join_all(asked).await.into_iter().collect()
}

/// Asks one node.
pub async fn ask_one<T>(
    context: &NodeContext,
    id: NodeId,
    request: &PeerRequest,
    within: Duration,
    read: impl Fn(PeerAnswer) -> Option<T>,
) -> Result<T, String> {
    match context.peers().ask(id, request, Instant::now() + within).await {
        Ok(PeerAnswer::Failed { message, .. }) => Err(message),
        Ok(answer) => read(answer).ok_or_else(|| "it answers in a way this node does not know".to_owned()),
        Err(Unasked::Never) => Err("it cannot be reached".to_owned()),
        Err(Unasked::Perhaps(Error { message, .. })) => Err(message),
    }
}
