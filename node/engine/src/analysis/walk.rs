//! Where do words begin and end, and which extra forms is a text searched by? (C§6.2, C§6.3)
//!
//! Hot path: one pass over the text; ASCII words cost one table look-up a byte.

use super::segment;
use super::tokenise::{Rules, TOKEN_CHARS_MAX, Token, TokenKind, TokenOptions, capped};
use crate::text::{
    Class, after_marks, class, continues, picture_end, push_folded, push_fraction, push_picture,
};
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;

/// A stretch of a chain between two places where it may be cut.
#[derive(Clone, Copy, Default)]
struct Part {
    /// Where it starts in the chain.
    from: usize,
    /// Where it starts in the text.
    start: usize,
    /// Where it ends in the text.
    end: usize,
    /// What it is cut off by.
    cut: Cut,
}
/// Why a chain is cut, which says what becomes of both sides.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Cut {
    /// A sign that joins: short sides are no words of their own.
    #[default]
    Joint,
    /// Such a sign after a digit: both sides are, however short.
    JointAfterDigit,
    /// A capital letter inside a word: both sides are, and so is the word.
    Capital,
}

/// How the term of a placeholder starts: further from any word than typos reach.
pub const PLACEHOLDER_START: &str = "<<<";
/// A term as people write it: syllables are searched by their letters, and a placeholder has one bracket.
pub fn as_written(term: &str) -> Cow<'_, str> {
    match term.strip_prefix(PLACEHOLDER_START) {
        Some(rest) => Cow::Owned(format!("<{rest}").nfc().collect()),
        None if term.is_ascii() => Cow::Borrowed(term),
        None => Cow::Owned(term.nfc().collect()),
    }
}
/// Where a placeholder like `<street>` ends that starts at `at` (C§11): a name in brackets that stands alone, so neither a
/// tag around a word nor a parameter of a type.
pub fn placeholder_end(text: &str, at: usize) -> Option<usize> {
    let inside = text[at..].strip_prefix('<')?;
    let length = inside.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-')))?;
    let named = length > 0 && length + 2 <= TOKEN_CHARS_MAX && inside[length..].starts_with('>');
    let opens = text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '"'));
    let after = inside.get(length + 1..).and_then(|rest| rest.chars().next());
    let closes =
        after.is_none_or(|c| c.is_whitespace() || (c.is_ascii_punctuation() && !matches!(c, '<' | '>')));
    (named && opens && closes).then_some(at + length + 2)
}

/// The pass over one text.
pub(super) struct Walk<'r, F> {
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

