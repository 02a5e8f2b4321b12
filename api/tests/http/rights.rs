//! Does every endpoint ask for the right that its test file names, and for no other (C§13.1)?

use super::*;
use quorate_api::routes::Verb;
use quorate_api::table::ROUTES;
use quorate_model::Acl;
use serde_json::json;
use std::collections::BTreeMap;

const METHOD: &str = "Method not allowed with this API key";

/// What the files of these tests say of each endpoint that they try, at their beginning: what C§3 asks for. It is a right, `admin`,
/// `any` key, `none`, or `each` for what asks by operation.
fn needs() -> BTreeMap<(String, String), String> {
    let mut needs = BTreeMap::new();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|it| it != "rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for line in text.lines().filter_map(|line| line.strip_prefix("//! - `")) {
            let (endpoint, need) = line.split_once("`: ").expect("an endpoint and what it asks for");
            let (method, path) = endpoint.split_once(' ').expect("a method and a path");
            let before = needs.insert((method.to_owned(), path.to_owned()), need.to_owned());
            assert_eq!(before, None, "{endpoint} stands in two files");
        }
    }
    needs
}

/// Actions of a batch with what they need and how they are refused.
const ACTIONS: [(&str, &str, &str); 7] = [
    ("addObject", "addObject", "update"),
    ("updateObject", "addObject", "update"),
    ("partialUpdateObject", "addObject", "update"),
    ("partialUpdateObjectNoCreate", "addObject", "update"),
    ("deleteObject", "deleteObject", "delete"),
    ("delete", "deleteIndex", "delete"),
    ("clear", "deleteIndex", "delete"),
];

/// A path with names that are not there, so that nothing is changed by who may.
fn uri(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "{indexName}" => "nowhere",
        "{key}" => "unknown",
        "{taskID}" => "1",
        "{group}" => "4095",
        part if part.starts_with('{') => "nobody",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

/// A key of the node for each set of rights, with its rights; `None` is the admin key.
async fn keys(node: &Node) -> Vec<(String, Option<Vec<Acl>>)> {
    let mut sets: Vec<Vec<Acl>> = Acl::ALL.iter().map(|right| vec![*right]).collect();
    sets.extend([vec![], Acl::ALL.to_vec()]);
    let mut keys = vec![(ADMIN.to_owned(), None)];
    for rights in sets {
        let made = node.post("/1/keys", json!({"acl": rights})).await;
        keys.push((made["key"].as_str().unwrap().to_owned(), Some(rights)));
    }
    keys
}

#[actix_web::test]
async fn every_endpoint_asks_for_its_right_and_no_other() {
    let needs = needs();
    for route in ROUTES {
        let (verb, path) = (route.verb.as_str(), route.path);
        let need = needs.get(&(verb.to_owned(), path.to_owned()));
        assert!(
            need.is_some(),
            "the file that tries {verb} {path} begins with ``//! - `{verb} {path}`: RIGHT``"
        );
    }
    assert_eq!(needs.len(), ROUTES.len(), "every endpoint that a file names is a row of the table");
    let node = Node::start().await;
    let keys = keys(&node).await;
    let state = node.options().state();
    let app = test::init_service(App::new().configure(|config| routes(config, state))).await;
    let mut wrong = vec![];
    for route in ROUTES {
        let need = needs[&(route.verb.as_str().to_owned(), route.path.to_owned())].as_str();
        for (key, rights) in &keys {
            let is_admin = rights.is_none();
            let has = |name: &str| rights.as_ref().is_none_or(|all| all.iter().any(|it| it.name() == name));
            let is_allowed = match need {
                "none" => true,
                "admin" => is_admin,
                // of these the handler says more
                "any" => is_admin,
                "each" => ["addObject", "deleteObject", "deleteIndex"].iter().any(|right| has(right)),
                right => has(right),
            };
            let body = if need == "each" { r#"{"requests":[]}"# } else { "{}" };
            let request = test::TestRequest::default()
                .method(Method::from_bytes(route.verb.as_str().as_bytes()).unwrap())
                .uri(&uri(route.path))
                .insert_header(("X-Algolia-Application-Id", APP))
                .insert_header(("X-Algolia-API-Key", key.as_str()));
            let request = if route.verb == Verb::Get { request } else { request.set_payload(body) };
            let response: ServiceResponse<BoxBody> = app.call(request.to_request()).await.unwrap();
            let status = response.status();
            let bytes = to_bytes(response.into_body()).await.unwrap();
            let says = if route.says_unauthorized() { 401 } else { 403 };
            let text = match route.is_of_suggestions() {
                true => format!("The provided API key is missing the \\\"{need}\\\" ACL."),
                false => METHOD.to_owned(),
            };
            let is_refused = status == says && String::from_utf8_lossy(&bytes).contains(&text);
            if is_refused == is_allowed || status.is_server_error() {
                let text = String::from_utf8_lossy(&bytes);
                wrong.push(format!("{:?} {} with {rights:?}: {status} {text:.100}", route.verb, route.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[actix_web::test]
async fn a_batch_is_checked_action_by_action() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"a": 1})).await;
    for (key, rights) in keys(&node).await {
        for (action, right, what) in ACTIONS {
            let is_allowed = rights.as_ref().is_none_or(|all| all.iter().any(|it| it.name() == right));
            let one = json!({"action": action, "body": {"objectID": "o"}});
            let named = json!({"action": action, "indexName": "i", "body": {"objectID": "o"}});
            for (uri, requests) in [("/1/indexes/i/batch", vec![one]), ("/1/indexes/*/batch", vec![named])] {
                let answer = node
                    .call_with(&key, Method::POST, uri, &json!({ "requests": requests }).to_string())
                    .await;
                if is_allowed {
                    answer.success();
                } else {
                    answer
                        .refused(400, &format!("Not enough rights to {what} an object near line:1 column:"));
                }
            }
        }
    }
}

#[actix_web::test]
async fn a_batch_with_one_action_too_many_does_nothing() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"a": 1})).await;
    let key = node.post("/1/keys", json!({"acl": ["addObject"]})).await["key"].as_str().unwrap().to_owned();
    let requests = json!([
        {"action": "addObject", "indexName": "i", "body": {"objectID": "new"}},
        {"action": "deleteObject", "indexName": "i", "body": {"objectID": "o"}},
    ]);
    for uri in ["/1/indexes/i/batch", "/1/indexes/*/batch"] {
        let answer =
            node.call_with(&key, Method::POST, uri, &json!({ "requests": requests }).to_string()).await;
        answer.refused(400, "Not enough rights to delete an object");
    }
    node.call(Method::GET, "/1/indexes/i/new", "").await.refused(404, "ObjectID does not exist");
    node.get("/1/indexes/i/o").await;
}

