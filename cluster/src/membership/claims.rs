//! When may a node with an empty folder take the place of one that has its name and its address?
//!
//! It may be that one's machine with a new disk. It may as well be the same machine whose volume is not mounted: then the data is
//! there, and whoever takes the place makes it useless, for a number that was removed never comes back. So such a node waits. An
//! operator gives it the place (`quorate cluster replace`), or it gets it after a stated time, when nothing can be lost by it.

use super::overview::Overview;
use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::context::NodeContext;
use crate::context::claims::Claim;
use crate::context::silence::silent_s;
use crate::disk::Purpose;
use crate::meta::NodeRow;
use quorate_model::{Error, Result};

/// Looks into a claim on the place of `of`. When this returns, the claimant has the place.
///
/// Errors: `Unavailable`, with what the operator can do, as long as the claimant has to wait.
pub async fn claim(context: &NodeContext, claim: Claim, of: &NodeRow) -> Result<()> {
    let name = of.name.clone();
    context.claims().note(claim.clone());
    let silence_s = context.claims().take_over_s();
    let by_itself = match silence_s {
        0 => "It does not take it by itself, since take-over-s is 0".to_owned(),
        _ => format!(
            "It takes it by itself when nobody has heard of the old one for {silence_s} s and every group has full copies \
             elsewhere"
        ),
    };
    let waits = |why: &str| {
        Error::unavailable(format!(
            "the data folder of this node is empty, but {name} at {} is a node of the installation and must have data ({why}). \
             If its disk is not mounted: stop this node, mount the disk, start again. If its data is lost for good: let this \
             node take its place with `quorate cluster replace {name}`. {by_itself}",
            of.peer
        ))
    };
    let meta = context.meta();
    let Some((old, _)) = meta.namesake(claim.node, &name) else { return Ok(()) };
    let own = silent_s(context).get(&old).copied().unwrap_or(0);
    if silence_s == 0 {
        return Err(waits("it has joined, and has not left"));
    }
    if own < silence_s {
        return Err(waits(&format!("it was heard of {own} s ago, or this node has just started")));
    }
    let Some(_one_at_a_time) = context.claims().look() else {
        return Err(waits("another claim is being looked into"));
    };
    let seen = super::overview(context).await;
    match stands_against(&seen, &name, silence_s) {
        Some(reason) => Err(waits(&reason)),
        None => {
            tracing::warn!(
                name,
                silent_s = own,
                "a node with an empty folder takes the place of a silent one"
            );
            take_place(context, claim).await
        }
    }
}

/// Lets a claimant take the place it claims.
pub async fn take_place(context: &NodeContext, claim: Claim) -> Result<()> {
    let Claim { node, joining } = claim;
    let command = MetaCommand::TakePlace { node, joining };
    context.proposer().propose_meta(command, Purpose::Remove, write_deadline()).await?;
    Ok(())
}

/// Why nobody may take the place of a node yet, without a word of the operator.
pub(super) fn stands_against(seen: &Overview, name: &str, silence_s: u64) -> Option<String> {
    let Some(node) = seen.nodes.iter().find(|node| node.name == name) else {
        return Some("it has just joined".into());
    };
    if node.is_reachable {
        return Some("it answers".into());
    }
    if node.silent_s < silence_s {
        return Some(format!("others heard of it {} s ago", node.silent_s));
    }
    let lacks = |group: &&super::GroupView| {
        let mut others = group.voters.iter().filter(|voter| *voter != name);
        let is_led = group.leader.as_ref().is_some_and(|leader| leader != name);
        let (have, need) = group.copies_without(name);
        !is_led || have < need || others.any(|voter| !group.has_full_copy(voter))
    };
    let lacking: Vec<String> = seen.groups.iter().filter(lacks).map(|group| group.id.to_string()).collect();
    match lacking.is_empty() {
        true => None,
        false => {
            Some(format!("groups without full copies on all their other voters: {}", lacking.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GroupView, NodeView, ReplicaView};
    use super::*;

    fn replica(node: &str, is_full: bool) -> ReplicaView {
        let copy = if is_full { "full" } else { "fetching" };
        ReplicaView { node: node.into(), copy: copy.into(), ..ReplicaView::default() }
    }
    fn seen(silent_s: u64, voters: &[&str], full: &[&str]) -> Overview {
        let node = |name: &&str| NodeView {
            name: name.to_string(),
            is_reachable: *name != "c",
            silent_s: if *name == "c" { silent_s } else { 0 },
            ..NodeView::default()
        };
        let reached = voters.iter().filter(|name| **name != "c");
        let group = GroupView {
            id: 3,
            voters: voters.iter().map(|name| name.to_string()).collect(),
            leader: Some("a".into()),
            replicas: reached.map(|name| replica(name, full.contains(name))).collect(),
            ..GroupView::default()
        };
        Overview {
            nodes: ["a", "b", "c"].iter().map(node).collect(),
            groups: vec![group],
            ..Overview::default()
        }
    }

    #[test]
    fn a_place_is_free_when_its_node_is_silent_and_all_others_hold_everything() {
        let all = ["a", "b", "c"];
        assert_eq!(stands_against(&seen(600, &all, &["a", "b"]), "c", 600), None);
        for (seen, part) in [
            (seen(599, &all, &["a", "b"]), "599 s ago"),
            (seen(900, &all, &["a"]), "their other voters: 3"),
            (seen(900, &["c"], &[]), "their other voters: 3"),
            // without the other vote the group could not go on
            (seen(900, &["a", "c"], &["a"]), "their other voters: 3"),
        ] {
            let reason = stands_against(&seen, "c", 600).expect("it waits");
            assert!(reason.contains(part), "{reason}");
        }
        let mut unled = seen(900, &all, &["a", "b"]);
        unled.groups[0].leader = None;
        assert!(stands_against(&unled, "c", 600).is_some());
        let mut answers = seen(900, &all, &["a", "b"]);
        answers.nodes[2].is_reachable = true;
        assert_eq!(stands_against(&answers, "c", 600).as_deref(), Some("it answers"));
        assert_eq!(stands_against(&answers, "d", 600).as_deref(), Some("it has just joined"));
    }
}
