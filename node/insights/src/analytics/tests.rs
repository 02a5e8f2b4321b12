//! Do reports say what an independent, slow look at all searches and events says?

use super::*;
use crate::store::EventStore;
use proptest::prelude::*;
use quorate_model::IndexName;
use quorate_model::analytics::{DAY_MS, POSITIONS};
use quorate_model::event::{
    CountedSearch, Event, EventKind, EventObject, EventTarget, Money, QueryId, TextList,
};
use quorate_store::files::RealFiles;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const FIRST: u32 = 20_000;
const DAYS: u32 = 3;
/// Queries of which none belongs to another one.
const QUERIES: [&str; 4] = ["alpha", "tango nine", "", "quite long"];
const TAGS: [&str; 3] = ["a", "b", "new user"];
const FILTERS: [&str; 4] = ["brand:acme", "brand:b", "price<10", "price>=10"];

/// A search of one of few users, with what is said of it; `place` makes it unlike all others.
#[derive(Clone, Debug)]
struct Searched {
    user: u8,
    query: usize,
    hits: u64,
    is_tracked: bool,
    tags: BTreeSet<usize>,
    /// Some of them several times.
    filters: Vec<usize>,
    shown: BTreeSet<u8>,
    country: Option<bool>,
    day: u32,
    events: Vec<Done>,
}
#[derive(Clone, Debug)]
struct Done {
    kind: EventKind,
    object: u8,
    position: u32,
    price: u32,
    quantity: u32,
    currency: bool,
    later_ms: u64,
}

fn done() -> impl Strategy<Value = Done> {
    let kind = prop::sample::select(EventKind::ALL.to_vec());
    let later = prop_oneof![0..DAY_MS, DAY_MS..DAY_MS + 5_000];
    (kind, 0..5_u8, 1..30_u32, 0..1_000_u32, 0..4_u32, any::<bool>(), later).prop_map(
        |(kind, object, position, price, quantity, currency, later_ms)| Done {
            kind,
            object,
            position,
            price,
            quantity,
            currency,
            later_ms,
        },
    )
}
fn searched() -> impl Strategy<Value = Searched> {
    let lists = (
        prop::collection::btree_set(0..TAGS.len(), 0..3),
        prop::collection::vec(0..FILTERS.len(), 0..4),
        prop::collection::btree_set(0..5_u8, 0..5),
        prop::collection::vec(done(), 0..4),
    );
    let facts = (0..5_u8, 0..QUERIES.len(), 0..3_u64, any::<bool>(), any::<Option<bool>>(), 0..DAYS + 2);
    (facts, lists).prop_map(
        |((user, query, hits, is_tracked, country, day), (tags, filters, shown, events))| Searched {
            user,
            query,
            hits,
            is_tracked,
            tags,
            filters,
            shown,
            country,
            day,
            events,
        },
    )
}

impl Searched {
    /// Each at least 31 s after the one before it, also across days.
    fn time_ms(&self, place: usize) -> u64 {
        u64::from(FIRST - 1 + self.day) * DAY_MS + 60_000 + place as u64 * 31_000
    }
    fn in_log(&self, place: usize) -> CountedSearch {
        CountedSearch {
            index: name(),
            user: format!("u{}", self.user),
            time_ms: self.time_ms(place),
            query: QUERIES[self.query].to_owned(),
            hits: self.hits,
            shown: self.shown.iter().map(|id| format!("o{id}")).collect(),
            tags: self.tags.iter().map(|at| TAGS[*at]).collect(),
            filters: self.filters.iter().map(|at| FILTERS[*at]).collect(),
            country: self.country.map(|is_one| if is_one { "DE" } else { "FR" }.to_owned()),
            query_ids: if self.is_tracked { vec![QueryId(place as u128)] } else { vec![] },
            stands: false,
        }
    }
    fn events(&self, place: usize) -> Vec<Event> {
        let event = |(number, done): (usize, &Done)| Event {
            kind: done.kind,
            name: format!("e{number}"),
            index: name(),
            // events name searches of whomever
            user: format!("e{}", self.user),
            authenticated: None,
            time_ms: Some(self.time_ms(place) + done.later_ms),
            query_id: Some(QueryId(place as u128)),
            target: EventTarget::Objects(vec![EventObject {
                object_id: format!("o{}", done.object),
                position: (done.kind == EventKind::Click).then_some(done.position),
                query_id: None,
                price: Money::parse(&format!("{}.5", done.price)),
                quantity: Some(done.quantity),
                discount: None,
            }]),
            value: None,
            currency: Some(if done.currency { "EUR" } else { "USD" }.to_owned()),
        };
        self.events.iter().enumerate().map(event).collect()
    }
}
fn name() -> IndexName {
    IndexName::new("shop").expect("a name")
}

