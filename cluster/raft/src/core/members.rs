//! How the members of a group change: one change at a time, seen through to the end.

use super::waiting::{InFlight, PendingChange};
use super::{Core, JOINT_TICKS_MAX, LogReader};
use crate::effects::{Effect, MemberChange, MembersError, RequestId};
use crate::messages::CONF_CHANGE_BYTES_MAX;
use bytes::Bytes;
use protobuf::Message as _;
use raft::StateRole;
use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2, Entry, EntryType};

impl<R: LogReader> Core<R> {
    pub(super) fn change_members(
        &mut self,
        id: RequestId,
        changes: &[MemberChange],
        context: Bytes,
        within_ticks: u64,
    ) {
        let result = self.propose_change(changes, context);
        match result {
            Ok(log_index) => {
                let deadline = self.deadline(within_ticks);
                self.change = Some(PendingChange { id, log_index, term: self.node.raft.term, deadline });
            }
            Err(error) => self.effects.push(Effect::MembersChanged(id, Err(error))),
        }
    }

    /// Appends a change. The library would turn it into an empty entry, silently, while another one is pending:
    /// that is refused here before and checked after.
    fn propose_change(&mut self, changes: &[MemberChange], context: Bytes) -> Result<u64, MembersError> {
        if self.node.raft.state != StateRole::Leader {
            return Err(MembersError::NotLeader { leader: self.leader() });
        }
        if self.change.is_some() || self.is_joint() || self.node.raft.has_pending_conf() {
            return Err(MembersError::Busy);
        }
        if changes.is_empty() {
            return Err(MembersError::Refused("no change is named".into()));
        }
        let mut change = ConfChangeV2::default();
        change.changes = changes.iter().map(single_change).collect::<Vec<_>>().into();
        change.context = context;
        let bytes = change.compute_size() as usize;
        if bytes > CONF_CHANGE_BYTES_MAX {
            return Err(MembersError::Refused(format!("{bytes} bytes, limit {CONF_CHANGE_BYTES_MAX}")));
        }
        self.append_change(change)
    }

    fn append_change(&mut self, change: ConfChangeV2) -> Result<u64, MembersError> {
        let proposed = self.node.propose_conf_change(vec![], change);
        proposed.map_err(|e| MembersError::Refused(e.to_string()))?;
        let last = self.node.raft.raft_log.unstable_entries().last();
        match last {
            Some(entry) if entry.entry_type == EntryType::EntryConfChangeV2 => Ok(entry.index),
            _ => Err(MembersError::Busy),
        }
    }

    pub(super) fn is_joint(&self) -> bool {
        !self.members().voters_outgoing.is_empty()
    }

    /// Applies a committed change of members and makes its outcome durable before it is delivered.
    pub(super) fn hand_change(&mut self, entry: &Entry) {
        // After a restart entries come again that the stored configuration already contains.
        if entry.index > self.node.store().conf().0 {
            if entry.data.len() > CONF_CHANGE_BYTES_MAX {
                return self.fatal(format!(
                    "group {}: change of members at {} is over its limit",
                    self.group, entry.index
                ));
            }
            let mut change = ConfChangeV2::default();
            if let Err(e) = change.merge_from_bytes(&entry.data) {
                return self
                    .fatal(format!("group {}: change of members at {}: {e}", self.group, entry.index));
            }
            match self.node.apply_conf_change(&change) {
                Ok(conf) => {
                    self.node.mut_store().set_conf(entry.index, conf.clone());
                    let mut persist = self.next_persist();
                    persist.conf = Some((entry.index, conf));
                    self.delivery_after = Some(persist.seq);
                    self.push_persist(persist, InFlight::default());
                    self.step_down_when_removed();
                }
                // Every member refuses it alike: it is a function of the configuration before it.
                Err(e) => self.change_refused(entry.index, e.to_string()),
            }
        }
        self.change_committed(entry);
    }

    /// The library lets a leader that is no voter any more go on, and panics when it next counts votes for an entry.
    fn step_down_when_removed(&mut self) {
        let conf = self.members();
        let is_voter = conf.voters.contains(&self.self_id) || conf.voters_outgoing.contains(&self.self_id);
        if is_voter || self.node.raft.state != StateRole::Leader {
            return;
        }
        // The others should learn that the change is committed before they elect the next leader.
        self.node.raft.bcast_append();
        let term = self.node.raft.term;
        self.node.raft.become_follower(term, raft::INVALID_ID);
    }

    fn change_refused(&mut self, log_index: u64, reason: String) {
        tracing::warn!(group = %self.group, log_index, reason, "change of members refused");
        if let Some(change) = self.change.take_if(|change| change.log_index == log_index) {
            self.effects.push(Effect::MembersChanged(change.id, Err(MembersError::Refused(reason))));
        }
    }

    /// Answers the change when it is through: at once, or when the joint configuration is left.
    fn change_committed(&mut self, entry: &Entry) {
        if self.is_joint() {
            return;
        }
        if let Some(change) = self.change.take_if(|change| change.log_index <= entry.index) {
            let is_ours = change.log_index < entry.index || change.term == entry.term;
            let result =
                if is_ours { Ok(entry.index) } else { Err(MembersError::Refused("overwritten".into())) };
            self.effects.push(Effect::MembersChanged(change.id, result));
        }
    }

    /// Fails a change past its deadline, and leaves a joint configuration that the library forgot to leave.
    pub(super) fn watch_members(&mut self) {
        let now = self.ticks;
        if let Some(change) = self.change.take_if(|change| change.deadline <= now) {
            self.effects.push(Effect::MembersChanged(change.id, Err(MembersError::Timeout)));
        }
        if !self.is_joint() {
            self.joint_since = None;
            return;
        }
        let since = *self.joint_since.get_or_insert(now);
        let is_due = now >= since + JOINT_TICKS_MAX;
        if is_due && self.node.raft.state == StateRole::Leader && !self.node.raft.has_pending_conf() {
            tracing::warn!(group = %self.group, "leaving a joint configuration that lasted too long");
            self.joint_since = Some(now);
            // When it is refused, the next round tries again.
            let _ = self.append_change(ConfChangeV2::default());
        }
    }
}

fn single_change(change: &MemberChange) -> ConfChangeSingle {
    let (kind, member) = match *change {
        MemberChange::AddVoter(member) => (ConfChangeType::AddNode, member),
        MemberChange::AddLearner(member) => (ConfChangeType::AddLearnerNode, member),
        MemberChange::Remove(member) => (ConfChangeType::RemoveNode, member),
    };
    let mut single = ConfChangeSingle::default();
    single.change_type = kind;
    single.node_id = member;
    single
}
