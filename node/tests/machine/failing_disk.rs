//! Does a disk that refuses any single call, once or for a while, ever cost a command that was applied?
//!
//! Every point is one call of the file layer that fails in one way. A clean run says how many calls there are; a point fails
//! one of them, or as many as come, while commands go on, writers are closed, snapshots are linked and processes die. When
//! the disk is well again everything must be there, and again after a kill.
//!
//! `QUORATE_DISK_FAULTS` is another number of points; `all` lets every call fail by every fault, in one of six ways each, and
//! `QUORATE_DISK_TURN` of 1 to 5 takes the other ways.

use super::*;
use quorate_node::IndexDigest;
use quorate_node::{Follower, ReplicaKind};
use quorate_store::failing::{FailingFiles, Fault};
use quorate_store::space;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// Points for each kind of memory, of a run that is not asked for all of them.
const POINTS: usize = 152;
/// Points at a time: most of their time is waiting.
const AT_ONCE: usize = 8;

/// Failures after which the disk is well again: what was tried again has failed again by then.
const FAILURES: u64 = 16;
/// Looks after which it is in any case.
const PATIENCE_LOOKS: usize = 100;

/// How long the disk is ill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// One call.
    Once,
    /// A few calls: those that try again and those that clean up as well.
    AFew,
    /// Until the commands have been applied.
    AWhile,
}
/// A segment of each record, which goes to disk at once, as large ones do: also what is carried out again needs the disk.
const ON_DISK: Memory = Memory { writer_bytes: 1 << 8, spill_bytes: 0 };

/// What happens while it is ill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meanwhile {
    /// The commands, and writers that are closed because nobody uses them.
    Commands,
    /// As that, and the process is killed and starts on the ill disk.
    Restart,
}
#[derive(Clone, Copy, Debug)]
struct Point {
    call: u64,
    fault: Fault,
    lasts: For,
    meanwhile: Meanwhile,
    memory: Memory,
}

fn pace() -> Pace {
    Pace { flush_bytes: 1 << 20, flush_after: Duration::from_millis(3), upkeep: Duration::from_millis(5) }
}

