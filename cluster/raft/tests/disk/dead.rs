//! Does what a log has cut stay away, also after a start, and does it leave the disk when it is to?

use super::*;
use std::path::{Path, PathBuf};

/// A log of small files with eight entries, in a file that another group has filled.
fn with_small_files(folder: &Path) -> (LogOptions, Pair, Traffic) {
    let small = LogOptions { file_bytes: 4 << 10, purge_every: Duration::ZERO, ..options(folder) };
    let mut pair = Pair::open(small.clone(), MemoryLog::default());
    let mut traffic = Traffic::new(&pair.log, folder);
    pair.found();
    pair.write(|p| p.entries = entries(2..=9, 2));
    traffic.passes(&pair.log);
    (small, pair, traffic)
}

/// Entries that were written once more, when their file was removed, stand in another file than the word that they count no more.
/// That word goes with its own file, so a start finds them again.
#[test]
fn what_a_snapshot_has_replaced_does_not_come_back_with_a_start() {
    let (at_end, far_ahead) = (Position { index: 6, term: 3 }, Position { index: 1_000, term: 3 });
    for snapshot_at in [at_end, far_ahead] {
        let dir = tempfile::tempdir().unwrap();
        let (small, mut pair, mut traffic) = with_small_files(dir.path());
        pair.write(|p| {
            let mut snapshot = Snapshot::default();
            snapshot.mut_metadata().index = snapshot_at.index;
            snapshot.mut_metadata().term = snapshot_at.term;
            snapshot.mut_metadata().set_conf_state(conf(&[1, 2, 3]));
            p.snapshot = SnapshotChange::Install(Box::new(snapshot));
        });
        traffic.passes(&pair.log);
        pair.write(|p| p.snapshot = SnapshotChange::Done);
        traffic.passes(&pair.log);
        let next = snapshot_at.index + 1;
        for start in 0..3 {
            let model = pair.model.clone();
            drop(pair);
            pair = Pair::open(small.clone(), model);
            if start == 1 {
                pair.write(|p| p.entries = entries(next..=next + 2, 3));
            }
        }
    }
}

/// The same without a snapshot: of entries that are cut, of a tail that was replaced and cut, and of a group that was left.
#[test]
fn what_was_cut_does_not_come_back_with_a_start() {
    type Cut = fn(&mut Pair);
    let cuts: [(Cut, u64, u64); 3] = [
        (
            |pair| {
                pair.write(|p| p.entries = entries(10..=12, 2));
                pair.write(|p| p.truncated = Some(Position { index: 12, term: 2 }));
            },
            13,
            2,
        ),
        (
            |pair| {
                pair.write(|p| p.entries = entries(4..=5, 3));
                pair.write(|p| p.truncated = Some(Position { index: 5, term: 3 }));
            },
            6,
            3,
        ),
        (
            |pair| {
                pair.write(|p| p.truncated = Some(Position { index: 4, term: 2 }));
                pair.write(|p| p.snapshot = SnapshotChange::Leave(Position { index: 9, term: 2 }));
            },
            1,
            3,
        ),
    ];
    for (cut, next, term) in cuts {
        let dir = tempfile::tempdir().unwrap();
        let (small, mut pair, mut traffic) = with_small_files(dir.path());
        cut(&mut pair);
        traffic.passes(&pair.log);
        for start in 0..3 {
            let model = pair.model.clone();
            drop(pair);
            pair = Pair::open(small.clone(), model);
            if start == 1 {
                pair.write(|p| p.entries = entries(next..=next + 2, term));
            }
        }
    }
}

/// Another group of the same log, which writes and cuts.
struct Traffic {
    reports: mpsc::Receiver<Report>,
    index: u64,
    dir: PathBuf,
}

impl Traffic {
    const GROUP: GroupId = GroupId(GROUP.0 + 1);

    fn new(log: &Log, dir: &Path) -> Traffic {
        let (sender, reports) = mpsc::channel();
        let sender = Mutex::new(sender);
        log.listen(Self::GROUP, Arc::new(move |report| drop(sender.lock().send(report))));
        Traffic { reports, index: 0, dir: dir.to_owned() }
    }
    /// Writes until every file is gone that is there now.
    fn passes(&mut self, log: &Log) {
        let (newest, end) = (self.files().pop(), Instant::now() + WITHIN);
        while self.files().first() <= newest.as_ref() {
            assert!(Instant::now() < end, "files stay");
            self.writes(log);
        }
    }
    fn writes(&mut self, log: &Log) {
        self.index += 1;
        let mut persist = Persist::new(Self::GROUP, self.index);
        persist.identity = Some(1);
        let mut noisy = entry(self.index, 1, 0);
        noisy.data = noise(1 << 10);
        persist.entries = vec![noisy];
        persist.truncated = (self.index > 1).then(|| Position { index: self.index - 1, term: 1 });
        log.submit(persist);
        assert_eq!(self.reports.recv_timeout(WITHIN).unwrap(), Report::Persisted(self.index));
    }
    fn files(&self) -> Vec<std::ffi::OsString> {
        let names = std::fs::read_dir(&self.dir).unwrap().map(|item| item.unwrap().file_name());
        let mut names: Vec<_> = names.filter(|name| name.to_string_lossy().ends_with(".raftlog")).collect();
        names.sort();
        names
    }
}

