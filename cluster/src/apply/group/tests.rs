//! A group over a machine that only remembers, so that crashes can be put between any two steps.

use super::*;
use crate::command::{Command, Entry, MetaCommand};
use bytes::Bytes;
use parking_lot::Mutex;
use quorate_model::RecordOp;
use quorate_node::ops::IndexCommand;
use quorate_store::files::RealFiles;
use quorate_store::incoming::Replacement;
use quorate_store::kv::{Batch, Kv};
use quorate_store::layout;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

const ROW: &[u8] = b"t";
const REPLAY: &[u8] = b"p";

/// What a shard's files hold: the letters of each command, by log index. It outlives a crash.
type ShardFiles = Arc<Mutex<BTreeMap<u64, String>>>;

/// Keeps the letters of what it applied: as metadata in its tree, and as records that reach their files late.
struct Notes {
    tree: Tree,
    letters: String,
    applied: u64,
    known: u64,
    files: ShardFiles,
    /// Handed over, not in the files yet.
    pending: VecDeque<(u64, String)>,
    /// How many may be pending.
    lag: usize,
    halt: Halt,
    compared: Vec<u64>,
    forgets_through: u64,
}

impl Notes {
    fn open(tree: Tree, files: ShardFiles, lag: usize) -> Notes {
        let row = tree.get(ROW).expect("a tree").unwrap_or_default();
        let letters = String::from_utf8(row).expect("letters");
        let applied = tree.applied();
        Notes {
            tree,
            letters,
            applied,
            known: applied,
            files,
            pending: VecDeque::new(),
            lag,
            halt: Halt::default(),
            compared: vec![],
            forgets_through: 0,
        }
    }
    fn flush_one(&mut self) {
        if let Some((log_index, letters)) = self.pending.pop_front() {
            self.files.lock().insert(log_index, letters);
        }
    }
}

impl Machine for Notes {
    fn replay_from(&self) -> Result<u64, Failure> {
        let row = self.tree.get(REPLAY)?;
        Ok(row.map_or(self.applied, |row| u64::from_le_bytes(row.try_into().expect("eight bytes"))))
    }
    fn applied(&self) -> u64 {
        self.applied
    }
    fn apply(&mut self, at: LogPosition, command: Command) -> Result<(), Failure> {
        if command.is_comparison() {
            self.compared.push(at.index);
            self.pass(at.index);
            return Ok(());
        }
        let Command::Index(IndexCommand::Records { ops, .. }) = command else {
            return Err(Failure::Foreign { log_index: at.index });
        };
        let mut letters = String::new();
        for op in ops {
            let RecordOp::Delete { object_id } = op else { panic!("{op:?}") };
            letters.push_str(&object_id);
        }
        if at.index > self.known {
            self.letters.push_str(&letters);
        }
        let flushed_through = self.files.lock().last_key_value().map_or(0, |(&last, _)| last);
        if at.index > flushed_through {
            self.pending.push_back((at.index, letters));
        }
        while self.pending.len() > self.lag {
            self.flush_one();
        }
        self.pass(at.index);
        Ok(())
    }
    fn pass(&mut self, log_index: u64) {
        self.applied = self.applied.max(log_index);
    }
    fn checkpoint(&mut self) -> Result<(), Failure> {
        let mut batch = Batch::new(self.applied);
        batch.put(ROW, self.letters.clone());
        batch.put(REPLAY, self.durable_through().to_le_bytes());
        Ok(self.tree.apply(&batch)?)
    }
    fn durable_through(&self) -> u64 {
        // as a shard says it: everything before the first command that is not in its files
        self.pending.front().map_or(self.applied, |(first, _)| first - 1)
    }
    fn forgets_through(&self) -> u64 {
        self.forgets_through
    }
    fn incarnations(&self) -> Vec<Incarnation> {
        vec![]
    }
    fn export(&mut self, _: &Layout) -> Result<(), Failure> {
        while !self.pending.is_empty() {
            self.flush_one();
        }
        Ok(())
    }
    fn replace(&mut self, with: &Replacement) -> Result<Head, Failure> {
        let head = with.restore(&self.tree)?;
        *self = Notes::open(self.tree.clone(), self.files.clone(), self.lag);
        Ok(head)
    }
    fn leave(&mut self) -> Result<(), Failure> {
        Ok(())
    }
    fn close(&mut self) -> Result<(), Failure> {
        while !self.pending.is_empty() {
            self.flush_one();
        }
        self.checkpoint()
    }
    fn halt(&self) -> Halt {
        self.halt.clone()
    }
    fn abandon(&mut self) {
        self.pending.clear();
    }
}

