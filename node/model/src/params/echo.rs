//! Which `params` text does an answer echo (C§2)?

use super::parse::{is_call_member, is_transport_name};
use percent_encoding::percent_encode_byte;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// What a member takes as a rule, and how many there are.
const MEMBER_BYTES: usize = 32;
const MEMBERS: usize = 16;

/// The text for a body: its own `params`, then its other members URL-encoded.
pub fn echo(body: &Map<String, Value>) -> String {
    let own = body.get("params").and_then(Value::as_str).unwrap_or_default();
    let mut text = String::with_capacity(own.len() + MEMBER_BYTES * body.len().min(MEMBERS));
    text.push_str(own);
    for (name, value) in body {
        let shown = match value {
            Value::Null => continue,
            Value::String(text) => Cow::Borrowed(text.as_str()),
            Value::Bool(true) => Cow::Borrowed("true"),
            Value::Bool(false) => Cow::Borrowed("false"),
            Value::Number(number) => Cow::Owned(number.to_string()),
            Value::Array(_) | Value::Object(_) => Cow::Owned(value.to_string()),
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

/// Bytes of the text for a body, at most. Nothing is made of it.
pub fn echo_bytes(body: &Map<String, Value>) -> usize {
    let own = body.get("params").and_then(Value::as_str).map_or(0, str::len);
    let shown = |(name, value): (&String, &Value)| match value {
        _ if is_call_member(name) => 0,
        Value::Null => 0,
        Value::String(text) => 2 + 3 * name.len() + encoded_bytes(text.as_bytes()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            let mut counted = Encoded(0);
            // what counts refuses nothing
            let _always = serde_json::to_writer(&mut counted, value);
            2 + 3 * name.len() + counted.0
        }
    };
    own + body.iter().map(shown).sum::<usize>()
}
fn encoded_bytes(text: &[u8]) -> usize {
    text.len() + 2 * text.iter().filter(|&&byte| !stays(byte) && byte != b' ').count()
}
/// Counts what is written, encoded.
struct Encoded(usize);
impl std::io::Write for Encoded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += encoded_bytes(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
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
    out.reserve(text.len());
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate().filter(|(_, byte)| !stays(*byte)) {
        if from < at {
            // what stays is ASCII, so letters begin on both sides
            out.push_str(&text[from..at]);
        }
        out.push_str(if byte == b' ' { "+" } else { percent_encode_byte(byte) });
        from = at + 1;
    }
    out.push_str(&text[from..]);
}

/// Whether `encodeURIComponent` leaves a byte as it is.
fn stays(byte: u8) -> bool {
    STAYS[usize::from(byte)]
}
static STAYS: [bool; 256] = {
    let (mut stays, mut byte) = ([false; 256], 0_u8);
    while byte < 128 {
        stays[byte as usize] = byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'(' | b')');
        byte += 1;
    }
    stays
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_takes_is_known_before() {
        let body = serde_json::json!({"params": "a=b", "query": "two é", "renderingContent": {"a b": ["\u{1}\"", 1.5]}, "page": 2,
            "apiKey": "none of it", "hitsPerPage": null});
        let body = body.as_object().unwrap();
        // a name has letters alone, each of which might have been encoded
        let names = 2 * ("query".len() + "renderingContent".len() + "page".len());
        assert_eq!(echo_bytes(body), echo(body).len() + names);
        assert_eq!(echo_bytes(&Map::new()), 0);
    }

    #[test]
    fn texts_are_encoded_as_in_a_query_string() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("two words", "two+words"),
            (" a  b ", "+a++b+"),
            ("a+b&c=d%", "a%2Bb%26c%3Dd%25"),
            ("-_.!~*()'", "-_.!~*()%27"),
            ("é", "%C3%A9"),
            ("日本x語", "%E6%97%A5%E6%9C%ACx%E8%AA%9E"),
        ] {
            let mut out = String::new();
            push_encoded(&mut out, text);
            assert_eq!(out, expected, "{text}");
        }
    }
}
