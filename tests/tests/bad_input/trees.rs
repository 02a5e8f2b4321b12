//! Does a search whose parameters may be any JSON take more of a node than a call may? And is what it may have echoed as ever?

use super::greedy::{ONE_CALL, taken};
use super::*;
use quorate_tests::client::Family;
use serde_json::Value;

/// The parameters that may be any JSON.
const FREE: [&str; 4] = ["extensions", "reRankingApplyFilter", "renderingContent", "semanticSearch"];
/// Bytes that those of one search may have together.
const FREE_BYTES_MAX: usize = 32 << 10;

/// JSON of so many bytes, minified, that takes a hundred times as much as a tree.
fn tree(bytes: usize) -> Value {
    let (objects, rest) = ((bytes - 16) / 7, (bytes - 16) % 7);
    let tree = json!({"x": vec![json!({"": 0}); objects], "": "y".repeat(rest + 3)});
    assert_eq!(tree.to_string().len(), bytes);
    tree
}

/// Sends a call and looks at what the process takes for it.
fn bounded(server: &Server, path: &str, body: &Value) -> quorate_tests::client::Answer {
    let (client, mut answer) = (server.client(), None);
    let taken = taken(server, || answer = Some(client.post(path, body).unwrap()));
    let body = body.to_string();
    assert!(taken <= ONE_CALL, "{} MB for {path}: {:.100} of {} bytes", taken >> 20, body, body.len());
    answer.unwrap()
}

#[test]
fn free_values_are_bounded_before_they_are_copied() {
    let (_dir, server) = start();
    let large = tree(450_000);
    let expected =
        format!("expected at most {FREE_BYTES_MAX} bytes, minified, of {} together", FREE.join(", "));
    for name in FREE {
        let mut explained = json!({"explain": ["*"], "params": "query=emma"});
        explained[name] = large.clone();
        let of_several = json!({"indexName": "books", "explain": "*", name: large});
        let recommended = json!({"indexName": "books", "model": "trending-items", "threshold": 0, "queryParameters": {name: large}});
        let two = json!({"indexName": "books", name: tree(225_000)});
        for (path, body) in [
            ("/1/indexes/books/query", json!({ name: large })),
            ("/1/indexes/books/query", explained),
            ("/1/indexes/books/query", json!({ name: large.to_string() })),
            ("/1/indexes/books/query", json!({"params": format!("explain=*&{name}={large}")})),
            ("/1/indexes/books/browse", json!({ name: large })),
            ("/1/indexes/books/facets/genre/query", json!({ name: large })),
            ("/1/indexes/*/queries", json!({"requests": [of_several]})),
            ("/1/indexes/*/queries", json!({"requests": [two, two]})),
            ("/1/indexes/*/recommendations", json!({"requests": [recommended]})),
        ] {
            let answer = bounded(&server, path, &body);
            let is_named = answer.message() == format!("Invalid value for \"{name}\" parameter, {expected}");
            assert!(answer.status == 400 && is_named, "{path} {name}: {:.500}", answer.body.to_string());
        }
    }
    check_alive(&server.client());
}

/// What is refused because of something else is copied as little.
#[test]
fn a_tree_that_no_parameter_has_is_refused_before_it_is_copied() {
    let (_dir, server) = start();
    let large = tree(450_000);
    for (path, body, message) in [
        ("/1/indexes/books/query", json!({"params": "", "explain": "*", "x": large}), "Unknown parameter: x"),
        (
            "/1/indexes/books/query",
            json!({"params": "", "explain": "*", "page": large}),
            "Invalid value for \"page\"",
        ),
        (
            "/1/indexes/books/deleteByQuery",
            json!({"params": "", "facets": large}),
            "Invalid parameter for deleteBy: facets",
        ),
    ] {
        let answer = bounded(&server, path, &body);
        assert!(
            answer.status == 400 && answer.message().starts_with(message),
            "{path}: {:.500}",
            answer.body.to_string()
        );
    }
    check_alive(&server.client());
}

/// As large as they may be: each is there once for the search and once to be explained, and one call has a bound.
#[test]
fn what_they_may_have_is_charged_in_every_copy() {
    let (_dir, server) = start();
    let full = |name: &str| json!({"indexName": "books", "query": "emma", "explain": ["*"], name: tree(FREE_BYTES_MAX)});
    let several = |name: &str, count: usize| json!({"requests": vec![full(name); count]});
    for name in FREE {
        let few = bounded(&server, "/1/indexes/*/queries", &several(name, 4));
        assert_eq!(few.status, 200, "{name}: {}", few.message());
        let many = bounded(&server, "/1/indexes/*/queries", &several(name, 13));
        assert!(
            many.status == 200 || many.message().starts_with("The body asks for too much at once"),
            "{name}: {} {}",
            many.status,
            many.message()
        );
    }
    // a key that puts some in the place of the caller's, in each of many searches
    let client = server.client();
    let forced = format!("renderingContent={}", tree(3 << 10));
    let key = client.post("/1/keys", &json!({"acl": ["search"], "queryParameters": forced})).unwrap();
    let key = key.success().unwrap().body["key"].as_str().unwrap().to_owned();
    let restricted = Client::new(server.address(), Family::Algolia, APP_ID, &key);
    let searches = json!({"requests": vec![json!({"indexName": "books"}); 1_000]});
    let mut answer = None;
    let taken = taken(&server, || answer = Some(restricted.post("/1/indexes/*/queries", &searches).unwrap()));
    assert!(taken <= ONE_CALL, "{} MB for searches with a key", taken >> 20);
    let answer = answer.unwrap();
    assert!(
        answer.message().starts_with("The body asks for too much at once"),
        "{:.500}",
        answer.body.to_string()
    );
    check_alive(&client);
}

#[test]
fn what_is_just_within_the_bound_is_echoed_and_explained() {
    let (_dir, server) = start();
    let client = server.client();
    let full = tree(FREE_BYTES_MAX);
    for name in FREE {
        let body = json!({"query": "emma", name: full, "explain": ["params"]});
        let answer = client.post("/1/indexes/books/query", &body).unwrap().success().unwrap().body;
        let expected = if name == "renderingContent" { full.clone() } else { json!({}) };
        assert_eq!(answer["renderingContent"], expected, "{name}");
        let echo = answer["params"].as_str().unwrap();
        assert!(
            echo.contains(&format!("{name}=%7B%22%22%3A%22y")) && echo.contains("query=emma"),
            "{echo:.200}"
        );
        assert_eq!(echo.matches("%7B%22%22%3A0%7D").count(), full["x"].as_array().unwrap().len());
        let explained = &answer["explain"]["params"];
        assert_eq!((&explained["client"], &explained["final"]), (&body, &body), "{name}");
        let says = answer["message"].as_str().unwrap_or_default();
        let is_told = says.starts_with(&format!("{name} has no effect"));
        assert_eq!(is_told, ["reRankingApplyFilter", "semanticSearch"].contains(&name), "{name}: {says}");
    }
}
