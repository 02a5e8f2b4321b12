//! What waits for the consensus of a group? Its actor leaves that here at each tick, so the answer comes also while the thread hangs.

use crate::effects::Role;
use crate::status::Status;
use parking_lot::Mutex;
use std::time::{Duration, Instant};

/// Ticks without a word after which the thread of consensus itself is what is waited for.
const LATE_TICKS: u32 = 10;

/// How the consensus of a group is, for those who look after the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsensusStatus {
    /// Proposals, reads and changes of members that wait for an answer.
    pub queued: usize,
    /// Bytes of the proposals among them.
    pub queued_bytes: u64,
    /// For how long the oldest of them has waited.
    pub head_age: Duration,
    /// What it waits for; nothing when nobody waits for it.
    pub waits_for: &'static str,
    /// Why it is not as it should be.
    pub last_error: Option<&'static str>,
}

/// What an actor has left.
#[derive(Debug, Default)]
pub(crate) struct Left(Mutex<Option<Said>>);

/// What an actor said at a tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    at: Instant,
    queued: usize,
    oldest: Option<Instant>,
}

impl Left {
    /// Leaves how many requests wait, and since when the oldest does.
    pub fn leave(&self, queued: usize, oldest: Option<Instant>) {
        *self.0.lock() = Some(Said { at: Instant::now(), queued, oldest });
    }
    /// What was left last.
    pub fn said(&self) -> Option<Said> {
        *self.0.lock()
    }
}

/// How the consensus of a group with these positions is, by what its actor has said.
pub(crate) fn status_of(
    positions: &Status,
    said: Option<Said>,
    is_running: bool,
    tick: Duration,
    now: Instant,
) -> ConsensusStatus {
    let is_late = said.is_some_and(|said| now.saturating_duration_since(said.at) > LATE_TICKS * tick);
    let is_stalled = positions.stalled_ticks > 0;
    let queued = said.map_or(0, |said| said.queued);
    let oldest = said.and_then(|said| said.oldest);
    ConsensusStatus {
        queued,
        queued_bytes: positions.pending_bytes,
        head_age: oldest.map_or(Duration::ZERO, |oldest| now.saturating_duration_since(oldest)),
        waits_for: match (queued, positions.role) {
            _ if !is_running => "",
            _ if is_late => "its thread",
            _ if is_stalled => "its log on disk",
            (0, _) => "",
            (_, Role::Leader) => "other members, or its log on disk",
            (_, Role::Follower | Role::Candidate) => "a leader",
        },
        last_error: match (is_running, is_stalled) {
            (false, _) => Some("it has stopped"),
            (true, true) => Some("its log cannot be written"),
            (true, false) => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::StatusCell;

    #[test]
    fn it_says_for_how_long_the_oldest_has_waited_and_for_what() {
        let (tick, begun) = (Duration::from_millis(100), Instant::now());
        let said = |queued| Some(Said { at: begun, queued, oldest: (queued > 0).then_some(begun) });
        let positions = StatusCell::default().load();
        let leading = Status { role: Role::Leader, pending_bytes: 7, ..positions };
        let stalled = Status { stalled_ticks: 3, ..leading };
        for (positions, said, is_running, after, expected) in [
            (positions, None, true, 0, (0, 0, "", None)),
            (positions, said(0), true, 50, (0, 0, "", None)),
            (positions, said(2), true, 50, (2, 50, "a leader", None)),
            (leading, said(1), true, 50, (1, 50, "other members, or its log on disk", None)),
            (stalled, said(1), true, 50, (1, 50, "its log on disk", Some("its log cannot be written"))),
            (stalled, said(0), true, 50, (0, 0, "its log on disk", Some("its log cannot be written"))),
            (leading, said(1), true, 1_001, (1, 1_001, "its thread", None)),
            (leading, said(1), false, 1_001, (1, 1_001, "", Some("it has stopped"))),
        ] {
            let now = begun + Duration::from_millis(after);
            let status = status_of(&positions, said, is_running, tick, now);
            let shown =
                (status.queued, status.head_age.as_millis() as u64, status.waits_for, status.last_error);
            assert_eq!(shown, expected, "{positions:?} {said:?}");
            assert_eq!(status.queued_bytes, positions.pending_bytes);
        }
    }
}
