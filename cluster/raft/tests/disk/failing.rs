//! Does a disk that refuses any single call of the log, once or for a while, ever cost what was confirmed?
//!
//! A clean run says how many calls there are; a point fails one of them, or as many as come until the disk is well again. A
//! sync that fails ends the process, as does whatever panics; it starts again, on the ill disk if need be.
//!
//! `QUORATE_DISK_FAULTS=all` fails every call in every way, some 3,500 points.

use super::*;
use quorate_raft::log_failing::FailingLogFiles;
use quorate_raft::{LogFiles, RealLogFiles};
use quorate_store::failing::{Fault, Faults};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Calls that fail together: one, those that try again and clean up, all until somebody makes room.
const LENGTHS: [u64; 3] = [1, 6, u64::MAX];
/// Failures after which somebody does.
const FAILURES: u64 = 10;
/// The time after which somebody does in any case.
const ILL_AT_MOST: Duration = Duration::from_millis(700);
/// Points of a run that is not asked for all of them.
const POINTS: usize = 150;
/// Points at a time: most of their time is waiting.
const AT_ONCE: usize = 16;

#[derive(Clone, Copy)]
struct Plan {
    from: u64,
    count: u64,
    fault: Fault,
}

/// A disk some of whose calls fail.
#[derive(Clone, Default)]
struct Disk {
    faults: Faults,
    ill_since: Option<Instant>,
}

impl Disk {
    fn ill(plan: Plan) -> Disk {
        let faults = Faults::default();
        faults.fail(plan.from, plan.count, plan.fault);
        Disk { faults, ill_since: Some(Instant::now()) }
    }
    /// Makes it well again when it was ill for long enough.
    fn look(&self) {
        let is_over = self.ill_since.is_some_and(|since| since.elapsed() >= ILL_AT_MOST);
        if is_over || self.faults.failed() >= FAILURES {
            self.faults.heal();
        }
    }
    fn files(&self) -> Arc<dyn LogFiles> {
        Arc::new(FailingLogFiles::new(Arc::new(RealLogFiles), self.faults.clone()))
    }
}

/// A process with a log on such a disk, and what it must hold.
struct Process {
    /// Ends before its folder does.
    log: Option<Log>,
    dir: tempfile::TempDir,
    disk: Disk,
    reports: mpsc::Receiver<Report>,
    /// Set when the process should have ended.
    has_ended: Arc<AtomicBool>,
    model: MemoryLog,
    seq: u64,
}

impl Process {
    fn start(disk: Disk) -> Process {
        let mut process = Process {
            log: None,
            dir: tempfile::tempdir().unwrap(),
            disk,
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
        drop(self.log.take());
        for attempt in 0.. {
            match attempt {
                3 => self.disk.faults.heal(),
                _ => self.disk.look(),
            }
            self.has_ended = Arc::default();
            let has_ended = self.has_ended.clone();
            let options = LogOptions {
                files: self.disk.files(),
                on_fatal: Arc::new(move |_| has_ended.store(true, Ordering::SeqCst)),
                // so small that files are ended, written once more and removed within a few writes
                file_bytes: 256,
                purge_every: Duration::from_millis(1),
                ..LogOptions::new(self.dir.path())
            };
            match Log::open(options) {
                Ok(log) => {
                    let (sender, reports) = mpsc::channel();
                    let sender = Mutex::new(sender);
                    log.listen(GROUP, Arc::new(move |report| drop(sender.lock().send(report))));
                    (self.log, self.reports) = (Some(log), reports);
                    return;
                }
                Err(error) => assert!(attempt < 4, "{what}: it does not start: {error}"),
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
            self.disk.look();
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
    let what = format!("{:?} of {} from call {}", plan.fault, plan.count, plan.from);
    let disk = Disk::ill(plan);
    let mut process = Process::start(disk.clone());
    run(&mut process, &what);
    disk.faults.heal();
    process.restart(&what);
    same(process.log.as_ref().unwrap(), &process.model, &what);
    process.write(&|p| p.entries = entries(1_004..=1_005, 7), &what);
    same(process.log.as_ref().unwrap(), &process.model, &what);
}

#[test]
fn a_disk_that_refuses_any_call_costs_nothing_confirmed() {
    let well = Disk::default();
    run(&mut Process::start(well.clone()), "clean");
    let calls = well.faults.calls();
    let plans: Vec<Plan> = (0..calls)
        .flat_map(|from| Fault::ALL.into_iter().map(move |fault| (from, fault)))
        .flat_map(|(from, fault)| LENGTHS.into_iter().map(move |count| Plan { from, count, fault }))
        .collect();
    let step = match std::env::var_os("QUORATE_DISK_FAULTS") {
        Some(_) => 1,
        // shares no factor with the 15 ways of a call
        None => ((plans.len() / POINTS).max(1) - 1) / 15 * 15 + 1,
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
