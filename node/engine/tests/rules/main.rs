//! When do rules apply, which of them first, and what do they do? Tables of small cases (C§10).

mod long;
mod promoted;
#[path = "../shard/mod.rs"]
mod shard;

use quorate_engine::index::ReadySizes;
use quorate_engine::{RuleSet, Scratch, SearchLimits, search, search_facet};
use quorate_model::params::Forced;
use quorate_model::{Rule, SearchParams, SearchResults, Settings, Synonym};
use serde_json::{Value, json};
use shard::{Shard, WordLists};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time of the searches, Unix seconds.
const NOW_S: u64 = 1_000;

fn rules(documents: &[Value]) -> Vec<Arc<Rule>> {
    let rule = |(i, document): (usize, &Value)| {
        let id = document["objectID"].as_str().map_or_else(|| format!("r{i}"), str::to_owned);
        Arc::new(Rule::parse_body(document.to_string().as_bytes(), &id).unwrap())
    };
    documents.iter().enumerate().map(rule).collect()
}
fn synonyms(documents: &[Value]) -> Vec<Arc<Synonym>> {
    let synonym = |(i, document): (usize, &Value)| {
        Arc::new(Synonym::parse_body(document.to_string().as_bytes(), &format!("s{i}")).unwrap())
    };
    documents.iter().enumerate().map(synonym).collect()
}
/// An index with rules; every record in a segment of its own shows that segments do not matter.
fn index(settings: Value, records: &[Value], documents: &[Value], synonym_bodies: &[Value]) -> Shard {
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    let half = records.len() / 2;
    let mut shard = Shard::new(
        settings,
        records,
        &[half, records.len() - half],
        &WordLists::default(),
        ReadySizes::default(),
    );
    let set = RuleSet::new(&rules(documents), &synonyms(synonym_bodies), &shard.configuration.schema);
    shard.configuration.rules = Arc::new(set);
    shard
}
fn params(value: &Value) -> SearchParams {
    SearchParams::from_json(value.as_object().unwrap()).unwrap()
}
fn run(shard: &Shard, params: &SearchParams) -> SearchResults {
    let limits = SearchLimits {
        deadline: (Instant::now() + Duration::from_secs(60)).into(),
        now_s: NOW_S,
        sees_unretrievable: false,
        max_hits_per_query: 0,
        bytes_max: usize::MAX,
    };
    search(&shard.view, &shard.configuration, params, &limits, &mut Scratch::new()).unwrap()
}
fn ask(shard: &Shard, request: Value) -> SearchResults {
    run(shard, &params(&request))
}
fn applied(shard: &Shard, mut request: Value) -> String {
    request["getRankingInfo"] = json!(true);
    ask(shard, request).rules.applied.join(" ")
}
fn hits(results: &SearchResults) -> Vec<Value> {
    results.hits.iter().map(|raw| serde_json::from_slice(raw).unwrap()).collect()
}
fn ids(results: &SearchResults) -> String {
    let id = |hit: &Value| hit["objectID"].as_str().unwrap().to_string();
    hits(results).iter().map(id).collect::<Vec<_>>().join(" ")
}
fn brands() -> Vec<Value> {
    let brands = ["Apple", "Apple", "Café Noir", "Samsung", "Red Bull", "Red"];
    let record = |(i, brand): (usize, &&str)| json!({"objectID": format!("p{i}"), "name": format!("thing {i} {brand}"), "brand": brand, "n": i});
    brands.iter().enumerate().map(record).collect()
}
fn shop() -> Value {
    json!({"searchableAttributes": ["name"], "attributesForFaceting": ["brand"], "customRanking": ["asc(n)"]})
}
/// A rule with one condition that shows whether it applied.
fn when(condition: Value) -> Value {
    json!({"conditions": [condition], "consequence": {"userData": 1}})
}

