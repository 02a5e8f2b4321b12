//! Are the rules of models of recommendations saved, read, searched, copied and removed as C§17.4 says?
//!
//! - `POST /1/indexes/{indexName}/{model}/recommend/rules/batch`: editSettings
//! - `GET /1/indexes/{indexName}/{model}/recommend/rules/{objectID}`: settings
//! - `DELETE /1/indexes/{indexName}/{model}/recommend/rules/{objectID}`: editSettings
//! - `POST /1/indexes/{indexName}/{model}/recommend/rules/search`: settings
//! - `GET /1/indexes/{indexName}/{model}/task/{taskID}`: editSettings

use super::*;
use serde_json::json;

const MODELS: [&str; 5] =
    ["related-products", "bought-together", "trending-items", "trending-facets", "looking-similar"];

fn path(model: &str, rest: &str) -> String {
    format!("/1/indexes/i/{model}/recommend/rules/{rest}")
}
fn hides(id: &str) -> Value {
    json!({"objectID": id, "consequence": {"hide": [{"objectID": "x"}]}})
}

impl Node {
    /// The ids of the rules of an index's models, a text for each.
    async fn rules_of_models(&self, index: &str) -> Vec<String> {
        let mut all = vec![];
        for model in MODELS {
            let uri = format!("/1/indexes/{index}/{model}/recommend/rules/search");
            let found = self.post(&uri, json!({"hitsPerPage": 1_000})).await;
            let ids = found["hits"].as_array().unwrap().iter().map(|hit| hit["objectID"].as_str().unwrap());
            let ids = ids.collect::<Vec<_>>().join(" ");
            if !ids.is_empty() {
                all.push(format!("{model}: {ids}"));
            }
        }
        all
    }
}

