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

/// A database that knows one network of 24 bits, in the MaxMind format.
fn database(network: [u8; 3], lat: f64, lng: f64) -> Vec<u8> {
    const NODES: u32 = 24;
    let text = |out: &mut Vec<u8>, text: &str| {
        out.push(0x40 | text.len() as u8);
        out.extend_from_slice(text.as_bytes());
    };
    let mut out = vec![];
    let bits = network.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    for (number, bit) in bits.enumerate() {
        let next = if number == 23 { NODES + 16 } else { number as u32 + 1 };
        let records = if bit == 0 { [next, NODES] } else { [NODES, next] };
        records.iter().for_each(|record| out.extend_from_slice(&record.to_be_bytes()[1..]));
    }
    out.extend_from_slice(&[0; 16]);
    out.push(0xe1);
    text(&mut out, "location");
    out.push(0xe2);
    for (name, number) in [("latitude", lat), ("longitude", lng)] {
        text(&mut out, name);
        out.push(0x68);
        out.extend_from_slice(&number.to_be_bytes());
    }
    out.extend_from_slice(b"\xab\xcd\xefMaxMind.com");
    out.push(0xe9);
    let numbers = [
        ("node_count", NODES as u16),
        ("record_size", 24),
        ("ip_version", 4),
        ("binary_format_major_version", 2),
    ];
    for (name, number) in numbers.into_iter().chain([("binary_format_minor_version", 0)]) {
        text(&mut out, name);
        out.push(if name == "node_count" { 0xc2 } else { 0xa2 });
        out.extend_from_slice(&number.to_be_bytes());
    }
    text(&mut out, "build_epoch");
    out.extend_from_slice(&[1, 2, 1]);
    text(&mut out, "database_type");
    text(&mut out, "Test");
    text(&mut out, "languages");
    out.extend_from_slice(&[0, 4]);
    text(&mut out, "description");
    out.push(0xe0);
    out
}

/// A search from an address, perhaps passed on by a proxy.
async fn search_from(node: &Node, options: ServerOptions, query: &Value, from: [&str; 2]) -> Value {
    let app = test::init_service(App::new().configure(|config| routes(config, options.state()))).await;
    let [peer, forwarded] = from;
    let mut request = test::TestRequest::post()
        .uri("/1/indexes/i/query")
        .insert_header(("X-Algolia-Application-Id", APP))
        .insert_header(("X-Algolia-API-Key", node.search_key.as_str()))
        .peer_addr(format!("{peer}:1").parse().unwrap())
        .set_payload(query.to_string());
    if !forwarded.is_empty() {
        request = request.insert_header(("X-Forwarded-For", forwarded));
    }
    test::read_body_json(test::call_service(&app, request.to_request()).await).await
}

#[actix_web::test]
async fn callers_are_the_centre_where_their_place_is_known() {
    let node = Node::start().await;
    node.fill("i", &json!({}), &shop()).await;
    let places = quorate_api::Locations::from_bytes(database([203, 0, 113], 48.85, 2.35)).unwrap();
    assert_eq!(places.holds(), (true, false));
    let places = std::sync::Arc::new(places);
    let with_file = || ServerOptions { locations: Some(places.clone()), ..node.options() };
    let asked = json!({"aroundLatLngViaIP": true, "aroundRadius": 5_000});
    let (known, unknown) = ("203.0.113.7", "198.51.100.1");
    for (from, hits, centre, message) in [
        ([known, ""], 2, json!("48.85,2.35"), ""),
        ([unknown, known], 2, json!("48.85,2.35"), ""),
        ([unknown, "203.0.113.9, 198.51.100.1"], 2, json!("48.85,2.35"), ""),
        (
            [known, unknown],
            5,
            Value::Null,
            "aroundLatLngViaIP has no effect: the place of the caller's address",
        ),
        ([unknown, ""], 5, Value::Null, "aroundLatLngViaIP has no effect: the place of the caller's address"),
    ] {
        let body = search_from(&node, with_file(), &asked, from).await;
        assert_eq!((&body["nbHits"], &body["aroundLatLng"]), (&json!(hits), &centre), "{from:?}: {body}");
        assert!(body["message"].as_str().unwrap_or_default().starts_with(message), "{from:?}: {body}");
        assert_eq!(body.get("message").is_some(), !message.is_empty(), "{from:?}");
    }
    let given = json!({"aroundLatLngViaIP": true, "aroundRadius": 5_000, "aroundLatLng": "45.76,4.84"});
    let body = search_from(&node, with_file(), &given, [known, ""]).await;
    assert_eq!((&body["nbHits"], &body["aroundLatLng"]), (&json!(1), &json!("45.76,4.84")));
    let body = search_from(&node, node.options(), &asked, [known, ""]).await;
    assert_eq!(body["nbHits"], 5);
    assert!(body["message"].as_str().unwrap().contains("(option ip-locations)"), "{body}");
    assert!(quorate_api::Locations::from_bytes(vec![0; 100]).is_err());
}

