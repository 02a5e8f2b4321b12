//! Do replicas follow their primary, and keep to their rules, as callers see it (C§3.2, C§7.11)?

use super::*;
use serde_json::json;

impl Node {
    async fn settings(&self, index: &str, changes: Value) -> Value {
        self.write(Method::PUT, &format!("/1/indexes/{index}/settings"), changes).await
    }
    /// The ids of the hits in order, `/`, nbHits.
    async fn hits(&self, index: &str, query: Value) -> String {
        let body = self.post(&format!("/1/indexes/{index}/query"), query).await;
        let ids = body["hits"].as_array().unwrap().iter().map(|hit| hit["objectID"].as_str().unwrap());
        format!("{}/{}", ids.collect::<Vec<_>>().join(" "), body["nbHits"])
    }
}

/// A primary with phones, a replica by price and a virtual one.
async fn shop() -> Node {
    let node = Node::start().await;
    let primary = json!({
        "searchableAttributes": ["name", "text"], "attributesForFaceting": ["brand"],
        "customRanking": ["desc(sales)"], "replicas": ["by_price", "virtual(relevant)"]
    });
    node.settings("p", primary).await;
    node.settings("by_price", json!({"ranking": ["asc(price)", "typo", "words"]})).await;
    node.settings("relevant", json!({"customRanking": ["asc(price)"]})).await;
    let phone = |id: &str, name: &str, text: &str, price: f64, sales: u32| {
        let body = json!({"objectID": id, "name": name, "text": text, "price": price, "sales": sales, "brand": name});
        json!({"action": "addObject", "body": body})
    };
    let requests = json!({"requests": [
        phone("a", "phone", "", 30.5, 3), phone("b", "phone", "", 10.25, 2), phone("c", "phone", "", 20.0, 1),
        phone("d", "case", "for a phone", 1.5, 9), phone("e", "phome", "", 5.0, 8)]});
    node.write(Method::POST, "/1/indexes/p/batch", requests).await;
    node
}

#[actix_web::test]
async fn sorted_replicas_have_the_records_of_their_primary() {
    let node = shop().await;
    assert_eq!(node.hits("p", json!({"query": "phone"})).await, "a b c d e/5");
    assert_eq!(node.hits("by_price", json!({"query": "phone"})).await, "d e b c a/5");
    assert_eq!(node.hits("by_price", json!({"filters": "brand:phone"})).await, "b c a/3");
    node.write(Method::POST, "/1/indexes/p/b/partial", json!({"price": 99})).await;
    node.write(Method::POST, "/1/indexes/p/deleteByQuery", json!({"filters": "brand:case"})).await;
    assert_eq!(node.hits("by_price", json!({})).await, "e c a b/4");
    assert_eq!(node.get("/1/indexes/by_price/b").await["price"], 99);
    node.write(Method::POST, "/1/indexes/p/clear", json!({})).await;
    assert_eq!(node.hits("by_price", json!({})).await, "/0");
}

#[actix_web::test]
async fn virtual_replicas_sort_what_the_primary_ranks_best() {
    let node = shop().await;
    // 100: only what matches as well as the best; 90 lets a worse attribute in, 75 a typo; 0 everything
    for (strictness, expected, sorted) in
        [(None, "b c a", 3), (Some(90), "d b c a", 4), (Some(75), "d e b c a", 5), (Some(0), "d e b c a", 5)]
    {
        let mut query = json!({"query": "phone"});
        if let Some(strictness) = strictness {
            query["relevancyStrictness"] = json!(strictness);
        }
        assert_eq!(node.hits("relevant", query.clone()).await, format!("{expected}/5"), "{strictness:?}");
        let body = node.post("/1/indexes/relevant/query", query).await;
        let applied = (&body["nbSortedHits"], &body["appliedRelevancyStrictness"]);
        assert_eq!(applied, (&json!(sorted), &json!(strictness.unwrap_or(100))), "{body}");
    }
    assert_eq!(node.hits("relevant", json!({})).await, "d e b c a/5", "without a query nothing is cut");
    node.settings("relevant", json!({"relevancyStrictness": 0, "customRanking": ["desc(name)"]})).await;
    assert_eq!(node.hits("relevant", json!({"query": "phone"})).await, "a b c e d/5");
    let page = node.post("/1/indexes/relevant/query", json!({"hitsPerPage": 2, "page": 1})).await;
    assert_eq!((&page["nbPages"], &page["hits"][0]["objectID"]), (&json!(3), &json!("c")), "{page}");

    // a change of the primary shapes its virtual replica at once
    node.settings("p", json!({"searchableAttributes": ["text"]})).await;
    assert_eq!(node.hits("relevant", json!({"query": "phone"})).await, "d/1");
    assert_eq!(node.get("/1/indexes/relevant/d").await["price"], 1.5);
    assert_eq!(node.post("/1/indexes/relevant/browse", json!({})).await["nbHits"], 5);
    assert!(node.post("/1/indexes/p/query", json!({})).await.get("nbSortedHits").is_none());
}

