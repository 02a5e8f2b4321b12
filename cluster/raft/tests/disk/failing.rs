//! Does a disk that refuses any single call of the log, once or for a while, ever cost what was confirmed?
//!
//! A clean run says how many calls there are; a point fails one of them, or as many as come until the disk is well again. A
//! sync that fails ends the process, as does whatever panics; it starts again, on the ill disk if need be.
//!
//! `QUORATE_DISK_FAULTS=all` fails every call in every way, some 1,400 points.

use super::*;
use quorate_raft::{LogFile, LogFiles, RealLogFiles};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// ENOSPC, where bytes or names are added.
    Full,
    /// EIO, before anything has happened.
    Device,
    /// EMFILE, where a file is opened.
    Handles,
    /// Half of the bytes are written and said to be; what follows finds the disk full.
    Short,
}
const FAULTS: [Fault; 4] = [Fault::Full, Fault::Device, Fault::Handles, Fault::Short];
/// Calls that fail together: one, those that try again and clean up, all until somebody makes room.
const LENGTHS: [u64; 3] = [1, 6, u64::MAX];
/// Failures after which the disk is well again.
const FAILURES: u64 = 10;
/// The time after which it is in any case.
const ILL_AT_MOST: Duration = Duration::from_millis(700);
/// Points of a run that is not asked for all of them.
const POINTS: usize = 150;
/// Points at a time: most of their time is waiting.
const AT_ONCE: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Open,
    Create,
    Write,
    Name,
    Other,
}

#[derive(Clone, Copy)]
struct Plan {
    from: u64,
    end: u64,
    fault: Fault,
}

/// The file system, some of whose calls fail.
#[derive(Clone, Default)]
struct Failing(Arc<Shared>);
#[derive(Default)]
struct Shared {
    calls: AtomicU64,
    failed: AtomicU64,
    plan: Mutex<Option<(Plan, Instant)>>,
}

impl Failing {
    fn plan(&self, plan: Plan) {
        *self.0.plan.lock() = Some((plan, Instant::now()));
    }
    fn heal(&self) {
        *self.0.plan.lock() = None;
    }
    fn next(&self, call: Call) -> Option<Fault> {
        // a second panic of the engine would end this process and not the one that is played
        if std::thread::panicking() {
            return None;
        }
        let number = self.0.calls.fetch_add(1, Ordering::SeqCst);
        let mut planned = self.0.plan.lock();
        let (plan, since) = (*planned)?;
        if self.0.failed.load(Ordering::SeqCst) >= FAILURES || since.elapsed() >= ILL_AT_MOST {
            *planned = None;
            return None;
        }
        let concerns = match plan.fault {
            Fault::Full => matches!(call, Call::Create | Call::Write | Call::Name),
            Fault::Device => true,
            Fault::Handles => matches!(call, Call::Create | Call::Open),
            Fault::Short => matches!(call, Call::Create | Call::Write),
        };
        (plan.from <= number && number < plan.end && concerns).then(|| {
            self.0.failed.fetch_add(1, Ordering::SeqCst);
            plan.fault
        })
    }
    fn check(&self, call: Call) -> io::Result<()> {
        self.next(call).map_or(Ok(()), |fault| Err(error(fault)))
    }
    fn opened(&self, file: Arc<dyn LogFile>) -> Arc<dyn LogFile> {
        Arc::new(FailingFile { file, layer: self.clone() })
    }
}

fn error(fault: Fault) -> io::Error {
    match fault {
        Fault::Full | Fault::Short => io::Error::from(io::ErrorKind::StorageFull),
        Fault::Device => io::Error::other("input/output error (by a test)"),
        Fault::Handles => io::Error::other("too many open files (by a test)"),
    }
}

