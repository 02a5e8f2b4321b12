//! Are searches counted, and do the figures say what was searched and done (C§18.5)?
//!
//! - `GET /2/searches`: analytics
//! - `GET /2/searches/count`: analytics
//! - `GET /2/searches/noResults`: analytics
//! - `GET /2/searches/noClicks`: analytics
//! - `GET /2/searches/noResultRate`: analytics
//! - `GET /2/searches/noClickRate`: analytics
//! - `GET /2/hits`: analytics
//! - `GET /2/users/count`: analytics
//! - `GET /2/filters`: analytics
//! - `GET /2/filters/noResults`: analytics
//! - `GET /2/filters/{attribute}`: analytics
//! - `GET /2/countries`: analytics
//! - `GET /2/clicks/averageClickPosition`: analytics
//! - `GET /2/clicks/positions`: analytics
//! - `GET /2/clicks/clickThroughRate`: analytics
//! - `GET /2/conversions/conversionRate`: analytics
//! - `GET /2/conversions/addToCartRate`: analytics
//! - `GET /2/conversions/purchaseRate`: analytics
//! - `GET /2/conversions/revenue`: analytics
//! - `GET /2/status`: analytics

use super::*;
use quorate_model::analytics::{Day, ReportQuery};
use serde_json::json;
use std::time::{Duration, Instant};

