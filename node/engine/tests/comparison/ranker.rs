//! The ranking of C§7, done by looking at everything. Each criterion has a file of its own; here they come together.

use super::attribute::Place;
use super::case::Query;
use super::criteria::{Count, ROWS};
use super::order::by_key;
use super::places::Around;
use super::proximity::Join;
use super::readings::{READINGS_MAX, Reading};
use super::relevant;
use super::shard::WordLists;
use super::tokens::{Token, numbers_of};
use super::typo::Match;
use super::wanted::{Step, Wanted, wanted};
use super::word_lists::{apply_word_lists, is_english_among};
use quorate_model::Settings;
use quorate_model::settings::{Criterion, SortKey};
use serde_json::{Map, Value, json};
use std::rc::Rc;

/// What one record gets.
#[derive(Clone, Debug)]
pub struct Ranked {
    pub id: String,
    /// What each criterion counts, in the order of [`ROWS`].
    pub counts: Vec<Count>,
    /// What it counts by.
    pub found: Rc<Found>,
    /// Number within its group.
    pub sequence: Option<u32>,
    pub seen: Seen,
}
impl Ranked {
    /// What a criterion counts.
    pub fn count(&self, criterion: &Criterion) -> Count {
        let row = ROWS.iter().position(|row| row.criterion == *criterion);
        row.map_or((0, 0), |row| self.counts[row])
    }
}
/// How one way to read the query matches a record.
#[derive(Debug, Default)]
pub struct Found {
    /// Words of the query.
    pub words: usize,
    /// What stands for them, and for each of its words the matches with the fewest typos; none where the word is missing.
    pub steps: Vec<(Step, Vec<Vec<Match>>)>,
    /// Of the nearest matches: the sum of their distances, and the best place.
    pub nearest: (u32, Place),
}
/// How the query was found in a record, in any way to read it.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Fewest typos of each word of the query.
    pub typed: Vec<Option<u32>>,
    /// What was found in the place of words.
    pub steps: Vec<Step>,
}
impl Seen {
    /// As if every word had been found with as many typos as it may have.
    pub fn everything(words: &[Wanted]) -> Seen {
        // a wrong first letter counts one more; with a second edit it is not looked for
        let typos = |word: &Wanted| Some(word.edits.min(1) as u32 + 1);
        Seen { typed: words.iter().map(typos).collect(), steps: vec![] }
    }
    fn add(&mut self, other: &Seen) {
        self.typed.resize(other.typed.len().max(self.typed.len()), None);
        for (known, new) in self.typed.iter_mut().zip(&other.typed) {
            *known = known.iter().chain(new).copied().min();
        }
        self.steps.extend(other.steps.clone());
    }
}
/// A whole answer.
#[derive(Debug, Default)]
pub struct Answer {
    pub count: u64,
    pub ranked: Vec<Ranked>,
    /// Ids before distinct.
    pub matched: Vec<String>,
    /// Hits, or groups of them, before a second order has cut some off.
    pub uncut: u64,
}
/// Everything about a query that does not depend on the record.
pub struct Ranker<'a> {
    pub settings: &'a Settings,
    pub query: &'a Query,
    pub words: Vec<Wanted>,
    /// What synonyms put in the place of words.
    pub synonyms: Vec<Step>,
    pub excluded: Vec<Vec<Vec<char>>>,
    /// Stop words of the query's languages.
    pub stop_words: Vec<String>,
    /// Results that have to share a number of words before fewer words are let in.
    pub results_per_level: u64,
    /// What is said of some attributes.
    pub about: About,
    /// The keys of a virtual replica.
    second_order: Option<&'a [SortKey]>,
}
/// Numbers of the attributes that settings and parameters list.
pub struct About {
    /// Those that are searched; none: all.
    pub searched: Vec<usize>,
    pub without_typos: Vec<usize>,
    pub without_prefixes: Vec<usize>,
    pub never_exact: Vec<usize>,
}

/// Whether a parameter is true.
pub fn flag(params: &Map<String, Value>, name: &str) -> bool {
    params.get(name).is_some_and(|value| value == &json!(true))
}

