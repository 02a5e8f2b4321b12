//! What does a row of a file say? Members of an event, or of a search, as `POST /admin/events` takes them.

use quorate_model::analytics::Day;
use serde_json::{Map, Value, json};

/// What a row becomes.
#[derive(Debug, PartialEq)]
pub enum Past {
    /// An event.
    Event(Value),
    /// A search.
    Search(Value),
}

type Row = Map<String, Value>;

/// The columns that an export has.
const COLUMNS: [&str; 27] = [
    "index",
    "user_hash",
    "user",
    "authenticated_user",
    "time",
    "is_timed",
    "kind",
    "event",
    "object",
    "position",
    "query_id",
    "value",
    "price",
    "quantity",
    "discount",
    "currency",
    "filter",
    "query",
    "hits",
    "shown",
    "tags",
    "country",
    "query_ids",
    "fingerprint",
    "log_index",
    "filters",
    "stands",
];

/// Reads a row: the columns of an export, or the members that `POST /1/events` takes. Errors: what is wrong, without the place.
pub fn read(row: Row) -> Result<Past, String> {
    if row.contains_key("eventType") {
        return Ok(Past::Event(Value::Object(row)));
    }
    let kind = text(&row, "kind")?.ok_or_else(|| {
        "there is neither a member eventType, as POST /1/events has it, nor a column kind, as an export has it".to_owned()
    })?;
    if let Some(unknown) = row.keys().find(|name| !COLUMNS.contains(&name.as_str())) {
        return Err(format!("there is no column {unknown}: the columns are {}", COLUMNS.join(", ")));
    }
    let (kind, subtype) = match kind.as_str() {
        "search" => return search(&row).map(Past::Search),
        "view" | "click" | "conversion" => (kind.as_str(), None),
        "addToCart" | "purchase" => ("conversion", Some(kind.as_str())),
        other => {
            return Err(format!(
                "kind is {other}: expected search, view, click, conversion, addToCart or purchase"
            ));
        }
    };
    let mut event = Map::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            event.insert(name.to_owned(), value);
        }
    };
    put("eventType", Some(json!(kind)));
    put("eventSubtype", subtype.map(|subtype| json!(subtype)));
    put("eventName", text(&row, "event")?.map(Value::String));
    put("index", text(&row, "index")?.map(Value::String));
    put("userToken", text(&row, "user")?.map(Value::String));
    put("authenticatedUserToken", text(&row, "authenticated_user")?.map(Value::String));
    put("timestamp", Some(json!(time(&row)?)));
    put("queryID", text(&row, "query_id")?.map(|id| json!(query_id(&id))));
    put("value", amount(&row, "value")?.map(Value::String));
    put("currency", text(&row, "currency")?.map(Value::String));
    // it is decoded where it is read
    put("filters", text(&row, "filter")?.map(|filter| json!([filter.replace('%', "%25")])));
    if let Some(object) = text(&row, "object")? {
        put("objectIDs", Some(json!([object])));
        let position = number(&row, "position")?;
        if kind == "click" && position.is_none() {
            return Err("there is no position, which the click on an object has".to_owned());
        }
        put("positions", position.filter(|_| kind == "click").map(|position| json!([position])));
        let mut data = Map::new();
        for name in ["price", "discount"] {
            if let Some(amount) = amount(&row, name)? {
                data.insert(name.to_owned(), Value::String(amount));
            }
        }
        if let Some(quantity) = number(&row, "quantity")? {
            data.insert("quantity".to_owned(), json!(quantity));
        }
        put("objectData", (!data.is_empty()).then(|| json!([data])));
    }
    if !event.contains_key("eventName") {
        return Err("there is no event, which is what its sender calls it".to_owned());
    }
    Ok(Past::Event(Value::Object(event)))
}

fn search(row: &Row) -> Result<Value, String> {
    if !row.contains_key("query") {
        return Err("there is no query, which a search has, also an empty one".to_owned());
    }
    let hits = number(row, "hits")?.ok_or("there are no hits, which a search has a number of")?;
    let query_ids: Vec<String> = list(row, "query_ids")?.iter().map(|id| query_id(id)).collect();
    Ok(json!({
        "index": text(row, "index")?.unwrap_or_default(),
        "userToken": text(row, "user")?.unwrap_or_default(),
        "timestamp": time(row)?,
        "query": text(row, "query")?.unwrap_or_default(),
        "hits": hits,
        "shown": list(row, "shown")?,
        "tags": list(row, "tags")?,
        "filters": list(row, "filters")?,
        "country": text(row, "country")?,
        "queryIDs": query_ids,
        "stands": match row.get("stands") {
            None => false,
            Some(Value::Bool(stands)) => *stands,
            Some(Value::String(word)) if word == "true" || word == "false" => word == "true",
            Some(_) => return Err("stands is neither true nor false".to_owned()),
        },
    }))
}

