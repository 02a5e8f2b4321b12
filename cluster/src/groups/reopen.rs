//! When is a group opened anew that failed on this node? After a pause that doubles with each failure: what caused it may have
//! passed, and an entry that always fails must not keep the node busy.

use crate::groups::Groups;
use crate::groups::start::Starter;
use quorate_model::GroupId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Between two looks, at most.
const LOOK: Duration = Duration::from_secs(1);
/// The pause is at most this many doublings of the first one: some twenty minutes by default.
const DOUBLINGS: u32 = 7;
/// A group that has run for this many times its pause begins with the first pause again.
const WELL_AFTER: u32 = 10;

/// Opens failed groups anew until the task is aborted. `first` is the pause after the first failure.
pub async fn run(starter: Arc<Starter>, first: Duration) {
    let mut pauses = Pauses { first, of: BTreeMap::new() };
    loop {
        for group in pauses.due(&failed(&starter.groups), Instant::now()) {
            tracing::info!(group = group.0, "opening a group anew that failed");
            if let Err(error) = starter.reopen_group(group).await {
                tracing::warn!(group = group.0, %error, "a group that failed cannot be opened yet");
            }
        }
        tokio::time::sleep(LOOK.min(first)).await;
    }
}

/// Placement groups that failed. The meta group is what everything here goes by: it takes a start of the node.
fn failed(groups: &Groups) -> Vec<GroupId> {
    let halted = groups.placement().into_iter().filter(|group| group.halt.is_half()).map(|group| group.id);
    let mut failed: Vec<GroupId> = groups.failed().into_keys().chain(halted).collect();
    failed.sort_unstable();
    failed.dedup();
    failed
}

struct Pauses {
    first: Duration,
    of: BTreeMap<GroupId, Pause>,
}

struct Pause {
    failures: u32,
    until: Instant,
    /// Whether it was opened anew after that.
    is_over: bool,
}

impl Pauses {
    /// Those of the failed groups whose pause is over at `now`. Each begins a longer one with its next failure.
    fn due(&mut self, failed: &[GroupId], now: Instant) -> Vec<GroupId> {
        let first = self.first;
        let length = |failures: u32| first * (1 << failures.min(DOUBLINGS));
        self.of.retain(|group, pause| {
            failed.contains(group) || now < pause.until + length(pause.failures) * WELL_AFTER
        });
        let is_due = |group: &&GroupId| {
            let new = Pause { failures: 0, until: now + first, is_over: false };
            let pause = self.of.entry(**group).or_insert(new);
            if pause.is_over {
                let failures = pause.failures + 1;
                *pause = Pause { failures, until: now + length(failures), is_over: false };
            }
            pause.is_over = now >= pause.until;
            pause.is_over
        };
        failed.iter().filter(is_due).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_until_a_group_has_been_well_for_long() {
        let (first, begun) = (Duration::from_secs(10), Instant::now());
        let mut pauses = Pauses { first, of: BTreeMap::new() };
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        let group = [GroupId(3)];
        let mut opened = vec![];
        for second in 0..200 {
            if !pauses.due(&group, at(second)).is_empty() {
                opened.push(second);
            }
        }
        assert_eq!(opened, [10, 31, 72, 153], "10, 20, 40 and 80 seconds after each failure");
        assert!(pauses.due(&[], at(200)).is_empty());
        assert!(!pauses.of.is_empty(), "it has not been well for long");
        assert!(pauses.due(&[], at(4_000)).is_empty() && pauses.of.is_empty());
        assert!(pauses.due(&group, at(4_001)).is_empty());
        assert_eq!(pauses.due(&group, at(4_011)), group);
    }
}
