//! What are the parts of a compound word?
//!
//! At index time a word counts as a compound when lists say so: either all of it consists of listed parts, or it ends
//! with one. At query time the words of the index serve as the dictionary: both parts must occur. Between two parts there
//! may be linking letters.

use super::codes::{Language, Languages};
use super::heads;
use rustc_hash::FxHashSet;
use std::sync::LazyLock;

/// Characters of a part at least.
const PART_MIN: usize = 3;
/// Characters at least of a listed word at the end, and of what stands before it, when the latter is not listed.
const HEAD_MIN: usize = 4;
/// Characters of a word that is looked at.
const WORD_MAX: usize = 40;

struct Compounding {
    languages: LazyLock<Languages>,
    /// What may stand between two parts; longer first.
    links: &'static [&'static str],
    listed: LazyLock<FxHashSet<&'static str>>,
}
macro_rules! compounding {
    ($codes:expr, $parts:expr, $links:expr) => {
        Compounding {
            languages: LazyLock::new(|| Languages::listed($codes)),
            links: $links,
            listed: LazyLock::new(|| $parts.split_ascii_whitespace().collect()),
        }
    };
}
static COMPOUNDING: [Compounding; 6] = [
    compounding!(&["de"], heads::GERMAN, &["es", "en", "er", "s", "n", "e", ""]),
    compounding!(&["nl"], heads::DUTCH, &["en", "s", "e", ""]),
    compounding!(&["fi"], heads::FINNISH, &["n", "en", ""]),
    compounding!(&["da"], heads::DANISH, &["s", "e", "er", ""]),
    compounding!(&["sv"], heads::SWEDISH, &["s", "e", ""]),
    compounding!(&["no", "nb"], heads::NORWEGIAN, &["s", "e", "er", ""]),
];
fn of(languages: Languages) -> impl Iterator<Item = &'static Compounding> {
    COMPOUNDING.iter().filter(move |one| !one.languages.common(languages).is_empty())
}
/// Whether words of one of the languages are taken apart.
pub(super) fn has_compounds(languages: Languages) -> bool {
    of(languages).next().is_some()
}
/// The parts that compounds of a language are known to consist of.
pub(super) fn listed(language: Language) -> Vec<&'static str> {
    let all = of(Languages::NONE.with(language)).flat_map(|one| one.listed.iter().copied());
    all.collect()
}
/// The parts of a normalised word as far as the lists know, and who else knows parts of some languages; none when it is no
/// compound. The lists of languages in `off` do not count.
pub(super) fn known_parts(
    word: &str,
    languages: Languages,
    off: Languages,
    is_custom: &dyn Fn(&str, Languages) -> bool,
) -> Vec<String> {
    if !is_candidate(word) {
        return vec![];
    }
    let parts = of(languages).map(|language| {
        let common = language.languages.common(languages);
        let has_list = !common.minus(off).is_empty();
        let is_part = |part: &str| has_list && language.listed.contains(part) || is_custom(part, common);
        language.parts_of(word, &is_part)
    });
    let mut found = parts.filter(|parts| !parts.is_empty());
    found.next().unwrap_or_default()
}
/// Two words of the index that make up a normalised word, the second as long as possible.
pub(super) fn split_by_terms(
    word: &str,
    languages: Languages,
    is_term: &mut dyn FnMut(&str) -> bool,
) -> Option<(String, String)> {
    if !is_candidate(word) {
        return None;
    }
    for language in of(languages) {
        for at in cuts(word, PART_MIN, HEAD_MIN) {
            let (before, head) = word.split_at(at);
            if !is_term(head) {
                continue;
            }
            let first = language.without_link(before).find(|first| is_term(first));
            if let Some(first) = first {
                return Some((first.to_string(), head.to_string()));
            }
        }
    }
    None
}
fn is_candidate(word: &str) -> bool {
    let length = word.chars().count();
    (PART_MIN + HEAD_MIN..=WORD_MAX).contains(&length) && word.chars().all(char::is_alphabetic)
}
/// Byte offsets where a word may be cut, from the left, so many characters on either side at least.
fn cuts(word: &str, before: usize, after: usize) -> impl Iterator<Item = usize> {
    let length = word.chars().count();
    let inside = move |i: &usize| *i >= before && i + after <= length;
    word.char_indices().enumerate().filter(move |(i, _)| inside(i)).map(|(_, (at, _))| at)
}
impl Compounding {
    /// What the first part of a compound may be when `before` is left of the second one, with and without linking letters.
    fn without_link<'w>(&self, before: &'w str) -> impl Iterator<Item = &'w str> {
        let stripped = self.links.iter().rev().filter_map(move |link| before.strip_suffix(link));
        stripped.filter(|first| first.chars().count() >= PART_MIN)
    }
    fn parts_of(&self, word: &str, is_part: &dyn Fn(&str) -> bool) -> Vec<String> {
        if is_part(word) {
            return vec![];
        }
        let mut parts = vec![];
        if self.all_known(word, is_part, &mut parts) && parts.len() > 1 {
            return parts;
        }
        for at in cuts(word, HEAD_MIN, HEAD_MIN) {
            let (before, head) = word.split_at(at);
            if is_part(head) && before.contains(['a', 'e', 'i', 'o', 'u', 'y']) {
                return vec![before.to_string(), head.to_string()];
            }
        }
        vec![]
    }
    /// Whether the word consists of known parts, which are then appended in order; longer first parts are preferred.
    fn all_known(&self, word: &str, is_part: &dyn Fn(&str) -> bool, parts: &mut Vec<String>) -> bool {
        if is_part(word) {
            parts.push(word.to_string());
            return true;
        }
        let mut starts: Vec<usize> = cuts(word, PART_MIN, PART_MIN).collect();
        starts.reverse();
        for at in starts {
            let (before, rest) = word.split_at(at);
            for first in self.without_link(before).filter(|first| is_part(first)) {
                let length = parts.len();
                parts.push(first.to_string());
                if self.all_known(rest, is_part, parts) {
                    return true;
                }
                parts.truncate(length);
            }
        }
        false
    }
}
