//! In which ways can a query be read? As typed, and with words joined, cut in two, exchanged for synonyms (C§6.4).

use super::letters::compounds;
use super::ranker::Ranker;
use super::tokens::{Token, is_next};
use super::typo::is_written;
use super::wanted::{Step, Wanted, chars, fixed, is_ideographic, one_typo_size};
use serde_json::{Value, json};

/// Ways to read a query, beyond which only some are tried.
pub const READINGS_MAX: usize = 16;
/// One way to read the query.
pub type Reading = Vec<Step>;

impl Ranker<'_> {
    /// The query as typed, then with every combination of alternatives that do not overlap.
    pub fn readings(&self, words: &[Wanted], records: &[Value]) -> Vec<Reading> {
        let texts: Vec<Vec<Token>> = records.iter().map(|record| self.tokens(record)).collect();
        let alternatives = self.alternatives(words, &texts);
        if alternatives.len() > READINGS_MAX {
            // more than anybody tries
            return vec![vec![]; alternatives.len() + 1];
        }
        let mut chosen: Vec<Vec<usize>> = (0..1usize << alternatives.len())
            .map(|bits| (0..alternatives.len()).filter(|i| bits >> i & 1 == 1).collect())
            .collect();
        chosen.retain(|set| {
            let apart = |a: &Step, b: &Step| a.to <= b.from || b.to <= a.from;
            set.iter().all(|&i| set.iter().all(|&j| i == j || apart(&alternatives[i], &alternatives[j])))
        });
        chosen.sort_by_key(|set| (set.len(), set.clone()));
        let reading = |set: &Vec<usize>| {
            let mut steps: Reading = set.iter().map(|&i| alternatives[i].clone()).collect();
            for (i, word) in words.iter().enumerate() {
                if !steps.iter().any(|step| step.from <= i && i < step.to) {
                    steps.push(Step::typed(i, word));
                }
            }
            steps.sort_by_key(|step| step.from);
            steps
        };
        chosen.iter().map(reading).collect()
    }
    /// Everything that stands for words of the query and occurs in some record.
    fn alternatives(&self, words: &[Wanted], texts: &[Vec<Token>]) -> Vec<Step> {
        let mut steps = self.synonyms.clone();
        let mut pairs: Vec<(usize, usize)> = (1..words.len().min(5)).map(|i| (i - 1, i + 1)).collect();
        if words.len() > 2 {
            pairs.push((0, words.len()));
        }
        for (from, to) in pairs {
            let joined = &words[from..to];
            let together = joined.windows(2).all(|pair| pair[0].place + 1 == pair[1].place);
            if together && joined.iter().all(|word| word.loose) {
                let text = joined.iter().flat_map(|word| word.text.clone()).collect();
                let words = vec![Wanted { prefix: words[to - 1].prefix, ..fixed(text) }];
                steps.push(Step::typing_error(words, from, to));
            }
        }
        let one_typo = one_typo_size(&self.query.params);
        for (i, word) in words.iter().enumerate() {
            if word.loose
                && (word.text.len() >= one_typo || is_ideographic(word))
                && let Some(words) = split(word, texts)
            {
                steps.push(Step::typing_error(words, i, i + 1));
            }
        }
        for (i, word) in
            words.iter().enumerate().filter(|(_, word)| !word.quoted && self.takes_compounds_apart())
        {
            if let Some(parts) = parts(word, texts) {
                let step = Step::typing_error(parts.map(|part| fixed(chars(&part))).into(), i, i + 1);
                steps.push(Step { typos: 0, is_typo: false, scattered: true, ..step });
            }
        }
        steps.retain(|step| {
            step.words.iter().all(|word| texts.iter().flatten().any(|token| is_written(word, token)))
        });
        steps
    }
    fn takes_compounds_apart(&self) -> bool {
        let params = &self.query.params;
        params.get("queryLanguages") == Some(&json!(["de"]))
            && params.get("decompoundQuery") != Some(&json!(false))
    }
}
/// The two parts of a word that are neighbours in most records; of equal ones those with the shorter first part.
fn split(word: &Wanted, texts: &[Vec<Token>]) -> Option<Vec<Wanted>> {
    let cut = |at: usize| {
        let (first, second) = word.text.split_at(at);
        vec![fixed(first.to_vec()), Wanted { prefix: word.prefix, ..fixed(second.to_vec()) }]
    };
    let count = |at: &usize| {
        let parts = cut(*at);
        let in_text = |tokens: &&Vec<Token>| {
            tokens.iter().filter(|token| is_written(&parts[0], token)).any(|first| {
                tokens
                    .iter()
                    .any(|token| is_next(first.place(), token.place()) && is_written(&parts[1], token))
            })
        };
        texts.iter().filter(in_text).count()
    };
    let places: Vec<usize> = (1..word.text.len().min(13)).collect();
    let most = places.iter().map(count).max().filter(|most| *most > 0)?;
    places.iter().find(|at| count(at) == most).map(|at| cut(*at))
}
/// The parts of a German compound: two words of records, the second as long as possible; else those of the dictionary.
fn parts(word: &Wanted, texts: &[Vec<Token>]) -> Option<[String; 2]> {
    let text: String = word.text.iter().collect();
    let is_known = |part: &str| texts.iter().flatten().any(|token| token.text == chars(part));
    if text.len() < 7 {
        return None;
    }
    for at in 3..=text.len() - 4 {
        let (before, second) = text.split_at(at);
        // from the shortest
        for link in ["", "e", "n", "s", "er", "en", "es"] {
            let first = before.strip_suffix(link).filter(|first| first.len() >= 3);
            if let Some(first) = first.filter(|first| is_known(first) && is_known(second)) {
                return Some([first, second].map(str::to_string));
            }
        }
    }
    let (_, parts) = compounds().into_iter().find(|(whole, _)| *whole == text)?;
    Some(parts.map(str::to_string))
}
