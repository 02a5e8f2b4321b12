//! Is each rule of C§18.2 held, with the texts and in the order of C§18.1?

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};

const NOW_MS: u64 = 1_700_000_000_000;
const DAY_MS: u64 = 24 * 3_600 * 1_000;

fn read(body: &Value) -> Checked<Vec<Event>> {
    parse(body.to_string().as_bytes(), NOW_MS)
}
fn message(body: &Value) -> String {
    match read(body) {
        Err(Refused::Invalid(message)) => message,
        other => panic!("{body}: {other:?}"),
    }
}
/// A click that is as it should be, with other members.
fn click(changes: Value) -> Value {
    let mut event = json!({
        "eventType": "click", "eventName": "Hit Clicked", "index": "products", "userToken": "user-1",
        "objectIDs": ["a", "b"], "positions": [3, 4],
    });
    for (member, value) in changes.as_object().expect("an object").clone() {
        match value == json!("REMOVED") {
            true => drop(event.as_object_mut().expect("an object").remove(&member)),
            false => event[member] = value,
        }
    }
    event
}
fn one(event: Value) -> Value {
    json!({ "events": [event] })
}
fn view(changes: Value) -> Value {
    let mut event = click(json!({"eventType": "view", "positions": "REMOVED"}));
    event.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
    event
}

#[test]
fn an_event_is_read_whole() {
    let event = click(json!({
        "eventType": "conversion", "eventSubtype": "purchase", "positions": null, "timestamp": NOW_MS - 5, "value": "12.50",
        "authenticatedUserToken": "auth/2", "currency": "eur", "queryID": "0123456789abcdef0123456789abcdef", "extra": {"a": [1]},
        "objectData": [{"price": 9.99, "quantity": 2.0, "discount": "0.5", "other": 1}, {"queryID": "ffffffffffffffffffffffffffffffff"}],
    }));
    let objects = vec![
        EventObject {
            object_id: "a".into(),
            price: Money::parse("9.99"),
            quantity: Some(2),
            discount: Money::parse("0.5"),
            ..EventObject::default()
        },
        EventObject { object_id: "b".into(), query_id: Some(QueryId(u128::MAX)), ..EventObject::default() },
    ];
    let expected = Event {
        kind: EventKind::Purchase,
        name: "Hit Clicked".into(),
        index: IndexName::new("products").expect("a name"),
        user: "user-1".into(),
        authenticated: Some("auth/2".into()),
        time_ms: Some(NOW_MS - 5),
        query_id: Some(QueryId(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef)),
        target: EventTarget::Objects(objects),
        value: Money::parse("12.5"),
        currency: Some("EUR".into()),
    };
    assert_eq!(read(&one(event)), Ok(vec![expected]));
    let filters = view(json!({"objectIDs": [], "filters": ["brand%3Aa%20b", "size:100%"]}));
    let events = read(&one(filters)).expect("a view of filters");
    assert_eq!(events[0].target, EventTarget::Filters(vec!["brand:a b".into(), "size:100%".into()]));
    let positions = read(&one(click(json!({})))).expect("a click").remove(0).target;
    let EventTarget::Objects(objects) = positions else { panic!("{positions:?}") };
    assert_eq!(objects.iter().map(|object| object.position).collect::<Vec<_>>(), [Some(3), Some(4)]);
}

#[test]
fn what_is_no_batch_is_refused() {
    assert!(matches!(parse(b"{\"events\":", NOW_MS), Err(Refused::Unreadable(_))));
    assert!(matches!(parse(b"\xff", NOW_MS), Err(Refused::Unreadable(_))));
    for (body, text) in [
        (json!([]), "Invalid type for field : expected insights.PublicEventsBatch, got array"),
        (json!("a"), "Invalid type for field : expected insights.PublicEventsBatch, got string"),
        (json!({}), "No events to process"),
        (json!({"events": []}), "No events to process"),
        (json!({"events": null}), "No events to process"),
        (json!({"events": {}}), "Invalid payload"),
        (json!({"events": [1]}), "Invalid payload"),
        (json!({"events": vec![click(json!({})); 1_001]}), "Cannot process more than 1000 events in a batch"),
    ] {
        assert_eq!(message(&body), text, "{body}");
    }
    assert_eq!(read(&json!({"events": vec![click(json!({})); 1_000]})).map(|events| events.len()), Ok(1_000));
}

