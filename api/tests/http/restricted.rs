//! Does everything that a key forces hold, whatever else is asked for, and for calls that are no searches? (C§13.3)

use super::*;
use quorate_api::auth::TAG_FILTERS_BYTES_MAX;
use quorate_api::auth::secured::derive;
use serde_json::json;

/// Nine records in a row to the north; every third one has the same owner and group.
async fn nine(node: &Node) {
    let settings = json!({"attributesForFaceting": ["user", "group"], "attributeForDistinct": "group"});
    node.write(Method::PUT, "/1/indexes/g/settings", settings).await;
    let record = |n: usize| {
        json!({"action": "addObject", "body": {"objectID": format!("g{n}"), "text": format!("zeta{n}"), "user": format!("u{}", n % 3),
            "group": n % 3, "_geoloc": {"lat": n, "lng": 0}}})
    };
    let requests: Vec<Value> = (0..9).map(record).collect();
    node.write(Method::POST, "/1/indexes/g/batch", json!({"requests": requests})).await;
}
async fn key(node: &Node, body: Value) -> String {
    node.post("/1/keys", body).await["key"].as_str().unwrap().to_owned()
}
async fn hits(node: &Node, key: &str, body: Value) -> usize {
    let answer = node.call_with(key, Method::POST, "/1/indexes/g/query", &body.to_string()).await.success();
    answer["hits"].as_array().unwrap().len()
}

#[actix_web::test]
async fn nothing_wins_over_a_place_or_a_query_that_is_forced() {
    let node = Node::start().await;
    nine(&node).await;
    let everywhere = [
        json!({"insideBoundingBox": "-89,-179,89,179"}),
        json!({"insidePolygon": "-89,-170,-89,170,89,170,89,-170"}),
        json!({"aroundLatLng": "4,0", "aroundRadius": "all"}),
        json!({"similarQuery": "zeta5"}),
        json!({}),
    ];
    for (forced, expected) in [
        ("insidePolygon=[[-1,-1,-1,1,2.5,1,2.5,-1]]", 3),
        ("insideBoundingBox=-1,-1,2.5,1", 3),
        ("aroundLatLng=0,0&aroundRadius=200000", 2),
        ("query=nothinghere", 0),
    ] {
        let of_plain = derive(&node.search_key, forced);
        let parent = key(&node, json!({"acl": ["search"], "queryParameters": forced})).await;
        let of_parent = derive(&parent, "insideBoundingBox=-89,-179,89,179&similarQuery=zeta5");
        for asked in &everywhere {
            for key in [&of_plain, &parent, &of_parent] {
                let found = hits(&node, key, asked.clone()).await;
                // a place asked for beside a forced query only narrows
                assert!(found <= expected, "{forced} lets {asked} show {found}");
            }
        }
        assert_eq!(hits(&node, &of_plain, json!({})).await, expected, "{forced}");
    }
    let rule = json!({"consequence": {"params": {"insideBoundingBox": "-89,-179,89,179"}}});
    node.write(Method::PUT, "/1/indexes/g/rules/r", rule).await;
    let key = derive(&node.search_key, "insidePolygon=[[-1,-1,-1,1,2.5,1,2.5,-1]]");
    assert_eq!(hits(&node, &key, json!({})).await, 3, "no rule does either");
    let rule = json!({"consequence": {"promote": [{"objectID": "g8", "position": 0}]}});
    node.write(Method::PUT, "/1/indexes/g/rules/r", rule).await;
    assert_eq!(hits(&node, &key, json!({})).await, 3, "nor does one that promotes");
}

#[actix_web::test]
async fn what_cannot_be_forced_refuses_every_call() {
    let node = Node::start().await;
    nine(&node).await;
    for (wrong, named) in [
        ("params=filters%3Duser%3Au1", "params"),
        ("filter=user:u1", "filter"),
        ("attributesToRetreive=text", "attributesToRetreive"),
    ] {
        let body = json!({"acl": ["search"], "queryParameters": wrong}).to_string();
        let refused = node.call(Method::POST, "/1/keys", &body).await;
        assert_eq!(refused.status, 400, "{wrong}");
        let key = derive(&node.search_key, wrong);
        let objects = json!({"requests": [{"indexName": "g", "objectID": "g0"}]}).to_string();
        for (method, uri, body) in [
            (Method::POST, "/1/indexes/g/query", "{}"),
            (Method::GET, "/1/indexes/g/g0", ""),
            (Method::POST, "/1/indexes/*/objects", &objects),
        ] {
            let answer = node.call_with(&key, method, uri, body).await;
            let text = answer.json()["message"].to_string();
            assert!(answer.status == 400 && text.contains(named), "{wrong} {uri}: {text}");
        }
    }
}

