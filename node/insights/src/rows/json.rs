//! How does a row look as a line of JSON? As in the columns of files, and without what it does not have.

use super::{EventRow, SearchRow};
use quorate_model::event::TextList;
use serde::Serialize;
use time::OffsetDateTime;

/// Members have the names of columns. What JavaScript would round is a text: hashes, amounts, ids.
#[derive(Serialize)]
struct Line<'r> {
    index: &'r str,
    user_hash: String,
    user: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    authenticated_user: Option<&'r str>,
    time: String,
    is_timed: bool,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    query_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    price: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quantity: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discount: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filter: Option<&'r str>,
    #[serde(flatten)]
    search: Option<SearchMembers<'r>>,
    fingerprint: String,
    log_index: u64,
}

#[derive(Serialize)]
struct SearchMembers<'r> {
    query: &'r str,
    hits: u64,
    shown: &'r TextList,
    tags: &'r TextList,
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<&'r str>,
    query_ids: Vec<String>,
    filters: &'r TextList,
    stands: bool,
}

impl<'r> From<&'r SearchRow> for SearchMembers<'r> {
    fn from(search: &'r SearchRow) -> Self {
        SearchMembers {
            query: &search.query,
            hits: search.hits,
            shown: &search.shown,
            tags: &search.tags,
            country: search.country.as_deref(),
            query_ids: search.query_ids.iter().map(ToString::to_string).collect(),
            filters: &search.filters,
            stands: search.stands,
        }
    }
}

/// A moment in UTC, with milliseconds.
fn rfc3339(unix_ms: u64) -> String {
    let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(unix_ms) * 1_000_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (date, clock) = (time.date(), (time.hour(), time.minute(), time.second(), time.millisecond()));
    let (hour, minute, second, ms) = clock;
    format!(
        "{:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z",
        date.year(),
        u8::from(date.month()),
        date.day()
    )
}

/// Writes a row as JSON with a line break behind it.
pub fn write_line(row: &EventRow, out: &mut Vec<u8>) {
    let line = Line {
        index: &row.index,
        user_hash: row.user_hash.to_string(),
        user: &row.user,
        authenticated_user: row.authenticated.as_deref(),
        time: rfc3339(row.time_ms),
        is_timed: row.is_timed,
        kind: row.kind.name(),
        event: row.event.as_deref(),
        object: row.object.as_deref(),
        position: row.position,
        query_id: row.query_id.map(|id| id.to_string()),
        value: row.value.map(|money| money.to_string()),
        price: row.price.map(|money| money.to_string()),
        quantity: row.quantity,
        discount: row.discount.map(|money| money.to_string()),
        currency: row.currency.as_deref(),
        filter: row.filter.as_deref(),
        search: row.search.as_deref().map(SearchMembers::from),
        fingerprint: row.fingerprint.to_string(),
        log_index: row.log_index,
    };
    serde_json::to_writer(&mut *out, &line).expect("texts and numbers are JSON, and memory takes them");
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::columns::SCHEMA;
    use crate::rows::tests::any_row;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    proptest! {
        #[test]
        fn a_row_is_one_line_with_the_names_of_columns(row in any_row()) {
            let mut line = vec![];
            write_line(&row, &mut line);
            prop_assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
            let members: Map<String, Value> = serde_json::from_slice(&line).unwrap();
            let names = SCHEMA.lines().filter_map(|column| column.trim().strip_suffix(';'));
            let names: Vec<&str> = names.filter_map(|name| name.split(" (").next()?.rsplit(' ').next()).collect();
            for name in members.keys() {
                prop_assert!(names.contains(&name.as_str()), "{} is no column", name);
            }
            let whole = |name: &str| names.contains(&name);
            prop_assert!(whole("index") && whole("stands") && names.len() == 27, "{:?}", names);
            let lacks = [
                row.authenticated.is_none(), row.event.is_none(), row.object.is_none(), row.position.is_none(),
                row.query_id.is_none(), row.value.is_none(), row.price.is_none(), row.quantity.is_none(),
                row.discount.is_none(), row.currency.is_none(), row.filter.is_none(),
                row.search.as_ref().is_none_or(|search| search.country.is_none()),
            ];
            let of_searches = if row.search.is_some() { 0 } else { 7 };
            prop_assert_eq!(members.len(), names.len() - lacks.iter().filter(|it| **it).count() - of_searches);
            prop_assert_eq!(members["log_index"].as_u64(), Some(row.log_index));
            prop_assert_eq!(members["fingerprint"].as_str().unwrap(), row.fingerprint.to_string());
            prop_assert_eq!(members["time"].as_str().unwrap(), format!("1970-01-01T00:00:00.{:03}Z", row.time_ms));
            let value = row.value.map(|value| value.to_string());
            prop_assert_eq!(members.get("value").and_then(Value::as_str), value.as_deref());
        }
    }
}
