//! How does the body of a call become a key (C§13.1), and what is said about one that cannot?

use super::{Acl, ApiKey};
use crate::error::{Error, Result};
use crate::ids::IndexName;
use crate::limits::{
    INDEX_NAME_CHARS_MAX, KEY_BYTES_MAX, KEY_DESCRIPTION_BYTES_MAX, KEY_INTEGER_MAX, KEY_LIST_ENTRIES_MAX,
    KEY_REFERER_BYTES_MAX,
};
use crate::resource::{Members, bytes_of};
use serde_json::{Map, Value};

/// What callers may say of a key.
const MEMBERS: [&str; 8] = [
    "acl",
    "description",
    "indexes",
    "maxHitsPerQuery",
    "maxQueriesPerIPPerHour",
    "queryParameters",
    "referers",
    "validity",
];
/// What stands in a key that was read, and is passed over when it is sent back.
const READ_ONLY: [&str; 2] = ["value", "createdAt"];

impl ApiKey {
    /// A key without a value and a time, as a caller wants it: what is not given has its default. With `index` it is for that
    /// index alone.
    ///
    /// Errors: `Invalid`, naming the member (C§19). A member that is not known is refused: a restriction whose name is
    /// mistyped must not be none.
    pub fn from_members(members: &Map<String, Value>, index: Option<&IndexName>) -> Result<ApiKey> {
        let given = Members::top(members);
        let is_known = |name: &&str| index.is_none() || *name != "indexes";
        let known: Vec<&str> = MEMBERS.into_iter().filter(is_known).chain(READ_ONLY).collect();
        given.only(&known)?;
        let key = ApiKey {
            index: index.cloned(),
            validity: integer(&given, "validity", "seconds, ")?,
            description: text(&given, "description", KEY_DESCRIPTION_BYTES_MAX)?,
            indexes: patterns(&given, "indexes", |pattern| {
                pattern.chars().count() <= INDEX_NAME_CHARS_MAX && !pattern.chars().any(char::is_control)
            })?,
            max_hits_per_query: integer(&given, "maxHitsPerQuery", "")?,
            max_queries_per_ip_per_hour: integer(&given, "maxQueriesPerIPPerHour", "")?,
            query_parameters: text(&given, "queryParameters", KEY_BYTES_MAX)?,
            referers: patterns(&given, "referers", |pattern| pattern.len() <= KEY_REFERER_BYTES_MAX)?,
            ..ApiKey::new("", 0, rights(&given, index)?)
        };
        let bytes = serde_json::to_value(&key).map_or(0, |key| bytes_of(&key));
        match bytes <= KEY_BYTES_MAX {
            true => Ok(key),
            false => Err(Error::invalid(format!(
                "The key is too big: it has {bytes} bytes as JSON, at most {KEY_BYTES_MAX} are allowed; shorten indexes, \
                 referers, queryParameters or description"
            ))),
        }
    }
}

fn rights(given: &Members<'_>, index: Option<&IndexName>) -> Result<Vec<Acl>> {
    let mut rights = Vec::new();
    for (at, value) in given.list("acl", KEY_LIST_ENTRIES_MAX)?.iter().enumerate() {
        let path = format!("acl[{at}]");
        let right = match value.as_str() {
            Some(name) => name.parse::<Acl>()?,
            None => return Err(Error::parameter(&path, "string, the name of a right")),
        };
        if index.is_some() && right == Acl::Recommendation {
            return Err(Error::parameter(&path, "a right of keys for one index: recommendation is not"));
        }
        if !rights.contains(&right) {
            rights.push(right);
        }
    }
    Ok(rights)
}

fn integer(given: &Members<'_>, name: &str, what: &str) -> Result<u64> {
    match given.value(name) {
        None => Ok(0),
        Some(value) => value.as_u64().filter(|&number| number <= KEY_INTEGER_MAX).ok_or_else(|| {
            Error::parameter(name, &format!("integer ({what}0 for no limit) between 0 and {KEY_INTEGER_MAX}"))
        }),
    }
}

fn text(given: &Members<'_>, name: &str, bytes_max: usize) -> Result<String> {
    match given.value(name) {
        None => Ok(String::new()),
        Some(Value::String(text)) if text.len() <= bytes_max => Ok(text.clone()),
        Some(Value::String(_)) => {
            Err(Error::parameter(name, &format!("string of at most {bytes_max} bytes")))
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            Err(Error::parameter(name, "string"))
        }
    }
}