#[actix_web::test]
async fn lists_and_settings_name_the_links() {
    let node = shop().await;
    let list = node.get("/1/indexes").await;
    let shown: Vec<Value> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| json!([row["name"], row["entries"], row["primary"], row["replicas"], row["virtual"]]))
        .collect();
    let expected = json!([
        ["by_price", 5, "p", null, null],
        ["p", 5, null, ["by_price", "virtual(relevant)"], null],
        ["relevant", 5, "p", null, true]
    ]);
    assert_eq!(json!(shown), expected);
    let settings = node.get("/1/indexes/by_price/settings").await;
    assert_eq!((&settings["primary"], settings.get("replicas")), (&json!("p"), None));
    assert_eq!(settings["searchableAttributes"], json!(["name", "text"]), "taken over when it was linked");
    let settings = node.get("/1/indexes/relevant/settings").await;
    let shown = (&settings["primary"], &settings["customRanking"], &settings["searchableAttributes"]);
    assert_eq!(shown, (&json!("p"), &json!(["asc(price)"]), &json!(["name", "text"])));
    let settings = node.get("/1/indexes/p/settings").await;
    assert_eq!(settings["replicas"], json!(["by_price", "virtual(relevant)"]));
    assert_eq!(settings.get("primary"), None);
}

#[actix_web::test]
async fn a_call_for_several_indices_that_names_a_replica_changes_nothing() {
    let node = shop().await;
    let op =
        |action: &str, index: &str| json!({"action": action, "indexName": index, "body": {"objectID": "a"}});
    for index in ["by_price", "relevant"] {
        for (requests, text) in [
            ([op("addObject", index), op("deleteObject", "p")], "cannot write records to the replica index"),
            ([op("clear", "p"), op("clear", index)], "cannot write records to the replica index"),
            (
                [op("addObject", "a-new-one"), op("deleteObject", index)],
                "cannot write records to the replica index",
            ),
            ([op("delete", "p"), op("delete", index)], "cannot delete a replica index"),
        ] {
            let body = json!({"requests": requests}).to_string();
            node.call(Method::POST, "/1/indexes/*/batch", &body).await.refused(403, text);
        }
    }
    assert_eq!(node.post("/1/indexes/p/query", json!({})).await["nbHits"], 5);
    let names: Vec<Value> = node.get("/1/indexes").await["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].clone())
        .collect();
    assert_eq!(names, ["by_price", "p", "relevant"]);
}

#[actix_web::test]
async fn replicas_refuse_what_only_their_primary_may() {
    let node = shop().await;
    for index in ["by_price", "relevant"] {
        for (method, path, body) in [
            (Method::POST, "", json!({"a": 1})),
            (Method::PUT, "/o", json!({"a": 1})),
            (Method::POST, "/o/partial", json!({"a": 1})),
            (
                Method::POST,
                "/batch",
                json!({"requests": [{"action": "delete", "body": {}}, {"action": "addObject", "body": {}}]}),
            ),
            (Method::POST, "/batch", json!({"requests": [{"action": "clear", "body": {}}]})),
            (Method::POST, "/deleteByQuery", json!({"filters": "brand:x"})),
            (Method::POST, "/clear", json!({})),
            (Method::DELETE, "/o", json!({})),
        ] {
            let answer = node.call(method, &format!("/1/indexes/{index}{path}"), &body.to_string()).await;
            answer.refused(403, &format!("cannot write records to the replica index {index}"));
        }
        node.call(Method::DELETE, &format!("/1/indexes/{index}"), "")
            .await
            .refused(403, "cannot delete a replica index; unlink it from its primary first");
        for body in [json!({"operation": "move", "destination": "x"})] {
            let uri = format!("/1/indexes/{index}/operation");
            node.call(Method::POST, &uri, &body.to_string())
                .await
                .refused(403, &format!("cannot move {index}"));
        }
        for operation in ["move", "copy"] {
            let body = json!({"operation": operation, "destination": index}).to_string();
            let text = format!("cannot {operation} to {index}: it is a replica of p");
            node.call(Method::POST, "/1/indexes/other/operation", &body).await.refused(403, &text);
        }
        let chained = json!({"replicas": ["x"]}).to_string();
        let uri = format!("/1/indexes/{index}/settings");
        let refused = node.call(Method::PUT, &uri, &chained).await;
        assert!(refused.status == 400 || refused.status == 403, "{refused:?}");
    }
    let body = json!({"attributesForFaceting": ["x"], "ranking": ["typo"], "hitsPerPage": 3}).to_string();
    node.call(Method::PUT, "/1/indexes/relevant/settings", &body).await.refused(
        403,
        "The following settings are forbidden in virtual replicas: attributesForFaceting, ranking",
    );
    for (replicas, text) in [
        (json!(["p"]), "p cannot be a replica of itself"),
        (json!(["Virtual(q)"]), "Invalid value for \"replicas\" parameter, expected array of index names or"),
        (json!(["virtual( p )"]), "p cannot be a replica of itself"),
        (json!(["by_price", "virtual(by_price)"]), "replicas names by_price more than once"),
    ] {
        let body = json!({"replicas": replicas}).to_string();
        node.call(Method::PUT, "/1/indexes/p/settings", &body).await.refused(400, text);
    }
    let body = json!({"slaves": ["by_price"]}).to_string();
    let text = "by_price is a replica of p: unlink it there first";
    node.call(Method::PUT, "/1/indexes/q/settings", &body).await.refused(400, text);
    let body = json!({"operation": "copy", "destination": "p"}).to_string();
    node.call(Method::POST, "/1/indexes/q/operation", &body)
        .await
        .refused(400, "cannot copy to p: it has replicas");
}

#[actix_web::test]
async fn settings_reach_replicas_when_told_to_and_unlinked_ones_stay_behind() {
    let node = shop().await;
    let uri = "/1/indexes/p/settings?forwardToReplicas=true";
    let changes = json!({"hitsPerPage": 2, "searchableAttributes": ["name"], "replicas": ["by_price", "virtual(relevant)"]});
    node.write(Method::PUT, uri, changes).await;
    for index in ["p", "by_price", "relevant"] {
        let settings = node.get(&format!("/1/indexes/{index}/settings")).await;
        assert_eq!(
            (&settings["hitsPerPage"], &settings["searchableAttributes"]),
            (&json!(2), &json!(["name"])),
            "{index}"
        );
    }
    assert_eq!(node.hits("by_price", json!({"query": "phone"})).await, "e b/4");
    node.settings("p", json!({"replicas": []})).await;
    assert_eq!(
        node.hits("by_price", json!({"query": "phone"})).await,
        "e b/4",
        "a standard replica keeps its records"
    );
    assert_eq!(node.hits("relevant", json!({})).await, "/0", "a virtual one had none");
    node.write(Method::PUT, "/1/indexes/relevant/own", json!({"name": "own"})).await;
    node.write(Method::PUT, "/1/indexes/p/new", json!({"name": "phone"})).await;
    assert_eq!(node.hits("relevant", json!({"query": "own"})).await, "own/1");
    assert_eq!(node.hits("by_price", json!({"query": "phone"})).await, "e b/4");
    node.write(Method::DELETE, "/1/indexes/by_price", json!({})).await;

    node.settings("p", json!({"slaves": ["r"]})).await;
    assert_eq!(node.post("/1/indexes/r/query", json!({})).await["nbHits"], 6);
    node.write(Method::DELETE, "/1/indexes/p", json!({})).await;
    let settings = node.get("/1/indexes/r/settings").await;
    assert_eq!(settings.get("primary"), None);
    node.write(Method::PUT, "/1/indexes/r/own", json!({})).await;
    assert_eq!(node.post("/1/indexes/r/query", json!({})).await["nbHits"], 7);
}

#[actix_web::test]
async fn a_virtual_replica_that_becomes_a_standard_one_keeps_what_it_showed() {
    let node = shop().await;
    let changes = json!({"searchableAttributes": ["name"], "attributesForFaceting": ["brand"], "ranking": ["typo"],
        "replicas": ["virtual(v)"]});
    node.settings("p", changes).await;
    node.settings("v", json!({"customRanking": ["desc(price)"], "hitsPerPage": 7})).await;
    let before = node.get("/1/indexes/v/settings").await;
    node.settings("p", json!({"replicas": ["v"], "attributesForFaceting": ["brand", "price"]})).await;
    let settings = node.get("/1/indexes/v/settings").await;
    for name in ["searchableAttributes", "customRanking", "hitsPerPage", "primary"] {
        assert_eq!(settings[name], before[name], "{name}: {settings}");
    }
    assert_eq!(settings["attributesForFaceting"], json!(["brand", "price"]));
    assert_ne!(settings["ranking"], json!(["typo"]), "a standard replica has an order of its own");
    let found = node.post("/1/indexes/v/query", json!({"facets": ["brand"]})).await;
    assert!(found["nbHits"] == 5 && found["facets"]["brand"].is_object(), "{found}");
}

#[actix_web::test]
async fn a_batch_that_deletes_a_primary_and_goes_on_unlinks_its_replicas_first() {
    let node = shop().await;
    node.settings("p", json!({"replicas": ["by_price", "virtual(relevant)"], "hitsPerPage": 3})).await;
    let requests = json!([
        {"action": "addObject", "body": {"objectID": "lost"}},
        {"action": "delete"},
        {"action": "addObject", "body": {"objectID": "new", "name": "phone"}},
    ]);
    node.write(Method::POST, "/1/indexes/p/batch", json!({"requests": requests})).await;
    assert_eq!(node.hits("p", json!({})).await, "new/1");
    let settings = node.get("/1/indexes/p/settings").await;
    assert_eq!((settings.get("replicas"), &settings["hitsPerPage"]), (None, &json!(20)));
    let settings = node.get("/1/indexes/by_price/settings").await;
    assert_eq!(settings.get("primary"), None);
    assert_eq!(node.post("/1/indexes/by_price/query", json!({})).await["nbHits"], 5);
    // each goes its own way
    node.write(Method::PUT, "/1/indexes/by_price/own", json!({})).await;
    assert_eq!(node.post("/1/indexes/by_price/query", json!({})).await["nbHits"], 6);
    // the same for several indices
    node.settings("p", json!({"replicas": ["twin"]})).await;
    let requests = json!([
        {"action": "delete", "indexName": "p"},
        {"action": "addObject", "indexName": "p", "body": {"objectID": "newer"}},
    ]);
    node.write(Method::POST, "/1/indexes/*/batch", json!({"requests": requests})).await;
    assert_eq!(node.hits("p", json!({})).await, "newer/1");
    assert_eq!(node.hits("twin", json!({})).await, "new/1");
}

/// `count` records whose prices begin with `count`.
fn priced(count: u64) -> Value {
    let record = |n: u64| {
        let body = json!({"objectID": n.to_string(), "name": "phone", "brand": "phone", "price": count + n});
        json!({"action": "addObject", "body": body})
    };
    json!({"requests": (0..count).rev().map(record).collect::<Vec<_>>()})
}

#[actix_web::test]
async fn a_replica_shows_the_old_records_until_it_shows_the_new_ones() {
    let node = shop().await;
    node.write(Method::POST, "/1/indexes/p/clear", json!({})).await;
    node.write(Method::POST, "/1/indexes/p/batch", priced(1_000)).await;
    // its files have to be rebuilt for its own attributes, as those of every replica with others
    node.settings("by_price", json!({"attributesForFaceting": ["brand", "price"]})).await;
    for (before, after) in [(1_000_u64, 1_500_u64), (1_500, 500), (500, 1_200)] {
        let temporary = "/1/indexes/p_tmp";
        let copied =
            json!({"operation": "copy", "destination": "p_tmp", "scope": ["settings", "rules", "synonyms"]});
        node.write(Method::POST, "/1/indexes/p/operation", copied).await;
        node.write(Method::POST, &format!("{temporary}/batch"), priced(after)).await;
        let is_moved = std::cell::Cell::new(false);
        let moving = async {
            let moved = json!({"operation": "move", "destination": "p"});
            node.write(Method::POST, &format!("{temporary}/operation"), moved).await;
            is_moved.set(true);
        };
        let looking = async {
            let mut looks = 0;
            while !is_moved.get() {
                let query = json!({"query": "phone", "hitsPerPage": 1});
                for index in ["by_price", "relevant"] {
                    let body = node.post(&format!("/1/indexes/{index}/query"), query.clone()).await;
                    let (hits, first) = (body["nbHits"].as_u64().unwrap(), &body["hits"][0]["price"]);
                    assert!(
                        hits == before || hits == after,
                        "{hits} in {index}, between {before} and {after}"
                    );
                    assert_eq!(first.as_u64(), Some(hits), "the cheapest of {hits} in {index}");
                }
                looks += 1;
                actix_rt::time::sleep(std::time::Duration::from_millis(1)).await;
            }
            assert!(looks > 3, "only {looks} looks");
        };
        futures_util::future::join(moving, looking).await;
        for index in ["p", "by_price", "relevant"] {
            let body = node.post(&format!("/1/indexes/{index}/query"), json!({"facets": ["price"]})).await;
            assert_eq!(body["nbHits"], after, "{index}");
        }
        let one = json!({"objectID": "later", "name": "phone", "price": 1});
        node.write(Method::PUT, "/1/indexes/p/later", one).await;
        assert_eq!(node.get("/1/indexes/by_price/later").await["price"], 1);
        node.write(Method::DELETE, "/1/indexes/p/later", json!({})).await;
    }
    let kept = node.get("/1/indexes/by_price/settings").await;
    assert_eq!(kept["ranking"], json!(["asc(price)", "typo", "words"]));
}
