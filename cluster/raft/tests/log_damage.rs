//! Does a damaged log say so? After any byte of it is changed, a start finds exactly what was answered, or refuses and says where.
//!
//! `QUORATE_DAMAGE=all` changes every byte instead of one in 41.

#![allow(
    clippy::field_reassign_with_default,
    reason = "generated protobuf types are made empty and then filled"
)]

use parking_lot::Mutex;
use quorate_model::GroupId;
use quorate_raft::RaftError;
use quorate_raft::core::LogReader;
use quorate_raft::effects::{Persist, Position};
use quorate_raft::log::{Log, LogOptions, Report};
use quorate_raft::log_inspect::{LogReport, inspect};
use quorate_raft::log_mend;
use raft::eraftpb::{ConfState, Entry, HardState};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const GROUPS: [GroupId; 2] = [GroupId(0), GroupId(3)];
const WITHIN: Duration = Duration::from_secs(20);
/// The file that notes what is durable.
const MARK: &str = "durable-through";

/// All that was answered.
type Content = BTreeMap<GroupId, (u64, u64, Vec<Entry>)>;

fn content(log: &Log) -> Result<Content, RaftError> {
    let mut content = Content::new();
    for group in GROUPS {
        let stored = log.stored(group)?;
        let mut entries = vec![];
        while (entries.len() as u64) < stored.last - stored.truncated.index {
            let next = stored.truncated.index + 1 + entries.len() as u64;
            entries.extend(log.reader(group).entries(next, stored.last + 1, u64::MAX)?);
        }
        content.insert(group, (stored.hard_state.term, stored.hard_state.commit, entries));
    }
    Ok(content)
}

fn entry(index: u64, term: u64, bytes: usize) -> Entry {
    let mut entry = Entry::default();
    (entry.index, entry.term) = (index, term);
    let letter = |at: usize| b'a' + ((at as u64 * 31 + index * 7) % 23) as u8;
    entry.data = (0..bytes).map(letter).collect::<Vec<_>>().into();
    entry
}

/// Writes two groups in turn: small records, one of several groups, one that is compressed, one across many sectors.
fn write(log: &Log) {
    let (sender, reports) = mpsc::channel();
    for group in GROUPS {
        let sender = Mutex::new(sender.clone());
        log.listen(group, Arc::new(move |report| drop(sender.lock().send(report))));
    }
    let write = |seq: u64, group: GroupId, fill: &dyn Fn(&mut Persist)| {
        let mut persist = Persist::new(group, seq);
        fill(&mut persist);
        log.submit(persist);
        assert_eq!(reports.recv_timeout(WITHIN).unwrap(), Report::Persisted(seq));
    };
    for group in GROUPS {
        write(1, group, &|p| {
            let mut conf = ConfState::default();
            conf.voters = vec![7];
            (p.identity, p.conf) = (Some(7), Some((1, conf)));
            p.truncated = Some(Position { index: 1, term: 1 });
        });
    }
    let bytes = [30, 200, 3_000, 12_000, 700, 40];
    for (round, bytes) in (2..).zip(bytes) {
        for group in GROUPS {
            write(round, group, &|p| {
                p.entries = vec![entry(2 * round, 2, bytes), entry(2 * round + 1, 2, 9)];
                if round == 2 {
                    p.entries.insert(0, entry(3, 2, 9));
                    p.entries.insert(0, entry(2, 2, 9));
                }
                let mut hard_state = HardState::default();
                (hard_state.term, hard_state.vote, hard_state.commit) = (2, 7, 2 * round - 1);
                p.hard_state = Some(hard_state);
            });
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for item in std::fs::read_dir(from).unwrap() {
        let item = item.unwrap();
        std::fs::copy(item.path(), to.join(item.file_name())).unwrap();
    }
}

/// A log as it is left: its folder and what it must still say.
struct Left {
    what: &'static str,
    _home: tempfile::TempDir,
    dir: PathBuf,
    content: Content,
}

/// Logs that were closed, and killed without a note of what is durable: the harshest case.
fn logs() -> Vec<Left> {
    let mut logs = vec![];
    for what in ["killed", "closed"] {
        let home = tempfile::tempdir().unwrap();
        let (live, dir) = (home.path().join("live"), home.path().join(what));
        let log = Log::open(LogOptions::new(&live)).unwrap();
        write(&log);
        let content = content(&log).unwrap();
        if what == "killed" {
            copy(&live, &dir);
            std::fs::remove_file(dir.join(MARK)).unwrap();
            for file in files(&dir) {
                // of what is reserved behind the records a little is enough
                let bytes = std::fs::read(&file).unwrap();
                let used = bytes.iter().rposition(|&byte| byte != 0).unwrap() + 1;
                std::fs::write(&file, &bytes[..bytes.len().min(used + 8_192)]).unwrap();
            }
        } else {
            drop(log);
            copy(&live, &dir);
        }
        logs.push(Left { what, _home: home, dir, content });
    }
    logs
}

/// Starts and looks; an error must name the file. Returns whether it was refused.
fn is_refused(left: &Left, file: &Path, when: &str) -> bool {
    let report: LogReport = inspect(&left.dir).unwrap();
    if !report.damage.is_empty() {
        let text = report.to_string();
        assert!(text.contains(&file.display().to_string()), "{when}: {text}");
        return true;
    }
    let log = Log::open(LogOptions::new(&left.dir)).unwrap_or_else(|e| panic!("{when}: {e}"));
    let found = content(&log).unwrap_or_else(|e| panic!("{when}: {e}"));
    assert!(found == left.content, "{when}: a start without a word has lost what was answered");
    false
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|item| item.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|it| it == "raftlog" || it == "rewrite"));
    files.sort();
    files
}

