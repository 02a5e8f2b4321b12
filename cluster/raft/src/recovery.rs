//! How a group goes on from what one member's log holds when its majority is lost for good. On stopped nodes, by hand.
//!
//! It is not safe, and cannot be: what the lost members agreed on and no survivor heard of is gone. What is kept is that
//! the state is a function of a log. One survivor, the one whose log is the most advanced, becomes the only member:
//! everything in its log counts as committed from now on, and its term is raised above all that lost members may have
//! reached, so that none of them is listened to. The other survivors note that they are no members, and keep their logs:
//! whatever they know to be committed is in its log too, as every later leader would have it (Raft, 5.4.3).

use crate::core::{FOUNDATION, LogReader};
use crate::effects::{Persist, Position, SnapshotChange};
use crate::error::RaftError;
use crate::log::Log;
use crate::log_inspect::GroupReport;
use bytes::Bytes;
use quorate_model::GroupId;
use raft::eraftpb::{ConfState, Entry, HardState};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How far the term is raised: more elections than the lost members can have held.
const TERMS_SKIPPED: u64 = 1_000_000;
/// How long the disk may take.
const WRITE: Duration = Duration::from_secs(60);

/// What the log of a member says of its group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The term of the entry there.
    pub last_term: u64,
    /// Whether it was taking over another member's state when it stopped: it has none of its own then.
    pub is_restoring: bool,
}

impl Survey {
    /// How advanced the log is: of two survivors the one that has more goes on.
    pub fn advance(&self) -> (u64, u64) {
        (self.last_term, self.last)
    }
}

/// What the log says of a group whose state is durable through `applied`; `None` when this member never had it, or has left it.
pub fn survey(log: &Log, group: GroupId, applied: u64) -> Result<Option<Survey>, RaftError> {
    let stored = log.stored(group)?;
    if stored.conf.is_none() {
        return Ok(None);
    }
    let (_, ConfState { mut voters, voters_outgoing, learners, learners_next, .. }) =
        stored.conf.unwrap_or_default();
    voters.extend(voters_outgoing);
    voters.sort_unstable();
    voters.dedup();
    let last_term = match stored.last > stored.truncated.index {
        true => {
            log.reader(group).entries(stored.last, stored.last + 1, u64::MAX)?.last().map_or(0, |it| it.term)
        }
        false => stored.truncated.term,
    };
    Ok(Some(Survey {
        voters,
        learners: learners.into_iter().chain(learners_next).collect(),
        term: stored.hard_state.term,
        // what is cut off was committed, whether or not that was written with it
        committed: stored.hard_state.commit.max(stored.truncated.index),
        last: stored.last,
        last_term,
        // a process that died between both has the state, and a log that does not say so yet
        is_restoring: stored.snapshot.is_some_and(|it| it.get_metadata().index > applied),
    }))
}

/// Makes `leader`, whose log ends at `last`, the only member of a group; durable when this returns. On the leader itself it
/// appends `entries` as well. `own` is the survey of this member. Doing it again changes nothing.
///
/// Errors: `Identity` when the log is another member's; `Log` when there is none, when it does not end as said, or when it
/// cannot be written.
pub fn hand_to(
    log: &Log,
    group: GroupId,
    (self_id, own): (u64, &Survey),
    (leader, last): (u64, u64),
    entries: Vec<Bytes>,
) -> Result<(), RaftError> {
    let stored = log.stored(group)?;
    match stored.identity {
        Some(found) if found == self_id => {}
        Some(found) => return Err(RaftError::Identity { group, found, expected: self_id }),
        None => return Err(RaftError::Log(format!("group {group} was never here"))),
    }
    // as of the end of the leader's log: changes of members below it are not made again
    let conf = Some((last, alone(leader)));
    if stored.conf == conf {
        return Ok(());
    }
    if own.is_restoring {
        // there is no state to go on from: what comes is a state as for a new member
        return log.leave(group, WRITE);
    }
    let mut persist = Persist::new(group, 1);
    persist.conf = conf;
    if stored.snapshot.is_some() {
        persist.snapshot = SnapshotChange::Done;
    }
    if self_id == leader {
        if stored.last != last {
            return Err(RaftError::Log(format!(
                "the log of group {group} ends at {}, not at {last}",
                stored.last
            )));
        }
        let hard_state = skipped(&stored.hard_state);
        let appended = entries.into_iter().zip(last + 1..).map(|(data, index)| {
            let mut entry = Entry::default();
            entry.index = index;
            entry.term = hard_state.term;
            entry.data = data;
            entry
        });
        persist.entries = appended.collect();
        persist.hard_state = Some(hard_state);
    }
    log.write_alone(persist, WRITE)
}

