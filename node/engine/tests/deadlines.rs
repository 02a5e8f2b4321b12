//! Is a search that runs out of time cut wherever it can run long, with an answer that says so?

mod shard;

use quorate_engine::index::ReadySizes;
use quorate_engine::{RuleSet, Scratch, SearchLimits, browse, search, search_facet};
use quorate_model::{ErrorKind, FacetHits, Result, Rule, SearchParams, SearchResults, Settings, Synonym};
use serde_json::{Value, json};
use shard::{Shard, WordLists};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// More than pass between two looks at the clock.
const RECORDS: usize = 3_000;

fn shard(settings: Value, records: Vec<Value>) -> Shard {
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    let batches = [records.len()];
    Shard::new(settings, &records, &batches, &WordLists::default(), ReadySizes::default())
}
fn limits(deadline: Instant) -> SearchLimits {
    SearchLimits {
        deadline: deadline.into(),
        now_s: 0,
        sees_unretrievable: false,
        max_hits_per_query: 0,
        bytes_max: usize::MAX,
    }
}
fn long_ago() -> Instant {
    Instant::now() - Duration::from_secs(10)
}
fn in_time() -> Instant {
    Instant::now() + Duration::from_secs(60)
}
fn params(value: &Value) -> SearchParams {
    SearchParams::from_json(value.as_object().unwrap()).unwrap()
}
fn ask(shard: &Shard, request: &Value, deadline: Instant) -> SearchResults {
    let limits = limits(deadline);
    search(&shard.view, &shard.configuration, &params(request), &limits, &mut Scratch::new()).unwrap()
}

fn lamps() -> Shard {
    let record = |i: usize| {
        let mut record = json!({
            "objectID": format!("{i:05}"), "name": format!("lamp number {i}"), "text": "chair", "price": i,
            "_geoloc": {"lat": (i % 90) as f64, "lng": (i % 180) as f64}
        });
        for facet in 0..8 {
            record[format!("f{facet}")] = json!(format!("v{}", i % (facet + 2)));
        }
        record
    };
    let facets: Vec<String> =
        (0..8).map(|facet| format!("searchable(f{facet})")).chain(["searchable(name)".into()]).collect();
    let settings = json!({
        "searchableAttributes": ["name", "text"], "attributesForFaceting": facets, "advancedSyntax": true,
        "attributeForDistinct": "f7"
    });
    shard(settings, (0..RECORDS).map(record).collect())
}

#[test]
fn every_loop_that_can_run_long_looks_at_the_clock() {
    let shard = lamps();
    let any_price = (0..1_000).map(|n| format!("price={n}")).collect::<Vec<_>>().join(" OR ");
    let scored: Vec<String> = (0..1_000).map(|n| format!("f0:v{}<score={n}>", n % 3)).collect();
    let corners: Vec<f64> = (0..1_000).flat_map(|n| [f64::from(n % 80), f64::from(n % 170)]).collect();
    for (what, request, says) in [
        ("positions", json!({"query": "\"lamp number\""}), "hits"),
        (
            "typos by attribute",
            json!({"query": "lamp", "disableTypoToleranceOnAttributes": ["text"]}),
            "hits",
        ),
        ("exclusions", json!({"query": "chair -\"lamp number\""}), "hits"),
        ("filters", json!({"filters": any_price}), "hits"),
        ("scores", json!({"optionalFilters": scored}), "hits"),
        ("polygons", json!({"insidePolygon": [corners]}), "hits"),
        ("order without words", json!({"optionalFilters": "f0:v1"}), "order"),
        ("groups", json!({"query": "lamp chair", "distinct": 1, "optionalFilters": "f0:v1"}), "order"),
        ("facets", json!({"facets": ["*"]}), "facets"),
    ] {
        let (cut, whole) = (ask(&shard, &request, long_ago()), ask(&shard, &request, in_time()));
        let flags = |results: &SearchResults| {
            [
                ("hits", !results.exhaustive_nb_hits),
                ("order", results.exhaustive_typo == Some(false)),
                ("facets", results.facets_cut),
            ]
        };
        assert!(flags(&cut).contains(&(says, true)), "{what}: {:?}", flags(&cut));
        assert!(flags(&whole).iter().all(|(_, cut)| !cut), "{what}: {:?}", flags(&whole));
        assert!(cut.nb_hits <= whole.nb_hits, "{what}: {} of {}", cut.nb_hits, whole.nb_hits);
    }
    let request = params(&json!({}));
    let (view, configuration) = (&shard.view, &shard.configuration);
    for (deadline, exhaustive) in [(long_ago(), false), (in_time(), true)] {
        let limits = limits(deadline);
        let mut scratch = Scratch::new();
        let found =
            search_facet(view, configuration, "name", "lamp", &request, &limits, &mut scratch).unwrap();
        assert_eq!(found.exhaustive, exhaustive, "facet search");
        let filtered = params(&json!({"filters": any_price}));
        let page = browse(view, configuration, &filtered, None, &limits, &mut scratch).unwrap();
        assert_eq!((page.exhaustive_nb_hits, page.nb_hits == 1_000), (exhaustive, exhaustive), "browse");
    }
}

