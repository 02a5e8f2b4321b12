//! Who takes the place of a node, and by which commands?

use super::change::{
    Force, check_copies, check_dispensable, check_gone, check_majority, check_present, is_reachable,
};
use super::claims;
use super::find;
use super::overview::{ClaimView, Overview};
use crate::clock::write_deadline;
use crate::command::MetaCommand;
use crate::command::{Joining, NodeState};
use crate::context::NodeContext;
use crate::context::claims::Claim;
use crate::disk::Purpose;
use crate::meta::{MetaState, NodeRow};
use quorate_model::{Error, GroupId, NodeId, Result};

/// How a place changes hands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Replacing {
    /// The node with an empty folder that waits for it gets it.
    Claimed(Claim),
    /// A node of the installation gets it, by these commands one after another. Whatever is left of them does not happen when who
    /// proposes them dies.
    Named(String, Vec<MetaCommand>),
}

/// Puts `new` in the place of `old`, which is taken out for good. Without a name the new one is the node with an empty folder
/// that waits for this very place, otherwise the node that joined last.
/// Returns the name of the new one.
///
/// Errors: as [`super::remove`]; `Invalid` when there is no node that could take the place.
pub async fn replace(
    context: &NodeContext,
    seen: &Overview,
    old: &str,
    new: Option<&str>,
    force: Force,
) -> Result<String> {
    match replacing(&context.meta(), seen, old, new, force)? {
        Replacing::Claimed(claim) => {
            let place = format!("the node with the empty folder at {}", claim.joining.peer);
            tracing::info!(
                name = claim.joining.name,
                "an operator gives the place of a node to one with an empty folder"
            );
            claims::take_place(context, claim).await?;
            Ok(place)
        }
        Replacing::Named(name, commands) => {
            for command in commands {
                context.proposer().propose_meta(command, Purpose::Remove, write_deadline()).await?;
            }
            tracing::info!(old, new = name, "an operator gave the place of a node to another one");
            Ok(name)
        }
    }
}

/// What has to happen so that `new` comes into the place of `old`.
pub(super) fn replacing(
    meta: &MetaState,
    seen: &Overview,
    old: &str,
    new: Option<&str>,
    force: Force,
) -> Result<Replacing> {
    let (old_id, old_row) = find(meta, old)?;
    check_present(old_row)?;
    if force == Force::Yes {
        check_majority(seen, &old_row.name)?;
    }
    if new.is_none()
        && let Some(claim) = claim_on(seen, old_row)?
    {
        if force == Force::No {
            check_gone(seen, &old_row.name)?;
            check_copies(seen, &old_row.name, "replaced")?;
        }
        return Ok(Replacing::Claimed(claim));
    }
    let (new_id, new_row) = match new {
        Some(name) => find(meta, name)?,
        None => successor(meta, seen, old_id, old_row)?,
    };
    check_successor(seen, (old_id, old_row), (new_id, new_row))?;
    if gains_nothing(meta, old_id, new_id) {
        return Err(Error::invalid(format!(
            "{new} has a replica of every group of {old} already: start a new node first (quorate cluster add), or take {old} out \
             for good (quorate cluster remove)",
            new = new_row.name,
            old = old_row.name
        )));
    }
    if force == Force::No {
        check_gone(seen, &old_row.name)?;
        check_dispensable(seen, &old_row.name)?;
    }
    let places = replaced(meta, old_id, new_id);
    let places = places.into_iter().map(|(group, nodes)| MetaCommand::Place { group, nodes });
    let removal = MetaCommand::SetNodeState { node: old_id, state: NodeState::Removed };
    Ok(Replacing::Named(new_row.name.clone(), places.chain([removal]).collect()))
}

/// The node with an empty folder that waits for the place of another one. Errors: `Invalid` when several do, or when that
/// one answers: then it has its folder.
fn claim_on(seen: &Overview, old: &NodeRow) -> Result<Option<Claim>> {
    let mut claims = seen.claims.iter().filter(|claim| claim.name == old.name);
    let Some(ClaimView { name, id, http_address, level }) = claims.next() else { return Ok(None) };
    if claims.next().is_some() {
        return Err(Error::invalid(format!("several nodes wait for the place of {name}: stop all but one")));
    }
    if is_reachable(seen, name) {
        return Err(Error::invalid(format!(
            "{name} answers: it has its data, and nobody can take its place"
        )));
    }
    let number = u64::from_str_radix(id, 16);
    let node = NodeId(number.map_err(|_| Error::internal("the number of a node is not hexadecimal"))?);
    let joining = Joining {
        name: name.clone(),
        cluster: old.cluster.clone(),
        peer: old.peer.clone(),
        http: http_address.clone(),
        level: *level,
    };
    Ok(Some(Claim { node, joining }))
}