/// Names with `*` in front, behind or both. A star elsewhere would match nothing, and an empty name either.
fn patterns(given: &Members<'_>, name: &str, is_short: impl Fn(&str) -> bool) -> Result<Vec<String>> {
    let mut patterns = Vec::new();
    for (at, value) in given.list(name, KEY_LIST_ENTRIES_MAX)?.iter().enumerate() {
        let refused = |expected: &str| Error::parameter(&format!("{name}[{at}]"), expected);
        let Some(pattern) = value.as_str() else { return Err(refused("string")) };
        if pattern.is_empty() {
            return Err(refused("non-empty string"));
        }
        if !is_short(pattern) {
            return Err(refused(match name {
                "indexes" => "name or pattern of at most 256 characters, without control characters",
                _ => "pattern of at most 512 bytes",
            }));
        }
        let inner = pattern.strip_prefix('*').unwrap_or(pattern);
        let inner = inner.strip_suffix('*').unwrap_or(inner);
        if inner.contains('*') {
            return Err(refused("name with * in front, behind or both, and nowhere else"));
        }
        patterns.push(pattern.to_owned());
    }
    Ok(patterns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value, index: Option<&str>) -> Result<ApiKey> {
        let Value::Object(members) = body else { panic!("{body}") };
        let index = index.map(|name| IndexName::new(name).unwrap());
        ApiKey::from_members(&members, index.as_ref())
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        assert_eq!(read(json!({}), None).unwrap(), ApiKey::new("", 0, vec![]));
        let nulls = MEMBERS.iter().map(|name| ((*name).to_owned(), Value::Null)).collect();
        assert_eq!(read(Value::Object(nulls), None).unwrap(), ApiKey::new("", 0, vec![]));
        let whole = json!({
            "acl": ["search", "browse", "search"], "description": "d", "indexes": ["a", "b*", "*c", "*d*", "*"],
            "maxHitsPerQuery": 1, "maxQueriesPerIPPerHour": 2, "queryParameters": "filters=a%3Ab",
            "referers": ["https://x/*"], "validity": 3, "value": "ignored", "createdAt": 7
        });
        let key = read(whole, None).unwrap();
        assert_eq!(key.acl, [Acl::Search, Acl::Browse]);
        assert_eq!((key.value.as_str(), key.created_at, key.validity), ("", 0, 3));
        assert_eq!((key.max_hits_per_query, key.max_queries_per_ip_per_hour), (1, 2));
        assert_eq!(key.indexes, ["a", "b*", "*c", "*d*", "*"]);
        assert_eq!(read(json!({"acl": ["logs"]}), Some("i")).unwrap().index, IndexName::new("i").ok());
    }

    #[test]
    fn every_member_of_another_type_or_size_is_named() {
        let wrong: [(&str, &[Value]); 8] = [
            ("acl", &[json!("search"), json!(1), json!(true), json!({}), json!([1]), json!([null])]),
            ("description", &[json!(1), json!([]), json!({}), json!(false), json!("x".repeat(2_049))]),
            (
                "indexes",
                &[
                    json!("a"),
                    json!({}),
                    json!([1]),
                    json!([""]),
                    json!(["a*b"]),
                    json!(["***"]),
                    json!(["x".repeat(257)]),
                    json!(["a\u{1f}1"]),
                    json!(vec!["a"; 1_001]),
                ],
            ),
            ("maxHitsPerQuery", &[json!(-1), json!("1"), json!(1.5), json!(1_u64 << 31), json!([])]),
            ("maxQueriesPerIPPerHour", &[json!(-1), json!(u64::MAX), json!(true), json!({})]),
            ("queryParameters", &[json!({}), json!(1), json!(["a"]), json!("x".repeat(4_097))]),
            ("referers", &[json!("a"), json!([1]), json!([""]), json!(["a*b"]), json!(["x".repeat(513)])]),
            ("validity", &[json!(-1), json!("1"), json!(0.5), json!(1_u64 << 40), json!([1])]),
        ];
        for (name, values) in wrong {
            for value in values {
                let error = read(json!({name: value}), None).expect_err(name).message;
                let start = format!("Invalid value for \"{name}");
                assert!(error.starts_with(&start) && error.len() < 300, "{name} {value:.40}: {error}");
            }
        }
        for (body, index, message) in [
            (json!({"acl": ["serch"]}), None, "Invalid acl: serch"),
            (json!({"acl": ["recommendation"]}), Some("i"), "Invalid value for \"acl[0]\""),
            (json!({"indexes": ["a"]}), Some("i"), "Invalid object attributes: indexes near"),
            (json!({"maxHitPerQuery": 1}), None, "Invalid object attributes: maxHitPerQuery near"),
            (json!({"index": "a"}), None, "Invalid object attributes: index near"),
            (json!({"referers": vec!["y".repeat(500); 9]}), None, "The key is too big: it has 4"),
        ] {
            let error = read(body, index).expect_err(message).message;
            assert!(error.starts_with(message), "{error}");
        }
    }
}
