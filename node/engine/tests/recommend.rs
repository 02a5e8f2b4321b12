//! What is recommended, of which records, in which order (C§17)?

mod shard;

use quorate_engine::index::ReadySizes;
use quorate_engine::{Scratch, SearchLimits, recommend};
use quorate_model::{Candidates, RecommendModel, Recommendation, SearchParams, SearchResults, Settings};
use serde_json::{Value, json};
use shard::{Shard, WordLists, limits};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

fn shard(settings: Value, records: &[Value], batches: &[usize]) -> Shard {
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    Shard::new(settings, records, batches, &WordLists::default(), ReadySizes::default())
}
fn params(value: Value) -> Box<SearchParams> {
    Box::new(SearchParams::from_json(value.as_object().unwrap()).unwrap())
}
fn of(model: RecommendModel, source: &str) -> Recommendation {
    Recommendation {
        model,
        object_id: model.has_source().then(|| source.to_owned()),
        facet_name: None,
        facet_value: None,
        threshold: 0,
        most: 100,
        params: Box::default(),
        fallback: None,
        user: None,
        candidates: Candidates::default(),
    }
}
fn ask(shard: &Shard, asked: &Recommendation) -> SearchResults {
    let with = |set_of| {
        let mut scratch = Scratch::new();
        scratch.thresholds.set_of = set_of;
        recommend(&shard.view, &shard.configuration, asked, &limits(), &mut scratch).unwrap()
    };
    // none of the documents is looked at alone, or some, or all
    let results = with(1_024);
    for set_of in [0, 1, u32::MAX] {
        assert_eq!(with(set_of).hits.json, results.hits.json, "{set_of}");
    }
    results
}
/// The ids with their scores.
fn shown(shard: &Shard, asked: &Recommendation) -> String {
    let hit = |raw: &[u8]| {
        let hit: Value = serde_json::from_slice(raw).unwrap();
        let name = hit["objectID"].as_str().or(hit["facetValue"].as_str()).unwrap();
        format!("{name} {}", hit["_score"])
    };
    ask(shard, asked).hits.iter().map(hit).collect::<Vec<_>>().join(", ")
}
fn named(users: u32, list: &[(&str, u16)]) -> Candidates {
    Candidates { users, list: list.iter().map(|(id, score)| ((*id).to_owned(), *score)).collect() }
}

fn shop() -> Shard {
    let settings = json!({"searchableAttributes": ["name", "text"], "attributesForFaceting": ["kind", "brand"],
        "customRanking": ["desc(sold)"], "unretrievableAttributes": ["cost"]});
    let record = |id: &str, name: &str, kind: &str, sold: u32| json!({"objectID": id, "name": name, "kind": kind, "sold": sold, "cost": 1});
    let records = [
        record("lamp1", "brass reading lamp", "light", 5),
        record("lamp2", "brass reading lamp", "light", 9),
        record("lamp3", "brass ceiling lamp", "light", 1),
        record("desk", "oak reading desk", "table", 3),
        record("chair", "oak chair", "seat", 2),
        record("sofa", "red sofa", "seat", 7),
    ];
    shard(settings, &records, &[4, 2])
}

#[test]
fn records_that_have_the_same_words_are_alike() {
    let shop = shop();
    let alike = of(RecommendModel::LookingSimilar, "lamp1");
    let all = shown(&shop, &alike);
    assert!(all.starts_with("lamp2 100, lamp3 "), "{all}");
    assert!(all.contains("desk") && !all.contains("lamp1 ") && !all.contains("sofa"), "{all}");
    let cut = Recommendation { most: 1, ..alike.clone() };
    assert_eq!(shown(&shop, &cut), "lamp2 100");
    let sure = Recommendation { threshold: 10_000, ..alike.clone() };
    assert_eq!(shown(&shop, &sure), "lamp2 100");
    // filters are applied before the best are looked for
    let filtered = Recommendation { params: params(json!({"filters": "kind:table"})), ..alike.clone() };
    assert!(shown(&shop, &filtered).starts_with("desk "));
    let words = Recommendation { params: params(json!({"query": "ceiling"})), ..alike };
    assert!(shown(&shop, &words).starts_with("lamp3 "));
    assert_eq!(shown(&shop, &of(RecommendModel::LookingSimilar, "nothing")), "");
}