/// The log that a script stands for: `a` one command, `b/3` one in three chunks, `-` an empty entry.
fn log(script: &str) -> Vec<CommittedEntry> {
    let mut entries = vec![];
    for word in script.split(' ') {
        let (letter, chunks) =
            word.split_once('/').map_or((word, 1), |(l, n)| (l, n.parse().expect("a number")));
        for chunk in 0..chunks {
            let ops = vec![RecordOp::Delete { object_id: letter.into() }];
            let command = Command::Index(IndexCommand::Records { index: 1, ops });
            let entry = Entry { time_ms: entries.len() as u64 - u64::from(chunk), chunk, chunks, command };
            let data = if word == "-" { Bytes::new() } else { entry.encode().into() };
            entries.push(CommittedEntry { index: entries.len() as u64 + 1, term: 1, data });
        }
    }
    entries
}

struct Disk {
    kv: Kv,
    shard: ShardFiles,
    folder: tempfile::TempDir,
}

impl Disk {
    fn new() -> Disk {
        let folder = tempfile::tempdir().expect("a folder");
        let (kv, _) = Kv::open(&folder.path().join("state"), RealFiles::shared(), 1 << 20).expect("a store");
        std::fs::create_dir(folder.path().join("dumps")).expect("a folder");
        Disk { kv, shard: ShardFiles::default(), folder }
    }
    fn path(&self) -> &Path {
        self.folder.path()
    }
    fn open(&self, lag: usize) -> GroupApply<Notes> {
        let tree = self.kv.tree(&layout::tree(GroupId(1))).expect("a tree");
        let place = DumpPlace {
            group: GroupId(1),
            tree: tree.clone(),
            data: Layout::new(self.path()),
            files: RealFiles::shared(),
            found: DumpFound::Whole,
        };
        GroupApply::open(Notes::open(tree, self.shard.clone(), lag), place).expect("a group")
    }
}

/// Dies after every entry of a log, and again in the replay: the metadata store is as old as `kept` says, files gained
/// `flushed` commands since.
#[test]
fn every_command_is_applied_once_wherever_a_node_dies() {
    let log = log("- a b/3 c - d/2 e/4");
    let disk = Disk::new();
    let cases =
        (0..=log.len()).flat_map(|crash| (0..4).flat_map(move |lag| (0..12).map(move |n| (crash, lag, n))));
    for (crash, lag, n) in cases {
        let (kept, flushed) = ([0, 1, 2, 5][n % 4], n / 4);
        let case = format!("dies after {crash}, lag {lag}, {kept} entries lost, {flushed} commands flushed");
        let tree = disk.kv.tree(&layout::tree(GroupId(1))).expect("a tree");
        tree.restore(0, &mut std::iter::empty()).expect("an empty tree");
        disk.shard.lock().clear();
        let mut group = disk.open(lag);
        for (at, entry) in log[..crash].iter().enumerate() {
            group.take(entry).expect("applied");
            if at + kept < crash {
                group.checkpoint().expect("written");
            }
        }
        for _ in 0..flushed {
            group.machine.flush_one();
        }
        drop(group);
        // each start gets one entry further and dies
        for _ in 0..3 {
            let mut group = disk.open(lag);
            let from = group.taken() as usize;
            assert!(from <= log.len(), "{case}");
            if let Some(entry) = log.get(from) {
                group.take(entry).expect("applied");
                group.checkpoint().expect("written");
            }
        }
        let mut group = disk.open(lag);
        for entry in &log[group.taken() as usize..] {
            group.take(entry).expect("applied");
        }
        group.machine.close().expect("closed");
        let in_files: String = disk.shard.lock().values().map(String::as_str).collect();
        assert_eq!(
            (group.machine().letters.as_str(), in_files.as_str()),
            ("abbbcddeeee", "abbbcddeeee"),
            "{case}"
        );
    }
}

/// A replay passes through states that were never there: what it would note there is no state to compare with others.
#[test]
fn nothing_is_noted_for_comparisons_that_a_start_finds_in_the_log() {
    let compare = |index: u64| {
        let command = Command::Index(IndexCommand::Compare);
        let data = Entry { time_ms: 0, chunk: 0, chunks: 1, command }.encode().into();
        CommittedEntry { index, term: 1, data }
    };
    let disk = Disk::new();
    let mut group = disk.open(0).continuing(2);
    for index in 1..=4 {
        group.take(&compare(index)).expect("applied");
    }
    assert_eq!((group.machine().compared.as_slice(), group.machine().applied()), ([3, 4].as_slice(), 4));
}

#[test]
fn the_log_is_cut_only_where_a_restart_can_begin() {
    // log, lag → how far the log may be cut after a dump at its end
    for (script, lag, expected) in [
        ("a b c", 0, Some(3)),
        ("a b c", 1, Some(2)),
        ("a b/3 c", 1, Some(4)),
        ("a b/3", 1, Some(1)),
        ("a b/3 c", 2, Some(1)),
        ("b/3", 1, None),
        ("- -", 0, None),
    ] {
        let disk = Disk::new();
        let mut group = disk.open(lag);
        for entry in log(script) {
            group.take(&entry).expect("applied");
        }
        assert_eq!(group.dump(DumpWhen::Due).expect("no failure"), None, "nothing is due: {script}");
        assert_eq!(group.dump(DumpWhen::Now).expect("written"), expected, "{script} lag {lag}");
        assert_eq!(group.dump(DumpWhen::Now).expect("written"), None, "nothing new: {script}");
        drop(group);
        let restart = disk.open(lag);
        assert!(restart.taken() >= expected.unwrap_or(0), "{script} lag {lag}: from {}", restart.taken());
    }
}

