//! Do records, settings, indices and searches answer with the bodies clients decode?
//!
//! - `POST /1/indexes/{indexName}/query`: search
//! - `GET /1/indexes/{indexName}`: search
//! - `POST /1/indexes/*/queries`: search
//! - `POST /1/indexes/{indexName}/facets/{facetName}/query`: search
//! - `POST /1/indexes/{indexName}/browse`: browse
//! - `GET /1/indexes/{indexName}/browse`: browse
//! - `POST /1/indexes/{indexName}`: addObject
//! - `PUT /1/indexes/{indexName}/{objectID}`: addObject
//! - `DELETE /1/indexes/{indexName}/{objectID}`: deleteObject
//! - `POST /1/indexes/{indexName}/deleteByQuery`: deleteIndex
//! - `POST /1/indexes/{indexName}/clear`: deleteIndex
//! - `POST /1/indexes/{indexName}/{objectID}/partial`: addObject
//! - `POST /1/indexes/{indexName}/batch`: each
//! - `POST /1/indexes/*/batch`: each
//! - `POST /1/indexes/*/objects`: search
//! - `GET /1/indexes/{indexName}/{objectID}`: search
//! - `GET /1/indexes/{indexName}/settings`: settings
//! - `PUT /1/indexes/{indexName}/settings`: editSettings
//! - `DELETE /1/indexes/{indexName}`: deleteIndex
//! - `POST /1/indexes/{indexName}/operation`: addObject
//! - `GET /1/indexes`: listIndexes
//! - `GET /1/indexes/{indexName}/task/{taskID}`: addObject
//! - `GET /1/task/{taskID}`: editSettings

use super::*;
use serde_json::json;

fn is_time(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T')
}

