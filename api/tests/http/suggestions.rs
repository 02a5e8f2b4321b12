//! How are configurations of query suggestions kept, and what do their builds come to (C§16)?
//!
//! - `POST /1/configs`: settings
//! - `PUT /1/configs/{indexName}`: editSettings
//! - `DELETE /1/configs/{indexName}`: editSettings
//! - `GET /1/configs/{indexName}`: settings
//! - `GET /1/configs/{indexName}/status`: settings
//! - `GET /1/configs`: settings
//! - `GET /1/logs/{indexName}`: settings
//! - `POST /admin/suggestions/{indexName}/build`: admin

use super::*;
use quorate_model::limits::SUGGESTION_CONFIGS_MAX;
use serde_json::json;
use std::time::Duration;

const CREATED: &str = "Configuration was created, and a new indexing job has been scheduled.";
const UPDATED: &str = "Configuration was updated, and a new indexing job has been scheduled.";

impl Node {
    /// Waits until no build of an index is under way or waits; its state.
    async fn built(&self, index: &str) -> Value {
        for _ in 0..1_000 {
            let status = self.get(&format!("/1/configs/{index}/status")).await;
            if status["isRunning"] == false {
                return status;
            }
            actix_rt::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{index} was not built in time");
    }
    /// Asks for a build, as an operator does.
    async fn build(&self, index: &str) {
        let request = test::TestRequest::post()
            .uri(&format!("/admin/suggestions/{index}/build"))
            .peer_addr("127.0.0.1:7000".parse().unwrap())
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN));
        self.send(request).await.success();
    }
    async fn log_of(&self, index: &str) -> Vec<Value> {
        let answer = self.call(Method::GET, &format!("/1/logs/{index}"), "").await;
        assert_eq!(answer.header("content-type"), "application/x-ndjson; charset=UTF-8");
        let lines = String::from_utf8(answer.bytes).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
    /// Suggestions with their popularity, in the order of an empty query.
    async fn suggestions(&self, index: &str) -> Vec<(String, u64)> {
        let found = self.post(&format!("/1/indexes/{index}/query"), json!({"hitsPerPage": 100})).await;
        let hits = found["hits"].as_array().unwrap().iter();
        hits.map(|it| (it["query"].as_str().unwrap().to_owned(), it["popularity"].as_u64().unwrap()))
            .collect()
    }
    async fn shop(&self) {
        let facets = json!({"attributesForFaceting": ["color", "brand"]});
        self.write(Method::PUT, "/1/indexes/shop/settings", facets).await;
        let record = |color: &str, brand: &str, number: usize| {
            json!({"action": "addObject", "body": {"objectID": format!("{color}{brand}{number}"), "color": color,
                "brand": brand, "name": format!("{color} lamp")}})
        };
        let mut requests = Vec::new();
        for (color, brand, count) in [("red", "Acme", 6), ("blue", "Acme", 5), ("blue", "Zeta", 2)] {
            requests.extend((0..count).map(|number| record(color, brand, number)));
        }
        self.write(Method::POST, "/1/indexes/shop/batch", json!({ "requests": requests })).await;
        let external = [
            json!({"objectID": "1", "query": "Red  Lamp", "count": 30}),
            json!({"objectID": "2", "query": "lamps", "count": 9}),
            json!({"objectID": "3", "query": "lamp", "count": 20}),
            json!({"objectID": "4", "query": "blu lam", "count": 2}),
            json!({"objectID": "5", "query": "lanp", "count": 3}),
            json!({"objectID": "6", "query": "unicorn", "count": 99}),
            json!({"objectID": "7", "query": "secret lamp", "count": 99}),
            json!({"objectID": "8", "query": 5, "count": 99}),
            json!({"objectID": "9", "query": "lamp", "count": "many"}),
        ];
        let requests: Vec<Value> =
            external.into_iter().map(|body| json!({"action": "addObject", "body": body})).collect();
        self.write(Method::POST, "/1/indexes/asked/batch", json!({ "requests": requests })).await;
    }
}

