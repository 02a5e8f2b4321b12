//! Does a node with real files keep what it answered? Host, groups, log and consensus thread together.

#[path = "disk/faults.rs"]
mod faults;

use bytes::Bytes;
use faults::Faults;
use parking_lot::Mutex;
use quorate_model::{GroupId, limits};
use quorate_raft::effects::{Persist, SnapshotChange};
use quorate_raft::log::{Log, LogOptions};
use quorate_raft::*;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const WITHIN: Duration = Duration::from_secs(20);
/// An entry over which its group panics on the consensus thread.
const POISON: &[u8] = b"poison";

#[derive(Clone, Default)]
struct Recorder {
    entries: Arc<Mutex<Vec<CommittedEntry>>>,
    leadership: Arc<Mutex<Vec<Leadership>>>,
    failures: Arc<Mutex<Vec<String>>>,
}
impl CommitSink for Recorder {
    fn committed(&mut self, entries: Vec<CommittedEntry>) {
        assert!(!entries.iter().any(|entry| &entry.data[..] == POISON), "planted");
        self.entries.lock().extend(entries);
    }
    fn leadership(&mut self, leadership: Leadership) {
        self.leadership.lock().push(leadership);
    }
    fn restore(&mut self, image: SnapshotImage) {
        panic!("no snapshot was sent: {image:?}");
    }
    fn snapshot_wanted(&mut self) {}
    fn failed(&mut self, reason: &str) {
        self.failures.lock().push(reason.to_owned());
    }
}
impl Recorder {
    fn texts(&self) -> Vec<String> {
        let entries = self.entries.lock();
        let with_data = entries.iter().filter(|e| !e.data.is_empty());
        with_data.map(|e| String::from_utf8_lossy(&e.data).into_owned()).collect()
    }
}

