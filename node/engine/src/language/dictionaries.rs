//! Which words are stop words, forms of each other or compounds: the standard lists and what users add to them (C§12).

use super::codes::{Language, Languages};
use super::{compounds, plurals, stop_words};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Forms of a word that are looked for at most.
pub const FORMS_MAX: usize = 12;

/// Custom entries on top of the standard ones. Words are normalised. Empty as long as nobody adds any.
#[derive(Clone, Debug, Default)]
pub struct Dictionaries {
    /// Languages in which each word is a custom stop word.
    pub stop_words: FxHashMap<String, Languages>,
    /// Languages in which each standard stop word is switched off.
    pub disabled_stop_words: FxHashMap<String, Languages>,
    /// For each word of a custom set: the language and the other words of the set.
    pub plurals: FxHashMap<String, Vec<(Language, Vec<String>)>>,
    /// For each custom compound: the language and its parts.
    pub compounds: FxHashMap<String, Vec<(Language, Vec<String>)>>,
    /// Languages whose standard stop words, plurals and compounds are switched off.
    pub without_standard: [Languages; 3],
}
/// The kinds of dictionaries, as they are numbered in [`Dictionaries::without_standard`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Stop words.
    StopWords,
    /// Word forms.
    Plurals,
    /// Compounds.
    Compounds,
}

impl Dictionaries {
    /// Whether a normalised word is a stop word of one of the languages. Cost: one hash a dictionary.
    ///
    /// Source: C§12.3; entries with the state `disabled` C§12.1.
    pub fn is_stop_word(&self, word: &str, languages: Languages) -> bool {
        let in_map = |map: &FxHashMap<String, Languages>| map.get(word).copied().unwrap_or_default();
        let standard = stop_words::languages_of(word).common(languages);
        let standard = standard.minus(self.without_standard[Kind::StopWords as usize]);
        !standard.minus(in_map(&self.disabled_stop_words)).is_empty()
            || (!self.stop_words.is_empty() && !in_map(&self.stop_words).common(languages).is_empty())
    }
    /// The other declensions of a normalised word in these languages: plurals of a singular, singulars of a plural.
    ///
    /// Shape: at most [`FORMS_MAX`], without the word itself, likeliest languages first. They are made by rule, so not
    /// each of them is a word; those that no record holds find nothing. A custom set replaces the rules of its language.
    /// Source: C§12.3 ignorePlurals.
    pub fn declensions(&self, word: &str, languages: Languages) -> Vec<String> {
        let custom = self.plurals.get(word).map(Vec::as_slice).unwrap_or_default();
        let custom = custom.iter().filter(|(language, _)| languages.contains(*language));
        let replaced = custom.clone().fold(Languages::NONE, |all, (language, _)| all.with(*language));
        let mut forms: Vec<String> = custom.flat_map(|(_, forms)| forms.iter().cloned()).collect();
        let by_rule = languages.minus(replaced).minus(self.without_standard[Kind::Plurals as usize]);
        plurals::push_forms(word, by_rule, &mut forms);
        forms.truncate(FORMS_MAX);
        forms
    }
    /// The parts of a normalised compound word, in order; none when the word is not known to be one.
    ///
    /// Only `de`, `nl`, `fi`, `da`, `sv` and `no` (`nb`) have compounds. Used for decompoundedAttributes and, where the
    /// words of the index itself do not tell, for decompoundQuery.
    pub fn compound_parts(&self, word: &str, languages: Languages) -> Vec<String> {
        match self.custom_parts(word, languages) {
            Some(parts) => parts.to_vec(),
            None => self.listed_parts(word, languages),
        }
    }
    /// The same for a word of a query, which the words of the index take apart, too: custom entries go first, then two words of
    /// the index, the second as long as possible and linking letters between them left out, then lists. `is_term` says
    /// whether the index holds a word.
    ///
    /// Cost: at most 2 look-ups for each way to cut the word.
    pub fn compound_parts_by_terms(
        &self,
        word: &str,
        languages: Languages,
        is_term: &mut dyn FnMut(&str) -> bool,
    ) -> Vec<String> {
        if let Some(parts) = self.custom_parts(word, languages) {
            return parts.to_vec();
        }
        match compounds::split_by_terms(word, languages, is_term) {
            Some((first, second)) => vec![first, second],
            None => self.listed_parts(word, languages),
        }
    }
    /// The parts that somebody wrote down; of several languages those of the first by code.
    fn custom_parts(&self, word: &str, languages: Languages) -> Option<&[String]> {
        let custom = self.compounds.get(word)?.iter().filter(|(language, _)| languages.contains(*language));
        custom.min_by_key(|(language, _)| *language).map(|(_, parts)| parts.as_slice())
    }
    fn listed_parts(&self, word: &str, languages: Languages) -> Vec<String> {
        compounds::known_parts(word, languages.minus(self.without_standard[Kind::Compounds as usize]))
    }
    /// What is not standard of all that decides how words lie in segments which take compounds of these languages apart; empty
    /// where all of it is. Fixed for ever: files remember it, and fingerprints cover it.
    pub fn in_segments(&self, languages: Languages) -> Map<String, Value> {
        let mut compounds: BTreeMap<&str, BTreeMap<&str, &[String]>> = BTreeMap::new();
        for (word, entries) in &self.compounds {
            for (language, parts) in entries.iter().filter(|(language, _)| languages.contains(*language)) {
                compounds.entry(language.code()).or_default().insert(word, parts);
            }
        }
        let without = self.without_standard[Kind::Compounds as usize].common(languages);
        let without: Vec<&str> =
            Language::all().filter(|language| without.contains(*language)).map(Language::code).collect();
        let mut part = Map::new();
        if !compounds.is_empty() {
            part.insert("compounds".into(), json!(compounds));
        }
        if !without.is_empty() {
            part.insert("withoutStandardCompounds".into(), json!(without));
        }
        part
    }
    /// These dictionaries with the compounds that some files remember, see [`Self::in_segments`]; `None` when it is not that.
    pub fn with_compounds_of(&self, part: &Map<String, Value>) -> Option<Dictionaries> {
        let read = |name: &str| part.get(name).cloned();
        let compounds: BTreeMap<String, BTreeMap<String, Vec<String>>> =
            read("compounds").map_or(Ok(BTreeMap::new()), serde_json::from_value).ok()?;
        let without: Vec<String> =
            read("withoutStandardCompounds").map_or(Ok(vec![]), serde_json::from_value).ok()?;
        let mut all = Dictionaries { compounds: FxHashMap::default(), ..self.clone() };
        for (code, entries) in compounds {
            let language = Language::of(&code)?;
            for (word, parts) in entries {
                all.compounds.entry(word).or_default().push((language, parts));
            }
        }
        all.without_standard[Kind::Compounds as usize] = Languages::listed(&without);
        Some(all)
    }
    /// What a language has: whether there are standard stop words, plurals and compounds for it (C§12.1 languages).
    pub fn standard(language: Language) -> [bool; 3] {
        [
            stop_words::has_list(language),
            plurals::has_rules(language),
            compounds::has_compounds(Languages::NONE.with(language)),
        ]
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
