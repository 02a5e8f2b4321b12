//! Do pages have every row of a day once, wherever they are cut, and whatever is written and merged between them?

use super::*;
use crate::segment::plain_rows;
use crate::store::EventStore;
use quorate_model::IndexName;
use quorate_model::analytics::DAY_MS;
use quorate_model::event::{Event, EventKind, EventObject, EventTarget};
use quorate_store::files::RealFiles;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const DAY: Day = Day(20_000);

fn event(user: usize, object: usize, time_ms: Option<u64>) -> Event {
    let object =
        EventObject { object_id: format!("o{object}-{}", "x".repeat(400)), ..EventObject::default() };
    Event {
        kind: EventKind::View,
        name: "Saw".into(),
        index: IndexName::new(["a", "b"][user % 2]).expect("a name"),
        user: format!("u{user}"),
        authenticated: None,
        time_ms,
        query_id: None,
        target: EventTarget::Objects(vec![object]),
        value: None,
        currency: None,
    }
}
fn pages(
    store: &mut EventStore,
    index: Option<&str>,
    mut between: impl FnMut(&mut EventStore),
) -> Vec<EventRow> {
    let (mut all, mut after) = (vec![], None);
    loop {
        let page = store.view().page(DAY, index, after.as_ref(), &|| false).expect("read").expect("whole");
        let rows = plain_rows(page.parquet).unwrap_or_default();
        assert_eq!(rows.len() as u64, page.rows);
        assert!(page.rows <= ROWS_MAX);
        all.extend(rows);
        after = page.next;
        if after.is_none() {
            return all;
        }
        between(store);
    }
}

#[test]
fn every_row_is_on_one_page_and_forgotten_users_are_on_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = EventStore::open(Arc::new(RealFiles), folder.path()).expect("a new one");
    let at = |second: usize| DAY.start_ms() + 1_000 * second as u64;
    // one user has most of them, and every batch comes twice; some events are of other days, some without a time
    let timed = (0..20_000).map(|n| event(if n % 3 == 0 { n % 7 } else { 2 }, n, Some(at(n))));
    let others = [at(0) - 1, at(0) + DAY_MS].map(|time_ms| event(1, 7, Some(time_ms)));
    let events: Vec<Event> = timed.chain(others).chain([event(4, 1, None)]).collect();
    for (log_index, batch) in events.chunks(500).chain(events.chunks(500)).enumerate() {
        store.append(1 + log_index as u64, at(60), batch);
        if log_index % 4 == 0 {
            store.seal().expect("sealed");
        }
    }
    store.forget(1_000, "u3");
    let mut expected: Vec<EventRow> = {
        let view = store.view();
        let rows = view.rows(RowFilter::ALL, at(0)..at(0) + DAY_MS).expect("read");
        rows.collect::<Result<_>>().expect("read")
    };
    let key = |row: &EventRow| (row.index.clone(), row.user.clone(), row.time_ms, row.fingerprint);
    let found = pages(&mut store, None, |store| {
        store.seal().expect("sealed");
        while let Some(work) = store.compaction(0) {
            let done = work.run(&AtomicBool::new(false)).expect("written").expect("nobody stops it");
            store.put(done).expect("put");
        }
    });
    assert!(expected.len() > 19_000 && expected.iter().all(|row| *row.user != *"u3"));
    assert!(found.iter().map(key).eq(expected.iter().map(key)), "{} of {}", found.len(), expected.len());
    let of_b = pages(&mut store, Some("b"), |_| {});
    expected.retain(|row| *row.index == *"b");
    assert!(of_b.iter().map(key).eq(expected.iter().map(key)));
    assert!(store.view().page(DAY, None, None, &|| true).expect("read").is_none(), "it was stopped");
}
