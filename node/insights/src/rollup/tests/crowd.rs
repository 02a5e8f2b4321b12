//! Do files of days stay what rows say when users are forgotten or bytes are damaged, with many users and searches?

use super::*;

/// Days with searches and clicks of many users, so many that sums are divided.
fn crowd(store: &mut EventStore, log: &mut Vec<Entry>) {
    for number in 0..13_000_u64 {
        let time_ms = FIRST.start_ms() + number % 3 * DAY_MS + number * 4_000;
        let user = format!("u{}", number / 2 % 400);
        log.push(Entry::Search(CountedSearch {
            index: index(number % 50 == 0),
            user: user.clone(),
            time_ms,
            query: if number == 7 { "only one".to_owned() } else { format!("query {}", number % 90) },
            hits: number % 4,
            shown: (0..number % 4).map(|place| format!("o{}", number % 90 + place)).collect(),
            tags: (0..number % 2).map(|_| "a").collect(),
            filters: (0..number % 3).map(|filter| format!("brand:{filter}")).collect(),
            country: None,
            query_ids: if number % 3 == 0 { vec![QueryId(number.into())] } else { vec![] },
            stands: false,
        }));
        if number % 9 == 0 {
            log.push(Entry::Click(Event {
                kind: EventKind::Click,
                name: "e".into(),
                index: index(number % 50 == 0),
                user,
                authenticated: (number % 11 == 0).then(|| token(3)),
                time_ms: Some(time_ms + 9_000),
                query_id: Some(QueryId(number.into())),
                target: EventTarget::Objects(vec![EventObject {
                    object_id: "o1".into(),
                    ..Default::default()
                }]),
                value: None,
                currency: None,
            }));
        }
    }
    log.iter().zip(1..).for_each(|(entry, log_index)| take(store, log_index, entry));
}

/// A store with a crowd in merged files, and the log that it was made of.
fn sealed_crowd() -> (tempfile::TempDir, EventStore, Vec<Entry>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = EventStore::open(Arc::new(RealFiles), folder.path()).expect("a new one");
    let mut log = vec![];
    crowd(&mut store, &mut log);
    store.seal().expect("sealed");
    compact(&mut store);
    (folder, store, log)
}

#[test]
fn who_is_forgotten_leaves_files_and_nothing_is_derived_anew() {
    let (folder, mut store, mut log) = sealed_crowd();
    let later = now_ms() + 1_000 * HOUR_MS;
    roll(&store, later);
    compare(&store, &log);
    let contents = || -> Vec<Vec<u8>> {
        rollup_files(folder.path()).iter().map(|path| std::fs::read(path).expect("read")).collect()
    };
    let has = |text: &[u8]| contents().iter().any(|file| file.windows(text.len()).any(|part| part == text));
    assert_eq!(contents().len(), 3);
    assert!(has(b"only one") && has(&user_hash("u3").to_le_bytes()));
    for (forgotten, is_of_all) in [("u3", false), ("u3", false), ("nobody", true), (&token(3), false)] {
        let before = contents();
        log.push(Entry::Forget(forgotten.to_owned()));
        take(&mut store, log.len() as u64, log.last().expect("just added"));
        compare(&store, &log);
        // what they do later counts
        let again = log.iter().find(|entry| matches!(entry, Entry::Search(search) if search.user == "u9"));
        log.push(again.expect("many searched").clone());
        take(&mut store, log.len() as u64, log.last().expect("just added"));
        compare(&store, &log);
        log.pop();
        drop(store);
        store = EventStore::open(Arc::new(RealFiles), folder.path()).expect("opened");
        take(&mut store, log.len() as u64, log.last().expect("just added"));
        store.seal().expect("sealed");
        compact(&mut store);
        assert!(!mentions_forgotten(folder.path(), &log), "{forgotten}");
        let after = contents();
        assert!(!is_of_all || before == after, "nobody was in them");
        compare(&store, &log);
        roll(&store, later);
        assert!(contents() == after, "they are what is derived of the rows that are left");
    }
    assert!(!has(b"only one") && !has(&user_hash("u3").to_le_bytes()));
    assert_eq!(contents().len(), 3);
}

