//! Do the names that the interface had before (C§4.8) mean what the current ones mean, wherever they may stand?

use super::*;
use quorate_model::settings::table::ROWS;
use serde_json::json;

/// Settings under an earlier name, and what GET settings answers under the current one.
fn settings() -> Vec<(&'static str, Value, &'static str, Value)> {
    vec![
        ("attributesToIndex", json!(["name"]), "searchableAttributes", json!(["name"])),
        ("numericAttributesToIndex", json!(["n"]), "numericAttributesForFiltering", json!(["n"])),
        ("slaves", json!(["r"]), "replicas", json!(["r"])),
        ("attributes", json!(["name"]), "attributesToRetrieve", json!(["name"])),
        ("disableTypoToleranceOn", json!(["lamp"]), "disableTypoToleranceOnWords", json!(["lamp"])),
        ("useQueryEqualsOneAttributeInRanking", json!(true), "exactOnSingleWordQuery", json!("attribute")),
        ("enableExactOnSingleWordQuery", json!(false), "exactOnSingleWordQuery", json!("none")),
    ]
}

#[actix_web::test]
async fn settings_are_kept_under_their_current_names() {
    let known = settings();
    for row in ROWS.iter().filter(|row| row.scope.in_settings()) {
        for name in row.legacy {
            assert!(known.iter().any(|(earlier, ..)| earlier == name), "{name} is not tried");
        }
    }
    let node = Node::start().await;
    for (number, (earlier, value, current, shown)) in known.into_iter().enumerate() {
        let uri = format!("/1/indexes/i{number}/settings");
        let value = if earlier == "slaves" { json!([format!("r{number}")]) } else { value };
        let shown = if earlier == "slaves" { value.clone() } else { shown };
        node.write(Method::PUT, &uri, json!({})).await;
        let before = node.get(&uri).await[current].clone();
        node.write(Method::PUT, &uri, json!({ earlier: value })).await;
        let kept = node.get(&uri).await;
        assert_eq!((&kept[current], kept.get(earlier)), (&shown, None), "{earlier}");
        // the current name counts where both are given, and a null under either resets
        if earlier != "slaves" {
            let other = if value.is_array() { json!(["other"]) } else { json!("word") };
            node.write(Method::PUT, &uri, json!({earlier: value, current: other})).await;
            assert_eq!(node.get(&uri).await[current], other, "{earlier} beside {current}");
        }
        node.write(Method::PUT, &uri, json!({ earlier: null })).await;
        assert_eq!(node.get(&uri).await[current], before, "{earlier} is reset");
    }
    // what is accepted and dropped
    let dropped = json!({"placeholders": {"a": ["b"]}, "altCorrections": [1],
        "attributeCriteriaComputedBy": "x", "version": 2, "primary": "p"});
    let before = node.get("/1/indexes/i0/settings").await;
    node.write(Method::PUT, "/1/indexes/i0/settings", dropped).await;
    assert_eq!(node.get("/1/indexes/i0/settings").await, before);
}

#[actix_web::test]
async fn attributes_choose_what_is_shown() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/1", json!({"name": "lamp", "color": "red"})).await;
    let expected = json!({"objectID": "1", "name": "lamp"});
    let hit = |answer: Value| {
        let mut hit = answer["hits"][0].clone();
        hit.as_object_mut().unwrap().remove("_highlightResult");
        hit
    };
    for body in [
        json!({"attributes": ["name"]}),
        json!({"attributes": "name"}),
        json!({"params": "attributes=name"}),
        json!({"attributes": ["color"], "attributesToRetrieve": ["name"]}),
    ] {
        assert_eq!(hit(node.post("/1/indexes/i/query", body.clone()).await), expected, "{body}");
        assert_eq!(hit(node.post("/1/indexes/i/browse", body.clone()).await), expected, "{body}");
    }
    assert_eq!(hit(node.get("/1/indexes/i?attributes=name").await), expected);
    assert_eq!(node.get("/1/indexes/i/1?attributes=name").await, expected);
    assert_eq!(node.get("/1/indexes/i/1?attributes=color&attributesToRetrieve=name").await, expected);
    let one = json!({"indexName": "i", "objectID": "1", "attributes": ["name"]});
    let both =
        json!({"indexName": "i", "objectID": "1", "attributes": ["color"], "attributesToRetrieve": ["name"]});
    let wanted = json!({"requests": [one, both]});
    assert_eq!(node.post("/1/indexes/*/objects", wanted).await["results"], json!([expected, expected]));
}

