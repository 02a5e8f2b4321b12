//! How large may the parameters of a search be that are any JSON (C§20)?
//!
//! They are passed on, echoed and kept for the answer as trees, which take a hundred times as much as their text. Settings and rules, which were
//! taken when there was no such bound, have those of their own and are read without it.

use super::parse::is_call_member;
use crate::error::{Error, Result};
use crate::limits::FREE_BYTES_MAX;
use crate::settings::table::{ROWS, SettingRow, lookup};
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Looks at the members of a search, also those of its `params` text.
///
/// Errors: `Invalid`, naming the parameter with which they are more than [`FREE_BYTES_MAX`]. Cost: a look-up for each that is no
/// number and no flag; nothing is made of any.
pub fn check_free(members: &Map<String, Value>) -> Result<()> {
    let mut free = Free::default();
    for (name, value) in members {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => free.text(name, text)?,
            Value::Array(_) | Value::Object(_) => free.tree(name, value)?,
        }
    }
    match members.get("params") {
        Some(Value::String(text)) => free.encoded(text),
        Some(_) | None => Ok(()),
    }
}
/// The same of the decoded pairs of a query string.
pub fn check_free_pairs<'p>(pairs: impl Iterator<Item = (&'p str, &'p str)>) -> Result<()> {
    let mut free = Free::default();
    for (name, value) in pairs {
        match name {
            "params" => free.encoded(value)?,
            name => free.text(name, value)?,
        }
    }
    Ok(())
}

/// Bytes of the free values so far.
#[derive(Default)]
struct Free(usize);
impl Free {
    fn tree(&mut self, name: &str, value: &Value) -> Result<()> {
        let Some(row) = free_row(name) else { return Ok(()) };
        // whoever is refused is not written to the end
        let left = FREE_BYTES_MAX - self.0;
        let mut bounded = Bounded { left };
        serde_json::to_writer(&mut bounded, value).map_err(|_| too_large(row))?;
        self.take(row, left - bounded.left)
    }
    fn text(&mut self, name: &str, text: &str) -> Result<()> {
        match free_row(name) {
            Some(row) => self.take(row, minified_bytes(text.as_bytes())),
            None => Ok(()),
        }
    }
    fn encoded(&mut self, text: &str) -> Result<()> {
        // what is encoded is no shorter than what it stands for
        if self.0 + text.len() <= FREE_BYTES_MAX {
            return Ok(());
        }
        let mut pairs = form_urlencoded::parse(text.as_bytes());
        pairs.try_for_each(
            |(name, value)| if is_call_member(&name) { Ok(()) } else { self.text(&name, &value) },
        )
    }
    fn take(&mut self, row: &SettingRow, bytes: usize) -> Result<()> {
        self.0 += bytes;
        if self.0 > FREE_BYTES_MAX { Err(too_large(row)) } else { Ok(()) }
    }
}

fn free_row(name: &str) -> Option<&'static SettingRow> {
    lookup(name).filter(|row| row.is_free())
}
fn too_large(row: &SettingRow) -> Error {
    let mut names: Vec<&str> = ROWS.iter().filter(|row| row.is_free()).map(|row| row.name).collect();
    names.sort_unstable();
    let names = names.join(", ");
    Error::parameter(row.name, &format!("at most {FREE_BYTES_MAX} bytes, minified, of {names} together"))
}

/// Takes as many bytes as are left, and refuses the next.
struct Bounded {
    left: usize,
}
impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes of JSON without the blanks outside of its texts.
fn minified_bytes(json: &[u8]) -> usize {
    let (mut bytes, mut in_text, mut is_escaped) = (0, false, false);
    for &byte in json {
        bytes += usize::from(in_text || !byte.is_ascii_whitespace());
        in_text ^= byte == b'"' && !is_escaped;
        is_escaped = in_text && byte == b'\\' && !is_escaped;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn content(bytes: usize) -> Value {
        json!({"a": "x".repeat(bytes - r#"{"a":""}"#.len())})
    }
    /// The parameter that is refused.
    fn refused(body: Value) -> Option<String> {
        let error = check_free(body.as_object().unwrap()).err()?;
        let (_, rest) = error.message.split_once('"').unwrap();
        Some(rest.split_once('"').unwrap().0.to_owned())
    }

    #[test]
    fn they_are_bounded_together() {
        let max = FREE_BYTES_MAX;
        let half = || content(max / 2);
        let spaced = |value: &Value| serde_json::to_string_pretty(value).unwrap() + &" ".repeat(max);
        let encoded = |name: &str, value: &Value| {
            let mut pairs = form_urlencoded::Serializer::new(String::new());
            pairs.append_pair(name, &value.to_string()).finish()
        };
        for name in ["extensions", "reRankingApplyFilter", "renderingContent", "semanticSearch"] {
            assert_eq!(refused(json!({ name: content(max) })), None);
            assert_eq!(refused(json!({ name: content(max + 1) })).as_deref(), Some(name));
            assert_eq!(refused(json!({ name: [content(max - 2)] })), None);
            assert_eq!(refused(json!({ name: [content(max - 1)] })).as_deref(), Some(name));
            assert_eq!(refused(json!({ name: spaced(&content(max)) })), None, "as text");
            assert_eq!(refused(json!({ name: spaced(&content(max + 1)) })).as_deref(), Some(name));
            assert_eq!(refused(json!({"params": encoded(name, &content(max))})), None);
            assert_eq!(refused(json!({"params": encoded(name, &content(max + 1))})).as_deref(), Some(name));
        }
        let both =
            json!({"extensions": half(), "semanticSearch": half(), "page": 7, "query": "q".repeat(500)});
        assert_eq!(refused(both), None);
        let over = json!({"extensions": half(), "renderingContent": {}, "semanticSearch": half()});
        assert_eq!(refused(over).as_deref(), Some("semanticSearch"));
        let embedded = encoded("reRankingApplyFilter", &json!(["a:b"]));
        let over = json!({"extensions": content(max), "params": embedded});
        assert_eq!(refused(over).as_deref(), Some("reRankingApplyFilter"));
        assert_eq!(refused(json!({"userData": content(max + 1)})), None, "what is none of them");
    }

    #[test]
    fn pairs_are_bounded_as_well() {
        let (at, past) = (content(FREE_BYTES_MAX).to_string(), content(FREE_BYTES_MAX + 1).to_string());
        let check = |pairs: &[(&str, &str)]| check_free_pairs(pairs.iter().copied()).is_ok();
        assert!(check(&[("query", &past), ("extensions", &at)]));
        assert!(
            !check(&[("extensions", &past)]) && !check(&[("extensions", &at), ("renderingContent", "{}")])
        );
        assert!(!check(&[("params", &format!("extensions={past}"))]));
    }

    #[test]
    fn blanks_outside_of_texts_do_not_count() {
        for text in [r#"{ "a b" : [ 1 , "\" c" ] , "\\" : " " }"#, "[]", " null ", r#""""#] {
            let minified = serde_json::from_str::<Value>(text).unwrap().to_string();
            assert_eq!(minified_bytes(text.as_bytes()), minified.len(), "{text}");
        }
    }
}
