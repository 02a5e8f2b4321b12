//! How does a JSON body become members, and what does the caller read when it cannot (C§19)?

use crate::away::{ON_ARBITER_BYTES_MAX, away_if_long};
use actix_web::web::Bytes;
use quorate_model::error::shortened;
use quorate_model::{Error, Result, limits};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;
use std::marker::PhantomData;

/// Reads a body with `read`: a long one on another thread, since this one answers others as well.
pub async fn away<T: Send + 'static>(
    body: &Bytes,
    read: impl FnOnce(&[u8]) -> Result<T> + Send + 'static,
) -> Result<T> {
    away_as_long(body, body.len(), read).await
}
/// The same for a body that takes as long to read as usual ones of so many bytes.
pub async fn away_as_long<T: Send + 'static>(
    body: &Bytes,
    length: usize,
    read: impl FnOnce(&[u8]) -> Result<T> + Send + 'static,
) -> Result<T> {
    let body = body.clone();
    away_if_long(length, move || read(&body)).await
}

/// Reads a JSON object; an empty body is an empty object (C§1.2).
pub fn object(body: &[u8]) -> Result<Map<String, Value>> {
    if body.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    typed(body)
}

/// Reads a body that is an object of a known shape.
///
/// Errors: `Invalid` with the place of the fault; nesting over the limit is refused before anything is built.
pub fn typed<T: DeserializeOwned>(body: &[u8]) -> Result<T> {
    check_object(body)?;
    check_depth(body)?;
    shaped(body)
}

/// Reads JSON of a known shape, in place. Errors: `Invalid` with the member and the place of the fault.
pub fn shaped<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| {
        // Only a wrong body is read twice: the second time with an account of where the reader is.
        let again: Result<T, _> =
            serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_slice(body));
        let path = again.err().filter(|_| error.is_data()).map(|error| error.path().to_string());
        match path.as_deref() {
            // where the name of the member is the last that was read
            Some(path @ ("." | "?")) if error.to_string().starts_with(UNKNOWN_FIELD) => {
                wrong_member(path, &error)
            }
            None | Some("." | "?") => syntax(&error),
            Some(path) => wrong_member(path, &error),
        }
    })
}

/// How a derived reader says that an object has a member that it does not know.
const UNKNOWN_FIELD: &str = "unknown field ";

fn wrong_member(path: &str, error: &serde_json::Error) -> Error {
    let (what, place) = parts(error);
    if what.starts_with(UNKNOWN_FIELD) {
        return Error::invalid(format!("Unknown parameter: {} near {place}", shortened(path)));
    }
    let what = what
        .replace("expected a sequence", "expected an array")
        .replace("expected a map", "expected an object");
    let what = what.replace("type: sequence", "type: array").replace("type: map", "type: object");
    Error::invalid(format!("parse error: {}: {what} near {place}", shortened(path)))
}

/// An object. A list of its members by position, which derived readers take too, is none.
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = Object<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(Members(PhantomData))
    }
}

/// Refuses everything but an object at the first level: derived readers would take a list by position too.
pub fn check_object(body: &[u8]) -> Result<()> {
    let at = body.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(body.len());
    let place = TextPosition::of(body, at);
    match body.get(at) {
        Some(b'{') => Ok(()),
        Some(_) => Err(Error::invalid(format!("parse error: expected a JSON object near {place}"))),
        None => Err(Error::invalid("parse error: the body is empty near line:1 column:1")),
    }
}

/// The answer to a body that is not JSON or has the wrong shape.
pub fn syntax(error: &serde_json::Error) -> Error {
    let (what, place) = parts(error);
    Error::invalid(format!("parse error: {what} near {place}"))
}

fn parts(error: &serde_json::Error) -> (String, TextPosition) {
    let mut text = error.to_string();
    if let Some((what, _)) = text.rsplit_once(" at line ") {
        text.truncate(what.len());
    }
    (without_middle(text), TextPosition { line: error.line(), column: error.column() })
}

