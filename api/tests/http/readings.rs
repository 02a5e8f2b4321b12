//! Are queries read in all the ways that synonyms, languages and parameters allow (C§4.5, C§4.6, C§11)?

use super::*;
use quorate_api::auth::secured::derive;
use serde_json::json;

/// Searches for one query after another; each names its parameters and the ids that must come back, in any order.
async fn finds(node: &Node, cases: &[(Value, &str)]) {
    for (request, expected) in cases {
        let answer = node.post("/1/indexes/i/query", request.clone()).await;
        let mut ids: Vec<&str> =
            answer["hits"].as_array().unwrap().iter().map(|hit| hit["objectID"].as_str().unwrap()).collect();
        ids.sort_unstable();
        assert_eq!(ids.join(" "), *expected, "{request}: {answer}");
    }
}
async fn fill(node: &Node, titles: &[(&str, &str)]) {
    let settings = json!({"searchableAttributes": ["title"], "attributesForFaceting": ["searchable(kind)"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let add = |(id, title): &(&str, &str)| json!({"action": "addObject", "body": {"objectID": id, "title": title, "kind": format!("kind {id}")}});
    let requests: Vec<Value> = titles.iter().map(add).collect();
    node.write(Method::POST, "/1/indexes/i/batch", json!({"requests": requests})).await;
}
async fn teach(node: &Node) {
    let synonyms = json!([
        {"objectID": "1", "type": "synonym", "synonyms": ["pants", "trousers", "leg wear"]},
        {"objectID": "2", "type": "onewaysynonym", "input": "tablet", "synonyms": ["ipad"]},
        {"objectID": "3", "type": "altcorrection1", "word": "shirt", "corrections": ["top"]},
        {"objectID": "4", "type": "altcorrection2", "word": "shirt", "corrections": ["blouse"]},
        {"objectID": "5", "type": "placeholder", "placeholder": "<street>", "replacements": ["road"]},
    ]);
    node.write(Method::POST, "/1/indexes/i/synonyms/batch", synonyms).await;
}

#[actix_web::test]
async fn every_type_of_synonym_finds_records() {
    let node = Node::start().await;
    fill(
        &node,
        &[
            ("a", "red pants"),
            ("b", "red trousers"),
            ("c", "leg wear"),
            ("d", "ipad"),
            ("e", "tablet"),
            ("f", "shirt"),
            ("g", "top"),
            ("h", "blouse"),
            ("j", "abbey <street>"),
        ],
    )
    .await;
    finds(&node, &[(json!({"query": "pants"}), "a"), (json!({"query": "abbey road"}), "")]).await;
    teach(&node).await;
    finds(
        &node,
        &[
            (json!({"query": "pants"}), "a b c"),
            (json!({"query": "leg wear"}), "a b c"),
            (json!({"query": "trous"}), "a b c"),
            (json!({"query": "red leg wear"}), "a b"),
            (json!({"query": "tablet"}), "d e"),
            (json!({"query": "ipad"}), "d"),
            (json!({"query": "shirt"}), "f g h"),
            (json!({"query": "shirt", "typoTolerance": "min"}), "f"),
            (json!({"query": "top"}), "g"),
            (json!({"query": "abbey road"}), "j"),
            (json!({"query": "pants", "synonyms": false}), "a"),
            (json!({"query": "abbey road", "synonyms": false}), ""),
        ],
    )
    .await;
    let answer = node.post("/1/indexes/i/query", json!({"query": "shirt"})).await;
    let order: Vec<&str> =
        answer["hits"].as_array().unwrap().iter().map(|hit| hit["objectID"].as_str().unwrap()).collect();
    assert_eq!(order, ["f", "g", "h"], "one typo before two");
    for (shown, expected) in [(false, "red <em>trousers</em>"), (true, "red <em>pants</em>")] {
        let request = json!({"query": "pants", "filters": "objectID:b", "replaceSynonymsInHighlight": shown});
        let answer = node.post("/1/indexes/i/query", request).await;
        assert_eq!(answer["hits"][0]["_highlightResult"]["title"]["value"], expected, "{answer}");
    }
    for (as_exact, expected) in [(json!(["singleWordSynonym"]), 1), (json!([]), 0)] {
        let request = json!({"query": "pants ", "filters": "objectID:b", "queryType": "prefixNone",
            "alternativesAsExact": as_exact, "exactOnSingleWordQuery": "word", "getRankingInfo": true});
        let answer = node.post("/1/indexes/i/query", request).await;
        assert_eq!(answer["hits"][0]["_rankingInfo"]["nbExactWords"], expected, "{as_exact}");
    }
    node.write(Method::DELETE, "/1/indexes/i/synonyms/1", json!({})).await;
    finds(&node, &[(json!({"query": "pants"}), "a")]).await;
}

#[actix_web::test]
async fn words_are_split_joined_inflected_left_out_and_given_up() {
    let node = Node::start().await;
    fill(
        &node,
        &[
            ("a", "wifi router"),
            ("b", "play list"),
            ("c", "red shoes"),
            ("d", "house of cards"),
            ("e", "blue house"),
        ],
    )
    .await;
    let phrase = |query: &str, features: Value| json!({"query": query, "advancedSyntax": true, "advancedSyntaxFeatures": features});
    let both = json!(["exactPhrase", "excludeWords"]);
    finds(
        &node,
        &[
            (json!({"query": "wi fi router"}), "a"),
            (json!({"query": "wi fi router", "typoTolerance": false}), ""),
            (json!({"query": "playlist"}), "b"),
            (json!({"query": "playlist", "typoTolerance": false}), ""),
            (json!({"query": "shoe ", "queryType": "prefixNone", "typoTolerance": false}), ""),
            (json!({"query": "shoe ", "queryType": "prefixNone", "typoTolerance": false, "ignorePlurals": ["en"]}), "c"),
            (json!({"query": "the house ", "queryType": "prefixNone"}), ""),
            (json!({"query": "the house ", "queryType": "prefixNone", "removeStopWords": ["en"]}), "d e"),
            (json!({"query": "blue house"}), "e"),
            (json!({"query": "blue house", "optionalWords": "blue"}), "d e"),
            (json!({"query": "blue house", "optionalWords": ["blue", "house"]}), "d e"),
            (json!({"query": "blue horse cards"}), ""),
            (json!({"similarQuery": "the blue cards"}), "d e"),
            (json!({"query": "the shoe in blue ", "naturalLanguages": ["en"]}), "c e"),
            (phrase("\"house cards\"", both.clone()), ""),
            (phrase("\"house cards\"", json!(["excludeWords"])), "d"),
            (phrase("house -blue", both), "d"),
            (phrase("house -blue", json!(["exactPhrase"])), "e"),
        ],
    )
    .await;
    for path in ["query", "browse"] {
        for (request, expected) in
            [(json!({"similarQuery": "the blue cards"}), 2), (json!({"query": "blue nothing"}), 0)]
        {
            let answer = node.post(&format!("/1/indexes/i/{path}"), request.clone()).await;
            assert_eq!(answer["nbHits"], expected, "{path} {request}");
        }
    }
    let browse = json!({"query": "blue nothing", "removeWordsIfNoResults": "lastWords"});
    assert_eq!(node.post("/1/indexes/i/browse", browse).await["nbHits"], 1);
    for (more, expected) in [
        (json!({"query": "blue cards"}), 0),
        (json!({"query": "blue cards", "removeWordsIfNoResults": "allOptional"}), 2),
        (json!({"query": "blue cards", "naturalLanguages": ["en"]}), 2),
        (json!({"similarQuery": "blue cards"}), 2),
    ] {
        let mut request = more.clone();
        request["facetQuery"] = json!("kin");
        let values = node.post("/1/indexes/i/facets/kind/query", request).await;
        assert_eq!(values["facetHits"].as_array().unwrap().len(), expected, "{more}: {values}");
    }
}

#[actix_web::test]
async fn what_was_looked_for_and_why_is_explained() {
    let node = Node::start().await;
    fill(&node, &[("a", "red pants"), ("b", "wed trousers"), ("c", "leg wear garden")]).await;
    teach(&node).await;
    let rule = |pattern: &str, params: &Value| json!({"conditions": [{"pattern": pattern, "anchoring": "contains"}], "consequence": {"params": params}});
    let narrow = json!({"filters": "kind:x"});
    let edit = json!({"query": {"edits": [{"type": "remove", "delete": "cheap"}]}, "filters": "kind:x"});
    node.write(Method::PUT, "/1/indexes/i/rules/narrow", rule("garden", &narrow)).await;
    node.write(Method::PUT, "/1/indexes/i/rules/edit", rule("cheap", &edit)).await;
    let request = json!({"query": "-old garden redd pants", "advancedSyntax": true, "filters": "kind:y",
        "explain": ["match.alternatives", "params.rules"]});
    let answer = node.post("/1/indexes/i/query", request.clone()).await;
    let explained = &answer["explain"];
    let alternatives = explained["match"]["alternatives"].as_array().unwrap();
    for expected in [
        json!({"types": ["excluded"], "words": ["old"], "typos": 0, "offset": 0, "length": 1}),
        json!({"types": ["original"], "words": ["garden"], "typos": 0, "offset": 1, "length": 1}),
        json!({"types": ["typo"], "words": ["red"], "typos": 1, "offset": 2, "length": 1}),
        json!({"types": ["synonym"], "words": ["trousers"], "typos": 0, "offset": 3, "length": 1}),
        json!({"types": ["synonym"], "words": ["leg", "wear"], "typos": 0, "offset": 3, "length": 1}),
    ] {
        assert!(alternatives.contains(&expected), "{expected} in {explained:#}");
    }
    assert_eq!(explained["params"], json!({"rules": narrow}), "in the same object");
    assert!(node.post("/1/indexes/i/query", json!({"query": "x"})).await.get("explain").is_none());

    let key = derive(&node.search_key, "hitsPerPage=2&filters=kind%3Az");
    let request = json!({"query": "cheap red", "filters": "kind:y", "hitsPerPage": 7, "explain": ["params"]});
    let answer =
        node.call_with(&key, Method::POST, "/1/indexes/i/query", &request.to_string()).await.success();
    let params = &answer["explain"]["params"];
    assert_eq!(params["client"], request);
    assert_eq!(params["apiKey"], json!({"hitsPerPage": "2"}));
    assert_eq!((&params["abTest"], &params["rules"]), (&json!({}), &edit));
    let (query, filters) = (&params["final"]["query"], &params["final"]["filters"]);
    assert_eq!((query, filters), (&json!("red"), &json!("(kind:y) AND (kind:x)")));
    assert_eq!(params["final"]["hitsPerPage"], "2");
    let more = json!({"query": {"edits": [{"type": "remove", "delete": "red"}]}, "filters": "n<9"});
    node.write(Method::PUT, "/1/indexes/i/rules/more", rule("red", &more)).await;
    let of_both = node.post("/1/indexes/i/query", request).await;
    let filters = &of_both["explain"]["params"]["rules"]["filters"];
    assert!(filters.as_str().is_some_and(|it| it.contains("kind:x") && it.contains("n<9")), "{of_both}");
    let url = "/1/indexes/i?query=red&explain=%5B%22params.client%22%5D";
    let answer = node.get(url).await;
    assert_eq!(answer["explain"]["params"]["client"]["query"], "red", "{answer}");
}

#[actix_web::test]
async fn parameters_of_rules_act_on_the_answer() {
    let node = Node::start().await;
    fill(&node, &[("a", "red pants")]).await;
    let params = json!({"clickAnalytics": true, "restrictSearchableAttributes": ["title"]});
    node.write(Method::PUT, "/1/indexes/i/rules/r", json!({"consequence": {"params": params}})).await;
    let answer = node.post("/1/indexes/i/query", json!({"query": "red"})).await;
    assert_eq!((answer["queryID"].as_str().map(str::len), &answer["nbHits"]), (Some(32), &json!(1)));
    let off = node.post("/1/indexes/i/query", json!({"query": "red", "enableRules": false})).await;
    assert!(off.get("queryID").is_none(), "{off}");
    // the rule names an attribute that is not searchable any more
    node.write(Method::PUT, "/1/indexes/i/settings", json!({"searchableAttributes": ["kind"]})).await;
    let answer = node.post("/1/indexes/i/query", json!({"query": "kind"})).await;
    assert_eq!((answer["nbHits"].as_u64(), answer.get("queryID").is_some()), (Some(1), true), "{answer}");
    let asked = json!({"query": "kind", "restrictSearchableAttributes": ["title"], "enableRules": false});
    let refused = node.call(Method::POST, "/1/indexes/i/query", &asked.to_string()).await;
    refused.refused(400, "Invalid value for \"restrictSearchableAttributes\" parameter");
}