/// In a file that is not full, which would stay for months.
#[test]
fn entries_that_are_cut_leave_the_disk_when_they_are_to() {
    const SECRET: &[u8] = b"a secret that is to be forgotten";
    let dir = tempfile::tempdir().unwrap();
    let mut pair =
        Pair::open(LogOptions { erase_every: Duration::ZERO, ..options(dir.path()) }, MemoryLog::default());
    pair.found();
    let is_on_disk = || {
        let items = std::fs::read_dir(dir.path()).unwrap();
        items
            .map(|item| std::fs::read(item.unwrap().path()).unwrap_or_default())
            .any(|bytes| bytes.windows(SECRET.len()).any(|part| part == SECRET))
    };
    let leaves = || {
        let end = Instant::now() + WITHIN;
        while is_on_disk() {
            assert!(Instant::now() < end, "it stays");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let mut secret = entry(2, 2, 0);
    secret.data = SECRET.into();
    pair.write(|p| p.entries = vec![secret.clone()]);
    pair.write(|p| p.entries = entries(3..=9, 2));
    pair.log.erase(GROUP, 4);
    pair.write(|p| p.truncated = Some(Position { index: 3, term: 2 }));
    assert!(is_on_disk(), "entry 4 is not cut");
    pair.write(|p| p.truncated = Some(Position { index: 5, term: 2 }));
    leaves();
    // a process that ends after the cut leaves it to the next one
    let end_of = |pair: Pair| pair.model.clone();
    let mut again = entry(10, 2, 0);
    again.data = SECRET.into();
    pair.write(|p| p.entries = [again.clone()].into_iter().chain(entries(11..=15, 2)).collect());
    let never = LogOptions { erase_every: Duration::from_secs(86_400), ..options(dir.path()) };
    pair = Pair::open(never, end_of(pair));
    pair.log.erase(GROUP, 11);
    pair.write(|p| p.truncated = Some(Position { index: 12, term: 2 }));
    let at_once = LogOptions { erase_every: Duration::ZERO, ..options(dir.path()) };
    pair = Pair::open(at_once.clone(), end_of(pair));
    assert!(is_on_disk(), "nobody has said that it is to leave");
    pair.log.erase(GROUP, 11);
    // a write wakes the writer
    pair.write(|p| p.entries = entries(16..=16, 2));
    leaves();
    // once is enough: what is wished at every start is not written anew at every start
    let files = || {
        let items = std::fs::read_dir(dir.path()).unwrap().map(|item| item.unwrap().file_name());
        items.filter(|name| name != "LOCK").collect::<std::collections::BTreeSet<_>>()
    };
    pair = Pair::open(at_once, end_of(pair));
    let before = files();
    for index in 17..40 {
        pair.log.erase(GROUP, 11);
        pair.write(|p| p.entries = entries(index..=index, 2));
    }
    assert_eq!(files(), before);
    Pair::open(options(dir.path()), end_of(pair)).check();
}

/// Many small entries of another group lie beside a few large dead ones in files that were written once more.
#[test]
fn large_dead_entries_beside_many_small_ones_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let options = LogOptions { file_bytes: 1 << 20, purge_every: Duration::ZERO, ..options(dir.path()) };
    let mut pair = Pair::open(options.clone(), MemoryLog::default());
    pair.found();
    let seldom = (GROUP.0 + 1..=GROUP.0 + 20).map(GroupId);
    // few enough in each for the engine to write them once more
    let few = 30;
    let (sender, reports) = mpsc::channel();
    for group in seldom.clone() {
        let sender = Mutex::new(sender.clone());
        pair.log.listen(group, Arc::new(move |report| drop(sender.lock().send(report))));
        let mut small = Persist::new(group, 1);
        small.identity = Some(7);
        small.entries = entries(1..=few, 1);
        pair.log.submit(small);
        assert_eq!(reports.recv_timeout(WITHIN).unwrap(), Report::Persisted(1));
    }
    let noise = noise(128 << 10);
    const LAST: u64 = 301;
    /// So many entries are live at a time.
    const LIVE: u64 = 20;
    for index in 2..=LAST {
        let mut large = entry(index, 2, 0);
        large.data = noise.clone();
        let term = |index| if index == 1 { 1 } else { 2 };
        pair.write(|p| {
            p.entries = vec![large];
            p.truncated = (index > LIVE).then(|| Position { index: index - LIVE, term: term(index - LIVE) });
        });
    }
    pair.write(|p| p.truncated = Some(Position { index: LAST, term: 2 }));
    shrinks_to(6 << 20, dir.path());
    drop(pair);
    let log = Log::open(options).unwrap();
    for group in seldom {
        assert_eq!(log.stored(group).unwrap().last, few);
    }
}
