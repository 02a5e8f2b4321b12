//! What operators see of an installation and change in it: its nodes, its groups, who leads.
//!
//! Changes are commands of the meta group; what follows from them is the reconciler's work.

pub mod leaving;
pub mod placement;

mod change;
mod claims;
mod overview;
mod replace;
mod report;
#[cfg(test)]
mod simulation;

pub use crate::context::actors::ActorReport;
pub use change::{Force, drain, remove, transfer, undrain};
pub use claims::claim;
pub use overview::{ClaimView, GroupView, NodeView, Overview, ReplicaView};
pub use replace::replace;
pub use report::{CopyReport, MemberRole, NodeReport, ReplicaReport, own};

use crate::context::NodeContext;
use crate::context::each_node::{Answers, ask_each, ask_one, others};
use crate::disk::FullDisk;
use crate::meta::{MetaState, NodeRow};
use crate::rpc::requests::{PeerAnswer, PeerRequest};
use quorate_model::{Error, GroupId, NodeId, Result};
use std::time::Duration;

/// How long a node may take to say how it is.
const ANSWER: Duration = Duration::from_secs(2);

/// How the installation is, as every node that can be reached says. Takes as long as the slowest, at most some 2 s.
pub async fn overview(context: &NodeContext) -> Overview {
    let meta = context.meta();
    let reports = reports(context).await;
    let peers = context.peers().status();
    overview::assemble(&meta, context.self_id(), &reports, &peers)
}

/// Asks the other nodes whether their disks are too full for another write, and notes it for the writes of this one; likewise which
/// groups have a leader. Takes as long as the slowest, at most some 2 s.
pub async fn look_at_others(context: &NodeContext) {
    let meta = context.meta();
    let reports = ask_each(context, others(context, None), &PeerRequest::Status, ANSWER, report_in).await;
    let leads = |it: &&ReplicaReport| it.role == MemberRole::Leader;
    let led_elsewhere = reports.values().flatten().flat_map(|report| report.replicas.iter().filter(leads));
    let led_here = context.groups().all().into_iter().filter(|group| group.is_led_here());
    let led = led_elsewhere.map(|it| it.group).chain(led_here.map(|group| group.id)).collect();
    let all = meta.placement.keys().copied().chain([GroupId::META]);
    context.readiness().note_led(all, &led);
    let is_full = |(id, report): (NodeId, Result<NodeReport, String>)| {
        let report = report.ok().filter(|report| report.has_full_disk)?;
        Some((id, FullDisk { name: name_of(&meta, id), is_to_the_brim: report.is_full_to_the_brim }))
    };
    context.disk().note_full_elsewhere(reports.into_iter().filter_map(is_full).collect());
}

/// For how long some operation of an index has been under way on any node; `None` when not every node says so.
pub async fn oldest_operation(context: &NodeContext) -> Option<Duration> {
    let asked = ask_each(context, others(context, None), &PeerRequest::Status, ANSWER, report_in).await;
    let said = asked.into_values().map(|report| report.ok()?.oldest_operation_s.map(Duration::from_secs));
    said.chain([Some(context.operations().oldest())])
        .try_fold(Duration::ZERO, |oldest, it| Some(oldest.max(it?)))
}

/// What each node says of itself, or why it says nothing.
async fn reports(context: &NodeContext) -> Answers<NodeReport> {
    let asked = ask_each(context, others(context, None), &PeerRequest::Status, ANSWER, report_in);
    let (mut reports, own) = (asked.await, own(context).await);
    reports.insert(context.self_id(), Ok(own));
    reports
}

/// What one node says of itself, or why it says nothing.
pub async fn ask(context: &NodeContext, id: NodeId) -> Result<NodeReport, String> {
    ask_one(context, id, &PeerRequest::Status, ANSWER, report_in).await
}

/// The report in an answer to `Status`.
fn report_in(answer: PeerAnswer) -> Option<NodeReport> {
    match answer {
        PeerAnswer::Status(json) => serde_json::from_slice(&json).ok(),
        _ => None,
    }
}

/// The node with this name, or with this number in hexadecimal digits. Errors: `NotFound`, naming those there are.
pub fn find<'m>(meta: &'m MetaState, wanted: &str) -> Result<(NodeId, &'m NodeRow)> {
    let by_name = meta.present_nodes().into_iter().find(|(_, row)| row.name == wanted);
    let by_number = || {
        let id = NodeId(u64::from_str_radix(wanted, 16).ok().filter(|_| wanted.len() == 16)?);
        meta.nodes.get(&id).map(|row| (id, row))
    };
    by_name.or_else(by_number).ok_or_else(|| {
        let names: Vec<&str> = meta.present_nodes().into_iter().map(|(_, row)| row.name.as_str()).collect();
        Error::not_found(format!("there is no node {wanted}; the nodes are {}", names.join(", ")))
    })
}

/// The name of a node, or its number when it is not known.
pub fn name_of(meta: &MetaState, id: NodeId) -> String {
    meta.nodes.get(&id).map_or_else(|| id.to_string(), |row| row.name.clone())
}
