//! Which words does a query consist of, and what may each of them match? (C§4.5, C§4.6, C§6.5)

use super::case::{Part, Query};
use super::letters::{is_ideograph, typed};
use quorate_model::Settings;
use serde_json::{Map, Value, json};

/// Words of a query that count; further ones do not.
const WORDS_MAX: usize = 10;

/// A word of the query.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub text: Vec<char>,
    pub prefix: bool,
    pub edits: usize,
    pub optional: bool,
    /// Directly after the word before, as in a phrase.
    pub follows: bool,
    /// Whether it may be joined with its neighbours and cut in two.
    pub loose: bool,
    /// Whether it stands in quotes.
    pub quoted: bool,
    /// Its number among the typed words.
    pub place: usize,
    pub others: Vec<Other>,
}
/// A single word that stands for another one.
#[derive(Clone, Debug)]
pub struct Other {
    pub text: Vec<char>,
    pub prefix: bool,
    pub typos: u32,
    pub exact: bool,
    pub is_synonym: bool,
}
/// Some words that are looked for in the place of some words of the query.
#[derive(Clone, Debug)]
pub struct Step {
    pub words: Vec<Wanted>,
    /// Words of the query it stands for.
    pub from: usize,
    pub to: usize,
    pub typos: u32,
    /// Whether these are words of the query as typed.
    pub typed: bool,
    /// Whether it is no match where typos are none.
    pub is_typo: bool,
    /// Whether it can count as exact.
    pub exact: bool,
    /// Whether its words may stand anywhere; else each directly after the one before.
    pub scattered: bool,
}
impl Step {
    /// A word of the query as typed.
    pub fn typed(number: usize, word: &Wanted) -> Step {
        let words = vec![word.clone()];
        Step {
            typed: true,
            exact: true,
            typos: 0,
            is_typo: false,
            ..Step::typing_error(words, number, number + 1)
        }
    }
    /// A wrong space, or a missing one: it counts as a typo.
    pub fn typing_error(words: Vec<Wanted>, from: usize, to: usize) -> Step {
        Step { words, from, to, typos: 1, typed: false, is_typo: true, exact: false, scattered: false }
    }
}
/// A whole word that matches as it is written.
pub fn fixed(text: Vec<char>) -> Wanted {
    Wanted {
        text,
        prefix: false,
        edits: 0,
        optional: false,
        follows: false,
        loose: false,
        quoted: false,
        place: 0,
        others: vec![],
    }
}
pub fn chars(text: &str) -> Vec<char> {
    text.chars().collect()
}
/// A size of words from which typos are allowed.
fn size(params: &Map<String, Value>, name: &str, default: usize) -> usize {
    params.get(name).and_then(Value::as_u64).map_or(default, |size| size as usize)
}
/// Characters from which a word may have a typo.
pub fn one_typo_size(params: &Map<String, Value>) -> usize {
    size(params, "minWordSizefor1Typo", 4)
}
/// Whether two words of one character may be one word of a record, or the other way round, however short.
pub fn is_ideographic(word: &Wanted) -> bool {
    word.text.iter().any(|c| is_ideograph(*c))
}
/// A word that somebody typed outside of quotes.
fn free(text: Vec<char>, settings: &Settings, params: &Map<String, Value>) -> Wanted {
    let tolerant = params.get("typoTolerance") != Some(&json!(false));
    let numeric = params.get("allowTyposOnNumericTokens") != Some(&json!(false));
    let listed = settings.index.disable_typo_tolerance_on_words.iter().any(|word| chars(word) == text);
    let loose = tolerant && !listed && (numeric || !text.iter().all(char::is_ascii_digit));
    let edits = match text.len() {
        _ if !loose || text.iter().any(|c| is_ideograph(*c)) => 0,
        n if n >= size(params, "minWordSizefor2Typos", 8) => 2,
        n => usize::from(n >= one_typo_size(params)),
    };
    Wanted { prefix: true, edits, loose, ..fixed(text) }
}
/// The words of a query, and the words and phrases that must not occur.
pub fn wanted(settings: &Settings, query: &Query) -> (Vec<Wanted>, Vec<Vec<Vec<char>>>) {
    let params = &query.params;
    let feature = |name: &str| {
        params
            .get("advancedSyntaxFeatures")
            .is_none_or(|listed| listed.as_array().unwrap().contains(&json!(name)))
    };
    let texts = |phrase: &[String]| -> Vec<Vec<char>> {
        phrase.iter().flat_map(|word| typed(word, &settings.index)).collect()
    };
    let (mut words, mut excluded, mut open) = (vec![], vec![], false);
    for part in &query.parts {
        let (phrase, quoted) = match part {
            Part::Word(word) => (texts(std::slice::from_ref(word)), false),
            Part::Phrase(phrase) => (texts(phrase), feature("exactPhrase")),
            Part::Excluded(phrase) if feature("excludeWords") => {
                excluded.push(texts(phrase));
                continue;
            }
            // the dash is nothing then
            Part::Excluded(phrase) => (texts(phrase), phrase.len() > 1 && feature("exactPhrase")),
        };
        let words_of_part = phrase.into_iter().enumerate().map(|(i, text)| match quoted {
            true => Wanted { follows: i > 0, quoted: true, ..fixed(text) },
            false => free(text, settings, params),
        });
        words.extend(words_of_part);
        words.truncate(WORDS_MAX);
        open = !quoted;
    }
    let last = words.len();
    let kind = params.get("queryType").and_then(Value::as_str).unwrap_or("prefixLast");
    let optional: Vec<&str> = params
        .get("optionalWords")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let optional: Vec<Vec<char>> =
        optional.iter().flat_map(|listed| typed(listed, &settings.index)).collect();
    for (i, word) in words.iter_mut().enumerate() {
        word.place = i;
        word.prefix &= match kind {
            _ if query.is_similar => false,
            "prefixAll" => true,
            "prefixNone" => false,
            _ => i + 1 == last && open,
        };
        word.optional = query.is_similar || optional.contains(&word.text);
    }
    (words, excluded)
}
