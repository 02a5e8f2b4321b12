//! Does a log on a disk that is full make room by itself, when the entries are cut that fill it?

use super::*;
use quorate_raft::{LogFile, LogFiles};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// A disk of so many bytes over another file layer.
#[derive(Clone)]
struct SmallDisk {
    under: Arc<dyn LogFiles>,
    bytes_max: Arc<AtomicU64>,
    /// What each file takes.
    files: Arc<Mutex<std::collections::BTreeMap<PathBuf, u64>>>,
}

impl SmallDisk {
    fn new(under: Arc<dyn LogFiles>, bytes_max: u64) -> SmallDisk {
        SmallDisk { under, bytes_max: Arc::new(AtomicU64::new(bytes_max)), files: Arc::default() }
    }
    fn opened(&self, path: &Path, file: Arc<dyn LogFile>) -> io::Result<Arc<dyn LogFile>> {
        self.files.lock().insert(path.to_owned(), file.len()? as u64);
        Ok(Arc::new(SmallFile { path: path.to_owned(), file, disk: self.clone() }))
    }
    fn grow(&self, path: &Path, to: usize) -> io::Result<()> {
        let mut files = self.files.lock();
        let before = files.get(path).copied().unwrap_or(0);
        let after = before.max(to as u64);
        if after > before
            && files.values().sum::<u64>() - before + after > self.bytes_max.load(Ordering::SeqCst)
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        files.insert(path.to_owned(), after);
        Ok(())
    }
}

struct SmallFile {
    path: PathBuf,
    file: Arc<dyn LogFile>,
    disk: SmallDisk,
}
impl LogFile for SmallFile {
    fn read_at(&self, offset: usize, bytes: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, bytes)
    }
    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<usize> {
        self.disk.grow(&self.path, offset + bytes.len())?;
        self.file.write_at(offset, bytes)
    }
    fn truncate(&self, len: usize) -> io::Result<()> {
        self.file.truncate(len)?;
        self.disk.files.lock().insert(self.path.clone(), len as u64);
        Ok(())
    }
    /// As a file system without the call: what is reserved would hide what fits.
    fn allocate(&self, _offset: usize, _len: usize) -> io::Result<()> {
        Ok(())
    }
    fn len(&self) -> io::Result<usize> {
        self.file.len()
    }
    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}
impl LogFiles for SmallDisk {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        self.opened(path, self.under.create(path)?)
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        self.opened(path, self.under.open(path)?)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.under.remove(path)?;
        self.files.lock().remove(path);
        Ok(())
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.under.rename(from, to)?;
        let mut files = self.files.lock();
        let bytes = files.remove(from).unwrap_or(0);
        files.insert(to.to_owned(), bytes);
        Ok(())
    }
}

const DISK_BYTES: u64 = 2 << 20;
/// Bytes of an entry; the disk takes some sixty of them.
const ENTRY: usize = 32 << 10;

/// A log that has filled its disk.
struct Full {
    pair: Pair,
    power: PowerDisk,
    disk: SmallDisk,
    dir: tempfile::TempDir,
    noise: bytes::Bytes,
    next: u64,
}

impl Full {
    /// Opens one with entries that all fit.
    fn open(file_bytes: u64) -> Full {
        let dir = tempfile::tempdir().unwrap();
        let power = PowerDisk::default();
        let disk = SmallDisk::new(Arc::new(power.clone()), DISK_BYTES);
        let never = Duration::from_secs(24 * 3600);
        let options = LogOptions {
            files: Arc::new(disk.clone()),
            file_bytes,
            purge_every: never,
            ..options(&dir.path().join("log"))
        };
        let mut pair = Pair::open(options, MemoryLog::default());
        pair.found();
        let mut full = Full { pair, power, disk, dir, noise: noise(64 * ENTRY), next: 2 };
        while full.next < 50 {
            let large = full.large(ENTRY);
            full.pair.write(|p| p.entries = vec![large]);
        }
        full
    }
    /// The next entry.
    fn large(&mut self, bytes: usize) -> Entry {
        let mut large = entry(self.next, 2, 0);
        large.data = self.noise.slice(..bytes);
        self.next += 1;
        large
    }
    /// Hands a write in that does not fit.
    fn stall(&mut self, bytes: usize) -> Persist {
        let large = self.large(bytes);
        // what was applied meanwhile was committed; the commit index that says so waits with the entry
        let head = self.pair.persist(|p| {
            p.entries = vec![large];
            p.hard_state = Some(hard_state(2, 49));
        });
        self.pair.log.submit(head.clone());
        let report = self.pair.reports.recv_timeout(WITHIN).expect("a report in time");
        assert!(matches!(report, Report::Stalled(_)), "{report:?}");
        head
    }
    /// Hands a cut in behind it.
    fn cut(&mut self, index: u64) -> Persist {
        let cut = self.pair.persist(|p| p.truncated = Some(Position { index, term: 2 }));
        self.pair.log.submit(cut.clone());
        cut
    }
    fn expect(&mut self, expected: &Report) {
        let end = Instant::now() + WITHIN;
        loop {
            match self.pair.reports.recv_timeout(WITHIN).expect("it goes on without room from elsewhere") {
                report if report == *expected => return,
                Report::Persisted(_) | Report::Stalled(_) | Report::Resumed => {
                    assert!(Instant::now() < end, "it does not go on");
                }
            }
        }
    }
    fn confirm(&mut self, writes: &[Persist]) {
        writes.iter().for_each(|write| self.pair.model.write(write));
        self.pair.check();
    }
}

