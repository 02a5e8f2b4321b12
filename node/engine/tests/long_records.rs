//! Does a search of few records with many words each rank them by what stands near, and does it end in time?

mod shard;

use quorate_engine::index::ReadySizes;
use quorate_engine::{Scratch, SearchLimits, search};
use quorate_model::{SearchParams, SearchResults, Settings};
use serde_json::json;
use shard::{Shard, WordLists};
use std::time::{Duration, Instant};

/// Words of a record behind the last one that has a number of its own.
const WORDS_BEHIND: usize = 20_000;
const RECORDS: usize = 8;

/// In each record `a` and `b` stand once so many words from each other as its number says, and then everywhere behind the numbered words.
fn shard() -> Shard {
    let record = |distance: usize| {
        let between = vec!["x"; distance - 1].join(" ");
        let rest = vec!["x"; 1_000].join(" ");
        let behind = ["a", "b", "c", "d", "e"].iter().cycle().take(WORDS_BEHIND).copied().collect::<Vec<_>>();
        json!({"objectID": distance.to_string(), "text": format!("a {between} b {rest} {}", behind.join(" "))})
    };
    // the nearest is not the first to be looked at
    let records: Vec<_> = (1..=RECORDS).rev().map(record).collect();
    let settings = json!({"searchableAttributes": ["text"]});
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    Shard::new(settings, &records, &[records.len()], &WordLists::default(), ReadySizes::default())
}
fn ask(shard: &Shard, query: &str, deadline: Instant) -> SearchResults {
    let request = json!({"query": query, "queryType": "prefixAll", "attributesToHighlight": []});
    let limits = SearchLimits {
        deadline: deadline.into(),
        now_s: 0,
        sees_unretrievable: false,
        max_hits_per_query: 0,
        bytes_max: usize::MAX,
    };
    let params = SearchParams::from_json(request.as_object().unwrap()).unwrap();
    search(&shard.view, &shard.configuration, &params, &limits, &mut Scratch::new()).unwrap()
}
fn ids(results: &SearchResults) -> Vec<String> {
    let id = |hit: &[u8]| {
        let hit: serde_json::Value = serde_json::from_slice(hit).unwrap();
        hit["objectID"].as_str().unwrap().to_owned()
    };
    results.hits.iter().map(id).collect()
}

#[test]
fn the_nearest_words_rank_a_record_that_has_them_thousands_of_times() {
    let shard = shard();
    let whole = ask(&shard, "a b", Instant::now() + Duration::from_secs(60));
    let nearest_first: Vec<String> = (1..=RECORDS).map(|distance| distance.to_string()).collect();
    assert_eq!(ids(&whole), nearest_first);
    assert!(whole.exhaustive_nb_hits);
}

#[test]
fn few_records_of_many_words_are_cut_in_time() {
    let shard = shard();
    let late = ask(&shard, "a b c d e", Instant::now() - Duration::from_secs(10));
    let is_cut = !late.exhaustive_nb_hits || late.exhaustive_typo == Some(false);
    assert!(is_cut, "{} hits", late.nb_hits);
}