#[test]
fn nothing_that_a_filter_keeps_out_is_shown_for_want_of_time() {
    let shard = lamps();
    let filter = (0..1_000).map(|n| format!("NOT price={n}")).collect::<Vec<_>>().join(" AND ");
    let cut = ask(&shard, &json!({"filters": filter}), long_ago());
    assert_eq!((cut.nb_hits, cut.hits.len(), cut.exhaustive_nb_hits), (0, 0, false));
    assert_eq!(ask(&shard, &json!({"filters": filter}), in_time()).nb_hits, 2_000);
}

/// What boosts is looked at after what selects: when time runs out there, hits are shown all the same.
#[test]
fn what_passes_a_filter_is_shown_though_there_is_no_time_for_what_boosts() {
    let shard = lamps();
    let boosts: Vec<String> = (0..400).map(|n| format!("f{}:v{n}<score={}>", n % 8, n % 7)).collect();
    let cut = ask(&shard, &json!({"filters": "price > 10", "optionalFilters": boosts}), long_ago());
    assert!(!cut.hits.is_empty() && cut.nb_hits > 0 && !cut.exhaustive_nb_hits, "{}", cut.nb_hits);
}

/// Numbers of which records have several are looked at once for a whole OR; of one attribute few records have any.
#[test]
fn comparisons_with_several_numbers_of_a_record_end_in_time_and_hold_as_each_does_alone() {
    let record = |i: usize| {
        let numbers: Vec<usize> = (0..i % 5).map(|k| (i * 7 + k * 13) % 97).collect();
        let mut record = json!({"objectID": format!("{i:05}"), "n": numbers});
        if i.is_multiple_of(50) {
            record["rare"] = json!([i % 97, (i + 1) % 97]);
        }
        record
    };
    let shard = shard(json!({}), (0..RECORDS).map(record).collect());
    let found = |filters: &str, deadline: Instant| {
        let request = json!({"filters": filters, "hitsPerPage": 1_000, "attributesToRetrieve": []});
        ask(&shard, &request, deadline)
    };
    let ids = |filters: &str| -> BTreeSet<String> {
        let results = found(filters, in_time());
        assert!(results.exhaustive_nb_hits && results.nb_hits <= 1_000, "{filters}: {}", results.nb_hits);
        results.hits.iter().map(|hit| String::from_utf8_lossy(hit).into_owned()).collect()
    };
    for attribute in ["n", "rare"] {
        let alone = ["=5", "=5.0", "<2", ":50 TO 52", ":51 TO 54", ">95", ":9 TO 8", "=200"];
        let alone = alone.map(|comparison| format!("{attribute}{comparison}"));
        let expected: BTreeSet<String> = alone.iter().flat_map(|filter| ids(filter)).collect();
        assert!(!expected.is_empty());
        assert_eq!(ids(&alone.join(" OR ")), expected, "{attribute}");
    }
    let (none_is, others) = (found("n!=5", in_time()).nb_hits, found("n!=5 OR n=5", in_time()).nb_hits);
    assert_eq!(
        (others, none_is < others),
        (RECORDS as u64 * 4 / 5, true),
        "those without numbers pass neither"
    );
    let left = found("NOT n=5 OR n=5 OR n=6", in_time()).nb_hits;
    assert_eq!(left, RECORDS as u64);
    let cut = found("n=5 OR n=6 OR n:7 TO 9", long_ago());
    assert_eq!((cut.nb_hits, cut.exhaustive_nb_hits), (0, false));
}