#[actix_web::test]
async fn c16_configurations_are_made_read_changed_and_deleted() {
    let node = Node::start().await;
    assert_eq!(node.get("/1/configs").await, json!([]));
    let config = json!({"indexName": "s", "sourceIndices": [{"indexName": "shop"}], "exclude": ["bad"]});
    let done = node.post("/1/configs", config.clone()).await;
    assert_eq!(done, json!({"status": 200, "message": CREATED}));
    let again = node.call(Method::POST, "/1/configs", &config.to_string()).await;
    again.refused(422, "Configuration already exists for index: s");
    let shown = json!({"appID": APP, "indexName": "s", "sourceIndices": [{"indexName": "shop", "replicas": false,
        "analyticsTags": [], "facets": [], "minHits": 5, "generate": [], "external": []}],
        "languages": false, "exclude": ["bad"], "enablePersonalization": false, "allowSpecialCharacters": false});
    assert_eq!(node.get("/1/configs/s").await, shown);
    // what is shown is taken back
    let done = node.call(Method::PUT, "/1/configs/s", &shown.to_string()).await.success();
    assert_eq!(done, json!({"status": 200, "message": UPDATED}));
    let other =
        json!({"sourceIndices": [{"indexName": "shop", "minLetters": 4}], "languages": true}).to_string();
    let done = node.call(Method::PUT, "/1/configs/new%20one", &other).await.success();
    assert_eq!(done["message"], CREATED);
    let all = node.get("/1/configs").await;
    assert_eq!((&all[0]["indexName"], &all[1]), (&json!("new one"), &shown));
    assert_eq!((&all[0]["languages"], &all[0]["sourceIndices"][0]["minLetters"]), (&json!(true), &json!(4)));
    assert_eq!(node.built("s").await["indexName"], "s");
    let done = node.call(Method::DELETE, "/1/configs/s", "").await.success();
    assert_eq!(done, json!({"status": 200, "message": "Configuration was deleted with success."}));
    for (method, path) in [
        (Method::DELETE, "/1/configs/s"),
        (Method::GET, "/1/configs/s"),
        (Method::GET, "/1/configs/s/status"),
        (Method::GET, "/1/logs/s"),
        (Method::POST, "/admin/suggestions/s/build"),
    ] {
        let request = test::TestRequest::default()
            .method(method)
            .uri(path)
            .peer_addr("127.0.0.1:7000".parse().unwrap())
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN));
        node.send(request).await.refused(404, "Not Found");
    }
    // the index stays
    assert_eq!(node.suggestions("s").await, []);
}

