//! What reads are shown after a restart is bounded by what the replay has handed over.

use super::*;

/// Commands of the log below, each of which adds a record.
const COMMANDS: u32 = 4;

/// Starts a node that died when its metadata store knew all of its log and its shards had nothing of it durable. `start` is what
/// happens before the replay.
fn restarted(folder: &Path, start: impl FnOnce(&mut Rig)) -> Rig {
    let mut rig = Rig::open(folder, vec![]);
    for n in 0..COMMANDS {
        rig.apply(records(1, vec![put(&format!("r{n}"), n)]));
    }
    rig.wait();
    rig.machine.checkpoint().unwrap();
    assert_eq!(rig.machine.replay_from().unwrap(), 0);
    let log = rig.kill();
    let mut rig = Rig::open_without_replay(folder, log);
    assert_eq!(rig.machine.applied(), u64::from(COMMANDS), "a state that is ahead of its shards");
    start(&mut rig);
    rig
}

/// Replays a command at a time. Errors: reads lack something that the node, when it is asked for a lease or for what is published,
/// says that they show.
fn check_replay(rig: &mut Rig) -> Result<(), String> {
    let log = rig.log.clone();
    for handed in 0..=log.len() as u64 {
        let said = rig.node.visible_through(GROUP).max(rig.node.records_visible_through(GROUP));
        let visible = (1..=log.len() as u64)
            .filter(|&at| rig.node.is_visible(GROUP, at) || rig.node.records_are_visible(GROUP, at));
        let said = visible.max().unwrap_or(0).max(said);
        let view = rig.node.view(1).map_err(|e| e.to_string())?;
        let found = view.shard.figures().records;
        if said > found {
            return Err(format!(
                "{found} records when {said} are said to show, and {handed} were handed over"
            ));
        }
        assert_eq!(rig.node.applied(GROUP), handed);
        if let Some(command) = log.get(handed as usize) {
            rig.machine.apply(position(handed + 1), command.clone()).unwrap();
        }
    }
    assert_eq!(rig.records(1).len(), log.len());
    Ok(())
}

#[test]
fn a_node_that_replays_shows_no_more_than_it_was_handed() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        check_replay(&mut restarted(dir.path(), |_| {})).unwrap();
    });
}

/// As it was once: the group begins where its metadata store is.
#[test]
fn a_bound_that_goes_by_the_metadata_store_is_found() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = restarted(dir.path(), |rig| rig.machine.pass(rig.machine.applied()));
        let found = check_replay(&mut rig).unwrap_err();
        assert!(found.contains("0 records when 4 are said to show"), "{found}");
    });
}
