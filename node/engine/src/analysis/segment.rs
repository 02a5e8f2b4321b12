//! Where are the words of a text that is written without spaces? By the dictionaries of `icu_segmenter`.
//!
//! Thai, Lao, Khmer and Burmese are always cut into words; Chinese and Japanese when indexLanguages names one of them,
//! otherwise each ideograph is a word (C§6.2). Measured: about 10 MB of Chinese a second; other text never comes here.

use crate::text::{Class, after_marks, class, continues, is_han};
use icu_segmenter::options::WordBreakInvariantOptions;
use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
use std::sync::LazyLock;

static WORDS: LazyLock<WordSegmenterBorrowed<'static>> =
    LazyLock::new(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()));

/// Bytes of a text that are cut at once; the rest of a longer run is cut on its own.
const RUN_BYTES_MAX: usize = 4_096;

/// Byte offset after the run of characters of one class, marks included, that starts at `at`.
pub(super) fn run_end(text: &str, at: usize, wanted: Class) -> usize {
    let mut end = at;
    for (i, c) in text[at..].char_indices() {
        if i >= RUN_BYTES_MAX || !(class(c) == wanted || (i > 0 && continues(c))) {
            break;
        }
        end = at + i + c.len_utf8();
    }
    end
}
/// Calls `each` with the byte offsets of every word of a run.
pub(super) fn words(run: &str, each: &mut dyn FnMut(usize, usize)) {
    let mut start = 0;
    for end in WORDS.segment_str(run) {
        // marks stay with what they belong to
        if end > start && !run[end..].starts_with(continues) {
            each(start, end);
            start = end;
        }
    }
}
/// Calls `each` with the stretches by which the inside of a word of a run is found, too, so that whoever looks for a part of
/// it finds it: every one, two or three ideographs of the word, and the pair across its end, since people may cut otherwise; and what a
/// word ends with from any of its katakana on, since compounds of foreign words are one word to dictionaries.
pub(super) fn insides(run: &str, start: usize, end: usize, each: &mut dyn FnMut(usize, usize)) {
    let places: Vec<(usize, char)> = run[start..].char_indices().take(WORD_CHARS_MAX).collect();
    let inside = places.iter().filter(|(i, _)| start + i < end).count();
    let katakana = places[..inside].iter().rev().take_while(|(_, c)| is_katakana(*c)).count();
    let is_whole = run[start..end].chars().count() == inside;
    let later = places.iter().take(inside.saturating_sub(1)).skip((inside - katakana).max(1));
    for (i, _) in later.filter(|(_, c)| is_whole && begins_word(*c)) {
        let has_several = run[start + i..end].chars().filter(|c| !continues(*c)).nth(1).is_some();
        if has_several {
            each(start + i, end);
        }
    }
    for from in 0..inside {
        for length in 1..=PART_CHARS_MAX {
            let Some(part) = places.get(from..from + length) else { break };
            let crosses = from + length > inside;
            if !part.iter().all(|(_, c)| is_han(*c)) || (crosses && (length != 2 || from + 1 != inside)) {
                break;
            }
            let (last, c) = part[length - 1];
            let stretch = (start + part[0].0, after_marks(run, start + last + c.len_utf8()));
            if stretch != (start, end) {
                each(stretch.0, stretch.1);
            }
        }
    }
}
fn is_katakana(c: char) -> bool {
    matches!(c, '\u{30A1}'..='\u{30FF}' | '\u{FF66}'..='\u{FF9F}' | '\u{3099}' | '\u{309A}')
}
/// Whether a word may begin with a katakana: no word does with a small one, `ン`, or a sign of length.
fn begins_word(c: char) -> bool {
    let small = "ァィゥェォッャュョヮヵヶンー・ヽヾｧｨｩｪｫｬｭｮｯｰﾝﾞﾟ";
    !small.contains(c) && !continues(c)
}
/// Ideographs of a part of a word that is indexed.
const PART_CHARS_MAX: usize = 3;
/// Characters of a word whose parts are indexed; dictionaries hold hardly a longer one.
const WORD_CHARS_MAX: usize = 16;
