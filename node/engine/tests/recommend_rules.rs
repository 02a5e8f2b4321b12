//! Which rules of recommendations apply to a source, and what do they do together (C§17.4)?

mod shard;

use quorate_engine::clock::Clock;
use quorate_engine::filter::{filter_set, single};
use quorate_engine::index::ReadySizes;
use quorate_engine::rules::act::Promoted;
use quorate_engine::rules::recommend::{RecommendEffects, Situation, recommend_effects};
use quorate_engine::{Scratch, SearchLimits, bits, recommend};
use quorate_model::filter::parse_filters;
use quorate_model::{
    Candidates, Filter, ObjectId, RecommendModel, RecommendRule, Recommendation, SearchParams, SearchResults,
    Settings,
};
use serde_json::{Value, json};
use shard::{Shard, WordLists, limits};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn shop() -> Shard {
    let settings =
        json!({"attributesForFaceting": ["brand", "color"], "numericAttributesForFiltering": null});
    let records = [
        json!({"objectID": "shirt", "brand": "Zorro", "color": ["red", "Blue"], "price": 20, "_tags": ["New"], "secret": "x"}),
        json!({"objectID": "hat", "brand": "zorro", "color": "red", "price": [5.5, 30]}),
        json!({"objectID": "mask", "brand": "Lone", "price": 0, "_tags": ["Old", "new"]}),
        json!({"objectID": "rope"}),
    ];
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    Shard::new(settings, &records, &[3, 1], &WordLists::default(), ReadySizes::default())
}

#[test]
fn a_document_alone_passes_what_sets_hold() {
    let shop = shop();
    let settings = &shop.configuration.settings().index;
    let filters = [
        "brand:zorro",
        "brand:ZORRO AND NOT color:blue",
        "secret:x",
        "NOT secret:x",
        "color:red OR color:green",
        "NOT color:red OR NOT color:blue",
        "_tags:New",
        "New",
        "new",
        "objectID:hat",
        "NOT objectID:hat",
        "price > 5.5",
        "price >= 5.5",
        "price < 5.5",
        "price <= 0",
        "price = 30",
        "price != 30",
        "NOT price = 30",
        "price:6 TO 25",
        "price:6 TO 25 AND (brand:zorro OR brand:lone)",
        "nothing > 1",
        "",
    ];
    for text in filters {
        let filter = parse_filters(text).unwrap();
        for segment in shop.view.segments() {
            let set = filter_set(segment, settings, &filter);
            for doc in 0..segment.doc_count() {
                let expected = set.as_ref().is_none_or(|set| bits::contains(set, doc));
                let id = segment.object_id(doc);
                assert_eq!(single::passes(segment, settings, &filter, doc), expected, "{id} {text}");
            }
        }
    }
}

fn by_id(rules: &[Value]) -> BTreeMap<ObjectId, Arc<RecommendRule>> {
    let rule = |document: &Value| {
        let rule = RecommendRule::from_document(document.to_string().as_bytes()).unwrap();
        (rule.object_id.clone(), Arc::new(rule))
    };
    rules.iter().map(rule).collect()
}
/// What rules do for a source.
fn done(shop: &Shard, source: &str, contexts: &[&str], rules: &[Value]) -> RecommendEffects {
    let rules = by_id(rules);
    let contexts: Vec<String> = contexts.iter().map(|context| (*context).to_owned()).collect();
    let source = shop.view.segments().iter().find_map(|segment| Some((segment, segment.doc_of(source)?)));
    let situation = Situation {
        settings: &shop.configuration.settings().index,
        contexts: &contexts,
        source,
        now_s: 1_000,
    };
    let deadline = (Instant::now() + Duration::from_secs(60)).into();
    recommend_effects(&rules, &situation, &mut Clock::new(&deadline))
}

#[test]
fn rules_apply_when_a_condition_holds_and_those_with_a_context_first() {
    let shop = shop();
    let with = |id: &str, more: Value| {
        let mut rule = json!({"objectID": id, "consequence": {"userData": {"from": id}}});
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        rule
    };
    let rules = [
        with("a", json!({})),
        with("b", json!({"condition": {}})),
        with("c", json!({"condition": {"context": "mobile"}})),
        with("d", json!({"conditions": [{"context": "desk"}, {"filters": "brand:zorro"}]})),
        with("e", json!({"condition": {"context": "mobile", "filters": "price < 10"}})),
        with("f", json!({"enabled": false})),
        with("g", json!({"validity": [{"from": 1, "until": 999}]})),
        with("h", json!({"validity": [{"from": 1, "until": 2}, {"from": 1_000, "until": 1_000}]})),
        with("i", json!({"condition": {"filters": "NOT brand:zorro"}})),
    ];
    for (source, contexts, expected) in [
        ("shirt", &[][..], "a b d h"),
        ("shirt", &["mobile", "x"], "c a b d h"),
        ("hat", &["mobile"], "c e a b d h"),
        ("hat", &["desk", "Mobile"], "d a b h"),
        ("mask", &["desk"], "d a b h i"),
        ("rope", &[], "a b h i"),
        // of no source nothing is known
        ("never", &["mobile"], "c a b h"),
    ] {
        let results = done(&shop, source, contexts, &rules).of_records.results;
        assert_eq!(results.applied.join(" "), expected, "{source} {contexts:?}");
        let shown: Vec<_> = results.user_data.iter().map(|data| data["from"].as_str().unwrap()).collect();
        assert_eq!((shown.join(" ").as_str(), results.complete), (expected, Some(true)));
    }
}

