//! Which places do promoted records take, and what else do promoted and hidden ones change? (C§10.5)

use super::{ask, brands, hits, ids, index, params, run, shop};
use quorate_engine::ranking::relevant::RelevantSort;
use quorate_model::SearchParams;
use quorate_model::params::Forced;
use serde_json::{Value, json};
use std::sync::Arc;

#[test]
fn c10_5_records_are_promoted_and_hidden() {
    let promote = |list: Value| json!({"consequence": {"promote": list}});
    let at = |id: &str, position: u64| json!({"objectID": id, "position": position});
    for (name, rule, request, expected, count) in [
        ("nothing", json!({"consequence": {"userData": 1}}), json!({}), "p0 p1 p2 p3 p4 p5", 6),
        ("a matching record", promote(json!([at("p3", 0)])), json!({}), "p3 p0 p1 p2 p4 p5", 6),
        ("downwards", promote(json!([at("p0", 2)])), json!({}), "p1 p2 p0 p3 p4 p5", 6),
        ("one that does not match", promote(json!([at("p3", 1)])), json!({"query": "apple"}), "p0 p3 p1", 3),
        ("beyond the end", promote(json!([at("p3", 9)])), json!({"query": "apple"}), "p0 p1 p3", 3),
        ("several", promote(json!([at("p5", 2), at("p3", 0)])), json!({"query": "apple"}), "p3 p0 p5 p1", 4),
        (
            "the same place",
            promote(json!([at("p5", 0), at("p3", 0)])),
            json!({"query": "apple"}),
            "p5 p3 p0 p1",
            4,
        ),
        (
            "a missing record",
            promote(json!([at("none", 0), at("p3", 1)])),
            json!({"query": "apple"}),
            "p0 p3 p1",
            3,
        ),
        (
            "a group",
            promote(json!([{"objectIDs": ["p5", "p3"], "position": 1}])),
            json!({"query": "apple"}),
            "p0 p5 p3 p1",
            4,
        ),
        ("twice", promote(json!([at("p3", 0), at("p3", 1)])), json!({"query": "apple"}), "p3 p0 p1", 3),
        ("no hit at all", promote(json!([at("p3", 0)])), json!({"query": "nothing"}), "p3", 1),
        ("pages", promote(json!([at("p3", 3)])), json!({"hitsPerPage": 2, "page": 1}), "p2 p3", 6),
        ("pages behind", promote(json!([at("p5", 0)])), json!({"hitsPerPage": 2, "page": 2}), "p3 p4", 6),
        ("offset", promote(json!([at("p5", 0)])), json!({"offset": 1, "length": 2}), "p0 p1", 6),
        (
            "fails the filters",
            promote(json!([at("p3", 0)])),
            json!({"filters": "brand:Apple"}),
            "p3 p0 p1",
            3,
        ),
        (
            "filterPromotes",
            json!({"consequence": {"promote": [at("p3", 0), at("p1", 0)], "filterPromotes": true}}),
            json!({"filters": "brand:Apple"}),
            "p1 p0",
            2,
        ),
        (
            "hidden",
            json!({"consequence": {"hide": [{"objectID": "p0"}, {"objectID": "none"}]}}),
            json!({"query": "apple"}),
            "p1",
            1,
        ),
        (
            "hidden and promoted",
            json!({"consequence": {"hide": [{"objectID": "p0"}], "promote": [at("p0", 0), at("p1", 0)]}}),
            json!({}),
            "p1 p2 p3 p4 p5",
            5,
        ),
    ] {
        let shard = index(shop(), &brands(), &[rule], &[]);
        let results = ask(&shard, request);
        assert_eq!((ids(&results).as_str(), results.nb_hits), (expected, count), "{name}");
    }
    let shard = index(shop(), &brands(), &[promote(json!([at("p3", 1)]))], &[]);
    let results = ask(&shard, json!({"query": "apple", "getRankingInfo": true, "facets": ["brand"]}));
    let promoted: Vec<Value> =
        hits(&results).iter().map(|hit| hit["_rankingInfo"]["promoted"].clone()).collect();
    assert_eq!(promoted, [Value::Null, json!(true), Value::Null]);
    let facets = results.facets.unwrap();
    assert_eq!(
        facets[0].values,
        [("Apple".to_string(), 2)],
        "a promoted record that does not match is not counted"
    );
    let conflict = [
        json!({"objectID": "b", "consequence": {"promote": [at("p5", 0), at("p4", 1)]}}),
        json!({"objectID": "a", "consequence": {"promote": [at("p3", 0), at("p4", 0)]}}),
    ];
    let shard = index(shop(), &brands(), &conflict, &[]);
    assert_eq!(
        ids(&ask(&shard, json!({"query": "apple"}))),
        "p3 p4 p5 p0 p1",
        "the better rule keeps its places"
    );
    let hidden = index(shop(), &brands(), &[json!({"consequence": {"hide": [{"objectID": "p0"}]}})], &[]);
    let facets = ask(&hidden, json!({"facets": ["brand"], "query": "apple"})).facets.unwrap();
    assert_eq!(facets[0].values, [("Apple".to_string(), 1)], "hidden records do not count");
}

#[test]
fn c10_5_promoted_records_obey_what_the_key_forces() {
    let rule = json!({"consequence": {"promote": [{"objectIDs": ["p3", "p5"], "position": 0}]}});
    let shard = index(shop(), &brands(), &[rule], &[]);
    let filter = params(&json!({"filters": "brand:Apple OR brand:Red"})).filter;
    let forced = Forced { filter: filter.clone(), ..Forced::default() };
    let asked = SearchParams { forced: Some(Arc::new(forced)), filter, ..SearchParams::default() };
    assert_eq!(ids(&run(&shard, &asked)), "p5 p0 p1");
}

#[test]
fn c10_5_promoted_records_stand_for_their_group() {
    let mut settings = shop();
    settings["attributeForDistinct"] = json!("brand");
    let promote = |list: Value| json!({"consequence": {"promote": list}});
    for (rule, request, expected, count) in [
        (promote(json!([])), json!({"distinct": 1}), "p0 p2 p3 p4 p5", 5),
        (promote(json!([{"objectID": "p1", "position": 1}])), json!({"distinct": 1}), "p2 p1 p3 p4 p5", 5),
        (promote(json!([{"objectID": "p1", "position": 1}])), json!({"distinct": 2}), "p2 p1 p0 p3 p4 p5", 5),
        (
            promote(json!([{"objectID": "p4", "position": 0}])),
            json!({"distinct": 1, "query": "apple"}),
            "p4 p0",
            2,
        ),
        // one that does not match, of a group that has a match
        (promote(json!([{"objectID": "p1", "position": 0}])), json!({"distinct": 1, "query": "0"}), "p1", 1),
    ] {
        let mut rule = rule;
        rule["consequence"]["userData"] = json!(1);
        let mut shard = index(settings.clone(), &brands(), std::slice::from_ref(&rule), &[]);
        let results = ask(&shard, request.clone());
        assert_eq!((ids(&results).as_str(), results.nb_hits), (expected, count), "{rule} {request}");
        // through a virtual replica that sorts as the index does
        let keys = shard.configuration.settings().index.custom_ranking.clone();
        let order = RelevantSort::new(shard.configuration.settings(), &keys);
        shard.configuration.relevant_sort = Some(Arc::new(order));
        let mut loose = request.clone();
        loose["relevancyStrictness"] = json!(0);
        assert_eq!(ask(&shard, loose).nb_hits, count, "sorted: {rule} {request}");
    }
}
