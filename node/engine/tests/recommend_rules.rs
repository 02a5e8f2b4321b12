//! Which rules of recommendations apply to a source, and what do they do together (§2.14, C§17.4)?

mod shard;

use quorate_engine::clock::Clock;
use quorate_engine::filter::{filter_set, single};
use quorate_engine::index::ReadySizes;
use quorate_engine::rules::recommend::{RecommendEffects, Situation, recommend_effects};
use quorate_engine::{bits, rules::act::Promoted};
use quorate_model::filter::parse_filters;
use quorate_model::{Filter, ObjectId, RecommendRule, Settings};
use serde_json::{Value, json};
use shard::{Shard, Spoken};
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
    Shard::new(settings, &records, &[3, 1], &Spoken::default(), ReadySizes::default())
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

/// What rules do for a source.
fn done(shop: &Shard, source: &str, contexts: &[&str], rules: &[Value]) -> RecommendEffects {
    let rule = |document: &Value| {
        let rule = RecommendRule::from_document(document.to_string().as_bytes()).unwrap();
        (rule.object_id.clone(), Arc::new(rule))
    };
    let rules: BTreeMap<ObjectId, Arc<RecommendRule>> = rules.iter().map(rule).collect();
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
