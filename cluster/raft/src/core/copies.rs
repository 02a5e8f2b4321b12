//! Which members have the whole state of the group, and what follows for elections and snapshots.
//!
//! A member confirms a snapshot when it has the description: its log goes on from there, and the state comes later, for hours
//! perhaps. How far its log is says nothing about that. So every answer to a leader says it, in a field that only votes use
//! otherwise: [`StateCopy`].
//!
//! A member without the state may vote and confirm entries, for its log is as good as any. It leads only where nobody else can:
//! those with the state do not vote for it unless its log is the longer one.

use super::{Core, ELECTION_TICKS_END, LogReader};
use crate::group_log::Spared;
use crate::status::StateCopy;
use raft::ProgressState;
use raft::eraftpb::{Message, MessageType};
use std::collections::BTreeMap;

/// Ticks after which nobody waits for a member that has said nothing, and what it said before counts no longer.
const SILENT_TICKS: u64 = 2 * ELECTION_TICKS_END as u64;
/// How members weigh in elections. Programs of earlier releases weigh as much as those with the state.
const WHOLE: i64 = 0;
const FETCHING: i64 = -1;

/// What a leader was told by others in its term.
#[derive(Default)]
pub(super) struct Copies {
    said: BTreeMap<u64, StateCopy>,
    /// When the term of the present leader began.
    since: u64,
}

impl Copies {
    /// What a member said last; `Unknown` when it has not said anything.
    pub(super) fn said(&self, member: u64) -> StateCopy {
        self.said.get(&member).copied().unwrap_or_default()
    }
    /// Whether a member has said anything in this term.
    pub(super) fn has_said(&self, member: u64) -> bool {
        self.said.contains_key(&member)
    }
    /// The tick at which the term of the present leader began.
    pub(super) fn since(&self) -> u64 {
        self.since
    }
    /// Notes what an answer says; returns whether that is another thing than before, but for how far it is.
    pub(super) fn note(&mut self, message: &Message) -> bool {
        if !is_answer(message) {
            return false;
        }
        let now = StateCopy::from_number(message.priority);
        let before = self.said.insert(message.from, now);
        before.is_none_or(|before| std::mem::discriminant(&before) != std::mem::discriminant(&now))
    }
    /// Forgets what was said in another term.
    pub(super) fn forget(&mut self, now: u64) {
        self.said.clear();
        self.since = now;
    }
    /// Whether a member has said that it has the whole state on its disk. Programs that do not say it are believed to.
    fn claims_whole(&self, member: u64) -> bool {
        matches!(self.said.get(&member), Some(StateCopy::Whole { .. } | StateCopy::Unknown))
    }
}

fn is_answer(message: &Message) -> bool {
    matches!(message.msg_type, MessageType::MsgAppendResponse | MessageType::MsgHeartbeatResponse)
}

/// Adds to an answer what this member has of the state.
pub(super) fn say(copy: StateCopy, mut message: Message) -> Message {
    if is_answer(&message) {
        message.priority = copy.to_number();
    }
    message
}

impl<R: LogReader> Core<R> {
    /// What this member has of the state.
    pub(super) fn copy(&self) -> StateCopy {
        // whoever has not founded the group learns of its members with its first state
        let has_begun = !self.members().voters.is_empty();
        match has_begun && !self.lacks_state() && !self.is_installing() {
            true => StateCopy::Whole { applied: self.applied },
            false => StateCopy::Fetching,
        }
    }

    /// What counts of a member on its leader: what it said, unless it is to be sent a snapshot. Then it is about to give up what it
    /// has, whatever it said before.
    pub(super) fn copy_of(&self, id: u64, progress: &raft::Progress) -> StateCopy {
        let is_sent = progress.state == ProgressState::Snapshot;
        let is_beyond = progress.matched + 1 < self.node.store().first();
        match self.copies.said(id) {
            StateCopy::Whole { .. } if is_sent || is_beyond => StateCopy::Fetching,
            said => said,
        }
    }
    /// Whether the state is on its way: a first one, or one in the place of what is damaged here.
    fn lacks_state(&self) -> bool {
        self.restoring.is_some() || self.distrusts
    }
    /// Whether the state machine takes anew what it has.
    pub(crate) fn distrusts(&self) -> bool {
        self.distrusts
    }

    /// Whether this member has not got the state and others can lead. The only voter leads all the same: nobody else would
    /// ever take entries.
    pub(super) fn must_not_lead(&self) -> bool {
        self.lacks_state() && !self.node.raft.prs().is_singleton()
    }

    /// Gives this member its weight in elections, and says who must not be sent a snapshot now.
    pub(super) fn weigh(&mut self) {
        let weight = if self.lacks_state() { FETCHING } else { WHOLE };
        self.node.raft.set_priority(weight);
        let mut spared = self.node.mut_store().take_spared();
        self.fill(&mut spared);
        self.node.mut_store().spare(spared);
    }

    /// The voters that keep the state and the log they have, old as they are, because too few others have any: whoever takes
    /// a snapshot gives up its log at once, and has a whole state again only later.
    fn fill(&self, spared: &mut Spared) {
        spared.all.clear();
        spared.all_but_one.clear();
        if self.leadership.role != crate::effects::Role::Leader {
            return;
        }
        let progress = |id: &u64| self.node.raft.prs().get(*id);
        let is_sent = |id: &u64| progress(id).is_some_and(|it| it.state == ProgressState::Snapshot);
        // One that is gone may never come back with what it has: it does not count, and nobody waits for it. Each of the others
        // says within that time what it has.
        let is_there = |id: &u64| {
            let heard = self.heard.get(id).copied().unwrap_or(0).max(self.copies.since);
            heard + SILENT_TICKS > self.ticks
        };
        let is_whole = |id: &u64| match *id == self.self_id {
            true => !self.lacks_state(),
            false => self.copies.claims_whole(*id) && is_there(id) && !is_sent(id),
        };
        let is_awaited = |id: &u64| !is_whole(id) && is_there(id);
        let has_own = |id: &&u64| self.copies.said(**id).is_whole() && !is_sent(id);
        let conf = self.members();
        for voters in [&conf.voters, &conf.voters_outgoing] {
            let whole = voters.iter().filter(|id| is_whole(id)).count();
            let own = voters.iter().filter(has_own);
            // one more than a majority: an operator may just have taken one of them out, which is heard of no more
            match whole <= voters.len() / 2 + 2 && voters.iter().any(is_awaited) {
                true => spared.all.extend(own),
                false => spared.all_but_one.extend(own),
            }
        }
    }
}