#[test]
fn c10_2_conditions_hold_or_not() {
    let pattern = |anchoring: &str, pattern: &str| json!({"anchoring": anchoring, "pattern": pattern});
    let with = |anchoring: &str, text: &str, more: Value| {
        let mut condition = pattern(anchoring, text);
        condition.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        condition
    };
    let synonym_bodies = [
        json!({"type": "synonym", "synonyms": ["trousers", "pants", "leg wear"]}),
        json!({"type": "onewaysynonym", "input": "tablet", "synonyms": ["ipad", "i pad pro"]}),
        json!({"type": "altcorrection1", "word": "fone", "corrections": ["phone"]}),
    ];
    for (condition, holds, fails) in [
        (
            pattern("is", "red shoe"),
            vec!["red shoe", "Réd, SHOE!"],
            vec!["red", "red shoes", "a red shoe", ""],
        ),
        (
            pattern("startsWith", "red shoe"),
            vec!["red shoe", "red shoe blue"],
            vec!["a red shoe", "red shoes"],
        ),
        (pattern("endsWith", "red shoe"), vec!["red shoe", "a red shoe"], vec!["red shoe a", "ared shoe"]),
        (
            pattern("contains", "red shoe"),
            vec!["red shoe", "a red shoe b"],
            vec!["shoe red", "red a shoe", "red sho"],
        ),
        (pattern("is", ""), vec!["", "  ", "!"], vec!["a"]),
        (pattern("contains", "!"), vec![], vec!["", "!", "a"]),
        (
            pattern("contains", "{facet:brand}"),
            vec!["apple", "cafe noir", "a RED b"],
            vec!["", "cafe", "app", "orange"],
        ),
        (pattern("is", "{facet:brand}"), vec!["apple", "red bull"], vec!["apple a", "red bull red"]),
        (
            pattern("is", "{facet:brand} phone"),
            vec!["apple phone", "red phone"],
            vec!["apple", "phone", "bull phone"],
        ),
        (pattern("is", "{facet:brand} bull can"), vec!["red bull can"], vec!["red bull"]),
        (pattern("contains", "by {facet:brand}"), vec!["shoe by red bull"], vec!["shoe of apple"]),
        (
            pattern("is", "{facet:brand}{facet:brand}"),
            vec!["apple red bull", "red red"],
            vec!["apple", "red bull"],
        ),
        (pattern("contains", "{facet:color}"), vec![], vec!["", "apple"]),
        (
            with("contains", "phone", json!({"alternatives": true})),
            vec!["phone", "phones", "phoen", "fone", "hte pone"],
            vec!["pho", "phonetic"],
        ),
        (with("contains", "phone", json!({"alternatives": false})), vec!["phone"], vec!["phoen", "fone"]),
        (
            with("is", "red pants", json!({"alternatives": true})),
            vec!["red trousers", "red leg wear"],
            vec!["blue trousers", "red leg"],
        ),
        (with("is", "leg wear", json!({"alternatives": true})), vec!["pants", "leg wear"], vec!["wear"]),
        (with("is", "ipad", json!({"alternatives": true})), vec!["tablet", "ipad"], vec!["i pad pro"]),
        (with("is", "tablet", json!({"alternatives": true})), vec!["tablet", "tabelt"], vec!["ipad"]),
    ] {
        let shard = index(shop(), &brands(), &[when(condition.clone())], &synonym_bodies);
        for (queries, expected) in [(holds, "r0"), (fails, "")] {
            for query in queries {
                assert_eq!(applied(&shard, json!({"query": query})), expected, "{condition} {query:?}");
            }
        }
    }
}