/// Commands that use the disk in every way: commits, links, rebuilds, replicas, removals.
fn script() -> Vec<IndexCommand> {
    let replica = Follower { incarnation: 9, kind: ReplicaKind::Standard };
    let increment = |id: &str| partial(id, r#"{"n":{"_operation":"Increment","value":1}}"#);
    vec![
        records(1, (0..12).map(|i| put(&format!("a{i}"), i)).collect()),
        records(1, vec![increment("a1"), increment("b"), RecordOp::Delete { object_id: "a2".into() }]),
        settings(1, r#"{"attributesForFaceting":["n"]}"#),
        records(2, vec![put("x", 1), put("y", 2)]),
        IndexCommand::Replicas { primary: 1, revision: 5, followers: vec![replica] },
        records(1, vec![increment("a1"), put("c", 3)]),
        IndexCommand::Copy { from: 1, to: 4 },
        records(1, vec![RecordOp::DeleteBy { params: br#"{"filters":"n>8"}"#.to_vec() }]),
        settings(1, r#"{"customRanking":["desc(n)"]}"#),
        records(4, vec![increment("b"), put("late", 7)]),
        IndexCommand::Drop { index: 2 },
        records(1, vec![increment("a1"), RecordOp::Delete { object_id: "a3".into() }]),
        records(5, vec![put("p", 1)]),
        records(5, vec![RecordOp::Clear, put("q", 2)]),
        records(1, vec![increment("b")]),
    ]
}
/// Hashes of all that every index holds, by incarnation.
type Contents = Vec<(u64, IndexDigest)>;

fn contents(rig: &Rig) -> Contents {
    rig.wait();
    let pinned = rig.node.pinned(GROUP).unwrap();
    pinned.iter().map(|index| (index.incarnation, index.digest(|_| {}))).collect()
}

/// A folder in memory where there is one: what is tried here is which calls fail, not how long a disk takes.
fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    match space::of(memory) {
        Ok(space) if space.free_bytes >= SCRATCH_BYTES => tempfile::tempdir_in(memory).unwrap(),
        Ok(_) | Err(_) => tempfile::tempdir().unwrap(),
    }
}
/// Bytes that all points which are tried together take, with room to spare.
const SCRATCH_BYTES: u64 = 512 << 20;

/// What a run does beside its commands, by the number of those applied.
fn beside(rig: &mut Rig, applied: usize, folder: &Path) -> quorate_node::Result<()> {
    match applied % 4 {
        // as a writer that nobody uses is closed
        1 => rig.node.passivate_after(Duration::ZERO),
        2 => rig.machine.checkpoint()?,
        3 => {
            // as a snapshot for a member that lags; one that cannot be made is made later
            let into = Layout::new(folder.join(format!("export{applied}")));
            let _of_no_use = rig.machine.export(&into);
        }
        _ => {}
    }
    Ok(())
}

fn open(
    folder: &Path,
    log: &[IndexCommand],
    files: &FailingFiles,
    memory: Memory,
) -> quorate_node::Result<Rig> {
    let layer: Arc<dyn Files> = Arc::new(files.clone());
    let disk = Disk { store: layer.clone(), ..Disk::of(layer) };
    let mut rig = Rig::on(folder, log.to_vec(), disk, memory, pace())?;
    match rig.replay() {
        Ok(()) => Ok(rig),
        Err(error) => {
            rig.kill();
            Err(error)
        }
    }
}

/// A process that dies with an error, or is killed, and starts again until it comes up.
fn restart(rig: Rig, folder: &Path, files: &FailingFiles, memory: Memory) -> Rig {
    start(rig.kill(), folder, files, memory)
}
fn start(log: Vec<IndexCommand>, folder: &Path, files: &FailingFiles, memory: Memory) -> Rig {
    for _ in 0..3 {
        if let Ok(rig) = open(folder, &log, files, memory) {
            return rig;
        }
    }
    // whoever looks after it has made room
    files.heal();
    open(folder, &log, files, memory).unwrap()
}

fn run(folder: &Path, files: &FailingFiles, meanwhile: Meanwhile, memory: Memory) -> Rig {
    let mut rig = start(vec![], folder, files, memory);
    for (number, command) in script().into_iter().enumerate() {
        rig.log.push(command.clone());
        let at = position(rig.log.len() as u64);
        let outcome = rig.machine.apply(at, command).and_then(|()| beside(&mut rig, number + 1, folder));
        if outcome.is_err() || meanwhile == Meanwhile::Restart && number % 5 == 4 {
            rig = restart(rig, folder, files, memory);
        }
    }
    rig
}

/// The calls of a clean run, and what it leaves.
fn clean(memory: Memory) -> (u64, Contents) {
    let dir = scratch();
    let files = FailingFiles::new(RealFiles::shared());
    let rig = run(dir.path(), &files, Meanwhile::Commands, memory);
    let found = contents(&rig);
    (files.calls(), found)
}

fn try_point(point: Point, expected: &[(u64, IndexDigest)]) {
    let dir = scratch();
    let files = FailingFiles::new(RealFiles::shared());
    let count = match point.lasts {
        For::Once => 1,
        For::AFew => 6,
        For::AWhile => u64::MAX,
    };
    files.fail(point.call, count, point.fault);
    // work that is waited for, such as a copy, goes on only when the disk is well: somebody sees to that
    let (ended, is_over) = std::sync::mpsc::channel::<()>();
    let healer = files.clone();
    let healing = std::thread::spawn(move || {
        for _ in 0..PATIENCE_LOOKS {
            let ended = is_over.recv_timeout(Duration::from_millis(5)).is_ok();
            if ended || healer.failed() >= FAILURES {
                break;
            }
        }
        healer.heal();
    });
    let mut rig = run(dir.path(), &files, point.meanwhile, point.memory);
    let _healed_already = ended.send(());
    healing.join().unwrap();
    assert_eq!(contents(&rig), expected, "{point:?}: with the disk well again");
    rig.machine.checkpoint().unwrap();
    rig = restart(rig, dir.path(), &files, point.memory);
    assert_eq!(contents(&rig), expected, "{point:?}: after a kill");
    rig.machine.close().unwrap();
    assert_eq!(rig.machine.durable_through(), rig.log.len() as u64, "{point:?}");
    // files alone, as they are durable through the last command
    let log = rig.kill();
    let rig = Rig::open(dir.path(), log);
    assert_eq!(contents(&rig), expected, "{point:?}: after a close");
}

/// The ways in which a call may fail: for how long, and what happens meanwhile.
fn ways() -> Vec<(For, Meanwhile)> {
    let lasts = [For::Once, For::AFew, For::AWhile];
    lasts.into_iter().flat_map(|it| [(it, Meanwhile::Commands), (it, Meanwhile::Restart)]).collect()
}

fn points(calls: u64, memory: Memory) -> Vec<Point> {
    let all = |turn: u64| {
        (0..calls).flat_map(move |call| {
            Fault::ALL.into_iter().zip(call + turn..).map(move |(fault, way)| {
                let (lasts, meanwhile) = ways()[way as usize % ways().len()];
                Point { call, fault, lasts, meanwhile, memory }
            })
        })
    };
    let turn = std::env::var("QUORATE_DISK_TURN").map_or(0, |turn| turn.parse().expect("a number"));
    let wanted = match std::env::var("QUORATE_DISK_FAULTS") {
        Ok(all_of_them) if all_of_them == "all" => usize::MAX,
        Ok(number) => number.parse::<usize>().expect("a number of points, or all") / 2,
        Err(_) => POINTS,
    };
    let step = (calls as usize * Fault::ALL.len() / wanted).max(1);
    // a step that shares no factor with the faults of a call comes by all of them
    all(turn).step_by(if step.is_multiple_of(5) { step - 1 } else { step }).collect()
}

#[test]
fn a_disk_that_refuses_any_call_costs_nothing_that_was_applied() {
    let told = Arc::new(Mutex::new((vec![], vec![])));
    let tell = told.clone();
    in_system(move || {
        for memory in [MEMORY, ON_DISK] {
            let (calls, contents) = clean(memory);
            let mut told = tell.lock().unwrap();
            assert!(told.1.is_empty() || told.1 == contents);
            told.0.extend(points(calls, memory));
            told.1 = contents;
        }
    });
    let (points, expected) = std::mem::take(&mut *told.lock().unwrap());
    assert!(points.len() >= 300, "{}", points.len());
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(vec![]));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&point) = points.get(number) else { break };
                    let expected = expected.clone();
                    let tried = std::panic::catch_unwind(|| in_system(move || try_point(point, &expected)));
                    if tried.is_err() {
                        println!("failed: {point:?}");
                        failed.lock().unwrap().push(point);
                    }
                }
            });
        }
    });
    println!("{} points", points.len());
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} points failed: {failed:?}", failed.len(), points.len());
}