#[actix_web::test]
async fn s4_14_every_call_answers_what_clients_decode() {
    let node = Node::start().await;
    let full = json!({"objectID": "r/1", "conditions": [{"context": "mobile", "filters": "brand:Zorro AND price > 3"}],
        "consequence": {
            "params": {"filters": "stock > 0", "automaticFacetFilters": [{"facet": "brand", "negative": true}]},
            "promote": [{"objectIDs": ["p", "q"], "position": 1}], "hide": [{"objectID": "h"}],
            "userData": {"banner": "b"}},
        "description": "Spring sale", "enabled": false, "validity": [{"from": 1, "until": 2}]});
    for model in MODELS {
        let rules = json!([full, hides("a"), hides(model)]);
        let saved = node.write(Method::POST, &path(model, "batch"), rules).await;
        assert!(saved["taskID"].is_u64() && saved["updatedAt"].is_string(), "{saved}");
        let task = format!("/1/indexes/i/{model}/task/{}", saved["taskID"]);
        assert_eq!(node.get(&task).await["status"], "published");
        assert_eq!(node.get(&path(model, "r%2F1")).await, full);
        assert_eq!(node.get(&path(model, model)).await, hides(model));
    }
    let of_model = |model: &str| format!("{model}: {model} r/1 a");
    let all = ["related-products: related-products r/1 a", "bought-together: r/1 bought-together a"];
    assert_eq!(node.rules_of_models("i").await[..2], all.map(str::to_owned));
    assert_eq!(node.rules_of_models("i").await[3], of_model("trending-facets"));

    let model = "trending-items";
    for (body, expected) in [
        (json!({}), vec!["trending-items", "r/1", "a"]),
        (json!({"query": "", "context": "", "enabled": null}), vec!["trending-items", "r/1", "a"]),
        (json!({"query": "zor"}), vec!["r/1"]),
        (json!({"query": "sale"}), vec!["r/1"]),
        (json!({"context": "mobile"}), vec!["r/1"]),
        (json!({"context": "mob"}), vec![]),
        (json!({"enabled": true}), vec!["trending-items", "a"]),
        (json!({"enabled": false, "requestOptions": {"a": 1}, "facets": ["*"]}), vec!["r/1"]),
        (json!({"filters": "objectID:a OR conditions.context:mobile"}), vec!["r/1", "a"]),
        (json!({"filters": "NOT objectID:a AND enabled:false"}), vec!["r/1"]),
        (json!({"page": 1, "hitsPerPage": 2}), vec!["a"]),
    ] {
        let found = node.post(&path(model, "search"), body.clone()).await;
        let ids: Vec<&str> =
            found["hits"].as_array().unwrap().iter().map(|hit| hit["objectID"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{body}");
        assert!(found["nbHits"].is_u64() && found["page"].is_u64() && found["nbPages"].is_u64());
    }
    let found = node.post(&path(model, "search"), json!({"query": "zorro"})).await;
    let hit = &found["hits"][0];
    let saved_at = hit["_metadata"]["lastUpdate"].as_str().unwrap();
    assert!(saved_at.ends_with('Z') && saved_at.contains('T'), "{saved_at}");
    let marked = &hit["_highlightResult"]["conditions"][0]["filters"]["value"];
    assert_eq!(marked, "brand:<em>Zorro</em> AND price > 3");
    // what a search shows can be saved again
    node.write(Method::POST, &path(model, "batch?clearExistingRules=true"), json!([hit])).await;
    assert_eq!(node.get(&path(model, "r%2F1")).await, full);
    let gone = "ObjectID does not exist";
    node.call(Method::GET, &path(model, "a"), "").await.refused(404, gone);
    assert_eq!(node.rules_of_models("i").await[2], "trending-items: r/1");

    let deleted = node.write(Method::DELETE, &path(model, "r%2F1"), json!({})).await;
    assert!(deleted["taskID"].is_u64() && deleted["updatedAt"].is_string(), "{deleted}");
    node.write(Method::DELETE, &path(model, "never"), json!({})).await;
    node.call(Method::GET, &path(model, "r%2F1"), "").await.refused(404, gone);
    assert_eq!(node.rules_of_models("i").await.len(), 4);
    // rules of searches are others
    node.call(Method::GET, "/1/indexes/i/rules/a", "").await.refused(404, gone);
}

#[actix_web::test]
async fn s4_14_wrong_calls_are_told_and_change_nothing() {
    let node = Node::start().await;
    let model = "bought-together";
    node.write(Method::POST, &path(model, "batch"), json!([hides("a")])).await;
    let twice = json!([hides("new"), {"objectID": "b", "consequence": {}}]).to_string();
    let unknown = "Model does not exist, expected one of related-products, bought-together";
    let never = |path: &str| path.replace("/i/", "/never/");
    for (method, uri, body, status, text) in [
        (
            Method::POST,
            path(model, "batch"),
            twice.as_str(),
            400,
            "consequence has no effect: one of params, promote, hide, userData is required in the rule at the position 1 objectID=b",
        ),
        (Method::POST, path(model, "batch"), "{}", 400, "expected a JSON array of rules"),
        (Method::POST, path(model, "batch?clearExistingRules=perhaps"), "[]", 400, "Invalid value for"),
        (
            Method::POST,
            path(model, "search"),
            r#"{"hitsPerPage":0}"#,
            400,
            "Invalid value for \"hitsPerPage\" parameter, expected integer between 1 and 1000",
        ),
        (Method::POST, path(model, "search"), r#"{"anchoring":"is"}"#, 400, "Unknown parameter: anchoring"),
        (Method::GET, path(model, "never"), "", 404, "ObjectID does not exist"),
        (Method::GET, never(&path(model, "a")), "", 404, "Index never does not exist"),
        (Method::POST, never(&path(model, "search")), "{}", 404, "Index never does not exist"),
        (Method::POST, path("recommended", "batch"), "[]", 404, unknown),
        (Method::POST, path("recommended", "search"), "{}", 404, unknown),
        (Method::GET, path("recommended", "a"), "", 404, unknown),
        (Method::DELETE, path("recommended", "a"), "", 404, unknown),
        (Method::GET, "/1/indexes/i/recommended/task/1".into(), "", 404, unknown),
        (
            Method::GET,
            format!("/1/indexes/i/{model}/task/x"),
            "",
            400,
            "Invalid value for \"taskID\" parameter, expected positive integer",
        ),
    ] {
        node.call(method, &uri, body).await.refused(status, text);
    }
    assert_eq!(node.rules_of_models("i").await, ["bought-together: a"]);
    // C§19: rights that are missing, and credentials, are 401 here
    let read = path(model, "a");
    let refused = "Method not allowed with this API key";
    node.call_with(&node.search_key, Method::GET, &read, "").await.refused(401, refused);
    node.call_with("wrong", Method::GET, &read, "").await.refused(401, "Invalid Application-ID or API key");
    let key = node.post("/1/keys", json!({"acl": ["settings"], "indexes": ["other"]})).await;
    let key = key["key"].as_str().unwrap();
    node.call_with(key, Method::GET, &read, "").await.refused(401, "Index not allowed with this API key");
}

#[actix_web::test]
async fn what_becomes_of_an_index_becomes_of_its_rules() {
    let node = Node::start().await;
    let operate = async |from: &str, body: Value| {
        node.write(Method::POST, &format!("/1/indexes/{from}/operation"), body).await;
    };
    node.write(Method::POST, &path("related-products", "batch"), json!([hides("a"), hides("b")])).await;
    node.write(Method::POST, &path("trending-facets", "batch"), json!([hides("a")])).await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"n": 1})).await;
    let all = ["related-products: b a", "trending-facets: a"];
    operate("i", json!({"operation": "copy", "destination": "whole"})).await;
    assert_eq!(node.rules_of_models("whole").await, all);
    for (scope, expected) in [(json!(["settings", "synonyms"]), &[][..]), (json!(["rules"]), &all[..])] {
        operate("i", json!({"operation": "copy", "destination": "part", "scope": scope})).await;
        assert_eq!(node.rules_of_models("part").await, expected, "{scope}");
    }
    node.write(Method::POST, "/1/indexes/i/clear", json!({})).await;
    node.write(Method::POST, "/1/indexes/i/rules/clear", json!({})).await;
    operate("i", json!({"operation": "move", "destination": "part"})).await;
    assert_eq!(node.rules_of_models("part").await, all);
    // a name that becomes a replica keeps its own
    node.write(Method::PUT, "/1/indexes/p/settings", json!({"replicas": ["part"]})).await;
    assert_eq!(node.rules_of_models("part").await, all);
    assert!(node.rules_of_models("p").await.is_empty());
    let anew =
        json!({"requests": [{"action": "delete"}, {"action": "addObject", "body": {"objectID": "1"}}]});
    node.write(Method::POST, "/1/indexes/whole/batch", anew).await;
    assert!(node.rules_of_models("whole").await.is_empty());
}

