//! How is a body with events read (C§18.2, C§18.1)? The first thing that is wrong with it refuses all of it.

use super::{AMOUNT_CHARS_MAX, Event, EventKind, EventObject, EventTarget, Money, QueryId};
use crate::{give_way::give_way, ids::IndexName, limits};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::value::RawValue;

/// How old a timestamp may be.
const PAST_MS: u64 = 30 * 24 * 3_600 * 1_000;
/// How far ahead of the node's clock a timestamp may be.
const FUTURE_MS: u64 = 24 * 3_600 * 1_000;
/// A timestamp that is further ahead counts as none. Clocks differ by seconds: if the node's own decided, an event that is sent again
/// could have none at first and one later, and would count twice.
const AHEAD_MS: u64 = 2 * 60 * 1_000;

/// Why a body is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is no JSON.
    Unreadable(String),
    /// Something in it is not as it has to be.
    Invalid(String),
}
type Checked<T> = Result<T, Refused>;

fn refused<T>(message: impl Into<String>) -> Checked<T> {
    Err(Refused::Invalid(message.into()))
}
fn wrong_type<T>(expected: &str, got: &RawValue) -> Checked<T> {
    refused(format!("Invalid type for field events: expected {expected}, got {}", json_type(got)))
}

/// What JSON calls a value like this.
fn json_type(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "bool",
        Some(b'n') => "null",
        _ => "number",
    }
}

#[derive(Deserialize)]
struct GivenBatch<'b> {
    #[serde(borrow, default)]
    events: Option<&'b RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GivenEvent<'b> {
    #[serde(borrow)]
    event_type: Option<&'b RawValue>,
    #[serde(borrow)]
    event_subtype: Option<&'b RawValue>,
    #[serde(borrow)]
    event_name: Option<&'b RawValue>,
    #[serde(borrow)]
    index: Option<&'b RawValue>,
    #[serde(borrow)]
    user_token: Option<&'b RawValue>,
    #[serde(borrow)]
    authenticated_user_token: Option<&'b RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'b RawValue>,
    #[serde(borrow, rename = "queryID")]
    query_id: Option<&'b RawValue>,
    #[serde(borrow, rename = "objectIDs")]
    object_ids: Option<&'b RawValue>,
    #[serde(borrow)]
    object_data: Option<&'b RawValue>,
    #[serde(borrow)]
    filters: Option<&'b RawValue>,
    #[serde(borrow)]
    positions: Option<&'b RawValue>,
    #[serde(borrow)]
    value: Option<&'b RawValue>,
    #[serde(borrow)]
    currency: Option<&'b RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GivenData<'b> {
    #[serde(borrow, rename = "queryID")]
    query_id: Option<&'b RawValue>,
    #[serde(borrow)]
    price: Option<&'b RawValue>,
    #[serde(borrow)]
    quantity: Option<&'b RawValue>,
    #[serde(borrow)]
    discount: Option<&'b RawValue>,
}

/// Reads a batch that was received at `now_ms` (Unix milliseconds). Unknown members are passed over. Cost: one pass over the
/// body, and one over each event.
///
/// Errors: the first that the order of C§18.1 has.
pub fn parse(body: &[u8], now_ms: u64) -> Checked<Vec<Event>> {
    parse_within(body, now_ms, PAST_MS)
}
/// The same with timestamps that are at most so old.
pub(super) fn parse_within(body: &[u8], now_ms: u64, past_ms: u64) -> Checked<Vec<Event>> {
    let whole: &RawValue =
        serde_json::from_slice(body).map_err(|error| Refused::Unreadable(error.to_string()))?;
    if json_type(whole) != "object" {
        let got = json_type(whole);
        return refused(format!("Invalid type for field : expected insights.PublicEventsBatch, got {got}"));
    }
    let Ok(GivenBatch { events }) = serde_json::from_str(whole.get()) else {
        return refused("Invalid payload");
    };
    let Some(events) = events else { return refused("No events to process") };
    let Ok(events) = serde_json::from_str::<Vec<&RawValue>>(events.get()) else {
        return refused("Invalid payload");
    };
    match events.len() {
        0 => refused("No events to process"),
        count if count > limits::EVENTS_MAX => {
            refused(format!("Cannot process more than {} events in a batch", limits::EVENTS_MAX))
        }
        _ => events.into_iter().enumerate().map(|(at, given)| event(at, given, now_ms, past_ms)).collect(),
    }
}

fn event(at: usize, given: &RawValue, now_ms: u64, past_ms: u64) -> Checked<Event> {
    give_way(at);
    if json_type(given) != "object" {
        return refused("Invalid payload");
    }
    let Ok(given) = serde_json::from_str::<GivenEvent<'_>>(given.get()) else {
        return refused("Invalid payload");
    };
    let name = name(given.event_name)?;
    let kind = kind(given.event_type, given.event_subtype)?;
    let index = index(given.index)?;
    let user = match text(given.user_token)? {
        None => return refused("The userToken field is required"),
        Some(user) => token("UserToken", user)?,
    };
    let target = target(&given, kind)?;
    let query_id = query_id(given.query_id)?;
    let time_ms = time(given.timestamp, now_ms, past_ms)?;
    let authenticated = text(given.authenticated_user_token)?;
    let authenticated = authenticated.map(|user| token("AuthenticatedUserToken", user)).transpose()?;
    let value = amount("Value", given.value)?;
    let currency = currency(given.currency)?;
    if let EventTarget::Objects(objects) = &target
        && currency.is_none()
        && objects.iter().any(|object| object.price.is_some() || object.discount.is_some())
    {
        return refused("The currency field is required when objectData contains prices or discounts");
    }
    Ok(Event { kind, name, index, user, authenticated, time_ms, query_id, target, value, currency })
}

