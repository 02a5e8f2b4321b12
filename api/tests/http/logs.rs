//! What does a node say of the calls that it answered (C§14)?
//! - `GET /1/logs`: logs

use super::*;
use actix_web::http::header::HeaderValue;
use quorate_api::auth::secured::derive;
use serde_json::json;

impl Node {
    async fn logs(&self, query: &str) -> Vec<Value> {
        self.get(&format!("/1/logs{query}")).await["logs"].as_array().unwrap().clone()
    }
    async fn logged_urls(&self, query: &str) -> Vec<String> {
        self.logs(query).await.iter().map(|entry| entry["url"].as_str().unwrap().to_owned()).collect()
    }
}

#[actix_web::test]
async fn an_entry_says_what_was_asked_and_answered() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"name": "anna"})).await;
    let request = test::TestRequest::post()
        .uri("/1/indexes/i/query?x-algolia-agent=a")
        .peer_addr("10.1.2.3:4".parse().unwrap())
        .insert_header(("X-Algolia-Application-Id", APP))
        .insert_header(("X-Algolia-API-Key", node.search_key.as_str()))
        .insert_header(("User-Agent", "an \"agent\""))
        .set_payload(r#"{"query":"anna"}"#);
    let answer = node.send(request).await;
    let entry = node.logs("?length=1").await.remove(0);
    let shown = String::from_utf8(answer.bytes.clone()).unwrap();
    let fixed = json!({
        "method": "POST", "answer_code": "200", "query_body": r#"{"query":"anna"}"#,
        "answer": shown.chars().take(1_000).collect::<String>(), "url": "/1/indexes/i/query?x-algolia-agent=a",
        "ip": "10.1.2.3", "nb_api_calls": "1", "query_params": "x-algolia-agent=a", "index": "i",
        "query_nb_hits": "1", "exhaustive": true, "inner_queries": [{"index_name": "i"}],
    });
    for (name, value) in fixed.as_object().unwrap() {
        assert_eq!(&entry[name], value, "{name}");
    }
    let headers = entry["query_headers"].as_str().unwrap();
    assert!(headers.contains("user-agent: an \"agent\"\n") && headers.contains(": TESTAPP\n"), "{headers}");
    assert!(headers.contains(&format!("x-algolia-api-key: {}***\n", &node.search_key[..3])), "{headers}");
    let at = entry["timestamp"].as_str().unwrap();
    assert!(at.len() == 24 && at.ends_with('Z'), "{at}");
    assert!(entry["processing_time_ms"].as_str().unwrap().parse::<u64>().unwrap() < 60_000);
    let sha1 = entry["sha1"].as_str().unwrap();
    assert!(sha1.len() == 40 && sha1.bytes().all(|digit| digit.is_ascii_hexdigit()), "{sha1}");
    assert_eq!(entry.as_object().unwrap().len(), fixed.as_object().unwrap().len() + 4, "{entry}");
}

