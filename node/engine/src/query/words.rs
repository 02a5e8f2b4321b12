//! Which words does the query text consist of, and how may each of them match?

use super::alternatives::{self, Alternative};
use super::synonyms::SynonymSet;
use crate::analysis::{Analyzer, Schema, normalised};
use crate::language::{Dictionaries, Languages};
use crate::text::{is_ideographic, letters};
use quorate_model::Settings;
use quorate_model::limits::{QUERY_WORDS_BEYOND_MAX, QUERY_WORDS_MAX};
use quorate_model::params::{QueryType, SyntaxFeatures, TypoTolerance};
use quorate_model::settings::Effective;
use std::sync::Arc;

/// One query word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Normalised text.
    pub text: String,
    /// Its characters.
    pub chars: Vec<char>,
    /// Whether it may be the beginning of a longer word.
    pub prefix: bool,
    /// Edits allowed.
    pub edits: u8,
    /// Whether a record may lack it.
    pub optional: bool,
    /// Whether it must stand directly after the previous word (inside a phrase).
    pub follows: bool,
    /// Whether it stands in quotes: nothing else stands for it.
    pub quoted: bool,
    /// Whether it is a stop word that is the whole query, so that it cannot be exact by itself (C§7.8 `word`).
    pub says_little: bool,
    /// Whether it may be joined with its neighbours (C§6.4 concat).
    pub joins: bool,
    /// Whether it may be two words of a record (C§6.4 split).
    pub splits: bool,
    /// Its number among the typed words, stop words counted and exclusions not; of an excluded word that of the next word
    /// which is not.
    pub place: usize,
    /// Single words that stand for it.
    pub others: Vec<Other>,
}
/// A single word that stands for a word of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// Normalised text.
    pub text: String,
    /// Why it does.
    pub reason: OtherReason,
    /// Whether it may be the beginning of a longer word.
    pub prefix: bool,
    /// Typos it counts as.
    pub typos: u8,
    /// Whether the whole word counts as exact (C§7.8).
    pub exact: bool,
}
/// Why a single word stands for another one, as explanations name it (C§8.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherReason {
    /// Another form of the word.
    Plural,
    /// A synonym, or a placeholder of records.
    Synonym,
    /// A correction that somebody wrote down.
    Correction,
}
impl Word {
    /// A whole word that matches as it is written, without typos.
    pub fn written(text: impl Into<String>) -> Word {
        let text = text.into();
        Word { chars: chars_of(&text), text, ..Word::default() }
    }
    /// Adds a word that stands for this one, unless it is this one; of two equal ones the better is kept.
    pub fn add(&mut self, other: Other) {
        if other.text == self.text {
            return;
        }
        if let Some(known) = self.others.iter_mut().find(|known| known.text == other.text) {
            known.prefix |= other.prefix;
            known.exact |= other.exact;
            known.typos = known.typos.min(other.typos);
        } else if self.others.len() < OTHERS_MAX {
            self.others.push(other);
        }
    }
}
/// Single words that stand for one word of a query at most.
pub const OTHERS_MAX: usize = 128;
/// What takes compound words of a query apart (C§4.5 decompoundQuery).
#[derive(Clone, Debug)]
pub struct Compounds {
    /// The dictionaries.
    pub dictionaries: Arc<Dictionaries>,
    /// The languages of the query.
    pub languages: Languages,
}
/// The query text, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// Words that must match, in order, with the single words that stand for each.
    pub wanted: Vec<Word>,
    /// Phrases, most of one word, beyond those: they must match as they are written and have no part in the ranking.
    pub beyond: Vec<Vec<Word>>,
    /// What else may stand for several of them, or be several words.
    pub alternatives: Vec<Alternative>,
    /// Stop words that were left out.
    pub stop_words: Vec<Word>,
    /// What knows the parts of compound words, when the query's may be taken apart.
    pub compounds: Option<Compounds>,
    /// Words and phrases that must not match.
    pub excluded: Vec<Vec<Word>>,
}
/// A stretch of the query between quotes or outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece<'a> {
    text: &'a str,
    phrase: bool,
    excluded: bool,
}

