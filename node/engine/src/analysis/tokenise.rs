//! Where words begin and end, and which extra forms a text is searched by (C§6.2, C§6.3).
//!
//! Hot path: one pass over the text; ASCII words cost one table look-up a byte.

use super::normalise::{is_currency, is_emoji, is_ideographic, is_mark, push_folded, push_kept};
use quorate_model::Settings;
use std::sync::Arc;

/// Characters of a token; the rest is cut off.
pub const TOKEN_CHARS_MAX: usize = 64;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word of the text.
    Word,
    /// Words joined around `.`, `'`, `®` or `©` (C§6.3), or a camel-case word before its parts; it stands at the position
    /// of the first of them and covers `span` positions.
    Joined,
    /// One ideograph or kana.
    Ideograph,
    /// A picture, a currency sign or a character of separatorsToIndex.
    Symbol,
}

/// A word as it is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Normalised text.
    pub text: &'a str,
    /// Byte offset of its first character in the original text.
    pub start: usize,
    /// Byte offset after its last character.
    pub end: usize,
    /// Index of the word in the text.
    pub position: u32,
    /// How many positions it covers: 1, or more for a joined form whose parts are tokens, too.
    pub span: u32,
    /// What it is.
    pub kind: TokenKind,
}

/// What differs between attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenOptions {
    /// Also index the parts of `camelCaseWords`.
    pub camel_case: bool,
}

/// Turns text into tokens as the settings of an index say. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Analyzer {
    rules: Arc<Rules>,
}

#[derive(Debug, Default)]
struct Rules {
    separators: Vec<char>,
    kept: Vec<char>,
    replaced: Vec<(char, String)>,
}

impl Analyzer {
    /// Takes separatorsToIndex, keepDiacriticsOnCharacters and customNormalization over.
    pub fn new(settings: &Settings) -> Analyzer {
        let index = &settings.index;
        Analyzer {
            rules: Arc::new(Rules {
                separators: index.separators_to_index.chars().filter(|c| !c.is_whitespace()).collect(),
                kept: index.keep_diacritics_on_characters.chars().flat_map(char::to_lowercase).collect(),
                replaced: index.custom_normalization.clone(),
            }),
        }
    }
    /// Calls `sink` for every token of `text`, in text order; a joined form comes before its parts. Returns the number of
    /// positions used.
    ///
    /// Cost: one pass; one allocation.
    pub fn tokens(&self, text: &str, options: TokenOptions, sink: impl FnMut(Token<'_>)) -> u32 {
        let mut walk = Walk {
            rules: &self.rules,
            options,
            sink,
            chain: String::with_capacity(32),
            parts: Vec::new(),
            part: Part::default(),
            end: 0,
            position: 0,
            lower_before: false,
        };
        walk.text(text);
        walk.position
    }
    /// The normalised form of a text as one string: its words separated by single spaces.
    pub fn normalise(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        self.tokens(text, TokenOptions::default(), |token| {
            if token.span > 1 {
                return;
            }
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(token.text);
        });
        out
    }
}

/// A stretch of a chain between two places where it may be cut.
#[derive(Clone, Copy, Default)]
struct Part {
    /// Where it starts in the chain.
    from: usize,
    /// Where it starts in the text.
    start: usize,
    /// Where it ends in the text.
    end: usize,
    /// Whether the cut before it keeps both sides as words of their own, however short.
    cut_keeps: Cut,
}
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Cut {
    #[default]
    DropsShort,
    KeepsBoth,
}

struct Walk<'r, F> {
    rules: &'r Rules,
    options: TokenOptions,
    sink: F,
    /// Normalised characters of the words that are joined so far.
    chain: String,
    /// Finished parts of the chain.
    parts: Vec<Part>,
    part: Part,
    /// End of the last character of the chain in the text.
    end: usize,
    position: u32,
    /// Whether the last character was a lower-case letter or a digit.
    lower_before: bool,
}

