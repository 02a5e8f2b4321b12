//! What has to happen next to the members of a group, so that they become those that are wanted? Plain: the leader's view in, a step out.

use quorate_model::NodeId;
use quorate_raft::{MemberChange, Membership, StateCopy};

/// Entries that a member may lack and still count as caught up.
const CAUGHT_UP: u64 = 1_000;

/// Full copies that are left when a member goes that has one, where there are so many nodes for them.
const COPIES: usize = 2;

/// What has to happen next to the members of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Change the members like this, together.
    Change(Vec<MemberChange>),
    /// Hand the leadership over.
    Transfer(NodeId),
    /// Wait for these to catch up.
    Wait(Vec<NodeId>),
    /// Nothing.
    Rest,
}

/// A group as its leader sees it.
#[derive(Clone, Copy, Debug)]
pub struct Led<'a> {
    /// The leader.
    pub self_id: NodeId,
    /// What it has of the state.
    pub copy: StateCopy,
    /// Where its log ends.
    pub last_index: u64,
    /// The members, with what they say of themselves.
    pub members: &'a Membership,
}

impl Led<'_> {
    /// Whether a member has the whole state durably and has applied nearly everything, as it said itself. The end of its log
    /// says nothing about that: it begins behind a snapshot whose files may be on their way for long.
    fn is_full(&self, node: NodeId) -> bool {
        let is_near = |copy: StateCopy| match copy {
            StateCopy::Whole { applied } => applied + CAUGHT_UP >= self.last_index,
            StateCopy::Fetching | StateCopy::Unknown => false,
        };
        match node == self.self_id {
            true => is_near(self.copy),
            false => self.members.progress(node.0).is_some_and(|it| is_near(it.copy)),
        }
    }
    /// Whether a member may vote or lead now.
    fn is_ready(&self, node: NodeId) -> bool {
        let progress = self.members.progress(node.0);
        let is_near = progress.is_some_and(|it| it.is_live && it.matched + CAUGHT_UP >= self.last_index);
        (node == self.self_id || is_near) && self.is_full(node)
    }
}

