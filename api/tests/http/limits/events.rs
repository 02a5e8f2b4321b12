//! What limits do events have (C§18.2, C§18.1)?

use super::rows::{by, here, padded, repeated};
use super::*;
use quorate_model::event::AMOUNT_CHARS_MAX;
use quorate_model::limits::*;

const EVENTS: &str = "/1/events";

fn event(changes: Value) -> Value {
    let mut event = json!({"eventName": "Seen", "eventType": "view", "index": "i", "userToken": "u"});
    event.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    event
}
/// An event about a record, with other members.
fn about(name: &str, value: Value) -> Ask {
    let mut changes = json!({"objectIDs": ["1"]});
    changes[name] = value;
    ask(Method::POST, EVENTS, json!({"events": [event(changes)]}))
}
/// The same member at its limit and past it.
fn texts(name: &str, [at, past]: [Value; 2], message: &str) -> Vec<Try> {
    vec![tried(about(name, at), about(name, past), 422, message)]
}
fn letters(number: usize) -> [Value; 2] {
    [json!("x".repeat(number)), json!("x".repeat(number + 1))]
}

fn forgotten_users() -> Limit {
    by(
        "users forgotten with a key in an hour",
        count(usize::try_from(FORGOTTEN_USERS_PER_HOUR).expect("a small number")),
        "429",
        &[("api/tests/http/events.rs", "a_key_forgets_as_many_users_in_an_hour_as_the_headers_say")],
    )
}

fn body() -> Limit {
    let batch = json!({"events": [event(json!({"objectIDs": ["1"]}))]}).to_string();
    let of = |bytes: usize| padded(Method::POST, EVENTS, &batch, bytes);
    let [at, past] = [of(EVENTS_BODY_BYTES_MAX), of(EVENTS_BODY_BYTES_MAX + 1)];
    let refused = tried(at, past, 413, "Request Entity Too Large");
    here("body of events", bytes(EVENTS_BODY_BYTES_MAX), "413", vec![refused])
}

/// Every row of it, in the order of the contract.
pub fn all() -> Vec<Limit> {
    let many = repeated(EVENTS_MAX, |n| event(json!({"objectIDs": [n.to_string()]})));
    let [at, past] = many.map(|events| ask(Method::POST, EVENTS, json!({ "events": events })));
    let objects = repeated(EVENT_OBJECTS_MAX, |n| json!(n.to_string()));
    let filters = repeated(EVENT_FILTERS_MAX, |n| json!(format!("a:{n}")));
    let filters =
        filters.map(|list| ask(Method::POST, EVENTS, json!({"events": [event(json!({ "filters": list }))]})));
    let [filters_at, filters_past] = filters;
    let long = [EVENT_FILTER_BYTES_MAX, EVENT_FILTER_BYTES_MAX + 1].map(|bytes| {
        let filter = format!("a:{}", "x".repeat(bytes - 2));
        ask(Method::POST, EVENTS, json!({"events": [event(json!({ "filters": [filter] }))]}))
    });
    let [long_at, long_past] = long;
    let amount = [json!("1".repeat(AMOUNT_CHARS_MAX)), json!("1".repeat(AMOUNT_CHARS_MAX + 1))];
    vec![
        forgotten_users(),
        body(),
        here(
            "events of a batch",
            count(EVENTS_MAX),
            "422",
            vec![tried(at, past, 422, "Cannot process more than 1000 events in a batch")],
        ),
        here(
            "objectIDs of an event",
            count(EVENT_OBJECTS_MAX),
            "422",
            texts("objectIDs", objects, "Event should specify at most 20 ObjectIDs"),
        ),
        here(
            "filters of an event",
            count(EVENT_FILTERS_MAX),
            "422",
            vec![tried(filters_at, filters_past, 422, "Event should specify at most 10 Filters")],
        ),
        here(
            "a filter of an event, decoded",
            bytes(EVENT_FILTER_BYTES_MAX),
            "422",
            vec![tried(long_at, long_past, 422, "Filters must be of the form")],
        ),
        here(
            "eventName",
            "64 visible characters of ASCII".into(),
            "422",
            texts("eventName", letters(64), "EventName must contain only visible ASCII characters"),
        ),
        here(
            "userToken, authenticatedUserToken",
            "129 characters".into(),
            "422",
            [("userToken", "UserToken"), ("authenticatedUserToken", "AuthenticatedUserToken")]
                .into_iter()
                .flat_map(|(name, said)| texts(name, letters(129), &format!("{said} must contain only")))
                .collect(),
        ),
        here(
            "amount of an event",
            format!("{AMOUNT_CHARS_MAX} characters"),
            "422",
            texts("value", amount, "Value must be a decimal number of at most 16 characters"),
        ),
    ]
}
