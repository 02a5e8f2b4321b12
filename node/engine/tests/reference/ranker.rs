//! The ranking of C§7, done by looking at everything.

use super::case::{Atom, Part, Query, Test};
use super::letters::written;
use super::places::Around;
use super::relevant;
use super::shard::Spoken;
use quorate_model::Settings;
use quorate_model::settings::{Criterion, SortKey};
use serde_json::{Map, Value, json};
use std::cmp::Ordering;

/// What one record gets.
#[derive(Clone, Debug)]
pub struct Ranked {
    pub id: String,
    pub typos: u32,
    pub metres: Option<u32>,
    pub missing: u32,
    pub filters: u32,
    pub proximity: u32,
    /// Attribute number and word.
    pub attribute: (u32, u32),
    pub exact: u32,
    pub words: u32,
    /// Number within its group.
    pub sequence: Option<u32>,
    pub seen: Seen,
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
        // a wrong first letter counts one more
        let typos = |word: &Wanted| Some(word.edits as u32 + 1);
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
/// A word of the query.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub text: Vec<char>,
    pub prefix: bool,
    pub edits: usize,
    pub optional: bool,
    /// Directly after the word before, as in a phrase.
    pub follows: bool,
    /// Whether it may be joined with its neighbours and cut in two.
    pub loose: bool,
    /// Whether it stands in quotes.
    pub quoted: bool,
    /// Its number among the typed words.
    pub place: usize,
    pub others: Vec<Other>,
}
/// A single word that stands for another one.
#[derive(Clone, Debug)]
pub struct Other {
    pub text: Vec<char>,
    pub prefix: bool,
    pub typos: u32,
    pub exact: bool,
    pub is_synonym: bool,
}
/// Some words that are looked for in the place of some words of the query.
#[derive(Clone, Debug)]
pub struct Step {
    /// Each directly after the one before.
    pub words: Vec<Wanted>,
    /// Words of the query it stands for.
    pub from: usize,
    pub to: usize,
    pub typos: u32,
    /// Whether these are words of the query as typed.
    pub typed: bool,
    /// Whether it is no match where typos are none.
    pub is_typo: bool,
    /// Whether it can count as exact.
    pub exact: bool,
}
/// One way to read the query.
type Reading = Vec<Step>;
/// Ways to read a query, beyond which only some are tried.
const READINGS_MAX: usize = 16;
/// A word of a record.
#[derive(Clone, Debug)]
struct Token {
    text: Vec<char>,
    attribute: u32,
    word: u32,
    whole: bool,
}
/// A match of one query word.
#[derive(Clone, Debug)]
struct Match {
    typos: u32,
    exact: bool,
    attribute: u32,
    word: u32,
    whole: bool,
}
/// Everything about a query that does not depend on the record.
pub struct Ranker<'a> {
    pub settings: &'a Settings,
    pub query: &'a Query,
    pub words: Vec<Wanted>,
    /// What synonyms put in the place of words.
    synonyms: Vec<Step>,
    excluded: Vec<Vec<Vec<char>>>,
    /// The keys of a virtual replica.
    second_order: Option<&'a [SortKey]>,
}

