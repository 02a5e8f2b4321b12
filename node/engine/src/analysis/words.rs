//! Which words has a text, one for each position?

use super::{Analyzer, TokenKind, TokenOptions};

/// Appends the words of a text with single spaces between them: those of [`normalised`], without a list.
pub fn push_words(analyzer: &Analyzer, text: &str, out: &mut String) {
    let start = out.len();
    let mut last = None;
    analyzer.tokens(text, TokenOptions::default(), |token| {
        let only_parts_count = token.kind == TokenKind::Joined && token.span > 1;
        if only_parts_count || last == Some(token.position) {
            return;
        }
        if out.len() > start {
            out.push(' ');
        }
        out.push_str(token.text);
        last = Some(token.position);
    });
}
/// The words of a text, one for each position. Joined forms give way to their parts when those are indexed, too.
pub fn normalised(analyzer: &Analyzer, text: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    let mut last = None;
    analyzer.tokens(text, TokenOptions::default(), |token| {
        let joined = token.kind == TokenKind::Joined;
        if joined && token.span > 1 {
            return;
        }
        if last != Some(token.position) {
            words.push(token.text.to_string());
            last = Some(token.position);
        } else if joined && let Some(word) = words.last_mut() {
            *word = token.text.to_string();
        }
    });
    words
}
