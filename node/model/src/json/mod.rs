//! Is this text acceptable JSON, and what is it without white space? Numbers and strings keep their text.
//!
//! Hot path: every imported record passes here. Budget: one pass, one copy, no tree, no allocation per value.

#[cfg(test)]
mod tests;
mod unescaped;

use crate::error::{Error, Result};
use crate::limits::JSON_DEPTH_MAX;
use std::borrow::Cow;
use std::ops::Range;

pub use unescaped::unescaped;

/// A first-level member of a scanned object; the ranges point into the minified text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The name with its quotes, escapes untouched.
    pub key: Range<usize>,
    /// The value.
    pub value: Range<usize>,
    /// Offset in the source text just after the name.
    pub source_end: usize,
}

/// JSON text without white space and, if it is an object, its first-level members in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minified {
    /// The text.
    pub text: Vec<u8>,
    /// First-level members; empty unless the text is an object.
    pub members: Vec<Member>,
}
impl Minified {
    /// Whether the text is an object.
    pub fn is_object(&self) -> bool {
        self.text.first() == Some(&b'{')
    }
    /// The decoded name of a member.
    pub fn name(&self, member: &Member) -> Cow<'_, str> {
        unquote(&self.text[member.key.clone()])
    }
    /// The raw value of a member.
    pub fn value(&self, member: &Member) -> &[u8] {
        &self.text[member.value.clone()]
    }
}

/// Checks syntax, encoding, depth and the range of numbers, and removes white space outside strings.
///
/// Errors: `Invalid`, with the position as `near line:L column:C` (C counts the bytes read on the line).
pub fn minify(source: &[u8]) -> Result<Vec<u8>> {
    Ok(scan(source)?.text)
}

/// Like [`minify`], and reports the first-level members.
pub fn scan(source: &[u8]) -> Result<Minified> {
    if let Err(error) = std::str::from_utf8(source) {
        return Err(syntax(source, error.valid_up_to(), "lexical error: invalid bytes in UTF8 string"));
    }
    let out = Vec::with_capacity(source.len());
    Scanner { source, at: 0, out, objects: 0, depth: 0, members: Vec::new() }.run()
}

/// The text of a JSON string that [`scan`] accepted, given with its quotes.
pub fn unquote(quoted: &[u8]) -> Cow<'_, str> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if inner.contains(&b'\\') {
        return Cow::Owned(serde_json::from_slice(quoted).unwrap_or_default());
    }
    String::from_utf8_lossy(inner)
}

/// `text` as a JSON string with its quotes.
pub fn quote(text: &str) -> Vec<u8> {
    serde_json::to_vec(text).expect("a string is always JSON")
}

