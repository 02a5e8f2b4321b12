//! What is kept when an installation has as much of something as it may, and one more comes?

use super::*;
use futures_util::future::join_all;
use quorate_api::auth::secured::derive;
use quorate_model::ApiKey;
use quorate_model::limits::*;

impl Node {
    /// A call that is carried out and that readers see.
    async fn done(&self, call: Ask) {
        let answer = self.ask(&call).await.success();
        self.wait(answer["taskID"].as_u64().unwrap()).await;
    }
    async fn records(&self, index: &str, count: usize, record: impl Fn(usize) -> Value) {
        let one = |n| json!({"action": "addObject", "body": record(n)});
        let requests: Vec<Value> = (0..count).map(one).collect();
        let uri = format!("/1/indexes/{index}/batch");
        self.done(ask(Method::POST, uri, json!({ "requests": requests }))).await;
    }
}

#[actix_web::test]
async fn an_answer_has_as_many_bytes_as_it_may() {
    let node = Node::start().await;
    let settings = json!({"attributesForFaceting": ["searchable(text)"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    node.records("i", 9, |n| json!({"objectID": n.to_string(), "text": "é".repeat(100 * n)})).await;
    let hits = node.post("/1/indexes/i/query", json!({})).await["hits"].as_array().unwrap().clone();
    let answer_bytes_max: usize = hits.iter().map(|hit| hit.to_string().len()).sum();
    let send = async |uri: &str, answer_bytes_max| {
        let request = test::TestRequest::post()
            .uri(uri)
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN));
        let limits = Limits { answer_bytes_max, ..Limits::default() };
        node.send_to(ServerOptions { limits, ..node.options() }, request).await
    };
    let whole = send("/1/indexes/i/query", answer_bytes_max).await.success();
    assert_eq!(whole["hits"].as_array().unwrap().len(), 9);
    let refused = send("/1/indexes/i/query", answer_bytes_max - 1).await;
    let refused = refused.refused(400, "The answer is too big: ");
    assert!(refused["message"].as_str().unwrap().contains("hitsPerPage"), "{refused}");
    // each value is there twice, with marks and without
    let answer_bytes_max = 2 * "é".repeat(100 * (0..9).sum::<usize>()).len();
    let whole = send("/1/indexes/i/facets/text/query", answer_bytes_max).await.success();
    assert!(whole["facetHits"].as_array().unwrap().len() >= 8, "{whole}");
    let refused = send("/1/indexes/i/facets/text/query", answer_bytes_max - 1).await;
    let refused = refused.refused(400, "The answer is too big: ");
    assert!(refused["message"].as_str().unwrap().contains("maxFacetHits"), "{refused}");
    // hits of a browse have no highlights
    let hits = node.post("/1/indexes/i/browse", json!({})).await["hits"].as_array().unwrap().clone();
    let answer_bytes_max: usize = hits.iter().map(|hit| hit.to_string().len()).sum();
    let whole = send("/1/indexes/i/browse", answer_bytes_max).await.success();
    assert_eq!((whole["hits"].as_array().unwrap().len(), whole.get("cursor")), (9, None));
    let page = send("/1/indexes/i/browse", answer_bytes_max - 1).await.success();
    assert_eq!((page["hits"].as_array().unwrap().len(), page["cursor"].is_string()), (8, true));
}

/// What is shown of a rule is many times as long as the rule: a page that no answer can hold is refused for good.
#[actix_web::test]
async fn a_page_of_rules_has_as_many_bytes_as_all_answers_leave_to_one() {
    let node = Node::start().await;
    let texts = vec!["a"; LIST_ENTRIES_MAX];
    let names =
        ["attributesToRetrieve", "facets", "optionalWords", "attributesToHighlight", "attributesToSnippet"];
    let params: Map<String, Value> = names.into_iter().map(|name| (name.to_owned(), json!(texts))).collect();
    let rule =
        |n: usize| json!({"objectID": n.to_string(), "description": "a", "consequence": {"params": params}});
    let rules: Vec<Value> = (0..150).map(rule).collect();
    node.done(ask(Method::POST, "/1/indexes/i/rules/batch", json!(rules))).await;
    let send = async |hits_per_page: usize| {
        let request = test::TestRequest::post()
            .uri("/1/indexes/i/rules/search")
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN))
            .set_payload(json!({"query": "a", "hitsPerPage": hits_per_page}).to_string());
        // pages may be as long as with half of it
        let limits = Limits { answer_bytes_max: 1 << 10, ..Limits::default() };
        node.send_to(ServerOptions { limits, ..node.options() }, request).await
    };
    let refused = send(1_000).await.refused(400, "The answer is too big: it may have 33554432 bytes");
    assert!(refused["message"].as_str().unwrap().contains("hitsPerPage"), "{refused}");
    let whole = send(60).await;
    assert!(whole.bytes.len() > 16 << 20, "{}", whole.bytes.len());
    assert_eq!(whole.success()["nbHits"], 150);
}

