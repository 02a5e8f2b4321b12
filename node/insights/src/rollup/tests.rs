//! Do reports say through rollups what a plain look at all rows says, wherever rollups come from?

use crate::analytics::report;
use crate::chains::{Chain, Typed};
use crate::rows::{RowKind, user_hash};
use crate::segment::RowFilter;
use crate::store::{EventStore, EventView};
use proptest::prelude::*;
use quorate_model::IndexName;
use quorate_model::analytics::{By, DAY_MS, Day, Figures, Report, ReportQuery};
use quorate_model::event::{CountedSearch, Event, EventKind, EventObject, EventTarget, QueryId};
use quorate_store::files::RealFiles;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

mod crowd;

const FIRST: Day = Day(20_000);
const DAYS: u32 = 3;
const HOUR_MS: u64 = 3_600_000;
/// What is typed: steps of two queries, and others.
const QUERIES: [&str; 7] = ["s", "sho", "shoe", "shoes red", "table", "tabel", ""];

/// What happens, in the order of the log.
#[derive(Clone, Debug)]
enum Step {
    Search {
        user: u8,
        at: u64,
        query: usize,
        is_other_index: bool,
        tag: bool,
        filter: bool,
        tracked: bool,
    },
    /// A click on what some entry searched.
    Click {
        user: u8,
        pseudonym: bool,
        later_ms: u64,
        entry: u8,
    },
    Forget(u8),
    /// The last entry is sent again.
    Again,
    Seal,
    Compact,
    Roll,
    Restart,
    /// A byte of a file is another one.
    Damage(u16),
}

fn step() -> impl Strategy<Value = Step> {
    // around the ends of hours and days, and a few seconds apart
    let at =
        (0..DAYS, prop::sample::select(vec![0, 1, 23]), prop_oneof![0..9_000_u64, HOUR_MS - 9_000..HOUR_MS]);
    let at = at.prop_map(|(day, hour, in_hour)| u64::from(day) * DAY_MS + hour * HOUR_MS + in_hour);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), prop::bool::weighted(0.2));
    let search = (0..3_u8, at, 0..QUERIES.len(), flags).prop_map(
        |(user, at, query, (tag, filter, tracked, is_other_index))| Step::Search {
            user,
            at,
            query,
            is_other_index,
            tag,
            filter,
            tracked,
        },
    );
    let click = (0..3_u8, any::<bool>(), 0..DAY_MS + HOUR_MS, any::<u8>())
        .prop_map(|(user, pseudonym, later_ms, entry)| Step::Click { user, pseudonym, later_ms, entry });
    prop_oneof![
        20 => search,
        6 => click,
        2 => (0..4_u8).prop_map(Step::Forget),
        1 => Just(Step::Again),
        2 => Just(Step::Seal),
        1 => Just(Step::Compact),
        2 => Just(Step::Roll),
        1 => Just(Step::Restart),
        1 => any::<u16>().prop_map(Step::Damage),
    ]
}

/// An entry of the log.
#[derive(Clone)]
enum Entry {
    Search(CountedSearch),
    Click(Event),
    Forget(String),
}