#[test]
fn what_all_records_have_makes_none_alike() {
    let record = |id: &str, name: &str| json!({"objectID": id, "name": name, "kind": "k"});
    let records =
        [record("a", "the brass lamp"), record("b", "the brass lamp y"), record("c", "the oak desk")];
    let shard = shard(json!({"attributesForFaceting": ["kind"]}), &records, &[3]);
    assert_eq!(shown(&shard, &of(RecommendModel::LookingSimilar, "a")), "b 100");
    assert_eq!(shown(&shard, &of(RecommendModel::LookingSimilar, "c")), "");
}

#[test]
fn candidates_are_filtered_boosted_ordered_and_cut() {
    let shop = shop();
    let list = [
        ("gone", 10_000),
        ("sofa", 9_000),
        ("lamp1", 8_000),
        ("chair", 5_025),
        ("desk", 5_025),
        ("lamp2", 7),
    ];
    let bought =
        Recommendation { candidates: named(9, &list), ..of(RecommendModel::BoughtTogether, "lamp1") };
    let with = |change: fn(&mut Recommendation)| {
        let mut asked = bought.clone();
        change(&mut asked);
        shown(&shop, &asked)
    };
    // equal scores are ordered as the index is
    assert_eq!(with(|_| {}), "sofa 90, desk 50.25, chair 50.25, lamp2 0.07");
    assert_eq!(with(|asked| asked.most = 2), "sofa 90, desk 50.25");
    assert_eq!(with(|asked| asked.threshold = 5_025), "sofa 90, desk 50.25, chair 50.25");
    assert_eq!(
        with(|asked| asked.params = params(json!({"filters": "NOT kind:table"}))),
        "sofa 90, chair 50.25, lamp2 0.07"
    );
    assert_eq!(
        with(|asked| asked.params = params(json!({"optionalFilters": ["kind:light", "kind:table<score=2>"]}))),
        "desk 50.25, lamp2 0.07, sofa 90, chair 50.25"
    );
    assert_eq!(with(|asked| asked.object_id = Some("nobody".into())), "");
    let trending = Recommendation { model: RecommendModel::TrendingItems, ..bought.clone() };
    let seats = Recommendation {
        facet_name: Some("kind".into()),
        facet_value: Some("seat".into()),
        ..trending.clone()
    };
    assert_eq!(shown(&shop, &seats), "sofa 90, chair 50.25");
    let values =
        Recommendation { model: RecommendModel::TrendingFacets, facet_name: Some("kind".into()), ..trending };
    assert_eq!(shown(&shop, &values), "seat 100, light 57.09, table 35.83");
    assert_eq!(
        shown(&shop, &Recommendation { threshold: 5_709, most: 100, ..values.clone() }),
        "seat 100, light 57.09"
    );
    assert_eq!(shown(&shop, &Recommendation { facet_name: Some("sold".into()), ..values }), "", "no facet");
}

#[test]
fn related_records_of_few_users_are_filled_with_what_is_alike() {
    let shop = shop();
    let related = |users, list| {
        let asked =
            Recommendation { candidates: named(users, list), ..of(RecommendModel::RelatedProducts, "lamp1") };
        shown(&shop, &asked)
    };
    assert_eq!(related(3, &[("sofa", 10_000)]), "sofa 100");
    let filled = related(2, &[("sofa", 10_000), ("chair", 4_000)]);
    assert!(
        filled.starts_with("sofa 100, lamp2 40, chair 40, lamp3 ")
            || filled.starts_with("sofa 100, chair 40, lamp2 40"),
        "{filled}"
    );
    // what a filter leaves out of the list lifts nothing
    let filtered = Recommendation {
        candidates: named(2, &[("sofa", 10_000), ("chair", 4_000)]),
        params: params(json!({"filters": "NOT kind:seat"})),
        ..of(RecommendModel::RelatedProducts, "lamp1")
    };
    assert!(shown(&shop, &filtered).starts_with("lamp2 40, lamp3 "), "{}", shown(&shop, &filtered));
    let content = related(0, &[]);
    assert_eq!(content, shown(&shop, &of(RecommendModel::LookingSimilar, "lamp1")));
}

