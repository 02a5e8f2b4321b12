//! How far have reads through this node shown a group, when other nodes served them?
//!
//! A node whose lease has run out sends reads elsewhere, and serves them itself again later. Replicas are some milliseconds apart,
//! so what a client of one node sees could go backwards at each change. Who is asked first shows what the asker's clients
//! may have seen, and so does this node before it serves again. Nothing is promised there for longer than [`FORGOTTEN_MS`]:
//! a log that lost its end in a recovery never gets that far again.

use crate::clock::steady_ms;
use crate::rpc::calls::ReadOf;
use arc_swap::ArcSwap;
use quorate_model::{GroupId, NodeId};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long what was seen counts.
const FORGOTTEN_MS: u64 = 10_000;

/// What other nodes served, by group.
#[derive(Debug, Default)]
pub struct Seen(ArcSwap<BTreeMap<GroupId, Arc<Mark>>>);

#[derive(Debug, Default)]
struct Mark {
    /// Who served the last read.
    served_by: AtomicU64,
    /// Through where reads may have shown the group; 0 = this node's replica shows it.
    through: AtomicU64,
    /// When that was, by [`steady_ms`].
    at_ms: AtomicU64,
}

impl Mark {
    fn through_at(&self, now: u64) -> u64 {
        match now.saturating_sub(self.at_ms.load(Ordering::Acquire)) < FORGOTTEN_MS {
            true => self.through.load(Ordering::Acquire),
            false => 0,
        }
    }
}

impl Seen {
    fn mark(&self, group: GroupId) -> Option<Arc<Mark>> {
        self.0.load().get(&group).cloned()
    }
    /// Who served the last read of a group that this node could not serve.
    pub fn served_by(&self, group: GroupId) -> Option<NodeId> {
        let node = self.mark(group).map_or(0, |mark| mark.served_by.load(Ordering::Acquire));
        Some(NodeId(node)).filter(|_| node != 0)
    }
    /// Notes that `node` has served a read of a group, whose log it had applied through `applied` by then.
    pub fn note(&self, group: GroupId, node: NodeId, applied: u64) {
        self.note_at(steady_ms(), group, node, applied);
    }
    fn note_at(&self, now: u64, group: GroupId, node: NodeId, applied: u64) {
        let mark = self.mark(group).unwrap_or_else(|| {
            self.0.rcu(|groups| {
                let mut groups = BTreeMap::clone(groups);
                groups.entry(group).or_default();
                groups
            });
            self.0.load()[&group].clone()
        });
        if mark.through_at(now) == 0 {
            mark.through.store(0, Ordering::Release);
        }
        mark.served_by.store(node.0, Ordering::Release);
        mark.through.fetch_max(applied, Ordering::AcqRel);
        mark.at_ms.store(now, Ordering::Release);
    }
    /// What `node` has to show for a read of a group, when this node's own replica has applied through `applied`, if it has one.
    pub fn asked_of(&self, node: NodeId, group: GroupId, applied: Option<u64>) -> ReadOf {
        self.asked_at(steady_ms(), node, group, applied)
    }
    fn asked_at(&self, now: u64, node: NodeId, group: GroupId, applied: Option<u64>) -> ReadOf {
        let seen = match (applied, self.served_by(group) == Some(node)) {
            // it goes on where it was
            (None, true) => 0,
            (applied, _) => self.mark(group).map_or(0, |mark| mark.through_at(now)).max(applied.unwrap_or(0)),
        };
        ReadOf { group, seen }
    }
    /// Through where this node's replica has to show a group before it serves a read of it; 0 = it does. Cost: two atomic loads.
    pub fn awaited(&self, group: GroupId) -> u64 {
        self.0.load().get(&group).map_or(0, |mark| match mark.through.load(Ordering::Acquire) {
            0 => 0,
            _ => mark.through_at(steady_ms()),
        })
    }
    /// This node's replica shows a group through `through`, which was awaited.
    pub fn is_visible(&self, group: GroupId, through: u64) {
        if let Some(mark) = self.mark(group) {
            // more may have been shown elsewhere meanwhile
            let _more = mark.through.compare_exchange(through, 0, Ordering::AcqRel, Ordering::Acquire);
        }
    }
    /// Nobody serves the group at present: this node's replica does, as soon as it may.
    pub fn forget(&self, group: GroupId) {
        if let Some(mark) = self.mark(group) {
            mark.through.store(0, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_node_has_shown_is_shown_before_a_third_or_this_one_serves() {
        let (seen, group, [a, b]) = (Seen::default(), GroupId(3), [NodeId(1), NodeId(2)]);
        let asked = |now, node, applied| seen.asked_at(now, node, group, applied).seen;
        assert_eq!((asked(0, a, None), asked(0, a, Some(7)), seen.awaited(group)), (0, 7, 0));
        let now = steady_ms();
        seen.note_at(now, group, a, 20);
        seen.note_at(now, group, a, 18);
        assert_eq!(seen.served_by(group), Some(a));
        assert_eq!(asked(now, a, None), 0, "it goes on where it was");
        assert_eq!(asked(now, b, None), 20);
        assert_eq!(
            (asked(now, a, Some(7)), asked(now, a, Some(25))),
            (20, 25),
            "this one may have served since"
        );
        assert_eq!((seen.awaited(group), seen.awaited(GroupId(4))), (20, 0));
        seen.note_at(now, group, b, 22);
        seen.is_visible(group, 20);
        assert_eq!(seen.awaited(group), 22, "more was shown meanwhile");
        seen.is_visible(group, 22);
        assert_eq!(seen.awaited(group), 0);
        assert_eq!(asked(now, a, None), 0, "this node's own replica counts from here on");
        seen.note_at(now, group, a, 30);
        seen.forget(group);
        assert_eq!(seen.awaited(group), 0, "the others serve no more");
    }

    #[test]
    fn what_was_seen_long_ago_does_not_count() {
        let (seen, group, [a, b]) = (Seen::default(), GroupId(3), [NodeId(1), NodeId(2)]);
        seen.note_at(0, group, a, 20);
        let later = FORGOTTEN_MS;
        assert_eq!(seen.asked_at(later - 1, b, group, None).seen, 20);
        assert_eq!(seen.asked_at(later, b, group, None).seen, 0);
        seen.note_at(later, group, b, 5);
        assert_eq!(seen.asked_at(later, a, group, None).seen, 5, "a log that lost its end begins anew");
    }
}