/// What a query does without, rules do without as well.
#[test]
fn c10_2_alternatives_are_those_of_the_query() {
    let synonyms = [
        json!({"type": "onewaysynonym", "input": "fruit", "synonyms": ["apple", "apple pie"]}),
        json!({"type": "altcorrection1", "word": "jabuko", "corrections": ["apple"]}),
    ];
    let condition = json!({"pattern": "apple pie", "anchoring": "contains", "alternatives": true});
    let mut settings = shop();
    settings["ignorePlurals"] = json!(["en"]);
    let rule = when(condition);
    let by_default = index(settings.clone(), &brands(), std::slice::from_ref(&rule), &synonyms);
    settings["disableTypoToleranceOnWords"] = json!(["APLPE"]);
    let without = index(settings, &brands(), &[rule], &synonyms);
    for (query, has_applied, has_without) in [
        ("apple pie", true, true),
        ("apples pie", true, true),
        ("fruit pie", true, false),
        ("fruit", true, false),
        ("jabuko pie", true, false),
        ("aplpe pie", true, false),
        ("appple pie", true, true),
    ] {
        let of = |is_there: bool| if is_there { "r0" } else { "" };
        assert_eq!(applied(&by_default, json!({"query": query})), of(has_applied), "{query}");
        let asked = json!({"query": query, "synonyms": false});
        assert_eq!(applied(&without, asked), of(has_without), "{query} without");
        let with_synonyms = has_applied && query != "aplpe pie";
        assert_eq!(applied(&without, json!({"query": query})), of(with_synonyms), "{query} without typos");
    }
}

#[test]
fn c10_2_conditions_look_at_the_request() {
    let is_context = json!({"context": "mobile"});
    let is_red = json!({"filters": "brand:Red"});
    for (rule, request, expected) in [
        (when(is_context.clone()), json!({"ruleContexts": ["a", "mobile"]}), "r0"),
        (when(is_context.clone()), json!({"ruleContexts": ["Mobile"]}), ""),
        (when(is_context.clone()), json!({}), ""),
        (when(json!({"context": "natural_language"})), json!({"naturalLanguages": ["en"]}), "r0"),
        (when(is_red.clone()), json!({"filters": "brand:red AND n > 1"}), "r0"),
        (when(is_red.clone()), json!({"facetFilters": [["brand:Red", "brand:Apple"]]}), "r0"),
        (when(is_red.clone()), json!({"filters": "NOT brand:Red"}), ""),
        (when(is_red.clone()), json!({"filters": "brand:Redder"}), ""),
        (when(json!({"filters": "brand:Red AND brand:Apple"})), json!({"filters": "brand:Red"}), ""),
        (when(json!({"filters": "_tags:x"})), json!({"tagFilters": "x"}), "r0"),
        (when(json!({"pattern": "a", "anchoring": "is", "context": "mobile"})), json!({"query": "a"}), ""),
        (
            when(json!({"pattern": "a", "anchoring": "is", "context": "mobile"})),
            json!({"query": "a", "ruleContexts": ["mobile"]}),
            "r0",
        ),
        (json!({"consequence": {"userData": 1}}), json!({"query": "anything"}), "r0"),
        (json!({"consequence": {"userData": 1}}), json!({"query": "a", "enableRules": false}), ""),
        (json!({"consequence": {"userData": 1}, "enabled": false}), json!({}), ""),
        (
            json!({"consequence": {"userData": 1}, "validity": [{"from": 1_000, "until": 1_000}]}),
            json!({}),
            "r0",
        ),
        (
            json!({"consequence": {"userData": 1}, "validity": [{"from": 1_001, "until": 2_000}]}),
            json!({}),
            "",
        ),
        (
            json!({"consequence": {"userData": 1}, "validity": [{"from": 1, "until": 2}, {"from": 3, "until": 2_000}]}),
            json!({}),
            "r0",
        ),
        (
            json!({"conditions": [{"pattern": "a", "anchoring": "is"}, is_context], "consequence": {"userData": 1}}),
            json!({"query": "b", "ruleContexts": ["mobile"]}),
            "r0",
        ),
    ] {
        let shard = index(shop(), &brands(), std::slice::from_ref(&rule), &[]);
        assert_eq!(applied(&shard, request.clone()), expected, "{rule} {request}");
    }
    let off = json!({"enableRules": false, "attributesForFaceting": ["brand"]});
    let shard = index(off, &brands(), &[json!({"consequence": {"userData": 1}})], &[]);
    assert_eq!(applied(&shard, json!({})), "", "the setting");
    assert_eq!(ask(&shard, json!({})).rules.complete, None);
    assert_eq!(applied(&shard, json!({"enableRules": true})), "r0");
}