#[test]
fn many_scores_add_up_as_few_do() {
    let shard = lamps();
    let ranked = |count: usize| {
        // more filters that no record passes change nothing
        let mut optional = vec![json!(["f0:v1<score=2>", "f1:v0<score=3>"]), json!("f2:v1<score=4>")];
        optional.extend((0..count).map(|n| json!(format!("f0:none{n}"))));
        let request = json!({"optionalFilters": optional, "hitsPerPage": 50, "getRankingInfo": true});
        let results = ask(&shard, &request, in_time());
        String::from_utf8(results.hits.json).unwrap()
    };
    assert_eq!(ranked(0), ranked(100));
    assert!(ranked(100).contains("\"filters\":7"));
}

#[test]
fn large_pages_lose_highlights_rather_than_hold_a_thread() {
    let text = "words of a long text ".repeat(100);
    let record = |i: usize| json!({"objectID": i.to_string(), "name": "lamp", "text": text});
    let shard = shard(json!({}), (0..1_000).map(record).collect());
    let request = json!({"query": "lamp", "hitsPerPage": 1_000});
    for (deadline, all) in [(long_ago(), false), (in_time(), true)] {
        let results = ask(&shard, &request, deadline);
        let hits: Vec<&[u8]> = results.hits.iter().collect();
        let highlighted =
            hits.iter().filter(|hit| hit.windows(16).any(|window| window == b"_highlightResult")).count();
        assert_eq!(hits.len(), 1_000);
        assert!(highlighted > 100 && (highlighted == 1_000) == all, "{highlighted}");
    }
}

/// A shard whose records have many values each.
fn crowded() -> Shard {
    let record = |i: usize| {
        json!({
            "objectID": format!("{i:05}"), "name": "lamp", "half": if i.is_multiple_of(2) { "a" } else { "b" },
            "own": (0..100).map(|n| format!("own {i} {n}")).collect::<Vec<_>>(),
            "shared": (0..100).map(|n| format!("shared {}", 5 * n + i % 5)).collect::<Vec<_>>(),
            "sizes": (0..100).collect::<Vec<_>>(),
        })
    };
    let settings = json!({
        "searchableAttributes": ["name"], "attributeForDistinct": "half",
        "attributesForFaceting": ["half", "searchable(own)", "searchable(shared)", "sizes"],
    });
    shard(settings, (0..RECORDS).map(record).collect())
}

#[test]
fn the_values_of_one_facet_are_counted_in_time() {
    let shard = crowded();
    for (what, request) in [
        ("all records", json!({"facets": ["own"]})),
        ("order of letters", json!({"facets": ["own"], "sortFacetValuesBy": "alpha"})),
        ("some records", json!({"query": "lamp", "filters": "half:a", "facets": ["shared"]})),
        ("pairs of values", json!({"filters": "half:a", "facets": ["shared"]})),
        ("numbers", json!({"facets": ["sizes"]})),
    ] {
        let cut = ask(&shard, &request, long_ago());
        assert_eq!((cut.facets_cut, cut.facets), (true, Some(vec![])), "{what}");
        // what was cut short is not kept for others
        let whole = ask(&shard, &request, in_time());
        let facets = whole.facets.unwrap();
        assert!(!whole.facets_cut && facets.len() == 1, "{what}");
        let records: u64 = facets[0].values.iter().map(|(_, count)| count).sum();
        let expected = match what {
            "all records" | "order of letters" => 100,
            // each has a hundred values, of which a hundred of five hundred are listed
            "some records" | "pairs of values" => facets[0].values.iter().map(|_| 300).sum(),
            _ => 100 * RECORDS as u64,
        };
        assert_eq!(records, expected, "{what}");
    }
    let cut = ask(&shard, &json!({"distinct": 1}), long_ago());
    assert!(!cut.exhaustive_nb_hits, "groups");
    let whole = ask(&shard, &json!({"distinct": 1}), in_time());
    assert!(whole.exhaustive_nb_hits && whole.nb_hits == 2, "groups");
}

