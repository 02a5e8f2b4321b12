//! Do saved rules act on searches, and on nothing else (C§10)?

use super::*;
use quorate_api::auth::secured::derive;
use serde_json::json;

/// Three shoes and a hat, in the order of their prices.
async fn shop(node: &Node) {
    let settings = json!({"attributesForFaceting": ["searchable(brand)"], "customRanking": ["asc(price)"],
        "searchableAttributes": ["name"]});
    node.write(Method::PUT, "/1/indexes/shop/settings", settings).await;
    let record = |id: &str, name: &str, brand: &str, price: u64| json!({"action": "addObject", "body": {"objectID": id, "name": name, "brand": brand, "price": price}});
    let requests = json!({"requests": [
        record("s1", "red shoe", "Acme", 1), record("s2", "blue shoe", "Acme", 2),
        record("s3", "green shoe", "Café Noir", 3), record("h1", "red hat", "Acme", 4)]});
    node.write(Method::POST, "/1/indexes/shop/batch", requests).await;
}
async fn save(node: &Node, id: &str, rule: Value) {
    node.write(Method::PUT, &format!("/1/indexes/shop/rules/{id}"), rule).await;
}
async fn search(node: &Node, request: Value) -> Value {
    node.post("/1/indexes/shop/query", request).await
}
fn ids(answer: &Value) -> String {
    let hits = answer["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["objectID"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}
fn on(pattern: &str, consequence: Value) -> Value {
    json!({"conditions": [{"pattern": pattern, "anchoring": "contains"}], "consequence": consequence})
}

#[actix_web::test]
async fn a_rule_promotes_hides_and_says_so() {
    let node = Node::start().await;
    shop(&node).await;
    let plain = search(&node, json!({"query": "shoe"})).await;
    assert_eq!(ids(&plain), "s1 s2 s3");
    for absent in ["userData", "appliedRules"] {
        assert!(plain.get(absent).is_none(), "{plain}");
    }
    assert!(plain["exhaustive"].get("rulesMatch").is_none(), "{plain}");
    let consequence = json!({"promote": [{"objectID": "h1", "position": 0}], "hide": [{"objectID": "s2"}],
        "userData": {"banner": "sale"}, "params": {"renderingContent": {"redirect": {"url": "https://x.example"}}}});
    save(&node, "sale", on("shoe", consequence)).await;
    let answer = search(&node, json!({"query": "shoe", "getRankingInfo": true, "facets": ["brand"]})).await;
    assert_eq!((ids(&answer).as_str(), &answer["nbHits"]), ("h1 s1 s3", &json!(3)));
    assert_eq!(answer["userData"], json!([{"banner": "sale"}]));
    assert_eq!(answer["appliedRules"], json!([{"objectID": "sale"}]));
    assert_eq!(answer["renderingContent"]["redirect"]["url"], "https://x.example");
    assert_eq!(answer["exhaustive"]["rulesMatch"], true);
    assert_eq!(answer["hits"][0]["_rankingInfo"]["promoted"], true);
    assert_eq!(answer["facets"]["brand"], json!({"Acme": 1, "Café Noir": 1}), "matching records that show");
    let second = search(&node, json!({"query": "shoe", "hitsPerPage": 2, "page": 1})).await;
    assert_eq!((ids(&second).as_str(), &second["nbPages"]), ("s3", &json!(2)));
    let fields = search(&node, json!({"query": "shoe", "responseFields": ["userData"]})).await;
    assert_eq!(fields, json!({"userData": [{"banner": "sale"}]}));

    let off = search(&node, json!({"query": "shoe", "enableRules": false})).await;
    assert_eq!((ids(&off).as_str(), off.get("userData")), ("s1 s2 s3", None));
    let browsed = node.post("/1/indexes/shop/browse", json!({"query": "shoe"})).await;
    assert_eq!(ids(&browsed), "s1 s2 s3", "browsing knows no rules");
    let many =
        json!({"requests": [{"indexName": "shop", "query": "shoe"}, {"indexName": "shop", "query": "hat"}]});
    let many = node.post("/1/indexes/*/queries", many).await;
    assert_eq!((ids(&many["results"][0]).as_str(), ids(&many["results"][1]).as_str()), ("h1 s1 s3", "h1"));
    let values =
        node.post("/1/indexes/shop/facets/brand/query", json!({"facetQuery": "", "query": "shoe"})).await;
    let count = |i: usize| values["facetHits"][i]["count"].as_u64().unwrap();
    assert_eq!((count(0), count(1)), (1, 1), "the hidden shoe does not count: {values}");

    node.write(Method::DELETE, "/1/indexes/shop/rules/sale", json!({})).await;
    assert_eq!(ids(&search(&node, json!({"query": "shoe"})).await), "s1 s2 s3");
}

#[actix_web::test]
async fn rules_follow_settings_and_synonyms() {
    let node = Node::start().await;
    shop(&node).await;
    let params =
        json!({"params": {"query": {"remove": ["{facet:kind}"]}, "automaticFacetFilters": ["kind"]}});
    save(&node, "kind", on("{facet:kind}", params)).await;
    node.write(Method::PUT, "/1/indexes/shop/n1", json!({"name": "new", "kind": "Winter Boot"})).await;
    assert_eq!(ids(&search(&node, json!({"query": "winter boot"})).await), "", "no facet yet");
    let facets = json!({"attributesForFaceting": ["kind", "brand"]});
    node.write(Method::PUT, "/1/indexes/shop/settings", facets).await;
    let answer = search(&node, json!({"query": "winter boot", "getRankingInfo": true})).await;
    assert_eq!(
        (ids(&answer).as_str(), &answer["parsedQuery"], &answer["query"]),
        ("n1", &json!(""), &json!("winter boot"))
    );

    let mut rule = on("shoe", json!({"userData": 1}));
    rule["conditions"][0]["alternatives"] = json!(true);
    save(&node, "any-shoe", rule).await;
    for (query, expected) in [("sneaker", Value::Null), ("shoes", json!([1])), ("sheo", json!([1]))] {
        assert_eq!(search(&node, json!({"query": query})).await["userData"], expected, "{query}");
    }
    let synonym = json!({"objectID": "s", "type": "synonym", "synonyms": ["shoe", "sneaker"]});
    node.write(Method::PUT, "/1/indexes/shop/synonyms/s", synonym).await;
    assert_eq!(search(&node, json!({"query": "sneaker"})).await["userData"], json!([1]));
}

#[actix_web::test]
async fn contexts_filters_and_explanations() {
    let node = Node::start().await;
    shop(&node).await;
    let when = |condition: Value, data: u64| json!({"conditions": [condition], "consequence": {"userData": data, "params": {"hitsPerPage": data}}});
    save(&node, "mobile", when(json!({"context": "mobile"}), 1)).await;
    save(&node, "acme", when(json!({"filters": "brand:Acme"}), 2)).await;
    for (request, expected) in [
        (json!({}), Value::Null),
        (json!({"ruleContexts": ["mobile"]}), json!([1])),
        (json!({"ruleContexts": "mobile,other"}), json!([1])),
        (json!({"filters": "brand:acme"}), json!([2])),
        (json!({"facetFilters": [["brand:Acme"]], "ruleContexts": ["mobile"]}), json!([2, 1])),
        (json!({"ruleContexts": ["other"], "naturalLanguages": ["en"]}), Value::Null),
    ] {
        let answer = search(&node, request.clone()).await;
        assert_eq!(answer["userData"], expected, "{request}");
        let length = expected[0].as_u64().unwrap_or(20);
        assert_eq!(answer["hitsPerPage"], length, "the better rule's value: {request}");
    }
    let explained = search(&node, json!({"ruleContexts": ["mobile"], "explain": ["params.rules"]})).await;
    assert_eq!(explained["explain"]["params"]["rules"], json!({"hitsPerPage": 1}));
    assert_eq!(explained["appliedRules"], json!([{"objectID": "mobile"}]));
}

#[actix_web::test]
async fn what_a_key_forces_wins_over_rules() {
    let node = Node::start().await;
    shop(&node).await;
    let consequence = json!({"promote": [{"objectIDs": ["s3", "h1"], "position": 0}],
        "params": {"hitsPerPage": 9, "length": 8, "query": "", "attributesToRetrieve": ["*"]}});
    save(&node, "all", json!({"consequence": consequence})).await;
    let open = search(&node, json!({"query": "blue"})).await;
    assert_eq!(ids(&open), "s3 h1 s1 s2");
    let forced = "hitsPerPage=2&filters=brand%3AAcme&attributesToRetrieve=objectID&query=shoe";
    let key = derive(&node.search_key, forced);
    let answer = node.call_with(&key, Method::POST, "/1/indexes/shop/query", "{}").await.success();
    assert_eq!((ids(&answer).as_str(), &answer["hitsPerPage"]), ("h1 s1", &json!(2)), "{answer}");
    assert!(answer["hits"][0].get("name").is_none(), "{answer}");
    let url = node.call_with(&key, Method::GET, "/1/indexes/shop?length=4&query=x", "").await.success();
    assert_eq!(ids(&url), "h1 s1");
}

#[actix_web::test]
async fn replicas_have_rules_of_their_own() {
    let node = Node::start().await;
    shop(&node).await;
    let promote = |id: &str| json!({"consequence": {"promote": [{"objectID": id, "position": 0}]}});
    let replicas = json!({"replicas": ["shop_dear", "virtual(shop_dear_too)"]});
    node.write(Method::PUT, "/1/indexes/shop/settings", replicas).await;
    save(&node, "own", json!({"consequence": {"hide": [{"objectID": "s2"}]}})).await;
    for (replica, settings) in [
        ("shop_dear", json!({"ranking": ["desc(price)"]})),
        ("shop_dear_too", json!({"customRanking": ["desc(price)"]})),
    ] {
        node.write(Method::PUT, &format!("/1/indexes/{replica}/settings"), settings).await;
        let query = format!("/1/indexes/{replica}/query");
        let request = json!({"query": "shoe", "filters": "brand:Acme", "relevancyStrictness": 0});
        assert_eq!(ids(&node.post(&query, request.clone()).await), "s2 s1", "{replica}");
        for (promoted, expected, count) in [("s1", "s1 s2", 2), ("h1", "h1 s2 s1", 3)] {
            node.write(Method::PUT, &format!("/1/indexes/{replica}/rules/r"), promote(promoted)).await;
            let answer = node.post(&query, request.clone()).await;
            assert_eq!((ids(&answer).as_str(), &answer["nbHits"]), (expected, &json!(count)), "{replica}");
        }
    }
}
