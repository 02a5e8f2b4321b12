//! What a member keeps of a group that it has left: enough to never vote twice, should it come back under the same number.
//!
//! Its vote and term stay, and the end of the log it had. Without the term, a leader that was stopped before the removal
//! could take the empty member for one of its majority. Without the end of the log, the member would help somebody into
//! office who has slept through what it had confirmed itself.

use crate::core::{LogReader, Stored};
use crate::effects::{Persist, Position, SnapshotChange};
use crate::error::RaftError;
use quorate_model::GroupId;
use raft::eraftpb::{Message, MessageType};

/// The last write to the log of a group that this member has left. Errors: `Log` when the end of the log cannot be read.
pub fn leave(group: GroupId, stored: &Stored, reader: &impl LogReader) -> Result<Persist, RaftError> {
    let mut end = stored.truncated;
    if stored.last > end.index {
        let last = reader.entries(stored.last, stored.last + 1, u64::MAX)?;
        end = last.last().map_or(end, |entry| Position { index: entry.index, term: entry.term });
    }
    let left = if is_behind(end, stored.left) { stored.left } else { end };
    let mut hard_state = stored.hard_state.clone();
    hard_state.commit = 0;
    let mut persist = Persist::new(group, 0);
    persist.hard_state = Some(hard_state);
    persist.snapshot = SnapshotChange::Leave(left);
    Ok(persist)
}

/// Whether somebody asks for a vote whose log ends before the one that this member had when it left.
pub(crate) fn lags_behind(left: Position, message: &Message) -> bool {
    let asks = matches!(message.msg_type, MessageType::MsgRequestVote | MessageType::MsgRequestPreVote);
    asks && is_behind(Position { index: message.index, term: message.log_term }, left)
}

fn is_behind(one: Position, other: Position) -> bool {
    (one.term, one.index) < (other.term, other.index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::SharedMemoryLog;
    use raft::eraftpb::Entry;

    fn at(index: u64, term: u64) -> Position {
        Position { index, term }
    }

    #[test]
    fn term_vote_and_the_end_of_the_log_outlive_leaving() {
        let disk = SharedMemoryLog::default();
        let mut first = Persist::new(GroupId(1), 1);
        first.identity = Some(9);
        first.entries = (1..=5).map(|index| Entry { index, term: index / 2, ..Entry::default() }).collect();
        let mut hard_state = raft::eraftpb::HardState::default();
        (hard_state.term, hard_state.vote, hard_state.commit) = (7, 3, 4);
        first.hard_state = Some(hard_state);
        disk.0.lock().write(&first);
        for (truncated, left) in [(at(0, 0), at(5, 2)), (at(5, 2), at(5, 2))] {
            let mut cut = Persist::new(GroupId(1), 2);
            cut.truncated = Some(truncated);
            disk.0.lock().write(&cut);
            let stored = disk.0.lock().stored();
            let persist = leave(GroupId(1), &stored, &disk).unwrap();
            assert!(matches!(persist.snapshot, SnapshotChange::Leave(at) if at == left), "{persist:?}");
        }
        let stored = disk.0.lock().stored();
        let persist = leave(GroupId(1), &stored, &disk).unwrap();
        disk.0.lock().write(&persist);
        let stored = disk.0.lock().stored();
        let Stored { identity, hard_state, conf, truncated, last, snapshot, left } = stored.clone();
        assert_eq!((identity, hard_state.term, hard_state.vote, hard_state.commit), (Some(9), 7, 3, 0));
        assert_eq!((conf, truncated, last, snapshot, left), (None, at(0, 0), 0, None, at(5, 2)));
        // Leaving again without having come back forgets nothing.
        let again = leave(GroupId(1), &stored, &disk).unwrap();
        assert!(matches!(again.snapshot, SnapshotChange::Leave(left) if left == at(5, 2)));
    }

    #[test]
    fn only_votes_for_those_behind_are_withheld() {
        let mut message = Message::default();
        for (kind, index, term, lags) in [
            (MessageType::MsgRequestVote, 5, 2, false),
            (MessageType::MsgRequestVote, 4, 2, true),
            (MessageType::MsgRequestPreVote, 9, 1, true),
            (MessageType::MsgRequestPreVote, 1, 3, false),
            (MessageType::MsgAppend, 0, 0, false),
        ] {
            (message.msg_type, message.index, message.log_term) = (kind, index, term);
            assert_eq!(lags_behind(at(5, 2), &message), lags, "{kind:?} {index} {term}");
        }
    }
}
