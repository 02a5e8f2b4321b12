//! Is what was written read again, and is damage told from it?

use super::*;
use crate::forgotten::Forgotten;
use crate::rows::tests::any_row;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use quorate_model::event::TextList;
use quorate_store::files::RealFiles;
use std::sync::atomic::AtomicBool;

/// So many sorted rows, the same each time.
fn rows(count: usize) -> Vec<EventRow> {
    let mut runner = TestRunner::deterministic();
    let some = prop::collection::vec(any_row(), 500).new_tree(&mut runner).expect("rows").current();
    let mut rows: Vec<EventRow> = some.into_iter().cycle().take(count).collect();
    rows.iter_mut().enumerate().for_each(|(at, row)| row.log_index = at as u64);
    rows.sort();
    rows
}
fn written(path: &Path, rows: &[EventRow]) -> Result<SegmentFacts> {
    let mut writer = SegmentWriter::create(&RealFiles, path)?;
    rows.iter().cloned().try_for_each(|row| writer.push(row))?;
    writer.finish()
}
fn open(path: &Path, facts: SegmentFacts) -> Result<Segment> {
    Segment::open(&RealFiles, path, Arc::new(facts))
}
fn verify(segment: &Segment) -> Result<()> {
    let mut read = 0;
    segment.verify(&mut |bytes| read += bytes, &|| true)?;
    assert_eq!(read, segment.facts().bytes(), "all of it");
    Ok(())
}
fn read(segment: &Segment, wanted: RowFilter<'_>) -> Result<Vec<EventRow>> {
    let mut all = vec![];
    for group in segment.groups(wanted) {
        all.extend(segment.wanted(group, wanted)?.into_iter().filter(|row| wanted.takes(row)));
    }
    Ok(all)
}

#[test]
fn rows_come_back_as_they_were() {
    let folder = tempfile::tempdir().expect("a folder");
    for count in [1, 500, GROUP_ROWS, 3 * GROUP_ROWS + 7] {
        let (path, rows) = (folder.path().join(format!("{count}.parquet")), rows(count));
        let facts = written(&path, &rows).expect("written");
        assert_eq!(facts.rows, count as u64);
        assert_eq!(facts.bytes(), std::fs::metadata(&path).expect("there").len());
        assert_eq!(facts.crc(), crc32fast::hash(&std::fs::read(&path).expect("there")));
        assert_eq!(facts.log_indices, [0, count as u64 - 1]);
        let segment = open(&path, facts).expect("as written");
        verify(&segment).expect("as written");
        assert!(read(&segment, RowFilter::ALL).expect("read") == rows);
        let indices = ["index0", "index1", "index2", "other"].map(Some).into_iter().chain([None]);
        for index in indices {
            let some = [rows[0].user_hash, rows[count / 2].user_hash, rows[count - 1].user_hash, 1];
            let mut several = some.to_vec();
            several.sort_unstable();
            for users in some.iter().map(std::slice::from_ref).chain([&*several]).map(Some).chain([None]) {
                let wanted = RowFilter { index, users, ..RowFilter::ALL };
                let expected: Vec<EventRow> = rows.iter().filter(|row| wanted.takes(row)).cloned().collect();
                assert!(read(&segment, wanted).expect("read") == expected, "{wanted:?} of {count}");
            }
        }
    }
}

#[test]
fn parts_of_rows_lack_the_members_of_the_others_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.parquet");
    let rows = rows(500);
    let segment = open(&path, written(&path, &rows).expect("written")).expect("as written");
    for number in 0..8_u8 {
        let [searches, shown, events] = [1, 2, 4].map(|bit| number & bit > 0);
        let mut expected = rows.clone();
        for row in &mut expected {
            if !events {
                (row.event, row.object, row.currency, row.filter) = (None, None, None, None);
                (row.value, row.price, row.discount) = (None, None, None);
                (row.position, row.quantity) = (None, None);
            }
            row.search.take_if(|_| !searches);
            if let Some(search) = row.search.as_mut().filter(|_| !shown) {
                search.shown = TextList::default();
            }
        }
        let parts = Parts { searches, shown, events };
        assert!(segment.parts(0, parts).expect("read") == expected, "{parts:?}");
    }
}

#[test]
fn files_from_before_searches_had_filters_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.parquet");
    let mut rows = rows(100);
    let (earlier, _) = crate::rows::SCHEMA.split_once("    repeated binary filters").expect("later columns");
    let columns = format!("{earlier}}}");
    let mut writer = SegmentWriter::with_columns(&RealFiles, &path, &columns).expect("created");
    rows.iter().cloned().try_for_each(|row| writer.push(row)).expect("written");
    let segment = open(&path, writer.finish().expect("durable")).expect("as written");
    for search in rows.iter_mut().filter_map(|row| row.search.as_mut()) {
        (search.filters, search.stands) = (TextList::default(), false);
    }
    assert!(read(&segment, RowFilter::ALL).expect("read") == rows);
    let mut forgotten = Forgotten::default();
    forgotten.add("user1", u64::MAX);
    let swept = swept(&segment, &forgotten, &folder.path().join("swept.parquet")).expect("others");
    rows.retain(|row| !forgotten.hides(row));
    assert!(read(&swept, RowFilter::ALL).expect("read") == rows);
    assert_eq!((swept.origin(), swept.facts().rows), (segment.origin(), rows.len() as u64));
}