#[test]
fn c10_3_rules_apply_in_the_order_of_precedence() {
    let rule = |id: &str, condition: Value| json!({"objectID": id, "conditions": [condition], "consequence": {"userData": id}});
    let p = |anchoring: &str, pattern: &str| json!({"anchoring": anchoring, "pattern": pattern});
    let cases = [
        (
            "1 earliest in the query",
            vec![rule("a", p("contains", "y")), rule("b", p("contains", "x"))],
            "b a",
        ),
        ("2 longest", vec![rule("a", p("contains", "x")), rule("b", p("contains", "x y"))], "b a"),
        (
            "2 filters count as words",
            vec![
                rule("a", p("contains", "x")),
                rule("b", json!({"anchoring": "contains", "pattern": "x", "filters": "brand:Red"})),
            ],
            "b a",
        ),
        (
            "3 anchoring",
            vec![
                rule("a", p("contains", "x y")),
                rule("b", p("endsWith", "x y")),
                rule("c", p("startsWith", "x y")),
                rule("d", p("is", "x y")),
            ],
            "d c b a",
        ),
        (
            "4 context",
            vec![
                rule("a", p("contains", "x")),
                rule("b", json!({"anchoring": "contains", "pattern": "x", "context": "m"})),
            ],
            "b a",
        ),
        (
            "5 filters",
            vec![
                rule("a", p("contains", "x y")),
                rule("b", json!({"anchoring": "contains", "pattern": "x", "filters": "brand:Red"})),
            ],
            "b a",
        ),
        ("8 id", vec![rule("b", p("contains", "x")), rule("a", p("contains", "x"))], "a b"),
        (
            "no pattern comes last",
            vec![rule("a", json!({"context": "m"})), rule("b", p("contains", "y"))],
            "b a",
        ),
    ];
    for (name, documents, expected) in cases {
        let shard = index(shop(), &brands(), &documents, &[]);
        let request = json!({"query": "x y", "ruleContexts": ["m"], "filters": "brand:Red"});
        assert_eq!(applied(&shard, request), expected, "{name}");
    }
    let shard = index(
        shop(),
        &brands(),
        &[rule("a", p("contains", "{facet:brand}")), rule("b", p("contains", "apple"))],
        &[],
    );
    assert_eq!(applied(&shard, json!({"query": "apple"})), "b a", "6 literal");
    let mut temporary = rule("b", p("contains", "x"));
    temporary["validity"] = json!([{"from": 1, "until": 2_000}]);
    let shard = index(shop(), &brands(), &[rule("a", p("contains", "x")), temporary], &[]);
    assert_eq!(applied(&shard, json!({"query": "x"})), "b a", "7 temporary");
    assert_eq!(ask(&shard, json!({"query": "x"})).rules.user_data, [json!("b"), json!("a")]);
}

/// What is searched after the rules: the query as taken apart again, and what was found.
fn searched(shard: &Shard, mut request: Value) -> String {
    request["getRankingInfo"] = json!(true);
    ask(shard, request).parsed_query.unwrap()
}
fn contains(pattern: &str, consequence: Value) -> Value {
    json!({"conditions": [{"pattern": pattern, "anchoring": "contains"}], "consequence": consequence})
}
fn edit(pattern: &str, edits: Value) -> Value {
    contains(pattern, json!({"params": {"query": {"edits": edits}}}))
}

#[test]
fn c10_4_what_is_excluded_stays_excluded() {
    for (query, by, expected) in [
        ("thing -a", "b", "thing -b"),
        ("-a thing", "b", "-b thing"),
        ("thing -a", "b c", "thing -\"b c\""),
        ("thing -a x", "", "thing x"),
        ("t-a thing", "b", "t- b thing"),
    ] {
        let shard = index(
            shop(),
            &brands(),
            &[edit("a", json!([{"type": "replace", "delete": "a", "insert": by}]))],
            &[],
        );
        let same = json!({"query": expected, "advancedSyntax": true, "enableRules": false});
        let ranked = |params: Value| {
            let mut params = params;
            params["getRankingInfo"] = json!(true);
            ask(&shard, params).parsed_query
        };
        let asked = ranked(json!({"query": query, "advancedSyntax": true}));
        assert_eq!(asked, ranked(same), "{query} by {by}");
    }
}