fn open(dir: &Path) -> RaftHost {
    RaftHost::open(RaftOptions::new(dir)).unwrap()
}
fn open_with_faults(dir: &Path) -> (Faults, RaftHost) {
    let files = Faults::default();
    let log = LogLayer { files: Arc::new(files.clone()), ..LogLayer::default() };
    let options = RaftOptions { log, ..RaftOptions::new(dir) };
    (files, RaftHost::open(options).unwrap())
}
fn start(host: &RaftHost, group: u16, applied: u64) -> (GroupHandle, Recorder) {
    let recorder = Recorder::default();
    let options = GroupOptions { applied, voters: vec![1], self_id: 1, sink: Box::new(recorder.clone()) };
    (host.start_group(GroupId(group), options).unwrap(), recorder)
}
fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}
fn run<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
/// Waits for something that other threads bring about.
fn until(what: &str, mut is_done: impl FnMut() -> bool) {
    let end = Instant::now() + WITHIN;
    while !is_done() {
        assert!(Instant::now() < end, "not within {WITHIN:?}: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_group_of_one_leads_at_once_and_keeps_its_entries_over_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let mut all: Vec<String> = vec![];
    let mut last_term = 0;
    for round in 0..4 {
        let host = open(dir.path());
        let (group, recorder) = start(&host, 3, 0);
        assert_eq!(group.status().role, Role::Leader);
        let parts: Vec<_> = (0..3).map(|part| format!("{round}-{part}")).collect();
        let committed = run(group.propose(parts.iter().map(|p| text(p)).collect(), WITHIN)).unwrap();
        assert_eq!(committed.last - committed.first, 2, "consecutive indices");
        assert!(committed.term > last_term, "a restart starts a term");
        last_term = committed.term;
        all.extend(parts);
        until("delivery", || recorder.texts() == all);
        let entries = recorder.entries.lock().clone();
        let indices: Vec<_> = entries.iter().map(|e| e.index).collect();
        assert_eq!(
            indices,
            (1..=committed.last).collect::<Vec<_>>(),
            "every index once, empty ones included"
        );
        let status = group.status();
        assert_eq!(
            (status.committed, status.last_index, status.pending_bytes),
            (committed.last, committed.last, 0)
        );
        assert_eq!(run(group.read_barrier(WITHIN)).unwrap(), committed.last);
        assert_eq!(recorder.leadership.lock().last().unwrap().role, Role::Leader);
    }
}

#[test]
fn what_is_applied_is_not_delivered_again() {
    let dir = tempfile::tempdir().unwrap();
    let applied = {
        let host = open(dir.path());
        let (group, _) = start(&host, 0, 0);
        run(group.propose(vec![text("first")], WITHIN)).unwrap();
        let applied = run(group.propose(vec![text("second")], WITHIN)).unwrap().last;
        run(group.propose(vec![text("third")], WITHIN)).unwrap();
        applied
    };
    let host = open(dir.path());
    let (_, recorder) = start(&host, 0, applied);
    until("delivery", || recorder.texts() == ["third"]);
}

#[test]
fn a_log_that_is_cut_starts_after_the_cut_and_refuses_an_older_state() {
    let dir = tempfile::tempdir().unwrap();
    let cut = {
        let host = open(dir.path());
        let (group, _) = start(&host, 1, 0);
        let mut last = 0;
        for n in 0..20 {
            last = run(group.propose(vec![text(&n.to_string())], WITHIN)).unwrap().last;
        }
        group.compact(last);
        assert_eq!(group.status().first_index, 2, "nothing is applied, nothing is cut");
        group.report_applied(last - 2);
        group.compact(last - 2);
        until("cut", || group.status().first_index == last - 1);
        last - 2
    };
    let host = open(dir.path());
    let recorder = Recorder::default();
    let options =
        |applied| GroupOptions { applied, voters: vec![1], self_id: 1, sink: Box::new(recorder.clone()) };
    let older = host.start_group(GroupId(1), options(cut - 1)).err().unwrap();
    assert!(matches!(older, RaftError::LogCompacted { .. }), "{older}");
    let newer = host.start_group(GroupId(1), options(cut + 50)).err().unwrap();
    assert!(matches!(newer, RaftError::LogLost { .. }), "{newer}");
    host.start_group(GroupId(1), options(cut)).unwrap();
    until("delivery", || recorder.texts() == ["18", "19"]);
    let twice = host.start_group(GroupId(1), options(cut)).err().unwrap();
    assert!(matches!(twice, RaftError::NotStarted { .. }), "{twice}");
}

#[test]
fn a_log_of_another_member_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    {
        let host = open(dir.path());
        let (group, _) = start(&host, 1, 0);
        run(group.propose(vec![text("a")], WITHIN)).unwrap();
    }
    let host = open(dir.path());
    let options =
        GroupOptions { applied: 0, voters: vec![2], self_id: 2, sink: Box::new(Recorder::default()) };
    let refused = host.start_group(GroupId(1), options).err().unwrap();
    assert!(matches!(refused, RaftError::Identity { found: 1, expected: 2, .. }), "{refused}");
}

#[test]
fn many_groups_share_syncs_and_idle_ones_cost_none() {
    const GROUPS: u16 = 17;
    const EACH: usize = 40;
    let dir = tempfile::tempdir().unwrap();
    let (files, host) = open_with_faults(dir.path());
    let groups: Vec<_> = (0..GROUPS).map(|group| start(&host, group, 0)).collect();
    until("first entries", || groups.iter().all(|(_, recorder)| recorder.entries.lock().len() == 2));
    let before = host.log_syncs();
    // A slow disk, so that writers meet whatever the machine does.
    files.set_sync_time(Duration::from_millis(3));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let mut writers = vec![];
        for (group, _) in &groups {
            for n in 0..EACH {
                let group = group.clone();
                writers.push(tokio::task::spawn_local(async move {
                    group.propose(vec![text(&format!("{n}"))], WITHIN).await.unwrap()
                }));
            }
        }
        for writer in writers {
            writer.await.unwrap();
        }
    });
    let proposals = u64::from(GROUPS) * EACH as u64;
    let syncs = host.log_syncs() - before;
    assert!(syncs * 10 < proposals, "{syncs} syncs for {proposals} proposals");
    files.set_sync_time(Duration::ZERO);
    for (group, recorder) in &groups {
        until("delivery", || recorder.texts().len() == EACH);
        assert_eq!(group.status().pending_bytes, 0);
    }
    // Ten ticks without work.
    let idle = host.log_syncs();
    std::thread::sleep(Duration::from_millis(1_000));
    assert_eq!(host.log_syncs(), idle, "idle groups do not sync");
}