#[test]
fn a_search_answers_when_nothing_is_left() {
    let shop = shop();
    let fallback = |request: Value| Recommendation {
        candidates: named(9, &[("sofa", 500)]),
        threshold: 600,
        fallback: Some(params(request)),
        ..of(RecommendModel::BoughtTogether, "lamp1")
    };
    assert_eq!(
        shown(&shop, &fallback(json!({"filters": "kind:light"}))),
        "lamp2 0, lamp3 0",
        "without the source"
    );
    assert_eq!(shown(&shop, &fallback(json!({"query": "oak", "hitsPerPage": 1}))), "desk 0");
    let asked = fallback(json!({"query": "oak"}));
    let results = ask(&shop, &asked);
    let hit: Value = serde_json::from_slice(results.hits.iter().next().unwrap()).unwrap();
    assert_eq!(hit["_highlightResult"]["name"]["value"], "<em>oak</em> reading desk");
    assert_eq!((hit.get("cost"), results.nb_hits, results.nb_pages), (None, 2, 1));
    // a score that is enough
    assert_eq!(shown(&shop, &Recommendation { threshold: 500, ..asked }), "sofa 5");
}

#[test]
fn distinct_leaves_the_best_of_each_value() {
    let settings = json!({"attributeForDistinct": "of", "distinct": true, "customRanking": ["desc(n)"]});
    let record = |n: u32, of: &str| json!({"objectID": n.to_string(), "n": n, "of": of});
    let records = [record(1, "a"), record(2, "a"), record(3, "b"), record(4, "c"), record(5, "c")];
    let shard = shard(settings, &records, &[5]);
    let asked = Recommendation {
        candidates: named(5, &[("1", 9_000), ("2", 8_000), ("4", 7_000), ("3", 6_000), ("5", 5_000)]),
        ..of(RecommendModel::TrendingItems, "")
    };
    assert_eq!(shown(&shard, &asked), "1 90, 4 70, 3 60");
    let every =
        Recommendation { params: params(json!({"distinct": false, "filters": "n < 5"})), ..asked.clone() };
    assert_eq!(shown(&shard, &every), "1 90, 2 80, 4 70, 3 60");
    let fallback = Recommendation { candidates: named(0, &[]), fallback: Some(params(json!({}))), ..asked };
    assert_eq!(shown(&shard, &fallback), "5 0, 3 0, 2 0");
}

