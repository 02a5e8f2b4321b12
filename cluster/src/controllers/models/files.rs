//! How do the files of models get to the members of their group? Each looks for what is in force and not here, and asks the others.

use crate::beside::StopGuard;
use crate::context::NodeContext;
use crate::snapshot::SnapshotRoom;
use quorate_model::GroupId;
use quorate_node::{Installed, ModelKey};
use quorate_raft::StateCopy;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Between two looks, when nobody says that there is anything.
const LOOK: Duration = Duration::from_millis(500);
/// Looks between two attempts to fetch what nobody gave, at most.
const ROUNDS_PAUSE_MAX: u32 = 60;

/// Looks and fetches until the task is aborted.
pub async fn run(context: Arc<NodeContext>, room: Arc<SnapshotRoom>) {
    // rounds to let pass, after rounds in which nothing came
    let (mut wait, mut misses) = (0, 0);
    loop {
        let stop = Arc::new(AtomicBool::new(false));
        let _stopped_when_aborted = StopGuard(stop.clone());
        let is_to_fetch = wait == 0;
        let (of_round, room) = (context.clone(), room.clone());
        let round = move || round(&of_round, &room, is_to_fetch, &stop);
        match tokio::task::spawn_blocking(round).await {
            Ok(0) => (wait, misses) = (0, 0),
            Ok(_) if is_to_fetch => {
                misses = (misses + 1).min(ROUNDS_PAUSE_MAX);
                wait = misses;
            }
            Ok(_) => wait -= 1,
            Err(_) => tracing::error!("looking for files of models panicked"),
        }
        let woken = tokio::time::timeout(LOOK, context.insights().builds.files_to_look_at()).await;
        if woken.is_ok() {
            wait = 0;
        }
    }
}

/// Looks at all groups of this node, and fetches what is missing. Returns how many files are missing still.
fn round(context: &NodeContext, room: &SnapshotRoom, is_to_fetch: bool, stop: &AtomicBool) -> usize {
    let mut missing = 0;
    for group in context.groups().placement() {
        // one that fetches its state gets the files with it
        if group.halt.is_set() || group.status().copy == StateCopy::Fetching {
            continue;
        }
        match context.node().look_at_models(group.id, stop) {
            Ok(models) => {
                for (key, model) in models {
                    if !is_to_fetch || !fetch(context, room, group.id, &key, model, stop) {
                        missing += 1;
                    }
                }
            }
            Err(error) => tracing::debug!(group = group.id.0, %error, "files of models wait"),
        }
    }
    missing
}

/// Returns whether the file of a model came.
fn fetch(
    context: &NodeContext,
    room: &SnapshotRoom,
    group: GroupId,
    key: &ModelKey,
    model: Installed,
    stop: &AtomicBool,
) -> bool {
    let place = context.node().begin_model(group, key, model.seq);
    let fetched = room.fetch_model(group, key, model, &place, stop);
    if let Err(error) = &fetched {
        tracing::debug!(group = group.0, index = %key.index, model = %key.model, %error, "a model has not arrived");
        // whoever leads makes another one when nobody has it
        if context.groups().get(group).is_some_and(|group| group.is_led_here()) {
            let _too_many_wait = context.insights().builds.ask((group, key.clone()));
        }
        return false;
    }
    drop(place);
    context.node().look_at_models(group, stop).is_ok()
}
