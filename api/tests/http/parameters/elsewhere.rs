//! Rows whose effect does not fit "the same search with and without".

use super::*;

#[actix_web::test]
async fn replicas_are_made() {
    let node = Node::start().await;
    for (index, name) in [("i", "replicas"), ("j", "slaves")] {
        node.fill(index, &json!({}), &shop()).await;
        let replica = format!("{index}_by_price");
        let search = format!("/1/indexes/{replica}/query");
        node.call(Method::POST, &search, "{}").await.refused(404, "Index ");
        node.write(Method::PUT, &format!("/1/indexes/{index}/settings"), json!({name: [replica]})).await;
        node.write(
            Method::PUT,
            &format!("/1/indexes/{replica}/settings"),
            json!({"ranking": ["asc(price)"]}),
        )
        .await;
        assert_eq!(node.see(&replica, &json!({}), See::Hits).await, "d a e b c");
        assert_eq!(node.see(index, &json!({}), See::Hits).await, "e d c b a");
    }
    let itself = json!({"replicas": ["i"]}).to_string();
    node.call(Method::PUT, "/1/indexes/i/settings", &itself)
        .await
        .refused(400, "i cannot be a replica of itself");
}

#[actix_web::test]
async fn calls_have_members_of_their_own() {
    let node = Node::start().await;
    node.fill("i", &json!({"attributesForFaceting": ["searchable(color)"]}), &shop()).await;
    let first = node.post("/1/indexes/i/browse", json!({"hitsPerPage": 3})).await;
    let next = node.post("/1/indexes/i/browse", json!({"cursor": first["cursor"]})).await;
    let ids = |body: &Value| {
        let ids =
            body["hits"].as_array().unwrap().iter().map(|hit| hit["objectID"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!((ids(&first).as_str(), ids(&next).as_str()), ("e d c", "b a"));
    let facet = json!({"indexName": "i", "type": "facet", "facet": "color", "facetQuery": "gr"});
    let both = json!({"requests": [{"indexName": "i", "type": "default", "query": "green"}, facet]});
    let both = node.post("/1/indexes/*/queries", both).await;
    assert_eq!((&both["results"][0]["nbHits"], both["results"][0].get("facetHits")), (&json!(1), None));
    let values = json!([{"value": "green", "highlighted": "<em>gr</em>een", "count": 1}]);
    assert_eq!((&both["results"][1]["facetHits"], both["results"][1].get("hits")), (&values, None));
}

#[actix_web::test]
async fn callers_have_no_place_without_a_file() {
    let node = Node::start().await;
    node.fill("i", &json!({}), &shop()).await;
    assert_eq!(node.see("i", &json!({"aroundLatLngViaIP": true}), See::Hits).await, "e d c b a");
}
