//! Does the engine answer what the reference answers? One seed at a time.

use super::case::{Case, Chance, Query, random_case};
use super::ranker::{Answer, Ranked, Ranker};
use super::shard::Shard;
use quorate_engine::matching::scratch::Thresholds;
use quorate_engine::{Scratch, SearchLimits, search};
use quorate_model::{SearchParams, SearchResults, Settings};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How many comparisons were made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// (settings and records, query, way of evaluating) triples.
    pub compared: u64,
    /// Of them, those that found something.
    pub with_hits: u64,
}
/// Compares the engine with the reference on the case of one seed. Panics with everything needed to repeat it.
pub fn compare_seed(seed: u64, tally: &mut Tally) {
    let case = random_case(&mut Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
    let settings = Settings::from_document(&case.settings).expect("the settings are valid");
    let shard = Shard::with_words(settings, &case.records, &case.batches, &case.spoken);
    let records = surviving(&case);
    for (number, query) in case.queries.iter().enumerate() {
        let page_length = query.params.get("hitsPerPage").and_then(Value::as_u64).unwrap_or(20);
        let ranker = Ranker::new(&shard.configuration.settings, query, &case.spoken);
        let Some(expected) = ranker.answer(&records, page_length) else { continue };
        for thresholds in [
            Thresholds::default(),
            Thresholds { list: 0, single: 0, tiers: 0 },
            Thresholds { list: 0, single: 0, tiers: u64::MAX },
            Thresholds { list: 0, single: u64::MAX, tiers: 0 },
        ] {
            let results = engine_answer(&shard, query, thresholds);
            let found = describe(&results);
            let wanted = describe_expected(query, &expected, &records);
            assert!(
                found == wanted,
                "seed {seed}, query {number}, {thresholds:?}\nsettings {}\nparams {}\nrecords {}\nbatches {:?}\n{:?}\n\
                 engine\n{}\nexpected\n{}",
                json!(case.settings),
                json!(query.params),
                json!(records),
                case.batches,
                case.spoken,
                lines(&found),
                lines(&wanted),
            );
            tally.compared += 1;
            tally.with_hits += u64::from(results.nb_hits > 0);
        }
    }
}
/// A described answer, a line for each hit.
fn lines(described: &Value) -> String {
    let hits = described["hits"].as_array().into_iter().flatten().map(|hit| format!("  {hit}\n"));
    format!("{} hits {}\n{}", described["nbHits"], described["facets"], hits.collect::<String>())
}
/// The records that are left when later ones replace earlier ones.
fn surviving(case: &Case) -> Vec<Value> {
    let mut by_id = BTreeMap::new();
    for record in &case.records {
        by_id.insert(record["objectID"].to_string(), record.clone());
    }
    by_id.into_values().collect()
}
fn engine_answer(shard: &Shard, query: &Query, thresholds: Thresholds) -> SearchResults {
    let params = SearchParams::from_json(&query.params).expect("the parameters are valid");
    let limits = SearchLimits {
        deadline: Instant::now() + Duration::from_secs(60),
        now_s: 0,
        sees_unretrievable: false,
        max_hits_per_query: 0,
    };
    let mut scratch = Scratch::new();
    scratch.thresholds = thresholds;
    search(&shard.view, &shard.configuration, &params, &limits, &mut scratch).expect("the query is valid")
}
/// The parts of an answer that both sides know, as one value.
fn describe(results: &SearchResults) -> Value {
    let hits: Vec<Value> = results
        .hits
        .iter()
        .map(|raw| {
            let hit: Value = serde_json::from_slice(raw).expect("a hit is JSON");
            let info = &hit["_rankingInfo"];
            json!({
                "id": hit["objectID"],
                "typos": info["nbTypos"],
                "first": info["firstMatchedWord"],
                "proximity": info["proximityDistance"],
                "exact": info["nbExactWords"],
                "words": info["words"],
                "filters": info["filters"],
                "geo": info["geoDistance"],
                "sequence": hit["_distinctSeqID"],
            })
        })
        .collect();
    let facets = results.facets.as_ref().map(|facets| {
        let one = |facet: &quorate_model::results::FacetCounts| {
            let stats = facet.stats.map(|s| json!([s.min, s.max, s.avg, s.sum]));
            (facet.attribute.clone(), json!({"values": facet.values, "stats": stats}))
        };
        facets.iter().map(one).collect::<Map<String, Value>>()
    });
    json!({"nbHits": results.nb_hits, "nbPages": results.nb_pages, "hits": hits, "facets": facets})
}
fn describe_expected(query: &Query, answer: &Answer, records: &[Value]) -> Value {
    let length = query.params.get("hitsPerPage").and_then(Value::as_u64).unwrap_or(20);
    let page = query.params.get("page").and_then(Value::as_u64).unwrap_or(0);
    let precision = query.params.get("aroundPrecision").and_then(Value::as_u64).unwrap_or(10) as u32;
    let mut number = 0;
    let on_page = answer.ranked.iter().filter(|one| {
        // a page counts groups: their first members
        number += u64::from(one.sequence.unwrap_or(0) == 0);
        number > page * length && number <= (page + 1) * length
    });
    let hit = |one: &Ranked| {
        json!({
            "id": one.id,
            "typos": one.typos,
            "first": one.attribute.0 * 1000 + one.attribute.1,
            "proximity": one.proximity,
            "exact": one.exact,
            "words": one.words - one.missing,
            "filters": one.filters,
            "geo": one.metres.map_or(0, |metres| metres / precision),
            "sequence": one.sequence,
        })
    };
    let hits: Vec<Value> = on_page.map(hit).collect();
    let facets = query.params.get("facets").map(|_| {
        let matched: Vec<&Value> = records
            .iter()
            .filter(|record| answer.matched.iter().any(|id| record["objectID"] == json!(id)))
            .collect();
        let counted = ["brand", "price"].map(|name| (name.to_string(), count(&matched, name)));
        let shown = counted.into_iter().filter(|(_, facet)| facet["values"] != json!([]));
        shown.collect::<Map<String, Value>>()
    });
    json!({
        "nbHits": answer.count,
        "nbPages": answer.count.min(1_000).div_ceil(length),
        "hits": hits,
        "facets": facets,
    })
}
/// Values with their counts, most frequent first, and statistics over all numbers.
fn count(records: &[&Value], name: &str) -> Value {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let mut numbers = vec![];
    for record in records {
        let mut values = vec![];
        let list = match &record[name] {
            Value::Array(list) => list.clone(),
            Value::Null => vec![],
            value => vec![value.clone()],
        };
        for value in list {
            numbers.extend(value.as_f64());
            let text = match value.as_f64() {
                Some(number) => format!("{number}"),
                None => value.as_str().unwrap_or_default().to_string(),
            };
            if !values.contains(&text) {
                values.push(text);
            }
        }
        values.into_iter().for_each(|value| *counts.entry(value).or_default() += 1);
    }
    let mut sorted: Vec<(String, u64)> = counts.into_iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let stats = (!numbers.is_empty()).then(|| {
        let (min, max) =
            numbers.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
        let sum: f64 = numbers.iter().sum();
        json!([min, max, sum / numbers.len() as f64, sum])
    });
    json!({"values": sorted, "stats": stats})
}