#[actix_web::test]
async fn a_longer_user_token_counts_as_none() {
    let node = Node::start().await;
    node.records("i", 1, |_| json!({"objectID": "1"})).await;
    for (length, is_there) in [(129, true), (130, false)] {
        let token = "t".repeat(length);
        let request = test::TestRequest::post()
            .uri("/1/indexes/i/query")
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN))
            .insert_header(("X-Algolia-UserToken", token.as_str()));
        node.send(request).await.success();
        let logs = node.get("/1/logs?type=query&length=1").await;
        let logged = &logs["logs"][0]["inner_queries"][0]["user_token"];
        assert_eq!(logged.as_str(), is_there.then_some(token.as_str()), "{logs}");
    }
}

#[actix_web::test]
async fn a_longer_secured_key_is_none() {
    let node = Node::start().await;
    node.records("i", 1, |_| json!({"objectID": "1"})).await;
    // base64 of the signature and the parameters: three bytes become four
    const PARAMETERS: usize = (64 << 10) / 4 * 3 - 64;
    for (length, status) in [(PARAMETERS, 200), (PARAMETERS + 1, 403)] {
        let filters = "filters=objectID%3A1+OR+objectID%3A";
        let parameters = format!("{filters}{}", "1".repeat(length - filters.len()));
        assert_eq!(parameters.len(), length);
        let key = derive(&node.search_key, &parameters);
        let body = json!({"apiKey": key, "hitsPerPage": 0}).to_string();
        let request = test::TestRequest::post()
            .uri("/1/indexes/i/query")
            .insert_header(("X-Algolia-Application-Id", APP))
            .set_payload(body);
        let answer = node.send(request).await;
        assert_eq!(answer.status.as_u16(), status, "{length}: {}", String::from_utf8_lossy(&answer.bytes));
    }
}

#[actix_web::test]
async fn a_facet_shows_1_000_values() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/settings", json!({"attributesForFaceting": ["color"]})).await;
    node.records("i", 1_001, |n| json!({"objectID": n.to_string(), "color": format!("c{n}")})).await;
    for (most, shown) in [(999, 999), (1_000, 1_000), (1_001, 1_000), (u64::MAX, 1_000)] {
        let asked = json!({"facets": ["color"], "maxValuesPerFacet": most, "hitsPerPage": 0});
        let answer = node.post("/1/indexes/i/query", asked).await;
        assert_eq!(answer["facets"]["color"].as_object().unwrap().len(), shown, "{most}");
    }
}

#[actix_web::test]
async fn an_index_has_as_many_synonyms_and_rules_as_it_may() {
    let node = Node::start().await;
    for (kind, most) in [("synonyms", SYNONYMS_MAX), ("rules", RULES_MAX)] {
        let one = |n: usize| match kind {
            "synonyms" => json!({"objectID": n.to_string(), "type": "synonym", "synonyms": ["a"]}),
            _ => json!({"objectID": n.to_string(), "consequence": {"filterPromotes": true}}),
        };
        let all: Value = (0..most).map(one).collect();
        let batch = |all: &Value| ask(Method::POST, format!("/1/indexes/i/{kind}/batch"), all);
        node.done(batch(&all)).await;
        let text = format!("An index can have at most {most} {kind}");
        node.ask(&batch(&json!([one(0), one(most)]))).await.refused(400, &text);
        let put = |n: usize| ask(Method::PUT, format!("/1/indexes/i/{kind}/{n}"), one(n));
        node.ask(&put(most)).await.refused(400, &text);
        // one that is there already is replaced
        node.done(put(most - 1)).await;
        let found = node.post(&format!("/1/indexes/i/{kind}/search"), json!({"hitsPerPage": 1})).await;
        assert_eq!(found["nbHits"], most);
    }
}

