//! What do figures of searches cost?
//!
//! Fills the folder that is the argument with SEARCHES (10000000) searches of 30 days by USERS (500000) users, of QUERIES (200000)
//! queries, some much more often than others; some are tracked, and some of these clicked. What is there already is taken as it is.
//! Then writes rollups of days, asks for figures, with and without them, and forgets a user, by whose rows figures are asked for again. Prints a line of JSON for each step: milliseconds, CPU seconds and the peak
//! of memory so far.

use quorate_insights::analytics::report;
use quorate_insights::store::EventStore;
use quorate_model::IndexName;
use quorate_model::analytics::{By, Day, ReportQuery};
use quorate_model::chance::Chance;
use quorate_model::event::{CountedSearch, Event, EventKind, EventObject, EventTarget, QueryId, TextList};
use quorate_store::files::RealFiles;
use serde_json::{Value, json};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const TICKS: f64 = 100.0;
const FIRST: u32 = 20_000;
const DAYS: u32 = 30;
const DAY_MS: u64 = 86_400_000;
const INDEX: &str = "shop";
/// Searches of an entry of the log.
const BATCH: u64 = 500;

fn main() -> Outcome {
    let folder = std::env::args().nth(1).ok_or("usage: reports_cost FOLDER")?;
    let [searches, users, queries] = [("SEARCHES", 10_000_000), ("USERS", 500_000), ("QUERIES", 200_000)]
        .map(|(name, usual)| set(name, usual));
    let mut store = opened(&folder)?;
    if store.rows() == 0 {
        let begun = Instant::now();
        fill(&mut store, searches, users, queries)?;
        step("fill", begun, json!({ "searches": searches, "rows": store.rows(), "bytes": store.bytes() }))?;
        drop(store);
        store = opened(&folder)?;
    }
    wait(&mut store)?;
    roll(&store, &folder)?;
    drop(store);
    let mut store = opened(&folder)?;
    asked(&store)?;
    let begun = Instant::now();
    let last = store.taken_through() + 1;
    store.forget(last, &user(7));
    step("forget", begun, Value::Null)?;
    top(&store, "top searches, 30 days, before it is swept")?;
    let begun = Instant::now();
    store.seal()?;
    compact(&mut store)?;
    step("swept", begun, json!({ "rows": store.rows() }))?;
    roll(&store, &folder)?;
    top(&store, "top searches, 30 days, when it is swept")
}

/// Derives what is to be derived.
fn roll(store: &EventStore, folder: &str) -> Outcome {
    let begun = Instant::now();
    if let Some(rolling) = store.rolling(u64::from(FIRST + DAYS + 1) * DAY_MS) {
        rolling.run(&|| false)?;
    }
    let sizes = std::fs::read_dir(Path::new(folder).join("rollups"))?.flatten();
    let sizes: Vec<u64> = sizes.map(|file| Ok(file.metadata()?.len())).collect::<std::io::Result<_>>()?;
    step("rollups", begun, json!({ "files": sizes.len(), "bytes": sizes.iter().sum::<u64>() }))
}
fn top(store: &EventStore, name: &str) -> Outcome {
    let days = (Day(FIRST), Day(FIRST + DAYS - 1));
    let asked = ReportQuery { days, limit: 10, by: By::Query, ..ReportQuery::default() };
    let begun = Instant::now();
    let report = report(&store.view(), INDEX, &asked, &|| false)?;
    step(name, begun, json!({ "searches": report.total.searches }))
}

fn opened(folder: &str) -> Outcome<EventStore> {
    let begun = Instant::now();
    let store = EventStore::open(Arc::new(RealFiles), Path::new(folder))?;
    step("open", begun, json!({ "rows": store.rows() }))?;
    Ok(store)
}

/// Adds as many rows as wait at most, and looks at what everybody waits for while a view is made, and at what its reader does.
fn wait(store: &mut EventStore) -> Outcome {
    let mut chance = Chance::new(3);
    while !store.is_full() {
        let entry = store.taken_through() + 1;
        let batch: Vec<CountedSearch> =
            (0..20).map(|_| search(&mut chance, DAYS - 1, 500_000, 200_000)).collect();
        store.append_searches(entry, &batch);
    }
    let begun = Instant::now();
    let view = store.view();
    step("view of what waits", begun, json!({ "bytes": store.open_bytes() }))?;
    let begun = Instant::now();
    let none = view.rows(quorate_insights::segment::RowFilter::ALL, 0..1)?.count();
    step("its first look", begun, json!({ "rows": none }))?;
    store.seal()?;
    compact(store)
}

