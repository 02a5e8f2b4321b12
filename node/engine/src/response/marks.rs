//! Which stretches of a text match the words of the query? (C§9.3)

use crate::analysis::{Analyzer, TokenKind, TokenOptions};
use crate::matching::typo::{Tolerance, typos_of};
use crate::query::Word;
use crate::ranking::evaluate::NO_MATCH;

/// One word of a shown text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Byte offset of its start.
    pub start: usize,
    /// Byte offset of its end.
    pub end: usize,
    /// Bits of the query words that match it.
    pub words: u16,
}
/// What was found in one text.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Marked stretches, in order, apart from each other.
    pub marked: Vec<(usize, usize)>,
    /// The words of the text, one for each position.
    pub spans: Vec<Span>,
    /// Bits of the query words that match anywhere.
    pub words: u16,
    /// Whether every word of the text is marked as a whole.
    pub covered: bool,
}
/// Finds the words of one query in texts.
pub struct Marker<'a> {
    analyzer: &'a Analyzer,
    words: &'a [Word],
    deep: bool,
    chars: Vec<char>,
    /// The last text's marks.
    pub marks: Marks,
}
/// How much of a token a word matches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    Whole,
    /// The characters of the query word.
    Beginning,
}
impl<'a> Marker<'a> {
    /// `deep` says whether the query looked for wrong first letters with a second edit.
    pub fn new(analyzer: &'a Analyzer, words: &'a [Word], deep: bool) -> Marker<'a> {
        Marker { analyzer, words, deep, chars: vec![], marks: Marks::default() }
    }
    /// Finds the words in `text`. `typos` are the typos with which each word matched the record.
    pub fn mark(&mut self, text: &str, options: TokenOptions, typos: &[u8]) {
        let mut marks = std::mem::take(&mut self.marks);
        marks.marked.clear();
        marks.spans.clear();
        marks.words = 0;
        let mut last_position = None;
        let (words, deep, chars) = (self.words, self.deep, &mut self.chars);
        self.analyzer.tokens(text, options, |token| {
            let mut found = 0u16;
            let mut end = token.start;
            for (i, word) in words.iter().enumerate() {
                let allowed = typos.get(i).copied().unwrap_or(NO_MATCH);
                if allowed == NO_MATCH {
                    continue;
                }
                if let Some(matched) = match_word(word, token.text, allowed, deep, chars) {
                    found |= 1 << i;
                    end = end.max(match matched {
                        Match::Whole => token.end,
                        Match::Beginning => beginning_end(text, token.start, token.end, word.chars.len()),
                    });
                }
            }
            if found != 0 {
                marks.marked.push((token.start, end));
                marks.words |= found;
            }
            if token.kind == TokenKind::Joined && token.span > 1 {
                return;
            }
            if last_position == Some(token.position) {
                if let Some(span) = marks.spans.last_mut() {
                    span.words |= found;
                    span.end = span.end.max(token.end);
                }
            } else {
                marks.spans.push(Span { start: token.start, end: token.end, words: found });
                last_position = Some(token.position);
            }
        });
        join(&mut marks.marked);
        marks.covered = !marks.spans.is_empty() && {
            let inside = |span: &Span| marks.marked.iter().any(|m| m.0 <= span.start && span.end <= m.1);
            !marks.marked.is_empty() && marks.spans.iter().all(inside)
        };
        self.marks = marks;
    }
}
/// Sorts the stretches and joins those that touch.
fn join(marked: &mut Vec<(usize, usize)>) {
    marked.sort_unstable();
    marked.dedup_by(|next, kept| {
        let touches = next.0 <= kept.1;
        if touches {
            kept.1 = kept.1.max(next.1);
        }
        touches
    });
}
fn match_word(word: &Word, token: &str, allowed: u8, deep: bool, chars: &mut Vec<char>) -> Option<Match> {
    if token.starts_with(word.text.as_str()) {
        if token.len() == word.text.len() {
            return Some(Match::Whole);
        }
        if word.prefix {
            return Some(Match::Beginning);
        }
    }
    if allowed == 0 {
        return None;
    }
    chars.clear();
    chars.extend(token.chars());
    let tolerance = Tolerance { edits: word.edits, prefix: word.prefix, deep };
    let typos = typos_of(&word.chars, chars, tolerance)?;
    if typos == 0 || typos > allowed {
        return None;
    }
    Some(if word.prefix && chars.len() > word.chars.len() { Match::Beginning } else { Match::Whole })
}
/// Where the first `wanted` normalised characters of a word end in the original text.
fn beginning_end(text: &str, start: usize, end: usize, wanted: usize) -> usize {
    let mut seen = 0;
    for (i, c) in text[start..end].char_indices() {
        if unicode_normalization::char::is_combining_mark(c) || matches!(c, '.' | '\'' | '’' | '®' | '©')
        {
            continue;
        }
        if seen >= wanted {
            return start + i;
        }
        seen += match c {
            'ß' | 'æ' | 'Æ' | 'œ' | 'Œ' | 'þ' | 'Þ' => 2,
            _ => 1,
        };
    }
    end
}