#[actix_web::test]
async fn a_model_has_as_many_rules_as_it_may() {
    let node = Node::start().await;
    let one = |n: usize| json!({"objectID": n.to_string(), "consequence": {"hide": [{"objectID": "x"}]}});
    let batch = |model: &str, all: &Value| {
        ask(Method::POST, format!("/1/indexes/i/{model}/recommend/rules/batch"), all)
    };
    let most = RECOMMEND_RULES_MAX;
    let all: Value = (0..most).map(one).collect();
    node.done(batch("trending-items", &all)).await;
    let text = format!("A model of an index can have at most {most} rules");
    let more = json!([one(0), one(most)]);
    node.ask(&batch("trending-items", &more)).await.refused(400, &text);
    // one that is there already is replaced, and each model has its own
    node.done(batch("trending-items", &json!([one(most - 1)]))).await;
    node.done(batch("bought-together", &more)).await;
}

#[actix_web::test]
async fn an_index_has_as_many_replicas_as_it_may() {
    let node = Node::start().await;
    node.records("i", 1, |_| json!({"objectID": "1"})).await;
    let named = |standard: usize, virtual_ones: usize| {
        let standard = (0..standard).map(|n| format!("s{n}"));
        let all = standard.chain((0..virtual_ones).map(|n| format!("virtual(v{n})")));
        settings(json!({"replicas": all.collect::<Vec<_>>()}))
    };
    let refused = async |call: Ask, text: &str| {
        node.ask(&call).await.refused(400, &parameter("replicas", text));
    };
    refused(named(REPLICAS_MAX + 1, 0), "at most 100 replicas").await;
    refused(named(REPLICAS_MAX - VIRTUAL_REPLICAS_MAX + 1, VIRTUAL_REPLICAS_MAX), "at most 100 replicas")
        .await;
    refused(named(0, VIRTUAL_REPLICAS_MAX + 1), "at most 20 virtual replicas").await;
    assert_eq!(node.get("/1/indexes").await["items"].as_array().unwrap().len(), 1);
    node.done(named(REPLICAS_MAX - VIRTUAL_REPLICAS_MAX, VIRTUAL_REPLICAS_MAX)).await;
    assert_eq!(node.get("/1/indexes").await["items"].as_array().unwrap().len(), 1 + REPLICAS_MAX);
}

#[actix_web::test]
async fn there_are_as_many_keys_as_there_may_be_and_all_are_listed() {
    let node = Node::start().await;
    // as long as keys may be, all but a few bytes
    let members = json!({"acl": ["search"], "description": "d".repeat(KEY_DESCRIPTION_BYTES_MAX),
        "queryParameters": format!("query={}", "q".repeat(400))});
    let wanted = ApiKey::from_members(members.as_object().unwrap(), None).unwrap();
    // the search key is one
    let mut values = Vec::new();
    while values.len() < KEYS_MAX - 1 {
        let missing = (KEYS_MAX - 1 - values.len()).min(500);
        let made = join_all((0..missing).map(|_| node.service.create_key(wanted.clone()))).await;
        values.extend(made.into_iter().map(|made| made.unwrap().0));
    }
    let text = "Too many API keys: there may be 5000; delete one first";
    let create = ask(Method::POST, "/1/keys", json!({"acl": ["search"]}));
    node.ask(&create).await.refused(403, text);
    let of_index = ask(Method::POST, "/1/indexes/i/keys", json!({"acl": ["search"]}));
    node.ask(&of_index).await.refused(403, text);
    let listed = node.ask(&ask(Method::GET, "/1/keys", "")).await.success();
    let listed = listed["keys"].as_array().unwrap();
    assert_eq!(listed.len(), KEYS_MAX);
    assert!(listed.iter().filter(|key| key["description"] == members["description"]).count() == KEYS_MAX - 1);
    // a search with the last of them works, and what is deleted makes room
    node.call_with(&values[KEYS_MAX - 2], Method::GET, "/1/indexes/i", "")
        .await
        .refused(404, "Index i does not exist");
    let uri = format!("/1/keys/{}", values[0]);
    node.call(Method::DELETE, &uri, "").await.success();
    node.ask(&create).await.success();
    node.call(Method::POST, &format!("{uri}/restore"), "").await.refused(403, text);
}

#[actix_web::test]
async fn a_key_allows_as_many_calls_as_it_says() {
    let node = Node::start().await;
    node.records("i", 1, |_| json!({"objectID": "1"})).await;
    let key = node.key(json!({"acl": ["search"], "maxQueriesPerIPPerHour": 3})).await;
    for status in [200, 200, 200, 429, 429] {
        let answer = node.call_with(&key, Method::POST, "/1/indexes/i/query", "{}").await;
        assert_eq!(answer.status.as_u16(), status);
        if status == 429 {
            answer.refused(429, "Too Many Requests");
        }
    }
}