/// Takes a query text apart as the parameters say, and adds what stands for its words.
pub fn words_of(schema: &Schema, synonyms: &SynonymSet, params: &Effective, query: &str) -> Words {
    let mut words = typed(schema.analyzer(), schema.settings(), params, query);
    alternatives::add(&mut words, schema.dictionaries(), synonyms, params);
    if !params.similar_query.is_empty() {
        words.wanted.iter_mut().for_each(|word| word.optional = true);
        words.beyond.clear();
    }
    words
}
/// The words of a query text as typed.
fn typed(analyzer: &Analyzer, settings: &Settings, params: &Effective, query: &str) -> Words {
    let pieces = if params.advanced_syntax {
        pieces(query, params.advanced_syntax_features)
    } else {
        vec![Piece { text: query, phrase: false, excluded: false }]
    };
    let mut words = Words::default();
    let mut open_end = false;
    for piece in pieces {
        let mut texts = normalised(analyzer, piece.text);
        if piece.excluded {
            let mut phrase: Vec<Word> = fixed_words(texts);
            let before = words.wanted.len() + words.beyond.iter().map(Vec::len).sum::<usize>();
            phrase.iter_mut().for_each(|word| word.place = before);
            if !phrase.is_empty() && words.excluded.len() < QUERY_WORDS_BEYOND_MAX {
                words.excluded.push(phrase);
            }
            continue;
        }
        if !texts.is_empty() {
            open_end = !piece.phrase;
        }
        let beyond = texts.split_off(texts.len().min(QUERY_WORDS_MAX - words.wanted.len()));
        let free = |text| free_word(analyzer, settings, params, text);
        if piece.phrase {
            words.wanted.extend(fixed_words(texts));
            words.beyond.extend(beyond.chunks(QUERY_WORDS_MAX).map(|texts| fixed_words(texts.to_vec())));
        } else {
            words.wanted.extend(texts.into_iter().map(free));
            words.beyond.extend(beyond.into_iter().map(|text| vec![free(text)]));
        }
    }
    words.beyond.truncate(QUERY_WORDS_BEYOND_MAX);
    number(&mut words, params, open_end);
    for optional in &params.optional_words {
        for text in normalised(analyzer, optional) {
            for word in words.wanted.iter_mut().filter(|word| word.text == text) {
                word.optional = true;
            }
            words.beyond.retain(|phrase| phrase.iter().any(|word| word.text != text));
        }
    }
    words
}
/// Numbers the words and says which of them may be begun only.
fn number(words: &mut Words, params: &Effective, open_end: bool) {
    let count = words.wanted.len() + words.beyond.iter().map(Vec::len).sum::<usize>();
    let beyond = words.beyond.iter_mut().flatten();
    for (i, word) in words.wanted.iter_mut().chain(beyond).enumerate() {
        let free = word.prefix;
        word.place = i;
        word.prefix = free
            && match params.query_type {
                QueryType::PrefixLast => i + 1 == count && open_end,
                QueryType::PrefixAll => true,
                QueryType::PrefixNone => false,
            };
    }
}
fn fixed_words(texts: Vec<String>) -> Vec<Word> {
    let fixed = |(i, text): (usize, String)| Word { follows: i > 0, quoted: true, ..Word::written(text) };
    texts.into_iter().enumerate().map(fixed).collect()
}
/// The characters of a text. Cost: one allocation.
fn chars_of(text: &str) -> Vec<char> {
    let mut chars = Vec::with_capacity(text.len());
    chars.extend(text.chars());
    chars
}
fn free_word(analyzer: &Analyzer, settings: &Settings, params: &Effective, text: String) -> Word {
    let chars = chars_of(&text);
    let exactly = |listed: &String| normalised(analyzer, listed).contains(&text);
    let tolerant = match params.typo_tolerance {
        TypoTolerance::On | TypoTolerance::Min | TypoTolerance::Strict => true,
        TypoTolerance::Off => false,
    };
    let numeric = chars.iter().all(char::is_ascii_digit);
    let length = letters(&text) as u64;
    let rigid = !tolerant
        || (numeric && !params.allow_typos_on_numeric_tokens)
        || settings.index.disable_typo_tolerance_on_words.iter().any(exactly);
    let ideographic = chars.iter().any(|&c| is_ideographic(c));
    let edits = if rigid || ideographic {
        0
    } else if length >= params.min_word_size_for_2_typos {
        2
    } else {
        u8::from(length >= params.min_word_size_for_1_typo)
    };
    // a record may have been cut into words elsewhere than the query
    let splits = !rigid && (ideographic || length >= params.min_word_size_for_1_typo);
    Word { text, chars, prefix: true, edits, joins: !rigid, splits, ..Word::default() }
}
/// Cuts the query at quotes and leading dashes, as far as they mean something (C§4.6 advancedSyntaxFeatures). A quote
/// that is never closed closes at the end.
fn pieces(query: &str, features: SyntaxFeatures) -> Vec<Piece<'_>> {
    let SyntaxFeatures { exact_phrase, exclude_words } = features;
    let mut pieces = vec![];
    let mut rest = query;
    while !rest.is_empty() {
        let at_word_start = rest.len() == query.len()
            || query[..query.len() - rest.len()].ends_with(|c: char| c.is_whitespace() || c == '"');
        let dashed = exclude_words && at_word_start && rest.starts_with('-');
        let body = if dashed { &rest[1..] } else { rest };
        let (text, phrase, after) = if let Some(quoted) = body.strip_prefix('"') {
            match quoted.find('"') {
                Some(end) => (&quoted[..end], true, &quoted[end + 1..]),
                None => (quoted, true, ""),
            }
        } else {
            // the stretch up to the next quote or the next dash that starts a word
            let end = if dashed {
                body.find(|c: char| c.is_whitespace() || c == '"').unwrap_or(body.len())
            } else {
                let dash = body.match_indices('-').map(|(i, _)| i);
                let dash = dash
                    .filter(|&i| exclude_words && i > 0 && body[..i].ends_with(char::is_whitespace))
                    .min();
                body.find('"').into_iter().chain(dash).min().unwrap_or(body.len())
            };
            (&body[..end], false, &body[end..])
        };
        if after.len() == rest.len() {
            break;
        }
        pieces.push(Piece { text, phrase: phrase && exact_phrase, excluded: dashed });
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advanced_syntax_is_cut_at_quotes_and_dashes() {
        for (query, expected) in [
            ("a b", vec![("a b", false, false)]),
            ("a -b c", vec![("a ", false, false), ("b", false, true), (" c", false, false)]),
            (r#"x "a b" y"#, vec![("x ", false, false), ("a b", true, false), (" y", false, false)]),
            (r#"-"a b""#, vec![("a b", true, true)]),
            (r#""open end"#, vec![("open end", true, false)]),
            ("well-known", vec![("well-known", false, false)]),
            ("-", vec![("", false, true)]),
            (r#"""#, vec![("", true, false)]),
            ("", vec![]),
        ] {
            let both = SyntaxFeatures { exact_phrase: true, exclude_words: true };
            let found: Vec<_> = pieces(query, both).iter().map(|p| (p.text, p.phrase, p.excluded)).collect();
            assert_eq!(found, expected, "{query}");
        }
    }
}
