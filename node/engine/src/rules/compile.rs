//! How are the rules of an index laid out so that a query finds those that may apply?
//!
//! Cost: one analysis of each pattern. The words of patterns that take alternatives cost most, since their plurals are made
//! in every language of the queries; so this is done for [`INFLECTED_WORDS_MAX`] different words at most.

use super::alternatives::{Alternatives, Phrase};
use super::words::texts;
use crate::analysis::{Analyzer, Schema};
use crate::filter::is_declared;
use crate::index::fold;
use quorate_model::rule::{Anchoring, Condition, FacetValue, Pattern, PatternPart};
use quorate_model::{Rule, Settings, Synonym};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Ways to type the pattern of one condition that are looked for; synonyms beyond them do not count.
const VARIANTS_MAX: usize = 32;
/// Words of patterns whose plurals are looked for.
const INFLECTED_WORDS_MAX: usize = 10_000;
/// Forms of one word of a pattern that are looked for.
const FORMS_MAX: usize = 32;

/// A word of some pattern.
pub(super) type WordId = u32;

/// The enabled rules of an index, ready for queries. Changes make a new one.
#[derive(Debug, Default)]
pub struct RuleSet {
    pub(super) rules: Vec<Arc<Rule>>,
    pub(super) triggers: Vec<Trigger>,
    pub(super) words: FxHashMap<Box<str>, WordId>,
    /// Facets with a placeholder somewhere.
    pub(super) facets: Vec<Box<str>>,
    pub(super) places: Places,
    /// Words that may be typed with errors, by their number of characters.
    pub(super) misspellable: Vec<Vec<Misspellable>>,
    pub(super) analyzer: Option<Analyzer>,
}
/// Where the triggers are found, by what a query must have for them.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// By the rarest word of the pattern.
    pub by_word: FxHashMap<WordId, Vec<u32>>,
    /// Patterns of placeholders alone, by the first facet.
    pub by_facet: FxHashMap<u16, Vec<u32>>,
    /// The empty pattern.
    pub empty: Vec<u32>,
    /// No pattern, but a context.
    pub by_context: FxHashMap<Box<str>, Vec<u32>>,
    /// No pattern and no context, but filters: by the first of them.
    pub by_filter: FxHashMap<(Box<str>, String), Vec<u32>>,
    /// No condition.
    pub always: Vec<u32>,
}
/// One way in which a rule may come to apply.
#[derive(Debug)]
pub(super) struct Trigger {
    /// Place of its rule.
    pub rule: u32,
    /// Place of its condition in the rule; `None` for a rule without conditions.
    pub condition: Option<u16>,
    /// What the query must look like.
    pub shape: Option<Shape>,
}
/// A pattern, compiled.
#[derive(Debug)]
pub(super) struct Shape {
    /// In order; none for the empty pattern.
    pub slots: Box<[Slot]>,
    pub anchoring: Anchoring,
    /// Whether it is typed as synonyms of words of the pattern.
    pub by_synonyms: bool,
}
/// What stands at one place of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// This word.
    Word(WordId),
    /// One of several words.
    Like(Likes),
    /// Any value of the facet.
    Facet(u16),
}
/// What may be typed for a word of a pattern that takes alternatives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Likes {
    /// The word, which may have typing errors, its other numbers, and then its synonyms.
    pub words: Box<[WordId]>,
    /// How many come before the synonyms.
    pub own: usize,
}
/// A word that may be typed with errors.
#[derive(Debug)]
pub(super) struct Misspellable {
    pub id: WordId,
    pub chars: Box<[char]>,
    /// One bit for each of its characters, by their last six bits: two words with few edits between them differ little.
    pub letters: u64,
}
impl Misspellable {
    fn new(id: WordId, text: &str) -> Misspellable {
        let chars: Box<[char]> = text.chars().collect();
        Misspellable { id, letters: letters(&chars), chars }
    }
}
/// One bit for each character, by its last six bits.
pub(super) fn letters(chars: &[char]) -> u64 {
    chars.iter().fold(0, |letters, &c| letters | 1 << (c as u32 & 63))
}

