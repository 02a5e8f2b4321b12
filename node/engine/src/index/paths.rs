//! Which values a dotted attribute path reaches in a record.

use serde_json::{Map, Number, Value};

/// Calls `each` with every value that `path` reaches: through objects by name, through arrays by every element.
pub fn values_at<'v>(record: &'v Map<String, Value>, path: &str, each: &mut dyn FnMut(&'v Value)) {
    if let Some(value) = record.get(path) {
        each(value);
    } else if let Some((head, rest)) = path.split_once('.')
        && let Some(value) = record.get(head)
    {
        descend(value, rest, each);
    }
}
fn descend<'v>(value: &'v Value, path: &str, each: &mut dyn FnMut(&'v Value)) {
    match value {
        Value::Object(members) => values_at(members, path, each),
        Value::Array(elements) => elements.iter().for_each(|element| descend(element, path, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
/// The one value at `path`, when no array is on the way.
pub fn value_at<'v>(record: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(value) = record.get(path) {
        return Some(value);
    }
    let (head, rest) = path.split_once('.')?;
    match record.get(head)? {
        Value::Object(members) => value_at(members, rest),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}
/// Calls `each` with every value below `value` that is neither array nor object.
pub fn leaves<'v>(value: &'v Value, each: &mut dyn FnMut(&'v Value)) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| leaves(element, each)),
        Value::Object(members) => members.values().for_each(|member| leaves(member, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => each(value),
    }
}
/// A number as text: shortest decimal, no exponent. Zero has no sign.
pub fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(value) if !number.is_i64() && !number.is_u64() => format!("{}", value + 0.0),
        Some(_) | None => number.to_string(),
    }
}