#[test]
fn a_full_disk_refuses_writes_and_goes_on_by_itself_when_there_is_space() {
    let dir = tempfile::tempdir().unwrap();
    let (files, host) = open_with_faults(dir.path());
    let (group, recorder) = start(&host, 1, 0);
    let (other, _) = start(&host, 2, 0);
    run(group.propose(vec![text("before")], WITHIN)).unwrap();

    files.fill_disk();
    let error = run(group.propose(vec![text("during")], WITHIN)).unwrap_err();
    assert!(matches!(error, ProposeError::Unavailable { .. }), "{error}");
    assert!(error.outcome_is_unknown());
    assert!(host.log_stalled().is_some());
    // From now on at once, in every group, and reads of the positions go on.
    let error = run(other.propose(vec![text("other")], WITHIN)).unwrap_err();
    assert!(matches!(error, ProposeError::Unavailable { .. }), "{error}");
    assert_eq!(recorder.texts(), ["before"]);
    let names = || std::fs::read_dir(dir.path()).unwrap().count();
    let files_before = names();
    let tries = files.failed_writes();
    until("several tries", || files.failed_writes() > tries + 3);
    assert!(names() <= files_before + 1, "tries do not gather files");

    files.free_disk();
    until("going on", || host.log_stalled().is_none());
    until("acceptance", || run(group.propose(vec![text("after")], WITHIN)).is_ok());
    until("acceptance", || run(other.propose(vec![text("after")], WITHIN)).is_ok());
    until("delivery", || recorder.texts().last().is_some_and(|t| t == "after"));
    let texts = recorder.texts();
    drop((group, other, host));

    let host = open(dir.path());
    let (_, again) = start(&host, 1, 0);
    until("the same after a restart", || again.texts() == texts);
    assert_eq!(texts[0], "before");
    assert_eq!(
        texts.iter().filter(|t| *t == "during").count(),
        1,
        "kept in memory, written once there was space"
    );
}

#[test]
fn a_failed_sync_ends_the_node_and_answers_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let files = Faults::default();
    let reasons: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = reasons.clone();
    let log = LogLayer {
        files: Arc::new(files.clone()),
        on_fatal: Arc::new(move |reason| seen.lock().push(reason.to_owned())),
        ..LogLayer::default()
    };
    let host = RaftHost::open(RaftOptions { log, ..RaftOptions::new(dir.path()) }).unwrap();
    let (group, recorder) = start(&host, 1, 0);
    run(group.propose(vec![text("before")], WITHIN)).unwrap();
    files.fail_syncs();
    let error = run(group.propose(vec![text("lost?")], Duration::from_millis(300))).unwrap_err();
    assert_eq!(error, ProposeError::Timeout);
    until("the reason", || !reasons.lock().is_empty());
    assert_eq!(recorder.texts(), ["before"]);
    files.heal_syncs();
}

#[test]
fn proposals_wait_for_a_state_machine_that_is_far_behind() {
    let dir = tempfile::tempdir().unwrap();
    let host = open(dir.path());
    let (group, _recorder) = start(&host, 1, 0);
    let one = || vec![Bytes::from_static(b"one")];
    let soon = Duration::from_millis(200);
    let last = run(async {
        let many = vec![one()[0].clone(); limits::UNAPPLIED_ENTRIES_MAX as usize];
        group.propose(many, WITHIN).await.unwrap();
        group.propose(one(), WITHIN).await.expect("not behind for long").last
    });
    let ticks = limits::UNAPPLIED_S * 1_000 / quorate_raft::RaftOptions::new(dir.path()).tick_ms;
    until("it counts as behind", || group.status().unapplied_ticks > ticks);
    run(async {
        assert_eq!(group.propose(one(), soon).await, Err(ProposeError::Full));
        assert_eq!(group.status().pending_bytes, 0, "a refused one does not count");
        let waits = group.propose(one(), WITHIN);
        tokio::pin!(waits);
        assert!(futures_poll_once(waits.as_mut()).await.is_none(), "waits for the state machine");
        assert!(group.status().pending_bytes > 0, "what waits counts");
        group.report_applied(last);
        waits.await.expect("it has caught up");
    });
}