/// `near line:L column:C` for a byte offset of `source`.
pub fn place(source: &[u8], offset: usize) -> String {
    let before = &source[..offset.min(source.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    format!("near line:{line} column:{}", before.len() - start)
}

fn syntax(source: &[u8], offset: usize, what: &str) -> Error {
    Error::invalid(format!("{what} {}", place(source, offset + 1)))
}

struct Scanner<'a> {
    source: &'a [u8],
    at: usize,
    out: Vec<u8>,
    /// One bit for each open container, the innermost lowest: 1 = object.
    objects: u64,
    depth: usize,
    members: Vec<Member>,
}

const _: () = assert!(JSON_DEPTH_MAX <= u64::BITS as usize);

impl Scanner<'_> {
    fn run(mut self) -> Result<Minified> {
        self.skip_space();
        loop {
            if self.value()? {
                continue;
            }
            if self.after_value()? {
                break;
            }
        }
        if self.at < self.source.len() {
            return Err(self.fail("parse error: trailing garbage"));
        }
        Ok(Minified { text: self.out, members: self.members })
    }

    /// Reads a scalar, or opens a container. Returns whether another value comes first inside it.
    fn value(&mut self) -> Result<bool> {
        match self.peek() {
            Some(b'{') => {
                self.open(1)?;
                if self.peek() == Some(b'}') {
                    return Ok(false);
                }
                self.key()?;
                Ok(true)
            }
            Some(b'[') => {
                self.open(0)?;
                Ok(self.peek() != Some(b']'))
            }
            Some(b'"') => self.string().map(|()| false),
            Some(b'-' | b'0'..=b'9') => self.number().map(|()| false),
            Some(b't') => self.word(b"true").map(|()| false),
            Some(b'f') => self.word(b"false").map(|()| false),
            Some(b'n') => self.word(b"null").map(|()| false),
            Some(b'}' | b']' | b',' | b':') => {
                Err(self.fail("parse error: unallowed token at this point in JSON text"))
            }
            Some(_) => Err(self.fail("lexical error: invalid char in json text.")),
            None => Err(self.fail("parse error: premature EOF")),
        }
    }

    /// Closes containers and steps over a comma. Returns whether the text is over.
    fn after_value(&mut self) -> Result<bool> {
        loop {
            let in_object = self.objects & 1 == 1;
            if self.depth == 1
                && in_object
                && let Some(member) = self.members.last_mut()
                && member.value.end == 0
            {
                member.value.end = self.out.len();
            }
            self.skip_space();
            if self.depth == 0 {
                return Ok(true);
            }
            match (self.peek(), in_object) {
                (Some(b'}'), true) | (Some(b']'), false) => {
                    self.copy_byte();
                    self.depth -= 1;
                    self.objects >>= 1;
                }
                (Some(b','), _) => {
                    self.copy_byte();
                    self.skip_space();
                    if in_object {
                        self.key()?;
                    }
                    return Ok(false);
                }
                (None, _) => return Err(self.fail("parse error: premature EOF")),
                (Some(_), true) => {
                    return Err(
                        self.fail("parse error: after key and value, inside map, I expect ',' or '}'")
                    );
                }
                (Some(_), false) => {
                    return Err(self.fail("parse error: after array element, I expect ',' or ']'"));
                }
            }
        }
    }

    fn open(&mut self, object: u64) -> Result<()> {
        if self.depth == JSON_DEPTH_MAX {
            return Err(self.fail("parse error: JSON is nested more than 64 levels deep"));
        }
        self.depth += 1;
        self.objects = self.objects << 1 | object;
        self.copy_byte();
        self.skip_space();
        Ok(())
    }

    fn key(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'"') => {}
            Some(_) => return Err(self.fail("parse error: invalid object key (must be a string)")),
            None => return Err(self.fail("parse error: premature EOF")),
        }
        let start = self.out.len();
        self.string()?;
        let (end, source_end) = (self.out.len(), self.at);
        self.skip_space();
        match self.peek() {
            Some(b':') => self.copy_byte(),
            Some(_) => {
                return Err(self.fail("parse error: object key and value must be separated by a colon (':')"));
            }
            None => return Err(self.fail("parse error: premature EOF")),
        }
        self.skip_space();
        if self.depth == 1 {
            self.members.push(Member { key: start..end, value: self.out.len()..0, source_end });
        }
        Ok(())
    }

    fn string(&mut self) -> Result<()> {
        let start = self.at;
        self.at += 1;
        loop {
            self.at += plain_prefix(&self.source[self.at..]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    self.out.extend_from_slice(&self.source[start..self.at]);
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.fail("lexical error: invalid character inside string.")),
                None => return Err(self.fail("parse error: premature EOF")),
            }
        }
    }

    fn escape(&mut self) -> Result<()> {
        match self.source.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => self.unicode_escape(),
            Some(_) => {
                Err(self
                    .fail("lexical error: inside a string, '\\' occurs before a character which it may not."))
            }
            None => Err(self.fail("parse error: premature EOF")),
        }
    }

    fn unicode_escape(&mut self) -> Result<()> {
        let Some(first) = self.hex4(self.at) else {
            return Err(
                self.fail("lexical error: invalid (non-hex) character occurs after '\\u' inside string.")
            );
        };
        self.at += 6;
        match first {
            0xd800..=0xdbff => match self.hex4(self.at) {
                Some(0xdc00..=0xdfff) => self.at += 6,
                Some(_) | None => return Err(self.fail("lexical error: lone surrogate inside string.")),
            },
            0xdc00..=0xdfff => return Err(self.fail("lexical error: lone surrogate inside string.")),
            _ => {}
        }
        Ok(())
    }

    /// The code unit of the four-digit `\u` escape that starts at `at`, if there is one.
    fn hex4(&self, at: usize) -> Option<u32> {
        let text = self.source.get(at..at + 6)?.strip_prefix(b"\\u")?;
        text.iter().try_fold(0, |unit, &byte| Some(unit << 4 | char::from(byte).to_digit(16)?))
    }

    fn number(&mut self) -> Result<()> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => {
                return Err(
                    self.fail("lexical error: malformed number, a digit is required after the minus sign.")
                );
            }
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits(
                "lexical error: malformed number, a digit is required after the decimal point.",
            )?;
        }
        let exponent = matches!(self.peek(), Some(b'e' | b'E'));
        if exponent {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits("lexical error: malformed number, a digit is required after the exponent.")?;
        }
        let text = &self.source[start..self.at];
        if (exponent || text.len() > 300) && !is_finite(text) {
            return Err(self.fail("parse error: floating point overflow"));
        }
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn some_digits(&mut self, otherwise: &str) -> Result<()> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.fail(otherwise));
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<()> {
        if !self.source[self.at..].starts_with(word) {
            return Err(self.fail("lexical error: invalid string in json text."));
        }
        self.at += word.len();
        self.out.extend_from_slice(word);
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    fn copy_byte(&mut self) {
        self.out.push(self.source[self.at]);
        self.at += 1;
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn fail(&self, what: &str) -> Error {
        syntax(self.source, self.at, what)
    }
}

fn is_finite(number: &[u8]) -> bool {
    std::str::from_utf8(number).ok().and_then(|text| text.parse::<f64>().ok()).is_some_and(f64::is_finite)
}

/// Bytes up to the first quote, backslash or control character, eight at a time.
fn plain_prefix(text: &[u8]) -> usize {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let zero_bytes = |word: u64| word.wrapping_sub(LOW) & !word & HIGH;
    let mut at = 0;
    while let Some(chunk) = text[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let control = word.wrapping_sub(LOW * 0x20) & !word & HIGH;
        let special = control
            | zero_bytes(word ^ (LOW * u64::from(b'"')))
            | zero_bytes(word ^ (LOW * u64::from(b'\\')));
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = &text[at..];
    at + rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20).unwrap_or(rest.len())
}
