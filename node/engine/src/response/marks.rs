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
        let wanted = &mut self.wanted;
        self.analyzer.tokens(&text[from..to], options, |token| {
            let (start, token_end) = (from + token.start, from + token.end);
            let mut found = 0;
            if wanted.may_be_token(token.text) {
                let (stretch, position) = ((start, token_end), first + token.position);
                found = marks.add(start, wanted.in_token(text, stretch, token.text, position, typos));
            }
            if token.kind == TokenKind::Joined && token.span > 1 {
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
mod tests {
    use super::*;
    use crate::analysis::Schema;
    use crate::query::synonyms::SynonymSet;
    use crate::query::words::words_of;
    use proptest::prelude::*;
    use quorate_model::{SearchParams, Settings};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    /// The words of texts in several scripts, joined in several ways.
    fn spans_of(text: &str) -> Vec<Span> {
        let settings = serde_json::json!({"indexLanguages": ["zh"]});
        let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
        let schema = Schema::new(Arc::new(settings), Arc::default());
        let mut marker = Marker::new(schema.settings(), schema.analyzer(), &[], &[], false);
        marker.mark(text, TokenOptions::default(), &[], Detail::Words);
        marker.marks.spans
    }

    proptest! {
        #[test]
        fn a_word_is_found_as_by_going_through_all(
            text in "([a-c'.½$é 中国人民银行ไทย-]|don't|e\\.g\\. ){0,40}", from in 0usize..60, to in 0usize..60,
        ) {
            let spans = spans_of(&text);
            let stretch = (from.min(to), from.max(to));
            let mut marks = Marks { spans: spans.clone(), ..Marks::default() };
            marks.add_within(stretch, 1);
            let mut expected = spans;
            if let Some(span) = expected.iter_mut().find(|span| span.start <= stretch.0 && stretch.1 <= span.end) {
                span.words |= 1;
            }
            prop_assert_eq!(marks.spans, expected);
        }
        #[test]
        fn covered_is_what_lies_within_marks(
            mut marked in proptest::collection::vec((0usize..40, 0usize..9), 0..9),
            spans in proptest::collection::vec((0usize..40, 0usize..4), 0..5),
        ) {
            marked.iter_mut().for_each(|(start, end)| *end += *start);
            join(&mut marked);
            let spans: Vec<Span> =
                spans.into_iter().map(|(start, length)| Span { start, end: start + length, words: 0 }).collect();
            let inside = |span: &Span| marked.iter().any(|m| m.0 <= span.start && span.end <= m.1);
            let expected = !marked.is_empty() && spans.iter().all(inside);
            let marks = Marks { marked, spans, ..Marks::default() };
            prop_assert_eq!(marks.is_covered(), expected);
        }
    }

    #[test]
    fn a_text_that_is_marked_from_end_to_end_takes_one_pass() {
        let schema = Schema::default();
        let params = schema.settings().effective(&SearchParams::default());
        let synonym = serde_json::json!({"type": "synonym", "synonyms": ["tv", "tele vision", "screen"]});
        let synonym = quorate_model::Synonym::parse_body(synonym.to_string().as_bytes(), "s").unwrap();
        let synonyms = SynonymSet::new(&schema, [&synonym]);
        let read = words_of(&schema, &synonyms, &params, "tv");
        let typos = vec![0; read.wanted.len() + read.alternatives.len()];
        let mut marker =
            Marker::new(schema.settings(), schema.analyzer(), &read.wanted, &read.alternatives, false)
                .replacing(Synonyms::Replaced);
        let text = "tele vision tv screen ".repeat(20_000);
        let began = Instant::now();
        marker.mark(&text, TokenOptions::default(), &typos, Detail::Words);
        let marks = &marker.marks;
        assert!(marks.covered);
        let of_synonyms = marks.marked.iter().filter(|&&stretch| marks.synonym_at(stretch).is_some()).count();
        assert_eq!(of_synonyms, 40_000);
        // word by word these are thousands of millions of looks
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    }

    #[test]
    fn a_word_as_near_as_its_beginning_is_marked_as_a_whole() {
        let schema = Schema::default();
        let (settings, analyzer) = (schema.settings(), schema.analyzer());
        for (query, text, end) in
            [("lantrn", "lantern", 7), ("lante", "lantern", 5), ("lamte", "lantern", 5), ("lampe", "lamp", 4)]
        {
            let params = settings.effective(&SearchParams::default());
            let words = words_of(&schema, &SynonymSet::default(), &params, query).wanted;
            let mut marker = Marker::new(settings, analyzer, &words, &[], false);
            marker.mark(text, TokenOptions::default(), &[2], Detail::Marks);
            assert_eq!(marker.marks.marked, [(0, end)], "{query}");
        }
    }

    #[test]
    fn the_short_way_finds_what_the_analyzer_finds() {
        let schema = Schema::default();
        let (settings, analyzer) = (schema.settings(), schema.analyzer());
        let params = settings.effective(&SearchParams::default());
        let synonym = serde_json::json!({"type": "synonym", "synonyms": ["3", "long way", "x11 apps"]});
        let synonym = quorate_model::Synonym::parse_body(synonym.to_string().as_bytes(), "s").unwrap();
        let synonyms = SynonymSet::new(&schema, [&synonym]);
        let reads =
            ["dont libary 3 c x11", "libary c"].map(|query| words_of(&schema, &synonyms, &params, query));
        let long = format!("{} c {} 3", "and so on ".repeat(9), "é ".repeat(3));
        for text in [
            "",
            "A library in C, and more.",
            "don't (libraries) 3.14 c++ _c_ -c- e.g. x11-apps/x11",
            "costs $3, or 3$",
            "end.",
            "'c'",
            "émigré library",
            "Library.LIBRARY l-i-b",
            "tab\there\nlibrary\"c\"",
            "a long way don't e.g. be a long é way, C",
            "long way 3 C X11 apps",
            &long,
        ] {
            // the second one has few first letters when there are no typos
            for (read, typos) in reads.iter().flat_map(|read| [(read, 0), (read, 2)]) {
                let typos = vec![typos; read.wanted.len() + read.alternatives.len()];
                let mut marker = Marker::new(settings, analyzer, &read.wanted, &read.alternatives, false)
                    .replacing(Synonyms::Replaced);
                let mut marks = |plain_only, detail| {
                    marker.plain_only = plain_only;
                    marker.mark(text, TokenOptions::default(), &typos, detail);
                    marker.marks.clone()
                };
                let long = marks(false, Detail::Words);
                let short = marks(true, Detail::Words);
                assert_eq!(short.spans, long.spans, "{text}");
                for marks in [short, marks(true, Detail::Marks), marks(false, Detail::Marks)] {
                    assert_eq!(
                        (marks.marked, marks.synonyms, marks.words, marks.covered),
                        (long.marked.clone(), long.synonyms.clone(), long.words, long.covered),
                        "{text}"
                    );
                }
            }
        }
    }
}