fn flag(params: &Map<String, Value>, name: &str) -> bool {
    params.get(name).is_some_and(|value| value == &json!(true))
}
/// Characters from which a word may have a typo.
fn one_typo_size(params: &Map<String, Value>) -> usize {
    params.get("minWordSizefor1Typo").and_then(Value::as_u64).unwrap_or(4) as usize
}
fn chars(text: &str) -> Vec<char> {
    text.chars().collect()
}
fn fixed(text: Vec<char>) -> Wanted {
    Wanted {
        text,
        prefix: false,
        edits: 0,
        optional: false,
        follows: false,
        loose: false,
        quoted: false,
        place: 0,
        others: vec![],
    }
}
/// Edits between a word and a term, or the nearest beginning of it; insertions, deletions, substitutions and swaps.
fn edits(word: &[char], term: &[char], prefix: bool) -> usize {
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

impl<'a> Ranker<'a> {
    pub fn new(settings: &'a Settings, query: &'a Query, spoken: &Spoken) -> Ranker<'a> {
        let tolerant = query.params.get("typoTolerance") != Some(&json!(false));
        let numeric = query.params.get("allowTyposOnNumericTokens") != Some(&json!(false));
        let one_typo = one_typo_size(&query.params);
        let (mut words, mut excluded, mut open) = (vec![], vec![], false);
        for part in &query.parts {
            match part {
                Part::Word(word) => {
                    let text = chars(word);
                    let edits = match text.len() {
                        _ if !tolerant || (!numeric && text.iter().all(char::is_ascii_digit)) => 0,
                        n if n < one_typo => 0,
                        0..=7 => 1,
                        _ => 2,
                    };
                    words.push(Wanted { prefix: true, edits, loose: tolerant, ..fixed(text) });
                    let numeric_word = words.last().unwrap().text.iter().all(char::is_ascii_digit);
                    words.last_mut().unwrap().loose &= numeric || !numeric_word;
                    open = true;
                }
                Part::Phrase(phrase) => {
                    for (i, word) in phrase.iter().enumerate() {
                        let text = chars(word);
                        words.push(Wanted { follows: i > 0, quoted: true, ..fixed(text) });
                    }
                    open = false;
                }
                Part::Excluded(phrase) => excluded.push(phrase.iter().map(|word| chars(word)).collect()),
            }
        }
        let last = words.len();
        let kind = query.params.get("queryType").and_then(Value::as_str).unwrap_or("prefixLast");
        for (i, word) in words.iter_mut().enumerate() {
            word.prefix &= match kind {
                "prefixAll" => true,
                "prefixNone" => false,
                _ => i + 1 == last && open,
            };
        }
        for optional in query.params.get("optionalWords").and_then(Value::as_array).into_iter().flatten() {
            for listed in optional.as_str().unwrap().split_whitespace() {
                words
                    .iter_mut()
                    .filter(|word| word.text == chars(listed))
                    .for_each(|word| word.optional = true);
            }
        }
        let synonyms = speak(&mut words, spoken, &query.params);
        Ranker { settings, query, words, synonyms, excluded, second_order: None }
    }
    /// The same for a virtual replica that sorts by these keys.
    pub fn with_second_order(self, keys: Option<&'a [SortKey]>) -> Ranker<'a> {
        Ranker { second_order: keys, ..self }
    }
    /// What a browse returns: everything that matches, in the order of sort criteria and custom ranking.
    pub fn browse(&self, records: &[Value]) -> Option<Vec<String>> {
        if self.readings(&self.words, records).len() > READINGS_MAX {
            return None;
        }
        let attempt = |words: &[Wanted]| self.matching(words, records, true);
        let mut found = self.giving_words_up(attempt, |found| found.len() as u64);
        let index = &self.settings.index;
        let keys_of = |criterion: &'a Criterion| match criterion {
            Criterion::Sort(key) => std::slice::from_ref(key),
            Criterion::Custom => index.custom_ranking.as_slice(),
            _ => &[],
        };
        let keys: Vec<&SortKey> = index.ranking.iter().flat_map(keys_of).collect();
        found.sort_by(|a, b| {
            let by = keys.iter().map(|key| by_key(key, a.1, b.1)).find(|order| order.is_ne());
            by.unwrap_or_else(|| b.0.id.cmp(&a.0.id))
        });
        Some(found.into_iter().map(|(one, _)| one.id).collect())
    }
    /// The radius that acts where none is asked for.
    pub fn automatic_radius(&self, records: &[Value]) -> Option<u32> {
        let excluded = |record: &Value| {
            let tokens = self.tokens(record);
            self.excluded.iter().any(|phrase| occurs(phrase, &tokens))
        };
        let shown = records.iter().filter(|record| self.is_filtered_in(record) && !excluded(record));
        self.around().automatic_radius(shown)
    }
    fn around(&self) -> Around<'a> {
        Around::new(&self.query.params)
    }
    /// Ranks all records; gives words up as removeWordsIfNoResults says.
    ///
    /// `None` when there are more ways to read the query than are tried.
    pub fn answer(&self, records: &[Value], page_length: u64) -> Option<Answer> {
        if self.readings(&self.words, records).len() > READINGS_MAX {
            return None;
        }
        let attempt = |words: &[Wanted]| self.attempt(words, records, page_length);
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
    /// A short page is worth the wider search for typos.
    fn attempt(&self, words: &[Wanted], records: &[Value], page_length: u64) -> Answer {
        let answer = self.rank_all(words, records, false);
        let wider = words.iter().any(|word| word.edits == 2)
            && self.count_before_distinct(&answer) < page_length.max(1);
        if wider { self.rank_all(words, records, true) } else { answer }
    }
    fn count_before_distinct(&self, answer: &Answer) -> u64 {
        answer.matched.len() as u64
    }
    /// Every record that matches, ranked, in no order.
    fn matching<'r>(&self, words: &[Wanted], records: &'r [Value], deep: bool) -> Vec<(Ranked, &'r Value)> {
        let readings = self.readings(words, records);
        let mut ranked: Vec<(Ranked, &Value)> = vec![];
        for record in records.iter().filter(|record| self.passes(record)) {
            let way = |reading: &Reading| self.rank(reading, words.len(), record, deep);
            let ways: Vec<Ranked> = readings.iter().filter_map(way).collect();
            let mut seen = Seen::default();
            ways.iter().for_each(|one| seen.add(&one.seen));
            // of equal ways the first
            let best = ways
                .into_iter()
                .map(|one| (Ranked { seen: seen.clone(), ..one }, record))
                .reduce(|best, other| if self.compare_tuples(&other, &best).is_lt() { other } else { best });
            ranked.extend(best);
        }
        ranked
    }
    fn rank_all(&self, words: &[Wanted], records: &[Value], deep: bool) -> Answer {
        let mut ranked = self.matching(words, records, deep);
        ranked.sort_by(|a, b| self.compare(a, b));
        let tolerance = self.query.params.get("typoTolerance").and_then(Value::as_str);
        if let Some(kept) = tolerance.map(|name| if name == "min" { 1 } else { 2 }) {
            let mut counts: Vec<u32> = ranked.iter().map(|(one, _)| one.typos).collect();
            counts.sort_unstable();
            counts.dedup();
            counts.truncate(kept);
            ranked.retain(|(one, _)| counts.contains(&one.typos));
        }
        let matched: Vec<String> = ranked.iter().map(|(one, _)| one.id.clone()).collect();
        let uncut = self.grouped(ranked.clone(), vec![]).count;
        if let Some(keys) = self.second_order {
            let strictness =
                self.query.params.get("relevancyStrictness").and_then(Value::as_u64).unwrap_or(100);
            let is_placeholder = self.query.parts.is_empty();
            let mut ranking = self.settings.index.ranking.clone();
            if tolerance.is_some() {
                // min and strict put typos first even where they did not rank
                ranking.push(Criterion::Typo);
            }
            relevant::cut_and_sort(&mut ranked, &ranking, keys, strictness, is_placeholder);
        }
        Answer { uncut, ..self.grouped(ranked, matched) }
    }
    fn grouped(&self, ranked: Vec<(Ranked, &Value)>, matched: Vec<String>) -> Answer {
        let most = self.query.params.get("distinct").and_then(Value::as_u64).unwrap_or(0);
        if most == 0 {
            let count = ranked.len() as u64;
            let ranked = ranked.into_iter().map(|(one, _)| one).collect();
            return Answer { count, ranked, matched, uncut: count };
        }
        let mut groups: Vec<(Option<String>, Vec<Ranked>)> = vec![];
        for (mut one, record) in ranked {
            let brand = record["brand"].as_str().map(str::to_string);
            let group = groups.iter_mut().find(|(value, _)| value.is_some() && *value == brand);
            match group {
                Some((_, members)) if (members.len() as u64) < most => {
                    one.sequence = Some(members.len() as u32);
                    members.push(one);
                }
                Some(_) => {}
                None => {
                    one.sequence = Some(0);
                    groups.push((brand, vec![one]));
                }
            }
        }
        let count = groups.len() as u64;
        // groups stay together: the caller cuts pages by members with sequence 0
        let ranked = groups.into_iter().flat_map(|(_, members)| members).collect();
        Answer { count, ranked, matched, uncut: count }
    }
    fn compare(&self, a: &(Ranked, &Value), b: &(Ranked, &Value)) -> Ordering {
        self.compare_tuples(a, b).then_with(|| b.0.id.cmp(&a.0.id))
    }
    fn compare_tuples(&self, a: &(Ranked, &Value), b: &(Ranked, &Value)) -> Ordering {
        let mut order: Vec<Criterion> = self.settings.index.ranking.clone();
        if !order.contains(&Criterion::Filters) {
            let words = order.iter().position(|criterion| *criterion == Criterion::Words);
            let at = words.map(|i| i + 1).unwrap_or_else(|| {
                let late = [Criterion::Proximity, Criterion::Attribute, Criterion::Exact, Criterion::Custom];
                order.iter().position(|criterion| late.contains(criterion)).unwrap_or(order.len())
            });
            order.insert(at, Criterion::Filters);
        }
        if self.query.params.get("typoTolerance").is_some_and(Value::is_string) {
            order.retain(|criterion| *criterion != Criterion::Typo);
            order.insert(0, Criterion::Typo);
        }
        let around = self.around();
        let bucket = |metres: Option<u32>| around.bucket(metres);
        for criterion in &order {
            let by = match criterion {
                Criterion::Typo => a.0.typos.cmp(&b.0.typos),
                Criterion::Geo => bucket(a.0.metres).cmp(&bucket(b.0.metres)),
                Criterion::Words => a.0.missing.cmp(&b.0.missing),
                Criterion::Filters => b.0.filters.cmp(&a.0.filters),
                Criterion::Proximity => a.0.proximity.cmp(&b.0.proximity),
                Criterion::Attribute => a.0.attribute.cmp(&b.0.attribute),
                Criterion::Exact => b.0.exact.cmp(&a.0.exact),
                Criterion::Custom => {
                    let keys = self.settings.index.custom_ranking.iter();
                    keys.map(|key| by_key(key, a.1, b.1)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
                }
                Criterion::Sort(key) => by_key(key, a.1, b.1),
            };
            if by.is_ne() {
                return by;
            }
        }
        Ordering::Equal
    }
    /// The query as typed, then with every combination of alternatives that do not overlap.
    fn readings(&self, words: &[Wanted], records: &[Value]) -> Vec<Reading> {
        let texts: Vec<Vec<Token>> = records.iter().map(|record| self.tokens(record)).collect();
        let alternatives = self.alternatives(words, &texts);
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
                    steps.push(Step {
                        words: vec![word.clone()],
                        from: i,
                        to: i + 1,
                        typos: 0,
                        typed: true,
                        is_typo: false,
                        exact: true,
                    });
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
                steps.push(Step { words, from, to, typos: 1, typed: false, is_typo: true, exact: false });
            }
        }
        for (i, word) in words.iter().enumerate() {
            if word.loose
                && word.text.len() >= one_typo_size(&self.query.params)
                && let Some(words) = split(word, texts)
            {
                steps.push(Step {
                    words,
                    from: i,
                    to: i + 1,
                    typos: 1,
                    typed: false,
                    is_typo: true,
                    exact: false,
                });
            }
        }
        steps.retain(|step| {
            step.words.iter().all(|word| texts.iter().flatten().any(|token| is_written(word, token)))
        });
        steps
    }
    fn rank(&self, reading: &[Step], words: usize, record: &Value, deep: bool) -> Option<Ranked> {
        let tokens = self.tokens(record);
        for phrase in &self.excluded {
            if occurs(phrase, &tokens) {
                return None;
            }
        }
        let mut one = Ranked {
            id: record["objectID"].as_str()?.to_string(),
            typos: 0,
            metres: self.around().metres(record),
            missing: 0,
            filters: self.score(record),
            proximity: 0,
            attribute: (0, 0),
            exact: 0,
            words: words as u32,
            sequence: None,
            seen: Seen { typed: vec![None; words], steps: vec![] },
        };
        if words == 0 {
            return Some(one);
        }
        let mut lists: Vec<(Join, Vec<Match>)> = vec![];
        for step in reading {
            one.typos += step.typos;
            one.proximity += (step.to - step.from - 1) as u32 * self.min_proximity().min(8);
            let mut exact = step.exact;
            let mut missing = false;
            for (i, word) in step.words.iter().enumerate() {
                let mut matches: Vec<Match> =
                    tokens.iter().filter_map(|token| self.matched(word, step, token, deep)).collect();
                let Some(least) = matches.iter().map(|m| m.typos).min() else {
                    if !word.optional || !step.typed {
                        return None;
                    }
                    missing = true;
                    continue;
                };
                matches.retain(|m| m.typos == least);
                one.typos += least;
                if step.typed {
                    one.seen.typed[step.from] = Some(least);
                }
                exact &= self.is_exact(word, words, &matches);
                let join = match (i, word.follows) {
                    (0, false) => Join::Apart,
                    (0, true) => Join::Phrase,
                    _ => Join::Inside,
                };
                lists.push((join, matches));
            }
            if !step.typed {
                one.seen.steps.push(step.clone());
            }
            one.missing += u32::from(missing);
            one.exact += if exact && !missing { (step.to - step.from) as u32 } else { 0 };
        }
        let best = self.best_chain(&lists)?;
        one.proximity += best.0;
        one.attribute = best.1;
        if self.attribute_of_all_matches() {
            one.attribute = lists.iter().flat_map(|(_, l)| l).map(|m| self.place(m)).min()?;
        }
        Some(one)
    }
    fn attribute_of_all_matches(&self) -> bool {
        let place = |wanted| self.settings.index.ranking.iter().position(|criterion| *criterion == wanted);
        let by_proximity = flag(&self.query.params, "attributeCriteriaComputedByMinProximity");
        let first = match (place(Criterion::Attribute), place(Criterion::Proximity)) {
            (Some(attribute), Some(proximity)) => attribute < proximity,
            (_, None) => true,
            (None, _) => false,
        };
        first && !by_proximity
    }
    /// Every way to choose one match a word: the least sum of distances, then the best attribute on the way.
    fn best_chain(&self, lists: &[(Join, Vec<Match>)]) -> Option<(u32, (u32, u32))> {
        let mut best = None;
        let mut choice = vec![0; lists.len()];
        'choices: loop {
            let chosen: Vec<&Match> = lists.iter().zip(&choice).map(|((_, list), &i)| &list[i]).collect();
            let apart = lists.iter().enumerate().any(|(i, (join, _))| {
                let next = |a: &Match, b: &Match| a.attribute == b.attribute && a.word + 1 == b.word;
                *join != Join::Apart && i > 0 && !next(chosen[i - 1], chosen[i])
            });
            if !apart {
                let counted = chosen
                    .windows(2)
                    .zip(lists.iter().skip(1))
                    .filter(|(_, (join, _))| *join != Join::Inside);
                let sum = counted.map(|(pair, _)| self.distance(pair[0], pair[1])).sum();
                let attribute = chosen.iter().map(|m| self.place(m)).min()?;
                best = best.into_iter().chain([(sum, attribute)]).min();
            }
            for (i, (_, list)) in lists.iter().enumerate() {
                choice[i] += 1;
                if choice[i] < list.len() {
                    continue 'choices;
                }
                choice[i] = 0;
            }
            return best;
        }
    }
    fn distance(&self, a: &Match, b: &Match) -> u32 {
        if a.attribute != b.attribute {
            return 8;
        }
        let steps = if b.word > a.word { b.word - a.word } else { a.word - b.word + 1 };
        steps.max(self.min_proximity()).min(8)
    }
    fn min_proximity(&self) -> u32 {
        self.query.params.get("minProximity").and_then(Value::as_u64).unwrap_or(1) as u32
    }
    fn place(&self, m: &Match) -> (u32, u32) {
        let attributes = &self.settings.index.searchable_attributes;
        if attributes.is_empty() {
            return (0, 0);
        }
        let ordered = attributes.iter().filter(|a| u32::from(a.priority) == m.attribute).all(|a| a.ordered);
        (m.attribute, if ordered { m.word } else { 0 })
    }
    fn is_exact(&self, word: &Wanted, words: usize, matches: &[Match]) -> bool {
        let disabled = self.numbers_of("disableExactOnAttributes");
        let mut exact = matches.iter().filter(|m| m.exact && !disabled.contains(&m.attribute));
        if words > 1 {
            return exact.next().is_some();
        }
        match self.query.params.get("exactOnSingleWordQuery").and_then(Value::as_str) {
            Some("none") => false,
            Some("word") => word.text.len() >= 3 && exact.next().is_some(),
            _ => exact.any(|m| m.whole),
        }
    }
    /// Numbers of the attributes that a setting or parameter lists.
    fn numbers_of(&self, name: &str) -> Vec<u32> {
        let listed = self.query.params.get(name).or_else(|| self.settings.document.get(name));
        let listed: Vec<&str> =
            listed.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let attributes = self.settings.index.searchable_attributes.iter();
        let named = attributes
            .filter(|a| listed.iter().any(|path| a.path == *path || a.path.starts_with(&format!("{path}."))));
        named.map(|a| u32::from(a.priority)).collect()
    }
    fn matched(&self, word: &Wanted, step: &Step, token: &Token, deep: bool) -> Option<Match> {
        let restricted = self.numbers_of("restrictSearchableAttributes");
        if !restricted.is_empty() && !restricted.contains(&token.attribute) {
            return None;
        }
        let rigid = self.numbers_of("disableTypoToleranceOnAttributes").contains(&token.attribute);
        if step.is_typo && rigid {
            return None;
        }
        let prefixes = !self.numbers_of("disablePrefixOnAttributes").contains(&token.attribute);
        let stands_for = |other: &&Other| {
            token.text == other.text || (other.prefix && prefixes && token.text.starts_with(&other.text))
        };
        let others = || word.others.iter().filter(stands_for);
        let of_others = others().map(|other| other.typos).filter(|typos| *typos == 0 || !rigid).min();
        let own = self.own_typos(word, &token.text, deep, prefixes, rigid);
        let typos = own.into_iter().chain(of_others).min()?;
        let exact = token.text == word.text || others().any(|other| other.exact && token.text == other.text);
        let Token { attribute, word: place, whole, .. } = *token;
        Some(Match { typos, exact, attribute, word: place, whole })
    }
    /// Typos with which the token is the word itself.
    pub fn own_typos(
        &self,
        word: &Wanted,
        token: &[char],
        deep: bool,
        prefixes: bool,
        rigid: bool,
    ) -> Option<u32> {
        let prefix = word.prefix && prefixes;
        Some(if token == word.text || (prefix && token.starts_with(&word.text)) {
            0
        } else {
            let needed = edits(&word.text, token, prefix);
            let same_first = token[0] == word.text[0];
            let allowed = if same_first || deep { word.edits } else { word.edits.min(1) };
            if needed > allowed || rigid {
                return None;
            }
            needed as u32 + u32::from(!same_first)
        })
    }
    /// The words of a record with their places.
    fn tokens(&self, record: &Value) -> Vec<Token> {
        let mut tokens = vec![];
        let attributes = &self.settings.index.searchable_attributes;
        let add = |value: &Value, attribute: u32, next: &mut u32, tokens: &mut Vec<Token>| {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => return,
            };
            let words = written(&text, &self.settings.index);
            let count = words.len() as u32;
            for (i, word) in words.into_iter().enumerate() {
                tokens.push(Token { text: word.text, attribute, word: *next + i as u32, whole: count == 1 });
            }
            if count > 0 {
                *next += count + 8;
            }
        };
        let numbers: Vec<u32> = attributes.iter().map(|a| u32::from(a.priority)).collect();
        let mut next = [0u32; 32];
        for (attribute, &number) in attributes.iter().zip(&numbers) {
            let mut value = Some(record);
            for member in attribute.path.split('.') {
                value = value.and_then(|value| value.get(member));
            }
            let mut leaves = vec![];
            value.iter().for_each(|value| collect(value, &mut leaves));
            leaves.iter().for_each(|leaf| add(leaf, number, &mut next[number as usize], &mut tokens));
        }
        if attributes.is_empty() {
            for (name, value) in record.as_object().unwrap() {
                let mut leaves = vec![];
                collect(value, &mut leaves);
                if name != "_geoloc" {
                    leaves.iter().for_each(|leaf| add(leaf, 0, &mut next[0], &mut tokens));
                }
            }
        }
        tokens
    }
    fn passes(&self, record: &Value) -> bool {
        self.around().holds(record) && self.is_filtered_in(record)
    }
    fn is_filtered_in(&self, record: &Value) -> bool {
        self.query.filter.iter().all(|group| group.iter().any(|atom| holds(atom, record)))
    }
    fn score(&self, record: &Value) -> u32 {
        let sum = flag(&self.query.params, "sumOrFiltersScores");
        let group = |group: &Vec<Atom>| {
            let scores = group.iter().filter(|atom| holds(atom, record)).map(|atom| atom.score);
            if sum { scores.sum() } else { scores.max().unwrap_or(0) }
        };
        self.query.filter.iter().chain(&self.query.optional).map(group).sum()
    }
}
/// Gives the words their other forms and synonyms, takes stop words out, and returns what stands for several words or is
/// several words.
fn speak(words: &mut Vec<Wanted>, spoken: &Spoken, params: &Map<String, Value>) -> Vec<Step> {
    let english =
        |name: &str| params.get(name) == Some(&json!(true)) || params.get(name) == Some(&json!(["en"]));
    let as_exact = |name: &str| match params.get("alternativesAsExact").and_then(Value::as_array) {
        Some(list) => list.contains(&json!(name)),
        None => name != "multiWordsSynonym",
    };
    let text_of = |word: &Wanted| word.text.iter().collect::<String>();
    for (place, word) in words.iter_mut().enumerate() {
        word.place = place;
        let text = text_of(word);
        let sets = spoken.plurals.iter().filter(|set| set.contains(&text));
        for form in sets.flatten().filter(|form| **form != text) {
            if english("ignorePlurals") && !word.quoted {
                let exact = as_exact("ignorePlurals");
                word.others.push(Other {
                    text: chars(form),
                    prefix: false,
                    typos: 0,
                    exact,
                    is_synonym: false,
                });
            }
        }
    }
    let mut stop: Vec<bool> = words
        .iter()
        .map(|word| {
            english("removeStopWords")
                && !word.prefix
                && !word.quoted
                && spoken.stop_words.contains(&text_of(word))
        })
        .collect();
    if !stop.contains(&false) {
        stop.fill(false);
    }
    let before = |place: usize| stop[..place].iter().filter(|stop| !**stop).count();
    let mut steps = vec![];
    let typed = words.clone();
    for from in 0..words.len() {
        for to in (from + 1..=words.len()).rev() {
            let stretch = &typed[from..to];
            if stretch.iter().any(|word| word.quoted)
                || params.get("synonyms") == Some(&json!(false))
                || before(from) == before(to)
            {
                continue;
            }
            let text = stretch.iter().map(text_of).collect::<Vec<_>>().join(" ");
            let begun = to == words.len() && words[to - 1].prefix;
            let mut found: Vec<(Meaning, bool)> = vec![];
            found.extend(meanings(spoken).into_iter().filter(|m| m.key == text).map(|m| (m, true)));
            if to - from == 1 {
                let form = |m: &Meaning| stretch[0].others.iter().any(|other| other.text == chars(&m.key));
                let exact = as_exact("ignorePlurals");
                found.extend(meanings(spoken).into_iter().filter(form).map(|m| (m, exact)));
            }
            if begun {
                let longer = |m: &Meaning| {
                    m.key.strip_prefix(&text).is_some_and(|rest| !rest.is_empty() && !rest.contains(' '))
                };
                let mut longer: Vec<Meaning> = meanings(spoken).into_iter().filter(longer).collect();
                longer.sort_by(|a, b| a.key.cmp(&b.key));
                found.extend(longer.into_iter().map(|m| (m, false)));
            }
            for (meaning, exact) in found {
                let prefix = begun;
                let single = to - from == 1 && !meaning.text.contains(' ');
                let name = if single { "singleWordSynonym" } else { "multiWordsSynonym" };
                let exact = exact && meaning.typos == 0 && as_exact(name);
                let prefix = prefix && meaning.typos == 0;
                if single {
                    let text = chars(&meaning.text);
                    words[from].others.push(Other {
                        text,
                        prefix,
                        typos: meaning.typos,
                        exact,
                        is_synonym: meaning.typos == 0,
                    });
                    continue;
                }
                let mut found: Vec<Wanted> = meaning.text.split(' ').map(|word| fixed(chars(word))).collect();
                found.last_mut().unwrap().prefix = prefix;
                steps.push(Step {
                    words: found,
                    from: before(from),
                    to: before(to),
                    typos: 0,
                    typed: false,
                    is_typo: false,
                    exact,
                });
            }
        }
    }
    let mut place = 0;
    words.retain(|_| {
        place += 1;
        !stop[place - 1]
    });
    steps
}
/// That some words of a query stand for others.
struct Meaning {
    key: String,
    text: String,
    typos: u32,
}
fn meanings(spoken: &Spoken) -> Vec<Meaning> {
    let mut all = vec![];
    for synonym in &spoken.synonyms {
        let list = |name: &str| -> Vec<String> {
            let texts = synonym[name].as_array().into_iter().flatten();
            texts.map(|text| text.as_str().unwrap().to_string()).collect()
        };
        let one = |name: &str| synonym[name].as_str().unwrap().to_string();
        let (keys, texts, typos) = match synonym["type"].as_str().unwrap() {
            "onewaysynonym" => (vec![one("input")], list("synonyms"), 0),
            "altcorrection1" => (vec![one("word")], list("corrections"), 1),
            "altcorrection2" => (vec![one("word")], list("corrections"), 2),
            _ => (list("synonyms"), list("synonyms"), 0),
        };
        for key in &keys {
            let others = texts.iter().filter(|text| *text != key);
            all.extend(others.map(|text| Meaning { key: key.clone(), text: text.clone(), typos }));
        }
    }
    all
}
/// Where a word stands, seen from the word before.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Join {
    Apart,
    Phrase,
    Inside,
}
/// Whether a token is the word, or begins with it, without typos.
fn is_written(word: &Wanted, token: &Token) -> bool {
    token.text == word.text || (word.prefix && token.text.starts_with(&word.text))
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
                let after =
                    |token: &&Token| token.attribute == first.attribute && token.word == first.word + 1;
                tokens.iter().filter(after).any(|token| is_written(&parts[1], token))
            })
        };
        texts.iter().filter(in_text).count()
    };
    let places: Vec<usize> = (1..word.text.len().min(13)).collect();
    let most = places.iter().map(count).max().filter(|most| *most > 0)?;
    places.iter().find(|at| count(at) == most).map(|at| cut(*at))
}
fn occurs(phrase: &[Vec<char>], tokens: &[Token]) -> bool {
    tokens.iter().filter(|token| token.text == phrase[0]).any(|first| {
        (1..phrase.len()).all(|i| {
            let at =
                |token: &&Token| token.attribute == first.attribute && token.word == first.word + i as u32;
            tokens.iter().filter(at).any(|token| token.text == phrase[i])
        })
    })
}
fn collect<'v>(value: &'v Value, out: &mut Vec<&'v Value>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect(value, out)),
        Value::Object(members) => members.values().for_each(|value| collect(value, out)),
        leaf => out.push(leaf),
    }
}
/// Whether a filter test holds for a record, its sign included.
pub fn holds(atom: &Atom, record: &Value) -> bool {
    let prices: Vec<f64> = match &record["price"] {
        Value::Array(list) => list.iter().filter_map(Value::as_f64).collect(),
        value => value.as_f64().into_iter().collect(),
    };
    let found = match &atom.test {
        Test::Brand(value) => record["brand"].as_str().is_some_and(|brand| brand.eq_ignore_ascii_case(value)),
        Test::Tag(value) => record["_tags"].as_array().is_some_and(|tags| tags.contains(&json!(value))),
        Test::Price(op, value) => match *op {
            "!=" => !prices.is_empty() && prices.iter().all(|price| price != value),
            "=" => prices.iter().any(|price| price == value),
            "<" => prices.iter().any(|price| price < value),
            "<=" => prices.iter().any(|price| price <= value),
            ">" => prices.iter().any(|price| price > value),
            _ => prices.iter().any(|price| price >= value),
        },
        Test::PriceRange(from, to) => prices.iter().any(|price| price >= from && price <= to),
    };
    found != atom.negated
}
/// Missing, array and object values come last in both directions. An array of one value is that value; texts come
/// after numbers.
pub fn by_key(key: &SortKey, a: &Value, b: &Value) -> Ordering {
    let value = |record: &Value| {
        let mut value = record;
        for member in key.path.split('.') {
            value = value.get(member)?;
            while let Value::Array(list) = value
                && let [one] = list.as_slice()
            {
                value = one;
            }
        }
        match value {
            Value::Bool(flag) => Some((1, f64::from(u8::from(*flag)), String::new())),
            Value::Number(number) => Some((1, number.as_f64().unwrap(), String::new())),
            Value::String(text) => Some((2, 0.0, text.to_lowercase())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    };
    match (value(a), value(b)) {
        (Some(a), Some(b)) => {
            let order = a.partial_cmp(&b).unwrap();
            if key.descending { order.reverse() } else { order }
        }
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}
