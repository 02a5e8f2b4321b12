//! Whether what a command gave to an index is found again by a replay, although other indices have come farther since.

use crate::replicas::{STANDARD, VIRTUAL, follow};
use crate::*;

/// Runs the commands, makes one index durable as far as it came, and replays the log on the files alone.
fn replayed(commands: Vec<IndexCommand>, durable: u64, assert_end: fn(&Rig)) {
    let dir = tempfile::tempdir().unwrap();
    let mut rig = Rig::open(dir.path(), vec![]);
    for command in commands {
        rig.apply(command);
    }
    assert_end(&rig);
    rig.node.index(durable).unwrap().commit_writer().unwrap();
    let log = rig.kill();
    std::fs::remove_dir_all(Layout::new(dir.path()).state()).unwrap();
    assert_end(&Rig::open(dir.path(), log));
}
fn increment(index: u64) -> IndexCommand {
    records(index, vec![partial("a", r#"{"n":{"_operation":"Increment","value":1}}"#)])
}

#[test]
fn a_copy_of_an_index_without_records_stays_empty() {
    in_system(|| {
        let commands = vec![
            settings(1, r#"{"hitsPerPage":7}"#),
            IndexCommand::Copy { from: 1, to: 2 },
            records(1, vec![put("later", 1)]),
        ];
        replayed(commands, 1, |rig| {
            assert_eq!((rig.records(1).len(), rig.records(2).len()), (1, 0));
            assert_eq!(rig.node.index(2).unwrap().settings.load().document["hitsPerPage"], 7);
        });
    });
}

#[test]
fn a_replica_that_was_released_has_nothing_later_of_its_primary() {
    in_system(|| {
        // one that was never written to, and one that had no records for a while
        let (empty, full) = (settings(1, r#"{"hitsPerPage":7}"#), records(1, vec![put("a", 1)]));
        for (first, kinds) in [(empty, vec![STANDARD]), (full, vec![STANDARD, VIRTUAL, STANDARD])] {
            let mut commands = vec![first];
            commands.extend(kinds.iter().zip(1..).map(|(kind, revision)| follow(1, revision, &[(5, *kind)])));
            commands.push(follow(1, 9, &[]));
            commands.push(records(1, vec![put("later", 1)]));
            replayed(commands, 1, |rig| {
                let own = rig.records(1).into_iter().filter(|record| !record.contains("later"));
                assert_eq!(rig.records(5), own.collect::<Vec<_>>());
            });
        }
    });
}

#[test]
fn a_commit_between_two_steps_of_a_command_holds_the_first_alone() {
    in_system(|| {
        // a copy makes its source durable
        let steps = vec![increment(1), IndexCommand::Copy { from: 1, to: 2 }, increment(1), increment(2)];
        let dir = tempfile::tempdir().unwrap();
        for checkpoint in [false, true] {
            let folder = dir.path().join(checkpoint.to_string());
            let mut rig = Rig::open(&folder, vec![]);
            rig.apply(IndexCommand::Sequence { commands: steps.clone() });
            if checkpoint {
                rig.machine.checkpoint().unwrap();
            }
            let rig = Rig::open(&folder, rig.kill());
            for index in [1, 2] {
                let expected = [r#"{"objectID":"a","n":2}"#];
                assert_eq!(rig.records(index), expected, "index {index}, checkpoint: {checkpoint}");
            }
        }
    });
}

#[test]
fn what_stands_behind_a_step_that_failed_is_not_carried_out_by_a_replay() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(records(1, vec![put("a", 1)]));
        for (changes, id) in [(r#"{"hitsPerPage":"wrong"}"#, "never"), (r#"{"hitsPerPage":7}"#, "b")] {
            let steps = vec![settings(1, changes), records(1, vec![put(id, 2)])];
            rig.apply(IndexCommand::Sequence { commands: steps });
        }
        rig.apply(records(2, vec![put("a", 1)]));
        // the metadata store knows all, and the log is needed from its beginning
        rig.machine.checkpoint().unwrap();
        rig.tree.write_out().unwrap();
        let expected = rig.records(1);
        assert_eq!(expected.len(), 2);
        assert_eq!(Rig::open(dir.path(), rig.kill()).records(1), expected);
    });
}

#[test]
fn files_that_an_earlier_program_linked_are_those_of_the_command() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(records(1, vec![put("a", 1)]));
        rig.apply(IndexCommand::Copy { from: 1, to: 2 });
        rig.apply(follow(1, 1, &[(5, STANDARD)]));
        rig.apply(follow(1, 2, &[]));
        rig.apply(records(1, vec![put("later", 1)]));
        rig.machine.close().unwrap();
        let log = rig.log.clone();
        drop(rig);
        // it named the last command of the source, and no step
        for index in [2, 5] {
            let path = Layout::new(dir.path()).shard(index, 0).join("shard.manifest");
            planted::change_manifest(&path, |manifest| {
                manifest["payload"] = serde_json::json!({ "applied": 1, "term": 1 });
            });
        }
        std::fs::remove_dir_all(Layout::new(dir.path()).state()).unwrap();
        let rig = Rig::open(dir.path(), log);
        assert_eq!([1, 2, 5].map(|index| rig.records(index).len()), [2, 1, 1]);
    });
}