/// An id as other programs write it: with hyphens, or in capitals.
fn query_id(text: &str) -> String {
    text.replace('-', "").to_ascii_lowercase()
}

fn text(row: &Row, name: &str) -> Result<Option<String>, String> {
    match row.get(name) {
        None => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => Err(format!("{name} is no text")),
    }
}

/// Digits without zeros behind the point that say nothing: other programs write as many as a column has room for.
fn amount(row: &Row, name: &str) -> Result<Option<String>, String> {
    let digits = text(row, name)?;
    Ok(digits.map(|digits| match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits,
    }))
}

fn number(row: &Row, name: &str) -> Result<Option<u64>, String> {
    let read = match row.get(name) {
        None => return Ok(None),
        Some(Value::String(text)) if text.is_empty() => return Ok(None),
        Some(Value::String(text)) => text.parse().ok().or_else(|| whole(text.parse().ok()?)),
        Some(value) => value.as_u64().or_else(|| whole(value.as_f64()?)),
    };
    read.map(Some).ok_or_else(|| format!("{name} is no whole number"))
}
/// A number that is written with a point although it is whole: a column of floats, as those with gaps are elsewhere.
fn whole(number: f64) -> Option<u64> {
    const EXACT_MAX: f64 = (1_u64 << 53) as f64;
    (number.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&number)).then_some(number as u64)
}