#[test]
fn a_file_that_is_out_of_date_goes_when_it_has_somebody_who_is_forgotten() {
    let (folder, mut store, mut log) = sealed_crowd();
    roll(&store, now_ms() + 1_000 * HOUR_MS);
    // late rows of the first day: its file is written anew some time later
    let Some(Entry::Search(late)) = log.first().cloned() else { panic!("a search") };
    log.push(Entry::Search(CountedSearch { user: "late".into(), ..late }));
    take(&mut store, log.len() as u64, log.last().expect("just added"));
    log.push(Entry::Forget("u0".into()));
    take(&mut store, log.len() as u64, log.last().expect("just added"));
    let crash = folder.path().join("rollups/2024-10-04.rollup.new");
    std::fs::write(&crash, user_hash("u0").to_le_bytes()).expect("written");
    store.seal().expect("sealed");
    compact(&mut store);
    assert!(!mentions_forgotten(folder.path(), &log) && !crash.exists());
    assert_eq!(rollup_files(folder.path()).len(), 2, "others stay");
    compare(&store, &log);
}

#[test]
fn checks_find_every_damaged_byte() {
    let (folder, store, _) = sealed_crowd();
    roll(&store, now_ms() + 1_000 * HOUR_MS);
    let files = rollup_files(folder.path());
    let whole: Vec<Vec<u8>> = files.iter().map(|path| std::fs::read(path).expect("read")).collect();
    let bytes = whole.iter().map(Vec::len).sum::<usize>() as u64;
    assert_eq!(store.rollup_bytes(), bytes);
    let verify = || {
        let mut read = 0;
        let found = store.rollups().verify(&mut |bytes| read += bytes, &|| true).expect("read");
        (found.len(), read)
    };
    let (found, read) = verify();
    assert!(found == 0 && read > bytes / 2, "{found} {read} of {bytes}");
    let (path, bytes) = (&files[1], &whole[1]);
    for at in (0..bytes.len()).step_by(101).chain(bytes.len() - 30..bytes.len()) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(path, bytes).expect("written");
        assert_eq!(verify().0, 1, "byte {at}");
        assert!(!path.exists(), "byte {at}");
    }
    assert_eq!(store.rollup_bytes(), (whole[0].len() + whole[2].len()) as u64);
    roll(&store, now_ms() + 1_000 * HOUR_MS);
    assert!(std::fs::read(path).expect("derived anew") == whole[1]);
    assert_eq!(verify().0, 0);
}

#[test]
fn figures_are_those_of_what_is_left_when_rows_are_damaged() {
    let (folder, store, _) = sealed_crowd();
    drop(store);
    let day = std::fs::read_dir(folder.path().join("2024-10-05")).expect("a day");
    let path = day.map(|entry| entry.expect("an entry").path()).next().expect("a file");
    let mut bytes = std::fs::read(&path).expect("read");
    bytes[100] ^= 1;
    std::fs::write(&path, bytes).expect("written");
    let store = EventStore::open(Arc::new(RealFiles), folder.path()).expect("opened");
    let counts = |is_rolled: bool| {
        let by_day = found(&store.view(), &asked(By::Nothing, None, false));
        assert_eq!(found(&store.view(), &asked(By::Hit, Some("a"), true)).days.len(), 3, "{is_rolled}");
        let lost = store.lost();
        assert!(lost.len() == 1 && lost[0].rows.is_some_and(|rows| rows > 4_000), "{lost:?}");
        by_day.days.iter().map(|(_, figures)| figures.searches).collect::<Vec<u64>>()
    };
    let before = counts(false);
    assert!(before[0] > 4_000 && before[1] == 0 && before[2] > 4_000, "{before:?}");
    let rolling = store.rolling(now_ms() + 1_000 * HOUR_MS).expect("something is to be done");
    assert!(rolling.run(&|| false).is_err_and(|error| error.is_damage()));
    assert_eq!(rollup_files(folder.path()).len(), 2, "the others");
    assert!(store.rolling(now_ms() + 1_000 * HOUR_MS).is_none(), "not time and again");
    assert_eq!(counts(true), before);
}
