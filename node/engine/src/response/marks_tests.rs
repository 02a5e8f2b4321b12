//! Which stretches of a text are marked?

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
    let reads = ["dont libary 3 c x11", "libary c"].map(|query| words_of(&schema, &synonyms, &params, query));
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
