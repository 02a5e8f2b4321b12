//! How do a call and its answer look without the keys in them, and cut to what is kept?

use crate::routes::Route;
use memchr::memmem::Finder;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Characters of a body and of an answer that are kept (C§14).
const TEXT_CHARS_MAX: usize = 1_000;
/// Bytes that so many characters have at most.
pub const TEXT_BYTES_MAX: usize = 4 * TEXT_CHARS_MAX;
/// Bytes of a URL and of all headers that are kept.
pub const LINE_BYTES_MAX: usize = 4 << 10;
/// Characters of a key that are shown (C§14), of one that has several times as many.
pub const SHOWN_CHARS: usize = 3;
/// What stands for the rest of it.
const MASK: &str = "***";
/// Bytes of a body that is read to find the keys in it; a longer one is left out.
const READ_BYTES_MAX: usize = 256 << 10;
/// What stands for a body that may hold keys and cannot be read.
const LEFT_OUT: &str = "(left out: it may hold keys)";

/// Headers whose value is a secret.
const SECRET_HEADERS: [&str; 6] = [
    "x-algolia-api-key",
    "x-service-api-key",
    "x-forwarded-api-key",
    "authorization",
    "proxy-authorization",
    "cookie",
];
/// Names of the query string whose value is a key, in any letter case; `apiKey` is none, and taken for one.
const SECRET_NAMES: [&str; 4] = ["x-algolia-api-key", "x-service-api-key", "x-forwarded-api-key", "apiKey"];
/// What stands between name and value in a query string that is in a text of another one.
const ENCODED_EQUALS: &[u8] = b"%3d";
static API_KEY: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("apiKey"));
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\\u00"));
/// The member of any body that is a key (C§1.1).
const KEY_IN_BODY: &[&str] = &["apiKey"];
/// Members of calls about keys, and of their answers, that are keys.
const KEYS: &[&str] = &["apiKey", "key", "value"];

/// A key as it is shown.
pub fn masked(key: &str) -> String {
    let is_long = key.chars().nth(3 * SHOWN_CHARS).is_some();
    let end = key.char_indices().nth(SHOWN_CHARS).filter(|_| is_long).map_or(0, |(at, _)| at);
    [&key[..end], MASK].concat()
}

/// Writes the headers, pairs of a name in small letters and a value, one a line; one for which there is no room is left out.
pub fn headers<'a>(headers: impl IntoIterator<Item = (&'a [u8], &'a [u8])>, text: &mut Vec<u8>) {
    for (name, value) in headers {
        let value = match is_secret_header(name) {
            true => masked(std::str::from_utf8(value).unwrap_or_default()).into_bytes().into(),
            false => Cow::Borrowed(value),
        };
        if text.len() + name.len() + value.len() + 3 > LINE_BYTES_MAX {
            continue;
        }
        for part in [name, b": ", &value, b"\n"] {
            text.extend_from_slice(part);
        }
    }
}

/// Whether the value of a header is a secret, by its name in small letters.
pub fn is_secret_header(name: &[u8]) -> bool {
    SECRET_HEADERS.iter().any(|secret| secret.as_bytes() == name)
}