fn name(given: Option<&RawValue>) -> Checked<String> {
    match text(given)? {
        None => refused("EventName is required"),
        Some(name) if name.is_empty() => refused("EventName is required"),
        Some(name) if name.len() <= 64 && name.bytes().all(|byte| matches!(byte, b' '..=b'~')) => Ok(name),
        Some(_) => refused(
            "EventName must contain only visible ASCII characters, and be between 1 and 64 characters long",
        ),
    }
}

fn kind(kind: Option<&RawValue>, subtype: Option<&RawValue>) -> Checked<EventKind> {
    let kind = match text(kind)?.as_deref() {
        None | Some("") => return refused("EventType is required"),
        Some("view") => EventKind::View,
        Some("click") => EventKind::Click,
        Some("conversion") => EventKind::Conversion,
        Some(_) => return refused(r#"EventType must be one of "click", "conversion", or "view""#),
    };
    match (text(subtype)?.as_deref(), kind) {
        (None | Some(""), _) => Ok(kind),
        (Some("addToCart"), EventKind::Conversion) => Ok(EventKind::AddToCart),
        (Some("purchase"), EventKind::Conversion) => Ok(EventKind::Purchase),
        (Some("addToCart" | "purchase"), _) => {
            refused("Only event of type conversion may specify an eventSubtype")
        }
        (Some(_), _) => refused(r#"EventSubtype must be one of "addToCart" or "purchase""#),
    }
}

fn index(given: Option<&RawValue>) -> Checked<IndexName> {
    match text(given)? {
        None => refused("The index field is required"),
        Some(name) if name.is_empty() => refused("The index field is required"),
        Some(name) => IndexName::new(&name).or_else(|error| refused(error.message)),
    }
}

/// A token of a user. `member` begins the text of the error.
fn token(member: &str, token: String) -> Checked<String> {
    match is_user_token(&token) {
        true => Ok(token),
        false => refused(format!(
            "{member} must contain only alphanumeric, equal, plus, slash, hyphen, or underscore characters, and be between 1 and \
             128 characters long"
        )),
    }
}
/// Whether a text can be the token of a user: up to 129 letters, digits, and some others (C§18.2).
pub fn is_user_token(token: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_=+/-".contains(&byte);
    (1..=limits::USER_TOKEN_BYTES_MAX).contains(&token.len()) && token.bytes().all(is_allowed)
}

fn target(given: &GivenEvent<'_>, kind: EventKind) -> Checked<EventTarget> {
    let ids = list(given.object_ids)?;
    let filters = list(given.filters)?;
    let positions = list(given.positions)?;
    match (ids.is_empty(), filters.is_empty()) {
        (true, true) => return refused("Event should specify either some ObjectIDs or some Filters"),
        (false, false) => return refused("Event should specify ObjectIDs or Filters, but not both"),
        _ => {}
    }
    if !positions.is_empty() && kind != EventKind::Click {
        return refused("Only event of type click should specify the positions attribute");
    }
    let positions = positions.into_iter().map(position).collect::<Checked<Vec<u32>>>()?;
    if kind == EventKind::Click && positions.len() != ids.len() {
        return refused("Event of type click should have the same number of ObjectIDs and Positions");
    }
    let data = list(given.object_data)?;
    if !data.is_empty() && data.len() != ids.len() {
        return refused("Event should have the same number of ObjectIDs and ObjectData");
    }
    if !filters.is_empty() {
        if filters.len() > limits::EVENT_FILTERS_MAX {
            return refused(format!("Event should specify at most {} Filters", limits::EVENT_FILTERS_MAX));
        }
        return Ok(EventTarget::Filters(filters.into_iter().map(filter).collect::<Checked<_>>()?));
    }
    if ids.len() > limits::EVENT_OBJECTS_MAX {
        return refused(format!("Event should specify at most {} ObjectIDs", limits::EVENT_OBJECTS_MAX));
    }
    let object = |(at, id): (usize, &RawValue)| {
        let object = EventObject {
            object_id: object_id(id)?,
            position: positions.get(at).copied(),
            ..Default::default()
        };
        data.get(at).map_or(Ok(object.clone()), |data| with_data(object, data))
    };
    Ok(EventTarget::Objects(ids.into_iter().enumerate().map(object).collect::<Checked<_>>()?))
}

fn object_id(given: &RawValue) -> Checked<String> {
    match text(Some(given))? {
        Some(id) if (1..=limits::OBJECT_ID_BYTES_MAX).contains(&id.len()) => Ok(id),
        _ => refused(format!("ObjectIDs must be between 1 and {} bytes long", limits::OBJECT_ID_BYTES_MAX)),
    }
}

fn with_data(object: EventObject, given: &RawValue) -> Checked<EventObject> {
    if json_type(given) != "object" {
        return wrong_type("object", given);
    }
    let Ok(data) = serde_json::from_str::<GivenData<'_>>(given.get()) else {
        return refused("Invalid payload");
    };
    let quantity = data.quantity.filter(|value| json_type(value) != "null");
    let quantity = quantity.map(|given| match (json_type(given), whole(given.get())) {
        ("number", Some(quantity)) => Ok(quantity),
        ("number", None) => refused("Quantity must be a whole number between 0 and 4294967295"),
        _ => wrong_type("number", given),
    });
    Ok(EventObject {
        query_id: query_id(data.query_id)?,
        price: amount("Price", data.price)?,
        quantity: quantity.transpose()?,
        discount: amount("Discount", data.discount)?,
        ..object
    })
}

/// A number that is whole, however it is written.
fn whole(text: &str) -> Option<u32> {
    let of_float = |number: f64| {
        (number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number)).then_some(number as u32)
    };
    text.parse().ok().or_else(|| text.parse().ok().and_then(of_float))
}

