//! Does every answered event stay, once, whatever happens to power, disk and process, and does a forgotten user stay forgotten?
//!
//! `QUORATE_POWER_CUTS=all` cuts the power at every operation in every way instead of one way at each fifteenth, and
//! `QUORATE_DISK_FAULTS=all` lets every call fail in every way (some minutes each).

use super::*;
use crate::merge::Merged;
use crate::rows::of_event;
use crate::segment::RowFilter;
use proptest::prelude::*;
use quorate_model::IndexName;
use quorate_model::event::{EventKind, EventObject, EventTarget};
use quorate_store::failing::{FailingFiles, Fault};
use quorate_store::files::RealFiles;
use quorate_store::recorder::{CrashMode, RecordingFiles};
use std::sync::atomic::AtomicBool;

pub(super) const DAY_MS: u64 = 24 * 3_600_000;
pub(super) const NOW_MS: u64 = 20_000 * DAY_MS + 7 * 3_600_000;

/// An entry of the log.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    Events(Vec<Event>),
    Forget(String),
}

pub(super) fn event(user: u8, object: u8, time_ms: Option<u64>) -> Event {
    let object =
        EventObject { object_id: format!("object{object}"), position: Some(1), ..EventObject::default() };
    Event {
        kind: EventKind::Click,
        name: "Clicked".into(),
        index: IndexName::new(&format!("index{}", user % 2)).expect("a name"),
        user: format!("user{user}"),
        authenticated: (user == 3).then(|| "user0".into()),
        time_ms,
        query_id: None,
        target: EventTarget::Objects(vec![object]),
        value: None,
        currency: None,
    }
}
pub(super) fn token(user: u8) -> String {
    format!("user{user}")
}
/// Of entry `at` of a log; each comes a second after the one before.
fn received_ms(at: usize) -> u64 {
    NOW_MS + 1_000 * at as u64
}
pub(super) fn take(store: &mut EventStore, at: usize, entry: &Entry) {
    let log_index = at as u64 + 1;
    match entry {
        Entry::Events(events) => store.append(log_index, received_ms(at), events),
        Entry::Forget(token) => store.forget(log_index, token),
    }
}
pub(super) fn seen(store: &EventStore) -> Vec<EventRow> {
    let view = store.view();
    let rows = view.rows(RowFilter::ALL, 0..u64::MAX).expect("opened");
    rows.collect::<Result<_>>().expect("read")
}
/// What is to be seen of a log, without files.
pub(super) fn expected(log: &[Entry]) -> Vec<EventRow> {
    let mut forgotten = Forgotten::default();
    let mut rows = vec![];
    for (at, entry) in log.iter().enumerate() {
        let log_index = at as u64 + 1;
        match entry {
            Entry::Forget(token) => forgotten.add(token, log_index),
            Entry::Events(events) => {
                let all = events
                    .iter()
                    .map(|event| of_event(event, log_index, received_ms(at), &mut |text| text.into()));
                rows.extend(all.flatten());
            }
        }
    }
    rows.sort();
    Merged::new(&[], &rows, RowFilter::ALL, 0..u64::MAX, &forgotten)
        .expect("no files")
        .collect::<Result<_>>()
        .expect("no files")
}
/// Opens a folder and goes on with the log behind what is durable there.
pub(super) fn resumed(files: Arc<dyn Files>, folder: &Path, log: &[Entry]) -> Result<EventStore> {
    let mut store = EventStore::open(files, folder)?;
    let durable = store.durable_through() as usize;
    log.iter().enumerate().skip(durable).for_each(|(at, entry)| take(&mut store, at, entry));
    Ok(store)
}
/// Compacts until nothing is to be done.
pub(super) fn compact(store: &mut EventStore, now_ms: u64) -> Result<()> {
    while let Some(compaction) = store.compaction(now_ms) {
        let compacted = compaction.run(&AtomicBool::new(false))?.expect("nobody stops it");
        store.put(compacted)?;
    }
    Ok(())
}
/// Whether any file of a folder has a text. Files are compressed in blocks, which keep a text that is there once.
fn names(store: &EventStore, token: &str) -> bool {
    let rows = store.segments.iter().flat_map(|segment| {
        segment.groups(RowFilter::ALL).into_iter().flat_map(|group| segment.rows(group).expect("read"))
    });
    rows.into_iter().any(|row| *row.user == *token || row.authenticated.as_deref() == Some(token))
}

