//! How many words must a record have when all words of a long query are optional? (C§4.6 optionalWords)

use super::ranker::Ranker;
use super::readings::Reading;
use super::tokens::{Token, occurs};
use super::typo::own_typos;
use super::wanted::Wanted;
use serde_json::Value;

impl Ranker<'_> {
    /// The words a record must have when so many are found; `None` when any number will do.
    pub fn required_words(&self, words: &[Wanted], records: &[Value], found: u64) -> Option<usize> {
        if words.len() < 4 || words.iter().any(|word| !word.optional) || found <= self.results_per_level {
            return None;
        }
        let shown = records.iter().filter(|record| self.passes(record)).map(|record| self.tokens(record));
        let shown = shown.filter(|tokens| !self.is_excluded(tokens));
        let readings = self.readings(words, records);
        let counts: Vec<usize> = shown.map(|tokens| self.words_of(&readings, &tokens)).collect();
        let step = if words.len() < 10 { 1 } else { words.len() / 5 };
        // from all words downwards: one word fewer is enough as long as fewer results than the level allows have more
        let mut required = words.len();
        while required > 1 {
            let with_more = counts.iter().filter(|count| **count >= required).count() as u64;
            let level = ((required - 2) / step + 1) as u64;
            if with_more >= self.results_per_level * level {
                break;
            }
            required -= 1;
        }
        (required > 1).then_some(required)
    }
    /// Words of the query that a record has, wherever they stand; the most of all ways to read it.
    pub fn words_of(&self, readings: &[Reading], tokens: &[Token]) -> usize {
        let has = |word: &Wanted| tokens.iter().any(|token| stands_for(word, token));
        let of_reading = |reading: &Reading| {
            let others = reading.iter().filter(|step| !step.typed);
            if others.clone().any(|step| !step.words.iter().all(has)) {
                return 0;
            }
            let found = reading.iter().filter(|step| step.words.iter().all(has));
            found.map(|step| step.to - step.from).sum()
        };
        readings.iter().map(of_reading).max().unwrap_or(0)
    }
    /// Whether a record has something that it must not have.
    pub fn is_excluded(&self, tokens: &[Token]) -> bool {
        self.excluded.iter().any(|phrase| occurs(phrase, tokens))
    }
}
/// Whether a word of a record is this one or stands for it, in whatever attribute.
fn stands_for(word: &Wanted, token: &Token) -> bool {
    let is_other =
        |text: &[char], prefix: bool| token.text == text || (prefix && token.text.starts_with(text));
    own_typos(word, &token.text, false).is_some()
        || word.others.iter().any(|other| is_other(&other.text, other.prefix))
}