/// A filter, which some clients send percent-encoded (C§18.2).
fn filter(given: &RawValue) -> Checked<String> {
    let text = text(Some(given))?.unwrap_or_default();
    let decoded =
        percent_decode_str(&text).decode_utf8().map_or(text.clone(), |decoded| decoded.into_owned());
    let is_pair =
        decoded.split_once(':').is_some_and(|(attribute, value)| !attribute.is_empty() && !value.is_empty());
    match is_pair && decoded.len() <= limits::EVENT_FILTER_BYTES_MAX {
        true => Ok(decoded),
        false => refused(format!(
            r#"Filters must be of the form "attribute:value", and at most {} bytes long"#,
            limits::EVENT_FILTER_BYTES_MAX
        )),
    }
}

fn position(given: &RawValue) -> Checked<u32> {
    if json_type(given) != "number" {
        return wrong_type("number", given);
    }
    match given.get().parse::<u32>() {
        Ok(0) => refused("Event of type click may only have strictly positive positions"),
        Ok(position) => Ok(position),
        Err(_) if given.get().starts_with('-') => {
            refused("Event of type click may only have strictly positive positions")
        }
        Err(_) => refused("Event of type click may only have whole positions up to 4294967295"),
    }
}

fn query_id(given: Option<&RawValue>) -> Checked<Option<QueryId>> {
    match text(given)? {
        None => Ok(None),
        Some(text) => match QueryId::parse(&text) {
            Some(id) => Ok(Some(id)),
            None => refused("Query ID must be a search query ID (32 characters hexadecimal string)"),
        },
    }
}

