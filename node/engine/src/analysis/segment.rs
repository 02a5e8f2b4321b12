//! Where are the words of a text that is written without spaces? By the dictionaries of `icu_segmenter`.
//!
//! Thai, Lao, Khmer and Burmese are always cut into words; Chinese and Japanese when indexLanguages names one of them,
//! otherwise each ideograph is a word (C§6.2). Cost: ▣ 10 MB/s Chinese, 35 Japanese, 55 Thai; other text never comes here.

use super::chars::{Class, class, continues, is_han};
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
        if end > start {
            each(start, end);
        }
        start = end;
    }
}
/// Calls `each` with the stretches by which the inside of a segmented run is found, too: each word from its second, third…
/// ideograph on, and the pair of ideographs across the end of a word, since people may cut otherwise. Whoever looks for a
/// part of a longer word thus finds it as a word or its beginning.
pub(super) fn insides(run: &str, start: usize, end: usize, each: &mut dyn FnMut(usize, usize)) {
    let mut last = None;
    for (i, c) in run[start..end].char_indices().filter(|(_, c)| is_han(*c)) {
        if i > 0 {
            each(start + i, end);
        }
        last = Some((start + i, c));
    }
    let next = run[end..].chars().next().filter(|c| is_han(*c));
    if let (Some((from, c)), Some(next)) = (last, next)
        && from + c.len_utf8() == end
    {
        each(from, end + next.len_utf8());
    }
}
