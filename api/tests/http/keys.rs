//! Are credentials found wherever clients put them, and rights kept?

use super::*;
use quorate_api::auth::secured::derive;
use serde_json::json;

const INVALID: &str = "Invalid Application-ID or API key";

#[actix_web::test]
async fn credentials_in_headers_query_and_body() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"a": 1})).await;
    let post = |uri: String| test::TestRequest::post().uri(&uri);
    let query = "/1/indexes/i/query";
    node.send(post(query.into())).await.refused(403, INVALID);
    let service = post(query.into())
        .insert_header(("X-Service-Application-Id", APP))
        .insert_header(("X-Service-API-Key", node.search_key.as_str()));
    node.send(service).await.success();
    let url = format!(
        "{query}?X-Algolia-Application-Id={APP}&x-algolia-API-key={}&x-algolia-agent=x",
        node.search_key
    );
    node.send(post(url)).await.success();
    let in_body = format!(r#"{{"query":"","apiKey":"{}"}}"#, node.search_key);
    let answer =
        node.send(post(format!("{query}?x-algolia-application-id={APP}")).set_payload(in_body)).await;
    assert_eq!(answer.success()["params"], "query=", "the key is not echoed");
    // one that is so long that another thread looks for the key in it
    let long = format!(r#"{{"query":"",{}"apiKey":"{}"}}"#, " ".repeat(300 << 10), node.search_key);
    node.send(post(format!("{query}?x-algolia-application-id={APP}")).set_payload(long)).await.success();
    node.call_with("wrong", Method::POST, query, "{}").await.refused(403, INVALID);
    node.call_with("", Method::POST, query, "{}").await.refused(403, INVALID);
    let other = post(query.into()).insert_header(("X-Algolia-Application-Id", "OTHER"));
    node.send(other.insert_header(("X-Algolia-API-Key", ADMIN))).await.refused(403, INVALID);
}

#[actix_web::test]
async fn a_search_key_reads_and_does_not_write() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"a": 1})).await;
    let key = node.search_key.clone();
    let call =
        |method: Method, uri: &'static str, body: &'static str| node.call_with(&key, method, uri, body);
    call(Method::POST, "/1/indexes/i/query", "").await.success();
    call(Method::GET, "/1/indexes/i/o", "").await.success();
    for (method, uri, body) in [
        (Method::POST, "/1/indexes/i", "{}"),
        (Method::PUT, "/1/indexes/i/o", "{}"),
        (Method::DELETE, "/1/indexes/i", ""),
        (Method::PUT, "/1/indexes/i/settings", "{}"),
        (Method::GET, "/1/keys", ""),
        (Method::POST, "/1/indexes/*/batch", r#"{"requests":[]}"#),
    ] {
        call(method, uri, body).await.refused(403, "Method not allowed with this API key");
    }
    let batch = r#"{"requests":[{"action":"addObject","body":{"objectID":"1"}}]}"#;
    call(Method::POST, "/1/indexes/i/batch", batch)
        .await
        .refused(400, "Not enough rights to update an object near line:1 column:");
}

#[actix_web::test]
async fn secured_keys_force_what_they_embed() {
    let node = Node::start().await;
    for index in ["open", "shut"] {
        let body = json!({"requests": [
            {"action": "addObject", "body": {"objectID": "1"}}, {"action": "addObject", "body": {"objectID": "2"}}]});
        node.write(Method::POST, &format!("/1/indexes/{index}/batch"), body).await;
    }
    let key = derive(&node.search_key, "hitsPerPage=1&restrictIndices=open&userToken=u");
    let answer =
        node.call_with(&key, Method::POST, "/1/indexes/open/query", r#"{"hitsPerPage":50}"#).await.success();
    assert_eq!(
        (answer["hits"].as_array().unwrap().len(), &answer["hitsPerPage"]),
        (1, &json!(1)),
        "{answer}"
    );
    assert_eq!(answer["params"], "hitsPerPage=50", "what the key forces does not show");
    let answer = node.call_with(&key, Method::GET, "/1/indexes/open?hitsPerPage=50", "").await.success();
    assert_eq!(answer["hitsPerPage"], 1);
    node.call_with(&key, Method::POST, "/1/indexes/shut/query", "").await.refused(403, "Index not allowed");
    let multi = json!({"requests": [{"indexName": "open"}, {"indexName": "shut"}]}).to_string();
    node.call_with(&key, Method::POST, "/1/indexes/*/queries", &multi)
        .await
        .refused(403, "Index not allowed");
    let expired = derive(&node.search_key, "validUntil=1000");
    node.call_with(&expired, Method::POST, "/1/indexes/open/query", "")
        .await
        .refused(400, "validUntil parameter expired (less than current date)");
    let filtered = derive(&node.search_key, "filters=a%3Ab");
    node.call_with(&filtered, Method::GET, "/1/indexes/open/1", "")
        .await
        .refused(404, "ObjectID does not exist");
    let unreadable = derive(&node.search_key, "filters=a%3A%3A(");
    let by_id = node.call_with(&unreadable, Method::GET, "/1/indexes/open/1", "").await;
    by_id.refused(400, "filters: ");
}

#[actix_web::test]
async fn stars_hide_all_attributes_or_what_is_below_one() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/1", json!({"name": "ann", "cost": {"net": 1}})).await;
    for (hidden, expected) in [
        (json!(["*"]), json!({"objectID": "1"})),
        (json!(["cost.*"]), json!({"name": "ann", "objectID": "1"})),
    ] {
        let settings =
            json!({"unretrievableAttributes": hidden, "attributesForFaceting": ["name", "cost.net"]});
        node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
        let asked = json!({"query": "ann", "facets": ["*"], "attributesToRetrieve": ["*"]}).to_string();
        let found =
            node.call_with(&node.search_key, Method::POST, "/1/indexes/i/query", &asked).await.success();
        let mut hit = found["hits"][0].clone();
        let marked = hit.as_object_mut().unwrap().remove("_highlightResult").unwrap_or_default();
        assert_eq!(hit, expected, "{found}");
        assert_eq!((marked["name"].is_null(), marked["cost"].is_null()), (hit["name"].is_null(), true));
        assert_eq!(
            (found["facets"]["name"].is_null(), found["facets"]["cost.net"].is_null()),
            (hit["name"].is_null(), true)
        );
        let whole = node.get("/1/indexes/i/1").await;
        assert_eq!(whole["cost"]["net"], 1, "with the admin key");
    }
}