#[actix_web::test]
async fn c16_what_is_wrong_says_what_and_changes_nothing() {
    let node = Node::start().await;
    node.post("/1/configs", json!({"indexName": "s", "sourceIndices": [{"indexName": "shop"}]})).await;
    node.post(
        "/1/configs",
        json!({"indexName": "t", "sourceIndices": [{"indexName": "x", "external": ["s"]}]}),
    )
    .await;
    node.write(Method::PUT, "/1/indexes/shop/settings", json!({"replicas": ["linked"]})).await;
    node.post("/1/configs", json!({"indexName": "of-linked", "sourceIndices": [{"indexName": "linked"}]}))
        .await;
    node.call(Method::PUT, "/1/indexes/shop/settings", r#"{"replicas": ["linked", "s"]}"#)
        .await
        .refused(400, "s is a suggestions index: it cannot be a replica of shop");
    for (index, body, expected) in [
        ("u", json!({}), "Invalid body \"sourceIndices needs to contain at least one index\"."),
        (
            "u",
            json!({"sourceIndices": [{}]}),
            "Invalid body \"every source index must have an `indexName`\".",
        ),
        (
            "u",
            json!({"sourceIndices": [{"indexName": "u"}]}),
            "Invalid body \"sourceIndices must not lead to",
        ),
        (
            "shop",
            json!({"sourceIndices": [{"indexName": "t"}]}),
            "Invalid body \"sourceIndices must not lead to",
        ),
        (
            "shop",
            json!({"sourceIndices": [{"indexName": "linked"}]}),
            "Invalid body \"sourceIndices must not lead to",
        ),
        (
            "shop",
            json!({"sourceIndices": [{"indexName": "of-linked"}]}),
            "Invalid body \"sourceIndices must not lead to",
        ),
        (
            "u",
            json!({"sourceIndices": [{"indexName": "a"}], "exclude": ["/(/"]}),
            "Invalid value for \"exclude\"",
        ),
        (
            "u",
            json!({"sourceIndices": [{"indexName": "a"}], "exclude": [r"/(\w{100}){100}/"]}),
            "Invalid value for \"exclude\" parameter, expected patterns that are smaller",
        ),
        (
            "linked",
            json!({"sourceIndices": [{"indexName": "a"}]}),
            "Invalid body \"indexName linked is a replica of shop: unlink it there first\".",
        ),
        ("u", json!([]), "parse error: expected a JSON object"),
    ] {
        let answer = node.call(Method::PUT, &format!("/1/configs/{index}"), &body.to_string()).await;
        answer.refused(400, expected);
    }
    node.call(Method::POST, "/1/configs", r#"{"sourceIndices": []}"#)
        .await
        .refused(400, "IndexName cannot be empty.");
    assert_eq!(node.get("/1/configs").await.as_array().unwrap().len(), 3);
}

#[actix_web::test]
async fn c16_keys_need_their_right_and_every_index_that_is_named() {
    let node = Node::start().await;
    let key = async |rights: Value| node.post("/1/keys", rights).await["key"].as_str().unwrap().to_owned();
    let reader = key(json!({"acl": ["settings"], "indexes": ["own*"]})).await;
    let writer = key(json!({"acl": ["editSettings", "settings"], "indexes": ["own*"]})).await;
    let config = |index: &str, source: &str| {
        json!({"indexName": index, "sourceIndices": [{"indexName": source}]}).to_string()
    };
    let call = async |key: &str, method: Method, path: &str, body: &str| {
        node.call_with(key, method, path, body).await
    };
    call(&reader, Method::POST, "/1/configs", &config("own_s", "own")).await.success();
    node.post("/1/configs", serde_json::from_str(&config("other", "own")).unwrap()).await;
    let denied = "Index not allowed with this API key";
    call(&reader, Method::POST, "/1/configs", &config("foreign", "own")).await.refused(401, denied);
    call(&reader, Method::POST, "/1/configs", &config("own_t", "foreign")).await.refused(401, denied);
    call(&writer, Method::PUT, "/1/configs/own_s", &config("own_s", "foreign")).await.refused(401, denied);
    call(&writer, Method::DELETE, "/1/configs/other", "").await.refused(401, denied);
    for path in ["/1/configs/other", "/1/configs/other/status", "/1/logs/other"] {
        call(&reader, Method::GET, path, "").await.refused(401, denied);
    }
    for (replica, is_allowed) in [("foreign", false), ("own_replica", true)] {
        for link in [replica.to_owned(), format!("virtual({replica})")] {
            node.write(Method::PUT, "/1/indexes/own/settings", json!({"replicas": [link]})).await;
            let counting =
                json!({"indexName": "own_s", "sourceIndices": [{"indexName": "own", "replicas": true}]})
                    .to_string();
            let answer = call(&writer, Method::PUT, "/1/configs/own_s", &counting).await;
            if is_allowed {
                answer.success()
            } else {
                answer.refused(401, denied)
            };
        }
        node.write(Method::PUT, "/1/indexes/own/settings", json!({"replicas": []})).await;
    }
    let listed = call(&reader, Method::GET, "/1/configs", "").await.success();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    let missing = "The provided API key is missing the \"editSettings\" ACL.";
    call(&reader, Method::DELETE, "/1/configs/own_s", "").await.refused(401, missing);
    call("nobody", Method::GET, "/1/configs", "").await.refused(401, "Invalid credentials");
    call(&writer, Method::DELETE, "/1/configs/own_s", "").await.success();
}

#[actix_web::test]
async fn there_are_as_many_configurations_as_there_may_be() {
    let node = Node::start().await;
    let config = |number: usize| json!({"indexName": format!("s{number}"), "sourceIndices": [{"indexName": "missing"}]});
    for number in 0..SUGGESTION_CONFIGS_MAX {
        node.post("/1/configs", config(number)).await;
    }
    let text = "There may be at most 100 configurations of query suggestions";
    let one_more = config(SUGGESTION_CONFIGS_MAX).to_string();
    node.call(Method::POST, "/1/configs", &one_more).await.refused(400, text);
    node.call(Method::PUT, "/1/configs/s100", &one_more).await.refused(400, text);
    node.call(Method::PUT, "/1/configs/s1", &config(1).to_string()).await.success();
}

#[actix_web::test]
async fn c16_an_index_is_built_from_what_was_asked_for_and_from_facets() {
    let node = Node::start().await;
    node.shop().await;
    let config = json!({"indexName": "s", "languages": ["en"], "exclude": ["secret"],
        "sourceIndices": [{"indexName": "shop", "external": ["asked", "nowhere"], "generate": [["color", "brand"]],
            "facets": [{"attribute": "brand", "amount": 1}]}]});
    node.post("/1/configs", config.clone()).await;
    let status = node.built("s").await;
    assert!(
        status["lastBuiltAt"].is_string() && status["lastSuccessfulBuildDuration"].is_string(),
        "{status}"
    );
    let expected = [("red lamp", 30), ("lamp", 32), ("blue acme", 0), ("red acme", 0)];
    let mut expected = expected.map(|(query, popularity)| (query.to_owned(), popularity)).to_vec();
    expected.sort_by_key(|(query, popularity)| (std::cmp::Reverse(*popularity), query.clone()));
    let mut found = node.suggestions("s").await;
    found.sort_by_key(|(query, popularity)| (std::cmp::Reverse(*popularity), query.clone()));
    assert_eq!(found, expected);
    let record = node.get("/1/indexes/s/lamp").await;
    let of_shop = json!({"exact_nb_hits": 13, "facets": {"analytics": {"brand": []},
        "exact_matches": {"brand": [{"value": "Acme", "count": 11}]}}});
    let expected = json!({"objectID": "lamp", "query": "lamp", "nb_words": 1, "popularity": 32, "shop": of_shop,
        "brand": ["Acme"]});
    assert_eq!(record, expected);
    let settings = node.get("/1/indexes/s/settings").await;
    for (name, value) in [
        ("searchableAttributes", json!(["query"])),
        ("customRanking", json!(["desc(popularity)"])),
        ("attributesToHighlight", json!(["query"])),
        ("numericAttributesForFiltering", json!(["nb_words"])),
        ("removeWordsIfNoResults", json!("lastWords")),
    ] {
        assert_eq!(settings[name], value, "{name}");
    }
    let log = node.log_of("s").await;
    let said = |level: &str, text: &str| log.iter().any(|it| it["level"] == level && it["message"] == text);
    for text in [
        "skipping query \"secret lamp\": excluded by secret",
        "skipping query \"lanp\": corrected to \"lamp\"",
        "skipping query \"lamps\": corrected to \"lamp\"",
        "skipping query \"unicorn\": not enough search results, got 0, expected 5",
        "skipping query \"blue zeta\": not enough search results, got 2, expected 5",
        "skipping a record of asked: 8: query is not a string",
        "skipping a record of asked: 9: count is not a number from 0 on",
    ] {
        assert!(said("SKIP", text), "{text}\n{log:#?}");
    }
    assert!(said("ERROR", "external index nowhere: Index nowhere does not exist"), "{log:#?}");
    // official clients read one value
    for (uri, agent) in [
        ("/1/logs/s?x-algolia-agent=Algolia%20for%20JavaScript", "none"),
        ("/1/logs/s", "Algolia for Python (4.48.0); Python (3.12.3)"),
    ] {
        let request = test::TestRequest::get()
            .uri(uri)
            .insert_header(("User-Agent", agent))
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN));
        assert_eq!(node.send(request).await.success(), Value::Array(log.clone()), "{uri} {agent}");
    }
}

