//! How is a body with events and searches of the past read, which an operator brings from elsewhere?

use super::body::parse_within;
use super::search::{FILTER_BYTES_MAX, FILTERS_MAX, IDS_MAX, SHOWN_MAX, TAGS_MAX};
use super::{CountedSearch, Event, QueryId, Refused, TextList};
use crate::error::shortened;
use crate::ids::IndexName;
use crate::limits;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The members that a search has.
const MEMBERS: [&str; 11] = [
    "index",
    "userToken",
    "timestamp",
    "query",
    "hits",
    "shown",
    "tags",
    "filters",
    "country",
    "queryIDs",
    "stands",
];
/// What happened in the past.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Events, each with its time.
    pub events: Vec<Event>,
    /// Searches that count.
    pub searches: Vec<CountedSearch>,
}

#[derive(Deserialize)]
struct GivenHistory<'b> {
    #[serde(borrow, default)]
    events: Option<&'b RawValue>,
    #[serde(borrow, default)]
    searches: Option<&'b RawValue>,
}

/// A search that is read, member by member, so that what is wrong is named.
struct GivenSearch<'b> {
    /// Its place in the list.
    at: usize,
    members: BTreeMap<Cow<'b, str>, &'b RawValue>,
}

impl<'b> GivenSearch<'b> {
    fn new(at: usize, given: &'b RawValue) -> Result<Self, Refused> {
        let members = serde_json::from_str(given.get());
        let members: BTreeMap<Cow<'b, str>, _> =
            members.map_err(|_| not_as_expected(&format!("searches[{at}]"), "object"))?;
        match members.keys().find(|name| !MEMBERS.contains(&name.as_ref())) {
            Some(name) => invalid(format!("Unknown parameter: searches[{at}].{}", shortened(name))),
            None => Ok(GivenSearch { at, members }),
        }
    }
    /// A member, or what it is when it is not given or null.
    fn or_default<T: Deserialize<'b> + Default>(&self, name: &str, expected: &str) -> Result<T, Refused> {
        let Some(value) = self.members.get(name) else { return Ok(T::default()) };
        let read = serde_json::from_str::<Option<T>>(value.get());
        let wrong = |_| not_as_expected(&format!("searches[{}].{name}", self.at), expected);
        Ok(read.map_err(wrong)?.unwrap_or_default())
    }
    /// A member that has to be there.
    fn required<T: Deserialize<'b>>(&self, name: &str, expected: &str) -> Result<T, Refused> {
        let found: Option<T> = self.or_default(name, expected)?;
        found.ok_or_else(|| Refused::Invalid(format!("The {name} field of a search is required")))
    }
    fn texts(&self, name: &str) -> Result<TextList, Refused> {
        self.or_default(name, "array of strings")
    }
}

fn not_as_expected(name: &str, expected: &str) -> Refused {
    Refused::Invalid(format!("Invalid value for \"{name}\", expected {expected}"))
}

