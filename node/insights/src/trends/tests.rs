//! Does a list say what a slow computation by the formula says?

use super::*;
use crate::rows::{RowKind, of_event};
use proptest::prelude::*;
use quorate_model::IndexName;
use quorate_model::event::{Event, EventKind, EventObject, EventTarget};
use std::collections::{BTreeMap, BTreeSet};

const NOW_MS: u64 = 20_000 * DAY_MS + 7 * 3_600_000;

/// What somebody did.
#[derive(Clone, Debug)]
struct Did {
    user: u8,
    item: u8,
    kind: EventKind,
    hours_ago: u64,
}

fn rows_of(all: &[Did]) -> Vec<EventRow> {
    let mut rows = vec![];
    for (number, did) in all.iter().enumerate() {
        let object = EventObject { object_id: format!("item{:03}", did.item), ..EventObject::default() };
        let event = Event {
            kind: did.kind,
            name: "n".into(),
            index: IndexName::new("i").unwrap(),
            user: format!("user{}", did.user),
            authenticated: None,
            time_ms: Some(NOW_MS - did.hours_ago * 3_600_000),
            query_id: None,
            target: EventTarget::Objects(vec![object]),
            value: None,
            currency: None,
        };
        rows.extend(of_event(&event, number as u64, NOW_MS, &mut |text| text.into()));
    }
    rows.sort();
    rows
}
fn found(all: &[Did]) -> Candidates {
    let rows = rows_of(all).into_iter().map(Ok);
    of_rows(rows, NOW_MS, &AtomicBool::new(false)).unwrap().unwrap()
}

/// The rate of a record: every day of every user is looked for anew.
fn rate(all: &[Did], item: u8, kinds: &[EventKind], half: f64) -> f64 {
    let users: BTreeSet<u8> = all.iter().map(|did| did.user).collect();
    let mut sum = 0.0;
    for user in users {
        for day in 0..=DAYS + 1 {
            let day = NOW_MS / DAY_MS - day;
            let of_day = |did: &&Did| {
                let time_ms = NOW_MS - did.hours_ago * 3_600_000;
                did.user == user && did.item == item && time_ms / DAY_MS == day && kinds.contains(&did.kind)
            };
            let of_day: Vec<&Did> = all.iter().filter(of_day).collect();
            let weight = of_day.iter().map(|did| match did.kind {
                EventKind::Purchase => 4,
                EventKind::Conversion => 3,
                EventKind::AddToCart => 2,
                EventKind::Click | EventKind::View => 1,
            });
            if let (Some(weight), Some(hours)) = (weight.max(), of_day.iter().map(|did| did.hours_ago).min())
            {
                sum += f64::from(weight) * 0.5f64.powf(hours as f64 / 24.0 / half);
            }
        }
    }
    sum / (half / 2f64.ln())
}
fn expected(all: &[Did]) -> BTreeMap<String, f64> {
    let classes: [&[EventKind]; 3] = [
        &[EventKind::Purchase, EventKind::Conversion, EventKind::AddToCart],
        &[EventKind::Click],
        &[EventKind::View],
    ];
    let items = |kinds: &[EventKind]| -> BTreeSet<u8> {
        all.iter().filter(|did| kinds.contains(&did.kind)).map(|did| did.item).collect()
    };
    let enough = classes.iter().find(|kinds| items(kinds).len() >= 10);
    // of several that are equally many the strongest
    let most = classes.iter().rev().max_by_key(|kinds| items(kinds).len()).unwrap();
    let kinds = enough.unwrap_or(most);
    let scored = items(kinds).into_iter().map(|item| {
        let [one, three, fourteen] = [1.0, 3.0, 14.0].map(|half| rate(all, item, kinds, half));
        let rising = ((one + 1.0) / (fourteen + 1.0)).clamp(0.25, 4.0);
        (format!("item{item:03}"), three * rising.sqrt())
    });
    scored.collect()
}

fn any_did() -> impl Strategy<Value = Did> {
    let kind = prop::sample::select(vec![
        EventKind::View,
        EventKind::View,
        EventKind::Click,
        EventKind::AddToCart,
        EventKind::Conversion,
        EventKind::Purchase,
    ]);
    (0..6u8, 0..14u8, kind, 0..DAYS * 24).prop_map(|(user, item, kind, hours_ago)| Did {
        user,
        item,
        kind,
        hours_ago,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_list_is_what_the_formula_says(all in prop::collection::vec(any_did(), 0..120)) {
        let (found, expected) = (found(&all), expected(&all));
        prop_assert_eq!(found.list.len(), expected.len());
        let best = expected.values().copied().fold(0.0, f64::max);
        let mut least = 10_000;
        for (item, hundredths) in &found.list {
            prop_assert!(*hundredths <= least, "{:?}", found.list);
            least = *hundredths;
            let exact = expected[item] / best * 10_000.0;
            prop_assert!((f64::from(*hundredths) - exact.max(1.0)).abs() <= 0.51, "{item}: {hundredths}, not {exact}");
        }
        let users: BTreeSet<u8> = all.iter().map(|did| did.user).collect();
        prop_assert_eq!(found.users as usize, users.len());
    }
}

fn did(user: u8, item: u8, kind: EventKind, hours_ago: u64) -> Did {
    Did { user, item, kind, hours_ago }
}

#[test]
fn what_rises_stands_before_what_was_always_liked() {
    let always =
        (0..56).flat_map(|day| (0..20).map(move |user| did(user, 1, EventKind::Click, day * 24 + 1)));
    let rising = (0..20).map(|user| did(100 + user, 2, EventKind::Click, u64::from(user) % 6));
    let faded =
        (0..14).flat_map(|day| (0..20).map(move |user| did(user, 3, EventKind::Click, day * 24 + 15 * 24)));
    let all: Vec<Did> = always.chain(rising).chain(faded).collect();
    let order: Vec<String> = found(&all).list.into_iter().map(|(item, _)| item).collect();
    let popular = all.iter().filter(|did| did.item == 1).count();
    assert!(popular > 50 * all.iter().filter(|did| did.item == 2).count());
    assert_eq!(order, ["item001", "item002", "item003"], "liked by as many every day, and a day of another");
    // a third as many a day, and it is the rising one
    let all: Vec<Did> = all.into_iter().filter(|did| did.item != 1 || did.user < 6).collect();
    assert_eq!(found(&all).list[0].0, "item002");
}
#[test]
fn robots_and_searches_count_for_nothing_and_a_stop_ends_it() {
    let robot = (0..=USER_ROWS_MAX).map(|n| did(7, (n % 5) as u8, EventKind::Click, u64::from(n) % 900));
    let mut all: Vec<Did> = robot.collect();
    assert!(found(&all).list.is_empty());
    all.push(did(8, 9, EventKind::Click, 1));
    assert_eq!(found(&all), Candidates { users: 1, list: vec![("item009".into(), 10_000)] });
    all.remove(0);
    assert_eq!(found(&all).list.len(), 6, "one row less is a user");
    let mut rows = rows_of(&[did(1, 1, EventKind::View, 1)]);
    rows[0].kind = RowKind::Search;
    let stopped = AtomicBool::new(true);
    assert!(of_rows(rows.clone().into_iter().map(Ok), NOW_MS, &stopped).unwrap().is_none());
    assert!(
        of_rows(rows.into_iter().map(Ok), NOW_MS, &AtomicBool::new(false)).unwrap().unwrap().list.is_empty()
    );
}
