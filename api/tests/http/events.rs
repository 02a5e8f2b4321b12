//! Are events taken, and refused, as C§18 says?
//!
//! - `POST /1/events`: search
//! - `DELETE /1/usertokens/{userToken}`: deleteObject

use super::*;
use quorate_model::limits::EVENTS_BODY_BYTES_MAX;
use serde_json::json;

const EVENTS: &str = "/1/events";

/// A click that is as it has to be.
fn click() -> Value {
    json!({"eventName": "Clicked", "eventType": "click", "index": "products", "userToken": "user-1",
        "objectIDs": ["1", "2"], "positions": [1, 2], "queryID": "0123456789abcdef0123456789abcdef"})
}
/// The same with other members; `null` takes one away.
fn with(changes: Value) -> Value {
    let mut event = click();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(event.as_object_mut().unwrap().remove(name)),
            value => event[name] = value.clone(),
        }
    }
    event
}

impl Node {
    async fn events(&self, events: Value) -> Answer {
        self.call(Method::POST, EVENTS, &json!({"events": events}).to_string()).await
    }
}

#[actix_web::test]
async fn events_of_every_kind_are_taken() {
    let node = Node::start().await;
    let purchase = json!({"eventName": "Bought", "eventType": "conversion", "eventSubtype": "purchase",
        "index": "products", "userToken": "user_1=+/", "authenticatedUserToken": "ann", "objectIDs": ["1"],
        "objectData": [{"price": "9.99", "quantity": 2, "discount": 1, "queryID": "0123456789abcdef0123456789abcdef"}],
        "currency": "eur", "value": 18.98});
    let viewed = json!({"eventName": "Saw", "eventType": "view", "index": "nothing of this name", "userToken": "u",
        "filters": ["brand%3Aacme", "colour:red"]});
    let taken = node.events(json!([click(), purchase, viewed])).await.success();
    assert_eq!(taken, json!({"status": 200, "message": "OK"}));
    // an index comes of it for nobody
    assert_eq!(node.get("/1/indexes").await["items"], json!([]));
    let many: Vec<Value> = (0..1_000).map(|n| with(json!({"index": format!("index{n}")}))).collect();
    node.events(json!(many)).await.success();
    // as a browser sends them that is about to leave the page
    let uri = "/1/events?X-Algolia-Application-Id=APP0000001&x-algolia-api-key=".replace("APP0000001", APP);
    let body = json!({"events": [click()]}).to_string();
    let beacon =
        test::TestRequest::post().uri(&(uri.clone() + ADMIN)).insert_header(("content-type", "text/plain"));
    node.send(beacon.set_payload(body.clone())).await.success();
    let service = uri.replace("X-Algolia", "x-Service").replace("algolia", "service") + ADMIN;
    node.send(test::TestRequest::post().uri(&service).set_payload(body)).await.success();
}