#[test]
fn proposals_over_the_bound_are_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (files, host) = open_with_faults(dir.path());
    let (group, recorder) = start(&host, 1, 0);
    until("first entry", || recorder.entries.lock().len() == 2);
    files.hold_syncs();
    // Payloads share one buffer: the bound counts bytes, the test need not own them.
    let part = Bytes::from(vec![b'x'; limits::ENTRY_BYTES]);
    let many = vec![part.clone(); limits::PROPOSAL_BYTES_MAX / limits::ENTRY_BYTES / 64];
    run(async {
        let first = group.propose(many.clone(), WITHIN);
        tokio::pin!(first);
        assert!(futures_poll_once(first.as_mut()).await.is_none(), "waits for the disk");
        let waiting = group.status().pending_bytes as usize;
        assert_eq!(waiting, many.len() * part.len());
        let rest = (limits::PROPOSAL_BYTES_MAX - waiting) / part.len() + 1;
        assert_eq!(group.propose(vec![part.clone(); rest], WITHIN).await, Err(ProposeError::Full));
        assert_eq!(group.status().pending_bytes as usize, waiting, "a refused one does not count");
        files.release_syncs();
        first.await.unwrap();
    });
    assert_eq!(group.status().pending_bytes, 0);
}

/// Polls a future one time.
async fn futures_poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut future).poll(cx) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[test]
fn a_stopped_group_answers_what_waits() {
    let dir = tempfile::tempdir().unwrap();
    let (files, host) = open_with_faults(dir.path());
    let (group, recorder) = start(&host, 1, 0);
    until("first entry", || recorder.entries.lock().len() == 2);
    files.hold_syncs();
    run(async {
        let waiting = group.propose(vec![text("waits")], WITHIN);
        tokio::pin!(waiting);
        assert!(futures_poll_once(waiting.as_mut()).await.is_none());
        group.shutdown();
        assert_eq!(waiting.await, Err(ProposeError::Stopped));
        assert_eq!(group.propose(vec![text("late")], WITHIN).await, Err(ProposeError::Stopped));
        assert_eq!(group.read_barrier(WITHIN).await, Err(BarrierError::Stopped));
    });
    files.release_syncs();
}

#[test]
fn a_panic_stops_its_group_alone_and_the_next_start_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut host = Some(open(dir.path()));
    for round in 0..2 {
        let running = host.take().unwrap_or_else(|| open(dir.path()));
        let (poisoned, recorder) = start(&running, 1, 0);
        let (other, texts) = start(&running, 2, 0);
        if round == 0 {
            run(poisoned.propose(vec![text("before")], WITHIN)).unwrap();
            let error = run(poisoned.propose(vec![Bytes::from_static(POISON)], WITHIN));
            assert!(matches!(error, Err(ProposeError::Stopped) | Ok(_)), "{error:?}");
        }
        until("the word", || !recorder.failures.lock().is_empty());
        assert_eq!(recorder.failures.lock().len(), 1, "said once");
        let status = poisoned.status();
        assert_eq!((status.role, status.leader), (Role::Follower, None));
        let late = run(poisoned.propose(vec![text("late")], WITHIN));
        assert_eq!(late, Err(ProposeError::Stopped), "and nothing else is taken");
        run(other.propose(vec![text("goes on")], WITHIN)).unwrap();
        until("delivery", || texts.texts().len() == round + 1);
        assert!(texts.failures.lock().is_empty());
    }
}

#[test]
fn a_deadline_without_a_decision_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let (files, host) = open_with_faults(dir.path());
    let (group, recorder) = start(&host, 1, 0);
    until("first entry", || recorder.entries.lock().len() == 2);
    files.hold_syncs();
    let error = run(group.propose(vec![text("slow")], Duration::from_millis(150))).unwrap_err();
    assert_eq!(error, ProposeError::Timeout);
    files.release_syncs();
    until("committed all the same", || recorder.texts() == ["slow"]);
}

