//! Which words say little about what is searched?
//!
//! The standard lists are those of the `stop-words` crate: NLTK's short ones where it has the language, otherwise those
//! of stopwords-iso. A look-up costs one hash.

use super::codes::{Language, Languages};
use crate::text::fold_word;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Languages of each normalised word.
static STANDARD: LazyLock<FxHashMap<String, Languages>> = LazyLock::new(|| {
    let mut words: FxHashMap<String, Languages> = FxHashMap::default();
    for language in Language::all() {
        for word in listed(language) {
            let folded = fold_word(word);
            if !folded.is_empty() {
                let of_word = words.entry(folded).or_default();
                *of_word = of_word.with(language);
            }
        }
    }
    words
});

/// Languages in which a normalised word is a standard stop word.
pub(super) fn languages_of(word: &str) -> Languages {
    STANDARD.get(word).copied().unwrap_or(Languages::NONE)
}
/// The standard list of a language as it is written; empty when there is none.
pub(super) fn listed(language: Language) -> &'static [&'static str] {
    let code = match language.code() {
        "nb" | "ns" => "no",
        "pt-br" => "pt",
        code => code,
    };
    stop_words::lookup(code).unwrap_or_default()
}
/// Whether a language has a standard list.
pub(super) fn has_list(language: Language) -> bool {
    !listed(language).is_empty()
}