/// A list, or a text that is one in JSON, as cells of CSV are.
fn list(row: &Row, name: &str) -> Result<Vec<String>, String> {
    let read = match row.get(name) {
        None => return Ok(vec![]),
        Some(Value::String(text)) if text.is_empty() => return Ok(vec![]),
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(value) => serde_json::from_value(value.clone()).ok(),
    };
    read.ok_or_else(|| format!(r#"{name} is no list of texts, such as ["a","b"]"#))
}

/// Unix milliseconds of a row.
fn time(row: &Row) -> Result<u64, String> {
    let Some(given) = row.get("time") else { return Err("there is no time".to_owned()) };
    let read = match given {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok().or_else(|| date(text)),
        _ => None,
    };
    read.ok_or_else(|| {
        "time is neither Unix milliseconds nor a date such as 2026-11-22T10:00:00.000Z".to_owned()
    })
}

/// Reads `YYYY-MM-DD HH:MM:SS`, with a fraction and an offset that may be missing, which means UTC.
fn date(text: &str) -> Option<u64> {
    let (day, rest) = (text.get(..10)?, text.get(10..)?);
    let day = Day::parse(day)?;
    let rest = rest.strip_prefix(['T', ' '])?;
    let clock = rest.get(..8)?;
    let digits = |from: usize| clock.get(from..from + 2)?.parse::<u64>().ok();
    let (hour, minute, second) = (digits(0)?, digits(3)?, digits(6)?);
    if clock.as_bytes()[2] != b':' || clock.as_bytes()[5] != b':' || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut rest = &rest[8..];
    let mut millis = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
        millis = format!("{:0<3}", &fraction[..length]).get(..3)?.parse().ok()?;
        rest = &fraction[length..];
    }
    let millis = day.start_ms() + 1_000 * (60 * (60 * hour + minute) + second) + millis;
    let sign = match rest.as_bytes() {
        [] | b"Z" | b"z" => return Some(millis),
        [b'+', ..] => -1,
        [b'-', ..] => 1,
        _ => return None,
    };
    let offset = rest[1..].replace(':', "");
    let (hours, minutes) =
        (offset.get(..2)?.parse::<i64>().ok()?, offset.get(2..).filter(|it| !it.is_empty()));
    let minutes = minutes.map_or(Some(0), |minutes| minutes.parse::<i64>().ok())?;
    millis.checked_add_signed(sign * 60_000 * (60 * hours + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(row: Value) -> Result<Past, String> {
        read(row.as_object().expect("an object").clone())
    }

    #[test]
    fn times_of_several_programs_are_read() {
        for (text, expected) in [
            ("1970-01-02T00:00:00Z", Some(86_400_000)),
            ("1970-01-02 00:00:01.5", Some(86_401_500)),
            ("1970-01-02 00:00:01.123456+00", Some(86_401_123)),
            ("1970-01-02T01:30:00.000+01:30", Some(86_400_000)),
            ("1970-01-01T22:00:00-0200", Some(86_400_000)),
            ("1970-01-02", None),
            ("1970-13-02T00:00:00Z", None),
            ("1970-01-02T25:00:00Z", None),
            ("1970-01-02T00:00:00 CET", None),
            ("1970-01-02T00-00-00", None),
            ("yesterday", None),
            ("ääääääääää", None),
        ] {
            assert_eq!(date(text), expected, "{text}");
        }
    }

    #[test]
    fn columns_become_members() {
        let row = json!({"kind": "purchase", "event": "Bought", "index": "shop", "user": "7", "time": "1700000000000",
            "object": "a", "price": "9.90000000000000000", "quantity": "2", "currency": "EUR", "position": 3,
            "query_id": "01234567-89AB-cdef-0123-456789abcdef", "log_index": 5});
        let expected = json!({"eventType": "conversion", "eventSubtype": "purchase", "eventName": "Bought",
            "index": "shop", "userToken": "7", "timestamp": 1_700_000_000_000_u64, "objectIDs": ["a"],
            "objectData": [{"price": "9.9", "quantity": 2}], "currency": "EUR",
            "queryID": "0123456789abcdef0123456789abcdef"});
        assert_eq!(of(row), Ok(Past::Event(expected)));
        let click =
            json!({"kind": "click", "event": "C", "index": "i", "user": "u", "time": 5, "filter": "a:10%"});
        let Ok(Past::Event(event)) = of(click) else { panic!("an event") };
        assert_eq!(event["filters"], json!(["a:10%25"]));
        let search = json!({"kind": "search", "index": "i", "user": "u", "time": 5, "query": "q", "hits": "3",
            "shown": r#"["a","b"]"#, "tags": ["t"], "stands": "true"});
        let Ok(Past::Search(search)) = of(search) else { panic!("a search") };
        assert_eq!(search["shown"], json!(["a", "b"]));
        assert_eq!((&search["hits"], &search["stands"]), (&json!(3), &json!(true)));
        for hits in [json!(3.0), json!("3.0"), json!("3")] {
            let search = json!({"kind": "search", "time": 4, "query": "q", "hits": hits});
            let Ok(Past::Search(search)) = of(search) else { panic!("{hits}") };
            assert_eq!(search["hits"], json!(3));
        }
        let own = json!({"eventType": "view", "anything": 1});
        assert_eq!(of(own.clone()), Ok(Past::Event(own)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (row, expected) in [
            (json!({"a": 1}), "neither a member eventType"),
            (json!({"kind": "look"}), "kind is look: expected"),
            (json!({"kind": "view", "event": []}), "event is no text"),
            (json!({"kind": "view"}), "there is no time"),
            (json!({"kind": "view", "time": "soon"}), "time is neither"),
            (
                json!({"kind": "click", "time": 1, "object": "a", "position": "x"}),
                "position is no whole number",
            ),
            (json!({"kind": "click", "time": 1, "event": "e", "object": "a"}), "there is no position"),
            (json!({"kind": "search", "query": "", "hits": 2.5, "time": 1}), "hits is no whole number"),
            (json!({"kind": "search", "query": "", "hits": "-1.0", "time": 1}), "hits is no whole number"),
            (json!({"kind": "search", "query": "", "hits": 1e17, "time": 1}), "hits is no whole number"),
            (
                json!({"kind": "search", "query": "", "hits": 1, "time": 1, "tags": "[a, b]"}),
                "tags is no list of texts",
            ),
            (
                json!({"kind": "search", "query": "", "hits": "1", "time": 1, "stands": 1}),
                "stands is neither",
            ),
            (json!({"kind": "search", "querry": "a", "hits": 1, "time": 1}), "there is no column querry"),
            (json!({"kind": "search", "hits": 1, "time": 1}), "there is no query"),
            (json!({"kind": "search", "query": "a", "time": 1}), "there are no hits"),
            (json!({"kind": "search", "query": "a", "hits": "", "time": 1}), "there are no hits"),
        ] {
            let wrong = of(row).expect_err("wrong");
            assert!(wrong.contains(expected), "{wrong} for {expected}");
        }
    }
}
