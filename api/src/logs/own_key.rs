//! Where in the texts of a call is the key that it was made with?

use super::mask::{SHOWN_CHARS, masked};
use memchr::memmem::Finder;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use std::borrow::Cow;

/// What stands in a URL as it is.
const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The key of a call, which is to stand nowhere in the entry of the call: within parameters, in an address that the caller came from.
pub struct OwnKey {
    /// As it is, and as it stands in a URL and in JSON where that is another text.
    forms: Vec<Finder<'static>>,
}

impl OwnKey {
    /// Of a call that showed this key, if it did. Cost: a comparison when it is the key of `before`; the search for another one has
    /// to be prepared.
    pub fn of<'b>(key: &[u8], before: &'b mut Option<OwnKey>) -> Option<&'b Self> {
        if key.is_empty() {
            return None;
        }
        if before.as_ref().is_none_or(|before| before.key() != key) {
            let in_url = percent_encode(key, &ENCODED).to_string();
            let quoted = serde_json::to_string(&String::from_utf8_lossy(key)).unwrap_or_default();
            let in_json =
                quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default();
            let (small, slashed) = (with_small_digits(&in_url), in_json.replace('/', "\\/"));
            let mut forms: Vec<Finder<'static>> = vec![];
            for form in [key, in_url.as_bytes(), &small, in_json.as_bytes(), slashed.as_bytes()] {
                if !form.is_empty() && forms.iter().all(|known| known.needle() != form) {
                    forms.push(Finder::new(form).into_owned());
                }
            }
            *before = Some(OwnKey { forms });
        }
        before.as_ref()
    }
    fn key(&self) -> &[u8] {
        self.forms[0].needle()
    }
    /// The key as it is shown.
    pub fn masked(&self) -> String {
        masked(&String::from_utf8_lossy(self.key()))
    }
    /// Whether a text has it.
    pub fn is_in(&self, text: &[u8]) -> bool {
        self.forms.iter().any(|form| form.find(text).is_some())
    }
    /// A text without it. `is_cut` says that the text ends where it was cut, maybe within the key. Cost: a search for each form.
    pub fn taken_out<'a>(&self, text: Cow<'a, [u8]>, is_cut: bool) -> Cow<'a, [u8]> {
        self.forms.iter().fold(text, |text, form| match self.form_taken_out(form, &text, is_cut) {
            Some(changed) => Cow::Owned(changed),
            None => text,
        })
    }
    /// Nothing where a text does not have this form.
    fn form_taken_out(&self, form: &Finder<'_>, text: &[u8], is_cut: bool) -> Option<Vec<u8>> {
        let key = form.needle();
        let left = if is_cut { begun_at_the_end(key, text) } else { 0 };
        if left == 0 && form.find(text).is_none() {
            return None;
        }
        let mask = self.masked();
        let mut out = Vec::with_capacity(text.len());
        let mut rest = &text[..text.len() - left];
        while let Some(at) = form.find(rest) {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(mask.as_bytes());
            rest = &rest[at + key.len()..];
        }
        out.extend_from_slice(rest);
        if left > 0 {
            out.extend_from_slice(mask.as_bytes());
        }
        Some(out)
    }
}
/// An encoded text of a URL whose escapes have small letters.
fn with_small_digits(in_url: &str) -> Vec<u8> {
    let mut text = in_url.as_bytes().to_vec();
    for (at, _) in in_url.match_indices('%') {
        text[at + 1..at + 3].make_ascii_lowercase();
    }
    text
}
/// How many bytes at the end of a text begin the key: more of them than are shown of a key, and not all of it.
fn begun_at_the_end(key: &[u8], text: &[u8]) -> usize {
    const LEAST: usize = SHOWN_CHARS + 1;
    let Some(first) = key.first_chunk::<LEAST>() else { return 0 };
    let tail = &text[text.len() - text.len().min(key.len() - 1)..];
    let mut begins = (0..tail.len().saturating_sub(LEAST - 1)).filter(|at| tail[*at..].starts_with(first));
    begins.find(|at| key.starts_with(&tail[*at..])).map_or(0, |at| tail.len() - at)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn the_key_of_a_call_shows_nowhere_in_it() {
        let (mut kept, mut other) = (None, None);
        let key = OwnKey::of(SECRET.as_bytes(), &mut kept).unwrap();
        let shown = |text: &str, is_cut| {
            String::from_utf8(key.taken_out(text.as_bytes().into(), is_cut).into_owned()).unwrap()
        };
        assert_eq!(shown(&format!("a={SECRET}&b={SECRET}"), false), "a=012***&b=012***");
        for text in ["", "query=x", "0123", &format!("x{}", &SECRET[..31])] {
            assert_eq!(shown(text, false), text);
        }
        for end in SHOWN_CHARS + 1..SECRET.len() {
            assert_eq!(shown(&format!("{SECRET} {}", &SECRET[..end]), true), "012*** 012***");
        }
        assert_eq!(shown("012", true), "012");
        assert!(OwnKey::of(b"", &mut other).is_none());
        let short = OwnKey::of(b"abc", &mut other).unwrap();
        assert_eq!(short.taken_out(b"abcab"[..].into(), true), Cow::Borrowed(b"***ab"));
        let next = OwnKey::of(b"xyz", &mut other).unwrap();
        assert_eq!(
            next.taken_out(b"abcxyz"[..].into(), false),
            Cow::Borrowed(b"abc***"),
            "not that of the call before"
        );
    }

    #[test]
    fn a_key_is_found_however_it_is_written() {
        let mut kept = None;
        let key = OwnKey::of(br#"abcdefgHIJ+/"x=="#, &mut kept).unwrap();
        for (text, expected) in [
            (r#"a=abcdefgHIJ+/"x=="#, "a=abc***"),
            ("a=abcdefgHIJ%2B%2F%22x%3D%3D&b", "a=abc***&b"),
            ("a=abcdefgHIJ%2b%2f%22x%3d%3d&b", "a=abc***&b"),
            (r#"{"a":"abcdefgHIJ+/\"x=="}"#, r#"{"a":"abc***"}"#),
            (r#"{"a":"abcdefgHIJ+\/\"x=="}"#, r#"{"a":"abc***"}"#),
            (r#"ABCDEFGHIJ+/"X=="#, r#"ABCDEFGHIJ+/"X=="#),
        ] {
            let shown = key.taken_out(text.as_bytes().into(), false);
            assert_eq!(String::from_utf8_lossy(&shown), expected);
        }
        let odd = OwnKey::of(br#"ab%41"'"#, &mut kept).unwrap();
        for text in [r#"ab%41"'"#, "ab%2541%22%27", r#"ab%41\"'"#] {
            assert_eq!(odd.taken_out(text.as_bytes().into(), false), Cow::Borrowed(b"***"), "{text}");
        }
        let plain = OwnKey::of(SECRET.as_bytes(), &mut kept).unwrap();
        assert_eq!(plain.forms.len(), 1);
    }
}
