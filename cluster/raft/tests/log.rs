//! Does the log on disk hold what it confirmed? Real files, reopened after orderly ends, kills and power cuts.
//!
//! `QUORATE_POWER_CUTS=all` cuts the power during 200 rounds of writes instead of 15.

#![allow(
    clippy::field_reassign_with_default,
    reason = "generated protobuf types are made empty and then filled"
)]

#[path = "disk/dead.rs"]
mod dead;
#[path = "disk/failing.rs"]
mod failing;
#[path = "disk/power.rs"]
mod power;
#[path = "disk/small.rs"]
mod small;

use parking_lot::Mutex;
use power::{Kept, PowerDisk};
use quorate_model::GroupId;
use quorate_raft::core::LogReader;
use quorate_raft::effects::{Persist, Position, SnapshotChange};
use quorate_raft::leaving::leave;
use quorate_raft::log::{Log, LogOptions, Report};
use quorate_raft::memory::{MemoryLog, SharedMemoryLog};
use quorate_store::space::Room;
use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const GROUP: GroupId = GroupId(5);
/// How long a write may take.
const WITHIN: Duration = Duration::from_secs(20);

/// A log with one group, beside a log in memory that was told the same.
struct Pair {
    log: Log,
    model: MemoryLog,
    seq: u64,
    reports: mpsc::Receiver<Report>,
}

impl Pair {
    fn open(options: LogOptions, model: MemoryLog) -> Pair {
        let log = Log::open(options).unwrap();
        let (sender, reports) = mpsc::channel();
        let sender = Mutex::new(sender);
        log.listen(GROUP, Arc::new(move |report| drop(sender.lock().send(report))));
        let pair = Pair { log, model, seq: 0, reports };
        pair.check();
        pair
    }
    fn persist(&mut self, fill: impl FnOnce(&mut Persist)) -> Persist {
        self.seq += 1;
        let mut persist = Persist::new(GROUP, self.seq);
        fill(&mut persist);
        persist
    }
    fn write(&mut self, fill: impl FnOnce(&mut Persist)) {
        let persist = self.persist(fill);
        self.model.write(&persist);
        self.log.submit(persist);
        let report = self.reports.recv_timeout(WITHIN).expect("a report in time");
        assert_eq!(report, Report::Persisted(self.seq));
        self.check();
    }
    fn found(&mut self) {
        self.write(|p| {
            p.identity = Some(1);
            p.conf = Some((1, conf(&[1])));
            p.truncated = Some(Position { index: 1, term: 1 });
            p.hard_state = Some(hard_state(1, 1));
        });
    }
    fn check(&self) {
        same(&self.log, &self.model, "while open");
    }
}

fn same(log: &Log, model: &MemoryLog, when: &str) {
    let (found, expected) = (log.stored(GROUP).unwrap(), model.stored());
    assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{when}");
    let (low, high) = (found.truncated.index + 1, found.last + 1);
    let mut entries = vec![];
    let mut next = low;
    while next < high {
        // A small limit: several reads, each at least one entry.
        let some = log.reader(GROUP).entries(next, high, 100).unwrap();
        next += some.len() as u64;
        entries.extend(some);
    }
    assert!(entries.iter().eq(model.entries()), "{when}: entries differ");
}

fn conf(voters: &[u64]) -> ConfState {
    let mut conf = ConfState::default();
    conf.voters = voters.to_vec();
    conf
}
fn hard_state(term: u64, commit: u64) -> HardState {
    let mut hard_state = HardState::default();
    hard_state.term = term;
    hard_state.vote = 1;
    hard_state.commit = commit;
    hard_state
}
fn entry(index: u64, term: u64, bytes: usize) -> Entry {
    let mut entry = Entry::default();
    entry.index = index;
    entry.term = term;
    entry.data = (0..bytes).map(|at| (at as u64 * 31 + index * 7 + term) as u8).collect::<Vec<_>>().into();
    entry
}
fn entries(range: std::ops::RangeInclusive<u64>, term: u64) -> Vec<Entry> {
    range.map(|index| entry(index, term, 40)).collect()
}
fn options(dir: &Path) -> LogOptions {
    LogOptions::new(dir)
}
/// Copies a folder's files, as a killed process leaves them.
fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for item in std::fs::read_dir(from).unwrap() {
        let item = item.unwrap();
        std::fs::copy(item.path(), to.join(item.file_name())).unwrap();
    }
}