/// Runs `body` on a node that has one durable record, and whose disk is full from now on.
fn on_full_disk(memory: Memory, body: fn(&Path, &FailingFiles, Rig)) {
    in_system(move || {
        let dir = scratch();
        let files = FailingFiles::new(RealFiles::shared());
        let mut rig = Rig::found(dir.path(), vec![], Arc::new(files.clone()), memory, pace());
        rig.apply(records(1, vec![put("durable", 1)]));
        rig.wait();
        rig.wait_until("durable", || rig.machine.durable_through() == 1);
        files.fail(0, u64::MAX, Fault::Full);
        body(dir.path(), &files, rig);
    });
}
fn ids(rig: &Rig, index: u64) -> usize {
    rig.records(index).len()
}
/// Kills the process, and starts it on a disk that is well.
fn killed(mut rig: Rig, folder: &Path) -> Rig {
    rig.machine.checkpoint().unwrap();
    Rig::open(folder, rig.kill())
}

#[test]
fn recovery_may_fail_as_often_as_it_likes() {
    // what is carried out again needs the disk itself
    on_full_disk(ON_DISK, |folder, files, mut rig| {
        for round in 0..3u64 {
            let failed = files.failed();
            rig.apply(records(1, (0..10).map(|i| put(&format!("r{round}-{i}"), i)).collect()));
            rig.wait_until("several tries", || files.failed() >= failed + 4);
        }
        assert_eq!((rig.machine.durable_through(), rig.node.failing_shards()), (1, 1));
        files.heal();
        assert_eq!(ids(&rig, 1), 31);
        rig.apply(records(1, vec![put("later", 1)]));
        rig.wait_until("durable", || rig.machine.durable_through() == 5);
        assert_eq!(rig.node.failing_shards(), 0);
        assert_eq!(ids(&killed(rig, folder), 1), 32);
    });
}

