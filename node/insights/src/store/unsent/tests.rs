//! Does a sink get every row once, in the order of the log, whatever has become of files, and a bounded number at a time?

use super::*;
use quorate_model::IndexName;
use quorate_model::event::{Event, EventKind, EventObject, EventTarget};
use quorate_store::files::RealFiles;
use std::sync::Arc;

const NOW_MS: u64 = 20_000 * 24 * 3_600_000;
/// Records of an entry.
const OF_ENTRY: usize = 700;

fn entry(user: &str, log_index: u64) -> Vec<Event> {
    let object = |n: usize| EventObject { object_id: format!("{log_index}-{n}"), ..EventObject::default() };
    vec![Event {
        kind: EventKind::Click,
        name: "Clicked".into(),
        index: IndexName::new("i").unwrap(),
        user: user.into(),
        authenticated: None,
        time_ms: Some(NOW_MS - log_index % 3),
        query_id: None,
        target: EventTarget::Objects((0..OF_ENTRY).map(object).collect()),
        value: None,
        currency: None,
    }]
}
/// All batches from a log index on.
fn batches(store: &EventStore, after: u64) -> Vec<Batch> {
    passes(store, after, PASS_ROWS_MAX).0
}
/// All batches from a log index on, in passes that keep so many rows, and how many row groups were read for them.
fn passes(store: &EventStore, mut after: u64, pass_rows: usize) -> (Vec<Batch>, usize) {
    let (mut all, mut groups) = (vec![], 0);
    while store.rows_after(after) > 0 {
        let pass =
            Unsent { pass_rows, ..store.unsent(after) }.read(&AtomicBool::new(false)).unwrap().unwrap();
        for batch in pass.batches {
            assert!(batch.through > after, "it goes on");
            after = batch.through;
            all.push(batch);
        }
        groups += pass.groups_read;
    }
    (all, groups)
}

#[test]
fn a_backlog_is_read_once_however_many_batches_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = EventStore::open(Arc::new(RealFiles), folder.path()).unwrap();
    for log_index in 1..=48 {
        store.append(log_index, NOW_MS, &entry("ann", log_index));
        if log_index % 4 == 0 {
            store.seal().unwrap();
        }
    }
    let (files, all) = (store.segments.len(), 48 * OF_ENTRY);
    let groups: usize = store.segments.iter().map(|segment| segment.groups(RowFilter::ALL).len()).sum();
    // of one pass, and of passes that end inside of files: these are read twice
    for (pass_rows, most) in [(PASS_ROWS_MAX, groups), (6 * OF_ENTRY, 2 * groups)] {
        let (batches, read) = passes(&store, 0, pass_rows);
        assert_eq!(batches.iter().map(|batch| batch.rows.len()).sum::<usize>(), all);
        assert!(batches.iter().flat_map(|batch| &batch.rows).is_sorted_by_key(|row| row.log_index));
        assert!(read <= most && files == 24, "{read} row groups of {groups} in {files} files");
    }
    // a merged one is read once for each pass
    while let Some(work) = store.compaction(NOW_MS + 3 * 24 * 3_600_000) {
        store.put(work.run(&AtomicBool::new(false)).unwrap().unwrap()).unwrap();
    }
    let groups: usize = store.segments.iter().map(|segment| segment.groups(RowFilter::ALL).len()).sum();
    let (batches, read) = passes(&store, 0, PASS_ROWS_MAX);
    assert!(store.segments.len() == 2 && batches.len() > 3 && read == groups, "{read} of {groups}");
}

#[test]
fn batches_are_the_log_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = EventStore::open(Arc::new(RealFiles), folder.path()).unwrap();
    // ann and zed by turns, sealed now and then so that files are merged; the last stay in memory
    for log_index in 1..=60 {
        let user = if log_index % 2 == 0 { "ann" } else { "zed" };
        store.append(log_index, NOW_MS, &entry(user, log_index));
        if log_index % 5 == 0 && log_index < 55 {
            store.seal().unwrap();
            while let Some(work) = store.compaction(NOW_MS) {
                store.put(work.run(&AtomicBool::new(false)).unwrap().unwrap()).unwrap();
            }
        }
    }
    assert!(store.segments.len() < 10, "some are merged");
    let all = batches(&store, 0);
    let rows: Vec<&EventRow> = all.iter().flat_map(|batch| &batch.rows).collect();
    assert_eq!(rows.len(), 60 * OF_ENTRY);
    assert!(rows.is_sorted_by_key(|row| row.log_index), "in the order of the log");
    assert!(all.iter().all(|batch| batch.rows.len() <= BATCH_ROWS_MAX), "bounded");
    assert!(all.len() >= 60 * OF_ENTRY / BATCH_ROWS_MAX);
    // from the middle on
    let later: Vec<EventRow> = batches(&store, 31).into_iter().flat_map(|batch| batch.rows).collect();
    assert_eq!(later.len(), 29 * OF_ENTRY);
    assert_eq!(later.first().map(|row| row.log_index), Some(32));
    // who is forgotten is not sent, wherever the rows are
    store.forget(61, "ann");
    store.append(62, NOW_MS, &entry("ann", 62));
    let rest: Vec<EventRow> = batches(&store, 31).into_iter().flat_map(|batch| batch.rows).collect();
    assert_eq!(rest.len(), (14 + 1) * OF_ENTRY);
    assert!(rest.iter().all(|row| *row.user == *"zed" || row.log_index == 62));
    // what is too old and was not sent is counted
    assert!(store.note_sent(40) && !store.note_sent(39));
    store.seal().unwrap();
    let lost = store.remove_before(NOW_MS + 10 * 24 * 3_600_000).unwrap();
    assert!(lost >= (11 + 1) as u64 * OF_ENTRY as u64, "{lost}");
    assert_eq!(store.rows_after(0), 0);
}

#[test]
fn an_entry_that_is_larger_than_a_batch_is_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = EventStore::open(Arc::new(RealFiles), folder.path()).unwrap();
    let many = |log_index: u64| (0..16).flat_map(|_| entry("ann", log_index)).collect::<Vec<_>>();
    (1..=2).for_each(|log_index| store.append(log_index, NOW_MS, &many(log_index)));
    let sizes = |store: &EventStore| -> Vec<(u64, usize)> {
        batches(store, 0).iter().map(|batch| (batch.through, batch.rows.len())).collect()
    };
    let expected = [(1, 16 * OF_ENTRY), (2, 16 * OF_ENTRY)];
    assert_eq!(sizes(&store), expected, "from memory");
    store.seal().unwrap();
    assert_eq!(sizes(&store), expected, "from a file");
    store.append(3, NOW_MS, &entry("bob", 3));
    assert_eq!(sizes(&store).len(), 3);
}