fn now_ms() -> u64 {
    Day(FIRST.0 + DAYS).start_ms() + 3 * HOUR_MS
}
fn index(is_other: bool) -> IndexName {
    IndexName::new(if is_other { "other" } else { "shop" }).expect("a name")
}
fn token(user: u8) -> String {
    format!("u{user}")
}
fn entry(step: &Step, log: &[Entry]) -> Option<Entry> {
    Some(match step {
        Step::Search { user, at, query, is_other_index, tag, filter, tracked } => {
            Entry::Search(CountedSearch {
                index: index(*is_other_index),
                user: token(*user),
                time_ms: FIRST.start_ms() + at,
                query: QUERIES[*query].to_owned(),
                hits: *query as u64 % 3,
                shown: (0..*query % 3).map(|id| format!("o{id}")).collect(),
                tags: tag.then_some("a").into_iter().collect(),
                filters: ["brand:x", "price<5"].into_iter().filter(|_| *filter).collect(),
                country: filter.then(|| "DE".to_owned()),
                query_ids: if *tracked { vec![QueryId(log.len() as u128)] } else { vec![] },
                stands: false,
            })
        }
        Step::Click { user, pseudonym, later_ms, entry } => {
            let named = log.get(usize::from(*entry) % log.len().max(1))?;
            let Entry::Search(search) = named else { return None };
            Entry::Click(Event {
                kind: EventKind::Click,
                name: "e".into(),
                index: search.index.clone(),
                user: token(*user),
                authenticated: pseudonym.then(|| token(3)),
                time_ms: Some((search.time_ms + later_ms).min(now_ms())),
                query_id: search.query_ids.first().copied(),
                target: EventTarget::Objects(vec![EventObject {
                    object_id: "o0".into(),
                    position: Some(2),
                    ..EventObject::default()
                }]),
                value: None,
                currency: None,
            })
        }
        Step::Forget(user) => Entry::Forget(token(*user)),
        Step::Again => log.last()?.clone(),
        Step::Seal | Step::Compact | Step::Roll | Step::Restart | Step::Damage(_) => return None,
    })
}
fn take(store: &mut EventStore, log_index: u64, entry: &Entry) {
    match entry {
        Entry::Search(search) => store.append_searches(log_index, std::slice::from_ref(search)),
        Entry::Click(event) => store.append(log_index, 0, std::slice::from_ref(event)),
        Entry::Forget(token) => store.forget(log_index, token),
    }
}
fn compact(store: &mut EventStore) {
    while let Some(compaction) = store.compaction(now_ms()) {
        let compacted = compaction.run(&AtomicBool::new(false)).expect("no failure");
        store.put(compacted.expect("nobody stops it")).expect("in force");
    }
}
fn roll(store: &EventStore, now_ms: u64) {
    if let Some(rolling) = store.rolling(now_ms) {
        rolling.run(&|| false).expect("written");
    }
}
fn rollup_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("rollups")).into_iter().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    all.sort();
    all
}
/// Whether a file of rollups has anything of users who are forgotten and did nothing since.
fn mentions_forgotten(folder: &Path, log: &[Entry]) -> bool {
    let is_of = |entry: &Entry, token: &String| match entry {
        Entry::Search(search) => search.user == *token,
        Entry::Click(event) => event.user == *token || event.authenticated.as_ref() == Some(token),
        Entry::Forget(_) => false,
    };
    let told = log.iter().filter_map(|entry| match entry {
        Entry::Forget(token) => Some(token.clone()),
        _ => None,
    });
    let forgotten = told.filter(|token| {
        let told = log.iter().rposition(|entry| matches!(entry, Entry::Forget(told) if told == token));
        told.is_some_and(|told| !log[told..].iter().any(|entry| is_of(entry, token)))
    });
    let hashes: Vec<[u8; 8]> = forgotten.map(|token| user_hash(&token).to_le_bytes()).collect();
    rollup_files(folder).iter().any(|path| {
        let bytes = std::fs::read(path).expect("read");
        bytes.windows(8).any(|window| hashes.iter().any(|hash| window == hash))
    })
}
/// Changes a bit of some file.
fn damage(folder: &Path, at: u16) {
    let files = rollup_files(folder);
    let Some(path) = files.get(usize::from(at) % files.len().max(1)) else { return };
    let mut bytes = std::fs::read(path).expect("read");
    let place = usize::from(at).wrapping_mul(7_919) % bytes.len();
    bytes[place] ^= 1 << (at % 8);
    // readers hold the file that was there
    std::fs::remove_file(path).expect("removed");
    std::fs::write(path, bytes).expect("written");
}

/// Searches that count, by a plain look at the rows of all time.
fn counted(view: &EventView) -> Vec<(String, Typed)> {
    let rows = view.rows(RowFilter { index: Some("shop"), ..RowFilter::ALL }, 0..u64::MAX).expect("opened");
    let (mut all, mut chains): (Vec<(String, Typed)>, BTreeMap<String, Chain>) = Default::default();
    for row in rows {
        let row = row.expect("read");
        let chain = chains.entry(row.user.to_string()).or_default();
        match (row.kind, row.search) {
            (RowKind::Search, Some(search)) => {
                all.extend(
                    chain.then(Typed::at(row.time_ms, *search)).map(|typed| (row.user.to_string(), typed)),
                );
            }
            _ => row.query_id.iter().for_each(|id| chain.named(*id)),
        }
    }
    for (user, mut chain) in chains {
        all.extend(chain.end().map(|typed| (user, typed)));
    }
    all
}
/// Searches and users of each day, and of each query, of searches with a tag.
type Plain = (Vec<(u64, u64)>, BTreeMap<String, u64>);

fn plainly(view: &EventView, tag: Option<&str>) -> Plain {
    let mut all = counted(view);
    all.retain(|(_, typed)| tag.is_none_or(|tag| typed.search.tags.contains(tag)));
    let of_day = |day: u32| {
        let is_of = |(_, typed): &&(String, Typed)| Day::of(typed.time_ms) == Day(FIRST.0 + day);
        let users: BTreeSet<&String> = all.iter().filter(is_of).map(|(user, _)| user).collect();
        (all.iter().filter(is_of).count() as u64, users.len() as u64)
    };
    let mut queries = BTreeMap::new();
    all.iter().for_each(|(_, typed)| *queries.entry(typed.search.query.to_string()).or_default() += 1);
    ((0..DAYS).map(of_day).collect(), queries)
}