impl RuleSet {
    /// Compiles the rules that are enabled; the synonyms tell what counts as an alternative of a pattern's words.
    pub fn new<'a>(
        rules: impl IntoIterator<Item = &'a Arc<Rule>>,
        synonyms: impl IntoIterator<Item = &'a Arc<Synonym>>,
        schema: &Schema,
    ) -> RuleSet {
        let rules: Vec<Arc<Rule>> = rules.into_iter().filter(|rule| rule.enabled).cloned().collect();
        if rules.is_empty() {
            return RuleSet::default();
        }
        let (analyzer, settings) = (schema.analyzer(), schema.settings());
        let takes_alternatives = |rule: &Arc<Rule>| rule.conditions.iter().any(|c| c.alternatives);
        let alternatives = match rules.iter().any(takes_alternatives) {
            true => Alternatives::new(schema, synonyms),
            false => Alternatives::default(),
        };
        let mut compiler = Compiler {
            analyzer,
            settings,
            alternatives: &alternatives,
            likes: FxHashMap::default(),
            set: RuleSet::default(),
        };
        for (place, rule) in rules.iter().enumerate() {
            compiler.rule(place as u32, rule);
        }
        let mut set = compiler.set;
        set.rules = rules;
        set.analyzer = Some(analyzer.clone());
        set.place_triggers();
        set.place_misspellable();
        set
    }
    /// Whether no rule is enabled.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
    /// The rule and the condition of a trigger.
    pub(super) fn parts(&self, trigger: &Trigger) -> (&Rule, Option<&Condition>) {
        let rule = &self.rules[trigger.rule as usize];
        (rule, trigger.condition.map(|place| &rule.conditions[usize::from(place)]))
    }
    fn place_triggers(&mut self) {
        let mut uses: FxHashMap<WordId, u32> = FxHashMap::default();
        for shape in self.triggers.iter().filter_map(|trigger| trigger.shape.as_ref()) {
            for word in shape.slots.iter().flat_map(Slot::words) {
                *uses.entry(*word).or_default() += 1;
            }
        }
        let mut places = Places::default();
        for (number, trigger) in self.triggers.iter().enumerate() {
            let number = number as u32;
            let (_, condition) = self.parts(trigger);
            let Some(condition) = condition else {
                places.always.push(number);
                continue;
            };
            match (&trigger.shape, &condition.context, condition.filters.first()) {
                (Some(shape), _, _) => places.add_shape(shape, number, &uses),
                (None, Some(context), _) => {
                    places.by_context.entry(context.as_str().into()).or_default().push(number);
                }
                (None, None, Some(filter)) => {
                    places.by_filter.entry(filter_key(filter)).or_default().push(number);
                }
                (None, None, None) => places.always.push(number),
            }
        }
        self.places = places;
    }
    fn place_misspellable(&mut self) {
        let mut texts: FxHashMap<WordId, &str> = FxHashMap::default();
        for (text, &id) in &self.words {
            texts.insert(id, text);
        }
        let mut by_length: Vec<Vec<Misspellable>> = vec![];
        let mut seen = rustc_hash::FxHashSet::default();
        for shape in self.triggers.iter().filter_map(|trigger| trigger.shape.as_ref()) {
            for slot in &shape.slots {
                if let Slot::Like(likes) = slot
                    && let Some(&id) = likes.words.first()
                    && seen.insert(id)
                {
                    let word = Misspellable::new(id, texts[&id]);
                    let length = word.chars.len();
                    by_length.resize_with(by_length.len().max(length + 1), Vec::new);
                    by_length[length].push(word);
                }
            }
        }
        self.misspellable = by_length;
    }
}
/// The attribute and the value of a filter, as they are compared.
pub(super) fn filter_key(filter: &FacetValue) -> (Box<str>, String) {
    (filter.attribute.as_str().into(), fold(&filter.value))
}
impl Slot {
    /// The words that fit; none for a placeholder.
    pub fn words(&self) -> &[WordId] {
        match self {
            Slot::Word(word) => std::slice::from_ref(word),
            Slot::Like(likes) => &likes.words,
            Slot::Facet(_) => &[],
        }
    }
}
impl Places {
    fn add_shape(&mut self, shape: &Shape, number: u32, uses: &FxHashMap<WordId, u32>) {
        let cost = |slot: &Slot| slot.words().iter().map(|word| uses[word]).sum::<u32>();
        let literal = shape.slots.iter().filter(|slot| !slot.words().is_empty());
        match literal.min_by_key(|slot| cost(slot)) {
            Some(rarest) => {
                for word in rarest.words() {
                    self.by_word.entry(*word).or_default().push(number);
                }
            }
            None => match shape.slots.first() {
                Some(Slot::Facet(facet)) => self.by_facet.entry(*facet).or_default().push(number),
                Some(Slot::Word(_) | Slot::Like(_)) | None => self.empty.push(number),
            },
        }
    }
}

/// A piece of a pattern or of an edit before its words have numbers.
#[derive(Clone, Debug)]
enum Piece {
    Word(String),
    Facet(u16),
}

