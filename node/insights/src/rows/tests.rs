//! Do rows say what events said, and can repetitions be told?

use super::*;
use proptest::prelude::*;
use quorate_model::IndexName;
use quorate_model::event::{Event, EventObject, EventTarget};
use quorate_store::codec;

/// Any row, of few users and indices so that they meet.
pub(crate) fn any_row() -> impl Strategy<Value = EventRow> {
    let text = || prop::option::of("[a-zé]{0,6}").prop_map(|text| text.map(Text::from));
    let money = || {
        prop::option::of((any::<i32>(), 0..6_u32)).prop_map(|money| {
            money.map(|(digits, places)| {
                Money::from_scaled(i128::from(digits) * 10_i128.pow(15 - places)).expect("few digits")
            })
        })
    };
    let texts = || prop::collection::vec("[a-z]{0,4}", 0..4).prop_map(TextList::from_iter);
    let ids = prop::collection::vec(any::<u128>().prop_map(QueryId), 0..3);
    let search = (text(), any::<u32>(), texts(), texts(), text(), ids, texts(), any::<bool>()).prop_map(
        |(query, hits, shown, tags, country, query_ids, filters, stands)| {
            let query = query.unwrap_or_default();
            let hits = hits.into();
            Box::new(SearchRow { query, hits, shown, tags, country, query_ids, filters, stands })
        },
    );
    let who = (0..3_u8, 0..4_u8, text(), 0..1_000_u64, any::<bool>(), 1..6_usize);
    let what = (text(), text(), prop::option::of(any::<u32>()), prop::option::of(any::<u128>()), text());
    let worth = (money(), money(), prop::option::of(any::<u32>()), money(), text());
    (who, what, worth, search, any::<bool>(), 0..20_u64, 0..1_000_u64).prop_map(
        |(who, what, worth, search, is_search, fingerprint, log_index)| {
            let (index, user, authenticated, time_ms, is_timed, kind) = who;
            let (event, object, position, query_id, filter) = what;
            let (value, price, quantity, discount, currency) = worth;
            let user: Text = format!("user{user}").into();
            EventRow {
                index: format!("index{index}").into(),
                user_hash: user_hash(&user),
                user,
                authenticated,
                time_ms,
                is_timed,
                kind: if is_search { RowKind::Search } else { RowKind::ALL[kind] },
                event,
                object,
                position,
                query_id: query_id.map(QueryId),
                value,
                price,
                quantity,
                discount,
                currency,
                filter,
                search: is_search.then_some(search),
                fingerprint,
                log_index,
            }
        },
    )
}

fn purchase(time_ms: Option<u64>) -> Event {
    let object = |id: &str, query_id| EventObject {
        object_id: id.into(),
        query_id,
        price: Money::parse("9.99"),
        quantity: Some(2),
        ..EventObject::default()
    };
    Event {
        kind: EventKind::Purchase,
        name: "Bought".into(),
        index: IndexName::new("shop").expect("a name"),
        user: "u".into(),
        authenticated: Some("a".into()),
        time_ms,
        query_id: Some(QueryId(1)),
        target: EventTarget::Objects(vec![object("x", None), object("x", Some(QueryId(2)))]),
        value: Money::parse("19.98"),
        currency: Some("EUR".into()),
    }
}
fn rows(event: &Event, log_index: u64, received_ms: u64) -> Vec<EventRow> {
    of_event(event, log_index, received_ms, &mut |text| text.into())
}

#[test]
fn an_event_is_a_row_for_each_record() {
    let of = rows(&purchase(Some(5)), 7, 99);
    assert_eq!(of.len(), 2);
    assert_eq!(
        of.iter().map(|row| row.value).collect::<Vec<_>>(),
        [Money::parse("19.98"), None],
        "worth it once"
    );
    assert_eq!(of.iter().map(|row| row.query_id).collect::<Vec<_>>(), [Some(QueryId(1)), Some(QueryId(2))]);
    assert!(of.iter().all(|row| (row.time_ms, row.is_timed, row.log_index) == (5, true, 7)));
    assert_ne!(of[0].fingerprint, of[1].fingerprint, "the same record twice is no repetition");
    let received = rows(&purchase(None), 7, 99);
    assert!(received.iter().all(|row| (row.time_ms, row.is_timed) == (99, false)));
}

#[test]
fn what_is_sent_again_has_the_same_fingerprints_and_nothing_else_has() {
    let prints = |event: &Event, log_index, received_ms| -> Vec<u64> {
        rows(event, log_index, received_ms).iter().map(|row| row.fingerprint).collect()
    };
    for time_ms in [None, Some(5)] {
        assert_eq!(prints(&purchase(time_ms), 7, 99), prints(&purchase(time_ms), 8, 100));
    }
    assert_ne!(prints(&purchase(Some(5)), 7, 99), prints(&purchase(Some(6)), 7, 99));
    let other = Event { value: None, ..purchase(Some(5)) };
    assert_ne!(prints(&purchase(Some(5)), 7, 99), prints(&other, 7, 99));
}

#[test]
fn texts_of_a_search_are_bytes_of_a_list() {
    for list in [vec![], vec!["a"], vec!["", "é", "two words"]] {
        let bytes = codec::encode(&list.iter().collect::<TextList>());
        assert_eq!(bytes, codec::encode(&list));
        let texts: TextList = codec::decode(&bytes, bytes.len()).expect("as they were");
        assert_eq!(texts.iter().collect::<Vec<_>>(), list);
    }
    // a length that nothing follows
    assert!(codec::decode::<TextList>(&[253, 255, 255, 255, 255, 255, 255, 255, 127], 1 << 20).is_err());
}