#[actix_web::test]
async fn what_is_forwarded_to_slaves_reaches_replicas() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/p/settings", json!({"replicas": ["r"]})).await;
    let synonym = json!({"objectID": "s", "type": "synonym", "synonyms": ["a", "b"]});
    let rule = json!({"objectID": "s", "consequence": {"filterPromotes": true}});
    let kept = async |what: &str| match what {
        "settings" => node.get("/1/indexes/r/settings").await["hitsPerPage"] == 7,
        kind => node.post(&format!("/1/indexes/r/{kind}/search"), json!({})).await["nbHits"] == 1,
    };
    let reset = json!({"hitsPerPage": null});
    for (what, method, path, body, is_there) in [
        ("settings", Method::PUT, "settings", json!({"hitsPerPage": 7}), true),
        ("settings", Method::PUT, "settings", reset, false),
        ("synonyms", Method::PUT, "synonyms/s", synonym.clone(), true),
        ("synonyms", Method::DELETE, "synonyms/s", json!({}), false),
        ("synonyms", Method::POST, "synonyms/batch", json!([synonym]), true),
        ("synonyms", Method::POST, "synonyms/clear", json!({}), false),
        ("rules", Method::PUT, "rules/s", rule.clone(), true),
        ("rules", Method::DELETE, "rules/s", json!({}), false),
        ("rules", Method::POST, "rules/batch", json!([rule]), true),
        ("rules", Method::POST, "rules/clear", json!({}), false),
    ] {
        for (forward, is_forwarded) in [
            ("forwardToSlaves=false", false),
            ("forwardToReplicas=false&forwardToSlaves=true", false),
            ("forwardToSlaves=true", true),
        ] {
            let uri = format!("/1/indexes/p/{path}?{forward}");
            node.write(method.clone(), &uri, body.clone()).await;
            assert_eq!(kept(what).await, is_forwarded == is_there, "{method} {uri}");
        }
        let wrong = format!("/1/indexes/p/{path}?forwardToSlaves=perhaps");
        let expected = "Invalid value for \"forwardToSlaves\" parameter, expected boolean";
        node.call(method, &wrong, &body.to_string()).await.refused(400, expected);
    }
}

#[actix_web::test]
async fn tasks_say_in_both_forms_that_they_are_pending() {
    let node = Node::start().await;
    let written = node.write(Method::PUT, "/1/indexes/i/1", json!({"name": "lamp"})).await;
    let done = json!({"status": "published", "pendingTask": false});
    let waits = json!({"status": "notPublished", "pendingTask": true});
    for (task, expected) in [(written["taskID"].as_u64().unwrap(), done), (1 << 52, waits)] {
        assert_eq!(node.get(&format!("/1/task/{task}")).await, expected);
        assert_eq!(node.get(&format!("/1/indexes/i/task/{task}")).await, expected);
    }
    let listed = node.get("/1/indexes").await["items"][0].clone();
    let pending =
        ["pendingTask", "numberOfPendingTask", "numberOfPendingTasks"].map(|name| listed[name].clone());
    assert_eq!(pending, [json!(false), json!(0), json!(0)]);
}

#[actix_web::test]
async fn rules_and_synonyms_have_earlier_forms() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/1", json!({"name": "lamp"})).await;
    let types = [
        json!({"type": "oneWaySynonym", "input": "light", "synonyms": ["lamp"]}),
        json!({"type": "altCorrection1", "word": "lucerne", "corrections": ["lamp"]}),
        json!({"type": "AltCorrection2", "word": "lantern", "corrections": ["lamp"]}),
    ];
    for (number, synonym) in types.into_iter().enumerate() {
        let uri = format!("/1/indexes/i/synonyms/{number}");
        node.write(Method::PUT, &uri, synonym.clone()).await;
        let query = synonym["input"].as_str().or(synonym["word"].as_str()).unwrap();
        let found = node.post("/1/indexes/i/query", json!({"query": query})).await;
        assert_eq!(found["nbHits"], 1, "{synonym}");
        assert_eq!(node.get(&uri).await["type"], synonym["type"], "answered as it was written");
    }
    let rule = json!({"condition": {"pattern": "cheap", "anchoring": "contains"},
        "consequence": {"params": {"query": {"remove": ["cheap"]}}}});
    node.write(Method::PUT, "/1/indexes/i/rules/r", rule.clone()).await;
    assert_eq!(node.post("/1/indexes/i/query", json!({"query": "cheap lamp"})).await["nbHits"], 1);
    let kept = node.get("/1/indexes/i/rules/r").await;
    assert_eq!((&kept["condition"], kept.get("conditions")), (&rule["condition"], None));
    let both = json!({"condition": rule["condition"], "conditions": [rule["condition"]], "consequence": rule["consequence"]});
    let refused = node.call(Method::PUT, "/1/indexes/i/rules/r", &both.to_string()).await;
    refused.refused(400, "conditions and condition cannot both be given");
}
