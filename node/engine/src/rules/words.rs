//! Which words does a text consist of, and where do they stand in it?

use crate::analysis::{Analyzer, TokenKind, TokenOptions};

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlacedWord {
    /// Normalised.
    pub text: String,
    /// Byte offset of its first character.
    pub start: usize,
    /// Byte offset after its last character.
    pub end: usize,
}

/// The words of a text, one for each position, as queries are taken apart: joined forms give way to their parts when those
/// are words, too.
pub(super) fn placed_words(analyzer: &Analyzer, text: &str) -> Vec<PlacedWord> {
    let mut words: Vec<PlacedWord> = vec![];
    let mut last = None;
    analyzer.tokens(text, TokenOptions::default(), |token| {
        let joined = token.kind == TokenKind::Joined;
        if joined && token.span > 1 {
            return;
        }
        let word = || PlacedWord { text: token.text.to_string(), start: token.start, end: token.end };
        if last != Some(token.position) {
            words.push(word());
            last = Some(token.position);
        } else if joined && let Some(known) = words.last_mut() {
            *known = word();
        }
    });
    words
}
/// The normalised words alone.
pub(super) fn texts(analyzer: &Analyzer, text: &str) -> Vec<String> {
    placed_words(analyzer, text).into_iter().map(|word| word.text).collect()
}