/// Does something to a file, looks, and puts everything back.
fn with_changed(
    left: &Left,
    file: &Path,
    before: &[u8],
    change: impl FnOnce(&mut Vec<u8>),
    when: &str,
) -> bool {
    let mark = std::fs::read(left.dir.join(MARK)).ok();
    let mut bytes = before.to_vec();
    change(&mut bytes);
    std::fs::write(file, &bytes).unwrap();
    let refused = is_refused(left, file, when);
    std::fs::write(file, before).unwrap();
    match mark {
        Some(mark) => std::fs::write(left.dir.join(MARK), mark).unwrap(),
        None => drop(std::fs::remove_file(left.dir.join(MARK))),
    }
    refused
}

#[test]
fn a_changed_byte_anywhere_is_told_or_changes_nothing() {
    let step = if std::env::var_os("QUORATE_DAMAGE").is_some() { 1 } else { 41 };
    for left in logs() {
        let (mut refused, mut tried) = (0, 0);
        for file in files(&left.dir) {
            let before = std::fs::read(&file).unwrap();
            let used = before.iter().rposition(|&byte| byte != 0).unwrap_or(0) + 1;
            // densely where the last record ends, and a little of what is reserved behind it
            let places = (0..used).filter(|at| at % step == 0 || used - at < 60);
            for at in places.chain([used + 3, used + 600, used + 5_000]).filter(|&at| at < before.len()) {
                for flip in [1 << (at % 8), 0xff] {
                    let when = format!("{}: {}, byte {at} ^ {flip}", left.what, file.display());
                    let is_refused = with_changed(&left, &file, &before, |b| b[at] ^= flip, &when);
                    if at < used && used > 100 {
                        refused += u64::from(is_refused);
                        tried += 1;
                    }
                }
            }
        }
        assert!(refused * 10 > tried * 9, "{}: {refused} of {tried}", left.what);
    }
}

#[test]
fn sectors_and_ends_that_are_lost_behind_what_is_noted_as_durable_are_told() {
    let left = logs().pop().unwrap();
    assert_eq!(left.what, "closed");
    let mut refused = 0;
    for file in files(&left.dir) {
        let before = std::fs::read(&file).unwrap();
        for sector in (0..before.len()).step_by(512) {
            let end = before.len().min(sector + 512);
            let when = |what| format!("{} {what} at {sector}", file.display());
            refused +=
                u64::from(with_changed(&left, &file, &before, |b| b[sector..end].fill(0), &when("zeros")));
            refused += u64::from(with_changed(&left, &file, &before, |b| b.truncate(sector), &when("cut")));
        }
    }
    assert!(refused > 20, "{refused}");
}