#[actix_web::test]
async fn a_build_replaces_records_and_nothing_else() {
    let node = Node::start().await;
    node.shop().await;
    let config = |minimum: u32| {
        json!({"sourceIndices": [{"indexName": "shop", "minHits": minimum, "external": ["asked"]}]})
            .to_string()
    };
    node.call(Method::PUT, "/1/configs/s", &config(5)).await.success();
    node.built("s").await;
    assert!(node.suggestions("s").await.len() > 1);
    node.write(Method::PUT, "/1/indexes/s/settings", json!({"hitsPerPage": 7})).await;
    let rule = json!({"objectID": "r", "conditions": [{"pattern": "x", "anchoring": "is"}], "consequence": {"params": {}}});
    node.write(Method::PUT, "/1/indexes/s/rules/r", rule).await;
    node.write(Method::PUT, "/1/indexes/s/own", json!({"query": "of a user", "popularity": 1})).await;
    node.call(Method::PUT, "/1/configs/s", &config(1_000)).await.success();
    node.built("s").await;
    assert_eq!(node.suggestions("s").await, [], "an empty index, and no failure");
    assert_eq!(node.get("/1/indexes/s/settings").await["hitsPerPage"], 7);
    node.get("/1/indexes/s/rules/r").await;
    node.call(Method::PUT, "/1/configs/s", &config(5)).await.success();
    let before = node.built("s").await;
    node.write(Method::POST, "/1/indexes/s/clear", json!({})).await;
    node.build("s").await;
    let after = node.built("s").await;
    assert!(after["lastBuiltAt"].as_str() > before["lastBuiltAt"].as_str(), "{before} {after}");
    assert!(node.suggestions("s").await.len() > 1);
}