#[actix_web::test]
async fn entries_are_chosen_by_kind_index_and_place() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"name": "anna"})).await;
    let queries = json!({"requests": [{"indexName": "i"}, {"indexName": "j/k", "userToken": "u"}]});
    node.write(Method::PUT, "/1/indexes/j%2Fk/o", json!({"name": "anna"})).await;
    node.post("/1/indexes/*/queries", queries).await;
    node.call(Method::POST, "/1/indexes/none/query", "{}").await.refused(404, "Index none");
    let batch =
        json!({"requests": [{"action": "clear", "indexName": "i"}, {"action": "clear", "indexName": "i"}]});
    node.write(Method::POST, "/1/indexes/*/batch", batch).await;
    node.post("/1/indexes/*/objects", json!({"requests": [{"indexName": "i", "objectID": "o"}]})).await;
    // what waits for tasks is no part of it
    let of = async |query: &str| {
        let urls = node.logged_urls(&format!("?length=1000&{query}")).await;
        urls.into_iter().filter(|url| !url.contains("/task/")).collect::<Vec<_>>()
    };
    assert_eq!(
        of("").await,
        [
            "/1/indexes/*/objects",
            "/1/indexes/*/batch",
            "/1/indexes/none/query",
            "/1/indexes/*/queries",
            "/1/indexes/j%2Fk/o",
            "/1/indexes/i/o"
        ]
    );
    assert_eq!(of("type=query").await, ["/1/indexes/none/query", "/1/indexes/*/queries"]);
    assert_eq!(of("type=build").await, ["/1/indexes/*/batch", "/1/indexes/j%2Fk/o", "/1/indexes/i/o"]);
    assert_eq!(of("type=error").await, ["/1/indexes/none/query"]);
    assert_eq!(of("indexName=j%2Fk").await, ["/1/indexes/*/queries", "/1/indexes/j%2Fk/o"]);
    assert_eq!(of("indexName=j%2Fk&type=build").await, ["/1/indexes/j%2Fk/o"]);
    assert_eq!(
        of("indexName=i").await,
        ["/1/indexes/*/objects", "/1/indexes/*/batch", "/1/indexes/*/queries", "/1/indexes/i/o"]
    );
    let several = &node.logs("?type=query&length=1&offset=1").await[0];
    assert_eq!(
        several["inner_queries"],
        json!([{"index_name": "i"}, {"index_name": "j/k", "user_token": "u"}])
    );
    assert_eq!(several["nb_api_calls"], "2");
    let all = node.logged_urls("?length=1000").await;
    assert_eq!(node.logged_urls("?offset=1&length=2").await, all[1..3]);
    assert_eq!(node.logged_urls("?length=0").await, Vec::<String>::new());
    assert_eq!(node.logged_urls("?offset=18446744073709551615").await, Vec::<String>::new());
    assert_eq!(node.logged_urls("").await.len(), all.len().min(10));
    for (query, name) in [
        ("length=1001", "length"),
        ("length=-1", "length"),
        ("length=x", "length"),
        ("offset=-1", "offset"),
        ("offset=1.5", "offset"),
        ("offset=18446744073709551616", "offset"),
        ("type=queries", "type"),
        ("type=Query", "type"),
    ] {
        let answer = node.call(Method::GET, &format!("/1/logs?{query}"), "").await;
        answer.refused(400, &format!("Invalid value for \"{name}\" parameter, expected"));
    }
}

#[actix_web::test]
async fn what_does_not_belong_there_is_not_logged() {
    let node = Node::start().await;
    for path in ["/livez", "/metrics", "/1/isalive", "/admin/cluster", "/1/logs", "/1/nothing"] {
        node.call(Method::GET, path, "").await;
    }
    node.call_with("wrong", Method::GET, "/1/indexes", "").await.refused(403, "Invalid Application-ID");
    node.call(Method::OPTIONS, "/1/indexes", "").await;
    assert_eq!(node.logs("").await, Vec::<Value>::new());
    // a right that is lacking is worth an entry
    let search_key = node.search_key.clone();
    node.call_with(&search_key, Method::GET, "/1/indexes", "").await.refused(403, "Method not allowed");
    assert_eq!(node.logs("").await[0]["answer_code"], "403");
    node.call_with(&search_key, Method::GET, "/1/logs", "").await.refused(403, "Method not allowed");
}