fn values(
    shard: &Shard,
    facet: &str,
    typed: &str,
    request: &Value,
    limits: &SearchLimits,
) -> Result<FacetHits> {
    search_facet(
        &shard.view,
        &shard.configuration,
        facet,
        typed,
        &params(request),
        limits,
        &mut Scratch::new(),
    )
}

#[test]
fn values_are_searched_in_time() {
    let shard = crowded();
    let text = "word ".repeat(2_000);
    let long = |i: usize| json!({"objectID": i.to_string(), "text": format!("{text}{i}")});
    let long =
        self::shard(json!({"attributesForFaceting": ["searchable(text)"]}), (0..9).map(long).collect());
    for (what, shard, facet, typed) in [
        ("many values", &shard, "own", ""),
        ("values of many records", &shard, "shared", ""),
        ("long values", &long, "text", "word"),
    ] {
        let cut = values(shard, facet, typed, &json!({}), &limits(long_ago())).unwrap();
        assert!(!cut.exhaustive, "{what}");
        let whole = values(shard, facet, typed, &json!({}), &limits(in_time())).unwrap();
        assert!(whole.exhaustive && whole.hits.len() >= 9, "{what}");
        let is_marked = |(_, highlighted, _): &(String, String, u64)| highlighted.contains("<em>");
        assert!(whole.hits.iter().all(|hit| is_marked(hit) != typed.is_empty()), "{what}");
    }
}

#[test]
fn the_values_of_an_answer_have_as_many_bytes_as_they_may() {
    let record = |i: usize| json!({"objectID": i.to_string(), "text": format!("\"word\" {i} word\u{1}")});
    let shard = shard(json!({"attributesForFaceting": ["searchable(text)"]}), (0..9).map(record).collect());
    for (request, tags) in
        [(json!({}), "<em></em>".len()), (json!({"highlightPreTag": "\n", "highlightPostTag": "é"}), 4)]
    {
        let found = values(&shard, "text", "word", &request, &limits(in_time())).unwrap();
        let json = |text: &str| Value::from(text).to_string().len() - 2;
        let bytes: usize =
            found.hits.iter().map(|(value, highlighted, _)| json(value) + json(highlighted)).sum();
        assert_eq!(bytes, 9 * 2 * r#"\"word\" 1 word\u0001"#.len() + 9 * 2 * tags);
        let within = |bytes_max| SearchLimits { bytes_max, ..limits(in_time()) };
        assert_eq!(values(&shard, "text", "word", &request, &within(bytes)).unwrap(), found);
        let refused = values(&shard, "text", "word", &request, &within(bytes - 1)).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Invalid);
        assert!(
            refused.message.starts_with("The answer is too big: ")
                && refused.message.contains("maxFacetHits")
        );
    }
}

/// Those of a facet that are counted for an answer are not copied when they are too long for it.
#[test]
fn the_counted_values_of_an_answer_have_as_many_bytes_as_they_may() {
    let record =
        |i: usize| json!({"objectID": i.to_string(), "f": format!("{i}{}x", "\n".repeat(100)), "g": "x"});
    let shard = shard(json!({"attributesForFaceting": ["f", "g"]}), (0..9).map(record).collect());
    let request = json!({"facets": ["f", "g"], "hitsPerPage": 0});
    let counted = |request: &Value, bytes_max| {
        let limits = SearchLimits { bytes_max, ..limits(in_time()) };
        let found = search(&shard.view, &shard.configuration, &params(request), &limits, &mut Scratch::new());
        found.map(|found| {
            found.facets.unwrap_or_default().iter().map(|facet| facet.values.len()).sum::<usize>()
        })
    };
    let bytes = "fgx".len() + 9 * (2 + 2 * 100);
    assert_eq!(counted(&request, bytes), Ok(10));
    let refused = counted(&request, bytes - 1).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Invalid);
    assert!(refused.message.contains("maxValuesPerFacet"), "{refused}");
    let fewer = json!({"facets": ["f"], "maxValuesPerFacet": 2, "hitsPerPage": 0});
    assert_eq!(counted(&fewer, 1 + 2 * (2 + 2 * 100)), Ok(2));
}