#[test]
fn what_is_gone_is_named_by_group_and_entries() {
    for left in logs() {
        let file = files(&left.dir).remove(0);
        let before = std::fs::read(&file).unwrap();
        // inside the 3,000 bytes of the third write: entries 8 and 9 of one of the groups
        let long = entry(8, 2, 3_000).data;
        let at = before.windows(900).position(|window| window == &long[1_000..1_900]).unwrap();
        let mut bytes = before.clone();
        bytes[at] ^= 4;
        std::fs::write(&file, &bytes).unwrap();
        let report = inspect(&left.dir).unwrap();
        assert_eq!(report.damage.len(), 1, "{report}");
        let damage = &report.damage[0];
        let lost: Vec<_> = damage.lost.iter().map(|(group, it)| (*group, it.clone())).collect();
        assert_eq!(lost, [(GROUPS[0], 8..10)], "{}: {report}", left.what);
        assert!(!damage.is_open && damage.at.contains(&(at as u64)), "{report}");
        // a byte of the items: the gap tells
        let end = damage.at.end as usize;
        std::fs::write(&file, &before).unwrap();
        let mut bytes = before.clone();
        bytes[end - 6] ^= 4;
        std::fs::write(&file, &bytes).unwrap();
        let report = inspect(&left.dir).unwrap();
        assert_eq!(report.damage[0].lost.get(&GROUPS[0]), Some(&(8..10)), "{report}");
        assert!(report.damage[0].is_open);
        assert_eq!(report.groups[&GROUPS[0]].entries, Some((2, 15)));
        let opened = Log::open(LogOptions::new(&left.dir)).map(|_| ()).unwrap_err().to_string();
        assert!(opened.contains("group 0 lacks entries 8 to 9"), "{opened}");
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "nothing was changed");
    }
}

#[test]
fn a_mended_log_lacks_what_the_damage_took_and_nothing_else() {
    for left in logs() {
        let file = files(&left.dir).remove(0);
        let before = std::fs::read(&file).unwrap();
        let used = before.iter().rposition(|&byte| byte != 0).unwrap() + 1;
        for at in (16..used).step_by(641).chain([70, used - 30]) {
            let mut bytes = before.clone();
            bytes[at] ^= 4;
            std::fs::write(&file, &bytes).unwrap();
            let report = inspect(&left.dir).unwrap();
            if report.damage.iter().any(|damage| damage.lost.is_empty() && at > 700 && at < used - 200) {
                panic!("byte {at}: {report}");
            }
            let home = tempfile::tempdir().unwrap();
            let mended = home.path().join("mended");
            log_mend::copy_without_damage(&left.dir, &mended).unwrap();
            assert_eq!(std::fs::read(&file).unwrap(), bytes, "the damaged one stays as it is");
            assert_eq!(inspect(&mended).unwrap().damage, [], "byte {at}");
            let log = Log::open(LogOptions::new(&mended)).unwrap();
            if at < 700 {
                // whose log it is stands there; see the recovery of the node
                continue;
            }
            let found = content(&log).unwrap();
            for (group, (_, _, entries)) in &left.content {
                let lost = report.damage.iter().find_map(|damage| damage.lost.get(group)).cloned();
                let lost = lost.unwrap_or_default();
                for (found, expected) in found[group].2.iter().zip(entries) {
                    match lost.contains(&expected.index) {
                        true => assert!(found.data.is_empty() && found.index == expected.index, "{at}"),
                        false => assert_eq!(found, expected, "byte {at}, group {group}"),
                    }
                }
                // only what stood at the very end can be missing without a trace
                assert!(found[group].2.len() + 2 >= entries.len(), "byte {at}, group {group}");
            }
        }
        std::fs::write(&file, &before).unwrap();
    }
}
