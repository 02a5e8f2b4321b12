//! Does the engine answer what the reference answers? One seed at a time.

use super::case::{Case, Query, random_case};
use super::criteria::ROWS;
use super::facet_search;
use super::ranker::{Answer, Ranked, Ranker};
use super::shard::{Shard, limits};
use quorate_engine::index::ShardView;
use quorate_engine::ranking::relevant::RelevantSort;
use quorate_engine::scratch::Thresholds;
use quorate_engine::{Scratch, browse, search};
use quorate_model::chance::Chance;
use quorate_model::{SearchParams, SearchResults, Settings};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Records of most cases, at most: few enough to be compared by hand.
const FEW: u64 = 60;
/// Records of the others: more than one block of a column, and enough for the usual sizes of ready lists.
const MANY: u64 = 4_000;
/// One seed in so many has many.
const MANY_EVERY: u64 = 40;

/// How many comparisons were made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// (settings, records, query) triples.
    pub triples: u64,
    /// Triples times ways of evaluating them.
    pub compared: u64,
    /// Of them, those that found something.
    pub with_hits: u64,
}
/// Compares the engine with the reference on the case of one seed. Panics with everything needed to repeat it.
pub fn compare_seed(seed: u64, tally: &mut Tally) {
    let mut chance = Chance::new(seed);
    let case = random_case(&mut chance, if seed.is_multiple_of(MANY_EVERY) { MANY } else { FEW });
    let settings = Settings::from_document(&case.settings).expect("the settings are valid");
    let mut incoming = case.records.iter();
    let mut shard = Shard::after(settings, &mut incoming, &case.events, &case.word_lists, case.ready);
    let keys = case.second_order.as_ref().map(|keys| {
        let document = json!({"customRanking": keys});
        let settings = Settings::from_document(document.as_object().unwrap()).expect("the keys are valid");
        settings.index.custom_ranking
    });
    shard.configuration.relevant_sort =
        keys.as_ref().map(|keys| Arc::new(RelevantSort::new(shard.configuration.settings(), keys)));
    let mut before: Option<(Arc<ShardView>, &Query, Value)> = None;
    for (number, query) in case.queries.iter().enumerate() {
        let settings = shard.configuration.settings().clone();
        let records = case.surviving(number);
        shard.go_on(&mut incoming, &case.before[number]);
        if let Some((view, query, answered)) = before.take() {
            // who holds a view sees nothing of what has happened since
            let growth = case.results_per_level;
            let found = describe(&engine_answer(
                &view,
                &shard,
                query,
                Thresholds { growth, ..Thresholds::default() },
            ));
            if found != answered {
                disagree(seed, number, "the view before", &case, query, &found, &answered);
            }
        }
        let ranker = Ranker::new(&settings, query, &case.word_lists)
            .with_second_order(keys.as_deref())
            .with_results_per_level(case.results_per_level);
        let Some(expected) = ranker.answer(&records) else { continue };
        let radius = ranker.automatic_radius(&records);
        let wanted = describe_expected(&ranker, &case, &expected, radius, &records);
        let usual = Thresholds { growth: case.results_per_level, ..Thresholds::default() };
        for thresholds in [
            usual,
            Thresholds { list: 0, single: 0, tiers: 0, first_look: 3, ..usual },
            Thresholds { list: 0, single: 0, tiers: u64::MAX, first_look: 0, ..usual },
            Thresholds { list: 0, single: u64::MAX, tiers: 0, first_look: 1, ..usual },
        ] {
            let results = engine_answer(&shard.view, &shard, query, thresholds);
            let found = describe(&results);
            if found != wanted {
                disagree(seed, number, &format!("{thresholds:?}"), &case, query, &found, &wanted);
            }
            tally.compared += 1;
            tally.with_hits += u64::from(results.nb_hits > 0);
        }
        tally.triples += 1;
        before = Some((shard.view.clone(), query, wanted));
        let typed = facet_search::random_text(&mut chance, &case);
        let found = json!(facet_search::found(&shard, query, &typed, usual.growth));
        let ids = counted(query, &case, &expected, "brand");
        let wanted = json!(facet_search::wanted(&settings, query, &typed, &records, &ids));
        if found != wanted {
            disagree(seed, number, &format!("brands {typed:?}"), &case, query, &found, &wanted);
        }
        if number == 0 && !query.params["advancedSyntax"].as_bool().unwrap_or_default() {
            let (found, wanted) = browsed(&shard, &case, query, &records, 1 + chance.below(7));
            if Some(&found) != wanted.as_ref().or(Some(&found)) {
                let (found, wanted) = (json!(found), json!(wanted));
                disagree(seed, number, "browse", &case, query, &found, &wanted);
            }
        }
    }
}
fn disagree(seed: u64, number: usize, way: &str, case: &Case, query: &Query, found: &Value, wanted: &Value) {
    panic!(
        "seed {seed}, query {number}, {way}\nsettings {}\nparams {}\nrecords {}\nevents {:?}\nsecond order {:?}\n{:?}\n\
         engine\n{}\nexpected\n{}",
        json!(case.settings),
        json!(query.params),
        json!(case.surviving(number)),
        case.events,
        case.second_order,
        case.word_lists,
        lines(found),
        lines(wanted),
    );
}
/// All ids that a browse shows page by page, and those that it should.
fn browsed(
    shard: &Shard,
    case: &Case,
    query: &Query,
    records: &[Value],
    length: u64,
) -> (Vec<String>, Option<Vec<String>>) {
    let mut query = query.clone();
    for ignored in ["page", "offset", "length", "ignorePlurals", "optionalFilters", "distinct"] {
        query.params.remove(ignored);
    }
    query.optional.clear();
    query.params.insert("hitsPerPage".into(), length.into());
    let params = SearchParams::from_json(&query.params).expect("the parameters are valid");
    let (mut ids, mut cursor) = (vec![], None::<Vec<u8>>);
    loop {
        let (view, configuration) = (&shard.view, &shard.configuration);
        let mut scratch = Scratch::new();
        let page = browse(view, configuration, &params, cursor.as_deref(), &limits(), &mut scratch)
            .expect("the query is valid");
        assert!(page.hits.len() as u64 <= length && ids.len() <= records.len(), "a browse that does not end");
        let hits = page.hits.iter().map(|raw| serde_json::from_slice::<Value>(raw).expect("a hit is JSON"));
        ids.extend(hits.map(|hit| hit["objectID"].as_str().unwrap().to_string()));
        cursor = page.cursor;
        if cursor.is_none() {
            break;
        }
    }
    if query.params.get("typoTolerance").is_some_and(Value::is_string) {
        query.params.insert("typoTolerance".into(), true.into());
    }
    (ids, Ranker::new(shard.configuration.settings(), &query, &case.word_lists).browse(records))
}
/// The first hit of the page and its length.
fn page_of(query: &Query) -> (u64, u64) {
    let number = |name: &str| query.params.get(name).and_then(Value::as_u64);
    let per_page = number("hitsPerPage").unwrap_or(20);
    if number("offset").or(number("length")).is_some() {
        return (number("offset").unwrap_or(0), number("length").unwrap_or(per_page));
    }
    (number("page").unwrap_or(0) * per_page, per_page)
}
/// A described answer, a line for each hit.
fn lines(described: &Value) -> String {
    let hits = described["hits"].as_array().into_iter().flatten().map(|hit| format!("  {hit}\n"));
    let mut rest = described.clone();
    rest.as_object_mut().and_then(|members| members.remove("hits"));
    format!("{rest}\n{}", hits.collect::<String>())
}
fn engine_answer(view: &ShardView, shard: &Shard, query: &Query, thresholds: Thresholds) -> SearchResults {
    let params = SearchParams::from_json(&query.params).expect("the parameters are valid");
    let mut scratch = Scratch::new();
    scratch.thresholds = thresholds;
    search(view, &shard.configuration, &params, &limits(), &mut scratch).expect("the query is valid")
}
/// The parts of an answer that both sides know, as one value.
fn describe(results: &SearchResults) -> Value {
    let hits: Vec<Value> = results
        .hits
        .iter()
        .map(|raw| {
            let hit: Value = serde_json::from_slice(raw).expect("a hit is JSON");
            let mut info = hit["_rankingInfo"].clone();
            if let Some(members) = info.as_object_mut() {
                // what else is said than what the criteria count
                members.retain(|name, _| !["userScore", "matchedGeoLocation"].contains(&name.as_str()));
            }
            json!({
                "id": hit["objectID"],
                "info": info,
                "sequence": hit["_distinctSeqID"],
                "highlight": hit["_highlightResult"],
                "snippet": hit["_snippetResult"],
            })
        })
        .collect();
    let facets = results.facets.as_ref().map(|facets| {
        let one = |facet: &quorate_model::results::FacetCounts| {
            let stats = facet.stats.map(|s| json!([s.min, s.max, s.avg, s.sum]));
            let described = json!({"values": facet.values, "stats": stats, "complete": facet.complete});
            (facet.attribute.clone(), described)
        };
        facets.iter().map(one).collect::<Map<String, Value>>()
    });
    json!({
        "nbHits": results.nb_hits,
        "nbPages": results.nb_pages,
        "sorted": results.relevant_sort.map(|(kept, _)| kept),
        "radius": results.automatic_radius,
        "hits": hits,
        "facets": facets,
    })
}
fn describe_expected(
    ranker: &Ranker<'_>,
    case: &Case,
    answer: &Answer,
    radius: Option<u32>,
    records: &[Value],
) -> Value {
    let query = ranker.query;
    let (first, length) = page_of(query);
    let limit = case.settings.get("paginationLimitedTo").and_then(Value::as_u64).unwrap_or(1_000);
    if first > 0 && first >= limit {
        return json!({
            "nbHits": 0, "nbPages": 0, "sorted": null, "radius": null, "hits": [], "facets": null,
        });
    }
    let mut number = 0;
    let on_page = answer.ranked.iter().filter(|one| {
        // a page counts groups: their first members
        number += u64::from(one.sequence.unwrap_or(0) == 0);
        number > first && number <= (first + length).min(limit)
    });
    let hit = |one: &Ranked| {
        let record = records.iter().find(|record| record["objectID"] == one.id.as_str()).unwrap();
        let rows = ROWS.iter().zip(&one.counts);
        let members = rows.flat_map(|(row, count)| (row.info)(ranker, *count, &one.found, record));
        let info: Map<String, Value> = members.map(|(name, value)| (name.into(), value.into())).collect();
        json!({
            "id": one.id,
            "info": info,
            "sequence": one.sequence,
            "highlight": ranker.highlights(record, &one.seen),
            "snippet": ranker.snippets(record, &one.seen),
        })
    };
    let hits: Vec<Value> = on_page.map(hit).collect();
    json!({
        "nbHits": answer.uncut,
        "nbPages": if length == 0 { 0 } else { answer.count.min(limit).div_ceil(length) },
        "sorted": case.second_order.as_ref().map(|_| answer.count),
        "radius": radius,
        "hits": hits,
        "facets": query.params.get("facets").map(|_| facets(query, case, answer, records)),
    })
}
/// The ids of the records of which a facet is counted: before or after distinct.
fn counted(query: &Query, case: &Case, answer: &Answer, name: &str) -> Vec<String> {
    let grouped = query.params.get("distinct").and_then(Value::as_u64).unwrap_or(0) > 0;
    let cut_by_typos = query.params.get("typoTolerance").is_some_and(Value::is_string);
    let all_late = query.params.contains_key("facetingAfterDistinct") && !cut_by_typos;
    let declared = case.settings["attributesForFaceting"].as_array().unwrap();
    let is_late = |entry: &Value| {
        let entry = entry.as_str().unwrap();
        entry.starts_with("afterDistinct(") && entry.contains(&format!("({name})"))
    };
    match grouped && (all_late || declared.iter().any(is_late)) {
        true => answer.ranked.iter().map(|one| one.id.clone()).collect(),
        false => answer.matched.clone(),
    }
}
/// Both facets.
fn facets(query: &Query, case: &Case, answer: &Answer, records: &[Value]) -> Map<String, Value> {
    let counted = ["brand", "price"].map(|name| {
        let ids = counted(query, case, answer, name);
        let is_counted = |record: &&Value| ids.iter().any(|id| record["objectID"] == id.as_str());
        let counted: Vec<&Value> = records.iter().filter(is_counted).collect();
        (name.to_string(), count(&counted, name, &query.params))
    });
    counted.into_iter().filter(|(_, facet)| facet["values"] != json!([])).collect()
}
/// Values with their counts, most frequent first, and statistics over all numbers.
fn count(records: &[&Value], name: &str, params: &Map<String, Value>) -> Value {
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
    if !params.contains_key("sortFacetValuesBy") {
        sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    }
    let most = params.get("maxValuesPerFacet").and_then(Value::as_u64).unwrap_or(100) as usize;
    let complete = sorted.len() <= most;
    sorted.truncate(most);
    let stats = (!numbers.is_empty()).then(|| {
        let (min, max) =
            numbers.iter().fold((f64::MAX, f64::MIN), |(low, high), &x| (low.min(x), high.max(x)));
        let sum: f64 = numbers.iter().sum();
        json!([min, max, sum / numbers.len() as f64, sum])
    });
    json!({"values": sorted, "stats": stats, "complete": complete})
}
