//! What goes with a record, and what is refused (C§17)?
//!
//! - `POST /1/indexes/*/recommendations`: search

use super::*;
use serde_json::json;

const RECOMMENDATIONS: &str = "/1/indexes/*/recommendations";

/// A request that is as it has to be.
fn alike() -> Value {
    json!({"indexName": "shop", "model": "looking-similar", "objectID": "lamp1", "threshold": 0})
}
/// The same with other members; `null` takes one away.
fn with(changes: Value) -> Value {
    let mut request = alike();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(request.as_object_mut().unwrap().remove(name)),
            value => request[name] = value.clone(),
        }
    }
    request
}
fn call_of(requests: Value) -> String {
    json!({ "requests": requests }).to_string()
}
fn ids(result: &Value) -> Vec<&str> {
    result["hits"].as_array().unwrap().iter().map(|hit| hit["objectID"].as_str().unwrap()).collect()
}

impl Node {
    async fn with_shop() -> Node {
        let node = Node::start().await;
        let settings = json!({"searchableAttributes": ["name"], "attributesForFaceting": ["kind"],
            "customRanking": ["desc(sold)"], "unretrievableAttributes": ["cost"]});
        node.write(Method::PUT, "/1/indexes/shop/settings", settings).await;
        let names =
            [("lamp1", "light"), ("lamp2", "light"), ("lamp3", "light"), ("sofa", "seat"), ("chair", "seat")];
        let record = |(n, (id, kind)): (usize, &(&str, &str))| {
            json!({"action": "addObject", "body": {"objectID": id,
            "name": format!("{} number {n}", if *kind == "light" { "brass lamp" } else { "oak furniture" }), "kind": kind,
            "sold": n, "cost": 3}})
        };
        let requests: Vec<Value> = names.iter().enumerate().map(record).collect();
        node.write(Method::POST, "/1/indexes/shop/batch", json!({ "requests": requests })).await;
        node
    }
    async fn recommended(&self, key: &str, request: Value) -> Value {
        let answer = self.call_with(key, Method::POST, RECOMMENDATIONS, &call_of(json!([request]))).await;
        answer.success()["results"][0].clone()
    }
}

#[actix_web::test]
async fn records_that_are_alike_have_the_members_of_a_search() {
    let node = Node::with_shop().await;
    let request = with(json!({"queryParameters": {"clickAnalytics": true, "attributesToRetrieve": ["name"],
        "page": 3, "hitsPerPage": 1, "offset": 9, "length": 0}}));
    let found = node.recommended(ADMIN, request).await;
    assert_eq!(ids(&found)[..2], ["lamp3", "lamp2"], "{found}");
    let first = &found["hits"][0];
    assert!(first["_score"].as_f64().unwrap() > 50.0 && first["name"] == "brass lamp number 2", "{first}");
    assert_eq!((first.get("kind"), first.get("cost")), (None, None));
    assert_eq!(first["_highlightResult"]["name"]["matchLevel"], "none");
    let hits = found["hits"].as_array().unwrap().len();
    for (member, expected) in [
        ("nbHits", json!(hits)),
        ("page", json!(0)),
        ("nbPages", json!(1)),
        ("hitsPerPage", json!(100)),
        ("index", json!("shop")),
        ("query", json!("")),
        ("exhaustiveNbHits", json!(true)),
    ] {
        assert_eq!(found[member], expected, "{member}");
    }
    assert_eq!(found["queryID"].as_str().map(str::len), Some(32));
    assert!(
        found["processingTimeMS"].is_u64() && found["params"].as_str().unwrap().contains("clickAnalytics")
    );
    // without events what is related is what is alike, and nothing else is known
    let requests = json!([
        with(json!({"model": "related-products"})),
        with(json!({"model": "bought-together"})),
        with(json!({"model": "trending-items", "objectID": null})),
        with(json!({"model": "trending-facets", "facetName": "kind"})),
        with(json!({"objectID": "unknown"})),
        with(json!({"maxRecommendations": 1}))
    ]);
    let all = node.post(RECOMMENDATIONS, json!({ "requests": requests })).await;
    let counts: Vec<usize> =
        all["results"].as_array().unwrap().iter().map(|it| it["hits"].as_array().unwrap().len()).collect();
    assert_eq!(counts, [hits, 0, 0, 0, 0, 1]);
}

#[actix_web::test]
async fn fallbacks_answer_when_nothing_is_left() {
    let node = Node::with_shop().await;
    let bought = |fallback: Value| with(json!({"model": "bought-together", "fallbackParameters": fallback}));
    let found = node.recommended(ADMIN, bought(json!({"filters": "kind:light"}))).await;
    assert_eq!(ids(&found), ["lamp3", "lamp2"]);
    assert_eq!(found["hits"][0]["_score"], 0);
    let one =
        node.recommended(ADMIN, bought(json!({"query": "furniture", "hitsPerPage": 1, "page": 7}))).await;
    assert_eq!(ids(&one), ["chair"]);
    let none = node.recommended(ADMIN, with(json!({"fallbackParameters": {"query": "sofa"}}))).await;
    assert_eq!(ids(&none)[0], "lamp3", "there is something to recommend");
    let unasked = node.recommended(ADMIN, bought(json!({}))).await;
    assert_eq!(unasked["hits"], json!([]), "clients of version 4 send that of themselves");
}