/// However little is in it, and once: also when the process dies before the entries have left the disk.
#[test]
fn the_log_is_cut_where_it_names_somebody_who_is_forgotten() {
    let disk = Disk::new();
    let mut group = disk.open(0);
    for entry in log("a b c d") {
        group.take(&entry).expect("applied");
    }
    for (erased, expected) in [(0, Some(4)), (0, Some(4)), (3, None)] {
        group.machine.forgets_through = 3;
        group.note_erased(erased);
        assert_eq!(group.forgets_through(), None, "nothing is cut in this life");
        assert_eq!(group.dump(DumpWhen::Due).expect("no failure"), expected, "{erased}");
        assert_eq!(group.forgets_through(), expected.map(|_| 3), "{erased}");
        assert_eq!(group.dump(DumpWhen::Due).expect("no failure"), None, "{erased}: once is enough");
        drop(group);
        group = disk.open(0);
    }
}

#[test]
fn a_batch_under_way_holds_the_log() {
    let disk = Disk::new();
    let mut group = disk.open(0);
    let entries = log("a b c/3");
    for entry in &entries[..4] {
        group.take(entry).expect("applied");
    }
    assert_eq!((group.taken(), group.machine().applied()), (4, 2));
    assert_eq!(group.dump(DumpWhen::Now).expect("written"), Some(2));
    drop(group);
    let mut group = disk.open(0);
    assert_eq!(group.taken(), 2);
    for entry in &entries[2..] {
        group.take(entry).expect("applied");
    }
    assert_eq!(group.machine().letters, "abccc");
}

#[test]
fn a_dump_that_cannot_be_written_keeps_the_log_and_damage_is_a_failure() {
    let disk = Disk::new();
    let mut group = disk.open(0);
    for entry in log("a b") {
        group.take(&entry).expect("applied");
    }
    std::fs::create_dir_all(disk.path().join("dumps/1.dump/in-the-way")).expect("a folder");
    assert_eq!(group.dump(DumpWhen::Now).expect("no failure"), None);
    std::fs::remove_dir_all(disk.path().join("dumps/1.dump")).expect("removed");
    assert_eq!(group.dump(DumpWhen::Now).expect("written"), Some(2));

    let foreign = Entry { time_ms: 1, chunk: 0, chunks: 1, command: Command::Meta(MetaCommand::StartNode) };
    for (data, expected) in [(foreign.encode(), "not one for this group"), (vec![9; 40], "format 9")] {
        let entry = CommittedEntry { index: 3, term: 1, data: data.into() };
        let failure = group.take(&entry).expect_err("a failure").to_string();
        assert!(failure.contains("log index 3") && failure.contains(expected), "{failure}");
    }
}

#[test]
fn a_group_stands_still_before_a_command_of_a_newer_program_and_goes_on_with_one() {
    let disk = Disk::new();
    let mut entries = log("a b/2 c/3 d");
    let newer = |entry: &mut CommittedEntry| {
        let mut data = entry.data.to_vec();
        data[1] = 2;
        entry.data = data.into();
    };
    // all three chunks of c are of level 2: none of them is begun with
    entries[3..6].iter_mut().for_each(newer);
    let mut old = disk.open(0).knowing(1);
    let halt = old.halt();
    assert!(old.take_all(&entries[..3]).expect("applied") && halt.reason().is_none());
    assert!(!old.take_all(&entries[3..]).expect("no failure"));
    let reason = halt.reason().expect("a reason");
    assert!(reason.contains("log index 4") && reason.contains("level 2"), "{reason}");
    assert_eq!((old.taken(), old.machine().letters.as_str()), (3, "abb"));
    old.close().expect("closed");
    drop(old);

    let mut new = disk.open(0).knowing(2);
    let from = new.taken() as usize;
    assert!(new.take_all(&entries[from..]).expect("applied"));
    assert_eq!(new.machine().letters, "abbcccd");
}

#[test]
fn a_newer_command_after_parts_leaves_them_to_a_newer_program() {
    let disk = Disk::new();
    let mut entries = log("a c/3");
    let mut data = entries[2].data.to_vec();
    data[1] = 2;
    entries[2].data = data.into();
    let mut old = disk.open(0).knowing(1);
    assert!(!old.take_all(&entries).expect("no failure"));
    assert_eq!(old.dump(DumpWhen::Now).expect("written"), Some(1), "the part before it is kept");
    drop(old);
    let mut new = disk.open(0);
    let from = new.taken() as usize;
    assert!(new.take_all(&entries[from..]).expect("applied"));
    assert_eq!(new.machine().letters, "accc");
}
