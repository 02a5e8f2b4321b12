//! What does a request look like to rules: its words, the facet values among them, its contexts and filters?

use super::compile::{Likes, RuleSet, WordId, letters};
use super::words::{PlacedWord, placed_words, texts};
use crate::analysis::Analyzer;
use crate::clock::Clock;
use crate::index::{PHRASE_WORDS_MAX, Segment, ShardView, fold};
use crate::matching::typo::{Tolerance, typos_of};
use quorate_model::params::TypoTolerance;
use quorate_model::{Atom, SearchParams, Settings};
use rustc_hash::FxHashSet;
use std::cell::{OnceCell, RefCell};

/// The context of queries that are spoken sentences (C§4.5 naturalLanguages).
const NATURAL_LANGUAGE: &str = "natural_language";
/// Values of a facet that the same words may stand for.
const VALUES_MAX: usize = 10;

/// A request as rules see it.
pub(super) struct RuleRequest<'a> {
    pub set: &'a RuleSet,
    view: &'a ShardView,
    analyzer: &'a Analyzer,
    /// The query.
    pub query: &'a str,
    /// Its words.
    pub words: Vec<PlacedWord>,
    /// Whether synonyms count (C§4.5).
    pub has_synonyms: bool,
    /// What each of them is in patterns.
    ids: Vec<WordIds>,
    /// Its contexts.
    pub contexts: Vec<&'a str>,
    /// Attribute and folded value of every filter that is no exclusion.
    pub filters: FxHashSet<(&'a str, String)>,
    finds: Vec<OnceCell<Vec<Find>>>,
    clock: RefCell<Clock>,
}
/// The words of patterns that one query word is.
#[derive(Debug, Default)]
struct WordIds {
    equal: Option<WordId>,
    /// Ascending.
    misspelt: Vec<WordId>,
}
/// Values of a facet among the words of the query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Find {
    /// First word.
    pub first: usize,
    /// How many words.
    pub words: usize,
    /// The values, as written in records; those that differ in their normalisation only.
    pub values: Vec<String>,
}

impl<'a> RuleRequest<'a> {
    /// Reads a request, as far as there is time. `analyzer` is the one that the rules were compiled with.
    pub fn new(
        set: &'a RuleSet,
        view: &'a ShardView,
        analyzer: &'a Analyzer,
        settings: &'a Settings,
        request: &'a SearchParams,
        mut clock: Clock,
    ) -> RuleRequest<'a> {
        let query = request.query.as_deref().unwrap_or_default();
        let words = placed_words(analyzer, query);
        let edits = Edits::new(settings, analyzer, request);
        let ids = words.iter().map(|word| WordIds {
            equal: set.words.get(word.text.as_str()).copied(),
            misspelt: misspelt(set, &edits, &word.text, &mut clock),
        });
        let ids = ids.collect();
        let mut contexts: Vec<&str> = request.rule_contexts.iter().flatten().map(String::as_str).collect();
        if request.natural_languages.as_ref().is_some_and(|languages| !languages.is_empty()) {
            contexts.push(NATURAL_LANGUAGE);
        }
        contexts.sort_unstable();
        contexts.dedup();
        let atoms = request.filter.all.iter().flat_map(|group| &group.any).filter(|atom| !atom.negated);
        let filters = atoms.filter_map(|atom| match &atom.atom {
            Atom::Facet { attribute, value } => Some((attribute.as_str(), fold(value))),
            Atom::Tag { value } => Some(("_tags", fold(value))),
            Atom::Numeric { .. } | Atom::Range { .. } => None,
        });
        RuleRequest {
            ids,
            filters: filters.collect(),
            finds: set.facets.iter().map(|_| OnceCell::new()).collect(),
            set,
            view,
            analyzer,
            query,
            words,
            has_synonyms: request.synonyms.or(settings.params.synonyms).unwrap_or(true),
            contexts,
            clock: RefCell::new(clock),
        }
    }
    /// Whether the time for rules is over, after work worth that of so many rules.
    pub fn spend(&self, rules: u32) -> bool {
        self.clock.borrow_mut().spend(rules)
    }
    /// Whether it was found to be over, so that some rules may not have been looked at.
    pub fn is_late(&self) -> bool {
        self.clock.borrow().rang()
    }
    /// Whether the word at a place is one of the words.
    pub fn is(&self, place: usize, words: &[WordId]) -> bool {
        self.ids[place].equal.is_some_and(|id| words.contains(&id))
    }
    /// Whether the word at a place is one of what may be typed for a word of a pattern.
    pub fn is_like(&self, place: usize, likes: &Likes) -> bool {
        let words = if self.has_synonyms { &likes.words } else { &likes.words[..likes.own] };
        self.is(place, words) || self.ids[place].misspelt.binary_search(&likes.words[0]).is_ok()
    }
    /// Every word of patterns that some query word is, each once.
    pub fn pattern_words(&self) -> FxHashSet<WordId> {
        self.ids.iter().flat_map(|ids| ids.equal.iter().chain(&ids.misspelt).copied()).collect()
    }
    /// The values of a facet among the words, by their first word, longer ones first; as far as there is time.
    ///
    /// Cost: the first time, one look-up in each segment for each stretch of words up to the longest value.
    pub fn finds(&self, facet: u16) -> &[Find] {
        self.finds[usize::from(facet)].get_or_init(|| self.find(&self.set.facets[usize::from(facet)]))
    }
    fn find(&self, path: &str) -> Vec<Find> {
        let clock = &mut self.clock.borrow_mut();
        let phrases = |segment: &'a Segment| {
            Some((segment, segment.facet_phrases().of(segment, path, self.analyzer, clock)?))
        };
        let phrases: Vec<_> = self.view.segments().iter().filter_map(phrases).collect();
        let longest = phrases.iter().map(|(_, phrases)| phrases.longest).max().unwrap_or(0);
        let texts: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        let mut finds = vec![];
        for first in 0..texts.len() {
            for words in (1..=longest.min(PHRASE_WORDS_MAX).min(texts.len() - first)).rev() {
                let mut values: Vec<String> = vec![];
                for (segment, phrases) in &phrases {
                    let wanted = &texts[first..first + words];
                    phrases.each(segment, path, self.analyzer, wanted, clock, |value| {
                        if values.len() < VALUES_MAX && !values.iter().any(|known| known == value) {
                            values.push(value.to_owned());
                        }
                        values.len() < VALUES_MAX
                    });
                }
                if !values.is_empty() {
                    values.sort_unstable();
                    finds.push(Find { first, words, values });
                }
            }
        }
        finds
    }
}