/// A shard with rules and synonyms.
fn ruled(rules: Vec<Value>, synonyms: &[Value]) -> Shard {
    let mut shard = shard(json!({}), vec![json!({"objectID": "1"})]);
    let rule = |(i, document): (usize, Value)| {
        Arc::new(Rule::parse_body(document.to_string().as_bytes(), &format!("r{i}")).unwrap())
    };
    let rules: Vec<Arc<Rule>> = rules.into_iter().enumerate().map(rule).collect();
    let synonym =
        |document: &Value| Arc::new(Synonym::parse_body(document.to_string().as_bytes(), "s").unwrap());
    let synonyms: Vec<Arc<Synonym>> = synonyms.iter().map(synonym).collect();
    shard.configuration.rules = Arc::new(RuleSet::new(&rules, &synonyms, &shard.configuration.schema));
    shard
}

#[test]
fn rules_are_looked_for_in_time() {
    let with_alternatives = |pattern: &str| {
        json!({"conditions": [{"pattern": pattern, "anchoring": "contains", "alternatives": true}],
            "consequence": {"userData": 1}})
    };
    let misspelt = (0..3_000).map(|i| with_alternatives(&format!("lantern{i:04}"))).collect();
    let forms: Vec<String> = (0..30).map(|i| format!("form{i}")).collect();
    let synonyms = [json!({"type": "synonym", "synonyms": forms})];
    let same_words = (0..200).map(|_| with_alternatives("form0")).collect();
    let many = (0..200).map(|_| json!({"consequence": {"userData": 1}})).collect();
    let patterns = (0..200)
        .map(|_| json!({"conditions": [{"pattern": "a b", "anchoring": "contains"}], "consequence": {"userData": 1}}))
        .collect();
    for (what, shard, query) in [
        // the same letters, and yet no word that is near
        ("words with typing errors", ruled(misspelt, &[]), "nretnal0123 0123lantern".to_owned()),
        ("lists of rules", ruled(same_words, &synonyms), forms.join(" ")),
        ("places of a pattern", ruled(patterns, &[]), "b a ".repeat(60)),
        ("effects", ruled(many, &[]), String::new()),
    ] {
        for (deadline, complete) in [(long_ago(), false), (in_time(), true)] {
            let results = ask(&shard, &json!({"query": query}), deadline);
            assert_eq!(results.rules.complete, Some(complete), "{what}");
        }
    }
}

#[test]
fn who_has_no_time_for_all_values_of_a_placeholder_leaves_the_rest_to_the_next() {
    let record = |i: usize| json!({"objectID": i.to_string(), "brand": format!("brand {i}")});
    let settings = json!({"attributesForFaceting": ["brand"]});
    let mut shard = shard(settings, (0..RECORDS).map(record).collect());
    let rule = json!({"conditions": [{"pattern": "{facet:brand}", "anchoring": "contains"}], "consequence": {"userData": 1}});
    let rule = Arc::new(Rule::parse_body(rule.to_string().as_bytes(), "r").unwrap());
    shard.configuration.rules = Arc::new(RuleSet::new([&rule], [], &shard.configuration.schema));
    let last = format!("brand {}", RECORDS - 1);
    let found = |deadline| {
        let rules = ask(&shard, &json!({"query": last}), deadline).rules;
        (rules.complete, rules.user_data.len())
    };
    let answers: Vec<_> = (0..RECORDS).map(|_| found(long_ago())).take_while(|found| found.1 == 0).collect();
    assert!((1..10).contains(&answers.len()) && answers.iter().all(|found| found.0 == Some(false)));
    assert_eq!(found(in_time()), (Some(true), 1));
}