/// Writes path and query string.
pub fn url<H>(route: &Route<H>, path: &str, query: Option<&str>, text: &mut String) {
    if route.is_secret {
        let template = route.path.split('/').chain(std::iter::repeat(""));
        for (at, (part, name)) in path.split('/').zip(template).enumerate() {
            if at > 0 {
                text.push('/');
            }
            match name {
                "{key}" | "{userToken}" => {
                    text.push_str(&masked(&percent_decode_str(part).decode_utf8_lossy()))
                }
                _ => text.push_str(part),
            }
        }
    } else {
        text.push_str(path);
    }
    for (at, pair) in query.into_iter().flat_map(|query| query.split('&')).enumerate() {
        text.push(if at == 0 { '?' } else { '&' });
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match is_secret_name(name) {
            true => text.extend([name, "=", &masked(&percent_decode_str(value).decode_utf8_lossy())]),
            false => text.push_str(pair),
        }
    }
    text.truncate(text.floor_char_boundary(LINE_BYTES_MAX));
}
fn is_secret_name(name: &str) -> bool {
    let name = percent_decode_str(name).decode_utf8_lossy();
    SECRET_NAMES.iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

/// The beginning of a body; `is_about_keys` says whether its call is about keys.
pub fn body(bytes: &[u8], is_about_keys: bool) -> Cow<'_, [u8]> {
    let text = cut(bytes);
    // names may be written with escapes
    let may_hold_key = || API_KEY.find(text).is_some() || ESCAPE.find(text).is_some();
    match is_about_keys {
        true if bytes.is_empty() => Cow::Borrowed(bytes),
        true => without_keys(bytes, KEYS),
        false if may_hold_key() => without_keys(bytes, KEY_IN_BODY),
        false => Cow::Borrowed(text),
    }
}
/// The beginning of an answer: no other shows a key.
pub fn answer(bytes: &[u8], is_about_keys: bool) -> Cow<'_, [u8]> {
    if is_about_keys { without_keys(bytes, KEYS) } else { Cow::Borrowed(cut(bytes)) }
}
fn without_keys(bytes: &[u8], names: &[&str]) -> Cow<'static, [u8]> {
    let read = (bytes.len() <= READ_BYTES_MAX).then(|| serde_json::from_slice(bytes));
    match read {
        Some(Ok(mut value)) => {
            mask_members(&mut value, names);
            Cow::Owned(cut(value.to_string().as_bytes()).to_vec())
        }
        Some(Err(_)) | None => Cow::Borrowed(LEFT_OUT.as_bytes()),
    }
}
fn mask_members(value: &mut Value, names: &[&str]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mask_members(item, names)),
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(text) if names.contains(&name.as_str()) => *text = masked(text),
                    member => mask_members(member, names),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A text without the values that stand behind the name of a key as in a query string, whoever's they are. Cost: a search for two bytes