/// Reads a body that was received at `now_ms` (Unix milliseconds), of which nothing is older than `past_ms`. Events are as
/// [`super::parse`] takes them, but each says when it was.
///
/// Errors: the first thing that is not as it has to be.
pub fn parse_history(body: &[u8], now_ms: u64, past_ms: u64) -> Result<History, Refused> {
    let given: GivenHistory<'_> = serde_json::from_slice(body)
        .map_err(|error| Refused::Unreadable(shortened(&error.to_string()).into_owned()))?;
    let searches = given.searches.map_or(Ok(vec![]), |searches| serde_json::from_str(searches.get()));
    let searches: Vec<&RawValue> = searches.map_err(|_| not_as_expected("searches", "array of searches"))?;
    if searches.len() > limits::EVENTS_MAX {
        return invalid(format!("Cannot process more than {} searches in a batch", limits::EVENTS_MAX));
    }
    let events = match given.events {
        Some(events) if !(events.get() == "null" || is_empty(events) && !searches.is_empty()) => {
            parse_within(format!(r#"{{"events":{}}}"#, events.get()).as_bytes(), now_ms, past_ms)?
        }
        _ if searches.is_empty() => return invalid("No events to process"),
        _ => vec![],
    };
    if events.iter().any(|event| event.time_ms.is_none_or(|time_ms| time_ms > now_ms)) {
        return invalid("The timestamp field is required, and a time of the past");
    }
    let searches = searches.into_iter().enumerate();
    let searches = searches.map(|(at, given)| search(&GivenSearch::new(at, given)?, now_ms, past_ms));
    Ok(History { events, searches: searches.collect::<Result<_, _>>()? })
}

fn is_empty(list: &RawValue) -> bool {
    list.get().strip_prefix('[').is_some_and(|rest| rest.trim_ascii_start().starts_with(']'))
}

fn invalid<T>(message: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Invalid(message.into()))
}

fn search(given: &GivenSearch<'_>, now_ms: u64, past_ms: u64) -> Result<CountedSearch, Refused> {
    let index: String = given.required("index", "string")?;
    let index = IndexName::new(&index).or_else(|error| invalid(error.message))?;
    let user: String = given.required("userToken", "string")?;
    if !(1..=limits::USER_TOKEN_BYTES_MAX).contains(&user.len()) {
        return invalid(format!(
            "UserToken of a search must have 1 to {} bytes",
            limits::USER_TOKEN_BYTES_MAX
        ));
    }
    let time_ms: u64 = given.required("timestamp", "integer (Unix milliseconds)")?;
    if time_ms > now_ms {
        return invalid("The timestamp is too far in the future");
    }
    if time_ms.saturating_add(past_ms) < now_ms {
        return invalid("The timestamp is too far in the past");
    }
    let query: String = given.required("query", "string")?;
    if query.len() > limits::QUERY_BYTES_MAX {
        return invalid(format!("Query of a search must have at most {} bytes", limits::QUERY_BYTES_MAX));
    }
    let [shown, tags, filters] = [given.texts("shown")?, given.texts("tags")?, given.texts("filters")?];
    let lists = [
        ("Shown", &shown, SHOWN_MAX, limits::OBJECT_ID_BYTES_MAX),
        ("Tags", &tags, TAGS_MAX, limits::TAG_BYTES_MAX),
        ("Filters", &filters, FILTERS_MAX, FILTER_BYTES_MAX),
    ];
    for (name, list, most, bytes) in lists {
        if list.len() > most || list.iter().any(|text| text.len() > bytes) {
            return invalid(format!(
                "{name} of a search must be at most {most} texts of at most {bytes} bytes"
            ));
        }
    }
    let is_country = |code: &String| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let country: Option<String> = given.or_default("country", "string")?;
    if country.as_ref().is_some_and(|code| !is_country(code)) {
        return invalid("Country of a search must be a code of two letters such as DE");
    }
    let ids: Option<Vec<QueryId>> = given.texts("queryIDs")?.iter().map(QueryId::parse).collect();
    let Some(query_ids) = ids.filter(|ids| ids.len() <= IDS_MAX) else {
        return invalid(format!(
            "QueryIDs of a search must be at most {IDS_MAX} texts of 32 hexadecimal digits"
        ));
    };
    Ok(CountedSearch {
        index,
        user,
        time_ms,
        query,
        hits: given.or_default("hits", "integer of at least 0")?,
        shown,
        tags,
        filters,
        country,
        query_ids,
        stands: given.or_default("stands", "boolean")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const DAY_MS: u64 = 24 * 3_600_000;
    const NOW_MS: u64 = 20_000 * DAY_MS;

    fn read(body: &Value) -> Result<History, Refused> {
        parse_history(body.to_string().as_bytes(), NOW_MS, 90 * DAY_MS)
    }
    fn event(days_ago: u64) -> Value {
        json!({"eventName": "Saw", "eventType": "view", "index": "i", "userToken": "u", "objectIDs": ["o"],
            "timestamp": NOW_MS - days_ago * DAY_MS})
    }
    fn search(change: Value) -> Value {
        let mut search =
            json!({"index": "i", "userToken": "u", "timestamp": NOW_MS - 80 * DAY_MS, "query": "q"});
        let members = change.as_object().expect("an object").clone();
        search.as_object_mut().expect("an object").extend(members);
        search
    }

    #[test]
    fn what_is_older_than_clients_may_say_is_taken() {
        let found = read(&json!({"events": [event(80)], "searches": [search(json!({"stands": true}))]}))
            .expect("taken");
        assert_eq!(found.events[0].time_ms, Some(NOW_MS - 80 * DAY_MS));
        assert!(found.searches[0].stands);
        for body in [json!({"events": [], "searches": [search(json!({}))]}), json!({"events": [event(1)]})] {
            assert!(read(&body).is_ok(), "{body}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let mut untimed = event(1);
        untimed.as_object_mut().expect("an object").remove("timestamp");
        let of_search = |change| json!({"searches": [search(change)]});
        for (body, expected) in [
            (json!({"events": []}), "No events to process"),
            (json!({}), "No events to process"),
            (json!({"events": [untimed]}), "The timestamp field is required"),
            (json!({"events": [event(91)]}), "The timestamp is too far in the past"),
            (of_search(json!({"timestamp": 5})), "The timestamp is too far in the past"),
            (of_search(json!({"timestamp": NOW_MS + 1})), "too far in the future"),
            (of_search(json!({"query": 5})), "Invalid value for \"searches[0].query\", expected string"),
            (of_search(json!({"query": "q".repeat(513)})), "at most 512 bytes"),
            (of_search(json!({"query": null})), "The query field of a search is required"),
            (of_search(json!({"shown": [5]})), "\"searches[0].shown\", expected array of strings"),
            (json!({"events": [[]], "searches": [search(json!({}))]}), "Invalid payload"),
            (json!({"searches": [7]}), "\"searches[0]\", expected object"),
            (json!({"searches": 7}), "\"searches\", expected array of searches"),
            (of_search(json!({"userToken": ""})), "1 to 129 bytes"),
            (of_search(json!({"shown": vec!["a"; 21]})), "Shown of a search must be at most 20 texts"),
            (of_search(json!({"country": "Germany"})), "two letters"),
            (of_search(json!({"queryIDs": ["x"]})), "32 hexadecimal digits"),
            (json!({"searches": vec![search(json!({})); 1_001]}), "more than 1000 searches"),
        ] {
            match read(&body) {
                Err(Refused::Invalid(message)) => {
                    assert!(message.contains(expected), "{message} for {expected}")
                }
                other => panic!("{other:?} for {expected}"),
            }
        }
        assert!(matches!(parse_history(b"[", NOW_MS, DAY_MS), Err(Refused::Unreadable(_))));
    }
}