/// Figures of some searches, slowly; events on one object alone when there is one.
fn figures(of: &[&Searched], object: Option<u8>) -> Figures {
    let mut figures = Figures {
        searches: of.len() as u64,
        users: of.iter().map(|search| search.user).collect::<BTreeSet<_>>().len() as u64,
        hits: of.iter().map(|search| search.hits).sum(),
        without_results: of.iter().filter(|search| search.hits == 0).count() as u64,
        with_filters: of.iter().filter(|search| !search.filters.is_empty()).count() as u64,
        tracked: of.iter().filter(|search| search.is_tracked).count() as u64,
        clickable: of.iter().filter(|search| search.is_tracked && search.hits > 0).count() as u64,
        ..Figures::default()
    };
    for search in of.iter().filter(|search| search.is_tracked) {
        let follows =
            |done: &&Done| done.later_ms < DAY_MS && object.is_none_or(|object| object == done.object);
        let events: Vec<&Done> = search.events.iter().filter(follows).collect();
        let with = |is: fn(EventKind) -> bool| events.iter().filter(|done| is(done.kind)).count() as u64;
        let clicks = with(|kind| kind == EventKind::Click);
        let carts = with(|kind| kind == EventKind::AddToCart);
        let purchases = with(|kind| kind == EventKind::Purchase);
        let conversions = with(EventKind::is_conversion);
        figures.clicks += clicks;
        figures.carts += carts;
        figures.purchases += purchases;
        figures.conversions += conversions;
        figures.clicked += clicks.min(1);
        figures.carted += carts.min(1);
        figures.purchased += purchases.min(1);
        figures.converted += conversions.min(1);
        for done in events {
            if done.kind == EventKind::Click {
                figures.positions_sum += u64::from(done.position);
                let class = POSITIONS.iter().position(|(a, b)| (*a..=*b).contains(&done.position));
                figures.positions[class.expect("a class")] += 1;
            }
            if done.kind == EventKind::Purchase {
                let currency = if done.currency { "EUR" } else { "USD" }.to_owned();
                let tenths = i128::from(done.price) * 10 + 5;
                *figures.revenue.entry(currency).or_default() +=
                    tenths * i128::from(done.quantity) * 100_000_000_000_000;
            }
        }
    }
    figures
}

/// The groups of searches, slowly.
fn groups(of: &[&Searched], by: &By) -> BTreeMap<String, Figures> {
    let mut members: BTreeMap<String, (Vec<&Searched>, Option<u8>)> = BTreeMap::new();
    for search in of {
        let filters = || search.filters.iter().map(|at| FILTERS[*at]);
        let of_attribute =
            |attribute: &str| filters().filter(|text| text.starts_with(attribute)).collect::<Vec<_>>();
        let keys: BTreeSet<String> = match by {
            By::Nothing => BTreeSet::new(),
            By::Query | By::QueryWithoutClicks => BTreeSet::from([QUERIES[search.query].to_owned()]),
            By::QueryWithoutResults => {
                (search.hits == 0).then(|| QUERIES[search.query].to_owned()).into_iter().collect()
            }
            By::Hit => {
                for id in &search.shown {
                    members.entry(format!("o{id}")).or_insert((vec![], Some(*id))).0.push(search);
                }
                BTreeSet::new()
            }
            By::Attribute => {
                let used = ["brand", "price"].into_iter().filter(|name| !of_attribute(name).is_empty());
                used.map(str::to_owned).collect()
            }
            By::FilterOf(attribute) => of_attribute(attribute).into_iter().map(str::to_owned).collect(),
            By::FiltersWithoutResults => {
                let mut all: Vec<&str> = filters().collect();
                all.sort();
                all.dedup();
                (search.hits == 0 && !all.is_empty()).then(|| all.join("\u{1f}")).into_iter().collect()
            }
            By::Country => {
                search.country.map(|is| if is { "DE" } else { "FR" }.to_owned()).into_iter().collect()
            }
        };
        keys.into_iter().for_each(|key| members.entry(key).or_default().0.push(search));
    }
    let mut all: BTreeMap<String, Figures> =
        members.into_iter().map(|(key, (of, object))| (key, figures(&of, object))).collect();
    if *by == By::QueryWithoutClicks {
        all.retain(|_, figures| figures.clickable > 0 && figures.clicks == 0);
    }
    all
}

