//! Does the document of the interface (`/openapi.json`) say everything that calls and answers have?
//!
//! Every answer of these tests is held against it, and the names in every call that is carried out: a status, a member, a
//! parameter or a route that it lacks fails the test.
//!
//! - `GET /openapi.json`: none

mod shape;

use super::Node;
use actix_web::http::Method;
use actix_web::test::TestRequest;
use quorate_api::openapi::document;
use quorate_api::routes::{Need, Route, Verb};
use quorate_api::table::{ROUTER, ROUTES};
use serde_json::{Value, json};
use shape::{Compared, Shapes};
use std::collections::BTreeSet;
use std::sync::LazyLock;

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::to_value(document()).unwrap());

/// What may stand in the query string of any call (C§1.1), the key also in its body: who calls, with which client, for whom.
const OF_ANY_CALL: [&str; 10] = [
    "apiKey",
    "userToken",
    "x-algolia-usertoken",
    "x-algolia-agent",
    "x-algolia-user-id",
    "x-service-user-id",
    "x-algolia-api-key",
    "x-algolia-application-id",
    "x-service-api-key",
    "x-service-application-id",
];

/// The row that a call means, unless it has none, or none that is built.
fn documented(method: &Method, path: &str) -> Option<(String, &'static Value)> {
    let verb = [Verb::Get, Verb::Post, Verb::Put, Verb::Delete];
    let verb = verb.into_iter().find(|verb| verb.as_str() == method.as_str())?;
    let route = ROUTER.find(Some(verb), path).ok()?.route;
    if route.doc.summary.is_empty() {
        return None;
    }
    let name = format!("{} {}", route.verb.as_str(), route.path);
    let operation = operation(&DOCUMENT, route);
    Some((name.clone(), operation.unwrap_or_else(|| panic!("{name} is not documented"))))
}

fn operation<'d, H>(document: &'d Value, route: &Route<H>) -> Option<&'d Value> {
    document.get("paths")?.get(route.path)?.get(route.verb.as_str().to_ascii_lowercase())
}

fn content(of: &Value) -> Option<&Value> {
    of.get("content")?.get("application/json")?.get("schema")
}

/// Fails when the document does not know the answer to a call.
#[track_caller]
pub fn check_answer(method: &Method, path: &str, status: u16, format: &str, bytes: &[u8]) {
    let Some((name, operation)) = documented(method, path) else { return };
    let answer = &operation["responses"][status.to_string()];
    assert!(!answer.is_null(), "{name}: the status {status} is not documented");
    let Some(schema) = content(answer) else { return };
    if !format.starts_with("application/json") {
        assert!(answer["content"].get(format).is_some(), "{name}: the format {format} is not documented");
        return;
    }
    let body: Value = serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    let shapes = Shapes { document: &DOCUMENT, compared: Compared::Answer };
    if let Err(error) = shapes.check(schema, &body, "answer") {
        panic!("{name}: {error}\n{body:.2000}");
    }
}

/// Fails when the document does not know what a call has that was carried out.
#[track_caller]
pub fn check_call(method: &Method, uri: &str, body: &str) {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let Some((name, operation)) = documented(method, path) else { return };
    let parameters: Vec<&str> = named(operation, "query").collect();
    for (parameter, _) in form_urlencoded::parse(query.as_bytes()) {
        let is_of_any_call = OF_ANY_CALL.iter().any(|one| parameter.eq_ignore_ascii_case(one));
        let is_known = is_of_any_call || parameters.contains(&&*parameter);
        assert!(is_known, "{name}: the parameter {parameter} is not documented");
    }
    let Ok(mut body) = serde_json::from_str::<Value>(body) else { return };
    if let Some(members) = body.as_object_mut() {
        members.retain(|name, _| !OF_ANY_CALL.contains(&name.as_str()));
    }
    let Some(schema) = content(&operation["requestBody"]) else {
        let is_empty = body.is_null() || body == json!({});
        assert!(is_empty, "{name}: a body is not documented: {body:.200}");
        return;
    };
    let shapes = Shapes { document: &DOCUMENT, compared: Compared::Call };
    if let Err(error) = shapes.check(schema, &body, "body") {
        panic!("{name}: {error}\n{body:.2000}");
    }
}

/// The names of parameters at one place.
fn named<'d>(operation: &'d Value, place: &str) -> impl Iterator<Item = &'d str> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.filter(move |one| one["in"] == place).map(|one| one["name"].as_str().unwrap())
}

/// What a document lacks of the rows that are built.
fn lacking<H>(document: &Value, routes: &[Route<H>]) -> Vec<String> {
    let mut lacking = Vec::new();
    let mut ids = BTreeSet::new();
    for route in routes.iter().filter(|route| !route.doc.summary.is_empty()) {
        let name = format!("{} {}", route.verb.as_str(), route.path);
        let Some(operation) = operation(document, route) else {
            lacking.push(name);
            continue;
        };
        if !ids.insert(operation["operationId"].to_string()) {
            lacking.push(format!("an operationId of its own for {name}"));
        }
        let parts = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        lacking.extend(
            parts
                .filter(|part| !named(operation, "path").any(|one| one == *part))
                .map(|part| format!("{part} of {name}")),
        );
    }
    lacking
}