/// that are rare elsewhere.
pub fn named_taken_out(text: &[u8]) -> Cow<'_, [u8]> {
    // through where it has been copied, and looked at
    let (mut out, mut done, mut seen) = (Vec::new(), 0, 0);
    for at in memchr::memchr2_iter(b'=', ENCODED_EQUALS[0], text) {
        let is_encoded = text[at] != b'=';
        let equals = if is_encoded { ENCODED_EQUALS } else { b"=" };
        if at < seen || !begins_as(&text[at..], equals) || !ends_with_name_of_key(&text[..at]) {
            continue;
        }
        let begin = at + equals.len();
        let rest = &text[begin..];
        let ends = |at: &usize| ends_value(rest[*at]) || is_encoded && rest[*at..].starts_with(b"%26");
        let value = &rest[..(0..rest.len()).find(ends).unwrap_or(rest.len())];
        seen = begin + value.len();
        // one that is masked already stays
        if !value.is_empty() && !value.ends_with(MASK.as_bytes()) {
            out.extend_from_slice(&text[done..begin]);
            out.extend_from_slice(masked(&String::from_utf8_lossy(value)).as_bytes());
            done = seen;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.extend_from_slice(&text[done..]);
    Cow::Owned(out)
}
/// Whether a text begins so, in any letter case.
fn begins_as(text: &[u8], beginning: &[u8]) -> bool {
    text.get(..beginning.len()).is_some_and(|begun| begun.eq_ignore_ascii_case(beginning))
}
/// Whether a text ends with a name of the query string whose value is a key, in any letter case.
fn ends_with_name_of_key(text: &[u8]) -> bool {
    let is_end = |name: &str| {
        text.len().checked_sub(name.len()).is_some_and(|at| begins_as(&text[at..], name.as_bytes()))
    };
    SECRET_NAMES.iter().any(|name| is_end(name))
}
/// Whether no value of a query string goes on with a byte, nor the text of JSON or of an address that the query string stands in.
fn ends_value(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b"&\"'\\<>;,".contains(&byte)
}

/// The first characters of a text. Cost: one look at their bytes, some at a time.
fn cut(bytes: &[u8]) -> &[u8] {
    const AT_A_TIME: usize = 64;
    // as signed numbers, the bytes that go on with a character are below all others
    const FIRST_THAT_BEGINS: i8 = -64;
    let begins = |byte: &u8| *byte as i8 >= FIRST_THAT_BEGINS;
    if bytes.len() <= TEXT_CHARS_MAX {
        return bytes;
    }
    // a character has four bytes at most
    let bytes = &bytes[..bytes.len().min(TEXT_BYTES_MAX)];
    if let Some(chars) = bytes.get(..TEXT_CHARS_MAX)
        && chars.is_ascii()
    {
        return chars;
    }
    let (mut chars, mut end) = (0, 0);
    for some in bytes.chunks(AT_A_TIME) {
        let begun = usize::from(some.iter().map(|byte| u8::from(begins(byte))).sum::<u8>());
        if chars + begun > TEXT_CHARS_MAX {
            let mut begins = some.iter().enumerate().filter(|(_, byte)| begins(byte));
            let at = begins.nth(TEXT_CHARS_MAX - chars).map_or(some.len(), |(at, _)| at);
            return &bytes[..end + at];
        }
        chars += begun;
        end += some.len();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::Verb;
    use crate::table::ROUTER;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn keys_show_their_beginning_only() {
        for (key, expected) in [
            (SECRET, "012***"),
            ("0123456789", "012***"),
            ("012345678", "***"),
            ("", "***"),
            ("ключключключ", "клю***"),
        ] {
            assert_eq!(masked(key), expected);
        }
    }

    #[test]
    fn no_header_shows_a_key() {
        let mut pairs: Vec<(String, String)> =
            SECRET_HEADERS.iter().map(|name| ((*name).to_owned(), SECRET.to_owned())).collect();
        // a long secret is short when it is shown
        pairs.push(("cookie".to_owned(), "s".repeat(LINE_BYTES_MAX)));
        pairs.push(("user-agent".to_owned(), "a \"quoted\" agent".to_owned()));
        let text = |pairs: &[(String, String)]| {
            let mut text = vec![];
            headers(pairs.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())), &mut text);
            String::from_utf8(text).unwrap()
        };
        let short = text(&pairs);
        assert!(!short.contains(SECRET) && short.contains("x-algolia-api-key: 012***\n"), "{short}");
        assert!(short.ends_with("cookie: sss***\nuser-agent: a \"quoted\" agent\n"), "{short}");
        pairs.extend((0..100).map(|at| (format!("x-{at}"), "v".repeat(200))));
        let long = text(&pairs);
        assert!(long.len() <= LINE_BYTES_MAX && long.contains("x-10: v"), "{long}");
        pairs.insert(0, ("accept".to_owned(), "a".repeat(LINE_BYTES_MAX)));
        assert_eq!(text(&pairs), long, "one that is too long is left out, and no other for it");
    }

    #[test]
    fn no_url_shows_a_key() {
        let url = |route: &Route<_>, path: &str, query| {
            let mut text = String::new();
            super::url(route, path, query, &mut text);
            text
        };
        for (verb, path, query, expected) in [
            (Verb::Get, "/1/indexes/a%2Fb/settings", None, "/1/indexes/a%2Fb/settings"),
            (Verb::Get, "/1/indexes", Some("page=1"), "/1/indexes?page=1"),
            (
                Verb::Get,
                "/1/indexes",
                Some("X-Algolia-API-Key=0123456789abcdef&a=b&x%2dservice%2Dapi-key=0123456789abcdef&c"),
                "/1/indexes?X-Algolia-API-Key=012***&a=b&x%2dservice%2Dapi-key=012***&c",
            ),
            (Verb::Get, "/1/keys/0123456789abcdef", None, "/1/keys/012***"),
            (Verb::Post, "/1/keys/0123456789abcdef/restore", Some("a=b"), "/1/keys/012***/restore?a=b"),
            (Verb::Get, "/1/indexes/keys/keys/0123456789abcdef/", None, "/1/indexes/keys/keys/012***/"),
            (Verb::Delete, "/1/usertokens/0123456789abcdef", None, "/1/usertokens/012***"),
        ] {
            let route = ROUTER.find(Some(verb), path).unwrap_or_else(|error| panic!("{path}: {error}")).route;
            assert_eq!(url(route, path, query), expected);
        }
        let route = ROUTER.find(Some(Verb::Get), "/1/indexes").map(|found| found.route).expect("a route");
        assert!(url(route, "/1/indexes", Some(&"é".repeat(10_000))).len() <= LINE_BYTES_MAX);
    }

    #[test]
    fn no_body_shows_a_key_and_none_is_long() {
        for (given, is_about_keys, expected) in [
            (r#"{"query":"a"}"#, false, r#"{"query":"a"}"#),
            (r#"{"apiKey":"0123456789abcdef","query":"a"}"#, false, r#"{"apiKey":"012***","query":"a"}"#),
            (r#"{"\u0061piKey":"0123456789abcdef"}"#, false, r#"{"apiKey":"012***"}"#),
            (r#"{"apiKey":"0123456789abcdef""#, false, LEFT_OUT),
            (r#"{"value":"0123456789abcdef"}"#, false, r#"{"value":"0123456789abcdef"}"#),
            (
                r#"{"value":"0123456789abcdef","acl":["search"]}"#,
                true,
                r#"{"value":"012***","acl":["search"]}"#,
            ),
            (r#"{"keys":[{"value":"0123456789abcdef"}]}"#, true, r#"{"keys":[{"value":"012***"}]}"#),
            (r#"{"key":"0123456789abcdef","createdAt":"t"}"#, true, r#"{"key":"012***","createdAt":"t"}"#),
            ("key=0123456789abcdef", true, LEFT_OUT),
            ("", true, ""),
            ("not json", true, LEFT_OUT),
        ] {
            let shown = body(given.as_bytes(), is_about_keys);
            // members may change their order
            let same = |text: &[u8]| {
                let other = || String::from_utf8(text.to_vec()).unwrap().into();
                serde_json::from_slice::<Value>(text).unwrap_or_else(|_| other())
            };
            assert_eq!(same(&shown), same(expected.as_bytes()), "{given}");
            if is_about_keys && !given.is_empty() {
                assert_eq!(answer(given.as_bytes(), true), shown);
            }
        }
        let long = format!(r#"{{"keys":["{}"]}}"#, "k".repeat(READ_BYTES_MAX));
        assert_eq!(body(long.as_bytes(), true), LEFT_OUT.as_bytes());
    }

    #[test]
    fn what_is_named_a_key_is_no_text_of_an_entry() {
        for (text, expected) in [
            (format!("query=a&apiKey={SECRET}&b=c"), "query=a&apiKey=012***&b=c"),
            (
                format!("referer: http://a/?X-Algolia-API-Key={SECRET}\nhost: h\n"),
                "referer: http://a/?X-Algolia-API-Key=012***\nhost: h\n",
            ),
            (
                format!(r#"{{"params":"x-service-api-key%3D{SECRET}","a":1}}"#),
                r#"{"params":"x-service-api-key%3D012***","a":1}"#,
            ),
            ("x-algolia-api-key=012***&a=b".to_owned(), "x-algolia-api-key=012***&a=b"),
            (
                format!("a?back=apiKey%3D{SECRET}%26query%3Dshoes&apiKey=a%26b"),
                "a?back=apiKey%3D012***%26query%3Dshoes&apiKey=***",
            ),
            ("apiKey=apiKey=apiKey=a".to_owned(), "apiKey=api***"),
            (
                format!("%3d%3Dx=y%APIKEY%3d{SECRET}%26apikey={SECRET}%"),
                "%3d%3Dx=y%APIKEY%3d012***%26apikey=012***",
            ),
            ("apiKey=short apiKey= b".to_owned(), "apiKey=*** apiKey= b"),
            (r#"{"apiKey":"012***","key=":1}"#.to_owned(), r#"{"apiKey":"012***","key=":1}"#),
        ] {
            assert_eq!(String::from_utf8_lossy(&named_taken_out(text.as_bytes())), expected);
        }
        assert_eq!(&*named_taken_out(b"apiKey=\xff\xfe&a"), b"apiKey=***&a");
    }

    #[test]
    fn texts_are_cut_at_a_number_of_characters() {
        for letter in ["a", "é", "日", "😀"] {
            for others in [0, 1, 7] {
                let text = format!("{}{}", "x".repeat(others), letter.repeat(TEXT_CHARS_MAX + 1));
                let expected: String = text.chars().take(TEXT_CHARS_MAX).collect();
                assert_eq!(cut(text.as_bytes()), expected.as_bytes(), "{letter} {others}");
            }
            assert_eq!(cut(letter.as_bytes()), letter.as_bytes());
        }
        assert_eq!(cut(&[0x80; 10_000]).len(), 4 * TEXT_CHARS_MAX, "what is no text has a bound, too");
    }
}
