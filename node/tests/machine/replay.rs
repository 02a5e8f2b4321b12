//! What reads are shown after a restart is bounded by what the replay has handed over.

use super::*;

#[test]
fn a_node_that_replays_shows_no_more_than_it_was_handed() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        for n in 0..4 {
            rig.apply(records(1, vec![put(&format!("r{n}"), n)]));
        }
        rig.wait();
        // the metadata store knows all of it; the shard's files have nothing yet
        rig.machine.checkpoint().unwrap();
        assert_eq!(rig.machine.replay_from().unwrap(), 0);
        let log = rig.kill();

        let mut rig = Rig::open_without_replay(dir.path(), log.clone());
        assert_eq!(rig.machine.applied(), 4, "a state that is ahead of its shards");
        for handed in 0..=4_u64 {
            let shown = rig.node.shown_through(GROUP);
            assert!(shown <= handed && rig.node.visible_through(GROUP) <= handed, "{shown} of {handed}");
            assert_eq!(rig.node.applied(GROUP), handed);
            for later in handed + 1..=4 {
                assert!(!rig.node.is_visible(GROUP, later), "{later} of {handed}");
                assert!(!rig.node.records_are_visible(GROUP, later), "{later} of {handed}");
            }
            if let Some(command) = log.get(handed as usize) {
                rig.machine.apply(position(handed + 1), command.clone()).unwrap();
            }
        }
        assert_eq!(rig.records(1).len(), 4);
    });
}