struct Compiler<'a> {
    analyzer: &'a Analyzer,
    settings: &'a Settings,
    alternatives: &'a Alternatives,
    /// What the words of patterns that take alternatives became.
    likes: FxHashMap<String, Slot>,
    set: RuleSet,
}
impl Compiler<'_> {
    fn rule(&mut self, rule: u32, source: &Rule) {
        if source.conditions.is_empty() {
            self.set.triggers.push(Trigger { rule, condition: None, shape: None });
        }
        for (place, condition) in source.conditions.iter().enumerate() {
            let condition_place = Some(place as u16);
            let Some(pattern) = &condition.pattern else {
                self.set.triggers.push(Trigger { rule, condition: condition_place, shape: None });
                continue;
            };
            // all but the first are replacements
            for (number, slots) in self.variants(pattern, condition.alternatives).into_iter().enumerate() {
                let (slots, anchoring, by_synonyms) = (slots.into(), pattern.anchoring, number > 0);
                let shape = Shape { slots, anchoring, by_synonyms };
                self.set.triggers.push(Trigger { rule, condition: condition_place, shape: Some(shape) });
            }
        }
    }
    /// The ways to type a pattern; none when it can never be typed.
    fn variants(&mut self, pattern: &Pattern, alternatives: bool) -> Vec<Vec<Slot>> {
        let Some(pieces) = self.pieces(&pattern.parts) else { return vec![] };
        if pieces.is_empty() && !pattern.parts.is_empty() {
            // punctuation alone is nothing that a query has
            return vec![];
        }
        if !alternatives {
            return vec![pieces.iter().map(|piece| self.plain(piece)).collect()];
        }
        let base: Vec<Slot> = pieces.iter().map(|piece| self.like(piece)).collect();
        let mut variants = vec![base.clone()];
        for (from, to, phrase) in self.replacements(&pieces) {
            if variants.len() == VARIANTS_MAX {
                break;
            }
            let typed = phrase.iter().map(|word| Slot::Word(self.word(word)));
            let typed: Vec<Slot> = typed.collect();
            variants.push([&base[..from], &typed, &base[to..]].concat());
        }
        variants
    }
    /// Stretches of words that other numbers of words may stand for.
    fn replacements(&self, pieces: &[Piece]) -> Vec<(usize, usize, Phrase)> {
        let mut found = vec![];
        for from in 0..pieces.len() {
            let mut words = vec![];
            for (to, piece) in pieces.iter().enumerate().skip(from).take(self.alternatives.longest()) {
                let Piece::Word(word) = piece else { break };
                words.push(word.clone());
                let typed =
                    self.alternatives.typed_for(&words).filter(|typed| words.len() > 1 || typed.len() > 1);
                found.extend(typed.map(|typed| (from, to + 1, typed.clone())));
            }
        }
        found
    }
    /// The words and placeholders of a pattern; `None` when it names a facet that is not declared.
    fn pieces(&mut self, parts: &[PatternPart]) -> Option<Vec<Piece>> {
        let mut pieces = vec![];
        for part in parts {
            match part {
                PatternPart::Literal(text) => {
                    pieces.extend(texts(self.analyzer, text).into_iter().map(Piece::Word));
                }
                PatternPart::Facet(attribute) => {
                    if !is_declared(&self.settings.index, attribute) {
                        return None;
                    }
                    pieces.push(Piece::Facet(self.facet(attribute)));
                }
            }
        }
        Some(pieces)
    }
    fn plain(&mut self, piece: &Piece) -> Slot {
        match piece {
            Piece::Word(text) => Slot::Word(self.word(text)),
            Piece::Facet(facet) => Slot::Facet(*facet),
        }
    }
    fn like(&mut self, piece: &Piece) -> Slot {
        match piece {
            Piece::Word(text) => {
                if let Some(known) = self.likes.get(text) {
                    return known.clone();
                }
                let inflected =
                    self.likes.len() < INFLECTED_WORDS_MAX && text.chars().all(char::is_alphabetic);
                let synonyms = self.alternatives.synonyms_of(text);
                let numbers = match inflected {
                    true => self.alternatives.other_numbers(text),
                    false => vec![],
                };
                // synonyms count first where there are too many
                let room = FORMS_MAX.saturating_sub(synonyms.len());
                let mut words = vec![self.word(text)];
                self.add_words(&mut words, numbers.iter().take(room));
                let own = words.len();
                self.add_words(&mut words, synonyms.iter().take(FORMS_MAX));
                let slot = Slot::Like(Likes { words: words.into(), own });
                self.likes.insert(text.clone(), slot.clone());
                slot
            }
            Piece::Facet(facet) => Slot::Facet(*facet),
        }
    }
    /// Appends words that are not there yet.
    fn add_words<'w>(&mut self, words: &mut Vec<WordId>, texts: impl Iterator<Item = &'w String>) {
        for text in texts {
            let id = self.word(text);
            if !words.contains(&id) {
                words.push(id);
            }
        }
    }
    fn word(&mut self, text: &str) -> WordId {
        let next = self.set.words.len() as WordId;
        *self.set.words.entry(text.into()).or_insert(next)
    }
    fn facet(&mut self, attribute: &str) -> u16 {
        let known = self.set.facets.iter().position(|facet| **facet == *attribute);
        known.unwrap_or_else(|| {
            self.set.facets.push(attribute.into());
            self.set.facets.len() - 1
        }) as u16
    }
}
