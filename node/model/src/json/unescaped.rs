//! How does a JSON text look without escapes that it does not need?

use super::{quote, unquote};

/// The text of a JSON value that [`scan`] accepted with no escapes but those that its strings need: some encoders write six bytes for a
/// letter of two.
pub fn unescaped(text: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(start) = memchr::memchr(b'"', rest) {
        let mut end = start + 1;
        while let Some(at) = rest.get(end..).and_then(|inner| memchr::memchr2(b'"', b'\\', inner)) {
            end += at + 1;
            match rest[end - 1] {
                b'"' => break,
                _ => end += 1,
            }
        }
        let end = end.min(rest.len());
        out.extend_from_slice(&rest[..start]);
        match &rest[start..end] {
            quoted if memchr::memchr(b'\\', quoted).is_some() => out.extend(quote(&unquote(quoted))),
            quoted => out.extend_from_slice(quoted),
        }
        rest = &rest[end..];
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_escapes_that_are_needed_stay() {
        for (text, expected) in [
            (
                r#"{"a":"\u00e9\/\"x\\","b":["\u0041\n\u0007",1.50]}"#,
                r#"{"a":"é/\"x\\","b":["A\n\u0007",1.50]}"#,
            ),
            (r#"{"\u0061":"\ud83d\ude00"}"#, r#"{"a":"😀"}"#),
            (r#"{"a":"plain"}"#, r#"{"a":"plain"}"#),
            ("1", "1"),
            (r#""\u00e9""#, r#""é""#),
        ] {
            assert_eq!(String::from_utf8(unescaped(text.as_bytes())).unwrap(), expected);
        }
        // of what no scan accepts nothing is lost
        assert_eq!(unescaped(br#"{"a":"x"#), br#"{"a":"x"#);
    }
}