fn kinds() -> Vec<By> {
    vec![
        By::Nothing,
        By::Query,
        By::QueryWithoutResults,
        By::QueryWithoutClicks,
        By::Hit,
        By::Attribute,
        By::FilterOf("brand".into()),
        By::FiltersWithoutResults,
        By::Country,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn reports_say_what_a_slow_look_says(all in prop::collection::vec(searched(), 0..60), sealed in 0..60_usize) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = EventStore::open(Arc::new(RealFiles), folder.path()).expect("a store");
        for (place, search) in all.iter().enumerate() {
            let entry = 2 * place as u64 + 1;
            store.append_searches(entry, &[search.in_log(place)]);
            store.append(entry + 1, 0, &search.events(place));
            if place == sealed {
                store.seal().expect("sealed");
            }
        }
        let view = store.view();
        for (tags, takes) in [(None, [true; 3].to_vec()), (Some("a OR new user"), vec![true, false, true])] {
            let is_taken = |search: &&Searched| {
                (1..=DAYS).contains(&search.day) && (tags.is_none() || search.tags.iter().any(|tag| takes[*tag]))
            };
            let of: Vec<&Searched> = all.iter().filter(is_taken).collect();
            for by in kinds() {
                let asked = ReportQuery {
                    days: (Day(FIRST), Day(FIRST + DAYS - 1)),
                    tags: tags.map(str::to_owned),
                    by: by.clone(),
                    with_events: true,
                    limit: usize::MAX,
                    ..ReportQuery::default()
                };
                let found = report(&view, "shop", &asked, &|| false).expect("a report");
                let of_days = (1..=DAYS).map(|day| {
                    let of_day: Vec<&Searched> = of.iter().filter(|search| search.day == day).copied().collect();
                    let mut figures = figures(&of_day, None);
                    if by == By::QueryWithoutClicks {
                        figures.without_clicks = groups(&of_day, &by).values().map(|of| of.clickable).sum();
                    }
                    (Day(FIRST - 1 + day), figures)
                });
                let users = |figures: &mut Figures| figures.users *= u64::from(by == By::Nothing);
                let of_days = of_days.map(|(day, mut figures)| {
                    users(&mut figures);
                    (day, figures)
                });
                let mut expected = groups(&of, &by);
                expected.values_mut().for_each(users);
                let mut total = figures(&of, None);
                users(&mut total);
                if by == By::QueryWithoutClicks {
                    total.without_clicks = expected.values().map(|of| of.clickable).sum();
                }
                prop_assert_eq!(&found.total, &total, "{:?}", by);
                prop_assert_eq!(&found.days, &of_days.collect::<Vec<_>>(), "{:?}", by);
                let shown = |of: &Figures| if by == By::QueryWithoutClicks { of.clickable } else { of.searches };
                let in_order = found.groups.windows(2).all(|pair| shown(&pair[0].1) >= shown(&pair[1].1));
                prop_assert!(in_order, "{:?}", by);
                let found: BTreeMap<String, Figures> = found.groups.into_iter().collect();
                prop_assert_eq!(&found, &expected, "{:?}", by);
            }
        }
    }
}

#[test]
fn what_several_nodes_saw_of_typing_is_joined() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = EventStore::open(Arc::new(RealFiles), folder.path()).expect("a store");
    let start_ms = u64::from(FIRST) * DAY_MS;
    let search = |later_ms: u64, query: &str, id: u128| CountedSearch {
        index: name(),
        user: "u".into(),
        time_ms: start_ms + later_ms,
        query: query.into(),
        hits: 1,
        shown: TextList::default(),
        tags: TextList::default(),
        filters: TextList::default(),
        country: None,
        query_ids: vec![QueryId(id)],
        stands: false,
    };
    // each node says what was typed at it last; one of them did so before midnight
    let rows = [search(0, "shoe", 1), search(300, "shoes r", 2), search(600, "shoes red", 3)];
    for (entry, row) in rows.into_iter().rev().enumerate() {
        store.append_searches(entry as u64 + 1, &[row]);
    }
    let yesterday = CountedSearch { time_ms: start_ms - 1_000, ..search(0, "sh", 4) };
    store.append_searches(9, &[yesterday]);
    let asked = |first, last| ReportQuery {
        days: (Day(first), Day(last)),
        by: By::Query,
        limit: 9,
        ..ReportQuery::default()
    };
    let found = report(&store.view(), "shop", &asked(FIRST - 1, FIRST), &|| false).expect("a report");
    let queries: Vec<(&str, u64)> =
        found.groups.iter().map(|(name, of)| (name.as_str(), of.searches)).collect();
    assert_eq!(queries, [("sh", 1), ("shoes red", 1)], "an hour ends between them");
    for day in [FIRST - 1, FIRST] {
        let found = report(&store.view(), "shop", &asked(day, day), &|| false).expect("a report");
        assert_eq!(found.total.searches, 1, "figures of days add up to those of their range");
    }
    assert!(matches!(report(&store.view(), "shop", &asked(FIRST, FIRST), &|| true), Err(Failure::Stopped)));
}
