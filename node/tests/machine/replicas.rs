//! Whether indices that follow others end as the log says, wherever the node was killed: between commands, and inside them.

use crate::*;
use quorate_node::ops::{Follower, ReplicaKind};
use std::path::PathBuf;

pub const STANDARD: ReplicaKind = ReplicaKind::Standard;
pub const VIRTUAL: ReplicaKind = ReplicaKind::Virtual;

pub fn follow(primary: u64, revision: u64, followers: &[(u64, ReplicaKind)]) -> IndexCommand {
    let follower = |&(incarnation, kind): &(u64, ReplicaKind)| Follower { incarnation, kind };
    IndexCommand::Replicas { primary, revision, followers: followers.iter().map(follower).collect() }
}
fn forward(command: IndexCommand) -> IndexCommand {
    IndexCommand::Forward { command: Box::new(command) }
}
fn delete_by(index: u64, filters: &str) -> IndexCommand {
    let params = format!(r#"{{"filters":"{filters}"}}"#).into_bytes();
    records(index, vec![RecordOp::DeleteBy { params }])
}

pub fn script() -> Vec<IndexCommand> {
    vec![
        records(1, vec![put("a", 1), put("b", 2)]),
        settings(5, r#"{"ranking":["desc(n)"]}"#),
        follow(1, 5, &[(5, STANDARD), (6, VIRTUAL)]),
        forward(settings(1, r#"{"attributesForFaceting":["n"],"hitsPerPage":7}"#)),
        records(1, vec![put("c", 3), partial("a", r#"{"n":{"_operation":"Increment","value":10}}"#)]),
        IndexCommand::Sequence {
            commands: vec![forward(synonyms(1, &["s", "t"], "first", false)), rule(5, "r", "x")],
        },
        delete_by(1, "n:3"),
        // a virtual replica becomes a standard one, and there is a new one
        follow(1, 9, &[(5, STANDARD), (6, STANDARD), (7, STANDARD)]),
        records(1, vec![put("d", 4), RecordOp::Delete { object_id: "b".into() }]),
        // a list from before that one
        follow(1, 8, &[]),
        forward(forget(1, ResourceKind::Synonyms, "s")),
        follow(1, 12, &[(7, STANDARD), (6, VIRTUAL)]),
        records(1, vec![put("e", 5)]),
        records(5, vec![put("own", 0)]),
        follow(8, 14, &[(9, STANDARD)]),
        records(8, vec![put("x", 1), put("y", 2)]),
        IndexCommand::Drop { index: 8 },
        records(9, vec![RecordOp::Delete { object_id: "x".into() }]),
    ]
}
pub fn assert_end(rig: &Rig) {
    let all = |ids: &[(&str, u32)]| -> Vec<String> {
        let mut all: Vec<String> =
            ids.iter().map(|(id, n)| format!("{{\"n\":{n},\"objectID\":\"{id}\"}}")).collect();
        all.sort();
        all
    };
    let of_primary = all(&[("a", 11), ("d", 4), ("e", 5)]);
    for (index, expected) in [
        (1, of_primary.clone()),
        (5, all(&[("a", 11), ("d", 4), ("own", 0)])),
        (6, vec![]),
        (7, of_primary),
        (8, vec!["gone".to_owned()]),
        (9, all(&[("y", 2)])),
    ] {
        assert_eq!(rig.records(index), expected, "index {index}");
    }
    for (index, resources) in [(1, "t:first"), (5, "t:first r:x"), (6, "t:first"), (7, "t:first")] {
        let settings = rig.node.index(index).unwrap().settings.load_full();
        assert_eq!(settings.document["hitsPerPage"], 7, "index {index}");
        assert_eq!(rig.resources(index), resources, "index {index}");
    }
    assert_eq!(rig.order(5), ["a", "d", "own"], "its own order");
}

impl Rig {
    /// The ids that a search without a query finds, in its order.
    fn order(&self, index: u64) -> Vec<String> {
        self.wait();
        let view = self.node.view(index).unwrap();
        let pool = self.node.pool().clone();
        let found = wait_for(pool.search(view, SearchParams::default(), ReadRights::default())).unwrap();
        let id = |hit: &[u8]| {
            let hit: serde_json::Value = serde_json::from_slice(hit).unwrap();
            hit["objectID"].as_str().unwrap().to_owned()
        };
        found.hits.iter().map(id).collect()
    }
    fn shown_by(&self, index: u64, name: &str) -> Option<serde_json::Value> {
        self.node.view(index).unwrap().configuration.settings().document.get(name).cloned()
    }
}

#[test]
fn replicas_end_as_the_log_says_wherever_it_was_killed() {
    in_system(|| kill_after_each(&script(), assert_end));
}

/// Nothing of the metadata store was kept, so the replay gives the index settings while it already has the files that a later
/// command of the log gave it: two writers must never have them open.
#[test]
fn a_replay_opens_the_files_of_a_replica_once() {
    in_system(|| {
        for _ in 0..8 {
            let dir = tempfile::tempdir().unwrap();
            let mut rig = Rig::open(dir.path(), vec![]);
            rig.apply(records(1, vec![put("a", 1), put("b", 2)]));
            rig.apply(settings(5, r#"{"ranking":["desc(n)"]}"#));
            rig.apply(follow(1, 5, &[(5, STANDARD)]));
            rig.wait();
            let mut rig = Rig::open(dir.path(), rig.kill());
            rig.apply(records(1, vec![RecordOp::Delete { object_id: "a".into() }]));
            rig.wait();
            assert_eq!(rig.order(5), ["b"]);
            rig.machine.close().unwrap();
            let log = rig.log.clone();
            drop(rig);
            assert_eq!(Rig::open(dir.path(), log).order(5), ["b"]);
        }
    });
}

/// Copies a folder with all it holds.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}
fn files_of(folder: &Path, index: u64) -> PathBuf {
    Layout::new(folder).index(index)
}
fn remove(folder: &Path) {
    if folder.exists() {
        std::fs::remove_dir_all(folder).unwrap();
    }
}
/// Puts the files that an index has in one folder into another.
fn replace_files(index: u64, from: &Path, to: &Path) {
    remove(&files_of(to, index));
    copy_folder(&files_of(from, index), &files_of(to, index));
}
/// Runs the commands and stops cleanly.
fn settled(folder: &Path, commands: Vec<IndexCommand>) -> Vec<IndexCommand> {
    let mut rig = Rig::open(folder, vec![]);
    for command in commands {
        rig.apply(command);
    }
    rig.wait();
    rig.machine.close().unwrap();
    rig.log
}

/// What a crash left of the files of a replica.
#[derive(Clone, Copy, Debug)]
enum Left {
    All,
    Nothing,
    EmptyFolder,
    /// Some files, but not the manifest, which is the last.
    NoManifest,
}
impl Left {
    const EACH: [Left; 4] = [Left::All, Left::Nothing, Left::EmptyFolder, Left::NoManifest];

    fn make(self, folder: &Path, index: u64) {
        let shard = Layout::new(folder).shard(index, 0);
        match self {
            Left::All => {}
            Left::Nothing => remove(&files_of(folder, index)),
            Left::EmptyFolder => {
                remove(&files_of(folder, index));
                std::fs::create_dir_all(shard).unwrap();
            }
            Left::NoManifest => {
                let names = std::fs::read_dir(&shard).unwrap().map(|entry| entry.unwrap().path());
                let manifests: Vec<PathBuf> =
                    names.filter(|path| path.to_string_lossy().ends_with(".manifest")).collect();
                assert_eq!(manifests.len(), 1, "{manifests:?}");
                std::fs::remove_file(&manifests[0]).unwrap();
            }
        }
    }
}

#[test]
fn a_delete_by_query_reaches_replicas_when_the_node_died_between_its_halves() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let (before, after) = (dir.path().join("before"), dir.path().join("after"));
        let log = settled(
            &before,
            vec![
                records(1, (0..20).map(|n| put(&format!("r{n}"), n % 4)).collect()),
                settings(1, r#"{"attributesForFaceting":["n"]}"#),
                settings(5, r#"{"ranking":["desc(n)"]}"#),
                follow(1, 5, &[(5, STANDARD)]),
            ],
        );
        copy_folder(&before, &after);
        let mut rig = Rig::open(&after, log);
        rig.apply(delete_by(1, "n:3"));
        // what finds the deleted ones afterwards would delete others
        rig.apply(settings(1, r#"{"attributesForFaceting":[]}"#));
        let log = rig.kill();
        for left in Left::EACH {
            let torn = dir.path().join(format!("{left:?}"));
            copy_folder(&before, &torn);
            replace_files(1, &after, &torn);
            left.make(&torn, 5);
            let mut rig = Rig::open(&torn, log.clone());
            assert_eq!(rig.records(1).len(), 15, "{left:?}");
            assert_eq!(rig.records(5), rig.records(1), "{left:?}");
            rig.apply(records(1, vec![put("top", 9)]));
            assert_eq!((rig.records(5).len(), rig.order(5)[0].as_str()), (16, "top"), "{left:?}");
        }
    });
}

#[test]
fn a_new_replica_is_whole_when_the_node_died_while_it_was_filled() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let (before, after) = (dir.path().join("before"), dir.path().join("after"));
        let log = settled(
            &before,
            vec![
                records(1, (0..MANY).map(|n| put(&format!("r{n}"), n)).collect()),
                settings(1, r#"{"customRanking":["asc(n)"]}"#),
                settings(5, r#"{"ranking":["desc(n)"]}"#),
            ],
        );
        copy_folder(&before, &after);
        let mut rig = Rig::open(&after, log);
        let linked = rig.apply(follow(1, 5, &[(5, STANDARD)]));
        rig.wait_until("the rebuild has begun", || rig.node.rebuilds().records.total > 0);
        assert!(!rig.node.is_visible(GROUP, linked), "published before it has its own order");
        assert_eq!(rig.shown_by(5, "ranking"), None, "the order of the primary until then");
        rig.apply(records(1, vec![put("late", MANY)]));
        let log = rig.kill();
        for left in Left::EACH {
            let torn = dir.path().join(format!("{left:?}"));
            copy_folder(&before, &torn);
            replace_files(5, &after, &torn);
            left.make(&torn, 5);
            let rig = Rig::open(&torn, log.clone());
            rig.wait_visible(linked);
            assert_eq!(rig.order(5)[..2], ["late", &format!("r{}", MANY - 1)], "{left:?}");
            assert_eq!((rig.count(1), rig.count(5)), (MANY + 1, MANY + 1), "{left:?}");
        }
    });
}

#[test]
fn a_copy_is_whole_when_the_node_died_while_it_was_made() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let (before, after) = (dir.path().join("before"), dir.path().join("after"));
        let log = settled(&before, vec![records(1, (0..20).map(|n| put(&format!("r{n}"), n)).collect())]);
        copy_folder(&before, &after);
        let mut rig = Rig::open(&after, log);
        rig.apply(IndexCommand::Copy { from: 1, to: 4 });
        rig.apply(records(1, vec![RecordOp::Clear]));
        let log = rig.kill();
        for left in Left::EACH {
            let torn = dir.path().join(format!("{left:?}"));
            copy_folder(&before, &torn);
            replace_files(4, &after, &torn);
            left.make(&torn, 4);
            let rig = Rig::open(&torn, log.clone());
            assert_eq!((rig.records(1).len(), rig.records(4).len()), (0, 20), "{left:?}");
        }
    });
}

#[test]
fn a_group_drops_nothing_that_lies_in_another_one() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(records(1, vec![put("a", 1)]));
        rig.wait();
        let found = rig.records(1);
        let mut other = rig.node.machine(GroupId(GROUP.0 + 1)).unwrap();
        other.apply(position(1), IndexCommand::Drop { index: 1 }).unwrap();
        assert_eq!(rig.records(1), found);
        rig.machine.close().unwrap();
        let mut rig = Rig::open(dir.path(), rig.log);
        rig.machine.replayed();
        assert_eq!((found.len(), rig.records(1)), (1, found));
    });
}

/// The store of the process that died knows of files that it had removed: of the primary, which goes first, and of its replica, whose
/// folder it had no time to remove.
#[test]
fn a_primary_and_its_replica_that_were_dropped_are_not_missed_after_a_kill() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.apply(records(1, vec![put("a", 1)]));
        rig.apply(follow(1, 2, &[(2, STANDARD)]));
        rig.machine.close().unwrap();
        rig.tree.write_out().unwrap();
        let mut rig = Rig::open(dir.path(), rig.kill());
        rig.machine.replayed();
        for index in [1, 2] {
            rig.apply(IndexCommand::Drop { index });
        }
        let log = rig.kill();
        std::fs::create_dir_all(quorate_store::layout::Layout::new(dir.path()).shard(2, 0)).unwrap();
        let mut rig = Rig::open_without_replay(dir.path(), log);
        assert!(rig.node.lacks_files(GROUP), "the store is of before the drops");
        rig.replay().unwrap();
        rig.machine.replayed();
        assert_eq!(rig.machine.incarnations(), Vec::<u64>::new());
        assert!(!rig.node.lacks_files(GROUP) && rig.node.gone_files(GROUP).is_empty());
    });
}
