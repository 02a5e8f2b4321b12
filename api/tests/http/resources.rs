//! Are synonyms and rules saved, read, searched, copied and removed as C§11 and C§10 say?
//!
//! - `PUT /1/indexes/{indexName}/synonyms/{objectID}`: editSettings
//! - `POST /1/indexes/{indexName}/synonyms/batch`: editSettings
//! - `GET /1/indexes/{indexName}/synonyms/{objectID}`: settings
//! - `POST /1/indexes/{indexName}/synonyms/clear`: editSettings
//! - `DELETE /1/indexes/{indexName}/synonyms/{objectID}`: editSettings
//! - `POST /1/indexes/{indexName}/synonyms/search`: settings
//! - `PUT /1/indexes/{indexName}/rules/{objectID}`: editSettings
//! - `POST /1/indexes/{indexName}/rules/batch`: editSettings
//! - `GET /1/indexes/{indexName}/rules/{objectID}`: settings
//! - `DELETE /1/indexes/{indexName}/rules/{objectID}`: editSettings
//! - `POST /1/indexes/{indexName}/rules/clear`: editSettings
//! - `POST /1/indexes/{indexName}/rules/search`: settings

use super::*;
use serde_json::json;

fn synonym(id: &str, words: &[&str]) -> Value {
    json!({"objectID": id, "type": "synonym", "synonyms": words})
}
fn rule(id: &str, pattern: &str) -> Value {
    json!({"objectID": id, "conditions": [{"pattern": pattern, "anchoring": "contains"}],
        "consequence": {"params": {"filters": "brand:x"}}})
}
/// The ids of a search's hits, and nbHits.
fn found(answer: &Value) -> (Vec<&str>, u64) {
    let hits = answer["hits"].as_array().unwrap();
    (hits.iter().map(|hit| hit["objectID"].as_str().unwrap()).collect(), answer["nbHits"].as_u64().unwrap())
}

impl Node {
    /// `synonyms|rules` of an index by id.
    async fn kept(&self, index: &str) -> String {
        let mut text = Vec::new();
        for kind in ["synonyms", "rules"] {
            let answer = self.post(&format!("/1/indexes/{index}/{kind}/search"), json!({})).await;
            text.push(found(&answer).0.join(" "));
        }
        text.join("|")
    }
    /// Gives an index two synonyms and two rules.
    async fn fill_documents(&self, index: &str, tag: &str) {
        let ids = [format!("{tag}1"), format!("{tag}2")];
        let synonyms: Vec<Value> = ids.iter().map(|id| synonym(id, &["a", "b"])).collect();
        let rules: Vec<Value> = ids.iter().map(|id| rule(id, "p")).collect();
        self.write(Method::POST, &format!("/1/indexes/{index}/synonyms/batch"), json!(synonyms)).await;
        self.write(Method::POST, &format!("/1/indexes/{index}/rules/batch"), json!(rules)).await;
    }
}

