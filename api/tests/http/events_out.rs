//! Do operators see what there is of events, get every row of it once, and bring the past from elsewhere?
//!
//! - `GET /admin/events`: admin
//! - `POST /admin/events`: admin
//! - `GET /admin/events/rows`: admin
//! - `POST /admin/events/forget`: admin

use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quorate_cluster::plain_rows;
use serde_json::json;
use std::time::Duration;

const DAY_MS: u64 = 24 * 3_600_000;

fn now_ms() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64
}
fn event(index: &str, user: &str, time_ms: u64) -> Value {
    json!({"eventName": "Saw", "eventType": "view", "index": index, "userToken": user, "objectIDs": ["a", "b"],
        "timestamp": time_ms})
}

impl Node {
    /// What there is once rows of so many days are seen.
    async fn found(&self, days: usize) -> Value {
        soon(async || {
            let found = self.get("/admin/events").await;
            let groups = found["groups"].as_array().unwrap().iter();
            let seen = groups.flat_map(|group| group["days"].as_array().unwrap()).count();
            (seen >= days).then_some(found)
        })
        .await
    }
    /// User and object of all rows.
    async fn rows(&self, found: &Value, more: &str) -> Vec<(String, String)> {
        let mut all = vec![];
        for group in found["groups"].as_array().unwrap() {
            for day in group["days"].as_array().unwrap() {
                let day = day["day"].as_str().unwrap();
                let page =
                    self.get(&format!("/admin/events/rows?group={}&day={day}{more}", group["group"])).await;
                let file = STANDARD.decode(page["parquet"].as_str().unwrap()).unwrap();
                let rows = if file.is_empty() { vec![] } else { plain_rows(file).unwrap() };
                assert_eq!(
                    (rows.len() as u64, &page["next"]),
                    (page["rows"].as_u64().unwrap(), &Value::Null)
                );
                let of_row = |row: &quorate_cluster::EventRow| {
                    (row.user.to_string(), row.object.as_deref().unwrap_or_default().to_owned())
                };
                all.extend(rows.iter().map(of_row));
            }
        }
        all.sort();
        all
    }
}

#[actix_web::test]
async fn rows_are_shown_and_handed_out_once() {
    let node = Node::start().await;
    let none = node.get("/admin/events").await;
    assert_eq!((&none["rows"], &none["unreachable"]), (&json!(0), &json!([])));
    let now_ms = now_ms();
    let events = json!({"events": [
        event("shop", "ann", now_ms - 2 * DAY_MS), event("shop", "bob", now_ms - 1_000), event("other", "eve", now_ms - 1_000),
    ]});
    for _twice in 0..2 {
        node.post("/1/events", events.clone()).await;
    }
    let found = node.found(3).await;
    assert!(found["oldestDay"].as_str() < found["newestDay"].as_str(), "{found}");
    let at = |users: &[&str]| -> Vec<(String, String)> {
        users
            .iter()
            .flat_map(|user| ["a", "b"].map(|object| ((*user).to_owned(), object.to_owned())))
            .collect()
    };
    assert_eq!(node.rows(&found, "").await, at(&["ann", "bob", "eve"]));
    assert_eq!(node.rows(&found, "&index=other").await, at(&["eve"]));
    node.call(Method::DELETE, "/1/usertokens/bob", "").await;
    while node.rows(&found, "").await != at(&["ann", "eve"]) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let group = found["groups"][0]["group"].as_u64().unwrap();
    for (query, expected) in [
        ("day=2026-01-01".to_owned(), "Invalid value for \"group\" parameter"),
        ("group=65000&day=2026-01-01".to_owned(), "Invalid value for \"group\" parameter"),
        (format!("group={group}&day=2026-02-30"), "Invalid value for \"day\" parameter, expected a day"),
        (format!("group={group}&day=2026-02-20&after=x"), "Invalid value for \"after\" parameter"),
    ] {
        node.call(Method::GET, &format!("/admin/events/rows?{query}"), "").await.refused(400, expected);
    }
}

#[actix_web::test]
async fn an_operator_forgets_who_has_a_token_that_searches_alone_may_have() {
    let node = Node::start().await;
    let search = |user: &str| {
        let time_ms = now_ms() - DAY_MS;
        json!({"index": "shop", "userToken": user, "timestamp": time_ms, "query": "shoe", "hits": 1, "shown": ["a"]})
    };
    // of what is longer so many bytes count, when a search names it and when it is forgotten
    let long = "l".repeat(300);
    let counting = &long[..quorate_model::limits::USER_TOKEN_BYTES_MAX];
    let searches = json!({"searches": [search("ann@example.org"), search("bob"), search(counting)]});
    node.post("/admin/events", searches).await;
    let found = node.found(1).await;
    let of = |users: &[&str]| -> Vec<(String, String)> {
        users.iter().map(|user| ((*user).to_owned(), String::new())).collect()
    };
    while node.rows(&found, "").await != of(&["ann@example.org", "bob", counting]) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    node.call(Method::DELETE, "/1/usertokens/ann%40example.org", "")
        .await
        .refused(422, "userToken must have");
    node.post("/admin/events/forget", json!({"userToken": "ann@example.org"})).await;
    while node.rows(&found, "").await != of(&["bob", counting]) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    node.post("/admin/events/forget", json!({"userToken": long})).await;
    while node.rows(&found, "").await != of(&["bob"]) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for wrong in [json!({}), json!({"userToken": ""}), json!({"userToken": "x".repeat(513)})] {
        let answer = node.call(Method::POST, "/admin/events/forget", &wrong.to_string()).await;
        answer.refused(400, "Invalid value for \"userToken\" parameter, expected text of 1 to 512 bytes");
    }
}

#[actix_web::test]
async fn the_past_is_taken_with_the_admin_key() {
    let node = Node::start().await;
    let old_ms = now_ms() - 80 * DAY_MS;
    let old = json!({"events": [event("shop", "ann", old_ms)]});
    node.call(Method::POST, "/1/events", &old.to_string())
        .await
        .refused(422, "The timestamp is too far in the past");
    let search = json!({"index": "shop", "userToken": "ann", "timestamp": old_ms, "query": "shoe", "hits": 3, "shown": ["a"]});
    let mut history = json!({"events": old["events"], "searches": [search]});
    // what is sent twice counts once, and a query is one however it is typed
    for query in ["shoe", " SHOE "] {
        history["searches"][0]["query"] = json!(query);
        let taken = node.post("/admin/events", history.clone()).await;
        assert_eq!(taken, json!({"status": 200, "message": "OK"}));
    }
    let found = node.found(1).await;
    let expected = ["", "a", "b"].map(|object| ("ann".to_owned(), object.to_owned()));
    while node.rows(&found, "").await != expected {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let ancient = json!({"events": [event("shop", "ann", old_ms - 20 * DAY_MS)]});
    let wrong = async |body: &str, status: u16, text: &str| {
        node.call(Method::POST, "/admin/events", body).await.refused(status, text);
    };
    wrong(&ancient.to_string(), 422, "The timestamp is too far in the past").await;
    wrong("{}", 422, "No events to process").await;
    wrong("{", 400, "Invalid JSON").await;
    wrong(r#"{"searches":[{"index":"i"}]}"#, 422, "The userToken field of a search is required").await;
}