fn time(given: Option<&RawValue>, now_ms: u64, past_ms: u64) -> Checked<Option<u64>> {
    let Some(given) = given.filter(|given| json_type(given) != "null") else { return Ok(None) };
    if json_type(given) != "number" {
        return wrong_type("int64", given);
    }
    let Ok(time_ms) = given.get().parse::<i64>() else {
        return refused("The timestamp must be a whole number of milliseconds");
    };
    match u64::try_from(time_ms) {
        Ok(time_ms) if time_ms > now_ms.saturating_add(FUTURE_MS) => {
            refused("The timestamp is too far in the future")
        }
        Ok(time_ms) if time_ms.saturating_add(past_ms) < now_ms => {
            refused("The timestamp is too far in the past")
        }
        Ok(time_ms) => Ok(Some(time_ms).filter(|time_ms| *time_ms <= now_ms.saturating_add(AHEAD_MS))),
        Err(_) => refused("The timestamp is too far in the past"),
    }
}

/// An amount, given as a number or as text. `member` begins the text of the error.
fn amount(member: &str, given: Option<&RawValue>) -> Checked<Option<Money>> {
    let Some(given) = given.filter(|given| json_type(given) != "null") else { return Ok(None) };
    let digits = match json_type(given) {
        "number" => given.get().to_owned(),
        "string" => text(Some(given))?.unwrap_or_default(),
        _ => return wrong_type("number", given),
    };
    match Money::parse(&digits) {
        Some(amount) => Ok(Some(amount)),
        None => refused(format!(
            "{member} must be a decimal number of at most {AMOUNT_CHARS_MAX} characters, without an exponent"
        )),
    }
}

fn currency(given: Option<&RawValue>) -> Checked<Option<String>> {
    match text(given)? {
        None => Ok(None),
        Some(code) if code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            Ok(Some(code.to_ascii_uppercase()))
        }
        Some(_) => refused("Currency must be a code of three letters such as EUR"),
    }
}

/// A text, if there is one and not `null`.
fn text(given: Option<&RawValue>) -> Checked<Option<String>> {
    match given {
        None => Ok(None),
        Some(given) => match (json_type(given), serde_json::from_str(given.get())) {
            ("null", _) => Ok(None),
            ("string", Ok(text)) => Ok(Some(text)),
            ("string", Err(_)) => refused("Invalid payload"),
            _ => wrong_type("string", given),
        },
    }
}

/// The values of a list; none of one that is missing or `null`.
fn list(given: Option<&RawValue>) -> Checked<Vec<&RawValue>> {
    match given.map(|given| (given, json_type(given))) {
        None | Some((_, "null")) => Ok(vec![]),
        Some((given, "array")) => serde_json::from_str(given.get()).or_else(|_| refused("Invalid payload")),
        Some((given, _)) => wrong_type("array", given),
    }
}

#[cfg(test)]
mod tests;