fn any_entry() -> impl Strategy<Value = Entry> {
    // of now, of some hours and of days ago
    let ago = prop_oneof![0..3_000_u64, 0..8 * 3_600_000_u64, 0..25 * DAY_MS];
    let time = prop::option::of(ago.prop_map(|ago| NOW_MS - ago));
    let event = (0..5_u8, 0..4_u8, time).prop_map(|(user, object, time_ms)| event(user, object, time_ms));
    prop_oneof![
        12 => prop::collection::vec(event, 1..6).prop_map(Entry::Events),
        1 => (0..5_u8).prop_map(|user| Entry::Forget(token(user))),
    ]
}

/// What else happens between entries.
#[derive(Clone, Copy, Debug)]
enum Happening {
    Nothing,
    Seal,
    Compact,
    CompactLater,
    Restart,
    Export,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn what_is_seen_is_what_the_log_says(
        log in prop::collection::vec((any_entry(), prop_oneof![
            8 => Just(Happening::Nothing),
            8 => Just(Happening::Seal),
            2 => Just(Happening::Compact),
            1 => Just(Happening::CompactLater),
            2 => Just(Happening::Restart),
            1 => Just(Happening::Export),
        ]), 1..60),
    ) {
        let root = tempfile::tempdir().expect("a folder");
        let mut folder = root.path().join("events");
        let files: Arc<dyn Files> = Arc::new(RealFiles);
        let (log, happenings): (Vec<Entry>, Vec<Happening>) = log.into_iter().unzip();
        let mut store = EventStore::open(files.clone(), &folder).expect("a new one");
        for (at, happening) in happenings.into_iter().enumerate() {
            take(&mut store, at, &log[at]);
            match happening {
                Happening::Nothing => {}
                Happening::Seal => store.seal().expect("sealed"),
                Happening::Compact => compact(&mut store, NOW_MS).expect("compacted"),
                Happening::CompactLater => compact(&mut store, NOW_MS + 2 * DAY_MS).expect("compacted"),
                Happening::Restart => store = resumed(files.clone(), &folder, &log[..=at]).expect("opened"),
                Happening::Export => {
                    store.seal().expect("sealed");
                    let into = root.path().join(at.to_string());
                    store.export(&into).expect("linked");
                    store = EventStore::open(files.clone(), &into).expect("whole");
                    std::fs::remove_dir_all(&folder).expect("removed");
                    folder = into;
                }
            }
            prop_assert!(seen(&store) == expected(&log[..=at]), "after {} {:?}", at, happening);
        }
        store.seal().expect("sealed");
        compact(&mut store, NOW_MS + 2 * DAY_MS).expect("compacted");
        prop_assert!(seen(&store) == expected(&log));
        prop_assert!(store.manifest.forgotten.is_empty());
        prop_assert!(store.compaction(NOW_MS + 2 * DAY_MS).is_none());
        let days: Vec<u64> = store.manifest.metas.iter().map(|meta| meta.period.day).collect();
        prop_assert!(store.manifest.metas.iter().all(|meta| meta.period.hour.is_none()));
        let distinct: BTreeSet<u64> = days.iter().copied().collect();
        // a log of which nothing is left has no days
        prop_assert!(days.len() <= distinct.len() * (2 * 8 - 1), "{:?}", days);
    }
}

