//! Is a replay that is not the same as the first time found? Bugs are planted in what a power cut leaves, before it is replayed.
//!
//! What a command is given of another index is as of its place in the log because the files name that place; where they do not,
//! a replay asks what the other one has by then.

use crate::cut_off::{CUTS, LONG, try_script};
use crate::scripts::Script;
use crate::*;
use quorate_node::ops::{Follower, ReplicaKind};
use std::collections::BTreeSet;

/// The index whose records another one is given, and the one that is given them.
const SOURCE: u64 = 1;
const GIVEN: u64 = 2;

/// One planted bug.
struct Planted {
    name: &'static str,
    plant: fn(&Path),
    log: Vec<IndexCommand>,
    /// What is found of it.
    shows: &'static str,
}

/// Calls `act` with the path of every manifest under a folder.
fn each_manifest(folder: &Path, act: &dyn Fn(&Path)) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_manifest(&path, act);
        } else if path.file_name().is_some_and(|name| name == "shard.manifest") {
            act(&path);
        }
    }
}
fn manifest(path: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(path).unwrap();
    let (_, body) = text.split_once('\n').unwrap();
    serde_json::from_str(body).unwrap()
}
/// Lets a manifest say something else.
pub fn change_manifest(path: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let mut manifest = manifest(path);
    change(&mut manifest);
    let body = serde_json::to_string(&manifest).unwrap();
    let text = format!("quorate-shard 1 {:08x}\n{body}", crc32fast::hash(body.as_bytes()));
    std::fs::write(path, text).unwrap();
}
/// A copy of an index without files leaves none.
fn copies_of_nothing_leave_nothing(folder: &Path) {
    each_manifest(folder, &|path| {
        if manifest(path)["segments"].as_array().unwrap().is_empty() {
            std::fs::remove_file(path).unwrap();
        }
    });
}
/// What is given to an index by a copy or a link does not name its place.
fn what_is_given_names_no_place(folder: &Path) {
    let path = Layout::new(folder).shard(GIVEN, 0).join("shard.manifest");
    if path.exists() {
        change_manifest(&path, |manifest| manifest["payload"]["applied"] = 0.into());
    }
}
/// A durable commit between two steps of a command names all of it.
fn steps_are_not_counted(folder: &Path) {
    each_manifest(folder, &|path| {
        change_manifest(path, |manifest| {
            manifest["payload"].as_object_mut().unwrap().remove("step");
        });
    });
}

fn increment() -> IndexCommand {
    records(SOURCE, vec![partial("a", r#"{"n":{"_operation":"Increment","value":1}}"#)])
}
/// The list of what follows an index.
fn follow(revision: u64, followers: &[u64]) -> IndexCommand {
    let follower = |&incarnation| Follower { incarnation, kind: ReplicaKind::Standard };
    let followers = followers.iter().map(follower).collect();
    IndexCommand::Replicas { primary: SOURCE, revision, followers }
}

fn all() -> [Planted; 5] {
    let copy = || IndexCommand::Copy { from: SOURCE, to: GIVEN };
    let more = || [increment(), increment(), increment()];
    [
        Planted {
            name: "copies of nothing leave nothing",
            plant: copies_of_nothing_leave_nothing,
            log: vec![settings(SOURCE, r#"{"hitsPerPage":7}"#), copy(), increment(), increment()],
            shows: "index 2:",
        },
        Planted {
            name: "steps are not counted",
            plant: steps_are_not_counted,
            log: vec![
                increment(),
                IndexCommand::Sequence { commands: vec![increment(), copy(), increment()] },
                records(3, vec![put("a", 1)]),
            ],
            shows: "index 1:",
        },
        Planted {
            name: "a copy is what its source has by now",
            plant: what_is_given_names_no_place,
            log: [&[increment(), copy()][..], &more()].concat(),
            shows: "index 2:",
        },
        Planted {
            name: "a replica is filled with what its primary has by now",
            plant: what_is_given_names_no_place,
            // it is let go at once: what it has is what it was filled with
            log: [&[increment(), follow(1, &[GIVEN]), follow(2, &[])][..], &more()].concat(),
            shows: "index 2:",
        },
        Planted {
            name: "a replica is filled with what its primary has by now, and fed with it again",
            plant: what_is_given_names_no_place,
            log: [&[increment(), follow(1, &[GIVEN])][..], &more()].concat(),
            shows: "index 2:",
        },
    ]
}

#[test]
fn planted_bugs_are_found() {
    in_system_for(LONG, || {
        for Planted { name, plant, log, shows } in all() {
            let script = Script { hollow: vec![BTreeSet::new(); log.len() + 1], log, end: 4 };
            let sound = try_script(&script, 0, CUTS, |_| {});
            sound.unwrap_or_else(|e| panic!("found without what is planted: {name}: {e}"));
            let found = (0..50).find_map(|seed| try_script(&script, seed, 2 * CUTS, plant).err());
            let found = found.unwrap_or_else(|| panic!("not found: {name}"));
            // what the metadata store knows to have had files is missed by itself
            let is_it = found.contains(shows) && (found.contains("expected") || found.contains("are gone"));
            assert!(is_it, "found, but not what was planted: {name}: {found}");
            println!("{name}: {}", found.lines().next().unwrap_or(""));
        }
    });
}