#[actix_web::test]
async fn every_synonym_call_answers_what_clients_decode() {
    let node = Node::start().await;
    let base = "/1/indexes/i/synonyms";
    let saved = node.write(Method::PUT, &format!("{base}/a%2F1"), synonym("other", &["car", "auto"])).await;
    assert_eq!(saved["id"], "a/1");
    assert!(saved["updatedAt"].is_string() && saved["taskID"].is_u64(), "{saved}");
    assert_eq!(node.get(&format!("{base}/a%2F1")).await, synonym("a/1", &["car", "auto"]));

    let all = json!([
        synonym("b", &["tv", "television set"]),
        {"objectID": "c", "type": "oneWaySynonym", "input": "tablet", "synonyms": ["ipad"]},
        {"objectID": "d", "type": "altCorrection1", "word": "smartphone", "corrections": ["phone"]},
        {"objectID": "e", "type": "altcorrection2", "word": "ipod", "corrections": ["tv"]},
        {"objectID": "f", "type": "placeholder", "placeholder": "<street>", "replacements": ["1", "12"]},
    ]);
    let answer = node.write(Method::POST, &format!("{base}/batch"), all).await;
    assert!(
        answer["taskID"].is_u64() && answer["updatedAt"].is_string() && answer.get("objectIDs").is_none()
    );
    assert_eq!(node.get(&format!("{base}/c")).await["type"], "oneWaySynonym");
    for (body, expected, count) in [
        (json!({}), vec!["f", "e", "d", "c", "b", "a/1"], 6),
        (json!({"query": "tv"}), vec!["e", "b"], 2),
        (json!({"query": "telev"}), vec!["b"], 1),
        (json!({"type": "placeholder,onewaysynonym"}), vec!["f", "c"], 2),
        (json!({"type": ["altCorrection2"]}), vec!["e"], 1),
        (json!({"query": "", "type": "", "page": 1, "hitsPerPage": 4}), vec!["b", "a/1"], 6),
        (json!({"page": 9}), vec![], 6),
    ] {
        let answer = node.post(&format!("{base}/search"), body.clone()).await;
        assert_eq!(found(&answer), (expected, count), "{body}");
        assert!(answer["page"].is_u64() && answer["nbPages"].is_u64());
    }
    let earlier = node.post(&format!("{base}/search?hitsPerPage=1&type=synonym"), json!({"query": ""})).await;
    assert_eq!(found(&earlier), (vec!["b"], 2));
    let empty = node.call(Method::POST, &format!("{base}/search"), "").await.success();
    assert_eq!((found(&empty).1, &empty["nbPages"]), (6, &json!(1)));
    let leaf = json!({"value": "<em>tv</em>", "matchLevel": "full", "matchedWords": ["tv"], "fullyHighlighted": true});
    let hit = node.post(&format!("{base}/search"), json!({"query": "tv"})).await["hits"][1].clone();
    assert_eq!(hit["_highlightResult"]["synonyms"][0], leaf);
    assert_eq!(hit["_highlightResult"]["type"]["matchLevel"], "none");

    let deleted = node.write(Method::DELETE, &format!("{base}/b"), json!({})).await;
    assert!(deleted["deletedAt"].is_string() && deleted["updatedAt"].is_string());
    node.write(Method::DELETE, &format!("{base}/never"), json!({})).await;
    node.call(Method::GET, &format!("{base}/b"), "").await.refused(404, "Synonym set does not exist");
    let one = json!([synonym("new", &["x", "y"])]);
    node.write(Method::POST, &format!("{base}/batch?replaceExistingSynonyms=true"), one).await;
    assert_eq!(node.kept("i").await, "new|");
    let cleared = node.write(Method::POST, &format!("{base}/clear"), json!({})).await;
    assert!(cleared["updatedAt"].is_string());
    assert_eq!(node.kept("i").await, "|");
}

#[actix_web::test]
async fn every_rule_call_answers_what_clients_decode() {
    let node = Node::start().await;
    let base = "/1/indexes/i/rules";
    let saved = node.write(Method::PUT, &format!("{base}/r%201"), rule("other", "phone")).await;
    assert_eq!(saved["objectID"], "r 1");
    assert_eq!(node.get(&format!("{base}/r%201")).await, rule("r 1", "phone"));
    let legacy = json!({"objectID": "r2", "condition": {"pattern": "zorro", "anchoring": "is"}, "enabled": false,
        "consequence": {"params": {"query": {"remove": ["zorro"]}}}});
    let context = json!({"objectID": "r3", "conditions": [{"context": "mobile"}], "description": "On the go",
        "consequence": {"hide": [{"objectID": "o"}]}, "validity": [{"from": 1, "until": 2}], "tags": ["t"]});
    node.write(Method::POST, &format!("{base}/batch"), json!([legacy, context])).await;
    assert_eq!(node.get(&format!("{base}/r2")).await, legacy);
    assert_eq!(node.get(&format!("{base}/r3")).await, context);
    for (body, expected) in [
        (json!({}), vec!["r3", "r2", "r 1"]),
        (json!({"query": "zor"}), vec!["r2"]),
        (json!({"query": "go"}), vec!["r3"]),
        (json!({"anchoring": "contains"}), vec!["r 1"]),
        (json!({"anchoring": "", "context": "mobile"}), vec!["r3"]),
        (json!({"enabled": true}), vec!["r3", "r 1"]),
        (json!({"enabled": null, "hitsPerPage": 1, "page": 1}), vec!["r2"]),
    ] {
        assert_eq!(found(&node.post(&format!("{base}/search"), body.clone()).await).0, expected, "{body}");
    }
    let hit = node.post(&format!("{base}/search"), json!({"query": "phone"})).await["hits"][0].clone();
    let shown = &hit["_highlightResult"];
    assert_eq!(shown["conditions"][0]["pattern"]["value"], "<em>phone</em>");
    assert_eq!(shown["consequence"]["params"]["filters"]["matchLevel"], "none");
    // what a search shows can be saved again
    node.write(Method::POST, &format!("{base}/batch?clearExistingRules=true"), json!([hit])).await;
    assert_eq!(node.get(&format!("{base}/r%201")).await, rule("r 1", "phone"));
    assert_eq!(node.kept("i").await, "|r 1");
    let deleted = node.write(Method::DELETE, &format!("{base}/r%201"), json!({})).await;
    assert!(deleted["updatedAt"].is_string());
    node.call(Method::GET, &format!("{base}/r%201"), "").await.refused(404, "ObjectID does not exist");
    node.write(Method::PUT, &format!("{base}/x"), rule("x", "phone")).await;
    node.write(Method::POST, &format!("{base}/clear"), json!({})).await;
    assert_eq!(node.kept("i").await, "|");
}