#[actix_web::test]
async fn what_a_key_may_not_see_shows_nowhere() {
    let node = Node::start().await;
    let settings = json!({
        "attributesForFaceting": ["searchable(team)", "searchable(salary)", "searchable(secret)"],
        "unretrievableAttributes": ["secret"],
    });
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let record = json!({"name": "ann", "team": "red", "salary": "much", "secret": "tattoo"});
    node.write(Method::PUT, "/1/indexes/i/1", record).await;
    let asked = json!({
        "query": "ann", "facets": ["*"], "attributesToRetrieve": ["*"], "attributesToHighlight": ["*"],
        "attributesToSnippet": ["*"], "getRankingInfo": true,
    });
    let forced = derive(&node.search_key, "attributesToRetrieve=name%2Cteam");
    for (key, shown) in [
        (node.search_key.clone(), ["name", "team", "salary"].as_slice()),
        (forced.clone(), &["name", "team"]),
        (ADMIN.to_owned(), &["name", "team", "salary", "secret"]),
    ] {
        let call =
            async |path: &str, body: Value| node.call_with(&key, Method::POST, path, &body.to_string()).await;
        let found = call("/1/indexes/i/query", asked.clone()).await.success();
        let mut multi = asked.clone();
        multi["indexName"] = json!("i");
        let all = call("/1/indexes/*/queries", json!({"requests": [multi]})).await.success();
        for found in [&found, &all["results"][0]] {
            let hit = &found["hits"][0];
            for (attribute, value) in
                [("name", "ann"), ("team", "red"), ("salary", "much"), ("secret", "tattoo")]
            {
                let is_shown = shown.contains(&attribute);
                for place in
                    [&hit[attribute], &hit["_highlightResult"][attribute], &hit["_snippetResult"][attribute]]
                {
                    assert_eq!(!place.is_null(), is_shown, "{attribute}: {found}");
                }
                assert_eq!(
                    !found["facets"][attribute].is_null(),
                    is_shown && attribute != "name",
                    "{attribute}: {found}"
                );
                assert_eq!(
                    found.to_string().contains(value),
                    is_shown || value == "ann",
                    "{attribute}: {found}"
                );
            }
        }
        for facet in ["team", "salary", "secret"] {
            let answer = call(&format!("/1/indexes/i/facets/{facet}/query"), json!({"facetQuery": ""})).await;
            assert_eq!(answer.status.is_success(), shown.contains(&facet), "{facet}");
            let one = json!({"indexName": "i", "type": "facet", "facet": facet});
            let answer = call("/1/indexes/*/queries", json!({"requests": [one]})).await;
            assert_eq!(answer.status.is_success(), shown.contains(&facet), "{facet}");
        }
    }
    // in the same words as of an attribute that is not there
    let refused = |facet: &str| {
        let path = format!("/1/indexes/i/facets/{facet}/query");
        let (key, node) = (forced.clone(), &node);
        async move { node.call_with(&key, Method::POST, &path, "{}").await.json()["message"].to_string() }
    };
    assert_eq!(
        refused("salary").await.replace("salary", "x"),
        refused("nothing").await.replace("nothing", "x")
    );
}