#[actix_web::test]
async fn a_deletion_by_filters_reaches_only_what_the_key_shows() {
    let node = Node::start().await;
    nine(&node).await;
    let acl = json!(["search", "deleteIndex"]);
    let parent =
        key(&node, json!({"acl": acl, "queryParameters": "filters=user:u1 OR user:\"u \\\"2\""})).await;
    let plain = key(&node, json!({"acl": acl})).await;
    let polygon = "insidePolygon=[[-1,-1,-1,1,2.5,1,2.5,-1]]";
    let secured = derive(&plain, polygon);
    let south = key(&node, json!({"acl": acl, "queryParameters": polygon})).await;
    let widened = derive(&south, "insideBoundingBox=-89,-179,89,179");
    for (key, asked, left) in [
        (&parent, json!({"filters": "user:u0"}), 9),
        (&parent, json!({"params": "filters=user%3Au0"}), 9),
        (&parent, json!({"facetFilters": [["user:u0", "user:u1"]], "numericFilters": ["group>=0"]}), 6),
        (&secured, json!({"filters": "user:u0"}), 5),
        (&widened, json!({"filters": "user:u2"}), 4),
    ] {
        let body = asked.to_string();
        let answer = node.call_with(key, Method::POST, "/1/indexes/g/deleteByQuery", &body).await.success();
        node.waited(answer).await;
        assert_eq!(hits(&node, ADMIN, json!({})).await, left, "{asked}");
    }
    // both places would have to hold, and one of them nobody can write down
    for (key, asked, status) in [
        (&secured, json!({"insideBoundingBox": "-89,-179,89,179"}), 400),
        (&widened, json!({"aroundLatLng": "0,0", "aroundRadius": "all"}), 400),
        (&derive(&plain, "aroundLatLngViaIP=1&aroundRadius=10"), json!({"filters": "group>=0"}), 403),
        (&derive(&plain, "aroundRadius=all"), json!({"aroundLatLng": "0,0", "aroundRadius": 10}), 400),
    ] {
        let answer =
            node.call_with(key, Method::POST, "/1/indexes/g/deleteByQuery", &asked.to_string()).await;
        assert_eq!(answer.status.as_u16(), status, "{asked}");
    }
    assert_eq!(hits(&node, ADMIN, json!({})).await, 4);
}

#[actix_web::test]
async fn groups_show_no_more_than_the_key_allows() {
    let node = Node::start().await;
    nine(&node).await;
    let key = key(&node, json!({"acl": ["search"], "maxHitsPerQuery": 2})).await;
    for distinct in [0, 1, 3] {
        assert_eq!(hits(&node, &key, json!({"distinct": distinct})).await, 2, "{distinct}");
    }
    // and no group is on no page
    let mut groups = vec![];
    for page in 0..2 {
        let body = json!({"distinct": 3, "page": page}).to_string();
        let answer = node.call_with(&key, Method::POST, "/1/indexes/g/query", &body).await.success();
        let hits = answer["hits"].as_array().unwrap().clone();
        assert!(hits.len() <= 2, "{answer}");
        groups.extend(hits.iter().map(|hit| hit["group"].clone()));
    }
    groups.dedup();
    assert_eq!(groups.len(), 3, "{groups:?}");
}

#[actix_web::test]
async fn no_suggestions_are_made_by_who_sees_less_or_in_place_of_records() {
    let node = Node::start().await;
    nine(&node).await;
    let sees_less =
        derive(&key(&node, json!({"acl": ["settings", "editSettings"]})).await, "filters=user:u1");
    let only_settings = key(&node, json!({"acl": ["settings", "editSettings"]})).await;
    let config =
        |index: &str| json!({"indexName": index, "sourceIndices": [{"indexName": "other"}]}).to_string();
    for (key, index, expected) in [
        (&sees_less, "sg", "This API key forces parameters"),
        (&only_settings, "g", "The provided API key is missing the \"addObject\" ACL."),
    ] {
        for (method, uri) in
            [(Method::POST, "/1/configs".to_owned()), (Method::PUT, format!("/1/configs/{index}"))]
        {
            node.call_with(key, method, &uri, &config(index)).await.refused(401, expected);
        }
    }
    assert_eq!(hits(&node, ADMIN, json!({})).await, 9);
}

#[actix_web::test]
async fn a_mistyped_source_of_a_part_costs_nothing() {
    let node = Node::start().await;
    nine(&node).await;
    let copy = |to: &str| json!({"operation": "copy", "destination": to, "scope": ["settings", "rules"]});
    node.write(Method::POST, "/1/indexes/none/operation", copy("g")).await;
    assert_eq!(node.get("/1/indexes/g/settings").await["attributeForDistinct"], "group");
    // clients copy so twice when they replace all records of an index that is not there yet
    for _ in 0..2 {
        node.write(Method::POST, "/1/indexes/none/operation", copy("new")).await;
        node.write(Method::PUT, "/1/indexes/new/1", json!({"a": 1})).await;
    }
    assert_eq!(node.get("/1/indexes/new/1").await["a"], 1);
}

