//! When followers hear how far the log is committed, once nothing else is sent to them.
//!
//! The library would tell them in messages of their own as soon as a majority has an entry, which doubles the messages of
//! every write. Whoever writes one entry after the other has the next one under way a moment later, and it carries the same
//! news. So followers are told only when [`TELL_AFTER_MS`] have passed without an append.
//!
//! Cost: one timer for each group in that time, and a comparison for each member when it fires.

use super::{Core, LogReader};
use crate::effects::Effect;
use raft::StateRole;
use raft::eraftpb::{Message, MessageType};
use std::collections::BTreeMap;

/// Milliseconds between a commit and the message that says so.
pub const TELL_AFTER_MS: u64 = 5;

/// What a leader has told others.
#[derive(Default)]
pub(super) struct Told {
    /// The commit index that each member was sent last.
    members: BTreeMap<u64, u64>,
    /// The commit index of the last look at them.
    seen: u64,
    /// A look is asked for and has not come yet.
    is_asked: bool,
}

impl Told {
    /// Notes what a message says.
    pub(super) fn note(&mut self, message: &Message) {
        if message.msg_type == MessageType::MsgAppend {
            let told = self.members.entry(message.to).or_default();
            *told = message.commit.max(*told);
        }
    }
    /// Forgets what was said in another term.
    pub(super) fn forget(&mut self) {
        self.members.clear();
        self.seen = 0;
    }
}

impl<R: LogReader> Core<R> {
    /// Asks for a look at the members when something new is committed.
    pub(super) fn tell_later(&mut self) {
        let raft = &self.node.raft;
        let is_new = raft.state == StateRole::Leader && raft.raft_log.committed > self.told.seen;
        if is_new && !self.told.is_asked && raft.prs().iter().len() > 1 {
            self.told.is_asked = true;
            self.effects.push(Effect::TellLater);
        }
    }

    /// Tells those who have not heard of the last commit. Lost messages do no harm: heartbeats say it too.
    pub(super) fn tell_commit(&mut self) {
        self.told.is_asked = false;
        let raft = &mut self.node.raft;
        if raft.state != StateRole::Leader {
            return;
        }
        let committed = raft.raft_log.committed;
        self.told.seen = committed;
        let told = |id: &u64| self.told.members.get(id).copied().unwrap_or(0);
        let others = raft.prs().iter().filter(|(id, _)| **id != self.self_id);
        let untold = others.filter(|(id, progress)| told(id) < committed.min(progress.matched));
        let untold: Vec<u64> = untold.map(|(id, _)| *id).collect();
        untold.into_iter().for_each(|id| raft.send_append(id));
    }
}