#[actix_web::test]
async fn wrong_members_are_named() {
    let node = Node::with_shop().await;
    let long = "x".repeat(513);
    let wrong = [
        (json!({"indexName": null}), "indexName is required"),
        (json!({"indexName": ""}), "indexName is not valid"),
        (json!({"model": null}), "model is required"),
        (
            json!({"model": "recommended-for-you"}),
            "\"model\" parameter, expected one of related-products, bought-together",
        ),
        (json!({"model": 1}), "\"model\" parameter, expected one of"),
        (json!({"threshold": null}), "threshold is required"),
        (json!({"threshold": -0.01}), "\"threshold\" parameter, expected number between 0 and 100"),
        (json!({"threshold": 100.01}), "\"threshold\" parameter, expected number"),
        (json!({"threshold": "5"}), "\"threshold\" parameter, expected number"),
        (
            json!({"maxRecommendations": -1}),
            "\"maxRecommendations\" parameter, expected integer between 0 and 100",
        ),
        (json!({"maxRecommendations": 1.5}), "\"maxRecommendations\" parameter, expected integer"),
        (json!({"maxRecommendations": "3"}), "\"maxRecommendations\" parameter, expected integer"),
        (json!({"objectID": null}), "objectID is required"),
        (json!({"objectID": ""}), "\"objectID\" parameter, expected string of 1 to 512 bytes"),
        (json!({"objectID": long}), "\"objectID\" parameter, expected string"),
        (json!({"objectID": ["a"]}), "\"objectID\" parameter, expected string"),
        (
            json!({"model": "trending-items", "facetName": "kind"}),
            "facetValue is required where facetName is given",
        ),
        (
            json!({"model": "trending-items", "facetValue": "a"}),
            "facetName is required where facetValue is given",
        ),
        (
            json!({"model": "trending-items", "facetName": 1, "facetValue": "a"}),
            "\"facetName\" parameter, expected string",
        ),
        (json!({"model": "trending-facets"}), "facetName is required"),
        (
            json!({"model": "trending-facets", "facetName": "f".repeat(513)}),
            "\"facetName\" parameter, expected string of at most 512",
        ),
        (json!({"queryParameters": "hitsPerPage=1"}), "\"queryParameters\" parameter, expected object"),
        (json!({"queryParameters": {"filters": "a:"}}), "filters"),
        (json!({"queryParameters": {"typo": 1}}), "Unknown parameter: typo"),
        (json!({"fallbackParameters": []}), "\"fallbackParameters\" parameter, expected object"),
        (json!({"fallbackParameters": {"hitsPerPage": -1}}), "\"hitsPerPage\" parameter"),
    ];
    for (changes, text) in wrong {
        let body = call_of(json!([alike(), with(changes)]));
        let text = if text.starts_with('"') { format!("Invalid value for {text}") } else { text.to_owned() };
        node.call(Method::POST, RECOMMENDATIONS, &body).await.refused(400, &text);
    }
    for (body, text) in [
        ("{}", "requests is required"),
        (r#"{"requests": {}}"#, "requests is required"),
        (r#"{"requests": [1]}"#, "requests must be a list of objects"),
        ("[]", "parse error: expected a JSON object"),
    ] {
        node.call(Method::POST, RECOMMENDATIONS, body).await.refused(400, text);
    }
    let missing = call_of(json!([with(json!({"indexName": "missing"}))]));
    node.call(Method::POST, RECOMMENDATIONS, &missing).await.refused(404, "Index missing does not exist");
    let named = "/1/indexes/shop/recommendations";
    let answer = node.call(Method::POST, named, &call_of(json!([alike()]))).await;
    assert!([404, 405].contains(&answer.status.as_u16()), "{answer:?}");
    assert_eq!(node.post(RECOMMENDATIONS, json!({"requests": []})).await, json!({"results": []}));
}

#[actix_web::test]
async fn keys_restrict_what_is_recommended() {
    let node = Node::with_shop().await;
    let key = async |body: Value| node.post("/1/keys", body).await["key"].as_str().unwrap().to_owned();
    let post = async |key: &str| {
        node.call_with(key, Method::POST, RECOMMENDATIONS, &call_of(json!([alike()]))).await
    };
    post(&key(json!({"acl": ["browse"]})).await).await.refused(401, "Method not allowed with this API key");
    let other = key(json!({"acl": ["search"], "indexes": ["other"]})).await;
    post(&other).await.refused(401, "Index not allowed with this API key");
    post("nobody").await.refused(401, "Invalid Application-ID or API key");

    let search = key(json!({"acl": ["search"]})).await;
    let all = node.recommended(&search, alike()).await;
    assert!(ids(&all).contains(&"lamp2"));
    let seats = key(json!({"acl": ["search"], "queryParameters": "filters=kind:seat"})).await;
    // of a source that the key hides nothing is known
    assert_eq!(ids(&node.recommended(&seats, alike()).await), [""; 0]);
    let light = json!({"filters": "kind:light"});
    let fallback = with(json!({"fallbackParameters": {}, "queryParameters": light}));
    assert_eq!(ids(&node.recommended(&seats, fallback).await), ["chair", "sofa"]);
    let few = key(json!({"acl": ["search"], "maxHitsPerQuery": 1})).await;
    assert_eq!(ids(&node.recommended(&few, alike()).await), ["lamp3"]);
    let paged = key(json!({"acl": ["search"], "queryParameters": "hitsPerPage=1"})).await;
    let asked = with(json!({"queryParameters": {"hitsPerPage": 50}}));
    assert_eq!(ids(&node.recommended(&paged, asked).await), ["lamp3"]);
}

#[actix_web::test]
async fn users_are_recommended_their_own_records_and_public_ones() {
    let node = Node::start_with(|options| options.cluster.multi_cluster = true).await;
    let send = async |user: &str, method: Method, uri: &str, body: Value| {
        let request = test::TestRequest::default()
            .method(method)
            .uri(uri)
            .insert_header(("X-Service-Application-Id", APP))
            .insert_header(("X-Service-API-Key", ADMIN))
            .insert_header(("X-Service-User-ID", user));
        node.send(request.set_payload(body.to_string())).await.success()
    };
    for (user, records) in
        [("jane", ["lamp1", "lamp2"]), ("john", ["lamp1", "lamp3"]), ("*", ["lamp4", "lamp2"])]
    {
        if user != "*" {
            send(user, Method::POST, "/1/clusters/mapping", json!({"cluster": "main"})).await;
        }
        let put = |id: &&str| json!({"action": "addObject", "body": {"objectID": id, "name": "brass lamp", "of": user}});
        let requests: Vec<Value> = records.iter().map(put).collect();
        let written =
            send(user, Method::POST, "/1/indexes/shop/batch", json!({ "requests": requests })).await;
        node.wait(written["taskID"].as_u64().unwrap()).await;
    }
    let desk = json!({"objectID": "desk", "name": "oak desk", "of": "*"});
    let written = send("*", Method::PUT, "/1/indexes/shop/desk", desk).await;
    node.wait(written["taskID"].as_u64().unwrap()).await;
    let body = json!({"requests": [alike()]});
    let found = send("jane", Method::POST, RECOMMENDATIONS, body.clone()).await;
    let mut of: Vec<(&str, &str)> = found["results"][0]["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["objectID"].as_str().unwrap(), hit["of"].as_str().unwrap()))
        .collect();
    of.sort_unstable();
    assert_eq!(of, [("lamp2", "*"), ("lamp2", "jane"), ("lamp4", "*")]);
    node.call(Method::POST, RECOMMENDATIONS, &body.to_string()).await.refused(400, "a user ID is required");
}

#[actix_web::test]
async fn what_users_did_comes_before_what_is_alike() {
    let node = Node::with_shop().await;
    let event = |user: usize, kind: &str, ids: &[&str]| json!({"eventName": "Did", "eventType": kind, "index": "shop", "userToken": format!("u{user}"), "objectIDs": ids});
    let bought = |user: usize| {
        event(user, "conversion", if user < 10 { &["lamp1", "chair", "ghost"] } else { &["sofa", "lamp3"] })
    };
    // one user is not many
    let seen = event(99, "view", &["lamp2", "sofa"]);
    let events: Vec<Value> = (0..30).map(bought).chain([seen]).collect();
    node.post("/1/events", json!({ "events": events })).await;
    let index = quorate_model::IndexName::new("shop").unwrap();
    for model in ["related-products", "bought-together"] {
        node.post(&format!("/admin/recommend/shop/{model}/build"), json!({})).await;
        let model = quorate_model::RecommendModel::parse(model).unwrap();
        soon(async || {
            let found = node.service.candidates(&index, model, Some("lamp1")).await.unwrap();
            (found.users > 0).then_some(())
        })
        .await;
    }
    let shown = async |changes: Value| {
        let found = node.recommended(ADMIN, with(changes)).await;
        let hit =
            |hit: &Value| (hit["objectID"].as_str().unwrap().to_owned(), hit["_score"].as_f64().unwrap());
        found["hits"].as_array().unwrap().iter().map(hit).collect::<Vec<_>>()
    };
    // what is gone is not shown, nor is what only others bought
    let related = shown(json!({"model": "related-products"})).await;
    assert_eq!(related, [("chair".to_owned(), 100.0)]);
    assert_eq!(shown(json!({"model": "bought-together"})).await, [("chair".to_owned(), 100.0)]);
    assert_eq!(
        shown(json!({"model": "related-products", "queryParameters": {"filters": "kind:light"}})).await,
        []
    );
    // few users: filled beneath their own
    let few = shown(json!({"model": "related-products", "objectID": "lamp2"})).await;
    assert!(few.len() >= 2 && few.is_sorted_by(|a, b| a.1 >= b.1), "{few:?}");
    assert!(few.iter().any(|(id, _)| id == "lamp3"), "{few:?}");
}