fn asked(by: By, tag: Option<&str>, with_events: bool) -> ReportQuery {
    let days = (FIRST, Day(FIRST.0 + DAYS - 1));
    ReportQuery { days, by, tags: tag.map(str::to_owned), with_events, limit: 100, ..ReportQuery::default() }
}
fn found(view: &EventView, asked: &ReportQuery) -> Report {
    report(view, "shop", asked, &|| false).expect("a report")
}
/// Compares a store with one that has the same in memory alone.
fn compare(store: &EventStore, log: &[Entry]) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut memory = EventStore::open(Arc::new(RealFiles), folder.path()).expect("a new one");
    log.iter().zip(1..).for_each(|(entry, log_index)| take(&mut memory, log_index, entry));
    let (view, plain) = (store.view(), memory.view());
    for tag in [None, Some("a")] {
        let (days, queries) = plainly(&plain, tag);
        let by_day = found(&view, &asked(By::Nothing, tag, false));
        let of_day = |(_, figures): &(Day, Figures)| (figures.searches, figures.users);
        assert_eq!(by_day.days.iter().map(of_day).collect::<Vec<_>>(), days, "{tag:?}");
        let by_query = found(&view, &asked(By::Query, tag, false));
        let by_query: BTreeMap<String, u64> =
            by_query.groups.into_iter().map(|(query, figures)| (query, figures.searches)).collect();
        assert_eq!(by_query, queries, "{tag:?}");
        let by_record = |view: &EventView, with_events| -> BTreeMap<String, (u64, u64, u64)> {
            let groups =
                found(view, &ReportQuery { limit: 10_000, ..asked(By::Hit, tag, with_events) }).groups;
            let sums = |figures: Figures| (figures.searches, figures.hits, figures.clickable);
            groups.into_iter().map(|(record, figures)| (record, sums(figures))).collect()
        };
        assert_eq!(by_record(&view, false), by_record(&plain, true), "{tag:?}");
        for by in [By::Nothing, By::Query, By::QueryWithoutClicks, By::Hit, By::Attribute, By::Country] {
            let asked = asked(by, tag, true);
            assert_eq!(found(&view, &asked), found(&plain, &asked), "{asked:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn reports_say_what_rows_say(steps in prop::collection::vec(step(), 1..60)) {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || EventStore::open(Arc::new(RealFiles), folder.path()).expect("opened");
        let (mut store, mut log): (EventStore, Vec<Entry>) = (open(), vec![]);
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Seal => store.seal().expect("sealed"),
                Step::Compact => {
                    store.seal().expect("sealed");
                    compact(&mut store);
                    prop_assert!(!mentions_forgotten(folder.path(), &log));
                }
                Step::Roll => roll(&store, now_ms() + number as u64 * HOUR_MS),
                Step::Restart => {
                    drop(store);
                    store = open();
                    let durable = store.durable_through();
                    for (entry, log_index) in log.iter().zip(1..).filter(|(_, log_index)| *log_index > durable) {
                        take(&mut store, log_index, entry);
                    }
                }
                Step::Damage(at) => damage(folder.path(), *at),
                _ => {
                    if let Some(entry) = entry(step, &log) {
                        log.push(entry);
                        take(&mut store, log.len() as u64, log.last().expect("just added"));
                    }
                }
            }
            if number % 8 == 7 {
                compare(&store, &log);
            }
        }
        compare(&store, &log);
        store.seal().expect("sealed");
        compact(&mut store);
        prop_assert!(!mentions_forgotten(folder.path(), &log));
        roll(&store, now_ms() + 1_000 * HOUR_MS);
        compare(&store, &log);
        // once more, with a file of each day
        for user in [1, 3] {
            log.push(Entry::Forget(token(user)));
            take(&mut store, log.len() as u64, log.last().expect("just added"));
            compare(&store, &log);
        }
        store.seal().expect("sealed");
        compact(&mut store);
        prop_assert!(!mentions_forgotten(folder.path(), &log));
        compare(&store, &log);
        compare(&open(), &log);
        if steps.iter().any(|step| matches!(step, Step::Damage(_))) {
            // who forgets may be the first who reads what is damaged, and leaves it to be derived anew
            roll(&store, now_ms() + 2_000 * HOUR_MS);
        }
        let rows = store.days().into_iter().filter(|(_, rows)| *rows > 0).count();
        prop_assert!(rollup_files(folder.path()).len() >= rows, "a file for each day");
    }
}