/// Numbers that look random and are the same every time.
fn numbers(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    }
}
/// Few records with a word share it, more with another: the n-th of 200 words is as rare as n is large.
fn random_records(seed: u64, count: u64) -> Vec<Value> {
    let mut next = numbers(seed);
    let mut text = |words: u64| {
        let word = |_| {
            let (a, b) = (next(300), next(300));
            format!("w{}", a.min(b))
        };
        (0..words).map(word).collect::<Vec<_>>().join(" ")
    };
    let record = |n| {
        let (name, body) = (text(4), text(30));
        json!({"objectID": format!("{n}"), "name": name, "body": body, "tint": text(1), "year": n % 7})
    };
    (0..count).map(record).collect()
}
/// Likeness as the contract describes it, from the texts alone.
fn plain_likeness(records: &[Value], source: usize) -> BTreeMap<usize, f64> {
    let words = |record: &Value, member: &str| -> Vec<String> {
        record[member].as_str().unwrap().split(' ').map(str::to_owned).collect()
    };
    // features: a word wherever it stands, or a value
    let features_of = |record: &Value| -> BTreeMap<(bool, String), f64> {
        let mut weights: BTreeMap<(bool, String), f64> = BTreeMap::new();
        for (place, member) in ["name", "body"].into_iter().enumerate() {
            for word in words(record, member) {
                weights.entry((false, word)).or_insert(1.0 / ((1 + place) as f64).sqrt());
            }
        }
        weights.insert((true, record["tint"].as_str().unwrap().to_owned()), 0.5);
        weights
    };
    let all: Vec<_> = records.iter().map(features_of).collect();
    let count = all.len() as f64;
    let mut weighed: Vec<(f64, bool, &(bool, String))> = vec![];
    for (feature, factor) in &all[source] {
        let having = all.iter().filter(|other| other.contains_key(feature)).count();
        if having >= 2 && having <= (all.len() / 2).max(10) {
            let is_rare = having <= (all.len() / 10).max(10) && having < all.len();
            let having = having as f64;
            weighed.push((factor * (1.0 + (count - having + 0.5) / (having + 0.5)).ln(), is_rare, feature));
        }
    }
    let texts = [words(&records[source], "name"), words(&records[source], "body")].concat();
    let place = |(_, word): &(bool, String)| texts.iter().position(|other| other == word);
    weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| place(a.2).cmp(&place(b.2))));
    let (values, mut words): (Vec<_>, Vec<_>) =
        weighed.into_iter().partition(|(_, _, (is_value, _))| *is_value);
    words.truncate(25);
    let chosen: Vec<_> = words.into_iter().chain(values).collect();
    let whole: f64 = chosen.iter().map(|(weight, ..)| weight * weight).sum();
    let likeness = |other: &BTreeMap<(bool, String), f64>| {
        let common = || chosen.iter().filter(|(_, _, feature)| other.contains_key(*feature));
        let has_rare = common().any(|(_, is_rare, _)| *is_rare);
        let share = common().map(|(weight, ..)| weight * weight).sum::<f64>() / whole;
        if has_rare { share.sqrt() * 100.0 } else { 0.0 }
    };
    let scores = all.iter().map(likeness).enumerate();
    scores.filter(|(other, score)| *other != source && *score > 0.0).collect()
}

#[test]
fn likeness_is_what_a_plain_computation_says() {
    let settings =
        json!({"searchableAttributes": ["name", "body"], "attributesForFaceting": ["tint", "year"]});
    for seed in 0..4 {
        let records = random_records(seed, 150);
        let shard = shard(settings.clone(), &records, &[60, 1, 50, 39]);
        for source in [0, 59, 60, 149] {
            let plain = plain_likeness(&records, source);
            let results = ask(&shard, &of(RecommendModel::LookingSimilar, &source.to_string()));
            let mut best: Vec<f64> = plain.values().copied().collect();
            best.sort_by(|a, b| b.total_cmp(a));
            assert_eq!(results.hits.len(), best.len().min(100), "{seed} {source}");
            for (place, raw) in results.hits.iter().enumerate() {
                let hit: Value = serde_json::from_slice(raw).unwrap();
                let id: usize = hit["objectID"].as_str().unwrap().parse().unwrap();
                let score = hit["_score"].as_f64().unwrap();
                assert!((score - plain[&id]).abs() < 0.011, "{seed} {source} {id}: {score} {}", plain[&id]);
                assert!((score - best[place]).abs() < 0.011, "{seed} {source}: place {place}");
            }
        }
    }
}

