//! Which tokens does a text give? The analyzer of an index, and what a token is (C§6.2, C§6.3).

use super::walk::Walk;
use crate::language::{Dictionaries, Languages};
use crate::text::{Class, after_marks, class, push_folded, push_kept};
use quorate_model::Settings;
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::compose;

/// Characters of a token; the rest is cut off.
pub const TOKEN_CHARS_MAX: usize = 64;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A word of the text.
    Word,
    /// Words joined around `.`, `'`, `®` or `©` (C§6.3), or a camel-case word before its parts, also inside such joined words; it
    /// stands at the position of the first of them and covers `span` positions.
    Joined,
    /// One ideograph or kana, or a word of them where words are known (see [`super::segment`]).
    Ideograph,
    /// A part of the word before it, at the same position: of a compound, or of a segmented word from a later ideograph on.
    Inside,
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
    /// Also index the parts of compound words of these languages.
    pub compounds: Languages,
}

/// Turns text into tokens as the settings of an index say. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Analyzer {
    rules: Arc<Rules>,
}

/// The settings that shape words.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub separators: Vec<char>,
    /// In lower case.
    pub kept: Vec<char>,
    pub replaced: Vec<(char, String)>,
    /// Whether dictionaries say which ideographs are a word.
    pub segments: bool,
    pub dictionaries: Arc<Dictionaries>,
}
impl Rules {
    /// Whether ASCII letters and digits are just lowered.
    pub fn is_plain(&self) -> bool {
        self.separators.is_empty() && self.replaced.is_empty()
    }
    /// What customNormalization puts in place of a character; capital letters follow their small ones.
    pub fn replacement(&self, c: char) -> Option<&str> {
        if self.replaced.is_empty() {
            return None;
        }
        let of = |c: char| self.replaced.iter().find(|(from, _)| *from == c).map(|(_, to)| to.as_str());
        let mut lower = c.to_lowercase();
        of(c).or_else(|| lower.next().filter(|_| lower.next().is_none()).and_then(of))
    }
    /// Whether a character keeps its marks.
    pub fn keeps(&self, c: char) -> bool {
        !self.kept.is_empty() && c.to_lowercase().any(|lower| self.kept.contains(&lower))
    }
    /// A character and where it ends, at `after` in the text, with the marks behind it when settings name what they make together: texts
    /// have it in either form.
    pub fn composed(&self, c: char, after: usize, text: &str) -> (char, usize) {
        if self.kept.is_empty() && self.replaced.is_empty() {
            return (c, after);
        }
        let (mut whole, mut end) = (c, after);
        for mark in text[after..].chars().take_while(|mark| !mark.is_ascii()) {
            let Some(composed) = compose(whole, mark) else { break };
            (whole, end) = (composed, end + mark.len_utf8());
        }
        let is_named = end > after && (self.keeps(whole) || self.replacement(whole).is_some());
        if is_named { (whole, end) } else { (c, after) }
    }
    /// All characters of a text, each with where it ends.
    pub fn characters<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (char, usize)> + 't {
        let mut at = 0;
        std::iter::from_fn(move || {
            let c = text[at..].chars().next()?;
            let found = self.composed(c, at + c.len_utf8(), text);
            at = found.1;
            Some(found)
        })
    }
    /// Appends what a character is searched as.
    pub fn push(&self, c: char, out: &mut String) {
        if let Some(to) = self.replacement(c) {
            to.chars().for_each(|c| self.push_folded(c, out));
        } else {
            self.push_folded(c, out);
        }
    }
    /// The same behind customNormalization.
    pub fn push_folded(&self, c: char, out: &mut String) {
        if self.keeps(c) { push_kept(c, out) } else { push_folded(c, out) }
    }
    /// See [`Analyzer::beginning_end`].
    pub fn beginning_end(&self, text: &str, start: usize, end: usize, wanted: usize) -> usize {
        let word = &text[start..end];
        if self.is_plain() && word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return end.min(start + wanted.max(1));
        }
        if word.chars().next().is_some_and(|c| class(c) == Class::Picture) {
            return end;
        }
        let mut folded = String::new();
        for (c, after) in self.characters(word) {
            self.push(c, &mut folded);
            if folded.chars().nth(wanted.saturating_sub(1)).is_some() {
                return after_marks(text, start + after).min(end);
            }
        }
        end
    }
}
impl Analyzer {
    /// Takes separatorsToIndex, keepDiacriticsOnCharacters, customNormalization and indexLanguages over. Whoever needs one asks
    /// the [`super::Schema`].
    pub(super) fn new(settings: &Settings, dictionaries: Arc<Dictionaries>) -> Analyzer {
        let index = &settings.index;
        let languages = Languages::listed(&index.index_languages);
        let rules = Rules {
            separators: index.separators_to_index.chars().filter(|c| !c.is_whitespace()).collect(),
            kept: kept(&index.keep_diacritics_on_characters),
            replaced: index.custom_normalization.clone(),
            segments: languages.has("zh") || languages.has("ja"),
            dictionaries,
        };
        Analyzer { rules: Arc::new(rules) }
    }
    #[cfg(test)]
    pub(super) fn of(rules: Rules) -> Analyzer {
        Analyzer { rules: Arc::new(rules) }
    }
    /// Calls `sink` for every token of `text`, in text order; a joined form comes before its parts, a word before what is
    /// inside it. Returns the number of positions used.
    ///
    /// Cost: one pass; one allocation.
    pub fn tokens(&self, text: &str, options: TokenOptions, sink: impl FnMut(Token<'_>)) -> u32 {
        let mut walk = Walk::new(&self.rules, options, sink);
        walk.text(text);
        walk.positions()
    }
    /// The normalised form of a text as one string: its words separated by single spaces.
    pub fn normalise(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        self.tokens(text, TokenOptions::default(), |token| {
            if token.span > 1 || token.kind == TokenKind::Inside {
                return;
            }
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(token.text);
        });
        out
    }
    /// Byte offset where the first `wanted` normalised characters of the word at `start..end` end in its text: after whole
    /// characters with their marks, at `end` at most.
    pub fn beginning_end(&self, text: &str, start: usize, end: usize, wanted: usize) -> usize {
        self.rules.beginning_end(text, start, end, wanted)
    }
}
/// The characters that are named, in lower case: as they are written, and as one where their marks are written apart. Some that are one
/// fall apart in the composed form.
fn kept(named: &str) -> Vec<char> {
    let written = named.chars().filter(|c| class(*c) != Class::Mark);
    written.chain(named.nfc()).flat_map(char::to_lowercase).collect()
}
/// A text of at most [`TOKEN_CHARS_MAX`] characters.
pub(super) fn capped(text: &str) -> &str {
    if text.len() <= TOKEN_CHARS_MAX {
        return text;
    }
    text.char_indices().nth(TOKEN_CHARS_MAX).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
