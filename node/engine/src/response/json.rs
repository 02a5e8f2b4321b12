//! How is stored JSON read and written without building values? By walking its bytes.
//!
//! The records were valid JSON when they were stored; a damaged one ends the walk early instead of failing.

/// Members of a JSON object as (raw key without quotes, raw value).
pub struct Members<'a> {
    text: &'a str,
    at: usize,
}
/// Elements of a JSON array as raw values.
pub struct Elements<'a> {
    text: &'a str,
    at: usize,
}

/// The text of a stored record. It was UTF-8 when it was stored; a damaged one shows as an empty object.
pub fn stored(record: &[u8]) -> &str {
    std::str::from_utf8(record).unwrap_or("{}")
}
/// Walks the members of the object in `raw`; nothing when it is no object.
pub fn members(raw: &str) -> Members<'_> {
    Members { text: raw, at: inside(raw, b'{') }
}
/// Walks the elements of the array in `raw`; nothing when it is no array.
pub fn elements(raw: &str) -> Elements<'_> {
    Elements { text: raw, at: inside(raw, b'[') }
}
/// Where what begins with `open` goes on; the end when something else begins.
fn inside(raw: &str, open: u8) -> usize {
    let start = skip_space(raw.as_bytes(), 0);
    if raw.as_bytes().get(start) == Some(&open) { start + 1 } else { raw.len() }
}
impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, &'a str);
    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let start = skip_separators(bytes, self.at);
        if bytes.get(start) != Some(&b'"') {
            self.at = bytes.len();
            return None;
        }
        let key_end = string_end(bytes, start);
        let colon = skip_space(bytes, key_end);
        let value_start = skip_space(bytes, colon + 1);
        let value_end = value_end(bytes, value_start);
        self.at = value_end;
        let key = self.text.get(start + 1..key_end.saturating_sub(1))?;
        Some((key, self.text.get(value_start..value_end)?))
    }
}
impl<'a> Iterator for Elements<'a> {
    type Item = &'a str;
    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let start = skip_separators(bytes, self.at);
        if start >= bytes.len() || bytes[start] == b']' {
            self.at = bytes.len();
            return None;
        }
        let end = value_end(bytes, start);
        self.at = end;
        self.text.get(start..end)
    }
}
fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}
fn skip_separators(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|b| b.is_ascii_whitespace() || *b == b',') {
        at += 1;
    }
    at
}
/// One past the closing quote of the string that starts at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match memchr::memchr2(b'"', b'\\', &bytes[at..]) {
            None => return bytes.len(),
            Some(n) if bytes[at + n] == b'"' => return at + n + 1,
            Some(n) => at += n + 2,
        }
    }
    bytes.len()
}
/// One past the value that starts at `start`.
fn value_end(bytes: &[u8], start: usize) -> usize {
    match bytes.get(start) {
        Some(b'"') => string_end(bytes, start),
        Some(b'{' | b'[') => {
            let (mut depth, mut at) = (0u32, start);
            while at < bytes.len() {
                match bytes[at] {
                    b'"' => {
                        at = string_end(bytes, at);
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return at + 1;
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
            bytes.len()
        }
        _ => {
            let rest = &bytes[start.min(bytes.len())..];
            let length = rest.iter().position(|b| matches!(b, b',' | b'}' | b']') || b.is_ascii_whitespace());
            start + length.unwrap_or(rest.len())
        }
    }
}
/// The text of a raw JSON string or number, unescaped into `buffer` when it has escapes.
pub fn text<'a>(raw: &'a str, buffer: &'a mut String) -> &'a str {
    if memchr::memchr(b'\\', raw.as_bytes()).is_none() {
        return raw.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(raw);
    }
    *buffer = serde_json::from_str(raw).unwrap_or_default();
    buffer
}
/// Bytes that [`escape`] appends. Cost: few texts need an escape, and whether one does is seen some bytes at a time.
pub fn escaped_len(value: &str) -> usize {
    let is_plain = |byte: &u8| !matches!(byte, 0..0x20 | b'"' | b'\\');
    if value.as_bytes().iter().fold(true, |all, byte| all & is_plain(byte)) {
        return value.len();
    }
    let more = |byte: u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        0..0x20 => 5,
        _ => 0,
    };
    value.len() + value.bytes().map(more).sum::<usize>()
}
/// Appends `value` with the escapes JSON demands, without quotes.
pub fn escape(value: &str, out: &mut Vec<u8>) {
    let bytes = value.as_bytes();
    let mut from = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        let short: &[u8] = match byte {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0..0x20 => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[from..i]);
        if short.is_empty() {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            out.extend_from_slice(b"\\u00");
            out.push(DIGITS[usize::from(byte >> 4)]);
            out.push(DIGITS[usize::from(byte & 15)]);
        } else {
            out.extend_from_slice(short);
        }
        from = i + 1;
    }
    out.extend_from_slice(&bytes[from..]);
}
/// Appends `value` as a JSON string.
pub fn string(value: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    escape(value, out);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_in_order_with_raw_values() {
        let raw = r#"{"a":1,"b\"c":{"x":[1,"}"]},"d":"e\\","f":[],"g":null , "h" : true}"#;
        let found: Vec<(&str, &str)> = members(raw).collect();
        let expected = [
            ("a", "1"),
            ("b\\\"c", r#"{"x":[1,"}"]}"#),
            ("d", r#""e\\""#),
            ("f", "[]"),
            ("g", "null"),
            ("h", "true"),
        ];
        assert_eq!(found, expected);
    }
    #[test]
    fn elements_and_damage() {
        let found: Vec<&str> = elements(r#"[1, "a,b", [2], {}]"#).collect();
        assert_eq!(found, ["1", "\"a,b\"", "[2]", "{}"]);
        for raw in ["{\"a", "{\"a\":", "{\"a\":\"x", "{\"a\":[1", "[", "[1", "", "7", "{\"a\\"] {
            assert!(members(raw).count() <= 1);
            assert!(elements(raw).count() <= 1);
        }
    }
    #[test]
    fn strings_survive_a_round_trip() {
        for value in ["plain", "qu\"ote", "back\\slash", "line\nfeed\t\u{1}", "é東🙂"] {
            let mut raw = vec![];
            string(value, &mut raw);
            let raw = String::from_utf8(raw).unwrap();
            assert_eq!(serde_json::from_str::<String>(&raw).unwrap(), value);
            assert_eq!(text(&raw, &mut String::new()), value);
        }
    }
}