#[actix_web::test]
async fn indices_that_a_call_names_are_checked_wherever_they_stand() {
    let node = Node::start().await;
    for index in ["own", "other", "own_twin"] {
        node.write(Method::PUT, &format!("/1/indexes/{index}/o"), json!({"a": 1})).await;
    }
    node.write(Method::PUT, "/1/indexes/own/settings", json!({"replicas": ["own_twin", "foreign"]})).await;
    let all: Vec<&str> = Acl::ALL.iter().map(|right| right.name()).collect();
    let made = node.post("/1/keys", json!({"acl": all, "indexes": ["own*"]})).await;
    let key = made["key"].as_str().unwrap();
    let index_key =
        node.post("/1/indexes/own/keys", json!({"acl": ["addObject", "editSettings", "search"]})).await;
    let index_key = index_key["key"].as_str().unwrap();
    let call = async |key: &str, method: Method, uri: &str, body: Value| {
        node.call_with(key, method, uri, &body.to_string()).await
    };
    let denied = "Index not allowed with this API key";
    for (method, uri, body) in [
        (Method::POST, "/1/indexes/other/query", json!({})),
        (Method::POST, "/1/indexes/%6Fther/query", json!({})),
        (Method::POST, "/1/indexes/own/operation", json!({"operation": "copy", "destination": "other"})),
        (Method::POST, "/1/indexes/own/operation", json!({"operation": "move", "destination": "other"})),
        (Method::POST, "/1/indexes/other/operation", json!({"operation": "copy", "destination": "own_copy"})),
        (Method::POST, "/1/indexes/other/operation", json!({"operation": "move", "destination": "own_copy"})),
        (Method::PUT, "/1/indexes/own/settings", json!({"replicas": ["own_twin", "foreign", "other"]})),
        (
            Method::PUT,
            "/1/indexes/own/settings",
            json!({"replicas": ["own_twin", "foreign", "virtual(other)"]}),
        ),
        (Method::PUT, "/1/indexes/own/settings", json!({"replicas": ["own_twin"]})),
        (Method::PUT, "/1/indexes/own/settings", json!({"replicas": null})),
        (Method::PUT, "/1/indexes/own/settings", json!({"slaves": ["other"]})),
        (
            Method::POST,
            "/1/indexes/*/queries",
            json!({"requests": [{"indexName": "own"}, {"indexName": "other"}]}),
        ),
        (
            Method::POST,
            "/1/indexes/*/objects",
            json!({"requests": [{"indexName": "other", "objectID": "o"}]}),
        ),
        (
            Method::POST,
            "/1/indexes/*/batch",
            json!({"requests": [
                {"action": "addObject", "indexName": "own", "body": {}},
                {"action": "addObject", "indexName": "other", "body": {}},
            ]}),
        ),
    ] {
        for key in [key, index_key] {
            call(key, method.clone(), uri, body.clone()).await.refused(403, denied);
        }
    }
    let settings = node.get("/1/indexes/own/settings").await;
    assert_eq!(settings["replicas"], json!(["own_twin", "foreign"]));
    // what does not change is no matter of the key
    let same = json!({"replicas": ["own_twin", "foreign"], "hitsPerPage": 7});
    call(key, Method::PUT, "/1/indexes/own/settings", same).await.success();
    let more = json!({"replicas": ["own_twin", "foreign", "virtual(own_v)"]});
    call(index_key, Method::PUT, "/1/indexes/own/settings", more.clone()).await.refused(403, denied);
    call(key, Method::PUT, "/1/indexes/own/settings", more).await.success();
}