/// Writes of every kind, one after another.
fn steps() -> Vec<Box<dyn Fn(&mut Persist)>> {
    let snapshot = |index, term| {
        let mut snapshot = Snapshot::default();
        snapshot.data = vec![7; 100].into();
        snapshot.mut_metadata().index = index;
        snapshot.mut_metadata().term = term;
        snapshot.mut_metadata().set_conf_state(conf(&[1, 2, 3]));
        SnapshotChange::Install(Box::new(snapshot))
    };
    vec![
        Box::new(|p| p.entries = entries(2..=9, 2)),
        // Another leader replaces a tail.
        Box::new(|p| {
            p.hard_state = Some(hard_state(3, 4));
            p.entries = entries(6..=7, 3);
        }),
        Box::new(|p| p.entries = vec![entry(8, 3, 300_000)]),
        Box::new(|p| p.truncated = Some(Position { index: 5, term: 2 })),
        Box::new(|p| p.conf = Some((8, conf(&[1, 2])))),
        Box::new(|p| p.entries = entries(9..=30, 3)),
        Box::new(|p| p.truncated = Some(Position { index: 30, term: 3 })),
        Box::new(|p| p.entries = entries(31..=40, 4)),
        // A snapshot of another history: what was there behind it counts no more.
        Box::new(move |p| {
            p.snapshot = snapshot(35, 6);
            p.hard_state = Some(hard_state(6, 35));
        }),
        Box::new(|p| p.entries = entries(36..=38, 6)),
        Box::new(|p| p.snapshot = SnapshotChange::Done),
        // And one that is far ahead.
        Box::new(move |p| {
            p.snapshot = snapshot(1_000, 7);
            p.hard_state = Some(hard_state(7, 1_000));
            p.entries = entries(1_001..=1_003, 7);
        }),
        Box::new(|p| p.truncated = Some(Position { index: 1_003, term: 7 })),
    ]
}

#[test]
fn everything_confirmed_is_there_after_each_end() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("log");
    let mut pair = Pair::open(options(&home), MemoryLog::default());
    pair.found();
    for (at, step) in steps().iter().enumerate() {
        pair.write(step);
        // A kill: the files as they are, without an orderly end.
        let killed = dir.path().join(format!("killed-{at}"));
        copy_dir(&home, &killed);
        same(&Log::open(options(&killed)).unwrap(), &pair.model, &format!("killed after step {at}"));
        // An orderly end.
        let model = pair.model.clone();
        drop(pair);
        pair = Pair::open(options(&home), model);
    }
}

#[test]
fn a_power_cut_at_any_point_loses_nothing_confirmed() {
    check_power_cuts(false);
}

#[test]
fn a_power_cut_while_cut_entries_leave_the_disk_loses_nothing_confirmed() {
    check_power_cuts(true);
}

fn check_power_cuts(erases: bool) {
    let dir = tempfile::tempdir().unwrap();
    let disk = PowerDisk::default();
    let home = dir.path().join("log");
    // so small that files are ended, written once more and removed within a few writes
    let always = Duration::ZERO;
    let small = LogOptions { file_bytes: 512, purge_every: always, erase_every: always, ..options(&home) };
    let mut pair = Pair::open(LogOptions { files: Arc::new(disk.clone()), ..small }, MemoryLog::default());
    let mut cuts = 0;
    let mut cut = |before: &MemoryLog, after: &MemoryLog, what: &str| {
        for kept in
            [Kept::Nothing, Kept::Prefix(500), Kept::Prefix(999), Kept::Pages(cuts), Kept::Pages(!cuts)]
        {
            cuts += 1;
            let left = dir.path().join(format!("cut-{cuts}"));
            disk.cut(&left, kept);
            let log = Log::open(options(&left)).unwrap_or_else(|e| panic!("{what}, {kept:?}: {e}"));
            let found = format!("{:?}", log.stored(GROUP).unwrap());
            // All of the write under way, or nothing of it.
            let model = if found == format!("{:?}", before.stored()) { before } else { after };
            same(&log, model, &format!("{what}, {kept:?}"));
            drop(log);
            std::fs::remove_dir_all(&left).unwrap();
        }
    };
    pair.found();
    for (at, step) in steps().iter().enumerate() {
        if erases {
            pair.log.erase(GROUP, pair.model.stored().truncated.index);
        }
        pair.write(step);
        cut(&pair.model, &pair.model, &format!("after step {at}"));
    }
    // Ordinary work, cut while a write may be under way.
    let rounds = if std::env::var_os("QUORATE_POWER_CUTS").is_some() { 200 } else { 15 };
    for round in 0..rounds {
        let next = pair.model.stored().last + 1;
        let before = pair.model.clone();
        let persist = pair.persist(|p| p.entries = entries(next..=next + round % 4, 8));
        pair.model.write(&persist);
        pair.log.submit(persist);
        if erases {
            pair.log.erase(GROUP, pair.model.stored().truncated.index);
        }
        cut(&before, &pair.model, &format!("during round {round}"));
        assert_eq!(pair.reports.recv_timeout(WITHIN).unwrap(), Report::Persisted(pair.seq));
        cut(&pair.model, &pair.model, &format!("after round {round}"));
    }
    assert!(cuts >= 200.max(5 * rounds), "{cuts} cuts");
    eprintln!("{cuts} cuts");
}