fn asked(store: &EventStore) -> Outcome {
    let of = |days: u32| ReportQuery {
        days: (Day(FIRST + DAYS - days), Day(FIRST + DAYS - 1)),
        limit: 10,
        ..ReportQuery::default()
    };
    for (name, asked) in [
        ("count, 1 day", of(1)),
        ("count, 30 days", of(30)),
        ("top searches, 1 day", ReportQuery { by: By::Query, ..of(1) }),
        ("top searches, 30 days", ReportQuery { by: By::Query, ..of(30) }),
        ("top searches, 30 days, again", ReportQuery { by: By::Query, ..of(30) }),
        (
            "top searches, 30 days, a tag",
            ReportQuery { by: By::Query, tags: Some("mobile".into()), ..of(30) },
        ),
        ("top searches with clicks, 30 days", ReportQuery { by: By::Query, with_events: true, ..of(30) }),
        ("records shown, 30 days", ReportQuery { by: By::Hit, ..of(30) }),
    ] {
        let begun = Instant::now();
        let report = report(&store.view(), INDEX, &asked, &|| false)?;
        let top =
            report.groups.first().map(|(query, figures)| json!([query, figures.searches, figures.users]));
        let of = json!({ "searches": report.total.searches, "users": report.total.users, "first": top });
        step(name, begun, of)?;
    }
    Ok(())
}

fn fill(store: &mut EventStore, searches: u64, users: u64, queries: u64) -> Outcome {
    let mut chance = Chance::new(1);
    for batch in 0..searches.div_ceil(BATCH) {
        let day = (batch * BATCH * u64::from(DAYS) / searches.max(1)) as u32;
        let count = BATCH.min(searches - batch * BATCH);
        let all: Vec<CountedSearch> = (0..count).map(|_| search(&mut chance, day, users, queries)).collect();
        let clicked = all.iter().filter(|search| !search.query_ids.is_empty() && search.hits % 5 == 0);
        let clicks: Vec<Event> = clicked.map(click).collect();
        let entry = store.taken_through() + 1;
        store.append_searches(entry, &all);
        store.append(entry + 1, 0, &clicks);
        if store.is_full() {
            store.seal()?;
            compact(store)?;
        }
    }
    store.seal()?;
    compact(store)
}
fn search(chance: &mut Chance, day: u32, users: u64, queries: u64) -> CountedSearch {
    let (query, id) = ((queries as f64).powf(chance.unit()) as u64, chance.number());
    let is_tracked = chance.unit() < 0.3;
    let time_ms = u64::from(FIRST + day) * DAY_MS + (chance.unit() * DAY_MS as f64) as u64;
    CountedSearch {
        index: IndexName::new(INDEX).expect("a name"),
        user: user((chance.unit() * chance.unit() * users as f64) as u64),
        time_ms,
        query: format!("query {query}"),
        hits: query % 50,
        shown: (0..(query % 50).min(10)).map(|place| format!("product-{}", query * 7 + place)).collect(),
        tags: [if chance.unit() < 0.2 { "mobile" } else { "desktop" }].iter().collect(),
        filters: TextList::default(),
        country: None,
        query_ids: is_tracked
            .then_some(QueryId(u128::from(id) << 64 | u128::from(time_ms)))
            .into_iter()
            .collect(),
        stands: true,
    }
}
fn click(search: &CountedSearch) -> Event {
    let object = EventObject { object_id: search.query.clone(), position: Some(1), ..EventObject::default() };
    Event {
        kind: EventKind::Click,
        name: "Clicked".into(),
        index: search.index.clone(),
        user: search.user.clone(),
        authenticated: None,
        time_ms: Some(search.time_ms + 5_000),
        query_id: search.query_ids.first().copied(),
        target: EventTarget::Objects(vec![object]),
        value: None,
        currency: None,
    }
}
fn user(number: u64) -> String {
    format!("user-{number}")
}
/// Merges and sweeps as long as anything is due.
fn compact(store: &mut EventStore) -> Outcome {
    let now_ms = u64::from(FIRST + DAYS) * DAY_MS;
    while let Some(compaction) = store.compaction(now_ms) {
        if let Some(compacted) = compaction.run(&AtomicBool::new(false))? {
            store.put(compacted)?;
        }
    }
    Ok(())
}

fn set(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}
/// Prints what a step took, with CPU seconds and peak of the process so far.
fn step(name: &str, begun: Instant, of: Value) -> Outcome {
    let millis = begun.elapsed().as_micros() as f64 / 1_000.0;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let cpu = [11, 12].iter().map(|field| fields[*field].parse::<f64>()).sum::<Result<f64, _>>()? / TICKS;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default().trim();
    println!("{}", json!({ "step": name, "ms": millis, "cpu_s_so_far": cpu, "peak": peak, "of": of }));
    Ok(())
}