/// The next step for a group that this node leads.
pub fn next_step(led: Led<'_>, wanted: &[NodeId], voters: usize) -> Step {
    let Led { self_id, members, .. } = led;
    if members.is_joint || wanted.is_empty() {
        return Step::Rest;
    }
    if let Some(new) = wanted.iter().find(|node| !members.contains(node.0)) {
        return Step::Change(vec![MemberChange::AddLearner(new.0)]);
    }
    let is_ready = |node: NodeId| led.is_ready(node);
    let (should_vote, _) = wanted.split_at(voters.clamp(1, wanted.len()));
    let new: Vec<NodeId> =
        should_vote.iter().filter(|node| !members.voters.contains(&node.0)).copied().collect();
    let late: Vec<NodeId> = new.iter().filter(|node| !is_ready(**node)).copied().collect();
    if !late.is_empty() {
        return Step::Wait(late);
    }
    let mut changes: Vec<MemberChange> = new.iter().map(|node| MemberChange::AddVoter(node.0)).collect();
    let leaves_itself = !should_vote.contains(&self_id);
    if leaves_itself && new.is_empty() {
        // the last one out is removed by its successor
        return match should_vote.iter().find(|node| is_ready(**node)) {
            Some(next) => Step::Transfer(*next),
            None => Step::Wait(should_vote.to_vec()),
        };
    }
    if !leaves_itself {
        for voter in members.voters.iter().map(|&voter| NodeId(voter)).filter(|it| !should_vote.contains(it))
        {
            changes.push(match wanted.contains(&voter) {
                true => MemberChange::AddLearner(voter.0),
                false => MemberChange::Remove(voter.0),
            });
        }
        let gone = members.learners.iter().filter(|learner| !wanted.contains(&NodeId(**learner)));
        changes.extend(gone.map(|&learner| MemberChange::Remove(learner)));
        // nobody goes, or gives its vote up, before a majority of those that are to vote hold everything, and all that live
        let full = should_vote.iter().filter(|node| led.is_full(**node)).count();
        let lives = |node: &NodeId| *node == self_id || members.progress(node.0).is_some_and(|it| it.is_live);
        let is_awaited = should_vote.iter().any(|node| lives(node) && !led.is_full(*node));
        let takes_away = changes.iter().any(|change| match change {
            MemberChange::AddVoter(_) => false,
            MemberChange::AddLearner(_) | MemberChange::Remove(_) => true,
        });
        if takes_away && (is_awaited || full <= should_vote.len() / 2) {
            return Step::Wait(should_vote.iter().filter(|node| !led.is_full(**node)).copied().collect());
        }
        // nor does who lives and holds everything, as long as only one of those that stay is known to do so, too
        let takes_copy = changes.iter().any(|change| match *change {
            MemberChange::Remove(member) => led.is_full(NodeId(member)) && lives(&NodeId(member)),
            MemberChange::AddVoter(_) | MemberChange::AddLearner(_) => false,
        });
        let lacking: Vec<NodeId> =
            wanted.iter().filter(|node| !lives(node) || !led.is_full(**node)).copied().collect();
        if takes_copy && wanted.len() - lacking.len() < wanted.len().min(COPIES) {
            return Step::Wait(lacking);
        }
    }
    match changes.is_empty() {
        false => Step::Change(changes),
        true if should_vote[0] != self_id && is_ready(should_vote[0]) => Step::Transfer(should_vote[0]),
        true => Step::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_raft::Progress;

    fn members(voters: &[u64], learners: &[u64], behind: &[u64]) -> Membership {
        let others = voters.iter().chain(learners).filter(|&&member| member != 1);
        let progress = |&member: &u64| Progress {
            member,
            matched: if behind.contains(&member) { 0 } else { 5_000 },
            has_committed: !behind.contains(&member),
            is_live: true,
            copy: match behind.contains(&member) {
                true => StateCopy::Fetching,
                false => StateCopy::Whole { applied: 4_990 },
            },
        };
        Membership {
            voters: voters.to_vec(),
            learners: learners.to_vec(),
            leaving: vec![],
            is_joint: false,
            since: 0,
            followers: others.map(progress).collect(),
        }
    }
    fn led(members: &Membership) -> Led<'_> {
        Led { self_id: NodeId(1), copy: StateCopy::Whole { applied: 5_000 }, last_index: 5_000, members }
    }
    fn step(wanted: &[u64], voters: usize, members: &Membership) -> Step {
        let wanted: Vec<NodeId> = wanted.iter().copied().map(NodeId).collect();
        next_step(led(members), &wanted, voters)
    }

    #[test]
    fn members_follow_what_is_wanted_step_by_step() {
        use MemberChange::{AddLearner, AddVoter, Remove};
        let change = |changes: &[MemberChange]| Step::Change(changes.to_vec());
        let cases: [(&[u64], usize, Membership, Step); 14] = [
            (&[1], 1, members(&[1], &[], &[]), Step::Rest),
            (&[], 0, members(&[1], &[], &[]), Step::Rest),
            (&[1, 2], 1, members(&[1], &[], &[]), change(&[AddLearner(2)])),
            (&[1, 2], 1, members(&[1], &[2], &[]), Step::Rest),
            (&[1, 2, 3], 3, members(&[1], &[2], &[]), change(&[AddLearner(3)])),
            (&[1, 2, 3], 3, members(&[1], &[2, 3], &[3]), Step::Wait(vec![NodeId(3)])),
            (&[1, 2, 3], 3, members(&[1], &[2, 3], &[]), change(&[AddVoter(2), AddVoter(3)])),
            (&[1, 2, 3], 3, members(&[1, 2, 3], &[], &[2]), Step::Rest),
            (&[2, 1, 3], 3, members(&[1, 2, 3], &[], &[]), Step::Transfer(NodeId(2))),
            (&[2, 1, 3], 3, members(&[1, 2, 3], &[], &[2]), Step::Rest),
            // one of three is replaced
            (&[1, 2, 4], 3, members(&[1, 2, 3], &[4], &[]), change(&[AddVoter(4), Remove(3)])),
            // the leader itself is replaced: its successor comes first, then leads, then removes it
            (&[4, 2, 3], 3, members(&[1, 2, 3], &[4], &[]), change(&[AddVoter(4)])),
            (&[4, 2, 3], 3, members(&[1, 2, 3, 4], &[], &[]), Step::Transfer(NodeId(4))),
            // with two nodes one votes
            (&[2, 1], 1, members(&[1], &[2], &[]), change(&[AddVoter(2)])),
        ];
        for (wanted, voters, members, expected) in cases {
            assert_eq!(step(wanted, voters, &members), expected, "{wanted:?} {members:?}");
        }
        // the log of those that fetch is as long as any
        let mut described = members(&[1], &[2, 3], &[]);
        described.followers.iter_mut().for_each(|it| it.copy = StateCopy::Fetching);
        assert_eq!(step(&[1, 2, 3], 3, &described), Step::Wait(vec![NodeId(2), NodeId(3)]));
        assert_eq!(
            step(&[2], 1, &Membership { voters: vec![1], learners: vec![2], ..described.clone() }),
            Step::Wait(vec![NodeId(2)])
        );
        let voters = Membership { voters: vec![1, 2, 3], learners: vec![], ..described };
        assert_eq!(step(&[2, 3], 1, &voters), Step::Wait(vec![NodeId(2)]), "nobody to lead next");
        // who is not wanted stays while too few of the others hold everything
        assert_eq!(
            step(&[1, 2, 4], 3, &members(&[1, 2, 3, 4], &[], &[2, 4])),
            Step::Wait(vec![NodeId(2), NodeId(4)])
        );
        let mut one_late = members(&[1, 2, 3, 4], &[], &[2]);
        assert_eq!(step(&[1, 2, 4], 3, &one_late), Step::Wait(vec![NodeId(2)]));
        one_late.followers[0].is_live = false;
        assert_eq!(step(&[1, 2, 4], 3, &one_late), change(&[Remove(3)]), "nobody waits for the dead");
        // of three one leaves, and the other that is to stay has gone silent: what leaves is the second copy
        let mut two_left = members(&[1, 2, 3], &[], &[]);
        assert_eq!(step(&[1, 2], 1, &two_left), change(&[AddLearner(2), Remove(3)]));
        two_left.followers[0].is_live = false;
        assert_eq!(step(&[1, 2], 1, &two_left), Step::Wait(vec![NodeId(2)]));
        two_left.followers[1].is_live = false;
        assert_eq!(step(&[1, 2], 1, &two_left), change(&[AddLearner(2), Remove(3)]), "it has gone, too");
        let poor = members(&[1], &[2, 3], &[]);
        let fetching = Led { copy: StateCopy::Fetching, ..led(&poor) };
        assert_eq!(
            next_step(fetching, &[NodeId(1), NodeId(2)], 1),
            Step::Wait(vec![NodeId(1)]),
            "3 may be the only one"
        );
        let joint = Membership { is_joint: true, ..members(&[1], &[], &[]) };
        assert_eq!(step(&[1, 2], 1, &joint), Step::Rest, "one change at a time");
    }
}
