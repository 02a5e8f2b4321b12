//! Which `params` text does an answer echo (C§2)?

use super::parse::{is_call_member, is_transport_name};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

/// What `encodeURIComponent` leaves as it is, beside letters and digits. The space becomes `+` afterwards.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'(')
    .remove(b')')
    .remove(b' ');

/// The text for a body: its own `params`, then its other members URL-encoded.
pub fn echo(body: &Map<String, Value>) -> String {
    let mut text = body.get("params").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (name, value) in body {
        let shown = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
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
    text.push_str(&encoded(name));
    text.push('=');
    text.push_str(&encoded(value));
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string().replace(' ', "+")
}