impl<'a> Ranker<'a> {
    pub fn new(settings: &'a Settings, query: &'a Query, word_lists: &WordLists) -> Ranker<'a> {
        let (mut words, excluded) = wanted(settings, query);
        let synonyms = apply_word_lists(&mut words, word_lists, &query.params, query.is_similar);
        let stop_words = if is_english_among(&query.params) { word_lists.stop_words.clone() } else { vec![] };
        let about = About {
            searched: numbers_of(settings, query, "restrictSearchableAttributes"),
            without_typos: numbers_of(settings, query, "disableTypoToleranceOnAttributes"),
            without_prefixes: numbers_of(settings, query, "disablePrefixOnAttributes"),
            never_exact: numbers_of(settings, query, "disableExactOnAttributes"),
        };
        let (second_order, results_per_level) = (None, 1_000);
        Ranker {
            settings,
            query,
            words,
            synonyms,
            excluded,
            stop_words,
            results_per_level,
            about,
            second_order,
        }
    }
    /// The same for a virtual replica that sorts by these keys.
    pub fn with_second_order(self, keys: Option<&'a [SortKey]>) -> Ranker<'a> {
        Ranker { second_order: keys, ..self }
    }
    /// The same with another size of the levels.
    pub fn with_results_per_level(self, results_per_level: u64) -> Ranker<'a> {
        Ranker { results_per_level, ..self }
    }
    /// What a browse returns: everything that matches, in the order of sort criteria and custom ranking.
    pub fn browse(&self, records: &[Value]) -> Option<Vec<String>> {
        if self.readings(&self.words, records).len() > READINGS_MAX {
            return None;
        }
        let attempt = |words: &[Wanted]| self.matching(words, records, true, 0);
        let mut found = self.giving_words_up(attempt, |found| found.len() as u64);
        let index = &self.settings.index;
        let keys_of = |criterion: &'a Criterion| criterion.sort_keys(&index.custom_ranking);
        let keys: Vec<&SortKey> = index.ranking.iter().flat_map(keys_of).collect();
        found.sort_by(|a, b| {
            let by = keys.iter().map(|key| by_key(key, a.1, b.1)).find(|order| order.is_ne());
            by.unwrap_or_else(|| b.0.id.cmp(&a.0.id))
        });
        Some(found.into_iter().map(|(one, _)| one.id).collect())
    }
    /// The radius that acts where none is asked for.
    pub fn automatic_radius(&self, records: &[Value]) -> Option<u32> {
        let is_shown =
            |record: &&Value| self.is_filtered_in(record) && !self.is_excluded(&self.tokens(record));
        let shown = records.iter().filter(is_shown);
        self.around().automatic_radius(shown)
    }
    pub fn around(&self) -> Around<'a> {
        Around::new(&self.query.params)
    }
    /// Ranks all records; gives words up as removeWordsIfNoResults says.
    ///
    /// `None` when there are more ways to read the query than are tried.
    pub fn answer(&self, records: &[Value]) -> Option<Answer> {
        if self.readings(&self.words, records).len() > READINGS_MAX {
            return None;
        }
        let attempt = |words: &[Wanted]| self.attempt(words, records);
        Some(self.giving_words_up(attempt, |answer| answer.count))
    }
    /// The attempt that finds something, words being given up as removeWordsIfNoResults says.
    fn giving_words_up<T>(&self, mut attempt: impl FnMut(&[Wanted]) -> T, count: impl Fn(&T) -> u64) -> T {
        let mut words = self.words.clone();
        let mut found = attempt(&words);
        let n = words.len();
        let order: Vec<usize> = match self.query.params.get("removeWordsIfNoResults").and_then(Value::as_str)
        {
            Some("lastWords") => (1..n).rev().take(5).collect(),
            Some("firstWords") => (0..n.saturating_sub(1)).take(5).collect(),
            Some("allOptional") if n > 1 && count(&found) == 0 => {
                words.iter_mut().for_each(|word| word.optional = true);
                return attempt(&words);
            }
            _ => vec![],
        };
        for i in order {
            if count(&found) > 0 {
                break;
            }
            words[i].optional = true;
            found = attempt(&words);
        }
        found
    }
    /// With many results required words grow; with few the wider search for typos is worth it.
    fn attempt(&self, words: &[Wanted], records: &[Value]) -> Answer {
        let answer = self.rank_all(words, records, false, 0);
        let found = answer.matched.len() as u64;
        if let Some(required) = self.required_words(words, records, found) {
            return self.rank_all(words, records, false, required);
        }
        let wider = words.iter().any(|word| word.edits == 2) && found < 20;
        if wider { self.rank_all(words, records, true, 0) } else { answer }
    }
    /// Every record that matches and has so many words, ranked, in no order.
    fn matching<'r>(
        &self,
        words: &[Wanted],
        records: &'r [Value],
        deep: bool,
        required: usize,
    ) -> Vec<(Ranked, &'r Value)> {
        let readings = self.readings(words, records);
        let mut ranked: Vec<(Ranked, &Value)> = vec![];
        let radius = self.automatic_radius(records);
        let is_near = |record: &Value| {
            let metres = self.around().metres(record);
            radius.is_none_or(|radius| metres.is_some_and(|metres| metres <= radius))
        };
        for record in records.iter().filter(|record| self.passes(record) && is_near(record)) {
            let tokens = self.tokens(record);
            let has_enough = required == 0 || self.words_of(&readings, &tokens) >= required;
            if !has_enough || self.is_excluded(&tokens) {
                continue;
            }
            let way = |reading| self.rank(reading, words.len(), record, &tokens, deep);
            let ways: Vec<Ranked> = readings.iter().filter_map(way).collect();
            let mut seen = Seen::default();
            ways.iter().for_each(|one| seen.add(&one.seen));
            // of equal ways the first
            let best = ways.into_iter().map(|one| (Ranked { seen: seen.clone(), ..one }, record)).reduce(
                |best, other| if self.compare_criteria(&other, &best).is_lt() { other } else { best },
            );
            ranked.extend(best);
        }
        ranked
    }
    fn rank_all(&self, words: &[Wanted], records: &[Value], deep: bool, required: usize) -> Answer {
        let mut ranked = self.matching(words, records, deep, required);
        ranked.sort_by(|a, b| self.compare(a, b));
        let tolerance = self.query.params.get("typoTolerance").and_then(Value::as_str);
        if let Some(kept) = tolerance.map(|name| if name == "min" { 1 } else { 2 }) {
            let typos = |one: &Ranked| one.count(&Criterion::Typo);
            let mut counts: Vec<Count> = ranked.iter().map(|(one, _)| typos(one)).collect();
            counts.sort_unstable();
            counts.dedup();
            counts.truncate(kept);
            ranked.retain(|(one, _)| counts.contains(&typos(one)));
        }
        let matched: Vec<String> = ranked.iter().map(|(one, _)| one.id.clone()).collect();
        let uncut = self.grouped(ranked.clone(), vec![]).count;
        if let Some(keys) = self.second_order {
            let strictness =
                self.query.params.get("relevancyStrictness").and_then(Value::as_u64).unwrap_or(100);
            let is_placeholder = self.query.parts.is_empty();
            let mut ranking = self.settings.index.ranking.clone();
            // min and strict put typos first even where they did not rank, a similar query its words
            ranking.extend(tolerance.map(|_| Criterion::Typo));
            ranking.extend(self.query.is_similar.then_some(Criterion::Words));
            relevant::cut_and_sort(&mut ranked, &ranking, keys, strictness, is_placeholder);
        }
        Answer { uncut, ..self.grouped(ranked, matched) }
    }
    /// What one way to read the query makes of a record; `None` when it does not match.
    fn rank(
        &self,
        reading: &Reading,
        words: usize,
        record: &Value,
        tokens: &[Token],
        deep: bool,
    ) -> Option<Ranked> {
        let mut found = Found { words, ..Found::default() };
        let mut seen = Seen { typed: vec![None; words], steps: vec![] };
        let mut lists: Vec<(Join, Vec<Match>)> = vec![];
        for step in reading.iter().filter(|_| words > 0) {
            let mut of_step = vec![];
            for (i, word) in step.words.iter().enumerate() {
                let mut matches: Vec<Match> =
                    tokens.iter().filter_map(|token| self.matched(word, step, token, deep)).collect();
                let least = matches.iter().map(|m| m.typos).min();
                matches.retain(|m| Some(m.typos) == least);
                of_step.push(matches.clone());
                if least.is_none() {
                    if !word.optional || !step.typed {
                        return None;
                    }
                    continue;
                }
                if step.typed {
                    seen.typed[step.from] = least;
                }
                let join = match (i, word.follows) {
                    (0, false) => Join::Apart,
                    (0, true) => Join::Phrase,
                    _ if step.scattered => Join::Scattered,
                    _ => Join::Inside,
                };
                lists.push((join, matches));
            }
            if !step.typed {
                seen.steps.push(step.clone());
            }
            found.steps.push((step.clone(), of_step));
        }
        if words > 0 {
            found.nearest = self.best_chain(&lists)?;
        }
        let id = record["objectID"].as_str()?.to_string();
        let counts = ROWS.iter().map(|row| (row.counts)(self, &found, record)).collect();
        Some(Ranked { id, counts, found: Rc::new(found), sequence: None, seen })
    }
}