#[test]
fn filters_take_the_values_of_the_source() {
    let shop = shop();
    let of = |source: &str, params: Value| {
        let rules = [json!({"objectID": "r", "consequence": {"params": params}})];
        let done = done(&shop, source, &[], &rules);
        (done.filter, done.optional_filter)
    };
    let parsed = |text: &str| parse_filters(text).unwrap();
    let none = Filter::default;
    let automatic = |facets: Value| json!({"automaticFacetFilters": facets});
    for (source, params, expected) in [
        ("shirt", automatic(json!(["brand"])), "brand:Zorro"),
        ("shirt", automatic(json!([{"facet": "color"}])), "color:Blue AND color:red"),
        ("shirt", automatic(json!([{"facet": "color", "disjunctive": true}])), "color:Blue OR color:red"),
        (
            "shirt",
            automatic(json!(["-color", {"facet": "brand"}])),
            "NOT color:Blue AND NOT color:red AND brand:Zorro",
        ),
        (
            "shirt",
            automatic(json!([{"facet": "color", "negative": true, "disjunctive": true}])),
            "NOT color:Blue AND NOT color:red",
        ),
        ("rope", automatic(json!(["brand", {"facet": "color", "disjunctive": true}])), ""),
        ("shirt", automatic(json!(["secret", "price"])), ""),
        ("never", automatic(json!(["brand"])), ""),
        (
            "hat",
            json!({"filters": "price > 3", "automaticFacetFilters": ["color"]}),
            "price > 3 AND color:red",
        ),
    ] {
        assert_eq!(of(source, params.clone()), (parsed(expected), none()), "{source} {params}");
    }
    let optional = json!({"optionalFilters": ["brand:Lone<score=2>"],
        "automaticOptionalFacetFilters": [{"facet": "color", "score": 7}]});
    let (filter, optional) = of("hat", optional);
    assert_eq!((filter, optional), (none(), parsed("brand:Lone<score=2> AND color:red<score=7>")));
}

#[test]
fn rules_hide_and_promote_together() {
    let shop = shop();
    let promote = |id: &str, position: u64| json!({"objectID": id, "position": position});
    let rules = [
        json!({"objectID": "a", "consequence": {"promote": [promote("x", 0), promote("y", 1)], "hide": [{"objectID": "h"}]}}),
        json!({"objectID": "b", "condition": {"context": "c"}, "consequence": {
            "promote": [{"objectIDs": ["h", "x", "z"], "position": 3}], "hide": [{"objectID": "h"}, {"objectID": "i"}]}}),
    ];
    let effects = done(&shop, "hat", &["c"], &rules).of_records;
    let group = |ids: &[&str], position| Promoted {
        object_ids: ids.iter().map(|id| (*id).to_owned()).collect(),
        position,
        filtered: false,
    };
    assert_eq!(effects.hidden, ["h", "i"]);
    assert_eq!(effects.promoted, [group(&["x", "z"], 3), group(&[], 0), group(&["y"], 1)]);
}

#[test]
fn what_is_too_much_for_one_request_is_left_out_and_said() {
    let shop = shop();
    let colors: Vec<String> = (0..600).map(|n| format!("color:c{n}")).collect();
    let rule = |id: &str| json!({"objectID": id, "consequence": {"params": {"facetFilters": colors}, "userData": {"r": id}}});
    let effects = done(&shop, "hat", &[], &[rule("a"), rule("b")]);
    assert_eq!((effects.filter.len(), effects.of_records.results.complete), (600, Some(false)));
    assert_eq!(effects.of_records.results.applied, ["a"]);
}

/// A shop whose customers buy the shirt with everything else, by these rules.
struct Ruled {
    shop: Shard,
    asked: Recommendation,
}
impl Ruled {
    fn new(rules: &[Value]) -> Ruled {
        let mut shop = shop();
        shop.configuration.recommend_rules.insert(RecommendModel::BoughtTogether, Arc::new(by_id(rules)));
        let list = [("hat", 9_000), ("mask", 8_000), ("rope", 7_000)];
        let list = list.map(|(id, score)| (id.to_owned(), score)).to_vec();
        let asked = Recommendation {
            model: RecommendModel::BoughtTogether,
            object_id: Some("shirt".into()),
            facet_name: None,
            facet_value: None,
            threshold: 0,
            most: 100,
            params: Box::default(),
            fallback: None,
            user: None,
            candidates: Candidates { users: 9, list },
        };
        Ruled { shop, asked }
    }
    fn ask(&self, change: impl Fn(&mut Recommendation)) -> (String, SearchResults) {
        let mut asked = self.asked.clone();
        change(&mut asked);
        let limits = SearchLimits { now_s: 1_000, ..limits() };
        let (view, configuration) = (&self.shop.view, &self.shop.configuration);
        let results = recommend(view, configuration, &asked, &limits, &mut Scratch::new()).unwrap();
        // each document is looked at alone
        let mut scratch = Scratch::new();
        scratch.thresholds.set_of = 0;
        let alone = recommend(view, configuration, &asked, &limits, &mut scratch).unwrap();
        assert_eq!(alone.hits.json, results.hits.json);
        let hit = |raw: &[u8]| {
            let hit: Value = serde_json::from_slice(raw).unwrap();
            format!("{} {}", hit["objectID"].as_str().unwrap(), hit["_score"])
        };
        (results.hits.iter().map(hit).collect::<Vec<_>>().join(", "), results)
    }
    fn shown(&self, change: impl Fn(&mut Recommendation)) -> String {
        self.ask(change).0
    }
}
fn params(value: Value) -> Box<SearchParams> {
    Box::new(SearchParams::from_json(value.as_object().unwrap()).unwrap())
}
fn one(consequence: Value) -> Ruled {
    Ruled::new(&[json!({"objectID": "r", "consequence": consequence})])
}