/// Query, user, parameters beside, and what follows: clicks by objectID and position.
const SEARCHES: &[(&str, &str, &str)] = &[
    ("sho", "ann", r#"{"clickAnalytics": true}"#),
    (
        "shoe",
        "ann",
        r#"{"clickAnalytics": true, "analyticsTags": ["mobile"], "filters": "brand:acme AND price < 50"}"#,
    ),
    ("shoe", "bob", r#"{"clickAnalytics": true, "analyticsTags": ["desktop", "new user"]}"#),
    ("nothing like this", "bob", r#"{"filters": "brand:acme"}"#),
    ("hat", "cat", "{}"),
    ("uncounted", "cat", r#"{"analytics": false}"#),
];

impl Node {
    async fn searched_shop() -> (Node, Vec<String>) {
        let node = Node::start().await;
        let settings = json!({"attributesForFaceting": ["brand"]});
        node.write(Method::PUT, "/1/indexes/products/settings", settings).await;
        let record = |id, name, brand, price| json!({"action": "addObject", "body": {"name": name, "objectID": id, "brand": brand, "price": price}});
        let records = [
            record("1", "shoe", "acme", 20),
            record("2", "shoe red", "acme", 30),
            record("3", "hat", "b", 5),
        ];
        node.write(Method::POST, "/1/indexes/products/batch", json!({"requests": records})).await;
        let mut ids = vec![];
        for (query, user, beside) in SEARCHES {
            let mut body: Value = serde_json::from_str(beside).unwrap();
            (body["query"], body["userToken"]) = (json!(query), json!(user));
            let found = node.post("/1/indexes/products/query", body).await;
            ids.push(found["queryID"].as_str().unwrap_or_default().to_owned());
        }
        (node, ids)
    }
    /// Has all that was searched counted, and waits until figures show so many searches.
    async fn counted(&self, count: u64) {
        self.service.count_searches().await.unwrap();
        let (index, today) =
            (quorate_model::IndexName::new("products").unwrap(), Day::of(quorate_cluster::unix_ms()));
        for offset in 0..1_000 {
            // another question each time: answers are kept for a moment
            let asked = ReportQuery { days: (today, today), offset, ..ReportQuery::default() };
            if self.service.report(&index, asked).await.unwrap().total.searches == count {
                return;
            }
            actix_rt::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("not {count} searches in time");
    }
    /// Figures of the index.
    async fn figures(&self, path: &str) -> Value {
        self.get(&format!("/2/{path}{}index=products", if path.contains('?') { '&' } else { '?' })).await
    }
}

/// Without what each day has: all is of today.
fn total(mut body: Value) -> Value {
    let days = body["dates"].as_array().unwrap().clone();
    assert_eq!(days.len(), 8);
    body.as_object_mut().unwrap().remove("dates");
    let mut today = days[7].clone();
    today.as_object_mut().unwrap().remove("date");
    assert_eq!(today, body, "all of it is of today");
    body
}

#[actix_web::test]
async fn figures_say_what_was_searched_and_done() {
    let (node, ids) = Node::searched_shop().await;
    let event = |kind: &str, more: Value| {
        let mut event = json!({"eventName": "e", "eventType": kind, "index": "products", "userToken": "ann",
            "objectIDs": ["2"]});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    node.post(
        "/1/events",
        json!({"events": [
            // names what was typed halfway: the search that came of it has been clicked
            event("click", json!({"positions": [2], "queryID": ids[0]})),
            event("click", json!({"positions": [1], "queryID": ids[1], "objectIDs": ["1"]})),
            event("conversion", json!({"eventSubtype": "addToCart", "queryID": ids[1]})),
            event("conversion", json!({"eventSubtype": "purchase", "currency": "EUR", "objectIDs": ["2"],
                "objectData": [{"price": "19.99", "quantity": 2, "discount": 1.5, "queryID": ids[1]}]})),
        ]}),
    )
    .await;
    node.counted(4).await;
    daily_figures(&node).await;
    listed_figures(&node).await;
    // who is forgotten is not counted any more
    node.call(Method::DELETE, "/1/usertokens/ann", "").await;
    // nor in what was computed a moment ago
    assert_eq!(total(node.figures("searches/count").await), json!({"count": 3}));
    assert_eq!(total(node.figures("searches/count?tags=mobile%20OR%20none").await), json!({"count": 0}));
    // and counts again for what comes a millisecond behind that
    node.call(Method::DELETE, "/1/usertokens/ann", "").await;
    let told_ms = quorate_cluster::unix_ms();
    while quorate_cluster::unix_ms() <= told_ms {
        std::hint::spin_loop();
    }
    node.post("/1/indexes/products/query", json!({"query": "hat", "userToken": "ann"})).await;
    node.counted(4).await;
    // who searches may stand in the URL, where browsers put headers
    node.write(Method::PUT, "/1/indexes/url/a", json!({"name": "a"})).await;
    for (query, words) in
        [("userToken=ann", "lamp"), ("x-algolia-usertoken=ann", "desk"), ("X-Algolia-UserToken=ann", "shelf")]
    {
        node.post(&format!("/1/indexes/url/query?{query}"), json!({"query": words})).await;
        let several = json!({"requests": [{"indexName": "url", "query": format!("one more {words}")}]});
        node.post(&format!("/1/indexes/*/queries?{query}"), several).await;
    }
    let of_url = async |what: &str| node.get(&format!("/2/{what}/count?index=url")).await;
    node.service.count_searches().await.unwrap();
    let soon = Instant::now() + Duration::from_secs(20);
    while of_url("searches").await["count"] != 6 {
        assert!(Instant::now() < soon, "{}", of_url("searches").await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(of_url("users").await["count"], 1);
}

/// Those that have a figure for each day.
async fn daily_figures(node: &Node) {
    let figures = async |path: &str| node.figures(path).await;
    let euros = euros();
    assert_eq!(total(figures("searches/count").await), json!({"count": 4}));
    assert_eq!(total(figures("users/count").await), json!({"count": 3}));
    assert_eq!(
        total(figures("searches/noResultRate").await),
        json!({"rate": 0.25, "count": 4, "noResultCount": 1})
    );
    let ctr = json!({"rate": 0.5, "trackedSearchCount": 2, "clickCount": 2});
    assert_eq!(total(figures("clicks/clickThroughRate").await), ctr);
    assert_eq!(total(figures("clicks/averageClickPosition").await), json!({"average": 1.5, "clickCount": 2}));
    let converted = json!({"rate": 0.5, "trackedSearchCount": 2, "conversionCount": 2});
    assert_eq!(total(figures("conversions/conversionRate").await), converted);
    let carted = json!({"rate": 0.5, "trackedSearchCount": 2, "addToCartCount": 1});
    assert_eq!(total(figures("conversions/addToCartRate").await), carted);
    let bought = json!({"rate": 0.5, "trackedSearchCount": 2, "purchaseCount": 1});
    assert_eq!(total(figures("conversions/purchaseRate").await), bought);
    assert_eq!(total(figures("conversions/revenue").await), json!({"currencies": euros}));
    // another search of the same query was clicked
    assert_eq!(
        total(figures("searches/noClickRate").await),
        json!({"rate": 0, "count": 2, "noClickCount": 0})
    );
    assert_eq!(figures("searches/noClicks").await, json!({"searches": []}));
    let mobile = json!({"rate": 1, "trackedSearchCount": 1, "clickCount": 2});
    assert_eq!(total(figures("clicks/clickThroughRate?tags=mobile").await), mobile);
    let desktop = json!({"rate": 1, "count": 1, "noClickCount": 1});
    assert_eq!(total(figures("searches/noClickRate?tags=desktop%20AND%20new%20user").await), desktop);
    let unclicked = json!({"searches": [{"search": "shoe", "count": 1, "nbHits": 2}]});
    assert_eq!(figures("searches/noClicks?tags=desktop").await, unclicked);
}

fn euros() -> Value {
    json!({"EUR": {"currency": "EUR", "revenue": 38.48}})
}

/// Those that list something.
async fn listed_figures(node: &Node) {
    let figures = async |path: &str| node.figures(path).await;
    let euros = euros();
    let shoe = json!({"search": "shoe", "count": 2, "nbHits": 2});
    let nothing = json!({"search": "nothing like this", "count": 1, "nbHits": 0});
    let hat = json!({"search": "hat", "count": 1, "nbHits": 1});
    assert_eq!(figures("searches").await, json!({"searches": [shoe, hat, nothing]}));
    assert_eq!(figures("searches?limit=1&offset=1").await, json!({"searches": [hat]}));
    let by_rate =
        figures("searches?orderBy=clickThroughRate&direction=asc&revenueAnalytics=true&limit=1").await;
    let best = &by_rate["searches"][0];
    assert_eq!(
        (&best["search"], &best["clickThroughRate"], &best["currencies"]),
        (&json!("shoe"), &json!(0.5), &euros)
    );
    assert_eq!(best["clickPositions"][1], json!({"position": [2, 2], "clickCount": 1}));
    let without = json!({"searches": [{"search": "nothing like this", "count": 1, "withFilterCount": 1}]});
    assert_eq!(figures("searches/noResults").await, without);
    let hits = figures("hits?clickAnalytics=true").await;
    assert_eq!(
        hits["hits"][0],
        json!({"hit": "1", "count": 2, "clickThroughRate": 0.5, "conversionRate": 0,
        "trackedHitCount": 2, "clickCount": 1, "conversionCount": 0})
    );
    assert_eq!(figures("hits?search=hat").await, json!({"hits": [{"hit": "3", "count": 1}]}));
    let attributes =
        json!({"attributes": [{"attribute": "brand", "count": 2}, {"attribute": "price", "count": 1}]});
    assert_eq!(figures("filters").await, attributes);
    let price = json!({"values": [{"attribute": "price", "operator": "<", "value": "50", "count": 1}]});
    assert_eq!(figures("filters/price").await, price);
    let filters = json!([{"attribute": "brand", "operator": ":", "value": "acme"}]);
    assert_eq!(figures("filters/noResults").await, json!({"values": [{"count": 1, "values": filters}]}));
    assert_eq!(figures("filters/noResults?search=shoe").await, json!({"values": null}));
    assert_eq!(figures("countries").await, json!({"countries": []}));
    let positions = figures("clicks/positions").await;
    assert_eq!(positions["positions"].as_array().unwrap().len(), 12);
    assert_eq!(positions["positions"][11], json!({"position": [21, -1], "clickCount": 0}));
    assert!(figures("status").await["updatedAt"].is_string());
}

#[actix_web::test]
async fn figures_of_nothing_are_empty_and_wrong_questions_are_refused() {
    let node = Node::start().await;
    let empty =
        node.get("/2/clicks/clickThroughRate?index=never&startDate=2026-01-30&endDate=2026-02-02").await;
    assert_eq!(empty["rate"], Value::Null);
    let days: Vec<&str> =
        empty["dates"].as_array().unwrap().iter().map(|day| day["date"].as_str().unwrap()).collect();
    assert_eq!(days, ["2026-01-30", "2026-01-31", "2026-02-01", "2026-02-02"]);
    assert_eq!(node.get("/2/status?index=never").await, json!({"updatedAt": null}));
    for (query, message) in [
        ("", "index is required"),
        (
            "index=i&startDate=2026-02-30",
            "Invalid value for \"startDate\" parameter, expected a day as YYYY-MM-DD",
        ),
        ("index=i&startDate=2026-02-02&endDate=2026-02-01", "Invalid value for \"startDate\" parameter"),
        (
            "index=i&startDate=2020-02-02",
            "Invalid value for \"startDate\" parameter, expected at most 400 days",
        ),
        ("index=i&limit=1001", "Invalid value for \"limit\" parameter"),
        ("index=i&limit=x", "Invalid value for \"limit\" parameter"),
        ("index=i&offset=-1", "Invalid value for \"offset\" parameter"),
        ("index=i&tags=(a", "Invalid value for \"tags\" parameter"),
        ("index=i&orderBy=age", "Invalid value for \"orderBy\" parameter"),
        ("index=i&direction=up", "Invalid value for \"direction\" parameter"),
        ("index=i&clickAnalytics=maybe", "Invalid value for \"clickAnalytics\" parameter"),
    ] {
        node.call(Method::GET, &format!("/2/searches?{query}"), "").await.refused(400, message);
    }
    let key = json!({"acl": ["analytics"], "indexes": ["mine"]});
    let key = node.post("/1/keys", key).await["key"].as_str().unwrap().to_owned();
    node.call_with(&key, Method::GET, "/2/searches?index=mine", "").await.success();
    node.call_with(&key, Method::GET, "/2/searches?index=other", "").await.refused(403, "Index not allowed");
    node.call_with(&node.search_key, Method::GET, "/2/searches?index=mine", "")
        .await
        .refused(403, "Method not allowed");
}

#[actix_web::test]
async fn what_nobody_was_shown_does_not_count() {
    let (node, _) = Node::searched_shop().await;
    let asked = |second: Value| {
        let first = json!({"indexName": "products", "query": "unseen", "userToken": "u"});
        json!({"requests": [first, second]}).to_string()
    };
    for (second, status) in [
        (json!({"indexName": "missing", "query": "a"}), 404),
        (json!({"indexName": "products", "query": "a", "filters": "("}), 400),
    ] {
        let answer = node.call(Method::POST, "/1/indexes/*/queries", &asked(second)).await;
        answer.refused(status, "");
    }
    let seen = asked(json!({"indexName": "products", "query": "Seen", "userToken": "v"}));
    node.call(Method::POST, "/1/indexes/*/queries", &seen.replace("unseen", "Shown")).await.success();
    node.counted(6).await;
    let top = node.figures("searches").await;
    let queries: Vec<&str> =
        top["searches"].as_array().unwrap().iter().map(|it| it["search"].as_str().unwrap()).collect();
    assert!(queries.contains(&"shown") && queries.contains(&"seen"), "{queries:?}");
    assert!(!queries.contains(&"unseen"), "{queries:?}");
}

#[actix_web::test]
async fn queries_are_asked_for_as_they_were_typed() {
    let (node, _) = Node::searched_shop().await;
    node.counted(4).await;
    let hits = node.figures("hits?search=shoe").await;
    assert_eq!(hits["hits"].as_array().unwrap().len(), 2, "{hits}");
    assert_eq!(node.figures("hits?search=%20SHOE").await["hits"], hits["hits"]);
    let long = format!("/2/hits?index=products&search={}", "x".repeat(513));
    node.call(Method::GET, &long, "").await.refused(400, "Invalid value for \"search\" parameter");
    node.call(Method::GET, "/2/searches?index=*", "").await.refused(400, "index is not valid");
}

#[actix_web::test]
async fn a_key_of_an_index_reads_the_figures_of_that_index() {
    let (node, _) = Node::searched_shop().await;
    let key = node.index_key("products", json!({"acl": ["analytics"]})).await;
    let of = async |index: &str| {
        node.call_with(&key, Method::GET, &format!("/2/searches/count?index={index}"), "").await
    };
    of("products").await.success();
    of("other").await.refused(403, "Index not allowed");
}
