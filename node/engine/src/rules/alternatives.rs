//! What may be typed in place of the words of a pattern that takes alternatives (C§10.2)? Synonyms and plurals; typing
//! errors are looked at when there is a query.

use super::words::texts;
use crate::analysis::Schema;
use crate::language::{Dictionaries, Languages};
use quorate_model::Synonym;
use quorate_model::synonym::SynonymKind;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Normalised words.
pub(super) type Phrase = Vec<String>;

/// The synonyms of an index, by what they lead to.
#[derive(Debug, Default)]
pub(super) struct Alternatives {
    /// What is typed, for each synonym.
    typed: Vec<Vec<Phrase>>,
    /// The synonyms that lead to a phrase, by their places in `typed`.
    leading_to: FxHashMap<Phrase, Vec<u32>>,
    /// Words of the longest phrase that a synonym leads to.
    longest: usize,
    /// Whose plurals count; `None` when nobody asks.
    languages: Option<Languages>,
    dictionaries: Arc<Dictionaries>,
}
impl Alternatives {
    /// Cost: one analysis of every member of every synonym.
    pub fn new<'a>(schema: &Schema, synonyms: impl IntoIterator<Item = &'a Arc<Synonym>>) -> Alternatives {
        let listed = schema.settings().params.query_languages.as_deref();
        let languages = Languages::of_query(listed.unwrap_or_default());
        let dictionaries = schema.dictionaries().clone();
        let mut alternatives =
            Alternatives { languages: Some(languages), dictionaries, ..Alternatives::default() };
        let phrases = |texts_of: &[String]| -> Vec<Phrase> {
            let all = texts_of.iter().map(|text| texts(schema.analyzer(), text));
            all.filter(|phrase| !phrase.is_empty()).collect()
        };
        for synonym in synonyms {
            match &synonym.kind {
                SynonymKind::Synonym { synonyms } => {
                    let members = phrases(synonyms);
                    alternatives.add(members.clone(), members);
                }
                SynonymKind::OneWay { input, synonyms } => {
                    alternatives.add(phrases(std::slice::from_ref(input)), phrases(synonyms));
                }
                SynonymKind::AltCorrection { typos: _, word, corrections } => {
                    alternatives.add(phrases(std::slice::from_ref(word)), phrases(corrections));
                }
                // it leads to a token that no pattern is written with
                SynonymKind::Placeholder { .. } => {}
            }
        }
        alternatives
    }
    fn add(&mut self, typed: Vec<Phrase>, targets: Vec<Phrase>) {
        let place = self.typed.len() as u32;
        for target in targets {
            self.longest = self.longest.max(target.len());
            self.leading_to.entry(target).or_default().push(place);
        }
        self.typed.push(typed);
    }
    /// The phrases that stand for `words` when they are typed, `words` itself left out.
    pub fn typed_for<'a>(&'a self, words: &'a [String]) -> impl Iterator<Item = &'a Phrase> {
        let places = self.leading_to.get(words).into_iter().flatten();
        places.flat_map(|&place| &self.typed[place as usize]).filter(move |phrase| *phrase != words)
    }
    /// Singular and plural forms of the word.
    pub fn other_numbers(&self, word: &str) -> Vec<String> {
        self.languages.map_or_else(Vec::new, |languages| self.dictionaries.declensions(word, languages))
    }
    /// The single words that stand for `word` when they are typed.
    pub fn synonyms_of(&self, word: &str) -> Vec<String> {
        let words = [word.to_owned()];
        let synonyms = self.typed_for(&words).filter(|typed| typed.len() == 1);
        synonyms.map(|typed| typed[0].clone()).collect()
    }
    /// Words of the longest phrase that something stands for.
    pub fn longest(&self) -> usize {
        self.longest
    }
}
