//! Which values of a facet match what somebody types? C§8.3, done by looking at every value of every matching record.

use super::case::{Case, Part, Query};
use super::ranker::Ranker;
use super::shard::{Shard, WordLists, limits};
use quorate_engine::{Scratch, search_facet};
use quorate_model::chance::Chance;
use quorate_model::{SearchParams, Settings};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A value, the value with its matches in tags, and how many records have it.
type Hit = (String, String, u64);

/// What the engine finds in the brands of the records that a query selects.
pub fn found(shard: &Shard, query: &Query, typed: &str, growth: u64) -> Vec<Hit> {
    let params = SearchParams::from_json(&query.params).expect("the parameters are valid");
    let (view, configuration, mut scratch) = (&shard.view, &shard.configuration, Scratch::new());
    scratch.thresholds.growth = growth;
    let hits = search_facet(view, configuration, "brand", typed, &params, &limits(), &mut scratch);
    hits.expect("the query is valid").hits
}
/// The same by looking at the brands of all records with these ids.
pub fn wanted(
    settings: &Settings,
    query: &Query,
    typed: &str,
    records: &[Value],
    matched: &[String],
) -> Vec<Hit> {
    let mut params = query.params.clone();
    for ignored in [
        "advancedSyntax",
        "exactOnSingleWordQuery",
        "ignorePlurals",
        "optionalWords",
        "queryType",
        "removeStopWords",
        "similarQuery",
        "synonyms",
    ] {
        params.remove(ignored);
    }
    let parts = typed.split(' ').filter(|word| !word.is_empty()).map(|word| Part::Word(word.to_string()));
    let typed = Query { parts: parts.collect(), filter: vec![], optional: vec![], params, is_similar: false };
    let ranker = Ranker::new(settings, &typed, &NO_WORD_LISTS);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for record in records.iter().filter(|record| matched.iter().any(|id| record["objectID"] == id.as_str())) {
        if let Some(brand) = record["brand"].as_str() {
            *counts.entry(brand).or_default() += 1;
        }
    }
    let hit = |(value, count): (&str, u64)| Some((value.to_string(), ranker.facet_value(value)?, count));
    let mut hits: Vec<Hit> = counts.into_iter().filter_map(hit).collect();
    if query.params.get("sortFacetValuesBy") != Some(&json!("alpha")) {
        // equal ones stay in the order of their letters
        hits.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    }
    let most = query.params.get("maxFacetHits").and_then(Value::as_u64).unwrap_or(10);
    hits.truncate(most as usize);
    hits
}
static NO_WORD_LISTS: WordLists = WordLists { synonyms: vec![], plurals: vec![], stop_words: vec![] };
/// What somebody may type to find a brand.
pub fn random_text(chance: &mut Chance, case: &Case) -> String {
    let brand = chance.pick(&case.brands()).to_lowercase();
    let word = match chance.below(6) {
        0 => return String::new(),
        1 => return brand,
        _ => chance.pick(&brand.split(' ').collect::<Vec<_>>()).to_string(),
    };
    let mut letters: Vec<char> = word.chars().collect();
    if chance.once_in(2) {
        letters.truncate(1 + chance.below(letters.len() as u64) as usize);
    }
    if chance.once_in(2) {
        let at = chance.below(letters.len() as u64) as usize;
        match chance.below(3) {
            0 => letters[at] = 'x',
            1 => letters.insert(at, 'p'),
            _ => letters.swap(0, at),
        }
    }
    letters.into_iter().collect()
}