impl<F: FnMut(Token<'_>)> Walk<'_, F> {
    fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let plain =
            self.rules.separators.is_empty() && self.rules.replaced.is_empty() && !self.options.camel_case;
        let mut i = 0;
        while i < bytes.len() {
            let b = bytes[i];
            if plain && b.is_ascii_alphanumeric() {
                let run = bytes[i..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
                self.open(i);
                self.chain.push_str(&text[i..i + run]);
                let from = self.chain.len() - run;
                self.chain[from..].make_ascii_lowercase();
                i += run;
                self.end = i;
                continue;
            }
            let c = if b < 0x80 { b as char } else { text[i..].chars().next().expect("inside the text") };
            self.character(c, i, text);
            i += c.len_utf8();
        }
        self.finish();
    }

    fn character(&mut self, c: char, at: usize, text: &str) {
        let after = at + c.len_utf8();
        if self.rules.separators.contains(&c) {
            self.finish();
            return self.single(c, at, TokenKind::Symbol);
        }
        if let Some((_, to)) = self.rules.replaced.iter().find(|(from, _)| *from == c) {
            self.open(at);
            for r in to.chars().filter(|r| !r.is_control()) {
                push_kept(r, &mut self.chain);
            }
            self.end = after;
        } else if is_ideographic(c) {
            self.finish();
            self.single(c, at, TokenKind::Ideograph);
        } else if c.is_alphanumeric() {
            self.letter(c, at);
        } else if is_mark(c) {
            // a mark belongs to the letter before it; alone it is nothing
            if !self.chain.is_empty() {
                self.end = after;
            }
        } else if is_emoji(c) || is_currency(c) {
            self.finish();
            self.single(c, at, TokenKind::Symbol);
        } else if matches!(c, '.' | '\'' | '’' | '®' | '©')
            && !self.chain.is_empty()
            && self.joins(&text[after..])
        {
            let digit_before = self.chain.as_bytes().last().is_some_and(u8::is_ascii_digit);
            self.cut(after, if digit_before { Cut::KeepsBoth } else { Cut::DropsShort });
        } else {
            self.finish();
        }
    }

    /// Whether the text after in-word punctuation goes on with a word.
    fn joins(&self, rest: &str) -> bool {
        rest.chars().next().is_some_and(|next| {
            next.is_alphanumeric() && !is_ideographic(next) && !self.rules.separators.contains(&next)
        })
    }

    fn letter(&mut self, c: char, at: usize) {
        if self.options.camel_case && c.is_uppercase() && self.lower_before && !self.chain.is_empty() {
            self.cut(at, Cut::KeepsBoth);
        }
        self.open(at);
        if self.rules.kept.is_empty() || !c.to_lowercase().any(|l| self.rules.kept.contains(&l)) {
            push_folded(c, &mut self.chain);
        } else {
            push_kept(c, &mut self.chain);
        }
        self.end = at + c.len_utf8();
        self.lower_before = c.is_lowercase() || c.is_numeric();
    }

    fn open(&mut self, at: usize) {
        if self.chain.is_empty() {
            self.part = Part { from: 0, start: at, end: at, cut_keeps: Cut::DropsShort };
        }
    }

    /// Ends a part of the chain; the next one starts at `next` in the text.
    fn cut(&mut self, next: usize, cut_keeps: Cut) {
        let done = Part { end: self.end, ..self.part };
        self.parts.push(done);
        self.part = Part { from: self.chain.len(), start: next, end: next, cut_keeps };
    }

    fn single(&mut self, c: char, at: usize, kind: TokenKind) {
        let mut text = String::new();
        push_folded(c, &mut text);
        if text.is_empty() {
            text.push(c);
        }
        self.emit(&text, at, at + c.len_utf8(), self.position, 1, kind);
        self.position += 1;
    }

    fn emit(&mut self, text: &str, start: usize, end: usize, position: u32, span: u32, kind: TokenKind) {
        if !text.is_empty() {
            (self.sink)(Token { text: capped(text), start, end, position, span, kind });
        }
    }

    /// Ends the chain and emits it.
    fn finish(&mut self) {
        self.lower_before = false;
        if self.chain.is_empty() {
            return;
        }
        let chain = std::mem::take(&mut self.chain);
        if self.parts.is_empty() {
            self.emit(&chain, self.part.start, self.end, self.position, 1, TokenKind::Word);
            self.position += 1;
        } else {
            self.finish_joined(&chain);
        }
        self.chain = chain;
        self.chain.clear();
    }

    fn finish_joined(&mut self, chain: &str) {
        let last = Part { end: self.end, ..self.part };
        self.parts.push(last);
        let parts = std::mem::take(&mut self.parts);
        let text_of =
            |i: usize| &chain[parts[i].from..parts.get(i + 1).map_or(chain.len(), |next| next.from)];
        let keeps = |i: usize| {
            text_of(i).chars().count() >= 3
                || parts[i].cut_keeps == Cut::KeepsBoth
                || parts.get(i + 1).is_some_and(|next| next.cut_keeps == Cut::KeepsBoth)
        };
        let kept = (0..parts.len()).filter(|&i| keeps(i)).count() as u32;
        let (start, end, first) = (parts[0].start, self.end, self.position);
        let kind = if kept == 0 { TokenKind::Word } else { TokenKind::Joined };
        self.emit(chain, start, end, first, kept.max(1), kind);
        for (i, part) in parts.iter().enumerate() {
            if keeps(i) {
                self.emit(text_of(i), part.start, part.end, self.position, 1, TokenKind::Word);
                self.position += 1;
            }
        }
        self.position = self.position.max(first + 1);
        self.parts = parts;
        self.parts.clear();
    }
}

fn capped(text: &str) -> &str {
    if text.len() <= TOKEN_CHARS_MAX {
        return text;
    }
    text.char_indices().nth(TOKEN_CHARS_MAX).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
