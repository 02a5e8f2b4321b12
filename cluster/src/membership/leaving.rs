//! When may a node give up what it holds of a group that it has left?
//!
//! The files of who leaves may be the only ones there are. So nothing is removed on the word of a leader, which knows logs: each of
//! those that are to vote says of itself that it holds the whole state, and that it has applied the log past the removal.

use crate::membership::ReplicaReport;
use crate::meta::MetaState;
use quorate_model::{GroupId, NodeId};

/// Those that are to vote in a group.
pub fn heirs(meta: &MetaState, group: GroupId) -> Vec<NodeId> {
    let mut wanted = meta.wanted(group);
    wanted.truncate(meta.wanted_voters(group));
    wanted
}

/// The first heir that has not said that it holds everything without this node; `None` when all have, and this node may go.
///
/// `known` is the last entry that this node knows to be committed: its own joining lies before that, so members without it are
/// those after its removal.
pub fn lacking<'r>(
    self_id: NodeId,
    known: u64,
    heirs: &[NodeId],
    said: impl Fn(NodeId) -> Option<&'r ReplicaReport>,
) -> Option<NodeId> {
    let is_heir = |node: &&NodeId| {
        said(**node).is_some_and(|it| {
            let names_this = it.voters.contains(&self_id) || it.learners.contains(&self_id);
            let is_past = it.applied >= known.max(it.members_since) && !it.is_changing;
            it.is_full() && is_past && !names_this && it.voters.contains(node)
        })
    };
    heirs.iter().find(|node| !is_heir(node)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::{CopyReport, MemberRole};

    fn said(node: u64, applied: u64, copy: Option<CopyReport>) -> ReplicaReport {
        ReplicaReport {
            group: GroupId(3),
            role: MemberRole::Follower,
            term: 4,
            leader: None,
            first: 1,
            last: 90,
            committed: 90,
            applied,
            shown: applied,
            has_lease: true,
            voters: vec![NodeId(node)],
            learners: vec![],
            is_changing: false,
            halted: None,
            copy,
            members_since: 80,
            behind: vec![],
        }
    }

    #[test]
    fn who_leaves_goes_when_all_that_vote_say_that_they_hold_everything() {
        use CopyReport::{Fetching, Whole};
        let full = said(2, 85, Some(Whole));
        let may_go = |report: Option<&ReplicaReport>, known: u64| {
            lacking(NodeId(1), known, &[NodeId(2)], |_| report).is_none()
        };
        assert!(may_go(Some(&full), 85));
        assert!(!may_go(None, 0), "it did not answer, or has no replica");
        assert!(!may_go(Some(&full), 86), "this node knows more");
        assert!(!may_go(Some(&said(2, 79, Some(Whole))), 10), "not past the removal");
        assert!(!may_go(Some(&said(2, 90, Some(Fetching))), 10));
        assert!(!may_go(Some(&said(3, 90, Some(Whole))), 10), "it does not vote yet");
        // an older program
        assert!(may_go(Some(&said(2, 90, None)), 85) && !may_go(Some(&said(2, 89, None)), 85));
        let still = ReplicaReport { learners: vec![NodeId(1)], ..full.clone() };
        assert!(!may_go(Some(&still), 10), "this node is a member");
        let changing = ReplicaReport { is_changing: true, ..full.clone() };
        assert!(!may_go(Some(&changing), 10));
        let one_of_two = |node: NodeId| (node == NodeId(2)).then_some(&full);
        assert_eq!(lacking(NodeId(1), 10, &[NodeId(2), NodeId(3)], one_of_two), Some(NodeId(3)));
        assert_eq!(
            lacking(NodeId(1), 10, &[], one_of_two),
            None,
            "reconciler.rs never asks for a group wanted nowhere"
        );
    }
}