#[actix_web::test]
async fn records_come_back_as_written() {
    let node = Node::start().await;
    let added = node.call(Method::POST, "/1/indexes/i", r#"{"name":"first","n":1.0}"#).await;
    assert_eq!(added.status, 201);
    let added = added.json();
    assert!(is_time(&added["createdAt"]) && is_time(&added["updatedAt"]), "{added}");
    let id = added["objectID"].as_str().unwrap().to_owned();
    node.wait(added["taskID"].as_u64().unwrap()).await;
    let record = node.call(Method::GET, &format!("/1/indexes/i/{id}"), "").await;
    assert!(String::from_utf8_lossy(&record.bytes).contains("1.0"), "numbers keep their text: {record:?}");

    let put = node.call(Method::PUT, "/1/indexes/i/path", r#"{"objectID":"body","a":1}"#).await;
    assert_eq!((put.status.as_u16(), &put.json()["objectID"]), (201, &json!("path")));
    let partial = json!({"a": {"_operation": "Increment", "value": 2}, "b": "new"});
    let answer = node.write(Method::POST, "/1/indexes/i/path/partial", partial).await;
    assert_eq!(answer["objectID"], "path");
    assert_eq!(node.get("/1/indexes/i/path").await, json!({"objectID": "path", "a": 3, "b": "new"}));
    node.write(Method::POST, "/1/indexes/i/none/partial?createIfNotExists=false", json!({"a": 1})).await;
    node.call(Method::GET, "/1/indexes/i/none", "").await.refused(404, "ObjectID does not exist");

    let objects =
        json!({"requests": [{"indexName": "i", "objectID": "path"}, {"indexName": "i", "objectID": "none"}]});
    let found = node.post("/1/indexes/*/objects", objects).await;
    assert_eq!((&found["results"][0]["a"], &found["results"][1]), (&json!(3), &Value::Null));
    let deleted = node.write(Method::DELETE, "/1/indexes/i/path", json!({})).await;
    assert!(is_time(&deleted["deletedAt"]));
    node.call(Method::GET, "/1/indexes/i/path", "").await.refused(404, "ObjectID does not exist");
    node.call(Method::GET, "/1/indexes/missing/o", "").await.refused(404, "Index missing does not exist");
}

#[actix_web::test]
async fn batches_apply_in_order() {
    let node = Node::start().await;
    let body = json!({"requests": [
        {"action": "addObject", "body": {"objectID": "1", "a": 1}},
        {"action": "partialUpdateObject", "body": {"objectID": "1", "b": 2}},
        {"action": "updateObject", "body": {"objectID": 2, "a": 1}},
        {"action": "deleteObject", "body": {"objectID": "2"}},
        {"action": "addObject", "body": {"a": 9}}]});
    let answer = node.write(Method::POST, "/1/indexes/i/batch", body).await;
    let ids = answer["objectIDs"].as_array().unwrap();
    assert_eq!((ids.len(), &ids[..4]), (5, &[json!("1"), json!("1"), json!("2"), json!("2")][..]));
    assert_eq!(node.get("/1/indexes/i/1").await, json!({"objectID": "1", "a": 1, "b": 2}));
    node.call(Method::GET, "/1/indexes/i/2", "").await.refused(404, "ObjectID does not exist");
    let body = json!({"requests": [
        {"indexName": "x", "action": "addObject", "body": {"objectID": "1"}},
        {"indexName": "y", "action": "addObject", "body": {"objectID": "2"}}]});
    let answer = node.write(Method::POST, "/1/indexes/*/batch", body).await;
    assert!(answer["taskID"]["x"].is_u64() && answer["taskID"]["y"].is_u64(), "{answer}");
    assert_eq!(answer["objectIDs"], json!(["1", "2"]));
}

#[actix_web::test]
async fn names_hold_any_character() {
    let node = Node::start().await;
    for (path, name) in [("a%20b%2Fc%25d", "a b/c%d"), ("%E6%97%A5%E6%9C%AC", "日本"), ("x+y", "x+y")] {
        node.write(Method::PUT, &format!("/1/indexes/{path}/i%2Fd%20%25"), json!({"a": 1})).await;
        let record = node.get(&format!("/1/indexes/{path}/i%2Fd%20%25")).await;
        assert_eq!(record["objectID"], "i/d %");
        let names: Vec<Value> = node.get("/1/indexes").await["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["name"].clone())
            .collect();
        assert!(names.contains(&json!(name)), "{names:?}");
    }
    node.call(Method::POST, "/1/indexes/*", "{}").await.refused(400, "indexName is not valid");
    let long = "n".repeat(257);
    node.call(Method::POST, &format!("/1/indexes/{long}"), "{}").await.refused(400, "indexName is not valid");
}

#[actix_web::test]
async fn searches_have_the_members_of_the_contract() {
    let node = Node::start().await;
    let requests: Vec<Value> = (0..3)
        .map(|n| json!({"action": "addObject", "body": {"objectID": n.to_string(), "name": format!("lamp {n}")}}))
        .collect();
    node.write(Method::POST, "/1/indexes/i/batch", json!({"requests": requests})).await;
    let body = node
        .post("/1/indexes/i/query", json!({"query": "lamp", "hitsPerPage": 2, "clickAnalytics": true}))
        .await;
    assert_eq!((&body["nbHits"], body["hits"].as_array().unwrap().len()), (&json!(3), 2));
    for member in
        ["page", "nbPages", "hitsPerPage", "exhaustiveNbHits", "exhaustive", "query", "processingTimeMS"]
    {
        assert!(body.get(member).is_some(), "{member}: {body}");
    }
    assert_eq!((&body["renderingContent"], body.get("index")), (&json!({}), None));
    let query_id = body["queryID"].as_str().unwrap();
    assert!(
        query_id.len() == 32 && query_id.bytes().all(|c| c.is_ascii_hexdigit() && !c.is_ascii_uppercase())
    );
    assert_eq!(
        node.get("/1/indexes/i?query=lamp&hitsPerPage=1&x-algolia-agent=a").await["params"],
        "query=lamp&hitsPerPage=1"
    );
    let fields = node.post("/1/indexes/i/query", json!({"responseFields": ["nbHits"]})).await;
    assert_eq!(fields, json!({"nbHits": 3}));
    let params = node
        .post("/1/indexes/i/query", json!({"params": "query=lamp+1&hitsPerPage=5", "query": "lamp"}))
        .await;
    assert_eq!((&params["query"], &params["hitsPerPage"]), (&json!("lamp"), &json!(5)));
    node.call(Method::POST, "/1/indexes/missing/query", "{}")
        .await
        .refused(404, "Index missing does not exist");
}

#[actix_web::test]
async fn multi_queries_run_in_order_and_stop_when_told() {
    let node = Node::start().await;
    let add = |n: u32| json!({"action": "addObject", "body": {"objectID": n.to_string()}});
    for index in ["a", "b"] {
        let body = json!({"requests": [add(1), add(2)]});
        node.write(Method::POST, &format!("/1/indexes/{index}/batch"), body).await;
    }
    let requests = json!([{"indexName": "a", "params": "hitsPerPage=2"}, {"indexName": "b", "hitsPerPage": 2, "query": ""}]);
    let both = node.post("/1/indexes/*/queries", json!({"requests": requests})).await;
    assert_eq!((&both["results"][0]["index"], &both["results"][1]["nbHits"]), (&json!("a"), &json!(2)));
    assert!(both["results"][0].get("processed").is_none());
    let stopped = json!({"requests": requests, "strategy": "stopIfEnoughMatches"});
    let one = node.post("/1/indexes/%2A/queries", stopped).await;
    assert_eq!(
        (&one["results"][0]["processed"], one["results"][0]["hits"].as_array().unwrap().len()),
        (&json!(true), 2)
    );
    assert_eq!((&one["results"][1]["processed"], &one["results"][1]["hits"]), (&json!(false), &json!([])));
    assert_eq!(one["results"][1]["hitsPerPage"], 2);
    // a query that was left out shows the page its index would have had; a missing index is not noticed
    node.write(Method::PUT, "/1/indexes/b/settings", json!({"hitsPerPage": 7})).await;
    let requests =
        json!([{"indexName": "a", "hitsPerPage": 2}, {"indexName": "b"}, {"indexName": "missing"}]);
    let left_out = json!({"requests": requests, "strategy": "stopIfEnoughMatches"});
    let shown = node.post("/1/indexes/*/queries", left_out).await;
    let pages: Vec<&Value> = shown["results"].as_array().unwrap().iter().map(|r| &r["hitsPerPage"]).collect();
    assert_eq!(json!(pages), json!([2, 7, 20]));
    let failing = json!({"requests": [{"indexName": "a"}, {"indexName": "missing"}]}).to_string();
    node.call(Method::POST, "/1/indexes/*/queries", &failing)
        .await
        .refused(404, "Index missing does not exist");
    assert_eq!(node.post("/1/indexes/*/queries", json!({"requests": []})).await, json!({"results": []}));
}

#[actix_web::test]
async fn browsing_ends_without_a_cursor() {
    let node = Node::start().await;
    let requests: Vec<Value> =
        (0..5).map(|n| json!({"action": "addObject", "body": {"objectID": n.to_string()}})).collect();
    node.write(Method::POST, "/1/indexes/i/batch", json!({"requests": requests})).await;
    let mut page = node.post("/1/indexes/i/browse", json!({"hitsPerPage": 2})).await;
    let mut seen = Vec::new();
    for _ in 0..10 {
        seen.extend(
            page["hits"].as_array().unwrap().iter().map(|hit| hit["objectID"].as_str().unwrap().to_owned()),
        );
        let Some(cursor) = page["cursor"].as_str().map(str::to_owned) else { break };
        page = if seen.len() == 2 {
            node.post("/1/indexes/i/browse", json!({"cursor": cursor})).await
        } else {
            node.get(&format!("/1/indexes/i/browse?cursor={cursor}")).await
        };
        assert_eq!(page["hitsPerPage"], 2, "the cursor remembers what was asked");
    }
    seen.sort();
    assert_eq!(seen, ["0", "1", "2", "3", "4"]);
    assert!(page.get("cursor").is_none());
}

#[actix_web::test]
async fn browsing_starts_at_the_page_asked_for() {
    let node = Node::start().await;
    let requests: Vec<Value> =
        (0..5).map(|n| json!({"action": "addObject", "body": {"objectID": n.to_string()}})).collect();
    node.write(Method::POST, "/1/indexes/i/batch", json!({"requests": requests})).await;
    let ids = |page: &Value| -> Vec<String> {
        let hits = page["hits"].as_array().unwrap();
        hits.iter().map(|hit| hit["objectID"].as_str().unwrap().to_owned()).collect()
    };
    let all = ids(&node.post("/1/indexes/i/browse", json!({})).await);
    let second = node.post("/1/indexes/i/browse", json!({"page": 1, "hitsPerPage": 2})).await;
    assert_eq!((ids(&second), &second["page"]), (all[2..4].to_vec(), &json!(1)));
    let cursor = second["cursor"].as_str().unwrap();
    let third = node.post("/1/indexes/i/browse", json!({"cursor": cursor})).await;
    assert_eq!((ids(&third), third.get("cursor")), (all[4..].to_vec(), None));
    for beyond in [3, u64::MAX] {
        let page = node.post("/1/indexes/i/browse", json!({"page": beyond, "hitsPerPage": 2})).await;
        assert_eq!((ids(&page), page.get("cursor"), &page["nbHits"]), (vec![], None, &json!(5)));
    }
}

#[actix_web::test]
async fn settings_indices_and_tasks() {
    let node = Node::start().await;
    node.call(Method::GET, "/1/indexes/i/settings", "").await.refused(404, "Index i does not exist");
    node.write(
        Method::PUT,
        "/1/indexes/i/settings",
        json!({"hitsPerPage": 7, "attributesForFaceting": ["searchable(c)"]}),
    )
    .await;
    let settings = node.get("/1/indexes/i/settings?getVersion=2").await;
    assert_eq!(
        (&settings["hitsPerPage"], &settings["attributesForFaceting"]),
        (&json!(7), &json!(["searchable(c)"]))
    );
    node.write(Method::PUT, "/1/indexes/i/settings", json!({"hitsPerPage": null})).await;
    assert_eq!(node.get("/1/indexes/i/settings").await["hitsPerPage"], 20);
    node.write(Method::POST, "/1/indexes/i/operation", json!({"operation": "copy", "destination": "j"}))
        .await;
    let moved = node
        .write(Method::POST, "/1/indexes/j/operation", json!({"operation": "move", "destination": "k"}))
        .await;
    assert!(is_time(&moved["updatedAt"]));
    let list = node.get("/1/indexes?page=0").await;
    assert_eq!(list["nbPages"], 1);
    let names: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["i", "k"]);
    assert!(
        list["items"][0]["numberOfPendingTasks"].is_u64() && list["items"][0]["numberOfPendingTask"].is_u64()
    );
    let task = node.write(Method::DELETE, "/1/indexes/k", json!({})).await["taskID"].as_u64().unwrap();
    assert_eq!(node.get(&format!("/1/task/{task}")).await["status"], "published");
    assert_eq!(node.get("/1/indexes/gone/task/9007199254740991").await["status"], "notPublished");
    node.call(Method::GET, "/1/indexes/i/task/x", "")
        .await
        .refused(400, "Invalid value for \"taskID\" parameter");
}

#[actix_web::test]
async fn facet_values_are_searched_alone_and_beside_queries() {
    let node = Node::start().await;
    node.write(
        Method::PUT,
        "/1/indexes/i/settings",
        json!({"attributesForFaceting": ["searchable(color)", "size"]}),
    )
    .await;
    let colors = ["red", "red", "rose", "blue"];
    let requests: Vec<Value> = (0..4)
        .map(|n| json!({"action": "addObject", "body": {"objectID": n.to_string(), "color": colors[n], "size": n}}))
        .collect();
    node.write(Method::POST, "/1/indexes/i/batch", json!({"requests": requests})).await;
    let hits = json!([
        {"value": "red", "highlighted": "<em>r</em>ed", "count": 2},
        {"value": "rose", "highlighted": "<em>r</em>ose", "count": 1}]);
    let found = node.post("/1/indexes/i/facets/color/query", json!({"facetQuery": "r"})).await;
    assert_eq!((&found["facetHits"], &found["exhaustiveFacetsCount"]), (&hits, &json!(true)), "{found}");
    let embedded = node
        .post("/1/indexes/i/facets/color/query", json!({"params": "facetQuery=r&filters=size%3A2"}))
        .await;
    assert_eq!(embedded["facetHits"], json!([hits[1]]), "{embedded}");
    let narrow = node.key(json!({"acl": ["search"], "queryParameters": "facetQuery=r"})).await;
    for body in ["{}", r#"{"facetQuery": "b"}"#, r#"{"params": "facetQuery=b"}"#] {
        let forced = node.call_with(&narrow, Method::POST, "/1/indexes/i/facets/color/query", body).await;
        assert_eq!(forced.success()["facetHits"], found["facetHits"], "{body}");
    }
    node.call(Method::POST, "/1/indexes/i/facets/size/query", "{}").await.refused(
        400,
        "Cannot search in `size` attribute, you need to add `searchable(size)` to attributesForFaceting.",
    );
    node.call(Method::POST, "/1/indexes/none/facets/size/query", "")
        .await
        .refused(404, "Index none does not exist");
    let requests = json!([
        {"indexName": "i", "type": "facet", "facet": "color", "facetQuery": "r", "maxFacetHits": 1},
        {"indexName": "i", "type": "default", "facets": "color", "hitsPerPage": 0}]);
    let both = node.post("/1/indexes/*/queries", json!({"requests": requests})).await;
    assert_eq!(both["results"][0]["facetHits"], json!([hits[0]]), "{both}");
    assert_eq!(both["results"][0].get("hits"), None, "clients tell results apart by their members");
    assert_eq!(both["results"][1]["facets"], json!({"color": {"red": 2, "blue": 1, "rose": 1}}), "{both}");
    node.call(Method::POST, "/1/indexes/*/queries", r#"{"requests":[{"indexName":"i","type":"facet"}]}"#)
        .await
        .refused(400, "facet is required");
}

#[actix_web::test]
async fn records_are_removed_by_filter_and_all_at_once() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/settings", json!({"hitsPerPage": 5})).await;
    let requests: Vec<Value> = (0..4)
        .map(|n| json!({"action": "addObject", "body": {"objectID": n.to_string(), "_tags": [if n < 2 { "old" } else { "new" }]}}))
        .collect();
    node.write(Method::POST, "/1/indexes/i/batch", json!({"requests": requests})).await;
    let removed =
        node.write(Method::POST, "/1/indexes/i/deleteByQuery", json!({"params": "tagFilters=old"})).await;
    assert!(is_time(&removed["deletedAt"]) && is_time(&removed["updatedAt"]), "{removed}");
    assert_eq!(node.post("/1/indexes/i/query", json!({})).await["nbHits"], 2);
    node.call(Method::POST, "/1/indexes/i/deleteByQuery", r#"{"query":"x","filters":"a:b"}"#)
        .await
        .refused(400, "");
    node.write(Method::POST, "/1/indexes/i/clear", json!({})).await;
    assert_eq!(node.post("/1/indexes/i/query", json!({})).await["nbHits"], 0);
    assert_eq!(node.get("/1/indexes/i/settings").await["hitsPerPage"], 5, "settings stay");
    assert_eq!(
        node.write(Method::POST, "/1/indexes/i/batch", json!({"requests": []})).await["objectIDs"],
        json!([])
    );
}

#[actix_web::test]
async fn a_browse_goes_on_as_it_began_or_says_that_it_cannot() {
    let node = Node::start().await;
    let settings = json!({"attributesForFaceting": ["n"], "customRanking": ["desc(n)"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let records: Vec<Value> = (1..=4)
        .map(|n| json!({"action": "addObject", "body": {"objectID": n.to_string(), "n": n}}))
        .collect();
    node.write(Method::POST, "/1/indexes/i/batch", json!({"requests": records})).await;
    let browse = async |body: Value| node.call(Method::POST, "/1/indexes/i/browse", &body.to_string()).await;
    let first = browse(json!({"params": "filters=n%3E2&hitsPerPage=1"})).await.success();
    let cursor = first["cursor"].as_str().unwrap();
    for repeated in [json!({"hitsPerPage": 1}), json!({"params": "hitsPerPage=1"}), json!({})] {
        let mut body = repeated;
        body["cursor"] = json!(cursor);
        let next = browse(body).await.success();
        assert_eq!((next["nbHits"].as_u64(), &next["hits"][0]["n"]), (Some(2), &json!(3)), "{next}");
    }
    // as client 5 does it, with all parameters beside each cursor
    let (mut cursors, mut asked) = (vec![], json!({"filters": "n > 0", "hitsPerPage": 1}));
    while let Some(cursor) = browse(asked.clone()).await.success()["cursor"].as_str() {
        cursors.push(cursor.len());
        asked["cursor"] = json!(cursor);
    }
    assert!(cursors.len() == 3 && cursors.iter().all(|it| *it <= cursors[0] + 8), "{cursors:?}");
    let wider = browse(json!({"cursor": cursor, "params": "filters=n%3E1"})).await.success();
    assert_eq!(wider["nbHits"], 3, "what is repeated may change");
    for damaged in [&cursor[..cursor.len() - 2], &format!("{cursor}A")] {
        browse(json!({"cursor": damaged})).await.refused(400, "Invalid value for \"cursor\" parameter");
    }
    for other in [
        json!({"customRanking": ["asc(n)"]}),
        json!({"customRanking": [], "ranking": ["asc(n)", "typo", "custom"]}),
        json!({"customRanking": [], "ranking": ["typo", "custom"]}),
    ] {
        node.write(Method::PUT, "/1/indexes/i/settings", other).await;
        let refused =
            browse(json!({"cursor": cursor})).await.refused(400, "Invalid value for \"cursor\" parameter");
        assert!(
            refused["message"].as_str().unwrap().contains("the order of records has changed"),
            "{refused}"
        );
    }
    let before = json!({"customRanking": ["desc(n)"], "ranking": null});
    node.write(Method::PUT, "/1/indexes/i/settings", before).await;
    assert_eq!(browse(json!({"cursor": cursor})).await.success()["hits"][0]["n"], 3, "it is what it was");
}