/// A log in which everything happens; `do_it` is told when.
fn busy_log() -> Vec<Entry> {
    let events = |at: u8| {
        let earlier = [2_000, 3_600_000, 3 * DAY_MS].map(|ago| Some(NOW_MS - ago));
        let times = earlier.into_iter().chain([None]);
        let of = |(user, time_ms): (u8, Option<u64>)| event(user % 4, at % 3, time_ms);
        Entry::Events((at..).zip(times).map(of).collect())
    };
    let mut log: Vec<Entry> = (0..22).map(events).collect();
    log.insert(9, Entry::Forget(token(0)));
    log.insert(15, Entry::Forget(token(2)));
    log
}
/// Carries the log out with seals, merges and a sweep in between; whatever fails is tried again later.
fn busy(files: Arc<dyn Files>, folder: &Path, durable: &mut dyn FnMut(u64)) -> Result<EventStore> {
    let log = busy_log();
    let mut store = EventStore::open(files, folder)?;
    for (at, entry) in log.iter().enumerate() {
        take(&mut store, at, entry);
        if at % 2 == 1 {
            drop(store.seal());
        }
        if at == 12 || at == 19 {
            drop(compact(&mut store, NOW_MS + 2 * DAY_MS));
        }
        durable(store.durable_through());
        if at % 5 == 4 {
            assert!(seen(&store) == expected(&log[..=at]), "after {at}");
        }
    }
    Ok(store)
}

#[test]
fn a_power_cut_at_any_point_loses_nothing_that_was_durable() {
    let root = tempfile::tempdir().expect("a folder");
    let live = root.path().join("live");
    std::fs::create_dir(&live).expect("a folder");
    let files = Arc::new(RecordingFiles::new(&live).expect("a layer"));
    let mut durable = vec![];
    let events = live.join("events");
    busy(files.clone(), &events, &mut |through| durable.push((files.points(), through))).expect("no fault");
    let log = busy_log();
    let is_all = std::env::var_os("QUORATE_POWER_CUTS").is_some();
    for point in (0..=files.points()).step_by(if is_all { 1 } else { 15 }) {
        let modes = [CrashMode::Dropped, CrashMode::Prefix, CrashMode::Torn(point as u64)];
        let modes = if is_all { modes.to_vec() } else { vec![modes[point % 3]] };
        for mode in modes {
            let image = root.path().join("image");
            files.crash_image(point, mode, &image).expect("an image");
            let folder = image.join("events");
            let mut store = resumed(Arc::new(RealFiles), &folder, &log).expect("opens after a power cut");
            assert_eq!(store.lost(), [], "{point} {mode:?}");
            let least = durable.iter().filter(|(at, _)| *at <= point).map(|(_, through)| *through).max();
            let found =
                EventStore::open(Arc::new(RealFiles), &folder).expect("opens twice").durable_through();
            assert!(found >= least.unwrap_or(0), "{point} {mode:?}: {found} of {least:?}");
            assert!(seen(&store) == expected(&log), "{point} {mode:?}");
            store.seal().expect("sealed");
            compact(&mut store, NOW_MS + 2 * DAY_MS).expect("compacted");
            assert!(seen(&store) == expected(&log), "{point} {mode:?}, compacted");
            std::fs::remove_dir_all(&image).expect("removed");
        }
    }
}

#[test]
fn a_disk_that_refuses_any_call_once_or_for_a_while_loses_nothing() {
    let log = busy_log();
    let run = |plan: Option<(u64, u64, Fault)>| {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("events");
        let files = Arc::new(FailingFiles::new(Arc::new(RealFiles)));
        if let Some((after, count, fault)) = plan {
            files.fail(after, count, fault);
        }
        let store = busy(files.clone(), &folder, &mut |_| {});
        let calls = files.calls();
        // the process ends here: what is on disk and the log are all there is
        drop(store);
        let crashed = resumed(Arc::new(RealFiles), &folder, &log).expect("opens");
        assert!(seen(&crashed) == expected(&log), "{plan:?}, after a crash");
        assert_eq!(crashed.lost(), [], "{plan:?}");
        // and again with a process that goes on
        files.heal();
        let mut store = resumed(files, &folder, &log).expect("opens");
        store.seal().expect("sealed");
        compact(&mut store, NOW_MS + 2 * DAY_MS).expect("compacted");
        assert!(seen(&store) == expected(&log), "{plan:?}, in the end");
        assert!(store.manifest.forgotten.is_empty());
        assert!(store.doubtful.is_empty());
        calls
    };
    let calls = run(None);
    let step = if std::env::var_os("QUORATE_DISK_FAULTS").is_some() { 1 } else { 257 };
    for (number, fault) in Fault::ALL.into_iter().enumerate() {
        for after in (number as u64..calls).step_by(step) {
            run(Some((after, 1 + after % 3 * 20, fault)));
        }
    }
}

