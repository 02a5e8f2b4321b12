//! Do operators see and make models of recommendations?
//!
//! - `GET /admin/recommend`: admin
//! - `PUT /admin/recommend/{indexName}/{model}`: admin
//! - `POST /admin/recommend/{indexName}/{model}/build`: admin

use super::*;
use quorate_model::{IndexName, RecommendModel};
use serde_json::json;

impl Node {
    /// The model once a build that was asked for has ended.
    async fn model(&self, model: &str) -> Value {
        soon(async || {
            let seen = self.get("/admin/recommend").await;
            let found = seen["models"].as_array().unwrap().iter().find(|it| it["model"] == model).cloned();
            // one that is shown before its build has begun has neither
            let is_built = |it: &Value| !it["rows"].is_null() || !it["reason"].is_null();
            found.filter(|found| found["isAwaited"] == false && is_built(found))
        })
        .await
    }
    /// Makes an index of one record: nothing is recommended of a name without an index.
    async fn make_index(&self, name: &str) {
        self.write(Method::PUT, &format!("/1/indexes/{name}/a"), json!({"name": "a"})).await;
    }
}

#[actix_web::test]
async fn a_model_is_built_on_demand_and_shown() {
    let node = Node::start().await;
    let none = json!({"models": [], "page": 0, "nbHits": 0, "nbPages": 0, "hitsPerPage": 1_000});
    assert_eq!(node.get("/admin/recommend").await, none);
    node.make_index("my%20shop").await;
    // a name may have a blank, and users who did nothing but see something
    let event = |user: usize, object: usize| {
        json!({"eventName": "Saw", "eventType": "view", "index": "my shop",
        "userToken": format!("u{user}"), "objectIDs": [format!("o{object}")]})
    };
    let events: Vec<Value> = (0..30).flat_map(|user| [event(user, user % 3), event(user, 3)]).collect();
    node.post("/1/events", json!({"events": events})).await;
    let asked = node.post("/admin/recommend/my%20shop/related-products/build", json!({})).await;
    assert!(asked["message"].as_str().unwrap().contains("related-products of my shop"), "{asked}");
    let model = node.model("related-products").await;
    assert_eq!(
        (&model["index"], &model["rows"], &model["users"]),
        (&json!("my shop"), &json!(60), &json!(30))
    );
    assert_eq!(model["parameters"], json!({"alpha": 0.5, "beta": 0.4, "lambda": 5}));
    assert!(model["bytes"].as_u64() > Some(100) && model["installedAt"].is_string(), "{model}");
    let index = IndexName::new("my shop").unwrap();
    let found = soon(async || {
        let asked = node.service.candidates(&index, RecommendModel::RelatedProducts, Some("o3")).await;
        Some(asked.unwrap()).filter(|found| found.users > 0)
    })
    .await;
    assert_eq!((found.users, found.list.len(), found.list[0].1), (30, 3, 10_000), "{found:?}");
    // nobody bought anything
    node.post("/admin/recommend/my%20shop/bought-together/build", json!({})).await;
    let none = node.model("bought-together").await;
    assert_eq!(
        (&none["reason"], &none["bytes"]),
        (&json!("nothing goes together yet"), &Value::Null),
        "{none}"
    );
    node.call(Method::POST, "/admin/recommend/a/trending-items/build", "").await.refused(
        400,
        "trending-items is computed when it is asked for; related-products and bought-together are built",
    );
    node.call(Method::POST, "/admin/recommend/a/liked/build", "")
        .await
        .refused(400, "Invalid value for \"model\" parameter, expected one of");
}

#[actix_web::test]
async fn what_trends_is_known_without_a_build() {
    let node = Node::start().await;
    node.make_index("shop").await;
    let day_ms = 24 * 3_600_000;
    let now_ms =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let event = |user: u64, object: &str, days: u64| {
        json!({"eventName": "Bought", "eventType": "conversion", "index": "shop", "userToken": format!("u{user}"),
            "objectIDs": [object], "timestamp": now_ms - days * day_ms - 1_000})
    };
    let old = (0..20).map(|user| event(user, "old", 5 + user));
    let events: Vec<Value> = old.chain((0..10).map(|user| event(user, "new", 0))).collect();
    node.post("/1/events", json!({"events": events})).await;
    let index = IndexName::new("shop").unwrap();
    let trending =
        async || node.service.candidates(&index, RecommendModel::TrendingItems, None).await.unwrap();
    // an answered event is applied soon
    let found = soon(async || Some(trending().await).filter(|found| found.users > 0)).await;
    assert_eq!(found.users, 20);
    let ids: Vec<&str> = found.list.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!((ids, found.list[0].1), (vec!["new", "old"], 10_000));
    assert!(found.list[1].1 < 3_000, "{found:?}");
    let nothing = IndexName::new("nothing").unwrap();
    assert!(
        node.service.candidates(&nothing, RecommendModel::TrendingItems, None).await.unwrap().list.is_empty()
    );
}

#[actix_web::test]
async fn a_model_made_elsewhere_is_put_in_force_when_it_is_whole() {
    let node = Node::start().await;
    node.make_index("shop").await;
    let path = "/admin/recommend/shop/related-products";
    let lines = concat!(
        "{\"version\":1,\"items\":2}\n",
        "{\"objectID\":\"a\",\"neighbours\":[{\"objectID\":\"c\",\"score\":1},{\"objectID\":\"b\",\"score\":2}]}\n",
        "{\"objectID\":\"b\",\"neighbours\":[{\"objectID\":\"a\",\"score\":0.1}]}\n"
    );
    let put = async |path: &str, lines: &str| node.call(Method::PUT, path, lines).await;
    put(path, "").await.refused(422, "the body is empty");
    put(path, &lines[..lines.len() - 5]).await.refused(422, "line 3, column");
    put(path, "{\"version\":9,\"items\":1}").await.refused(422, "version 9 is not known");
    put(path, &lines.replace("\"items\":2", "\"items\":3"))
        .await
        .refused(422, "2 lists have come, the first line says 3");
    put(&format!("{path}?sha256=5"), lines).await.refused(400, "Invalid value for \"sha256\" parameter");
    let zeros = "0".repeat(64);
    put(&format!("{path}?sha256={zeros}"), lines).await.refused(422, "the body has the SHA-256");
    put("/admin/recommend/shop/trending-items", lines).await.refused(400, "trending-items is computed");
    assert_eq!(node.get("/admin/recommend").await["nbHits"], 0, "nothing of it is in force");
    put(path, lines).await.success();
    // it is in force as soon as the node has installed its file
    let model =
        soon(async || Some(node.model("related-products").await).filter(|model| !model["items"].is_null()))
            .await;
    assert_eq!(
        (&model["isUploaded"], &model["items"], &model["neighbours"]),
        (&json!(true), &json!(3), &json!(3))
    );
    let index = IndexName::new("shop").unwrap();
    let found = node.service.candidates(&index, RecommendModel::RelatedProducts, Some("a")).await.unwrap();
    assert_eq!(found.list, [("b".to_owned(), 10_000), ("c".to_owned(), 5_000)]);
    // another one replaces it, and pages have their part
    put("/admin/recommend/shop/bought-together", lines).await.success();
    let second = node.get("/admin/recommend?page=1&hitsPerPage=1").await;
    assert_eq!((&second["nbHits"], &second["nbPages"]), (&json!(2), &json!(2)));
    assert_eq!(second["models"].as_array().unwrap().len(), 1);
    let wrong = node.call(Method::GET, "/admin/recommend?hitsPerPage=0", "").await;
    wrong.refused(400, "Invalid value for \"hitsPerPage\" parameter");
}