#[actix_web::test]
async fn the_first_wrong_event_refuses_all() {
    let node = Node::start().await;
    let wrong: &[(Value, &str)] = &[
        (json!({"eventName": ""}), "EventName is required"),
        (json!({"eventName": "a".repeat(65)}), "EventName must contain only visible ASCII"),
        (json!({"eventType": "look"}), "EventType must be one of"),
        (json!({"eventSubtype": "purchase"}), "Only event of type conversion may specify an eventSubtype"),
        (json!({"index": null}), "The index field is required"),
        (json!({"userToken": null}), "The userToken field is required"),
        (json!({"userToken": "a b"}), "UserToken must contain only alphanumeric"),
        (json!({"userToken": 5}), "Invalid type for field events: expected string, got number"),
        (json!({"objectIDs": null}), "Event should specify either some ObjectIDs or some Filters"),
        (json!({"filters": ["a:b"]}), "Event should specify ObjectIDs or Filters, but not both"),
        (json!({"positions": [1]}), "Event of type click should have the same number"),
        (json!({"positions": [0, 1]}), "Event of type click may only have strictly positive positions"),
        (json!({"queryID": "x"}), "Query ID must be a search query ID"),
        (json!({"timestamp": 1}), "The timestamp is too far in the past"),
        (json!({"timestamp": 99_999_999_999_999_u64}), "The timestamp is too far in the future"),
    ];
    for (changes, text) in wrong {
        let events = json!([click(), with(changes.clone()), with(json!({"eventName": ""}))]);
        node.events(events).await.refused(422, text);
    }
    node.events(json!([])).await.refused(422, "No events to process");
    node.events(json!(vec![click(); 1_001])).await.refused(422, "Cannot process more than 1000 events");
    let post = async |body: &str| node.call(Method::POST, EVENTS, body).await;
    post("[]").await.refused(422, "Invalid type for field : expected insights.PublicEventsBatch, got array");
    post("{}").await.refused(422, "No events to process");
    post("{").await.refused(400, "Invalid JSON");
    post(r#"{"events":{}}"#).await.refused(422, "Invalid payload");
}

#[actix_web::test]
async fn rights_and_tokens() {
    let node = Node::start().await;
    let key = async |body: Value| node.post("/1/keys", body).await["key"].as_str().unwrap().to_owned();
    let search = key(json!({"acl": ["search"], "indexes": ["prod*"]})).await;
    let browse = key(json!({"acl": ["browse"]})).await;
    let forget = key(json!({"acl": ["deleteObject"]})).await;
    let body = json!({"events": [click()]}).to_string();
    let post = async |key: &str, body: &str| node.call_with(key, Method::POST, EVENTS, body).await;
    post(&search, &body).await.success();
    let other = json!({"events": [click(), with(json!({"index": "other"}))]}).to_string();
    post(&search, &other).await.refused(401, "Index not allowed with this API key");
    post(&browse, &body).await.refused(401, "Method not allowed with this API key");
    post("nobody", &body).await.refused(401, "Invalid credentials");
    node.send(test::TestRequest::post().uri(EVENTS).set_payload(body.clone()))
        .await
        .refused(401, "Invalid credentials");
    node.call(Method::PUT, EVENTS, &body).await.refused(405, "Method Not Allowed");
    node.call(Method::GET, "/1/usertokens/user-1", "").await.refused(405, "Method Not Allowed");
    let elsewhere = node.call(Method::POST, "/1/events/batch", &body).await;
    elsewhere.refused(404, "Path not supported by Insights REST API.");
    let huge = node.call(Method::POST, EVENTS, &" ".repeat(EVENTS_BODY_BYTES_MAX + 1)).await;
    huge.refused(413, "Request Entity Too Large");
    let delete = async |key: &str, token: &str| {
        node.call_with(key, Method::DELETE, &format!("/1/usertokens/{token}"), "").await
    };
    let forgotten = delete(&forget, "user-1").await;
    assert_eq!((forgotten.status.as_u16(), forgotten.bytes.len()), (204, 0));
    assert_eq!(delete(&forget, "a%2Fb%3D").await.status.as_u16(), 204);
    assert_eq!(delete(&forget, &"a".repeat(129)).await.status.as_u16(), 204);
    delete(&forget, &"a".repeat(130)).await.refused(422, "userToken must have 1 to 129");
    delete(&forget, "a%20b").await.refused(422, "userToken must have");
    delete(&search, "user-1").await.refused(401, "Method not allowed with this API key");
}

#[actix_web::test]
async fn a_key_forgets_as_many_users_in_an_hour_as_the_headers_say() {
    let node = Node::start().await;
    let made = node.post("/1/keys", json!({"acl": ["deleteObject"]})).await;
    let key = made["key"].as_str().unwrap();
    let forget = async |key: &str, token: &str| {
        node.call_with(key, Method::DELETE, &format!("/1/usertokens/{token}"), "").await
    };
    let number = |answer: &Answer, name: &str| answer.header(name).parse::<u64>().unwrap();
    let now_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let mut left = (0, 1_000);
    for user in 0..1_000 {
        let answer = forget(key, &format!("user-{}", user % 3)).await;
        assert_eq!((answer.status.as_u16(), number(&answer, "x-ratelimit-limit")), (204, 1_000));
        let [reset_s, remaining] =
            ["x-ratelimit-reset", "x-ratelimit-remaining"].map(|name| number(&answer, name));
        assert!((now_s..=now_s + 3_700).contains(&reset_s), "{reset_s} at {now_s}");
        // unless an hour of this counter has just begun
        assert!(remaining == left.1 - 1 || left.0 != reset_s, "{left:?}, then {remaining} until {reset_s}");
        left = (reset_s, remaining);
        if user == 0 {
            let wrong = forget(key, "a%20b").await;
            wrong.refused(422, "userToken must have");
            assert_eq!(wrong.header("x-ratelimit-limit"), "");
        }
    }
    if left.1 == 0 {
        let refused = forget(key, "user-1").await;
        refused.refused(429, "");
        assert_eq!(
            (number(&refused, "x-ratelimit-remaining"), number(&refused, "x-ratelimit-reset")),
            (0, left.0)
        );
    }
    // others are not concerned
    assert_eq!(forget(ADMIN, "user-1").await.header("x-ratelimit-remaining"), "999");
}