#[actix_web::test]
async fn wrong_calls_are_refused_and_change_nothing() {
    let node = Node::start().await;
    node.fill_documents("i", "k").await;
    let many: Vec<Value> = (0..10_001).map(|n| synonym(&n.to_string(), &["a", "b"])).collect();
    let nearly: Vec<Value> = many[..9_999].to_vec();
    let (many, nearly) = (Value::from(many).to_string(), Value::from(nearly).to_string());
    let missing = "Index never does not exist";
    for (method, path, body, status, text) in [
        (Method::PUT, "i/synonyms/s", "{}", 400, "type is required"),
        (Method::PUT, "i/synonyms/s", "", 400, "parse error"),
        (Method::PUT, "i/synonyms/s", "[", 400, "parse error"),
        (Method::PUT, "i/rules/s", "{}", 400, "consequence is required"),
        (Method::PUT, "i/rules/s", "[]", 400, "expected rule as a JSON object"),
        (
            Method::PUT,
            "i/rules/s",
            r#"{"consequence":{"params":{"hitsPerPage":-1}}}"#,
            400,
            "Invalid value for \"hitsPerPage\" parameter, expected integer between 0 and 1000 in consequence.params",
        ),
        (Method::POST, "i/synonyms/batch", "{}", 400, "expected a JSON array of synonyms"),
        (
            Method::POST,
            "i/synonyms/batch",
            r#"[{"objectID":"new","type":"synonym","synonyms":["a"]},{"objectID":"b","type":"x"}]"#,
            400,
            "Invalid value for \"type\" parameter",
        ),
        (Method::POST, "i/rules/batch", "[{}]", 400, "objectID is required in the rule at the position 0"),
        (Method::POST, "i/synonyms/batch", many.as_str(), 400, "An index can have at most 10000 synonyms"),
        (Method::POST, "i/synonyms/batch", nearly.as_str(), 400, "An index can have at most 10000 synonyms"),
        (Method::POST, "i/synonyms/batch?forwardToReplicas=maybe", "[]", 400, "Invalid value for"),
        (Method::POST, "i/synonyms/search", r#"{"type":"x"}"#, 400, "Invalid value for \"type\""),
        (Method::POST, "i/rules/search", r#"{"hitsPerPage":1001}"#, 400, "Invalid value for \"hitsPerPage\""),
        (Method::POST, "i/rules/search", r#"{"words":1}"#, 400, "Unknown parameter: words"),
        (Method::GET, "i/synonyms/none", "", 404, "Synonym set does not exist"),
        (Method::GET, "i/rules/none", "", 404, "ObjectID does not exist"),
        (Method::GET, "never/synonyms/s", "", 404, missing),
        (Method::GET, "never/rules/s", "", 404, missing),
        (Method::POST, "never/synonyms/search", "{}", 404, missing),
        (Method::POST, "never/rules/search", "{}", 404, missing),
    ] {
        let answer = node.call(method, &format!("/1/indexes/{path}"), body).await;
        answer.refused(status, text);
    }
    let error = node.call(Method::POST, "/1/indexes/i/rules/batch", r#"[{"objectID":"w"}]"#).await.json();
    assert_eq!((&error["position"], &error["objectID"]), (&json!(0), &json!("w")));
    assert_eq!(node.kept("i").await, "k2 k1|k2 k1");
    let refused = "Method not allowed with this API key";
    for (method, path) in [
        (Method::PUT, "synonyms/s"),
        (Method::POST, "rules/batch"),
        (Method::GET, "synonyms/k1"),
        (Method::POST, "rules/search"),
    ] {
        let uri = format!("/1/indexes/i/{path}");
        node.call_with(&node.search_key, method, &uri, "{}").await.refused(403, refused);
    }
}

#[actix_web::test]
async fn copies_moves_and_deletions_carry_synonyms_and_rules() {
    let node = Node::start().await;
    let operate = async |from: &str, body: Value| {
        node.write(Method::POST, &format!("/1/indexes/{from}/operation"), body).await;
    };
    node.fill_documents("a", "a").await;
    node.write(Method::PUT, "/1/indexes/a/o", json!({"n": 1})).await;
    operate("a", json!({"operation": "copy", "destination": "whole"})).await;
    assert_eq!(node.kept("whole").await, "a2 a1|a2 a1");
    for (scope, expected) in [
        (json!(["synonyms"]), "a2 a1|b2 b1"),
        (json!(["rules"]), "b2 b1|a2 a1"),
        (json!(["settings"]), "b2 b1|b2 b1"),
        (json!(["settings", "synonyms", "rules"]), "a2 a1|a2 a1"),
    ] {
        node.fill_documents("b", "b").await;
        let body = json!({"operation": "copy", "destination": "b", "scope": scope});
        operate("a", body).await;
        assert_eq!(node.kept("b").await, expected, "{scope}");
        for kind in ["synonyms", "rules"] {
            node.write(Method::POST, &format!("/1/indexes/b/{kind}/clear"), json!({})).await;
        }
    }
    operate("never", json!({"operation": "copy", "destination": "a", "scope": ["rules"]})).await;
    assert_eq!(node.kept("a").await, "a2 a1|a2 a1");
    node.write(Method::POST, "/1/indexes/a/clear", json!({})).await;
    operate("a", json!({"operation": "move", "destination": "c"})).await;
    assert_eq!(node.kept("c").await, "a2 a1|a2 a1");
    let anew =
        json!({"requests": [{"action": "delete"}, {"action": "addObject", "body": {"objectID": "1"}}]});
    node.write(Method::POST, "/1/indexes/c/batch", anew).await;
    assert_eq!(node.kept("c").await, "|");
    node.write(Method::DELETE, "/1/indexes/whole", json!({})).await;
    node.write(Method::PUT, "/1/indexes/whole/o", json!({})).await;
    assert_eq!(node.kept("whole").await, "|");
}

#[actix_web::test]
async fn replicas_get_what_is_forwarded() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/p/settings", json!({"replicas": ["q", "virtual(v)"]})).await;
    node.write(Method::PUT, "/1/indexes/p/synonyms/s", synonym("s", &["a", "b"])).await;
    assert_eq!((node.kept("q").await, node.kept("v").await), ("|".into(), "|".into()));
    let forward = "forwardToReplicas=true";
    node.write(Method::PUT, &format!("/1/indexes/p/rules/r?{forward}"), rule("r", "x")).await;
    node.write(
        Method::POST,
        &format!("/1/indexes/p/synonyms/batch?{forward}"),
        json!([synonym("t", &["c"])]),
    )
    .await;
    assert_eq!((node.kept("p").await, node.kept("q").await), ("t s|r".into(), "t|r".into()));
    assert_eq!(node.kept("v").await, "t|r");
    node.write(Method::DELETE, "/1/indexes/p/synonyms/t?forwardToSlaves=true", json!({})).await;
    node.write(Method::POST, &format!("/1/indexes/p/rules/clear?{forward}"), json!({})).await;
    assert_eq!((node.kept("p").await, node.kept("q").await), ("s|".into(), "|".into()));
    assert_eq!(node.kept("v").await, "|");
}