#[test]
fn c10_4_queries_are_replaced_and_edited() {
    let remove = |word: &str| json!({"type": "remove", "delete": word});
    let replace = |word: &str, by: &str| json!({"type": "replace", "delete": word, "insert": by});
    let brand = || contains("{facet:brand}", json!({"params": {"query": {"remove": ["{facet:brand}"]}}}));
    for (name, documents, query, expected) in [
        ("replaced", vec![contains("a", json!({"params": {"query": "x y"}}))], "a b", "x y"),
        ("replaced by nothing", vec![contains("a", json!({"params": {"query": ""}}))], "a b", ""),
        ("removed", vec![edit("a", json!([remove("b")]))], "A B c", "a c"),
        ("removed everywhere", vec![edit("a", json!([remove("b")]))], "b a b", "a"),
        ("a phrase", vec![edit("a", json!([remove("b c")]))], "a b c b", "a b"),
        ("absent words", vec![edit("a", json!([remove("z")]))], "a b", "a b"),
        ("exchanged", vec![edit("a", json!([replace("a", "x y"), remove("c")]))], "a b c", "x y b"),
        (
            "the earlier form",
            vec![contains("a", json!({"params": {"query": {"remove": ["a"]}}}))],
            "a b",
            "b",
        ),
        ("a placeholder", vec![brand()], "thing by red bull", "thing by"),
        ("every value", vec![brand()], "red bull thing apple", "thing"),
        (
            "once only",
            vec![edit("a", json!([replace("a", "b")])), edit("b", json!([replace("b", "c")]))],
            "a",
            "b",
        ),
        (
            "disjoint words",
            vec![edit("a", json!([replace("a", "x")])), edit("b", json!([replace("b", "y")]))],
            "a b",
            "x y",
        ),
        (
            "the same words: the earlier match wins",
            vec![edit("b", json!([replace("a", "y")])), edit("a", json!([replace("a", "x")]))],
            "a b",
            "x b",
        ),
        (
            "two replacements",
            vec![
                contains("a", json!({"params": {"query": "x"}})),
                contains("b", json!({"params": {"query": "y"}})),
            ],
            "a b",
            "x",
        ),
    ] {
        let shard = index(shop(), &brands(), &documents, &[]);
        let expected: Vec<&str> = expected.split(' ').filter(|word| !word.is_empty()).collect();
        assert_eq!(searched(&shard, json!({"query": query})), expected.join(" "), "{name}");
        assert_eq!(ask(&shard, json!({"query": query})).query, query, "the answer shows what was asked");
    }
    let mut tolerant = edit("phone", json!([remove("phone")]));
    tolerant["conditions"][0]["alternatives"] = json!(true);
    let shard = index(shop(), &brands(), &[tolerant], &[]);
    assert_eq!(
        searched(&shard, json!({"query": "thing phoen"})),
        "thing",
        "what the pattern took for the word"
    );
    let conflict = [
        json!({"objectID": "a", "consequence": {"params": {"query": "x"}, "userData": 1}}),
        json!({"objectID": "b", "consequence": {"params": {"query": "y"}, "userData": 2}}),
        json!({"objectID": "c", "consequence": {"userData": 3}}),
    ];
    let shard = index(shop(), &brands(), &conflict, &[]);
    assert_eq!(applied(&shard, json!({})), "a c", "a rule in conflict is dropped as a whole");
    assert_eq!(ask(&shard, json!({})).rules.user_data, [json!(1), json!(3)]);
}

