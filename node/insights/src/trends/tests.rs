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
                EventKind::Purchase => 4.0,
                EventKind::Conversion => 3.0,
                EventKind::AddToCart => 2.0,
                EventKind::Click => 1.0,
                EventKind::View => 0.5,
            });
            if let (Some(weight), Some(hours)) =
                (weight.reduce(f64::max), of_day.iter().map(|did| did.hours_ago).min())
            {
                sum += weight * 0.5f64.powf(hours as f64 / 24.0 / half);
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
    let items = |classes: &[&[EventKind]]| -> BTreeSet<u8> {
        let is_of = |did: &&Did| classes.iter().any(|kinds| kinds.contains(&did.kind));
        all.iter().filter(is_of).map(|did| did.item).collect()
    };
    let classes =
        (1..3).map(|most| &classes[..most]).find(|some| items(some).len() >= 10).unwrap_or(&classes);
    let scored = items(classes).into_iter().map(|item| {
        let [one, three, fourteen] = [1.0, 3.0, 14.0]
            .map(|half| classes.iter().map(|kinds| rate(all, item, kinds, half)).sum::<f64>());
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
fn what_was_bought_stands_before_what_somebody_looked_at() {
    let bought = (0..20).flat_map(|user| [1, 2].map(|item| did(user, item, EventKind::Purchase, 2)));
    let seen = [5, 6, 7].map(|item| did(99, item, EventKind::View, 1));
    let list = found(&bought.chain(seen).collect::<Vec<_>>()).list;
    let order: Vec<&str> = list.iter().map(|(item, _)| item.as_str()).collect();
    assert_eq!(order[..2], ["item001", "item002"], "{list:?}");
    assert!(list[2].1 < 200, "{list:?}");
    // views count for nothing when as many as ten are bought
    let many =
        (10..20).map(|item| did(1, item, EventKind::AddToCart, 1)).chain([did(2, 3, EventKind::View, 1)]);
    assert!(found(&many.collect::<Vec<_>>()).list.iter().all(|(item, _)| item != "item003"));
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
