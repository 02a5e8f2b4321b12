//! Which stretches of a text match the words of the query? (C§9.3)

use super::matches::{QueryMatcher, Synonyms, TokenMatch};
use super::plain::PlainText;
use crate::analysis::{Analyzer, TokenKind, TokenOptions};
use crate::query::{Alternative, Word};
use crate::ranking::criteria::typo::NO_MATCH;
use quorate_model::Settings;

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
/// What is to be found in a text?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Marks, and which words they are of.
    Marks,
    /// Each word of the text as well.
    Words,
}
/// What was found in one text.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Marked stretches, in order, apart from each other.
    pub marked: Vec<(usize, usize)>,
    /// Stretches that are a synonym of the query words with these bits, when they are to be replaced; in order.
    pub synonyms: Vec<((usize, usize), u16)>,
    /// The words of the text, one for each position; with [`Detail::Marks`] only some of them.
    pub spans: Vec<Span>,
    /// Bits of the query words that match anywhere.
    pub words: u16,
    /// Whether every word of the text is marked as a whole.
    pub covered: bool,
}
/// Finds the words of one query in texts.
pub struct Marker<'a> {
    analyzer: &'a Analyzer,
    wanted: QueryMatcher<'a>,
    /// Whether no setting changes how plain ASCII text falls into words.
    plain_only: bool,
    plain: PlainText,
    lowered: String,
    /// The last text's marks.
    pub marks: Marks,
}
impl<'a> Marker<'a> {
    /// `deep` says whether the query looked for wrong first letters with a second edit.
    pub fn new(
        settings: &Settings,
        analyzer: &'a Analyzer,
        words: &'a [Word],
        alternatives: &'a [Alternative],
        deep: bool,
    ) -> Marker<'a> {
        let index = &settings.index;
        let plain_only = index.separators_to_index.is_empty() && index.custom_normalization.is_empty();
        let wanted = QueryMatcher::new(analyzer, words, alternatives, deep);
        Marker {
            analyzer,
            wanted,
            plain_only,
            plain: PlainText::default(),
            lowered: String::new(),
            marks: Marks::default(),
        }
    }
    /// Also tells which stretches are synonyms.
    pub fn replacing(mut self, synonyms: Synonyms) -> Marker<'a> {
        self.wanted.synonyms = synonyms;
        self
    }
    /// Empties the marks when no word can match in any text of the record; `false` when some may.
    pub fn is_idle(&mut self, typos: &[u8]) -> bool {
        let idle = typos.iter().all(|&allowed| allowed == NO_MATCH);
        if idle {
            self.marks.clear();
        }
        idle
    }
    /// Finds the words in `text`. `typos` are the typos with which each word matched the record, then those of each
    /// alternative.
    pub fn mark(&mut self, text: &str, options: TokenOptions, typos: &[u8], detail: Detail) {
        let mut marks = std::mem::take(&mut self.marks);
        marks.clear();
        self.wanted.start(typos);
        let is_plain = self.plain_only && options == TokenOptions::default();
        match is_plain {
            true => self.mark_plain(text, typos, &mut marks, detail),
            false => _ = self.mark_tokens(text, (0, text.len()), 0, options, typos, &mut marks),
        }
        self.wanted.whole_sequences(&mut marks);
        join(&mut marks.marked);
        // stable: of equal stretches the one that was found first counts
        marks.synonyms.sort_by_key(|(stretch, _)| *stretch);
        marks.covered = marks.is_covered()
            && (!is_plain || detail == Detail::Words || self.plain.lies_within(text.len(), &marks.marked));
        self.marks = marks;
    }
    /// Marks a stretch of a text token by token; `first` is the place of its first word. Gives how many words it has.
    fn mark_tokens(
        &mut self,
        text: &str,
        (from, to): (usize, usize),
        first: u32,
        options: TokenOptions,
        typos: &[u8],
        marks: &mut Marks,
    ) -> u32 {
        let before = marks.spans.len();
        let mut last_position = None;
        let mut joined = vec![];
        let wanted = &mut self.wanted;
        self.analyzer.tokens(&text[from..to], options, |token| {
            let (start, token_end) = (from + token.start, from + token.end);
            let (mut found, mut found_end) = (0, token_end);
            if wanted.may_be_token(token.text) {
                let (stretch, position) = ((start, token_end), first + token.position);
                let matched = wanted.in_token(text, stretch, token.text, position, typos);
                found_end = matched.end;
                found = marks.add(start, matched);
            }
            if token.kind == TokenKind::Joined && token.span > 1 {
                joined.extend((found != 0).then_some(((start, found_end), found)));
                return;
            }
            if last_position == Some(token.position) {
                if let Some(span) = marks.spans.last_mut() {
                    span.words |= found;
                    if token.kind != TokenKind::Inside {
                        span.end = span.end.max(token_end);
                    }
                }
            } else {
                marks.spans.push(Span { start, end: token_end, words: found });
                last_position = Some(token.position);
            }
        });
        for (stretch, found) in joined {
            add_to_each(&mut marks.spans[before..], stretch, found);
        }
        (marks.spans.len() - before) as u32
    }
    /// Marks a text whose words are mostly runs of ASCII letters and digits.
    fn mark_plain(&mut self, text: &str, typos: &[u8], marks: &mut Marks, detail: Detail) {
        let mut plain = std::mem::take(&mut self.plain);
        let letters = match detail {
            Detail::Marks => self.wanted.first_letters(),
            Detail::Words => &[],
        };
        plain.read(text, letters);
        let (mut at, mut place) = (0, 0);
        for &(from, to) in plain.odd() {
            place += self.mark_between(text, &plain, (at, from), place, typos, marks, detail);
            place += self.mark_tokens(text, (from, to), place, TokenOptions::default(), typos, marks);
            at = to;
        }
        self.mark_between(text, &plain, (at, text.len()), place, typos, marks, detail);
        self.plain = plain;
    }
    /// Marks a stretch of plain words, the first of which has the place `first`. Gives how many words it has.
    #[allow(clippy::too_many_arguments, reason = "what one text is marked with")]
    fn mark_between(
        &mut self,
        text: &str,
        plain: &PlainText,
        (from, to): (usize, usize),
        first: u32,
        typos: &[u8],
        marks: &mut Marks,
        detail: Detail,
    ) -> u32 {
        let bytes = text.as_bytes();
        if detail == Detail::Marks {
            return plain.begun(from, to, |start, end, number| {
                if self.wanted.may_be(&bytes[start..end]) {
                    self.mark_candidate(text, (start, end), first + number, typos, marks);
                }
            });
        }
        let before = marks.spans.len();
        plain.words(from, to, |start, end| {
            let place = marks.spans.len() as u32;
            let words = match self.wanted.may_be(&bytes[start..end]) {
                true => self.mark_candidate(text, (start, end), place, typos, marks),
                false => 0,
            };
            marks.spans.push(Span { start, end, words });
        });
        (marks.spans.len() - before) as u32
    }
    /// Marks a plain word that may match; bits of the query words that do.
    fn mark_candidate(
        &mut self,
        text: &str,
        (start, end): (usize, usize),
        place: u32,
        typos: &[u8],
        marks: &mut Marks,
    ) -> u16 {
        self.lowered.clear();
        self.lowered.push_str(&text[start..end]);
        self.lowered.make_ascii_lowercase();
        marks.add(start, self.wanted.in_token(text, (start, end), &self.lowered, place, typos))
    }
}
impl Marks {
    fn clear(&mut self) {
        self.marked.clear();
        self.spans.clear();
        self.synonyms.clear();
        self.words = 0;
        self.covered = false;
    }
    /// Marks what was found from `start` on; bits of the query words.
    fn add(&mut self, start: usize, found: TokenMatch) -> u16 {
        let TokenMatch { words, end, synonym_of } = found;
        if words != 0 {
            self.marked.push((start, end));
            self.words |= words;
            if synonym_of != 0 {
                self.synonyms.push(((start, end), synonym_of));
            }
        }
        words
    }
    /// Bits of the query words that a stretch is a synonym of, when it is to be replaced.
    pub fn synonym_at(&self, stretch: (usize, usize)) -> Option<u16> {
        let place = self.synonyms.partition_point(|(synonym, _)| *synonym < stretch);
        self.synonyms.get(place).filter(|(synonym, _)| *synonym == stretch).map(|(_, words)| *words)
    }
    /// Adds query words to the first word of the text that a stretch lies within.
    pub fn add_within(&mut self, (start, end): (usize, usize), words: u16) {
        // words do not begin or end before those that come before them
        let place = self.spans.partition_point(|span| span.end < end);
        if let Some(span) = self.spans.get_mut(place).filter(|span| span.start <= start) {
            span.words |= words;
        }
    }
    /// Whether every word of the text is marked as a whole.
    fn is_covered(&self) -> bool {
        let inside = |span: &Span| {
            // what is marked lies apart, so only the last stretch that begins before can hold it
            let place = self.marked.partition_point(|m| m.0 <= span.start);
            place.checked_sub(1).is_some_and(|before| span.end <= self.marked[before].1)
        };
        !self.marked.is_empty() && self.spans.iter().all(inside)
    }
}
/// Adds query words to each word of a text that a stretch has a part of.
fn add_to_each(spans: &mut [Span], (start, end): (usize, usize), words: u16) {
    let first = spans.partition_point(|span| span.end <= start);
    for span in spans[first..].iter_mut().take_while(|span| span.start < end) {
        span.words |= words;
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
#[cfg(test)]
#[path = "marks_tests.rs"]
mod tests;