#[actix_web::test]
async fn who_leaves_out_the_name_of_a_record_deletes_no_index() {
    let node = Node::start().await;
    nine(&node).await;
    node.write(Method::PUT, "/1/indexes/g/rules", json!({"a": 1})).await;
    for path in ["/1/indexes/g/", "/1/indexes/g/rules/"] {
        node.call(Method::DELETE, path, "").await.refused(400, "The path ends with a slash");
    }
    node.call(Method::DELETE, "/1/indexes/", "").await.refused(405, "Method not allowed");
    assert_eq!(hits(&node, ADMIN, json!({"hitsPerPage": 20, "distinct": 0})).await, 10);
}

#[actix_web::test]
async fn a_user_that_the_key_names_is_who_is_counted() {
    let node = Node::start().await;
    nine(&node).await;
    let body = json!({"acl": ["search"], "maxQueriesPerIPPerHour": 3, "queryParameters": "userToken=aa"});
    let parent = key(&node, body).await;
    for n in 0..5 {
        let secured = derive(&parent, &format!("userToken=t{n}"));
        let answer = node.call_with(&secured, Method::POST, "/1/indexes/g/query", "{}").await;
        assert_eq!(answer.status, if n < 3 { 200 } else { 429 }, "{n}");
    }
}

#[actix_web::test]
async fn tags_of_a_header_hold_for_everything_that_is_read() {
    let node = Node::start().await;
    let records = json!({"requests": [
        {"action": "addObject", "body": {"objectID": "a", "_tags": ["public", "old"]}},
        {"action": "addObject", "body": {"objectID": "b", "_tags": ["public"]}},
        {"action": "addObject", "body": {"objectID": "c", "_tags": ["secret"]}},
    ]});
    node.write(Method::POST, "/1/indexes/t/batch", records).await;
    let key = key(&node, json!({"acl": ["search", "browse"]})).await;
    let asked = async |method: Method, uri: &str, body: &str, tags: &str| {
        let call = test::TestRequest::with_uri(uri).method(method);
        let call = call.insert_header(("X-Algolia-Application-Id", APP));
        let call = call.insert_header(("X-Algolia-API-Key", key.as_str()));
        node.send(call.insert_header(("X-Algolia-TagFilters", tags)).set_payload(body.to_owned())).await
    };
    let shown = |answer: Value| {
        let hits = answer["hits"].as_array().unwrap();
        let mut ids: Vec<_> = hits.iter().map(|hit| hit["objectID"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids.concat()
    };
    for (tags, expected) in
        [("public", "ab"), ("public,old", "a"), ("(secret,old)", "ac"), ("-public", "c"), ("", "abc")]
    {
        for uri in ["/1/indexes/t/query", "/1/indexes/t/browse"] {
            let found = asked(Method::POST, uri, r#"{"filters":"NOT _tags:none"}"#, tags).await.success();
            assert_eq!(shown(found), expected, "{uri} with {tags:?}");
        }
    }
    let body = r#"{"requests":[{"indexName":"t","tagFilters":"secret"}]}"#;
    let both = asked(Method::POST, "/1/indexes/*/queries", body, "public").await.success();
    assert_eq!(both["results"][0]["nbHits"], 0, "they hold beside those of the call");
    asked(Method::GET, "/1/indexes/t/c", "", "public").await.refused(404, "ObjectID does not exist");
    asked(Method::GET, "/1/indexes/t/b", "", "public").await.success();
    let in_url = "/1/indexes/t?x-algolia-tagfilters=old";
    assert_eq!(shown(asked(Method::GET, in_url, "", "").await.success()), "a");
    for no_text in ["/1/indexes/t?x-algolia-tagfilters=-%FF", "/1/indexes/t/c?x-algolia-tagfilters=-%FF"] {
        assert_eq!(asked(Method::GET, no_text, "", "").await.status.as_u16(), 400, "{no_text}");
    }
    let most = format!("{},", "x".repeat(511)).repeat(TAG_FILTERS_BYTES_MAX / 512);
    asked(Method::POST, "/1/indexes/t/query", "{}", &most).await.success();
    let past = asked(Method::POST, "/1/indexes/t/query", "{}", &format!("{most}a")).await;
    past.refused(400, "Invalid value for \"X-Algolia-TagFilters\" parameter, expected at most 4096 bytes");
    for wrong in ["- old", "public,-(old)", "-\told", &"a,".repeat(3_000)] {
        let answer = asked(Method::POST, "/1/indexes/t/query", "{}", wrong).await;
        answer.refused(400, "Invalid value for \"X-Algolia-TagFilters\" parameter, expected");
    }
    let as_admin =
        test::TestRequest::get().uri("/1/indexes/t").insert_header(("X-Algolia-TagFilters", "old"));
    let as_admin = as_admin.insert_header(("X-Algolia-Application-Id", APP));
    let as_admin = node.send(as_admin.insert_header(("X-Algolia-API-Key", ADMIN))).await;
    as_admin.refused(400, "X-Algolia-TagFilters restricts nothing with the admin key");
}