#[test]
fn files_without_live_entries_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    check_removal(LogOptions { purge_every: Duration::ZERO, ..options(dir.path()) });
}

/// Before anything is refused for want of room, files are removed that nobody needs.
#[test]
fn files_without_live_entries_are_removed_at_once_while_the_disk_fills_up() {
    let dir = tempfile::tempdir().unwrap();
    let never = Duration::from_secs(24 * 3600);
    let room = Room::new(dir.path(), u64::MAX / 8);
    assert!(room.is_tight());
    check_removal(LogOptions { purge_every: never, room, ..options(dir.path()) });
}

/// What no compression makes smaller.
fn noise(count: usize) -> bytes::Bytes {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Waits until the files of a log have fewer bytes.
fn shrinks_to(most: u64, dir: &Path) {
    let bytes = || {
        let items = std::fs::read_dir(dir).unwrap();
        // one that has just been removed has no bytes
        items.map(|item| item.unwrap().metadata().map_or(0, |found| found.len())).sum::<u64>()
    };
    let end = Instant::now() + WITHIN;
    while bytes() >= most {
        assert!(Instant::now() < end, "the log takes {} MB", bytes() >> 20);
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn check_removal(options: LogOptions) {
    let mut pair = Pair::open(options.clone(), MemoryLog::default());
    pair.found();
    let noise = noise(128 << 10);
    const LAST: u64 = 41;
    for index in 2..=LAST {
        let mut large = entry(index, 2, 0);
        large.data = noise.clone();
        pair.write(|p| {
            p.entries = vec![large];
            p.truncated = Some(Position { index: index - 1, term: if index == 2 { 1 } else { 2 } });
        });
    }
    pair.write(|p| p.truncated = Some(Position { index: LAST, term: 2 }));
    shrinks_to(110 << 20, &options.dir);
    let model = pair.model.clone();
    drop(pair);
    // The metadata store that lay in the removed files was carried over.
    Pair::open(options, model);
}

#[test]
fn groups_do_not_see_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(options(dir.path())).unwrap();
    let (sender, reports) = mpsc::channel();
    for group in 0..20 {
        let sender = Mutex::new(sender.clone());
        log.listen(GroupId(group), Arc::new(move |report| drop(sender.lock().send((group, report)))));
        let mut persist = Persist::new(GroupId(group), 1);
        persist.identity = Some(u64::from(group) + 100);
        persist.entries = entries(1..=u64::from(group) + 1, 1);
        log.submit(persist);
    }
    let mut done: Vec<_> = (0..20).map(|_| reports.recv_timeout(WITHIN).unwrap()).collect();
    done.sort_by_key(|(group, _)| *group);
    assert!(done.iter().enumerate().all(|(at, report)| *report == (at as u16, Report::Persisted(1))));
    drop(log);
    let log = Log::open(options(dir.path())).unwrap();
    for group in 0..20 {
        let stored = log.stored(GroupId(group)).unwrap();
        assert_eq!((stored.identity, stored.last), (Some(u64::from(group) + 100), u64::from(group) + 1));
    }
    assert_eq!(log.stored(GroupId(20)).unwrap().identity, None);
}

#[test]
fn a_second_process_on_the_same_folder_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let _first = Log::open(options(dir.path())).unwrap();
    assert!(Log::open(options(dir.path())).is_err());
}

#[test]
fn leaving_keeps_identity_term_and_vote_over_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = Pair::open(LogOptions::new(dir.path()), MemoryLog::default());
    pair.found();
    pair.write(|p| {
        p.entries = vec![entry(2, 3, 9), entry(3, 3, 9)];
        p.hard_state = Some(hard_state(4, 2));
    });
    let model = SharedMemoryLog(Arc::new(Mutex::new(pair.model.clone())));
    let stored = pair.model.stored();
    let persist = leave(GROUP, &stored, &model).unwrap();
    pair.model.write(&persist);
    pair.log.leave(GROUP, Duration::from_secs(20)).unwrap();
    same(&pair.log, &pair.model, "after leaving");
    let left = pair.log.stored(GROUP).unwrap();
    assert_eq!((left.identity, left.left, left.last), (Some(1), Position { index: 3, term: 3 }, 0));
    let Pair { log, model, .. } = pair;
    drop(log);
    let mut pair = Pair::open(LogOptions::new(dir.path()), model);
    // Later it is added again and goes on behind a snapshot.
    let mut snapshot = Snapshot::default();
    snapshot.mut_metadata().index = 9;
    snapshot.mut_metadata().term = 5;
    pair.write(|p| p.snapshot = SnapshotChange::Install(Box::new(snapshot)));
    pair.write(|p| p.entries = vec![entry(10, 5, 9)]);
}