#[actix_web::test]
async fn parameters_that_change_nothing_are_named() {
    let node = Node::start().await;
    let kept = json!({"enableReRanking": true, "mode": "neuralSearch", "enablePersonalization": true,
        "semanticSearch": {"eventSources": ["i"]}, "reRankingApplyFilter": ["brand:Acme"],
        "attributesForFaceting": ["searchable(brand)"]});
    node.fill("i", &kept, &shop()).await;
    let shown = node.get("/1/indexes/i/settings").await;
    for (name, value) in object(&kept) {
        assert_eq!(shown[&name], value, "settings are kept and answered");
    }
    let nothing = "no effect: this service does not personalize, re-rank or search by vectors";
    let no_places =
        "aroundLatLngViaIP has no effect: this service has no places of addresses (option ip-locations)";
    for (asked, message) in [
        (json!({}), None),
        (
            json!({"enablePersonalization": false, "enableReRanking": false, "reRankingApplyFilter": null}),
            None,
        ),
        (json!({"mode": "keywordSearch", "personalizationImpact": 0, "semanticSearch": {}}), None),
        (json!({"personalizationImpact": "50"}), Some(format!("personalizationImpact has {nothing}"))),
        (json!({"semanticSearch": {"eventSources": ["i"]}}), Some(format!("semanticSearch has {nothing}"))),
        (
            json!({"params": "enablePersonalization=true&personalizationImpact=1"}),
            Some(format!("enablePersonalization and personalizationImpact have {nothing}")),
        ),
        (json!({"enablePersonalization": true}), Some(format!("enablePersonalization has {nothing}"))),
        (json!({"enableReRanking": "true"}), Some(format!("enableReRanking has {nothing}"))),
        (json!({"mode": "neuralSearch"}), Some(format!("mode has {nothing}"))),
        (
            json!({"enablePersonalization": true, "reRankingApplyFilter": ["brand:Acme"]}),
            Some(format!("enablePersonalization and reRankingApplyFilter have {nothing}")),
        ),
        (
            json!({"enableReRanking": true, "aroundLatLngViaIP": true}),
            Some(format!("enableReRanking has {nothing}; {no_places}")),
        ),
    ] {
        let index = joined(&asked, "indexName", &json!("i"));
        let facet = joined(&joined(&index, "type", &json!("facet")), "facet", &json!("brand"));
        let several = node.post("/1/indexes/*/queries", json!({"requests": [index, facet]})).await;
        let text: String = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(object(&asked).iter().map(|(name, value)| match value {
                Value::String(text) => (name, text.clone()),
                value => (name, value.to_string()),
            }))
            .finish();
        let answers = [
            node.post("/1/indexes/i/query", asked.clone()).await,
            node.post("/1/indexes/i/browse", asked.clone()).await,
            node.get(&format!("/1/indexes/i?{text}")).await,
            several["results"][0].clone(),
        ];
        let facets = [
            node.post("/1/indexes/i/facets/brand/query", asked.clone()).await,
            several["results"][1].clone(),
        ];
        assert!(answers.iter().all(|answer| answer["nbHits"] == 5), "{asked}");
        assert!(facets.iter().all(|answer| answer["facetHits"].is_array()), "{asked}");
        for answer in answers.iter().chain(&facets) {
            let said = answer.get("message").map(|text| text.as_str().unwrap());
            assert_eq!(said, message.as_deref(), "{asked}");
        }
    }
}

#[actix_web::test]
async fn what_has_no_effect_is_said_whatever_else_is() {
    let node = Node::start().await;
    node.fill("i", &json!({}), &shop()).await;
    let nothing = "no effect: this service does not personalize, re-rank or search by vectors";
    // beside another message, and whatever members are asked for
    let asked = json!({"page": 1_000, "enablePersonalization": true, "responseFields": ["hits"]});
    let answer = node.post("/1/indexes/i/query", asked).await;
    let said = answer["message"].as_str().unwrap();
    assert!(said.starts_with("you can only fetch the 1000 hits") && said.contains(nothing), "{said}");
    // what a key forces counts as asked for
    let key = node.key(json!({"acl": ["search"], "queryParameters": "enableReRanking=true"})).await;
    let answer = node.call_with(&key, Method::POST, "/1/indexes/i/query", "{}").await.success();
    assert_eq!(answer["message"], format!("enableReRanking has {nothing}"));
}