#[actix_web::test]
async fn what_a_key_may_not_see_shows_in_no_explanation() {
    let node = Node::start().await;
    let settings = json!({"searchableAttributes": ["name", "secret"], "unretrievableAttributes": ["secret"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let at = json!({"lat": 12.345, "lng": 6.789});
    let record = json!({"name": "marble", "secret": "tattoo", "_geoloc": at});
    node.write(Method::PUT, "/1/indexes/i/1", record).await;
    let without_place = derive(&node.search_key, "attributesToRetrieve=name");
    for (key, query, sees_word, sees_place) in [
        (ADMIN, "tatoo", true, true),
        (node.search_key.as_str(), "tatoo", false, true),
        (&without_place, "tatoo", false, false),
        (&without_place, "marbel", false, false),
    ] {
        let asked = json!({"query": query, "aroundLatLng": "12,6", "aroundRadius": "all", "getRankingInfo": true,
            "explain": ["match.alternatives"]});
        let answer = node.call_with(key, Method::POST, "/1/indexes/i/query", &asked.to_string()).await;
        let found = answer.success();
        assert_eq!(found["nbHits"], 1, "{found}");
        let info = &found["hits"][0]["_rankingInfo"];
        assert!(info["geoDistance"].as_u64() > Some(0), "{found}");
        assert_eq!(!info["matchedGeoLocation"].is_null(), sees_place, "{found}");
        assert_eq!(found.to_string().contains("12.345"), sees_place, "{found}");
        let alternatives = found["explain"]["match"]["alternatives"].to_string();
        assert!(alternatives.contains(query), "{found}");
        assert_eq!(alternatives.contains("\"typo\""), sees_word, "{found}");
    }
    // all that is searched may be seen
    let settings = json!({"searchableAttributes": ["name"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let asked = json!({"query": "marbel", "explain": ["*"]}).to_string();
    let found = node.call_with(&without_place, Method::POST, "/1/indexes/i/query", &asked).await.success();
    assert!(found["explain"]["match"]["alternatives"].to_string().contains("marble"), "{found}");
}

#[actix_web::test]
async fn a_key_that_forces_filters_shows_by_id_what_passes_them() {
    let node = Node::start().await;
    let settings = json!({"attributesForFaceting": ["team"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    for (id, team, n) in [("1", "red", 1), ("2", "red", 9), ("3", "blue", 1)] {
        node.write(Method::PUT, &format!("/1/indexes/i/{id}"), json!({"team": team, "n": n})).await;
    }
    for (forced, shown) in [
        ("filters=team%3Ared", "12"),
        ("filters=NOT%20team%3Ared", "3"),
        ("filters=team%3Ared&numericFilters=n%3E3", "2"),
        ("facetFilters=team%3Ablue%2Cteam%3Ared", ""),
        ("filters=objectID%3A3", "3"),
        ("hitsPerPage=5", "123"),
    ] {
        let key = derive(&node.search_key, forced);
        let requests: Vec<_> =
            ["1", "2", "3", "4"].iter().map(|id| json!({"indexName": "i", "objectID": id})).collect();
        let body = json!({"requests": requests}).to_string();
        let many = node.call_with(&key, Method::POST, "/1/indexes/*/objects", &body).await.success();
        let found = many["results"].as_array().unwrap();
        for (id, found) in ["1", "2", "3", "4"].iter().zip(found) {
            let one = node.call_with(&key, Method::GET, &format!("/1/indexes/i/{id}"), "").await;
            if shown.contains(id) {
                assert_eq!(one.success(), *found, "{forced} {id}");
                assert_eq!(found["objectID"], **id, "{forced}");
            } else {
                one.refused(404, "ObjectID does not exist");
                assert!(found.is_null(), "{forced} {id}");
            }
        }
    }
}

#[actix_web::test]
async fn a_key_that_forces_attributes_shows_no_others_by_id() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/o", json!({"name": "n", "cost": 7})).await;
    let key = derive(&node.search_key, "attributesToRetrieve=name");
    let get = node.call_with(&key, Method::GET, "/1/indexes/i/o?attributesToRetrieve=cost", "").await;
    assert_eq!(get.success(), json!({"objectID": "o", "name": "n"}));
    let wanted = json!({"requests": [{"indexName": "i", "objectID": "o", "attributesToRetrieve": ["*"]}]});
    let many = node.call_with(&key, Method::POST, "/1/indexes/*/objects", &wanted.to_string()).await;
    assert_eq!(many.success(), json!({"results": [{"objectID": "o", "name": "n"}]}));
    let key = derive(&node.search_key, "attributesToRetrieve=*%2C-cost");
    let get = node.call_with(&key, Method::GET, "/1/indexes/i/o?attributesToRetrieve=cost", "").await;
    assert_eq!(get.success(), json!({"objectID": "o", "name": "n"}));
    assert_eq!(
        node.get("/1/indexes/i/o?attributesToRetrieve=*,-name").await,
        json!({"objectID": "o", "cost": 7})
    );
}