#[test]
fn c10_4_parameters_and_filters() {
    let automatic = |filters: Value| {
        contains(
            "{facet:brand}",
            json!({"params": {"automaticFacetFilters": filters, "query": {"remove": ["{facet:brand}"]}}}),
        )
    };
    let always = |params: Value| json!({"consequence": {"params": params}});
    for (name, rule, request, expected) in [
        ("automatic", automatic(json!(["brand"])), json!({"query": "apple"}), "p0 p1"),
        ("automatic, with accents", automatic(json!(["brand"])), json!({"query": "cafe noir"}), "p2"),
        ("automatic, two values", automatic(json!(["brand"])), json!({"query": "apple samsung"}), ""),
        (
            "disjunctive",
            automatic(json!([{"facet": "brand", "disjunctive": true}])),
            json!({"query": "apple samsung"}),
            "p0 p1 p3",
        ),
        ("negative", automatic(json!(["-brand"])), json!({"query": "apple samsung"}), "p2 p4 p5"),
        (
            "optional",
            contains(
                "{facet:brand}",
                json!({"params": {"query": "", "automaticOptionalFacetFilters": ["brand<score=3>"]}}),
            ),
            json!({"query": "red"}),
            "p5 p0 p1 p2 p3 p4",
        ),
        (
            "optional, the same value twice",
            contains(
                "{facet:brand}",
                json!({"params": {"query": "", "automaticOptionalFacetFilters": ["brand<score=3>"],
                    "optionalFilters": ["brand:Samsung<score=4>"]}}),
            ),
            json!({"query": "red thing red", "sumOrFiltersScores": true}),
            "p3 p5 p0 p1 p2 p4",
        ),
        ("filters are added", always(json!({"filters": "n > 1"})), json!({"filters": "n < 4"}), "p2 p3"),
        ("over the request", always(json!({"hitsPerPage": 1})), json!({"hitsPerPage": 3}), "p0"),
        (
            "optional filters are added",
            always(json!({"optionalFilters": ["brand:Samsung<score=2>"]})),
            json!({"optionalFilters": ["brand:Red"]}),
            "p3 p5 p0 p1 p2 p4",
        ),
        ("facet filters", always(json!({"facetFilters": ["brand:Red"]})), json!({}), "p5"),
    ] {
        let shard = index(shop(), &brands(), &[rule], &[]);
        assert_eq!(ids(&ask(&shard, request)), expected, "{name}");
    }
    let two = [
        json!({"objectID": "b", "consequence": {"params": {"hitsPerPage": 1, "filters": "n > 1"}}}),
        json!({"objectID": "a", "consequence": {"params": {"hitsPerPage": 2, "filters": "n < 4"}}}),
    ];
    let shard = index(shop(), &brands(), &two, &[]);
    assert_eq!(ids(&ask(&shard, json!({}))), "p2 p3", "the better rule's scalar, both rules' filters");
    let forced = Forced { params: params(&json!({"hitsPerPage": 1, "query": "thing"})), ..Forced::default() };
    let asked = SearchParams {
        forced: Some(Arc::new(forced)),
        ..params(&json!({"query": "thing", "hitsPerPage": 1}))
    };
    let rule = [always(json!({"hitsPerPage": 5, "length": 4, "query": "nothing"}))];
    let shard = index(shop(), &brands(), &rule, &[]);
    assert_eq!(ids(&run(&shard, &asked)), "p0", "what the key forces stays");
}