/// The active node of the same cluster that joined last, if it can be reached.
fn successor<'m>(
    meta: &'m MetaState,
    seen: &Overview,
    old: NodeId,
    row: &NodeRow,
) -> Result<(NodeId, &'m NodeRow)> {
    let is_candidate = |(id, of): &(NodeId, &NodeRow)| {
        *id != old && of.is_active() && of.cluster == row.cluster && is_reachable(seen, &of.name)
    };
    let candidates = meta.present_nodes().into_iter().filter(is_candidate);
    let newer = candidates.filter(|(id, of)| of.since > row.since && !gains_nothing(meta, old, *id));
    newer.max_by_key(|(_, of)| of.since).ok_or_else(|| {
        Error::invalid(format!(
            "no node has joined the cluster {} after {}: start a new one first (quorate cluster add), \
             or name the node that takes its place",
            row.cluster, row.name
        ))
    })
}

fn check_successor(seen: &Overview, old: (NodeId, &NodeRow), new: (NodeId, &NodeRow)) -> Result<()> {
    let reason = if new.0 == old.0 {
        "a node cannot replace itself".to_owned()
    } else if new.1.cluster != old.1.cluster {
        format!("{} belongs to the cluster {}, not to {}", new.1.name, new.1.cluster, old.1.cluster)
    } else if !new.1.is_active() {
        format!("{} is not active", new.1.name)
    } else if !is_reachable(seen, &new.1.name) {
        format!("{} cannot be reached", new.1.name)
    } else {
        return Ok(());
    };
    Err(Error::invalid(reason))
}

/// Whether `new` is in every place of `old` already: there would be one replica fewer of each group.
fn gains_nothing(meta: &MetaState, old: NodeId, new: NodeId) -> bool {
    let mut held = meta.placement.values().filter(|nodes| nodes.contains(&old)).peekable();
    held.peek().is_some() && held.all(|nodes| nodes.contains(&new))
}

/// The groups of `old` that `new` does not have yet, each with `new` in its place.
fn replaced(meta: &MetaState, old: NodeId, new: NodeId) -> Vec<(GroupId, Vec<NodeId>)> {
    let groups = meta.placement.iter().filter(|(_, nodes)| nodes.contains(&old) && !nodes.contains(&new));
    let swap = |node: &NodeId| if *node == old { new } else { *node };
    groups.map(|(group, nodes)| (*group, nodes.iter().map(swap).collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::change::tests::{meta, seen};
    use super::super::name_of;
    use super::*;
    use crate::meta::At;

    #[test]
    fn the_node_that_joined_last_takes_the_place_of_a_dead_one() {
        let meta = meta(&[(1, "main"), (2, "main"), (3, "west"), (4, "main")]);
        let row = |node: u64| &meta.nodes[&NodeId(node)];
        let chosen = |reachable: &[&str], old: u64| {
            successor(&meta, &seen(reachable, vec![]), NodeId(old), row(old)).map(|(id, _)| id.0).ok()
        };
        assert_eq!(chosen(&["n1", "n3", "n4"], 2), Some(4));
        assert_eq!(chosen(&["n1", "n3"], 2), None, "the new one is not there");
        assert_eq!(chosen(&["n1", "n2"], 4), None, "nobody is newer");
        let refused = |old: u64, new: u64| {
            let seen = seen(&["n1", "n3", "n4"], vec![]);
            check_successor(&seen, (NodeId(old), row(old)), (NodeId(new), row(new))).err().map(|e| e.message)
        };
        assert_eq!(refused(2, 4), None);
        assert_eq!(refused(2, 2).as_deref(), Some("a node cannot replace itself"));
        assert_eq!(refused(2, 3).as_deref(), Some("n3 belongs to the cluster west, not to main"));
        assert_eq!(refused(1, 2).as_deref(), Some("n2 cannot be reached"));
        assert_eq!(name_of(&meta, NodeId(9)), "0000000000000009");
    }

    #[test]
    fn the_new_node_gets_every_place_of_the_old_one() {
        let mut meta = meta(&[(1, "main"), (2, "main"), (3, "main"), (4, "main")]);
        for (group, nodes) in [(1, [2, 1, 3]), (2, [1, 3, 4]), (3, [1, 4, 2])] {
            let nodes = nodes.map(NodeId).to_vec();
            meta.apply(At { log_index: 9, time_ms: 0 }, MetaCommand::Place { group: GroupId(group), nodes });
        }
        let ids = |nodes: [u64; 3]| nodes.map(NodeId).to_vec();
        assert_eq!(replaced(&meta, NodeId(2), NodeId(4)), [(GroupId(1), ids([4, 1, 3]))]);
        assert_eq!(
            replaced(&meta, NodeId(3), NodeId(4)),
            [(GroupId(1), ids([2, 1, 4]))],
            "group 2 has the new one already, and gets another by the plan"
        );
        let pairs = [(1, 4), (3, 4), (4, 1), (2, 1)];
        assert_eq!(
            pairs.map(|(old, new)| gains_nothing(&meta, NodeId(old), NodeId(new))),
            [false, false, true, true],
            "who has all of them is no new one"
        );
        let seen = seen(&["n1", "n2", "n4"], vec![]);
        let refused = replacing(&meta, &seen, "n4", Some("n1"), Force::Yes).unwrap_err().message;
        assert!(refused.starts_with("n1 has a replica of every group of n4 already"), "{refused}");
    }
}