/// The log is kept for what is not durable, so it must not wait for its time on a disk that fills up.
#[test]
fn what_is_applied_becomes_durable_early_while_the_disk_fills_up() {
    in_system(|| {
        let never = Duration::from_secs(24 * 3600);
        let pace = Pace { flush_after: never, ..pace() };
        for reserve_bytes in [0, u64::MAX / 8] {
            let dir = scratch();
            let room = Room::new(dir.path(), reserve_bytes);
            let real = || Disk { room: room.clone(), ..Disk::of(RealFiles::shared()) };
            let mut rig = Rig::on(dir.path(), vec![], real(), MEMORY, pace).unwrap();
            rig.apply(records(1, vec![put("a", 1)]));
            rig.wait();
            match room.is_tight() {
                true => rig.wait_until("durable", || rig.machine.durable_through() == 1),
                false => assert_eq!(rig.machine.durable_through(), 0),
            }
            rig.kill();
        }
    });
}

#[test]
fn an_idle_writer_stays_open_until_its_work_is_durable() {
    on_full_disk(MEMORY, |folder, files, mut rig| {
        rig.apply(records(1, vec![put("published", 2)]));
        rig.wait();
        rig.wait_until("a failure", || rig.node.failing_shards() == 1);
        rig.node.passivate_after(Duration::ZERO);
        assert_eq!(rig.node.open_counts().0, 1, "forgotten with its work");
        assert_eq!(ids(&rig, 1), 2);
        files.heal();
        rig.apply(records(1, vec![put("later", 3)]));
        assert_eq!(ids(&rig, 1), 3);
        rig.wait_until("durable", || rig.machine.durable_through() == 3);
        rig.node.passivate_after(Duration::ZERO);
        assert_eq!(rig.node.open_counts().0, 0);
        assert_eq!(ids(&killed(rig, folder), 1), 3);
    });
}

#[test]
fn writers_that_cannot_be_closed_make_way_for_others_and_lose_nothing() {
    on_full_disk(MEMORY, |folder, files, mut rig| {
        let count = quorate_model::limits::OPEN_WRITERS_MAX as u64 + 6;
        // new folders need the disk; these have theirs
        files.heal();
        for round in 0..2u32 {
            for index in 1..=count {
                rig.apply(records(index, vec![put(&format!("r{round}"), round)]));
                if index == 20 && round == 1 {
                    files.fail(0, u64::MAX, Fault::Full);
                }
            }
        }
        let last = rig.log.len() as u64;
        assert!(rig.machine.durable_through() < last);
        files.heal();
        let check = |rig: &Rig| {
            for index in 1..=count {
                assert_eq!(ids(rig, index), 2 + usize::from(index == 1), "index {index}");
            }
        };
        check(&rig);
        rig.wait_until("durable", || rig.machine.durable_through() == last);
        check(&killed(rig, folder));
    });
}

#[test]
fn closing_on_a_full_disk_leaves_the_work_to_the_log() {
    on_full_disk(MEMORY, |folder, _, mut rig| {
        rig.apply(records(1, vec![put("published", 2)]));
        rig.wait();
        rig.machine.close().unwrap();
        assert_eq!(rig.machine.durable_through(), 1);
        let rig = Rig::open(folder, rig.kill());
        assert_eq!(ids(&rig, 1), 2);
    });
}