#[actix_web::test]
async fn a_replica_that_closes_a_circle_later_costs_no_records() {
    let node = Node::start().await;
    let of = |source: &str| json!({"sourceIndices": [{"indexName": source}]}).to_string();
    node.call(Method::PUT, "/1/configs/s", &of("later")).await.success();
    node.call(Method::PUT, "/1/configs/shop", &of("s")).await.success();
    node.built("shop").await;
    node.write(Method::PUT, "/1/indexes/shop/own", json!({"query": "of a user", "popularity": 1})).await;
    node.write(Method::PUT, "/1/indexes/shop/settings", json!({"replicas": ["later"]})).await;
    node.build("shop").await;
    node.built("shop").await;
    let log = node.log_of("shop").await;
    let says = |line: &Value| line["message"].as_str().is_some_and(|it| it.contains("lead to shop itself"));
    assert!(log.iter().any(says), "{log:?}");
    assert_eq!(node.suggestions("shop").await, [("of a user".to_owned(), 1)]);
}

#[actix_web::test]
async fn where_records_are_placed_by_user_there_are_no_suggestions() {
    let node = Node::start_with(|options| options.cluster.multi_cluster = true).await;
    let config = json!({"sourceIndices": [{"indexName": "shop"}]}).to_string();
    let text = "Query suggestions are not available where records are placed by user";
    node.call(Method::PUT, "/1/configs/s", &config).await.refused(402, text);
    node.call(Method::GET, "/1/configs", "").await.refused(402, text);
}

#[actix_web::test]
async fn suggestions_stay_while_no_source_index_is_there() {
    let node = Node::start().await;
    node.shop().await;
    let config = json!({"indexName": "s", "sourceIndices": [{"indexName": "shop", "minHits": 1, "external": ["asked"]}]});
    node.post("/1/configs", config.clone()).await;
    let first = node.built("s").await;
    let before = node.suggestions("s").await;
    assert_eq!(before.len(), 2, "{before:?}");
    node.write(Method::DELETE, "/1/indexes/shop", Value::Null).await;
    node.build("s").await;
    let failed = node.built("s").await;
    assert_eq!(failed["lastSuccessfulBuiltAt"], first["lastSuccessfulBuiltAt"]);
    assert_ne!(failed["lastBuiltAt"], first["lastBuiltAt"]);
    assert_eq!(node.suggestions("s").await, before);
    let errors = node.log_of("s").await.into_iter().filter(|line| line["level"] == "ERROR");
    let errors: Vec<Value> = errors.map(|line| line["message"].clone()).collect();
    let why = "none of the source indices exists: the suggestions stay as they are";
    assert_eq!(errors, ["shop: Index shop does not exist", why]);
    // it is there again with less in it
    node.write(Method::PUT, "/1/indexes/shop/o", json!({"name": "lamp"})).await;
    node.build("s").await;
    node.built("s").await;
    let after = node.suggestions("s").await;
    assert!(!after.is_empty() && after.len() < before.len(), "{after:?} after {before:?}");
}
