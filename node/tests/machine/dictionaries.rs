//! Does a group go by dictionaries from the place of its log at which it is told, also on a node that does not know them yet?

use super::*;
use quorate_model::dictionary::{DictionaryEntry, DictionaryWords};
use quorate_node::CustomEntries;

/// A word that has these parts.
fn custom(parts: &[&str]) -> CustomEntries {
    let parts = parts.iter().map(|part| (*part).into()).collect();
    let words = DictionaryWords::Compound { word: COMPOUND.into(), parts };
    let mut custom = CustomEntries::default();
    custom.insert(DictionaryEntry { object_id: "1".into(), language: "de", words });
    custom
}
/// The dictionaries of a revision: by those of the next one the word has other parts.
fn of_revision(revision: u64) -> CustomEntries {
    custom(if revision.is_multiple_of(2) { &PARTS[..2] } else { &PARTS[2..] })
}
/// The revision of dictionaries that a command tells a group of.
pub fn revision_of(command: &IndexCommand) -> u64 {
    match command {
        IndexCommand::Dictionaries { revision } => *revision,
        _ => 0,
    }
}
/// Lets a node know the dictionaries of a revision, if it knows none that are newer.
pub fn learn(node: &Node, revision: u64) {
    if revision > node.dictionaries().revision() {
        node.dictionaries().set(revision, of_revision(revision));
    }
}
/// How many records of an index have each of the parts in one of its words.
pub fn taken_apart(node: &Node, index: u64) -> [usize; 4] {
    PARTS.map(|part| found_by(node, index, part))
}
fn found_by(node: &Node, index: u64, query: &str) -> usize {
    let params = format!(r#"{{"query":"{query}","typoTolerance":false,"queryType":"prefixNone"}}"#);
    let params = SearchParams::from_json(&serde_json::from_str(&params).unwrap()).unwrap();
    let (view, pool) = (node.view(index).unwrap(), node.pool().clone());
    wait_for(pool.search_at_once(&view, params, ReadRights::default())).unwrap().hits.len()
}
pub fn record(id: &str, name: &str) -> RecordOp {
    let record = format!("{{\"name\":\"{name}\",\"objectID\":\"{id}\"}}").into_bytes();
    RecordOp::Put { object_id: id.into(), record }
}
/// A word that is taken apart as a dictionary says.
pub const COMPOUND: &str = "xylokubel";
const PARTS: [&str; 4] = ["xylok", "ubel", "xylo", "kubel"];
pub const APART: &str = r#"{"decompoundedAttributes":{"de":["name"]}}"#;

impl Rig {
    fn found_by(&self, query: &str) -> usize {
        found_by(&self.node, 1, query)
    }
    fn until_visible(&mut self, at: u64) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.node.is_visible(GROUP, at) {
            assert!(Instant::now() < deadline, "{at} is not visible");
            self.machine.resume_work().unwrap();
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_group_waits_for_dictionaries_that_its_node_does_not_know_yet() {
    in_system(|| {
        let dir = tempfile::tempdir().unwrap();
        let mut rig = Rig::open(dir.path(), vec![]);
        rig.node.dictionaries().set(3, custom(&["xylok", "ubel"]));
        rig.apply(settings(1, APART));
        rig.apply(records(1, vec![record("a", "xylokubel")]));
        rig.wait();
        assert_eq!((rig.found_by("ubel"), rig.found_by("kubel")), (1, 0), "made with what the node knows");
        let told = rig.apply(IndexCommand::Dictionaries { revision: 3 });
        rig.until_visible(told);
        // the log is ahead of what the node knows
        let ahead = rig.apply(IndexCommand::Dictionaries { revision: 5 });
        let after = rig.apply(records(1, vec![record("b", "xylokubel")]));
        rig.until_visible(after);
        rig.machine.resume_work().unwrap();
        assert!(!rig.node.is_visible(GROUP, ahead) && rig.found_by("kubel") == 0);
        assert!(
            rig.node.visible_through(GROUP) < ahead && rig.node.records_visible_through(GROUP) >= after,
            "no lease by that"
        );
        assert_eq!(rig.node.dictionaries().told(GROUP).unwrap().revision, 5);
        rig.node.dictionaries().set(6, custom(&["xylo", "kubel"]));
        assert!(!rig.node.is_visible(GROUP, ahead), "nothing is rebuilt yet");
        rig.until_visible(ahead);
        assert!(rig.node.visible_through(GROUP) >= ahead);
        assert_eq!((rig.found_by("ubel"), rig.found_by("kubel")), (0, 2));
        // told late, or again
        let late = rig.apply(IndexCommand::Dictionaries { revision: 5 });
        rig.until_visible(late);
        assert_eq!(rig.node.dictionaries().told(GROUP).unwrap().log_index, ahead);
    });
}

#[test]
fn what_a_group_was_told_outlives_a_kill_and_holds_until_files_fit() {
    in_system(|| {
        for knows in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let mut rig = Rig::open(dir.path(), vec![]);
            rig.apply(settings(1, APART));
            rig.apply(records(1, vec![record("a", "xylokubel")]));
            rig.wait();
            rig.node.index(1).unwrap().commit_writer().unwrap();
            let told = rig.apply(IndexCommand::Dictionaries { revision: 5 });
            rig.machine.checkpoint().unwrap();
            assert!(!rig.node.is_visible(GROUP, told));
            let log = rig.kill();
            let mut rig = Rig::open(dir.path(), log);
            assert!(!rig.node.is_visible(GROUP, told) && rig.found_by("kubel") == 0);
            if knows {
                rig.node.dictionaries().set(5, custom(&["xylo", "kubel"]));
                rig.until_visible(told);
                assert_eq!(rig.found_by("kubel"), 1);
            }
        }
    });
}