/// How many edits a word of the query may have (C§4.5).
struct Edits<'a> {
    off: bool,
    /// Words without any, as they are written in the settings.
    never: &'a [String],
    analyzer: &'a Analyzer,
    one: u64,
    two: u64,
}
impl<'a> Edits<'a> {
    fn new(settings: &'a Settings, analyzer: &'a Analyzer, request: &SearchParams) -> Edits<'a> {
        let set = &settings.params;
        let tolerance = request.typo_tolerance.or(set.typo_tolerance);
        let least = |asked: Option<u64>, set: Option<u64>, default| asked.or(set).unwrap_or(default);
        Edits {
            off: tolerance == Some(TypoTolerance::Off),
            never: &settings.index.disable_typo_tolerance_on_words,
            analyzer,
            one: least(request.min_word_size_for_1_typo, set.min_word_size_for_1_typo, 4),
            two: least(request.min_word_size_for_2_typos, set.min_word_size_for_2_typos, 8),
        }
    }
    fn of(&self, text: &str, characters: usize) -> u8 {
        let edits = match characters as u64 {
            _ if self.off => 0,
            length if length >= self.two => 2,
            length => u8::from(length >= self.one),
        };
        let exactly = |listed: &String| texts(self.analyzer, listed).iter().any(|word| word == text);
        if edits > 0 && self.never.iter().any(exactly) { 0 } else { edits }
    }
}
/// Words of patterns that are compared in the time of looking at a rule.
const COMPARED_PER_RULE: usize = 64;
/// The words of patterns that take alternatives of which `text` is a misspelling, as far as there is time.
///
/// Cost: one comparison of two numbers for each such word of nearly the same length, a table for the few that pass it.
fn misspelt(set: &RuleSet, edits: &Edits<'_>, text: &str, clock: &mut Clock) -> Vec<WordId> {
    if set.misspellable.is_empty() {
        return vec![];
    }
    let chars: Vec<char> = text.chars().collect();
    let edits = edits.of(text, chars.len());
    if edits == 0 {
        return vec![];
    }
    let own = letters(&chars);
    let tolerance = Tolerance { edits, prefix: false, deep: true };
    let lengths = chars.len().saturating_sub(usize::from(edits))..=chars.len() + usize::from(edits);
    let near = set.misspellable.iter().enumerate().filter(|(length, _)| lengths.contains(length));
    let mut found = vec![];
    'all: for words in near.flat_map(|(_, words)| words.chunks(COMPARED_PER_RULE)) {
        if clock.is_over() {
            break;
        }
        for word in words {
            // an edit changes at most two letters
            let differ = (word.letters ^ own).count_ones() > 2 * u32::from(edits);
            if differ {
                continue;
            }
            if clock.is_over() {
                break 'all;
            }
            if typos_of(&chars, &word.chars, tolerance).is_some() {
                found.push(word.id);
            }
        }
    }
    found.sort_unstable();
    found
}