#[actix_web::test]
async fn a_dictionary_has_as_many_entries_as_it_may() {
    let node = Node::start().await;
    let entry = |n: usize| {
        format!(r#"{{"action":"addEntry","body":{{"objectID":"{n}","language":"en","word":"w{n}"}}}}"#)
    };
    let batch = |numbers: std::ops::Range<usize>, clear: bool| {
        let requests: Vec<String> = numbers.map(entry).collect();
        let body =
            format!(r#"{{"clearExistingDictionaryEntries":{clear},"requests":[{}]}}"#, requests.join(","));
        ask(Method::POST, "/1/dictionaries/stopwords/batch", body)
    };
    let counted =
        async || node.get("/1/dictionaries/*/languages").await["en"]["stopwords"]["nbCustomEntries"].clone();
    let most = parameter("requests", "array of at most 100000 entries");
    node.ask(&batch(0..BATCH_OPS_MAX + 1, false)).await.refused(400, &most);
    assert_eq!(counted().await, 0);
    node.done(batch(0..BATCH_OPS_MAX, false)).await;
    node.done(batch(BATCH_OPS_MAX..DICTIONARY_ENTRIES_MAX, false)).await;
    assert_eq!(counted().await, DICTIONARY_ENTRIES_MAX);
    let quota = "Custom entries quota exceeded: the dictionary stopwords can have at most 200000 entries of 33554432 bytes together";
    let more = DICTIONARY_ENTRIES_MAX;
    node.ask(&batch(more - 1..more + 1, false)).await.refused(403, quota);
    assert_eq!(counted().await, DICTIONARY_ENTRIES_MAX);
    // those that are there are replaced, and a list that clears the dictionary has room
    node.done(batch(0..2, false)).await;
    assert_eq!(counted().await, DICTIONARY_ENTRIES_MAX);
    node.done(batch(more..more + 1, true)).await;
    assert_eq!(counted().await, 1);
}

#[actix_web::test]
async fn users_are_mapped_within_limits() {
    let node = Node::start_with(|options| options.cluster.multi_cluster = true).await;
    let user = |letters: usize| ask(Method::GET, format!("/1/clusters/mapping/{}", "u".repeat(letters)), "");
    node.ask(&user(128)).await.refused(404, "");
    node.ask(&user(129)).await.refused(400, "userID is not valid: it must have at most 128 characters");
    let batch = |count: usize| {
        let users: Vec<String> = (0..count).map(|n| format!("user-{n}")).collect();
        ask(Method::POST, "/1/clusters/mapping/batch", json!({"cluster": "main", "users": users}))
    };
    node.ask(&batch(10_001)).await.refused(400, &parameter("users", "list of at most 10000 user IDs"));
    assert_eq!(node.get("/1/clusters/mapping").await["userIDs"], json!([]));
    node.ask(&batch(10_000)).await.success();
    assert_eq!(node.get("/1/clusters").await["clusters"][0]["nbUserIDs"], 10_000);
    let page = node.get("/1/clusters/mapping").await;
    assert_eq!((page["userIDs"].as_array().unwrap().len(), &page["hitsPerPage"]), (1_000, &json!(1_000)));
    let expected = parameter("hitsPerPage", "integer between 1 and 1000");
    for wrong in [0, 1_001] {
        let list = ask(Method::GET, format!("/1/clusters/mapping?hitsPerPage={wrong}"), "");
        node.ask(&list).await.refused(400, &expected);
        let search =
            ask(Method::POST, "/1/clusters/mapping/search", json!({"query": "u", "hitsPerPage": wrong}));
        node.ask(&search).await.refused(400, &expected);
    }
    let top = node.get("/1/clusters/mapping/top").await;
    assert_eq!(top["topUsers"]["main"].as_array().unwrap().len(), 10);
}

#[actix_web::test]
async fn ten_words_have_alternatives() {
    let node = Node::start().await;
    let words: Vec<String> = ('a'..='z').map(|letter| format!("{letter}{letter}lamp")).collect();
    node.records("i", 1, |_| json!({"objectID": "1", "name": words.join(" ")})).await;
    for (written, hits) in [(12, 1), (9, 1), (10, 0)] {
        let mut asked = words[..12].to_vec();
        if let Some(word) = asked.get_mut(written) {
            // one typo
            *word = word.replace("lamp", "lxmp");
        }
        let answer = node.post("/1/indexes/i/query", json!({"query": asked.join(" ")})).await;
        assert_eq!(answer["nbHits"], hits, "the word {written} has a typo");
    }
}