#[test]
fn c8_7_answers_say_what_rules_did() {
    let mut settings = shop();
    settings["renderingContent"] = json!({"facetOrdering": {"facets": {"order": ["brand"]}}});
    let documents = [
        json!({"objectID": "a", "consequence": {"userData": {"banner": 1}, "params": {"renderingContent": {"redirect": {"url": "u1"}}}}}),
        json!({"objectID": "b", "consequence": {"userData": [2], "params": {"renderingContent": {"redirect": {"url": "u2"}, "x": 1}, "responseFields": ["hits"]}}}),
    ];
    let shard = index(settings, &brands(), &documents, &[]);
    let rules = ask(&shard, json!({"explain": ["params.rules"]})).rules;
    assert_eq!(rules.applied, ["a", "b"]);
    assert_eq!(rules.user_data, [json!({"banner": 1}), json!([2])]);
    let content =
        json!({"facetOrdering": {"facets": {"order": ["brand"]}}, "redirect": {"url": "u1"}, "x": 1});
    assert_eq!(rules.rendering_content.as_deref(), Some(&content));
    assert_eq!(rules.response_fields, Some(vec!["hits".to_string()]));
    assert_eq!(rules.complete, Some(true));
    assert_eq!(rules.params.unwrap()["renderingContent"]["redirect"]["url"], "u1");
    let rules = ask(&shard, json!({"page": 5_000})).rules;
    assert_eq!(
        (rules.applied.len(), rules.user_data.len()),
        (0, 2),
        "nobody asked which; pages do not matter"
    );
}

#[test]
fn facet_search_counts_what_the_rules_leave() {
    let mut settings = shop();
    settings["attributesForFaceting"] = json!(["searchable(brand)"]);
    let rule = json!({"consequence": {"hide": [{"objectID": "p0"}], "params": {"filters": "n < 3"}}});
    let shard = index(settings, &brands(), &[rule], &[]);
    let limits = SearchLimits {
        deadline: (Instant::now() + Duration::from_secs(60)).into(),
        now_s: NOW_S,
        sees_unretrievable: false,
        max_hits_per_query: 0,
        bytes_max: usize::MAX,
    };
    let count = |request: Value| {
        let (view, configuration) = (&shard.view, &shard.configuration);
        let found =
            search_facet(view, configuration, "brand", "", &params(&request), &limits, &mut Scratch::new());
        found
            .unwrap()
            .hits
            .iter()
            .map(|(value, _, count)| format!("{value} {count}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(count(json!({})), "Apple 1, Café Noir 1");
    assert_eq!(count(json!({"enableRules": false, "filters": "n < 3"})), "Apple 2, Café Noir 1");
}

#[test]
fn ten_thousand_rules_are_compiled_and_matched_in_time() {
    let rule = |i: usize| {
        let pattern = json!({"pattern": format!("word{} other{i} common", i % 100), "anchoring": "contains"});
        let condition = match i % 4 {
            0 => {
                json!({"pattern": format!("alpha{} other{i} common", i % 100), "anchoring": "contains", "alternatives": true})
            }
            1 => json!({"context": format!("c{i}")}),
            2 => json!({"filters": format!("brand:b{i}")}),
            _ => pattern,
        };
        json!({"conditions": [condition], "consequence": {"userData": i}})
    };
    let documents = rules(&(0..10_000).map(rule).collect::<Vec<_>>());
    let mut shard = index(shop(), &brands(), &[], &[]);
    let before = Instant::now();
    let set = RuleSet::new(&documents, &[], &shard.configuration.schema);
    // generous: this is an unoptimised build on a busy machine
    assert!(before.elapsed() < Duration::from_secs(10), "{:?}", before.elapsed());
    shard.configuration.rules = Arc::new(set);
    let before = Instant::now();
    for (request, expected) in [
        (json!({"query": "a word3 other3 common"}), "r3"),
        (json!({"query": "common common word1", "ruleContexts": ["c9"]}), "r9"),
        (json!({"query": "x", "filters": "brand:b10"}), "r10"),
        (json!({"query": "word3 other3"}), ""),
    ] {
        assert_eq!(applied(&shard, request.clone()), expected, "{request}");
    }
    assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
    let always =
        |i: usize| json!({"consequence": {"userData": i, "params": {"filters": format!("n < {}", i + 1)}}});
    let documents = rules(&(0..10_000).map(always).collect::<Vec<_>>());
    shard.configuration.rules = Arc::new(RuleSet::new(&documents, &[], &shard.configuration.schema));
    let results = ask(&shard, json!({}));
    assert_eq!(results.rules.complete, Some(false), "more filters than a request may have");
    assert_eq!((ids(&results).as_str(), results.rules.user_data.len()), ("p0", 1_000));
}