/// A message whose middle quotes the caller at length, without it.
fn without_middle(text: String) -> String {
    const END_BYTES: usize = 128;
    let (head, tail) = (shortened(&text), text.ceil_char_boundary(text.len().saturating_sub(END_BYTES)));
    match text.len() > 3 * END_BYTES {
        true => format!("{head}{}", &text[tail..]),
        false => text,
    }
}

/// Refuses nesting deeper than the service accepts. Counts brackets outside of texts; syntax is not its concern.
pub fn check_depth(body: &[u8]) -> Result<()> {
    // as a rule there are not so many brackets at all
    if memchr::memchr2_iter(b'{', b'[', body).nth(limits::JSON_DEPTH_MAX).is_none() {
        return Ok(());
    }
    let mut depth = 0usize;
    let mut in_text = false;
    let mut at = 0;
    while at < body.len() {
        match body[at] {
            b'"' => in_text = !in_text,
            b'\\' if in_text => at += 1,
            b'{' | b'[' if !in_text => {
                depth += 1;
                if depth > limits::JSON_DEPTH_MAX {
                    let limit = limits::JSON_DEPTH_MAX;
                    return Err(Error::invalid(format!(
                        "parse error: nesting is deeper than {limit} near {}",
                        TextPosition::of(body, at)
                    )));
                }
            }
            b'}' | b']' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// Bytes that a body takes as a tree of values, at most, more or less: what is counted are the characters that begin them, of a short
/// body also those in texts.
///
/// Errors: `Invalid` when that is more than [`TREE_BYTES_MAX`].
pub fn tree_bytes(body: &[u8]) -> Result<usize> {
    let at_most = body.len() + OBJECT_BYTES * memchr::memchr3_iter(b'{', b'[', b',', body).count();
    if at_most <= FEW_BYTES {
        return Ok(at_most);
    }
    let (mut in_text, mut at, mut bytes) = (false, 0, body.len());
    while at < body.len() {
        match body[at] {
            b'"' => in_text = !in_text,
            b'\\' if in_text => at += 1,
            b'{' if !in_text => bytes += OBJECT_BYTES,
            b'[' | b',' if !in_text => bytes += VALUE_BYTES,
            _ => {}
        }
        at += 1;
    }
    match bytes <= TREE_BYTES_MAX {
        true => Ok(bytes),
        false => Err(Error::invalid(format!(
            "parse error: the body has too many values: at most {TREE_BYTES_MAX} bytes, where an object counts as {OBJECT_BYTES} \
             and a value of a list as {VALUE_BYTES}"
        ))),
    }
}
/// Bytes of a tree so small that it does not matter which of these characters stand in texts.
const FEW_BYTES: usize = 12 << 10;
/// Bytes of a tree of values.
const TREE_BYTES_MAX: usize = 48 << 20;
/// Bytes of an object with one member: its node has room for eleven.
const OBJECT_BYTES: usize = 700;
/// Bytes of a value in a list, which may have twice the room it needs.
const VALUE_BYTES: usize = 2 * size_of::<Value>();

/// Bytes that a value takes, more or less.
pub fn value_bytes(value: &Value) -> usize {
    usize::MAX - less(usize::MAX, value).unwrap_or(0)
}
/// Bytes that members take, more or less.
pub fn members_bytes(members: &Map<String, Value>) -> usize {
    usize::MAX - less_members(usize::MAX, members).unwrap_or(0)
}
/// Whether members take more than [`ON_ARBITER_BYTES_MAX`]. Cost: no more of them is looked at.
pub fn is_long(members: &Map<String, Value>) -> bool {
    less_members(ON_ARBITER_BYTES_MAX, members).is_none()
}
/// What is left of so many bytes when a value has taken its own; `None` when it takes more.
fn less(left: usize, value: &Value) -> Option<usize> {
    let left = left.checked_sub(size_of::<Value>())?;
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(left),
        Value::String(text) => left.checked_sub(text.len()),
        Value::Array(list) => list.iter().try_fold(left, less),
        Value::Object(members) => less_members(left, members),
    }
}
fn less_members(left: usize, members: &Map<String, Value>) -> Option<usize> {
    // nodes are half full at least
    let left = left.checked_sub(OBJECT_BYTES * members.len().div_ceil(MEMBERS_OF_NODE_MIN))?;
    members.iter().try_fold(left, |left, (name, value)| less(left.checked_sub(name.len())?, value))
}
/// Members of a node of an object at least, unless it is the only one.
const MEMBERS_OF_NODE_MIN: usize = 5;

/// Bytes that the texts among the members of a search take at most, more or less, as the lists and trees that parameters read
/// from them; 0 for little. Errors: `Invalid`, naming the first that becomes more than [`TEXT_TREE_BYTES_MAX`].
pub fn texts_bytes(members: &Map<String, Value>) -> Result<usize> {
    let mut all = 0;
    for (name, value) in members {
        let Value::String(text) = value else { continue };
        let bytes = text_tree_bytes(text.as_bytes());
        if bytes > TEXT_TREE_BYTES_MAX {
            return Err(Error::parameter(name, "text that holds fewer values"));
        }
        all += bytes;
    }
    Ok(if all < TEXTS_BYTES_MIN { 0 } else { all })
}
/// As [`tree_bytes`], of a text that may hold a list, JSON, or either URL-encoded: whatever could begin a value counts.
fn text_tree_bytes(text: &[u8]) -> usize {
    let mut bytes = text.len();
    for (at, &byte) in text.iter().enumerate() {
        let encoded = if byte == b'%' { text.get(at + 1..at + 3) } else { None };
        match (byte, encoded) {
            (b'{', _) | (_, Some(b"7b" | b"7B")) => bytes += OBJECT_BYTES,
            (b'[' | b',', _) | (_, Some(b"5b" | b"5B" | b"2c" | b"2C")) => bytes += VALUE_BYTES,
            _ => {}
        }
    }
    bytes
}
/// Bytes of what a text of a search becomes: polygons of [`limits::POLYGONS_POINTS_MAX`] points are some 7 MiB.
const TEXT_TREE_BYTES_MAX: usize = 8 << 20;
/// Bytes below which the texts of a search are not counted.
const TEXTS_BYTES_MIN: usize = 4 << 10;

/// A place in a body, as error texts name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    line: usize,
    column: usize,
}
impl TextPosition {
    /// The place of the byte at `at`, both numbers from 1.
    pub fn of(body: &[u8], at: usize) -> Self {
        let before = &body[..at.min(body.len())];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        TextPosition { line, column: before.len() - line_start + 1 }
    }
}
impl std::fmt::Display for TextPosition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line:{} column:{}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn empty_bodies_are_empty_objects() {
        for body in ["", " \n", "{}"] {
            assert_eq!(object(body.as_bytes()).unwrap(), Map::new());
        }
    }

    #[test]
    fn faults_name_their_place() {
        for (body, expected) in [
            ("{\"a\":}", "parse error: expected value near line:1 column:6"),
            ("[]", "parse error: expected a JSON object near line:1 column:1"),
            (" 7", "parse error: expected a JSON object near line:1 column:2"),
            ("{\"a\":1", "parse error: EOF while parsing an object near line:1 column:6"),
            ("{\"a\":1e999}", "parse error: number out of range near line:1 column:10"),
            ("{\"a\":NaN}", "parse error: expected value near line:1 column:6"),
        ] {
            assert_eq!(object(body.as_bytes()).unwrap_err().message, expected, "{body}");
        }
        assert!(object(b"{\"a\":\"\xff\"}").is_err());
    }

    #[test]
    fn wrong_shapes_name_their_member() {
        #[derive(Debug, serde::Deserialize)]
        struct Item {
            #[serde(rename = "list")]
            _list: Vec<u8>,
        }
        #[derive(Debug, serde::Deserialize)]
        struct Body {
            #[serde(rename = "items")]
            _items: Vec<Item>,
        }
        for (body, expected) in [
            (
                r#"{"items":[{"list":[]},{"list":"x"}]}"#,
                "parse error: items[1].list: invalid type: string \"x\", expected an array near line:1 column:33",
            ),
            (
                r#"{"items":[{"list":[300]}]}"#,
                "parse error: items[0].list[0]: invalid value: integer `300`, expected u8 near line:1 column:22",
            ),
            (r#"{"items":[{"list":[}"#, "parse error: expected value near line:1 column:20"),
            ("{}", "parse error: missing field `items` near line:1 column:2"),
        ] {
            assert_eq!(typed::<Body>(body.as_bytes()).unwrap_err().message, expected, "{body}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_before_it_is_built() {
        let deep = |n: usize| format!("{{\"a\":{}{}}}", "[".repeat(n), "]".repeat(n));
        assert!(object(deep(limits::JSON_DEPTH_MAX - 1).as_bytes()).is_ok());
        for n in [limits::JSON_DEPTH_MAX, 1_000_000] {
            let error = object(deep(n).as_bytes()).unwrap_err();
            assert!(
                error.message.starts_with("parse error: nesting is deeper than 64 near line:1"),
                "{error}"
            );
        }
        assert!(check_depth(format!("\"{}\"", "[\\\"{".repeat(100)).as_bytes()).is_ok());
    }

    #[test]
    fn places_count_from_one() {
        assert_eq!(TextPosition::of(b"ab\ncd", 0).to_string(), "line:1 column:1");
        assert_eq!(TextPosition::of(b"ab\ncd", 4).to_string(), "line:2 column:2");
        assert_eq!(TextPosition::of(b"ab", 99).to_string(), "line:1 column:3");
    }

    #[test]
    fn what_values_take_is_counted() {
        let tree = |objects: usize| {
            Map::from_iter([("x".to_owned(), vec![serde_json::json!({"": 0}); objects].into())])
        };
        let bytes = members_bytes(&tree(1_000));
        assert!((600_000..800_000).contains(&bytes), "{bytes}");
        assert!(is_long(&tree(1_000)) && !is_long(&tree(100)) && !is_long(&Map::new()));
        assert_eq!(value_bytes(&Value::from("abc")), size_of::<Value>() + 3);
        let text = |bytes: usize| Map::from_iter([("x".to_owned(), "x".repeat(bytes).into())]);
        assert!(is_long(&text(ON_ARBITER_BYTES_MAX)) && !is_long(&text(ON_ARBITER_BYTES_MAX - 1_000)));
    }

    #[test]
    fn what_texts_become_is_counted() {
        let of = |text: &str| texts_bytes(&Map::from_iter([("name".to_owned(), Value::from(text))]));
        assert_eq!(of("an ordinary query, with commas"), Ok(0));
        let words = of(&"a,".repeat(1_000)).unwrap();
        assert!(words >= 1_000 * (size_of::<String>() + 16), "{words}");
        assert_eq!(of(&"a%2C".repeat(1_000)), Ok(words + 2_000), "encoded or not");
        let refused = of(&r#"{"":0},"#.repeat(20_000)).unwrap_err();
        assert_eq!(
            refused.message,
            "Invalid value for \"name\" parameter, expected text that holds fewer values"
        );
        let polygons = "12.345678,123.456789,".repeat(limits::POLYGONS_POINTS_MAX);
        assert!(of(&polygons).is_ok(), "what is legal fits");
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = object(&body);
        }
        #[test]
        fn any_nearly_json_is_answered(body in "[\\[\\]{}\",:\\\\a1 en.-]{0,200}") {
            let _ = object(body.as_bytes());
        }
    }
}
