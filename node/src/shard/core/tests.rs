//! Does a shard keep the order of its work, whatever fails, and does it do what is due in time? In virtual time, without its
//! actor.

use super::super::options::{Pace, WorkPosition};
use super::*;
use crate::halt::Halt;
use crate::log_place::LogPlace;
use crossbeam_channel::{Receiver, bounded};
use quorate_engine::index::{LevelInForce, WriterOptions};
use quorate_model::{GroupId, RecordOp};
use quorate_store::failing::{FailingFiles, Fault};
use quorate_store::files::RealFiles;
use quorate_store::space::Room;
use std::sync::atomic::AtomicBool;
use tempfile::TempDir;

const PACE: Pace =
    Pace { flush_bytes: 1 << 20, flush_after: Duration::from_secs(5), upkeep: Duration::from_millis(500) };

struct Rig {
    core: ShardCore,
    queue: Arc<ShardQueue>,
    state: Arc<IndexState>,
    files: FailingFiles,
    is_led_elsewhere: Arc<AtomicBool>,
    halt: Halt,
    now: Instant,
    log_index: u64,
    _folder: TempDir,
}

impl Rig {
    fn new() -> Rig {
        Rig::with(LevelInForce::default())
    }
    fn with(level: LevelInForce) -> Rig {
        let folder = tempfile::tempdir().unwrap();
        let (files, path) = (FailingFiles::new(RealFiles::shared()), folder.path().join("shard"));
        let state = Arc::new(IndexState::new(7, GroupId(3), path, Arc::default(), 0, 0));
        let (is_led_elsewhere, halt) = (Arc::new(AtomicBool::new(false)), Halt::default());
        let options = ShardOptions {
            files: Arc::new(files.clone()),
            writer: WriterOptions { memory_bytes: 16 << 20, threads: 1, level, ..WriterOptions::default() },
            pace: PACE,
            is_led_elsewhere: is_led_elsewhere.clone(),
            halt: halt.clone(),
            rebuild_failures: Arc::default(),
        };
        let queue = ShardQueue::new(1 << 20, &Room::boundless());
        let core = ShardCore::new(state.clone(), options, queue.clone());
        let now = Instant::now();
        Rig { core, queue, state, files, is_led_elsewhere, halt, now, log_index: 0, _folder: folder }
    }
    /// Queues a record; returns where it stands in the log.
    fn write(&mut self) -> u64 {
        self.hand_over(None)
    }
    /// Queues a record that is answered when it is durable.
    fn write_durably(&mut self) -> Receiver<Result<Arc<Vec<RecordOp>>>> {
        let (done, answer) = bounded(1);
        self.hand_over(Some(done));
        answer
    }
    fn hand_over(&mut self, done: Option<crossbeam_channel::Sender<Result<Arc<Vec<RecordOp>>>>>) -> u64 {
        self.log_index += 1;
        let ticket = self.state.progress.enqueue(self.log_index);
        let at = WorkPosition { ticket, place: LogPlace::whole(self.log_index), term: 1 };
        let record = format!(r#"{{"objectID":"{0}","n":{0}}}"#, self.log_index);
        let ops = vec![RecordOp::Put { object_id: self.log_index.to_string(), record: record.into_bytes() }];
        let work = Work::Apply { at, ops: Arc::new(ops), done };
        let bytes = work.bytes();
        self.queue.push(work, bytes, self.now).unwrap();
        self.log_index
    }
    /// Steps until the shard waits; returns how long it wants to.
    fn run(&mut self) -> Duration {
        for _ in 0..1_000 {
            match self.core.step(self.now) {
                Next::AtOnce => {}
                Next::At(at) => return at.saturating_duration_since(self.now),
                Next::Never => panic!("it has stopped"),
            }
        }
        panic!("it never comes to an end");
    }
    fn shows(&self, log_index: u64) -> bool {
        self.state.progress.is_visible(log_index)
    }
    fn passes(&mut self, time: Duration) {
        self.now += time;
    }
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

#[test]
fn a_write_is_shown_at_once_and_a_stream_of_them_after_a_quarter_of_a_second() {
    let mut rig = Rig::new();
    let first = rig.write();
    rig.run();
    assert!(rig.shows(first) && rig.queue.status(rig.now).queued == 0);
    let stream: Vec<u64> = (0..4).map(|_| rig.write()).collect();
    assert_eq!(rig.core.step(rig.now), Next::AtOnce);
    rig.passes(ms(249));
    assert_eq!(rig.core.step(rig.now), Next::AtOnce);
    assert!(!rig.shows(stream[0]), "more waits");
    rig.passes(ms(1));
    assert_eq!(rig.core.step(rig.now), Next::AtOnce);
    let shown: Vec<bool> = stream.iter().map(|&log_index| rig.shows(log_index)).collect();
    assert_eq!(shown, [true, true, false, false], "what was carried out before");
    rig.run();
    assert!(rig.shows(stream[3]));
}

#[test]
fn a_node_that_follows_puts_publications_off_until_somebody_waits() {
    let mut rig = Rig::new();
    rig.is_led_elsewhere.store(true, Ordering::Relaxed);
    rig.run();
    rig.passes(ms(50));
    let deferred = rig.write();
    assert_eq!(rig.run(), ms(150));
    assert!(!rig.shows(deferred) && rig.state.is_deferred.load(Ordering::Relaxed));
    rig.passes(ms(150));
    rig.run();
    assert!(rig.shows(deferred) && !rig.state.is_deferred.load(Ordering::Relaxed));
    let awaited = rig.write();
    rig.run();
    assert!(!rig.shows(awaited));
    assert!(rig.state.progress.wait_for(awaited));
    rig.run();
    assert!(rig.shows(awaited));
}

#[test]
fn what_was_written_is_durable_after_a_while_without_anybody_asking() {
    let mut rig = Rig::new();
    let written = rig.write();
    let mut waited = Duration::ZERO;
    while rig.state.progress.durable_through().is_some() {
        assert_eq!(rig.state.progress.durable_through(), Some(written - 1));
        let wait = rig.run();
        assert!(wait <= PACE.upkeep, "it looks whether something is due");
        rig.passes(wait);
        waited += wait;
        rig.run();
    }
    assert!((PACE.flush_after..=PACE.flush_after + PACE.upkeep).contains(&waited), "{waited:?}");
}

#[test]
fn what_fails_is_tried_again_in_its_place_after_waits_that_double() {
    let mut rig = Rig::new();
    rig.run();
    rig.files.fail(0, u64::MAX, Fault::Full);
    let first = rig.write_durably();
    let second = rig.write();
    for (failed, doublings) in [0, 1, 2, 3, 4, 5, 5].into_iter().enumerate() {
        let wait = rig.run();
        assert_eq!(wait, PACE.upkeep * (1 << doublings));
        let status = rig.queue.status(rig.now);
        assert_eq!((status.queued, status.failures), (2, failed as u32 + 1));
        assert_eq!(status.waits_for, "another attempt");
        assert!(status.last_error.is_some_and(|error| error.starts_with("writing records: ")));
        // what is asked for once hears so at once, also between two attempts
        let asked = rig.queue.ask(|done| Work::Flush { done }).unwrap();
        rig.passes(wait / 2);
        assert_eq!(rig.run(), wait - wait / 2);
        assert!(matches!(asked.try_recv(), Ok(Err(Error::Delayed))));
        assert!(first.try_recv().is_err() && !rig.shows(second));
        assert_eq!(rig.state.progress.durable_through(), Some(0));
        rig.passes(wait - wait / 2);
    }
    rig.files.heal();
    let settled = rig.run();
    assert!(settled <= PACE.upkeep && first.try_recv().is_ok_and(|answer| answer.is_ok()));
    assert!(rig.shows(second));
    let status = rig.queue.status(rig.now);
    assert_eq!((status.queued, status.queued_bytes, status.failures), (0, 0, 0));
    assert!(status.last_error.is_some(), "what it was stays known");
    rig.queue.ask(|done| Work::Flush { done }).unwrap();
    rig.run();
    assert_eq!(rig.state.progress.durable_through(), None);
}

#[test]
fn an_answer_is_given_when_it_is_durable_and_not_before() {
    let mut rig = Rig::new();
    let before = rig.write();
    let answer = rig.write_durably();
    assert_eq!(rig.core.step(rig.now), Next::AtOnce);
    assert!(answer.try_recv().is_err() && rig.state.progress.durable_through() == Some(before - 1));
    rig.run();
    assert_eq!(answer.try_recv().unwrap().unwrap().len(), 1);
    assert_eq!(rig.state.progress.durable_through(), None);
}

#[test]
fn a_panic_stops_the_group_and_nobody_waits_for_the_shard() {
    let is_planted = Arc::new(AtomicBool::new(false));
    let panics = is_planted.clone();
    let mut rig = Rig::with(LevelInForce::new(move || {
        assert!(!panics.load(Ordering::Relaxed), "planted");
        1
    }));
    let durable = rig.write_durably();
    rig.run();
    assert!(durable.recv().unwrap().is_ok());
    is_planted.store(true, Ordering::Relaxed);
    let answer = rig.write_durably();
    let behind = rig.write_durably();
    let stopped = (0..10).find(|_| rig.core.step(rig.now) == Next::Never);
    assert!(stopped.is_some() && rig.halt.is_half());
    assert!(rig.halt.reason().is_some_and(|reason| reason.contains("index 7 panicked: planted")));
    assert!(answer.recv().is_err() && behind.recv().is_err());
    assert!(matches!(rig.queue.wait_for_room(1), Err(Error::Stopped)));
    // what was not durable counts as that for good
    assert_eq!(rig.state.progress.durable_through(), Some(1));
    assert_eq!(rig.core.step(rig.now), Next::Never);
}

#[test]
fn a_group_that_stands_still_takes_its_shards_along() {
    let mut rig = Rig::new();
    rig.run();
    let answer = rig.write_durably();
    rig.halt.set("another shard panicked".into(), Left::Half);
    assert_eq!(rig.core.step(rig.now), Next::Never);
    assert!(answer.recv().is_err() && rig.queue.is_closed());
    assert_eq!(rig.state.progress.durable_through(), Some(0));
}