#[test]
fn of_many_that_are_alike_the_best_that_may_be_shown_are() {
    let settings =
        json!({"searchableAttributes": ["name", "body"], "attributesForFaceting": ["tint", "year"]});
    let records = random_records(9, 10_000);
    let shard = shard(settings, &records, &[9_500, 500]);
    let year = |id: usize| records[id]["year"].as_u64().unwrap();
    for source in [0, 9_999] {
        let plain = plain_likeness(&records, source);
        assert!(plain.len() > 2_500, "{}: more than the best that are asked about first", plain.len());
        // all of them, most, some, and hardly any: those whose ids are given
        let few = |id: usize| id.is_multiple_of(1_000);
        let ids = (0..10_000).filter(|id| few(*id)).map(|id| format!("objectID:{id}")).collect::<Vec<_>>();
        let filters = ["".into(), "year > 0".into(), "year = 3".into(), ids.join(" OR ")];
        let holds: [&dyn Fn(usize) -> bool; 4] = [&|_| true, &|id| year(id) > 0, &|id| year(id) == 3, &few];
        for (filters, holds) in filters.into_iter().zip(holds) {
            let params = params(json!({"filters": filters}));
            let asked = Recommendation { params, ..of(RecommendModel::LookingSimilar, &source.to_string()) };
            let results = ask(&shard, &asked);
            let mut best: Vec<f64> =
                plain.iter().filter(|(id, _)| holds(**id)).map(|(_, score)| *score).collect();
            best.sort_by(|a, b| b.total_cmp(a));
            assert_eq!(results.hits.len(), best.len().min(100), "{filters}");
            for (raw, expected) in results.hits.iter().zip(best) {
                let hit: Value = serde_json::from_slice(raw).unwrap();
                let id: usize = hit["objectID"].as_str().unwrap().parse().unwrap();
                assert!(holds(id), "{filters}: {id}");
                assert!((plain[&id] - expected).abs() < 0.011, "{filters}: {} for {expected}", plain[&id]);
            }
        }
    }
}

#[test]
fn near_copies_come_first_and_what_is_gone_never() {
    let mut next = numbers(7);
    let mut records = random_records(7, 400);
    // every fifth record is planted again with another word or two
    let planted: Vec<(usize, usize)> =
        (0..400).step_by(5).map(|source| (source, records.len() + source / 5)).collect();
    for &(source, copy) in &planted {
        let mut record = records[source].clone();
        let name = record["name"].as_str().unwrap();
        let kept = name.split(' ').skip(next(2) as usize).collect::<Vec<_>>().join(" ");
        record["name"] = json!(format!("{kept} only{copy}"));
        record["objectID"] = json!(copy.to_string());
        records.push(record);
    }
    let mut shard = shard(json!({"searchableAttributes": ["name", "body"]}), &records, &[200, 280]);
    let first = |shard: &Shard, source: usize| {
        let asked = Recommendation { most: 1, ..of(RecommendModel::LookingSimilar, &source.to_string()) };
        shown(shard, &asked).split(' ').next().unwrap_or_default().to_owned()
    };
    let found = planted.iter().filter(|(source, copy)| first(&shard, *source) == copy.to_string()).count();
    assert_eq!(found, planted.len());
    let (source, copy) = planted[3];
    shard.writer.delete(&copy.to_string());
    shard.put([].iter());
    assert_ne!(first(&shard, source), copy.to_string());
}

#[test]
fn what_runs_out_of_time_says_so() {
    // more words than are looked up between two looks at the clock
    let words: Vec<String> = (0..1_100).map(|n| format!("w{n}")).collect();
    let record = |id: &str| json!({"objectID": id, "name": words.join(" ")});
    let shard = shard(json!({"searchableAttributes": ["name"]}), &[record("a"), record("b")], &[2]);
    let asked = of(RecommendModel::LookingSimilar, "a");
    assert!(ask(&shard, &asked).exhaustive_nb_hits);
    let over = SearchLimits { deadline: (Instant::now() - Duration::from_secs(1)).into(), ..limits() };
    let late = recommend(&shard.view, &shard.configuration, &asked, &over, &mut Scratch::new()).unwrap();
    assert!(!late.exhaustive_nb_hits);
}