#[test]
fn of_many_groups_only_those_are_read_that_may_have_what_is_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.parquet");
    let segment = open(&path, written(&path, &rows(6 * GROUP_ROWS)).expect("written")).expect("as written");
    let first = RowFilter { index: Some("index0"), ..RowFilter::ALL };
    assert!(segment.groups(first).len() < 5, "{:?}", segment.groups(first));
    let user = [crate::rows::user_hash("user1")];
    assert!(segment.groups(RowFilter { users: Some(&user), ..first }).len() < segment.groups(first).len());
    assert_eq!(segment.groups(RowFilter { index: Some("none"), ..RowFilter::ALL }), Vec::<usize>::new());
}

#[test]
fn every_damaged_byte_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.parquet");
    let rows = rows(40);
    let facts = written(&path, &rows).expect("written");
    let whole = std::fs::read(&path).expect("there");
    let fails = |what: &str| {
        let found = open(&path, facts.clone()).and_then(|segment| verify(&segment));
        assert!(found.as_ref().is_err_and(Error::is_damage), "{what}: {found:?}");
    };
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&path, bytes).expect("written");
        fails(&format!("byte {at}"));
    }
    for length in [0, 1, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).expect("written");
        fails(&format!("{length} bytes"));
    }
    std::fs::write(&path, &whole).expect("written");
    // also when it was read before
    let segment = open(&path, facts.clone()).expect("as written");
    for at in (0..whole.len()).step_by(7) {
        assert!(read(&segment, RowFilter::ALL).expect("as written") == rows);
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        std::fs::write(&path, bytes).expect("written");
        assert!(verify(&segment).is_err_and(|error| error.is_damage()), "byte {at}");
        let is_of_rows = (at as u64) < facts.regions[0].end;
        assert_eq!(read(&segment, RowFilter::ALL).is_err(), is_of_rows, "byte {at}");
        std::fs::write(&path, &whole).expect("written");
    }
    open(&path, facts).and_then(|segment| verify(&segment)).expect("whole again");
}

/// Groups of many users; some rows have a pseudonym.
fn crowd() -> Vec<EventRow> {
    let mut rows = rows(3 * GROUP_ROWS + 100);
    for (at, row) in rows.iter_mut().enumerate() {
        let user = format!("u{}", at / 3);
        (row.index, row.user_hash, row.user) =
            ("index0".into(), crate::rows::user_hash(&user), user.as_str().into());
        row.authenticated = (at == 5 || at == 2 * GROUP_ROWS).then(|| "known".into());
        row.log_index = at as u64;
    }
    rows.sort();
    rows
}
fn swept(segment: &Segment, forgotten: &Forgotten, path: &Path) -> Option<Segment> {
    let swept =
        sweep(segment, forgotten, &RealFiles, path, &AtomicBool::new(false)).expect("read and written");
    match swept.expect("nobody stops it") {
        Swept::File(facts) => Some(open(path, facts).expect("as written")),
        Swept::Same => Some(segment.clone()),
        Swept::Nothing => None,
    }
}

#[test]
fn forgotten_users_leave_and_the_rest_stays_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, rows) = (folder.path().join("rows.parquet"), crowd());
    let before = open(&path, written(&path, &rows).expect("written")).expect("as written");
    let cases: [(&[(&str, u64)], usize); 6] = [
        (&[("nobody", u64::MAX)], 4),
        (&[("u77", u64::MAX)], 3),
        // everything is newer than that
        (&[("u77", 3)], 4),
        (&[("known", u64::MAX)], 2),
        (&[("u0", u64::MAX), ("u2000", u64::MAX), ("u4000", u64::MAX), ("known", 10)], 0),
        (&[("u1", 4)], 3),
    ];
    for (number, (users, same)) in cases.into_iter().enumerate() {
        let mut forgotten = Forgotten::default();
        users.iter().for_each(|(token, through)| forgotten.add(token, *through));
        let path = folder.path().join(format!("{number}.parquet"));
        let after = swept(&before, &forgotten, &path).expect("something is left");
        let left: Vec<EventRow> = rows.iter().filter(|row| !forgotten.hides(row)).cloned().collect();
        assert!(read(&after, RowFilter::ALL).expect("read") == left, "{users:?}");
        verify(&after).expect("as written");
        let facts = after.facts();
        assert_eq!(facts.rows, left.len() as u64);
        let bounds = |of: &dyn Fn(&EventRow) -> u64| {
            let all = || left.iter().map(of);
            [all().min().unwrap_or_default(), all().max().unwrap_or_default()]
        };
        assert_eq!(facts.times_ms, bounds(&|row| row.time_ms));
        assert_eq!(facts.log_indices, bounds(&|row| row.log_index));
        let crcs =
            |segment: &Segment| segment.facts().regions[..4].iter().map(|it| it.crc).collect::<Vec<_>>();
        let of_before = crcs(&before);
        let copied = crcs(&after).iter().filter(|crc| of_before.contains(crc)).count();
        assert!(copied >= same, "{copied} of {same} row groups are copied for {users:?}");
        assert_eq!(after.origin(), before.origin());
        if copied < 4 {
            assert_ne!(after.digest(), before.digest());
            let again = folder.path().join(format!("{number}-again.parquet"));
            forgotten.add("u99", u64::MAX);
            let again = swept(&after, &forgotten, &again).expect("something is left");
            assert_eq!(again.origin(), before.origin(), "also of one that was swept");
            assert!(read(&again, RowFilter::ALL).expect("read").iter().all(|row| *row.user != *"u99"));
        }
    }
    let mut all = Forgotten::default();
    rows.iter().for_each(|row| all.add(&row.user, u64::MAX));
    let path = folder.path().join("all.parquet");
    assert!(swept(&before, &all, &path).is_none() && !path.exists());
    let stopped = sweep(&before, &all, &RealFiles, &path, &AtomicBool::new(true)).expect("not even read");
    assert!(stopped.is_none());
}