#[test]
fn a_forgotten_user_leaves_the_files_and_comes_back_when_there_is_something_new() {
    let root = tempfile::tempdir().expect("a folder");
    let mut store = EventStore::open(Arc::new(RealFiles), &root.path().join("events")).expect("a new one");
    let all = |time_ms| Entry::Events((0..4).map(|user| event(user, 1, time_ms)).collect());
    take(&mut store, 0, &all(Some(NOW_MS - DAY_MS)));
    take(&mut store, 1, &all(None));
    store.seal().expect("sealed");
    assert!(names(&store, "user0"));
    take(&mut store, 2, &Entry::Forget(token(0)));
    let users =
        |store: &EventStore| seen(store).iter().map(|row| row.user.to_string()).collect::<BTreeSet<_>>();
    assert_eq!(users(&store), ["user1", "user2"].map(str::to_owned).into(), "at once, by either token");
    store.seal().expect("sealed");
    compact(&mut store, NOW_MS).expect("swept");
    assert!(!names(&store, "user0"));
    assert!(store.manifest.forgotten.is_empty(), "nothing is left to be passed over");
    take(&mut store, 3, &all(None));
    store.seal().expect("sealed");
    assert_eq!(users(&store).len(), 4, "what comes later counts");
}

#[test]
fn a_view_sees_what_was_there_whenever_it_is_read() {
    let root = tempfile::tempdir().expect("a folder");
    let mut store = EventStore::open(Arc::new(RealFiles), &root.path().join("events")).expect("a new one");
    let log: Vec<Entry> = (0..9)
        .map(|at| match at {
            5 => Entry::Forget(token(4)),
            // of one user, and the later it comes the earlier it was
            _ => Entry::Events(vec![event(
                if at % 2 == 0 { 4 } else { 7 },
                at,
                Some(NOW_MS - 1_000 * u64::from(at)),
            )]),
        })
        .collect();
    let mut views = vec![];
    for (at, entry) in log.iter().enumerate() {
        take(&mut store, at, entry);
        views.push(store.view());
        if at == 2 {
            store.seal().expect("sealed");
            views.push(store.view());
        }
    }
    store.seal().expect("sealed");
    compact(&mut store, NOW_MS + 2 * DAY_MS).expect("compacted");
    views.insert(
        0,
        EventStore::open(Arc::new(RealFiles), &root.path().join("none")).expect("a new one").view(),
    );
    // the files of old views are gone by name, not from whoever has them open
    for (view, entries) in views.iter().zip([0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9]) {
        let read = |view: &EventView| -> Vec<EventRow> {
            let rows = view.rows(RowFilter::ALL, 0..u64::MAX).expect("opened");
            rows.collect::<Result<_>>().expect("read")
        };
        assert!(read(view) == expected(&log[..entries]), "of {entries} entries");
        assert!(read(view) == read(&view.clone()));
    }
}

#[test]
fn a_compaction_that_is_stopped_or_overtaken_changes_nothing() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("events");
    let mut store = EventStore::open(Arc::new(RealFiles), &folder).expect("a new one");
    let log: Vec<Entry> = (0..10).map(|at| Entry::Events(vec![event(at, 1, None)])).collect();
    for (at, entry) in log.iter().enumerate() {
        take(&mut store, at, entry);
        store.seal().expect("sealed");
    }
    let stopped = store.compaction(NOW_MS).expect("ten files").run(&AtomicBool::new(true));
    assert!(stopped.expect("no failure").is_none());
    let late = store.compaction(NOW_MS).expect("ten files").run(&AtomicBool::new(false)).expect("no failure");
    store.remove_before(NOW_MS + 2 * DAY_MS).expect("removed");
    store.put(late.expect("nobody stopped it")).expect("passed over");
    assert_eq!(seen(&store), [], "what was removed meanwhile does not come back");
    let left: Vec<_> =
        std::fs::read_dir(&folder).expect("there").flatten().filter(|it| it.path().is_file()).collect();
    assert_eq!(left.len(), 2, "a manifest and its copy: {left:?}");
    let store = EventStore::open(Arc::new(RealFiles), &folder).expect("whole");
    assert_eq!((store.rows(), store.durable_through()), (0, 10));
}