impl<'r, F: FnMut(Token<'_>)> Walk<'r, F> {
    pub fn new(rules: &'r Rules, options: TokenOptions, sink: F) -> Self {
        Walk {
            rules,
            options,
            sink,
            chain: String::with_capacity(32),
            parts: Vec::new(),
            part: Part::default(),
            end: 0,
            position: 0,
            lower_before: false,
        }
    }
    /// Positions used so far.
    pub fn positions(&self) -> u32 {
        self.position
    }

    pub fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let plain = self.rules.is_plain() && !self.options.camel_case;
        let mut i = 0;
        while i < bytes.len() {
            let b = bytes[i];
            if plain && b.is_ascii_alphanumeric() {
                let run = bytes[i..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
                // a mark after the run may belong to a letter that keeps it
                let run = if self.rules.kept.is_empty() || run == 1 { run } else { run - 1 };
                if self.rules.kept.is_empty() || run > 1 || !self.is_marked(text, i) {
                    self.open(i);
                    self.chain.push_str(&text[i..i + run]);
                    let from = self.chain.len() - run;
                    self.chain[from..].make_ascii_lowercase();
                    i += run;
                    self.end = i;
                    continue;
                }
            }
            let c = if b < 0x80 { b as char } else { text[i..].chars().next().expect("inside the text") };
            i = self.character(c, i, text);
        }
        self.finish(text);
    }

    /// Whether a mark follows the character at `at`.
    fn is_marked(&self, text: &str, at: usize) -> bool {
        text[at..].chars().nth(1).is_some_and(|next| !next.is_ascii() && continues(next))
    }

    /// Takes a character and what belongs to it; returns where the next one starts.
    fn character(&mut self, c: char, at: usize, text: &str) -> usize {
        let after = at + c.len_utf8();
        if self.rules.separators.contains(&c) {
            self.finish(text);
            return self.single(at, after_marks(text, after), text, TokenKind::Symbol);
        }
        let (c, after) = self.rules.composed(c, after, text);
        if let Some(to) = self.rules.replacement(c) {
            self.open(at);
            let to = to.chars().filter(|r| !r.is_control());
            to.for_each(|r| self.rules.push_folded(r, &mut self.chain));
            self.end = after;
            return after;
        }
        if c == '<'
            && let Some(end) = placeholder_end(text, at)
        {
            self.finish(text);
            return self.placeholder(at, end, text);
        }
        match class(c) {
            Class::Letter => self.letter(c, at, after),
            Class::Mark => {
                // a mark belongs to the letter before it; alone it is nothing
                if !self.chain.is_empty() {
                    push_folded(c, &mut self.chain);
                    self.end = after;
                }
            }
            Class::Ideograph | Class::Unspaced => return self.run(c, at, text),
            Class::Fraction => {
                self.finish(text);
                return self.fraction(c, at, after_marks(text, after));
            }
            Class::Picture => {
                self.finish(text);
                return self.single(at, picture_end(text, at), text, TokenKind::Symbol);
            }
            Class::Currency => {
                self.finish(text);
                return self.single(at, after_marks(text, after), text, TokenKind::Symbol);
            }
            Class::Joint if !self.chain.is_empty() && self.joins(&text[after..]) => {
                let digit_before = self.chain.as_bytes().last().is_some_and(u8::is_ascii_digit);
                self.cut(after, if digit_before { Cut::JointAfterDigit } else { Cut::Joint });
                self.lower_before = false;
            }
            Class::Joint | Class::Gap => self.finish(text),
        }
        after
    }

    /// Whether the text after in-word punctuation goes on with a word.
    fn joins(&self, rest: &str) -> bool {
        rest.chars()
            .next()
            .is_some_and(|next| class(next) == Class::Letter && !self.rules.separators.contains(&next))
    }

    fn letter(&mut self, c: char, at: usize, end: usize) {
        if self.options.camel_case && c.is_uppercase() && self.lower_before && !self.chain.is_empty() {
            self.cut(at, Cut::Capital);
        }
        self.open(at);
        self.rules.push_folded(c, &mut self.chain);
        self.end = end;
        self.lower_before = c.is_lowercase() || c.is_numeric();
    }
    fn open(&mut self, at: usize) {
        if self.chain.is_empty() {
            self.part = Part { from: 0, start: at, end: at, cut: Cut::Joint };
        }
    }

    /// Ends a part of the chain; the next one starts at `next` in the text.
    fn cut(&mut self, next: usize, cut: Cut) {
        let done = Part { end: self.end, ..self.part };
        self.parts.push(done);
        self.part = Part { from: self.chain.len(), start: next, end: next, cut };
    }

    /// Emits the text at `start..end` as one word, folded or, when nothing is left of it, as it is.
    fn single(&mut self, start: usize, end: usize, text: &str, kind: TokenKind) -> usize {
        let mut folded = std::mem::take(&mut self.chain);
        if text[start..].chars().next().is_some_and(|c| class(c) == Class::Picture) {
            push_picture(&text[start..end], &mut folded);
        } else {
            self.fold(&text[start..end], &mut folded);
        }
        if folded.is_empty() {
            folded.push_str(&text[start..end]);
        }
        self.emit(&folded, start, end, self.position, 1, kind);
        self.position += 1;
        folded.clear();
        self.chain = folded;
        end
    }
    /// Emits a placeholder as one word with its brackets, which no ordinary word has.
    fn placeholder(&mut self, start: usize, end: usize, text: &str) -> usize {
        let mut folded = std::mem::take(&mut self.chain);
        folded.push_str(PLACEHOLDER_START);
        let name = text[start..end].chars().filter(|c| c.is_alphanumeric());
        name.for_each(|c| self.rules.push(c, &mut folded));
        folded.push('>');
        self.emit(&folded, start, end, self.position, 1, TokenKind::Symbol);
        self.position += 1;
        folded.clear();
        self.chain = folded;
        end
    }
    fn fold(&self, text: &str, out: &mut String) {
        self.rules.characters(text).for_each(|(c, _)| self.rules.push(c, out));
    }
    /// Emits the numbers of a fraction as two words in the same place.
    fn fraction(&mut self, c: char, at: usize, after: usize) -> usize {
        let mut numbers = String::new();
        push_fraction(c, &mut numbers);
        for number in numbers.split_ascii_whitespace() {
            self.emit(number, at, after, self.position, 1, TokenKind::Word);
            self.position += 1;
        }
        after
    }
    /// Takes the characters of a script without spaces that start at `at`; returns where they end.
    fn run(&mut self, c: char, at: usize, text: &str) -> usize {
        self.finish(text);
        let wanted = class(c);
        if wanted == Class::Ideograph && !self.rules.segments {
            return self.single(at, after_marks(text, at + c.len_utf8()), text, TokenKind::Ideograph);
        }
        let end = segment::run_end(text, at, wanted);
        let run = &text[at..end];
        let kind = if wanted == Class::Ideograph { TokenKind::Ideograph } else { TokenKind::Word };
        segment::words(run, &mut |from, to| {
            self.single(at + from, at + to, text, kind);
            if kind == TokenKind::Ideograph {
                let next = self.position;
                segment::insides(run, from, to, &mut |from, to| {
                    self.position = next - 1;
                    self.single(at + from, at + to, text, TokenKind::Inside);
                });
            }
        });
        end
    }

    fn emit(&mut self, text: &str, start: usize, end: usize, position: u32, span: u32, kind: TokenKind) {
        if !text.is_empty() {
            (self.sink)(Token { text: capped(text), start, end, position, span, kind });
        }
    }

    /// Ends the chain and emits it.
    fn finish(&mut self, text: &str) {
        self.lower_before = false;
        if self.chain.is_empty() {
            return;
        }
        let chain = std::mem::take(&mut self.chain);
        if self.parts.is_empty() {
            self.emit(&chain, self.part.start, self.end, self.position, 1, TokenKind::Word);
            if !self.options.compounds.is_empty() {
                self.compound_parts(&chain, text);
            }
            self.position += 1;
        } else {
            self.finish_joined(&chain);
        }
        self.chain = chain;
        self.chain.clear();
    }
    /// Emits the parts of a compound at the position of the whole.
    fn compound_parts(&mut self, word: &str, text: &str) {
        let parts = self.rules.dictionaries.compound_parts(word, self.options.compounds);
        let (start, end) = (self.part.start, self.end);
        let mut from = 0;
        for part in parts {
            // custom entries may name parts that are not written in the word
            let found = word[from..].find(&part).map(|i| from + i);
            let chars_before = |bytes: usize| word[..bytes].chars().count();
            let place = |bytes: usize| match chars_before(bytes) {
                0 => start,
                wanted => self.rules.beginning_end(text, start, end, wanted),
            };
            let (at, after) = found.map_or((start, end), |i| (place(i), place(i + part.len())));
            from = found.map_or(from, |i| i + part.len());
            self.emit(&part, at, after.max(at), self.position, 1, TokenKind::Inside);
        }
    }

    /// Emits the whole chain, then each word between its joints, and inside of it what capital letters part.
    fn finish_joined(&mut self, chain: &str) {
        let last = Part { end: self.end, ..self.part };
        self.parts.push(last);
        let parts = std::mem::take(&mut self.parts);
        let text_of = |from: usize, to: usize| {
            &chain[parts[from].from..parts.get(to).map_or(chain.len(), |next| next.from)]
        };
        let cut = |i: usize| parts.get(i).map(|part| part.cut);
        let word_end =
            |from: usize| (from + 1..).find(|&i| cut(i) != Some(Cut::Capital)).unwrap_or(parts.len());
        let is_long = |from: usize, to: usize| {
            text_of(from, to).chars().count() >= 3
                || (from > 0 && cut(from) == Some(Cut::JointAfterDigit))
                || cut(to) == Some(Cut::JointAfterDigit)
        };
        let words = || {
            let next = |&(_, to): &(usize, usize)| (to < parts.len()).then(|| (to, word_end(to)));
            let all = std::iter::successors(Some((0, word_end(0))), next);
            // what capital letters part is kept, however short
            all.filter(|&(from, to)| to - from > 1 || is_long(from, to))
        };
        let kept: u32 = words().map(|(from, to)| (to - from) as u32).sum();
        let (start, end, first) = (parts[0].start, self.end, self.position);
        let kind = if kept == 0 { TokenKind::Word } else { TokenKind::Joined };
        self.emit(chain, start, end, first, kept.max(1), kind);
        for (from, to) in words() {
            if (from, to) != (0, parts.len()) && to - from > 1 && is_long(from, to) {
                let (start, end, span) = (parts[from].start, parts[to - 1].end, (to - from) as u32);
                self.emit(text_of(from, to), start, end, self.position, span, TokenKind::Joined);
            }
            for (i, part) in parts.iter().enumerate().take(to).skip(from) {
                self.emit(text_of(i, i + 1), part.start, part.end, self.position, 1, TokenKind::Word);
                self.position += 1;
            }
        }
        self.position = self.position.max(first + 1);
        self.parts = parts;
        self.parts.clear();
    }
}
