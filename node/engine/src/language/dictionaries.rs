//! Which words are stop words, forms of each other or compounds: the standard lists and what users add to them (C§12).

use super::codes::{Language, Languages};
use super::custom::CustomEntries;
use super::{compounds, plurals, stop_words};
use quorate_model::DictionaryKind;

/// Forms of a word that are looked for at most.
pub const FORMS_MAX: usize = 12;

/// The standard lists with custom entries on top of them. A clone costs some pointers.
#[derive(Clone, Debug, Default)]
pub struct Dictionaries {
    custom: CustomEntries,
}

impl Dictionaries {
    /// The standard lists with these entries.
    pub fn new(custom: CustomEntries) -> Dictionaries {
        Dictionaries { custom }
    }
    /// Whether a normalised word is a stop word of one of the languages. Cost: one hash, and a search among custom entries.
    ///
    /// Source: C§12.3; entries with the state `disabled` C§12.1.
    pub fn is_stop_word(&self, word: &str, languages: Languages) -> bool {
        let standard = stop_words::languages_of(word).common(languages);
        let standard = standard.minus(self.custom.without_standard(DictionaryKind::StopWords));
        let (on, off) = self.custom.stop_word(word, languages);
        !on.is_empty() || !standard.minus(off).is_empty()
    }
    /// The other declensions of a normalised word in these languages: plurals of a singular, singulars of a plural.
    ///
    /// Shape: at most [`FORMS_MAX`], without the word itself, custom ones first, then likeliest languages. The others are made
    /// by rule, so not each of them is a word; those that no record holds find nothing. A custom set replaces the rules of its
    /// language. Source: C§12.3 ignorePlurals.
    pub fn declensions(&self, word: &str, languages: Languages) -> Vec<String> {
        let (replaced, mut forms) = self.custom.plurals(word, languages);
        let off = self.custom.without_standard(DictionaryKind::Plurals);
        plurals::push_forms(word, languages.minus(replaced).minus(off), &mut forms);
        forms.truncate(FORMS_MAX);
        forms
    }
    /// The parts of a normalised compound word, in order; none when the word is not known to be one.
    ///
    /// Only `de`, `nl`, `fi`, `da`, `sv` and `no` (`nb`) have compounds. Used for decompoundedAttributes and, where the
    /// words of the index itself do not tell, for decompoundQuery.
    pub fn compound_parts(&self, word: &str, languages: Languages) -> Vec<String> {
        match self.custom.parts(word, languages) {
            Some(parts) => parts.to_vec(),
            None => self.known_parts(word, languages),
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
        if let Some(parts) = self.custom.parts(word, languages) {
            return parts.to_vec();
        }
        if self.custom.is_part(word, languages) {
            return vec![];
        }
        match compounds::split_by_terms(word, languages, is_term) {
            Some((first, second)) => vec![first, second],
            None => self.known_parts(word, languages),
        }
    }
    fn known_parts(&self, word: &str, languages: Languages) -> Vec<String> {
        let off = self.custom.without_standard(DictionaryKind::Compounds);
        let is_custom = |part: &str, language: Languages| self.custom.is_part(part, language);
        compounds::known_parts(word, languages, off, &is_custom)
    }
    /// A stable hash over what is not standard of all that decides how words lie in segments which take compounds of these
    /// languages apart; 0 where all of it is.
    pub fn hash_in_segments(&self, languages: Languages) -> u64 {
        match languages.is_empty() {
            true => 0,
            false => self.custom.compounds_hash(languages),
        }
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