#[test]
fn every_member_is_checked() {
    let name =
        "EventName must contain only visible ASCII characters, and be between 1 and 64 characters long";
    let user = "UserToken must contain only alphanumeric, equal, plus, slash, hyphen, or underscore characters, and be between 1 \
                and 128 characters long";
    let query = "Query ID must be a search query ID (32 characters hexadecimal string)";
    let counts = "Event of type click should have the same number of ObjectIDs and Positions";
    let positive = "Event of type click may only have strictly positive positions";
    let target = "Event should specify either some ObjectIDs or some Filters";
    for (changes, text) in [
        (json!({"eventName": "REMOVED", "eventType": "x"}), "EventName is required"),
        (json!({"eventName": "é"}), name),
        (json!({"eventName": "a".repeat(65)}), name),
        (json!({"eventName": 1}), "Invalid type for field events: expected string, got number"),
        (json!({"eventType": "REMOVED", "index": 5}), "EventType is required"),
        (json!({"eventType": "buy"}), r#"EventType must be one of "click", "conversion", or "view""#),
        (json!({"eventSubtype": "gift"}), r#"EventSubtype must be one of "addToCart" or "purchase""#),
        (json!({"eventSubtype": "purchase"}), "Only event of type conversion may specify an eventSubtype"),
        (json!({"index": "REMOVED", "userToken": ""}), "The index field is required"),
        (json!({"index": ["a"]}), "Invalid type for field events: expected string, got array"),
        (json!({"userToken": "REMOVED"}), "The userToken field is required"),
        (json!({"userToken": ""}), user),
        (json!({"userToken": "a b"}), user),
        (json!({"userToken": "a".repeat(130)}), user),
        (json!({"objectIDs": []}), target),
        (json!({"objectIDs": "REMOVED", "positions": "REMOVED"}), target),
        (json!({"filters": ["a:b"]}), "Event should specify ObjectIDs or Filters, but not both"),
        (json!({"eventType": "view"}), "Only event of type click should specify the positions attribute"),
        (json!({"positions": [1]}), counts),
        (json!({"positions": "REMOVED"}), counts),
        (json!({"positions": [0, 1]}), positive),
        (json!({"positions": [1, -1]}), positive),
        (
            json!({"positions": [1, 1.5]}),
            "Event of type click may only have whole positions up to 4294967295",
        ),
        (json!({"positions": [1, "2"]}), "Invalid type for field events: expected number, got string"),
        (json!({"positions": 1}), "Invalid type for field events: expected array, got number"),
        (json!({"queryID": "abc"}), query),
        (json!({"queryID": "A".repeat(32)}), query),
        (json!({"queryID": "+".repeat(32)}), query),
        (json!({"timestamp": NOW_MS - 31 * DAY_MS}), "The timestamp is too far in the past"),
        (json!({"timestamp": -1}), "The timestamp is too far in the past"),
        (json!({"timestamp": NOW_MS + 2 * DAY_MS}), "The timestamp is too far in the future"),
        (json!({"timestamp": 1.5}), "The timestamp must be a whole number of milliseconds"),
        (json!({"timestamp": "now"}), "Invalid type for field events: expected int64, got string"),
        (json!({"authenticatedUserToken": "ü"}), &user.replace("UserToken", "AuthenticatedUserToken")),
        (
            json!({"value": "1e5"}),
            "Value must be a decimal number of at most 16 characters, without an exponent",
        ),
        (json!({"value": true}), "Invalid type for field events: expected number, got bool"),
        (json!({"currency": "euro"}), "Currency must be a code of three letters such as EUR"),
        (json!({"objectIDs": ["a", ""]}), "ObjectIDs must be between 1 and 512 bytes long"),
        (json!({"objectIDs": ["a", "b".repeat(513)]}), "ObjectIDs must be between 1 and 512 bytes long"),
        (
            json!({"objectIDs": vec!["a"; 21], "positions": vec![1; 21]}),
            "Event should specify at most 20 ObjectIDs",
        ),
        (json!({"objectData": [{}]}), "Event should have the same number of ObjectIDs and ObjectData"),
        (json!({"objectData": [{}, 1]}), "Invalid type for field events: expected object, got number"),
        (
            json!({"objectData": [{"quantity": -1}, {}]}),
            "Quantity must be a whole number between 0 and 4294967295",
        ),
        (
            json!({"objectData": [{"quantity": 1.5}, {}]}),
            "Quantity must be a whole number between 0 and 4294967295",
        ),
        (
            json!({"objectData": [{"price": "12345678901234567"}, {}]}),
            "Price must be a decimal number of at most 16 characters, without an exponent",
        ),
        (
            json!({"objectData": [{"price": 1}, {}]}),
            "The currency field is required when objectData contains prices or discounts",
        ),
    ] {
        assert_eq!(message(&one(click(changes.clone()))), text, "{changes}");
    }
    for (filters, is_taken) in [
        (json!(["brand"]), false),
        (json!([":a"]), false),
        (json!(["a:"]), false),
        (json!(vec!["a:b"; 11]), false),
        (json!(vec!["a:b"; 10]), true),
        (json!([format!("a:{}", "b".repeat(1_022))]), true),
        (json!([format!("a:{}", "b".repeat(1_023))]), false),
    ] {
        let event = one(view(json!({"objectIDs": null, "filters": filters.clone()})));
        assert_eq!(read(&event).is_ok(), is_taken, "{filters}");
    }
}

#[test]
fn the_first_that_is_wrong_refuses_all() {
    let events =
        json!({"events": [click(json!({})), click(json!({"index": ""})), click(json!({"eventName": ""}))]});
    assert_eq!(message(&events), "The index field is required");
}

#[test]
fn times_far_ahead_count_as_none_and_a_month_is_taken() {
    for (timestamp, time_ms) in [
        (NOW_MS, Some(NOW_MS)),
        (NOW_MS + 120_000, Some(NOW_MS + 120_000)),
        (NOW_MS + 120_001, None),
        (NOW_MS + DAY_MS, None),
        (NOW_MS - 30 * DAY_MS, Some(NOW_MS - 30 * DAY_MS)),
    ] {
        let events = read(&one(click(json!({"timestamp": timestamp})))).expect("a time that is taken");
        assert_eq!(events[0].time_ms, time_ms);
    }
}

proptest! {
    #[test]
    fn no_bytes_bring_it_down(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(parse(&bytes, NOW_MS));
    }
    #[test]
    fn a_batch_that_is_cut_or_changed_is_an_answer(at in 0_usize..300, byte in any::<u8>(), cut in any::<bool>()) {
        let event = click(json!({"objectData": [{"price": 1}, {"quantity": 2}], "currency": "EUR", "timestamp": NOW_MS}));
        let mut body = one(event).to_string().into_bytes();
        let at = at % body.len();
        if cut { body.truncate(at) } else { body[at] = byte }
        drop(parse(&body, NOW_MS));
    }
}