#[test]
fn a_cut_behind_a_write_that_waits_for_room_makes_that_room() {
    let mut full = Full::open(64 << 10);
    // as long as entries fit
    let mut head = None;
    while head.is_none() {
        let large = full.large(ENTRY);
        let persist = full.pair.persist(|p| p.entries = vec![large]);
        full.pair.log.submit(persist.clone());
        match full.pair.reports.recv_timeout(WITHIN).expect("a report in time") {
            Report::Persisted(_) => full.pair.model.write(&persist),
            Report::Stalled(_) => head = Some(persist),
            Report::Resumed => panic!("it was not stalled"),
        }
    }
    // what a few live entries take is written once more before their files go, which needs room, too
    let applied = full.pair.model.stored().last;
    let cuts = [full.cut(10), full.cut(applied)];
    full.expect(&Report::Resumed);
    full.expect(&Report::Persisted(full.pair.seq));
    full.confirm(&head.into_iter().chain(cuts).collect::<Vec<_>>());
    let large = full.large(ENTRY);
    full.pair.write(|p| p.entries = vec![large]);
}

#[test]
fn an_end_after_such_a_cut_loses_nothing_confirmed() {
    let mut full = Full::open(64 << 10);
    // more than the whole disk: the cut alone comes through
    let head = full.stall(64 * ENTRY);
    let cut = full.cut(30);
    let end = Instant::now() + WITHIN;
    while full.pair.log.stored(GROUP).unwrap().truncated.index < 30 {
        assert!(Instant::now() < end, "the cut waits");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut model = full.pair.model.clone();
    model.write(&cut);
    same(&full.pair.log, &model, "while it waits");
    // killed and cut off at several moments: files are removed and written once more meanwhile
    for round in 0..10 {
        let killed = full.dir.path().join(format!("killed-{round}"));
        let kept = [Kept::Nothing, Kept::Prefix(500), Kept::Pages(round)];
        for (number, kept) in kept.into_iter().enumerate() {
            let left = full.dir.path().join(format!("cut-{round}-{number}"));
            full.power.cut(&left, kept);
            same(&Log::open(options(&left)).unwrap(), &model, &format!("{round} {kept:?}"));
        }
        full.power.cut(&killed, Kept::Prefix(1_000));
        same(&Log::open(options(&killed)).unwrap(), &model, &format!("killed {round}"));
        std::thread::sleep(Duration::from_millis(40));
    }
    full.disk.bytes_max.store(u64::MAX, Ordering::SeqCst);
    full.expect(&Report::Persisted(full.pair.seq));
    full.confirm(&[head, cut]);
    let model = full.pair.model.clone();
    let home = full.dir.path().join("log");
    drop(full.pair);
    Pair::open(options(&home), model);
}

#[test]
fn what_waits_for_a_full_disk_is_one_write_for_each_group() {
    let mut full = Full::open(64 << 10);
    let mut writes = vec![full.stall(64 * ENTRY)];
    for round in 0..10_000 {
        let small = full.large(40);
        writes.push(full.pair.persist(|p| match round % 3 {
            0 => p.truncated = Some(Position { index: 2 + round / 300, term: 2 }),
            _ => p.hard_state = Some(hard_state(2, 50 + round)),
        }));
        writes.push(full.pair.persist(|p| p.entries = vec![small]));
        writes.iter().rev().take(2).rev().for_each(|write| full.pair.log.submit(write.clone()));
        assert!(full.pair.log.waiting() <= 1, "{round}");
    }
    full.disk.bytes_max.store(u64::MAX, Ordering::SeqCst);
    full.expect(&Report::Persisted(full.pair.seq));
    full.confirm(&writes);
}