#[actix_web::test]
async fn no_key_is_shown_and_texts_stay_texts() {
    let node = Node::start().await;
    let key = node.search_key.clone();
    // also where a key means nothing
    let params = json!({"params": format!("query=x&x-algolia-api-key={key}&userToken={key}")}).to_string();
    node.call_with(&key, Method::POST, &format!("/1/indexes/i/query?apiKey={key}"), &params).await;
    let from = format!("/1/indexes/i/query?x-algolia-application-id={APP}&x-algolia-api-key={key}");
    node.send(test::TestRequest::post().uri(&from).insert_header(("Referer", from.as_str()))).await;
    let in_url = format!("/1/indexes/i/query?X-Algolia-Application-Id={APP}&x-algolia-API-key={key}");
    node.send(test::TestRequest::post().uri(&in_url)).await;
    let in_body = format!(r#"{{"query":"x","\u0061piKey":"{key}"}}"#);
    let uri = format!("/1/indexes/i/query?x-algolia-application-id={APP}");
    node.send(test::TestRequest::post().uri(&uri).set_payload(in_body)).await;
    node.call(Method::GET, &format!("/1/keys/{key}"), "").await;
    node.call(Method::POST, "/1/keys", &format!(r#"{{"acl":["search"],"value":"{key}"}}"#)).await;
    node.call(Method::GET, "/1/keys", "").await;
    let wild = "\"}],\"logs\":[{\"url\":\"\n\r\u{0}\u{2028}<script>";
    node.call(Method::POST, "/1/indexes/i/query", &json!({"query": wild}).to_string()).await;
    node.call(Method::POST, "/1/indexes/i/query", "\n{\"a\":\u{1}").await;
    let answer = node.call(Method::GET, "/1/logs", "").await;
    let text = String::from_utf8(answer.bytes.clone()).unwrap();
    assert!(!text.contains(&key) && !text.contains(ADMIN), "{text}");
    assert!(!text.contains(['\n', '\r', '\u{0}', '\u{1}']), "one line: {text}");
    let logs = answer.success()["logs"].clone();
    assert_eq!(logs.as_array().unwrap().len(), 9);
    let body: Value = serde_json::from_str(logs[1]["query_body"].as_str().unwrap()).unwrap();
    assert_eq!(body["query"], wild);
    assert!(logs[5]["query_body"].as_str().unwrap().contains(&format!("\"apiKey\":\"{}***\"", &key[..3])));
    assert!(logs[6]["url"].as_str().unwrap().ends_with(&format!("x-algolia-API-key={}***", &key[..3])));
}

#[actix_web::test]
async fn the_last_1_000_are_kept_and_bodies_cut() {
    let node = Node::start().await;
    for number in 0..1_005 {
        node.call(Method::GET, &format!("/1/indexes?page={number}"), "").await.success();
    }
    let long = json!({"query": "é".repeat(200), "x": "y".repeat(5_000)}).to_string();
    node.call(Method::POST, "/1/indexes/i/query", &long).await;
    let logs = node.logs("?length=1000").await;
    assert_eq!(logs.len(), 1_000);
    assert_eq!(logs[0]["query_body"], long.chars().take(1_000).collect::<String>());
    assert_eq!(
        (&logs[1]["url"], &logs[999]["url"]),
        (&json!("/1/indexes?page=1004"), &json!("/1/indexes?page=6"))
    );
    assert!(node.logs("?length=10&offset=1000").await.is_empty());
}

#[actix_web::test]
async fn a_node_that_keeps_no_log_has_none() {
    let node = Node::start_with(|options| options.request_log = false).await;
    node.call(Method::GET, "/1/indexes", "").await.success();
    assert!(node.logs("").await.is_empty());
}

#[actix_web::test]
async fn what_is_refused_is_logged() {
    let node = Node::start().await;
    let expired = derive(&node.search_key, "validUntil=1");
    let before = node.logs("?length=1000").await.len();
    for (key, method, path, body, status) in [
        (ADMIN, Method::POST, "/1/indexes/i/query", "{not json", 400),
        (ADMIN, Method::POST, "/1/indexes/i/query", r#"{"hitsPerPage":"many"}"#, 400),
        (ADMIN, Method::PUT, "/1/indexes/i/settings", r#"{"ranking":7}"#, 400),
        (&node.search_key, Method::PUT, "/1/indexes/i/settings", "{}", 403),
        (ADMIN, Method::POST, "/1/indexes/none/query", "{}", 404),
        (ADMIN, Method::GET, "/1/indexes/%2e%2e%2f/settings", "", 404),
        (ADMIN, Method::PUT, "/1/indexes/i/large", &"x".repeat(BODY_BYTES_MAX + 1), 413),
    ] {
        assert_eq!(node.call_with(key, method.clone(), path, body).await.status, status, "{path}");
        let entry = node.logs("?length=1&type=error").await.remove(0);
        let fields = ["answer_code", "method", "url"].map(|name| entry[name].as_str().unwrap().to_owned());
        assert_eq!(fields, [status.to_string(), method.to_string(), path.to_owned()]);
        assert!(entry["answer"].as_str().unwrap().contains(&format!("\"status\":{status}")), "{entry}");
    }
    // credentials that do not hold any more are none
    node.call_with(&expired, Method::POST, "/1/indexes/none/query", "{}").await.refused(400, "validUntil");
    assert_eq!(node.logs("?length=1000&onlyErrors=true").await.len(), 7);
    assert_eq!(node.logs("?length=1000").await.len(), before + 7);
}

#[actix_web::test]
async fn reading_the_log_counts_as_a_call_and_what_is_too_many_is_logged() {
    let node = Node::start().await;
    let key = node.key(json!({"acl": ["logs", "search"], "maxQueriesPerIPPerHour": 2})).await;
    let state = node.options().state();
    let app = test::init_service(App::new().configure(|config| routes(config, state))).await;
    let send = async |uri: &str| {
        let request = test::TestRequest::get().uri(uri).insert_header(("X-Algolia-Application-Id", APP));
        let request = request.insert_header(("X-Algolia-API-Key", key.as_str()));
        let response: ServiceResponse<BoxBody> = app.call(request.to_request()).await.unwrap();
        response.status().as_u16()
    };
    let calls = ["/1/logs", "/1/indexes/none", "/1/logs", "/1/indexes/none"];
    let mut statuses = vec![];
    for uri in calls {
        statuses.push(send(uri).await);
    }
    assert_eq!(statuses, [200, 404, 429, 429]);
    let logs = node.logs("?type=error").await;
    let codes: Vec<&Value> = logs.iter().map(|entry| &entry["answer_code"]).collect();
    assert_eq!(codes, ["429", "404"]);
    assert!(node.logged_urls("?length=1000").await.iter().all(|url| !url.contains("/1/logs")));
}

#[actix_web::test]
async fn a_key_for_some_indices_sees_their_entries() {
    let node = Node::start().await;
    for index in ["i", "j", "dev_1"] {
        node.write(Method::PUT, &format!("/1/indexes/{index}/o"), json!({"name": "anna"})).await;
    }
    let both = |indices: [&str; 2]| json!({"requests": indices.map(|index| json!({"indexName": index}))});
    node.post("/1/indexes/*/queries", both(["i", "j"])).await;
    node.post("/1/indexes/*/queries", both(["i", "i"])).await;
    let copy = json!({"operation": "copy", "destination": "j"});
    node.write(Method::POST, "/1/indexes/i/operation", copy).await;
    let many: Vec<Value> = std::iter::repeat_n(json!({"indexName": "i", "objectID": "o"}), 3)
        .chain((0..200).map(|number| json!({"indexName": "i", "objectID": number.to_string()})))
        .collect();
    node.post("/1/indexes/*/objects", json!({"requests": many})).await;
    node.post("/1/indexes/*/queries", json!({"requests": vec![json!({"indexName": "i"}); 50]})).await;
    node.get("/1/indexes").await;
    let seen = async |key: &str, query: &str| -> Vec<Value> {
        let logs =
            node.call_with(key, Method::GET, &format!("/1/logs?length=1000{query}"), "").await.success();
        let logs = logs["logs"].as_array().unwrap().iter().map(|entry| entry["url"].clone());
        logs.filter(|url| !url.as_str().unwrap().contains("/task/")).collect()
    };
    let key = async |indexes: Value| node.key(json!({"acl": ["logs", "search"], "indexes": indexes})).await;
    let of_i = ["/1/indexes/*/queries", "/1/indexes/*/objects", "/1/indexes/*/queries", "/1/indexes/i/o"];
    assert_eq!(seen(&key(json!(["i"])).await, "").await, of_i);
    assert_eq!(seen(&key(json!(["i"])).await, "&indexName=j").await, Vec::<Value>::new());
    assert_eq!(seen(&key(json!(["dev_*"])).await, "").await, ["/1/indexes/dev_1/o"]);
    let all = seen(ADMIN, "").await;
    assert!(all.len() > 10 && all.contains(&json!("/1/indexes")), "{all:?}");
    for every in [json!([]), json!(["*"])] {
        let key = key(every).await;
        assert_eq!(seen(&key, "").await.len(), seen(ADMIN, "").await.len());
        let derived = derive(&key, "restrictIndices=i");
        assert_eq!(seen(&derived, "").await, of_i);
    }
    // pages count what is seen
    let i = key(json!(["i"])).await;
    assert_eq!(seen(&i, "&offset=3").await, of_i[3..]);
    let own = node.index_key("i", json!({"acl": ["logs"]})).await;
    node.call_with(&own, Method::GET, "/1/logs", "").await.refused(403, "Index not allowed");
}

#[actix_web::test]
async fn entries_show_no_record_that_their_reader_may_not_see() {
    let node = Node::start().await;
    let settings = json!({"unretrievableAttributes": ["secret"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"name": "anna", "secret": "hidden"})).await;
    node.post("/1/indexes/i/query", json!({"query": "anna"})).await;
    node.get("/1/indexes/i/o").await;
    let acl = |more: &str| json!({"acl": ["logs", "search", more]});
    let plain = node.key(acl("browse")).await;
    let privileged = node.key(acl("seeUnretrievableAttributes")).await;
    let forced = derive(&privileged, "filters=name%3Abert");
    node.call_with(&plain, Method::POST, "/1/indexes/i/query", r#"{"query":"anna"}"#).await.success();
    let shown = async |key: &str| -> [bool; 5] {
        let logs = node.call_with(key, Method::GET, "/1/logs?indexName=i&length=1000", "").await.success();
        let logs: Vec<&Value> = logs["logs"].as_array().unwrap().iter().collect();
        let of = |at: usize, name: &str| logs[at][name].as_str().unwrap().contains("anna");
        let last = logs.len() - 1;
        let written =
            logs.iter().position(|entry| entry["method"] == "PUT" && entry["url"] == "/1/indexes/i/o");
        let text = serde_json::to_string(&logs).unwrap();
        assert!(
            logs[last]["query_body"].as_str().unwrap().contains("unretrievableAttributes") || key == forced
        );
        [
            of(0, "answer"),
            of(0, "query_body"),
            of(1, "answer"),
            of(written.unwrap(), "query_body"),
            text.contains("hidden"),
        ]
    };
    assert_eq!(shown(ADMIN).await, [true; 5]);
    assert_eq!(shown(&privileged).await, [true; 5]);
    assert_eq!(shown(&plain).await, [true, true, false, false, false]);
    assert_eq!(shown(&forced).await, [false, true, false, false, false]);
}

#[actix_web::test]
async fn entries_say_what_events_name_queries_by() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"name": "anna"})).await;
    let one = node.post("/1/indexes/i/query", json!({"clickAnalytics": true, "userToken": "v"})).await;
    let several = json!({"requests": [
        {"indexName": "i"}, {"indexName": "i", "clickAnalytics": true, "userToken": "w".repeat(500)},
    ]});
    let several = node.post("/1/indexes/*/queries", several).await;
    let logs = node.logs("?type=query").await;
    let token = "w".repeat(129);
    assert_eq!(
        logs[0]["inner_queries"],
        json!([{"index_name": "i"}, {"index_name": "i", "user_token": token, "query_id": several["results"][1]["queryID"]}])
    );
    assert_eq!(
        logs[1]["inner_queries"],
        json!([{"index_name": "i", "user_token": "v", "query_id": one["queryID"]}])
    );
    assert!(one["queryID"].is_string() && several["results"][1]["queryID"].is_string());
}

#[actix_web::test]
async fn no_caller_forges_an_entry_or_a_member_of_one() {
    let node = Node::start().await;
    let paths = [
        "/1/indexes/a%0A%7B%22x%22%3A1%7D/settings?a=%0d%0aSet-Cookie:%20x",
        "/1/indexes/%1b%5b2J%00/settings",
        "/1/indexes/%e2%80%ae%e2%80%a8/settings?%22,%22answer%22:%22",
    ];
    for path in paths {
        assert!(node.call(Method::GET, path, "").await.status.is_client_error());
    }
    let mut request =
        test::TestRequest::get().uri("/1/indexes").insert_header(("X-Algolia-Application-Id", APP));
    for (name, value) in [
        ("X-Algolia-API-Key", ADMIN.as_bytes()),
        ("X-Algolia-Agent", &b"a\tb\", \"answer_code\": \"200"[..]),
        ("User-Agent", &b"\x9b2J\xff\xc3\xa9"[..]),
        ("X-Forwarded-For", &b"1.2.3.4\", \"ip\": \"6"[..]),
    ] {
        request = request.append_header((name, HeaderValue::from_bytes(value).unwrap()));
    }
    node.send(request).await.success();
    let answer = node.call(Method::GET, "/1/logs", "").await;
    let text = String::from_utf8(answer.bytes.clone()).unwrap();
    assert!(!text.contains(|char: char| char.is_control()), "{text:?}");
    let logs = answer.success()["logs"].as_array().unwrap().clone();
    assert_eq!(logs.len(), 1 + paths.len());
    for (entry, path) in logs[1..].iter().zip(paths.iter().rev()) {
        assert_eq!(entry["url"], *path, "as it came");
    }
    assert_eq!([&logs[2]["index"], &logs[3]["index"]], ["\u{1b}[2J\0", "a\n{\"x\":1}"]);
    assert_eq!((&logs[0]["answer_code"], &logs[0]["ip"]), (&json!("200"), &json!("")));
    let headers = logs[0]["query_headers"].as_str().unwrap();
    assert!(headers.contains("x-algolia-agent: a\tb\", \"answer_code\": \"200\n"), "{headers:?}");
    assert!(headers.contains("user-agent: \u{fffd}2J\u{fffd}é\n"), "{headers:?}");
    // no header can hold the end of a line
    assert!(HeaderValue::from_bytes(b"a\nb").is_err() && HeaderValue::from_bytes(b"a\x1bb").is_err());
}

#[actix_web::test]
async fn an_entry_is_cut_at_whole_characters_and_bounded() {
    let node = Node::start().await;
    for letter in ["a", "é", "日", "😀"] {
        let body = format!("{{\"query\":\"{}", letter.repeat(3_000));
        node.call(Method::POST, &format!("/1/indexes/i/query?x={}", "y".repeat(10_000)), &body)
            .await
            .refused(400, "");
        let entry = node.logs("?length=1").await.remove(0);
        assert_eq!(entry["query_body"], body.chars().take(1_000).collect::<String>());
        let url = entry["url"].as_str().unwrap();
        assert!(url.len() <= 4 << 10 && url.starts_with("/1/indexes/i/query?x=yyy"));
        assert!(entry["answer"].as_str().unwrap().chars().count() <= 1_000);
    }
    let names = (0..200).map(|number| json!({"indexName": format!("{number:0>200}"), "objectID": "o"}));
    let requests = json!({"requests": names.collect::<Vec<_>>()});
    node.call(Method::POST, "/1/indexes/*/objects", &requests.to_string()).await;
    let first = format!("{:0>200}", 0);
    assert_eq!(node.logs(&format!("?indexName={first}")).await.len(), 1);
    assert!(node.logs(&format!("?indexName={:0>200}", 199)).await.is_empty(), "4 KiB of names are kept");
}
