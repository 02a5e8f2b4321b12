//! typo: how many typing errors lie between a word of the query and a word of a record? (C§7.2)

use super::ranker::{About, Ranker};
use super::tokens::Token;
use super::wanted::{Other, Step, Wanted};

/// A match of one query word.
#[derive(Clone, Debug)]
pub struct Match {
    pub typos: u32,
    /// Whether it is the very word, or what counts as it.
    pub exact: bool,
    pub token: Token,
}
/// Edits between a word and a term, or the nearest beginning of it; insertions, deletions, substitutions and swaps.
pub fn edits(word: &[char], term: &[char], prefix: bool) -> usize {
    let mut table = vec![vec![0usize; term.len() + 1]; word.len() + 1];
    for i in 0..=word.len() {
        for j in 0..=term.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let same = usize::from(word[i - 1] != term[j - 1]);
                let mut best = (table[i - 1][j] + 1).min(table[i][j - 1] + 1).min(table[i - 1][j - 1] + same);
                if i > 1 && j > 1 && word[i - 1] == term[j - 2] && word[i - 2] == term[j - 1] {
                    best = best.min(table[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    if prefix { *table[word.len()].iter().min().unwrap() } else { table[word.len()][term.len()] }
}
/// Whether a word of a record is the word, or begins with it, without typos.
pub fn is_written(word: &Wanted, token: &Token) -> bool {
    token.text == word.text || (word.prefix && token.text.starts_with(&word.text))
}
/// Typos with which a word of a record is the word itself. A wrong first letter counts twice; with a second edit it is only
/// looked for in a deep search.
pub fn own_typos(word: &Wanted, token: &[char], deep: bool) -> Option<u32> {
    if token == word.text || (word.prefix && token.starts_with(&word.text)) {
        return Some(0);
    }
    let needed = edits(&word.text, token, word.prefix);
    let same_first = token[0] == word.text[0];
    let allowed = if same_first || deep { word.edits } else { word.edits.min(1) };
    (needed <= allowed).then_some(needed as u32 + u32::from(!same_first))
}

impl Ranker<'_> {
    /// How a word of a record matches a word of a step, as far as its attribute lets it.
    pub fn matched(&self, word: &Wanted, step: &Step, token: &Token, deep: bool) -> Option<Match> {
        let About { searched, without_typos, without_prefixes, .. } = &self.about;
        if !searched.is_empty() && !searched.contains(&token.attribute) {
            return None;
        }
        let rigid = without_typos.contains(&token.attribute);
        if step.is_typo && rigid {
            return None;
        }
        let prefixes = !without_prefixes.contains(&token.attribute);
        let own = own_typos(&Wanted { prefix: word.prefix && prefixes, ..word.clone() }, &token.text, deep);
        let stands_for = |other: &&Other| {
            token.text == other.text || (other.prefix && prefixes && token.text.starts_with(&other.text))
        };
        let others = || word.others.iter().filter(stands_for);
        let all = own.into_iter().chain(others().map(|other| other.typos));
        let typos = all.filter(|typos| *typos == 0 || !rigid).min()?;
        let exact = token.text == word.text || others().any(|other| other.exact && token.text == other.text);
        Some(Match { typos, exact, token: token.clone() })
    }
}