/// Makes a group anew that no survivor has anything of, with `self_id` as its only member; durable when this returns.
///
/// Errors: `Log` when the log has something of the group, or cannot be written.
pub fn found_anew(log: &Log, group: GroupId, self_id: u64) -> Result<(), RaftError> {
    let stored = log.stored(group)?;
    let conf = Some((FOUNDATION.index, alone(self_id)));
    if stored.conf == conf {
        return Ok(());
    }
    if stored.conf.is_some() {
        return Err(RaftError::Log(format!("group {group} is here already")));
    }
    let mut hard_state = skipped(&stored.hard_state);
    hard_state.commit = FOUNDATION.index;
    let mut persist = Persist::new(group, 1);
    persist.identity = Some(self_id);
    persist.conf = conf;
    persist.truncated = Some(FOUNDATION);
    persist.hard_state = Some(hard_state);
    log.write_alone(persist, WRITE)
}

/// Lets a group go on whose only member is `self_id` and whose damaged log was mended: its term is raised above all that the damage
/// may have taken, and empty entries fill the log up to what the state machine has. `state` says behind which log index that needs
/// the log, and through which it is; `None`: there is none. Durable when this returns.
///
/// Errors: `Identity` when the log is another member's; `Log` when the group has other members, or the log cannot be written.
pub fn accept_loss(
    log: &Log,
    (group, known): (GroupId, &GroupReport),
    self_id: u64,
    state: Option<(u64, u64)>,
) -> Result<(), RaftError> {
    let applied = state.map_or(0, |(_, through)| through);
    // where the log begins when whose it is, and who the members are, stood where it is damaged
    let first = known.entries.map(|(first, _)| log.reader(group).entries(first, first + 1, u64::MAX));
    let begin = match (first, state) {
        (Some(Ok(first)), state) if !first.is_empty() => {
            if let Some((from, _)) = state
                && first[0].index > from + 1
            {
                let lost = format!(
                    "group {group} needs entries from {} on, and those before {} are gone",
                    from + 1,
                    first[0].index
                );
                return Err(RaftError::Log(lost));
            }
            Some((first[0].index, first[0].term))
        }
        // all of it was cut off before, or is gone, too: it goes on behind the state
        (_, Some((from, _))) => Some((from + 1, known.term.max(1))),
        (_, None) => None,
    };
    if let (Some((first, term)), None) = (begin, log.stored(group)?.conf) {
        let mut persist = Persist::new(group, 1);
        persist.identity = Some(self_id);
        persist.conf = Some((first - 1, alone(self_id)));
        persist.truncated = Some(Position { index: first - 1, term });
        log.write_alone(persist, WRITE)?;
    }
    let stored = log.stored(group)?;
    let Some((_, conf)) = &stored.conf else { return Ok(()) };
    if stored.identity != Some(self_id) {
        let found = stored.identity.unwrap_or_default();
        return Err(RaftError::Identity { group, found, expected: self_id });
    }
    if *conf != alone(self_id) {
        return Err(RaftError::Log(format!("group {group} has other members")));
    }
    let mut hard_state = skipped(&stored.hard_state);
    let last = survey(log, group, applied)?.map_or(0, |survey| survey.last_term);
    hard_state.term = hard_state.term.max(last + TERMS_SKIPPED);
    hard_state.commit = hard_state.commit.min(stored.last).max(stored.truncated.index);
    let mut persist = Persist::new(group, 1);
    let fill = |index| {
        let mut entry = Entry::default();
        (entry.index, entry.term) = (index, hard_state.term);
        entry
    };
    persist.entries = (stored.last + 1..=applied).map(fill).collect();
    persist.hard_state = Some(hard_state);
    log.write_alone(persist, WRITE)
}

fn alone(member: u64) -> ConfState {
    let mut alone = ConfState::default();
    alone.voters = vec![member];
    alone
}

/// A term above those of all lost members, without a vote.
fn skipped(before: &HardState) -> HardState {
    let mut hard_state = before.clone();
    hard_state.term += TERMS_SKIPPED;
    hard_state.vote = 0;
    hard_state
}
