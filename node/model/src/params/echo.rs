//! Which `params` text does an answer echo (C§2)?

use super::parse::{is_call_member, is_transport_name};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// What `encodeURIComponent` leaves as it is, beside letters and digits.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'(')
    .remove(b')');

/// The text for a body: its own `params`, then its other members URL-encoded.
pub fn echo(body: &Map<String, Value>) -> String {
    let mut text = body.get("params").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (name, value) in body {
        let shown = match value {
            Value::Null => continue,
            Value::String(text) => Cow::Borrowed(text.as_str()),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Cow::Owned(value.to_string())
            }
        };
        if !is_call_member(name) {
            push(&mut text, name, &shown);
        }
    }
    text
}

/// The text for the decoded query string of a GET, without credentials.
pub fn echo_pairs<N: AsRef<str>, V: AsRef<str>>(pairs: impl IntoIterator<Item = (N, V)>) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        if !is_transport_name(name.as_ref()) {
            push(&mut text, name.as_ref(), value.as_ref());
        }
    }
    text
}

fn push(text: &mut String, name: &str, value: &str) {
    if !text.is_empty() {
        text.push('&');
    }
    push_encoded(text, name);
    text.push('=');
    push_encoded(text, value);
}

/// Appends a text with `+` for spaces.
fn push_encoded(out: &mut String, text: &str) {
    for (number, part) in text.split(' ').enumerate() {
        if number > 0 {
            out.push('+');
        }
        out.extend(utf8_percent_encode(part, ENCODED));
    }
}