struct FailingFile {
    file: Arc<dyn LogFile>,
    layer: Failing,
}
impl LogFile for FailingFile {
    fn read_at(&self, offset: usize, bytes: &mut [u8]) -> io::Result<usize> {
        self.layer.check(Call::Other)?;
        self.file.read_at(offset, bytes)
    }
    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<usize> {
        match self.layer.next(Call::Write) {
            None => self.file.write_at(offset, bytes),
            Some(Fault::Short) if bytes.len() > 1 => self.file.write_at(offset, &bytes[..bytes.len() / 2]),
            Some(fault) => Err(error(fault)),
        }
    }
    fn truncate(&self, len: usize) -> io::Result<()> {
        self.layer.check(Call::Other)?;
        self.file.truncate(len)
    }
    fn allocate(&self, offset: usize, len: usize) -> io::Result<()> {
        self.layer.check(Call::Write)?;
        self.file.allocate(offset, len)
    }
    fn len(&self) -> io::Result<usize> {
        self.layer.check(Call::Other)?;
        self.file.len()
    }
    fn sync(&self) -> io::Result<()> {
        self.layer.check(Call::Other)?;
        self.file.sync()
    }
}
impl LogFiles for Failing {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        self.check(Call::Create)?;
        Ok(self.opened(RealLogFiles.create(path)?))
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn LogFile>> {
        self.check(Call::Open)?;
        Ok(self.opened(RealLogFiles.open(path)?))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.check(Call::Other)?;
        RealLogFiles.remove(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check(Call::Name)?;
        RealLogFiles.rename(from, to)
    }
}

/// A process with a log on such a disk, and what it must hold.
struct Process {
    /// Ends before its folder does.
    log: Option<Log>,
    dir: tempfile::TempDir,
    files: Failing,
    reports: mpsc::Receiver<Report>,
    /// Set when the process should have ended.
    has_ended: Arc<AtomicBool>,
    model: MemoryLog,
    seq: u64,
}

impl Process {
    fn start(files: Failing) -> Process {
        let mut process = Process {
            log: None,
            dir: tempfile::tempdir().unwrap(),
            files,
            reports: mpsc::channel().1,
            has_ended: Arc::default(),
            model: MemoryLog::default(),
            seq: 0,
        };
        process.restart("at first");
        process
    }
    /// Ends it as it is, and starts it until it comes up; room is made for it when it does not.
    fn restart(&mut self, what: &str) {
        // the engine writes when it ends, too
        let _it_has_ended = catch_unwind(AssertUnwindSafe(|| drop(self.log.take())));
        for attempt in 0.. {
            if attempt == 3 {
                self.files.heal();
            }
            self.has_ended = Arc::default();
            let has_ended = self.has_ended.clone();
            let options = LogOptions {
                files: Arc::new(self.files.clone()),
                on_fatal: Arc::new(move |_| has_ended.store(true, Ordering::SeqCst)),
                // so small that files are ended, written once more and removed within a few writes
                file_bytes: 256,
                purge_every: Duration::from_millis(1),
                ..LogOptions::new(self.dir.path())
            };
            // a panic ends a process that starts
            match catch_unwind(AssertUnwindSafe(|| Log::open(options))) {
                Ok(Ok(log)) => {
                    let (sender, reports) = mpsc::channel();
                    let sender = Mutex::new(sender);
                    log.listen(GROUP, Arc::new(move |report| drop(sender.lock().send(report))));
                    (self.log, self.reports) = (Some(log), reports);
                    return;
                }
                Ok(Err(error)) => assert!(attempt < 4, "{what}: it does not start: {error}"),
                Err(_) => assert!(attempt < 4, "{what}: it does not start"),
            }
        }
    }
    /// Writes until that is confirmed: a process that has ended did it, or did not.
    fn write(&mut self, fill: &dyn Fn(&mut Persist), what: &str) {
        let mut after = self.model.clone();
        loop {
            self.seq += 1;
            let mut persist = Persist::new(GROUP, self.seq);
            fill(&mut persist);
            after.write(&persist);
            self.log.as_ref().expect("it runs").submit(persist);
            if self.is_confirmed() {
                self.model = after;
                return;
            }
            self.restart(what);
            let found = format!("{:?}", self.stored());
            if found == format!("{:?}", after.stored()) {
                self.model = after;
                return;
            }
            assert_eq!(
                found,
                format!("{:?}", self.model.stored()),
                "{what}: what was confirmed is not there"
            );
        }
    }
    fn stored(&self) -> quorate_raft::core::Stored {
        self.log.as_ref().expect("it runs").stored(GROUP).unwrap()
    }
    /// Whether the write was confirmed; otherwise the process has ended.
    fn is_confirmed(&self) -> bool {
        let end = Instant::now() + WITHIN;
        loop {
            match self.reports.recv_timeout(Duration::from_millis(5)) {
                Ok(Report::Persisted(seq)) if seq == self.seq => return true,
                Ok(_) | Err(_) if self.has_ended.load(Ordering::SeqCst) => return false,
                Ok(_) | Err(_) => assert!(Instant::now() < end, "neither confirmed nor ended"),
            }
        }
    }
}

fn run(process: &mut Process, what: &str) {
    let found = |p: &mut Persist| {
        p.identity = Some(1);
        p.conf = Some((1, conf(&[1])));
        p.truncated = Some(Position { index: 1, term: 1 });
        p.hard_state = Some(hard_state(1, 1));
    };
    process.write(&found, what);
    for (number, step) in steps().iter().enumerate() {
        process.write(&**step, &format!("{what}, step {number}"));
        if number % 4 == 3 {
            process.restart(what);
        }
    }
}

fn try_point(plan: Plan) {
    let what = format!("{:?} of {} from call {}", plan.fault, plan.end - plan.from, plan.from);
    let files = Failing::default();
    files.plan(plan);
    let mut process = Process::start(files.clone());
    run(&mut process, &what);
    files.heal();
    process.restart(&what);
    same(process.log.as_ref().unwrap(), &process.model, &what);
    process.write(&|p| p.entries = entries(1_004..=1_005, 7), &what);
    same(process.log.as_ref().unwrap(), &process.model, &what);
}

#[test]
fn a_disk_that_refuses_any_call_costs_nothing_confirmed() {
    let files = Failing::default();
    run(&mut Process::start(files.clone()), "clean");
    let calls = files.0.calls.load(Ordering::SeqCst);
    let plans: Vec<Plan> = (0..calls)
        .flat_map(|from| FAULTS.into_iter().map(move |fault| (from, fault)))
        .flat_map(|(from, fault)| {
            LENGTHS.into_iter().map(move |length| Plan { from, end: from.saturating_add(length), fault })
        })
        .collect();
    let step = match std::env::var_os("QUORATE_DISK_FAULTS") {
        Some(_) => 1,
        // shares no factor with the ways of a call
        None => ((plans.len() / POINTS).max(1) - 1) / 6 * 6 + 1,
    };
    let chosen: Vec<Plan> = plans.into_iter().step_by(step).collect();
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(&plan) = chosen.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    try_point(plan);
                }
            });
        }
    });
    println!("{} points of {calls} calls", chosen.len());
    assert!(chosen.len() >= POINTS);
}