#[actix_web::test]
async fn every_row_is_documented_or_says_that_it_is_not_built() {
    let node = Node::start().await;
    let document = node.send(TestRequest::get().uri("/openapi.json")).await.success();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(lacking(&document, ROUTES), [""; 0]);
    for route in ROUTES.iter().filter(|route| route.doc.summary.is_empty()) {
        let (verb, path) = (route.verb.as_str(), route.path);
        assert_eq!(operation(&document, route), None, "{verb} {path}");
        let path = path.replace(['{', '}'], "");
        let method = Method::from_bytes(verb.as_bytes()).unwrap();
        let refused = node.call(method, &path, "{}").await.refused(404, "");
        let text = refused["message"].as_str().unwrap();
        assert!(text.contains("not available in this version"), "{verb} {path}: {text}");
    }
}

/// The paths of the rows of a table whose last cell says that they are not built, each with a method.
fn said_to_be_missing(contract: &str) -> BTreeSet<String> {
    let rows = contract.lines().filter_map(|line| line.strip_suffix("| not built yet: answers 404 |"));
    let calls = rows.map(|row| row.split('|').nth(1).unwrap_or_default().trim().trim_matches('`'));
    let expand = |calls: &str| -> Vec<String> {
        let (verbs, paths) = calls.split_once(' ').unwrap_or_default();
        let paths = paths.split("`, `");
        paths.flat_map(|path| verbs.split('/').map(move |verb| format!("{verb} {path}"))).collect()
    };
    calls.flat_map(expand).collect()
}

#[test]
fn the_contract_says_what_is_not_built() {
    let table =
        "| `GET/POST /1/a`, `/1/b` | search | not built yet: answers 404 |\n| `GET /1/c` | – | built |";
    let expected = ["GET /1/a", "GET /1/b", "POST /1/a", "POST /1/b"];
    assert!(said_to_be_missing(table).iter().eq(&expected));
    let missing = ROUTES.iter().filter(|route| route.doc.summary.is_empty());
    let missing: BTreeSet<String> =
        missing.map(|route| format!("{} {}", route.verb.as_str(), route.path)).collect();
    let contract = include_str!("../../contract.md");
    assert_eq!(said_to_be_missing(contract), missing, "api/contract.md and the rows of api/src/table.rs");
    let other: Vec<&str> =
        contract.lines().filter(|line| line.to_lowercase().contains("not built yet")).collect();
    assert!(
        other[1..].iter().all(|line| line.ends_with("| not built yet: answers 404 |")),
        "what is not built is said in rows of calls: {other:?}"
    );
}

#[actix_web::test]
async fn every_schema_that_is_named_is_there() {
    fn walk<'d>(value: &'d Value, found: &mut Vec<&'d str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|value| walk(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| walk(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut referred = Vec::new();
    walk(&DOCUMENT, &mut referred);
    assert!(referred.len() > 100, "{}", referred.len());
    for place in referred {
        assert!(DOCUMENT.pointer(&place[1..]).is_some(), "{place}");
    }
}

#[actix_web::test]
async fn a_row_that_the_document_lacks_is_found() {
    let rows = [
        Route::new(Verb::Get, "/1/planted", Need::Admin, ()).says("Does something new"),
        Route::new(Verb::Put, "/1/task/{taskID}", Need::Admin, ()).says("Does something new"),
        Route::new(Verb::Get, "/1/task/{taskID}", Need::Admin, ()).says("Is there"),
    ];
    assert_eq!(lacking(&DOCUMENT, &rows), ["GET /1/planted", "PUT /1/task/{taskID}"]);
}

/// What is not documented of a call and its answer, in the order in which it is planted.
#[actix_web::test]
async fn what_the_document_lacks_is_found() {
    let get = |status, answer: Value| {
        check_answer(&Method::GET, "/1/task/1", status, "application/json", answer.to_string().as_bytes())
    };
    let post = |query: &str, body: Value| {
        check_call(&Method::POST, &format!("/1/indexes/i/query{query}"), &body.to_string())
    };
    let right = json!({"status": "published", "pendingTask": false});
    get(200, right.clone());
    get(404, json!({"message": "m", "status": 404}));
    post("?x-algolia-api-key=k", json!({"query": "q", "hitsPerPage": "7", "apiKey": "k"}));
    type Planted<'a> = (&'a str, Box<dyn Fn() + 'a>);
    let planted: [Planted<'_>; 9] = [
        (
            "body[1].planted is not documented",
            Box::new(|| {
                let sources = r#"[{"source":"::1"},{"source":"::1","planted":1}]"#;
                check_call(&Method::PUT, "/1/security/sources", sources);
            }),
        ),
        ("the status 418 is not documented", Box::new(|| get(418, right.clone()))),
        (
            "answer.more is not documented",
            Box::new(|| get(200, json!({"status": "published", "pendingTask": false, "more": 1}))),
        ),
        ("is not required", Box::new(|| get(200, json!({"status": "published"})))),
        (
            "answer.pendingTask: 1 is not type",
            Box::new(|| get(200, json!({"status": "published", "pendingTask": 1}))),
        ),
        (
            "answer.status: \"done\" is not enum",
            Box::new(|| get(200, json!({"status": "done", "pendingTask": true}))),
        ),
        ("body.planted is not documented", Box::new(|| post("", json!({"planted": 1})))),
        ("the parameter planted is not documented", Box::new(|| post("?planted=1", json!({})))),
        (
            "a body is not documented",
            Box::new(|| check_call(&Method::POST, "/1/indexes/i/clear", "{\"a\":1}")),
        ),
    ];
    for (expected, check) in planted {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).expect_err(expected);
        let text = panic.downcast_ref::<String>().map_or("", String::as_str);
        assert!(text.contains(expected), "{expected}: {text}");
    }
}