#[actix_web::test]
async fn c17_4_rules_act_on_recommendations_as_soon_as_they_are_published() {
    let node = Node::start().await;
    let settings = json!({"searchableAttributes": ["name"], "attributesForFaceting": ["kind", "shop"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let record = |id: &str, kind: &str, shop: &str| {
        json!({"action": "addObject",
        "body": {"objectID": id, "name": "brass lamp", "kind": kind, "shop": shop}})
    };
    let requests = [
        record("a", "desk", "x"),
        record("b", "desk", "x"),
        record("c", "wall", "x"),
        record("d", "wall", "y"),
    ];
    node.write(Method::POST, "/1/indexes/i/batch", json!({ "requests": requests })).await;
    // what all records have makes none alike
    node.write(Method::PUT, "/1/indexes/i/e", json!({"name": "oak chair"})).await;
    let ask = async |key: &str, parameters: Value| {
        let request = json!({"indexName": "i", "model": "looking-similar", "objectID": "a", "threshold": 0,
            "queryParameters": parameters});
        let body = json!({ "requests": [request] }).to_string();
        let answer = node.call_with(key, Method::POST, "/1/indexes/*/recommendations", &body).await.success();
        answer["results"][0].clone()
    };
    let ids = |result: &Value| {
        let hits = result["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["objectID"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    };
    let plain = ids(&ask(ADMIN, json!({})).await);
    assert_eq!(plain.len(), "b c d".len());
    let rules = json!([
        {"objectID": "kind", "condition": {"filters": "kind:desk"}, "consequence": {
            "params": {"automaticFacetFilters": [{"facet": "kind"}]}, "userData": {"banner": "desks"}}},
        {"objectID": "first", "condition": {"context": "wall"}, "consequence": {
            "promote": [{"objectIDs": ["d", "c"], "position": 0}], "userData": {"banner": "walls"}}},
        {"objectID": "off", "enabled": false, "consequence": {"hide": [{"objectID": "b"}]}},
    ]);
    node.write(Method::POST, &path("looking-similar", "batch"), rules).await;
    let found = ask(ADMIN, json!({})).await;
    assert_eq!((ids(&found).as_str(), &found["userData"]), ("b", &json!([{"banner": "desks"}])));
    let found = ask(ADMIN, json!({"ruleContexts": ["wall"], "getRankingInfo": true})).await;
    assert_eq!(ids(&found), "d c b");
    assert_eq!((&found["hits"][0]["_rankingInfo"]["promoted"], &found["nbHits"]), (&json!(true), &json!(3)));
    assert_eq!(found["userData"], json!([{"banner": "walls"}, {"banner": "desks"}]));
    assert_eq!(found["appliedRules"], json!([{"objectID": "first"}, {"objectID": "kind"}]));
    assert_eq!(ids(&ask(ADMIN, json!({"enableRules": false})).await), plain);
    // what the key forces holds for what is promoted
    let key = json!({"acl": ["search"], "queryParameters": "filters=shop%3Ax&ruleContexts=wall"});
    let key = node.post("/1/keys", key).await["key"].as_str().unwrap().to_owned();
    assert_eq!(ids(&ask(&key, json!({})).await), "c b");
    node.write(Method::DELETE, &path("looking-similar", "kind"), json!({})).await;
    assert_eq!(ids(&ask(ADMIN, json!({})).await), plain);
}