#[test]
fn rules_filter_boost_hide_and_promote_what_is_recommended() {
    let plain = "hat 90, mask 80, rope 70";
    assert_eq!(Ruled::new(&[]).shown(|_| ()), plain);
    let filtered = one(json!({"params": {"automaticFacetFilters": ["brand"]}}));
    assert_eq!(filtered.shown(|_| ()), "hat 90");
    assert_eq!(
        filtered.shown(|asked| asked.model = RecommendModel::TrendingItems),
        plain,
        "other models have others"
    );
    assert_eq!(filtered.shown(|asked| asked.params = params(json!({"enableRules": false}))), plain);
    let boosted = one(json!({"params": {"optionalFilters": ["brand:Lone"], "filters": "price >= 0"}}));
    assert_eq!(boosted.shown(|_| ()), "mask 80, hat 90");
    let hidden = one(json!({"hide": [{"objectID": "hat"}, {"objectID": "gone"}]}));
    assert_eq!(hidden.shown(|_| ()), "mask 80, rope 70");
    assert_eq!(hidden.shown(|asked| asked.most = 1), "mask 80", "another one takes the place");
    let promoted = one(json!({"promote": [{"objectIDs": ["rope", "gone", "shirt", "mask"], "position": 0}]}));
    assert_eq!(promoted.shown(|_| ()), "rope 70, mask 80, hat 90", "never the source");
    assert_eq!(promoted.shown(|asked| asked.most = 1), "rope 70");
    let second = one(json!({"promote": [{"objectID": "rope", "position": 1}]}));
    assert_eq!(second.shown(|_| ()), "hat 90, rope 70, mask 80");
    assert_eq!(
        second.shown(|asked| asked.threshold = 7_500),
        "hat 90, rope 0, mask 80",
        "as if not recommended"
    );
    assert_eq!(
        second.shown(|asked| asked.params = params(json!({"filters": "brand:lone"}))),
        "mask 80, rope 0"
    );
    assert_eq!(second.shown(|asked| asked.object_id = Some("unknown".into())), "rope 0");
    let both = one(json!({"hide": [{"objectID": "rope"}], "promote": [{"objectID": "rope", "position": 0}]}));
    assert_eq!(both.shown(|_| ()), "hat 90, mask 80");
}

#[test]
fn rules_act_on_what_is_found_instead_and_are_named() {
    let rules = [
        json!({"objectID": "general", "consequence": {"hide": [{"objectID": "hat"}], "userData": {"n": 1}}}),
        json!({"objectID": "mobile", "condition": {"context": "mobile"}, "consequence": {
            "promote": [{"objectID": "rope", "position": 0}], "userData": {"n": 2}}}),
        json!({"objectID": "never", "condition": {"filters": "brand:lone"}, "consequence": {"userData": {"n": 3}}}),
    ];
    let ruled = Ruled::new(&rules);
    let mobile = params(json!({"ruleContexts": ["mobile"], "getRankingInfo": true}));
    let (shown, results) = ruled.ask(|asked| {
        asked.candidates = Candidates::default();
        asked.fallback = Some(params(json!({"filters": "price >= 0", "getRankingInfo": true})));
        asked.params = mobile.clone();
    });
    assert_eq!(shown, "rope 0, mask 0");
    assert_eq!((results.nb_hits, &results.rules.user_data[..]), (2, &[json!({"n": 2}), json!({"n": 1})][..]));
    assert_eq!(
        (results.rules.applied, results.rules.complete),
        (vec!["mobile".into(), "general".into()], Some(true))
    );
    let first: Value = serde_json::from_slice(results.hits.iter().next().unwrap()).unwrap();
    assert_eq!(first["_rankingInfo"]["promoted"], true);

    // nothing is left when a rule hides all there was
    let (shown, results) = ruled.ask(|asked| {
        asked.candidates.list.truncate(1);
        asked.fallback = Some(params(json!({"query": ""})));
    });
    assert_eq!(shown, "rope 0, mask 0");
    assert!(results.rules.applied.is_empty(), "nobody asked for them");
}