#[test]
fn a_leader_is_confirmed_and_only_a_leader() {
    let dir = tempfile::tempdir().unwrap();
    let host = open(dir.path());
    let (group, _) = start(&host, 1, 0);
    let last = run(group.propose(vec![text("one")], WITHIN)).unwrap();
    let confirmed = run(group.confirm_leader(WITHIN)).unwrap();
    assert_eq!(confirmed, Confirmed { term: last.term, log_index: last.last });
    let options =
        |voters| GroupOptions { applied: 0, voters, self_id: 1, sink: Box::new(Recorder::default()) };
    let waiting = host.start_group(GroupId(2), options(vec![])).unwrap();
    assert_eq!(run(waiting.confirm_leader(WITHIN)), Err(BarrierError::NotLeader { leader: None }));
}

#[test]
fn a_group_that_was_left_begins_anew_and_remembers_its_term() {
    let dir = tempfile::tempdir().unwrap();
    let (host, before) = {
        let host = open(dir.path());
        let (group, _) = start(&host, 1, 0);
        let before = run(group.propose(vec![text("old")], WITHIN)).unwrap();
        host.leave_group(&group).unwrap();
        (host, before)
    };
    let again = |host: &RaftHost| {
        let recorder = Recorder::default();
        // Founders are not asked for a second time: whoever comes back waits to be added.
        let options =
            GroupOptions { applied: 0, voters: vec![1], self_id: 1, sink: Box::new(recorder.clone()) };
        let group = host.start_group(GroupId(1), options).unwrap();
        (group.status(), recorder.texts())
    };
    let mut host = Some(host);
    for _ in 0..2 {
        let running = host.take().unwrap_or_else(|| open(dir.path()));
        let (status, texts) = again(&running);
        assert_eq!((status.role, status.last_index, status.term), (Role::Follower, 0, before.term));
        assert!(texts.is_empty());
    }
}

/// A process dies when its state machine has a snapshot durably, and before the log says so.
#[test]
fn a_state_that_is_there_is_not_awaited_after_a_restart() {
    const GROUP: GroupId = GroupId(3);
    let dir = tempfile::tempdir().unwrap();
    let mut snapshot = raft::eraftpb::Snapshot::default();
    snapshot.mut_metadata().index = 7;
    snapshot.mut_metadata().term = 2;
    snapshot.mut_metadata().mut_conf_state().voters = vec![1, 2];
    let stored = |dir: &Path| {
        let log = Log::open(LogOptions::new(dir)).unwrap();
        let survey = |applied| recovery::survey(&log, GROUP, applied).unwrap().unwrap();
        (survey(0).is_restoring, survey(7).is_restoring)
    };
    let log = Log::open(LogOptions::new(dir.path())).unwrap();
    let mut persist = Persist::new(GROUP, 1);
    persist.identity = Some(1);
    persist.snapshot = SnapshotChange::Install(Box::new(snapshot));
    log.submit(persist);
    log.settle(GROUP, WITHIN).unwrap();
    drop(log);
    assert_eq!(stored(dir.path()), (true, false));
    // a recovery of a member that has the state keeps it
    let recovered = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().path()) {
        std::fs::copy(&file, recovered.path().join(file.file_name().unwrap())).unwrap();
    }
    let log = Log::open(LogOptions::new(recovered.path())).unwrap();
    let own = recovery::survey(&log, GROUP, 7).unwrap().unwrap();
    recovery::hand_to(&log, GROUP, (1, &own), (1, 7), vec![]).unwrap();
    assert!(log.stored(GROUP).unwrap().snapshot.is_none());
    assert_eq!(recovery::survey(&log, GROUP, 7).unwrap().unwrap().voters, [1]);
    drop(log);
    // a start says it in the log
    let host = open(dir.path());
    let (group, _) = start(&host, 3, 7);
    assert_eq!((group.status().committed, group.status().role), (7, Role::Follower));
    host.stop_group(&group).unwrap();
    drop(host);
    assert_eq!(stored(dir.path()), (false, false));
}
