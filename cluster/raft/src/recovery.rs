//! How a member goes on alone when the majority of its group is lost for good. On a stopped node, by hand.
//!
//! It is not safe, and cannot be: what the lost members agreed on after this one last heard of them is gone. What is
//! kept is that the state is a function of a log: everything in this member's log counts as committed from now on, and
//! its term is raised above all that lost members may have reached, so that none of them is listened to.

use crate::effects::Persist;
use crate::error::RaftError;
use crate::log::{Log, Report};
use bytes::Bytes;
use quorate_model::GroupId;
use raft::eraftpb::{ConfState, Entry};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// How far the term is raised: more elections than the lost members can have held.
const TERMS_SKIPPED: u64 = 1_000_000;
/// How long the disk may take.
const WRITE: Duration = Duration::from_secs(60);

/// What the log of a member says of its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// The members that vote, those of both sides while a change was half through.
    pub voters: Vec<u64>,
    /// The members that only follow.
    pub learners: Vec<u64>,
    /// The term.
    pub term: u64,
    /// Everything up to here is known to be committed, at least.
    pub committed: u64,
    /// The last index of the log.
    pub last: u64,
    /// Whether it was taking over another member's state when it stopped.
    pub is_restoring: bool,
}

/// What the log says of a group; `None` when this member never had it.
pub fn survey(log: &Log, group: GroupId) -> Result<Option<Survey>, RaftError> {
    let stored = log.stored(group)?;
    if stored.identity.is_none() {
        return Ok(None);
    }
    let (_, ConfState { mut voters, voters_outgoing, learners, learners_next, .. }) =
        stored.conf.unwrap_or_default();
    voters.extend(voters_outgoing);
    voters.sort_unstable();
    voters.dedup();
    Ok(Some(Survey {
        voters,
        learners: learners.into_iter().chain(learners_next).collect(),
        term: stored.hard_state.term,
        committed: stored.hard_state.commit,
        last: stored.last,
        is_restoring: stored.snapshot.is_some(),
    }))
}

/// Makes `self_id` the only member of a group and appends `entries` to its log; durable when this returns.
///
/// Errors: `Identity` when the log is another member's; `Log` when there is none, when it was taking over a state, or when
/// it cannot be written.
pub fn go_on_alone(log: &Log, group: GroupId, self_id: u64, entries: Vec<Bytes>) -> Result<(), RaftError> {
    let stored = log.stored(group)?;
    match stored.identity {
        Some(found) if found == self_id => {}
        Some(found) => return Err(RaftError::Identity { group, found, expected: self_id }),
        None => return Err(RaftError::Log(format!("group {group} was never here"))),
    }
    if stored.snapshot.is_some() {
        return Err(RaftError::Log(format!("group {group} was taking over another member's state")));
    }
    let mut persist = Persist::new(group, 1);
    let mut hard_state = stored.hard_state.clone();
    hard_state.term += TERMS_SKIPPED;
    hard_state.vote = 0;
    let appended = entries.into_iter().zip(stored.last + 1..).map(|(data, index)| {
        let mut entry = Entry::default();
        entry.index = index;
        entry.term = hard_state.term;
        entry.data = data;
        entry
    });
    persist.entries = appended.collect();
    persist.hard_state = Some(hard_state);
    let mut alone = ConfState::default();
    alone.voters = vec![self_id];
    // as of the end of the log: changes of members below it are not made again
    persist.conf = Some((stored.last, alone));
    let (reports, written) = mpsc::channel();
    let reports = parking_lot::Mutex::new(reports);
    log.listen(group, Arc::new(move |report| drop(reports.lock().send(report))));
    log.submit(persist);
    loop {
        match written.recv_timeout(WRITE) {
            Ok(Report::Persisted(_)) => return Ok(()),
            Ok(Report::Resumed) => {}
            Ok(Report::Stalled(reason)) => return Err(RaftError::Log(reason)),
            Err(_) => return Err(RaftError::Log(format!("group {group} is not written in time"))),
        }
    }
}
