//! exact: does a word stand in the record as it was typed? (C§7.8)

use super::ranker::{Found, Ranker};
use super::typo::Match;
use super::wanted::Wanted;
use serde_json::Value;

/// What counts when the query is one word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SingleWord {
    /// That a whole value is it.
    Attribute,
    /// That it occurs.
    Word,
    /// Nothing.
    None,
}

impl Ranker<'_> {
    pub fn single_word(&self) -> SingleWord {
        match self.query.params.get("exactOnSingleWordQuery").and_then(Value::as_str) {
            Some("none") => SingleWord::None,
            Some("word") => SingleWord::Word,
            _ => SingleWord::Attribute,
        }
    }
    /// Words of the query that what was found has exactly.
    pub fn exact_words(&self, found: &Found) -> i64 {
        let is_exact = |(word, matches): (&Wanted, &Vec<Match>)| self.is_exact(word, found.words, matches);
        let counting = found
            .steps
            .iter()
            .filter(|(step, matches)| step.exact && step.words.iter().zip(matches).all(is_exact));
        counting.map(|(step, _)| (step.to - step.from) as i64).sum()
    }
    /// Whether one of the matches of a word counts. `words` is how many the query has.
    fn is_exact(&self, word: &Wanted, words: usize, matches: &[Match]) -> bool {
        let never = &self.about.never_exact;
        let mut exact = matches.iter().filter(|m| m.exact && !never.contains(&m.token.attribute));
        if words > 1 {
            return exact.next().is_some();
        }
        match self.single_word() {
            SingleWord::None => false,
            SingleWord::Word => {
                let text: String = word.text.iter().collect();
                word.text.len() >= 3 && !self.stop_words.contains(&text) && exact.next().is_some()
            }
            SingleWord::Attribute => exact.any(|m| m.token.whole),
        }
    }
}
