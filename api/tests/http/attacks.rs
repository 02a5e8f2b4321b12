//! Does a key give more than it should to whoever tries everything (SECURITY.md names these tests)?

use super::*;
use quorate_api::auth::secured::derive;
use serde_json::json;
use std::time::{Duration, Instant};

const INVALID: &str = "Invalid Application-ID or API key";
const INDEX: &str = "Index not allowed with this API key";

/// A request with headers that may come twice.
fn request(method: Method, uri: &str, headers: &[(&str, &str)], body: &str) -> test::TestRequest {
    let request = test::TestRequest::default().method(method).uri(uri).set_payload(body.to_owned());
    headers.iter().fold(request, |request, header| request.append_header(*header))
}
const APP_ID: (&str, &str) = ("X-Algolia-Application-Id", APP);
const KEY: &str = "X-Algolia-API-Key";

/// An index `own` and an index `other`, whose record is nobody's business.
async fn two_indices(node: &Node) {
    for (index, text) in [("own", "mine"), ("other", "hidden")] {
        node.write(Method::PUT, &format!("/1/indexes/{index}/o"), json!({"text": text})).await;
    }
}
async fn key(node: &Node, body: Value) -> String {
    node.post("/1/keys", body).await["key"].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn whether_a_key_exists_shows_neither_in_status_nor_in_text() {
    let node = Node::start().await;
    two_indices(&node).await;
    let deleted = key(&node, json!({"acl": ["search"]})).await;
    node.call(Method::DELETE, &format!("/1/keys/{deleted}"), "").await.success();
    let of_deleted = derive(&deleted, "filters=a%3Ab");
    let ended = ended_key(&node).await;
    let of_ended = derive(&ended, "a=b");
    let living = node.search_key.clone();
    let secured = derive(&living, "hitsPerPage=1");
    let forged = derive("0123456789abcdef0123456789abcdef", "hitsPerPage=1");
    let (of_secured, of_admin) = (derive(&secured, "a=b"), derive(ADMIN, "hitsPerPage=1"));
    let damaged = secured.replacen('Y', "Z", 1);
    let (upper, cut, longer) = (living.to_uppercase(), &living[..31], format!("{living}0"));
    let mut texts = vec![];
    for wrong in [
        "",
        "0",
        "unknown",
        &upper,
        cut,
        &longer,
        &deleted,
        &of_deleted,
        &ended,
        &of_ended,
        &forged,
        &of_secured,
        &of_admin,
        &damaged,
        &"A".repeat(10_000),
        "\u{fffd}",
    ] {
        for uri in ["/1/indexes/own/query", "/1/indexes/none/query", "/1/keys", "/1/indexes/*/batch"] {
            let answer = node.send(request(Method::POST, uri, &[APP_ID, (KEY, wrong)], "{}")).await;
            texts.push(answer.refused(403, INVALID));
        }
    }
    for credentials in [
        vec![("X-Algolia-Application-Id", "OTHER"), (KEY, living.as_str())],
        vec![("X-Algolia-Application-Id", "OTHER"), (KEY, ADMIN)],
        vec![("X-Algolia-Application-Id", ""), (KEY, ADMIN)],
        vec![(KEY, ADMIN)],
        vec![APP_ID],
        vec![],
    ] {
        let answer = node.send(request(Method::POST, "/1/indexes/own/query", &credentials, "{}")).await;
        texts.push(answer.refused(403, INVALID));
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
}

/// A key whose validity is over.
async fn ended_key(node: &Node) -> String {
    let key = key(node, json!({"acl": ["search"], "validity": 1})).await;
    let ask = || request(Method::POST, "/1/indexes/own/query", &[APP_ID, (KEY, &key)], "{}");
    let deadline = Instant::now() + Duration::from_secs(10);
    while node.send(ask()).await.status == 200 {
        assert!(Instant::now() < deadline, "it should have ended");
        actix_rt::time::sleep(Duration::from_millis(20)).await;
    }
    key
}

/// Calls of each kind, in turn: what disturbs one disturbs all of them.
const TIMED_CALLS: usize = 400;

#[actix_web::test]
async fn whether_a_key_exists_does_not_show_in_the_time_an_answer_takes() {
    let node = Node::start().await;
    two_indices(&node).await;
    for number in 0..50 {
        key(&node, json!({"acl": ["search"], "description": format!("{number}")})).await;
    }
    let deleted = key(&node, json!({"acl": ["search"]})).await;
    node.call(Method::DELETE, &format!("/1/keys/{deleted}"), "").await.success();
    let ended = ended_key(&node).await;
    let living = node.search_key.clone();
    let last = if living.ends_with('0') { "1" } else { "0" };
    let nearly = format!("{}{last}", &living[..31]);
    let kinds = ["0123456789abcdef0123456789abcdef", &nearly, &deleted, &ended];
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..TIMED_CALLS {
        for (kind, times) in kinds.iter().zip(&mut times) {
            let ask = request(Method::POST, "/1/indexes/own/query", &[APP_ID, (KEY, kind)], "{}");
            let begun = Instant::now();
            let answer = node.send(ask).await;
            times.push(begun.elapsed());
            answer.refused(403, INVALID);
        }
    }
    let medians = times.map(|mut times| {
        times.sort_unstable();
        times[TIMED_CALLS / 2].as_secs_f64()
    });
    let apart = medians.map(|median| median / medians[0]);
    assert!(apart.iter().all(|ratio| (0.75..1.33).contains(ratio)), "of an unknown key's time: {apart:?}");
}

#[actix_web::test]
async fn credentials_that_disagree_are_none() {
    let node = Node::start().await;
    two_indices(&node).await;
    let own = key(&node, json!({"acl": ["search"], "indexes": ["own"]})).await;
    let query = "/1/indexes/other/query";
    let with = |parameters: String| format!("{query}?{parameters}");
    let own_in_url = format!("x-algolia-api-key={own}");
    let body = format!(r#"{{"apiKey":"{ADMIN}"}}"#);
    for (uri, headers, body) in [
        (query.to_owned(), vec![APP_ID, (KEY, ADMIN), (KEY, own.as_str())], "{}"),
        (query.to_owned(), vec![APP_ID, (KEY, own.as_str()), ("X-Service-API-Key", ADMIN)], "{}"),
        (query.to_owned(), vec![APP_ID, ("X-Service-Application-Id", "OTHER"), (KEY, ADMIN)], "{}"),
        (with(format!("{own_in_url}&X-ALGOLIA-API-KEY={ADMIN}")), vec![APP_ID], "{}"),
        (with(format!("{own_in_url}&x-service-api-key={ADMIN}")), vec![APP_ID], &body),
    ] {
        node.send(request(Method::POST, &uri, &headers, body)).await.refused(403, INVALID);
    }
    // a header goes before the query string, and both before the body
    for (uri, headers, body) in [
        (with(format!("x-algolia-api-key={ADMIN}")), vec![APP_ID, (KEY, own.as_str())], body.as_str()),
        (with(own_in_url.clone()), vec![APP_ID], body.as_str()),
    ] {
        node.send(request(Method::POST, &uri, &headers, body)).await.refused(403, INDEX);
    }
    let same = [APP_ID, (KEY, ADMIN), ("X-Service-API-Key", ADMIN)];
    node.send(request(Method::POST, query, &same, "{}")).await.success();
}

#[actix_web::test]
async fn no_spelling_of_a_path_leads_to_another_index() {
    let node = Node::start().await;
    two_indices(&node).await;
    let rights = ["search", "browse", "settings", "listIndexes"];
    let own = key(&node, json!({"acl": rights, "indexes": ["own"]})).await;
    for spelled in [
        "own/../other",
        "own%2F..%2Fother",
        "own/%2e%2e/other",
        "../indexes/other",
        "%2e%2e/indexes/other",
        "./other",
        "/other",
        "other/",
        "own;/other",
        "own%00/../other",
        "own%0aother",
        "*",
        "%2A",
        "%2a",
        "own*",
        "*own",
        "other%20",
        "%20other",
        "OTHER",
        "oth%65r",
        "%6fther",
        "%256fther",
        "own%5c..%5cother",
        "own,other",
        "own%2Cother",
        "own|other",
        "%EF%BC%8Aother",
        "own%1F1",
        "other%1F1",
    ] {
        for (method, tail) in [
            (Method::POST, "/query"),
            (Method::GET, ""),
            (Method::POST, "/browse"),
            (Method::GET, "/browse"),
            (Method::GET, "/o"),
            (Method::GET, "/settings"),
            (Method::POST, "/queries"),
        ] {
            let uri = format!("/1/indexes/{spelled}{tail}");
            let answer = node.call_with(&own, method.clone(), &uri, "{}").await;
            let text = String::from_utf8_lossy(&answer.bytes).into_owned();
            assert!((400..500).contains(&answer.status.as_u16()), "{method} {uri}: {} {text}", answer.status);
            assert!(!text.contains("hidden"), "{method} {uri}: {text}");
        }
    }
    node.call_with(&own, Method::POST, "/1/indexes/%6Fwn/query", "{}").await.success();
    // the admin key's paths, however they are spelled
    for uri in [
        "/1/keys/",
        "/1/keys/%2e%2e/keys",
        "/1/indexes/own/keys",
        "/1/indexes/%2A/keys",
        "/1//keys",
        "/1/KEYS",
    ] {
        let answer = node.call_with(&own, Method::GET, uri, "").await;
        assert!((400..500).contains(&answer.status.as_u16()), "{uri}: {}", answer.status);
    }
}

/// Ten records: 0 to 4 are red, and all that a key may show that forces `team:red`.
async fn teams(node: &Node) {
    let settings = json!({
        "attributesForFaceting": ["searchable(team)", "searchable(word)", "n"], "searchableAttributes": ["text"],
    });
    node.write(Method::PUT, "/1/indexes/own/settings", settings).await;
    let records = (0..10).map(|n| {
        let (team, word) = if n < 5 { ("red", "shown") } else { ("blue", "hidden") };
        let body = json!({
            "objectID": n.to_string(), "text": "text", "team": team, "word": word, "n": n, "_tags": [team],
            "_geoloc": {"lat": 1.0, "lng": 1.0},
        });
        json!({"action": "addObject", "body": body})
    });
    let requests: Vec<Value> = records.collect();
    node.write(Method::POST, "/1/indexes/own/batch", json!({ "requests": requests })).await;
}

/// What callers add to a search to see more than they should.
fn widenings() -> Vec<Value> {
    let filters = [
        "team:blue",
        "team:blue OR team:red",
        "NOT team:red",
        "team:red OR n >= 0",
        "n:0 TO 100",
        "objectID:7",
        "(team:red) OR (team:blue)",
        "team:red) OR (team:blue",
        "team:blue AND (team:blue OR team:red)",
        "\"team\":\"blue\"",
        "_tags:blue",
        "blue",
        "NOT n:1",
        "team:red\u{0} OR team:blue",
        "team:\"red\" OR team:blue",
    ];
    let mut all: Vec<Value> = filters.iter().map(|text| json!({ "filters": text })).collect();
    for (name, values) in [
        (
            "facetFilters",
            vec![json!("team:blue"), json!([["team:blue", "team:red"]]), json!(["team:-red"]), json!([[]])],
        ),
        ("numericFilters", vec![json!("n>=0"), json!([["n>=0", "n<0"]]), json!([])]),
        ("tagFilters", vec![json!("blue"), json!([["blue", "red"]]), json!("-red"), json!("")]),
        ("optionalFilters", vec![json!("team:blue"), json!([["team:blue"]])]),
        ("similarQuery", vec![json!("text")]),
        ("ruleContexts", vec![json!(["blue"])]),
        ("optionalWords", vec![json!("text")]),
        ("insideBoundingBox", vec![json!([[0.0, 0.0, 2.0, 2.0]])]),
        ("aroundLatLng", vec![json!("1,1")]),
        ("facetingAfterDistinct", vec![json!(true)]),
        ("removeWordsIfNoResults", vec![json!("allOptional")]),
        ("sumOrFiltersScores", vec![json!(true)]),
        (
            "params",
            vec![
                json!("filters=team%3Ablue"),
                json!("facetFilters=%5B%5B%22team%3Ablue%22%5D%5D"),
                json!("filters="),
                json!("tagFilters=blue&numericFilters=n%3E%3D0&filters=n%3E%3D0"),
                json!("params=filters%3Dteam%3Ablue"),
            ],
        ),
    ] {
        all.extend(values.into_iter().map(|value| json!({ name: value })));
    }
    all.extend([
        json!({"filters": "team:blue", "params": "filters=team%3Ablue", "facetFilters": ["team:blue"]}),
        json!({"filters": null, "facetFilters": null, "numericFilters": null, "tagFilters": null}),
        json!({"filters": "", "facetFilters": [], "numericFilters": [], "tagFilters": []}),
        json!({"hitsPerPage": 1000, "page": 0}),
        json!({"offset": 0, "length": 1000}),
    ]);
    all
}

#[actix_web::test]
async fn no_parameter_widens_what_a_key_forces() {
    let node = Node::start().await;
    teams(&node).await;
    let rights = json!(["search", "browse"]);
    let plain = key(&node, json!({"acl": rights})).await;
    let forced = key(&node, json!({"acl": rights, "queryParameters": "filters=team%3Ared"})).await;
    let mut keys = vec![forced.clone(), derive(&forced, "filters=team%3Ablue%20OR%20team%3Ared")];
    for parameters in [
        "filters=team%3Ared",
        "facetFilters=team%3Ared",
        "tagFilters=red",
        "numericFilters=n%3C5",
        "filters=team%3Ared%20OR%20team%3Agreen&facetFilters=%5B%5B%22team%3Ared%22%2C%22team%3Agreen%22%5D%5D",
    ] {
        keys.push(derive(&plain, parameters));
    }
    for key in &keys {
        let post =
            async |uri: &str, body: &Value| node.call_with(key, Method::POST, uri, &body.to_string()).await;
        for body in widenings() {
            let mut element = body.clone();
            element["indexName"] = json!("own");
            let mut facet = element.clone();
            (facet["type"], facet["facet"]) = (json!("facet"), json!("word"));
            let mut with_facets = body.clone();
            with_facets["facets"] = json!(["*"]);
            let answers = [
                post("/1/indexes/own/query", &with_facets).await,
                post("/1/indexes/*/queries", &json!({"requests": [element, facet]})).await,
                post("/1/indexes/own/browse", &body).await,
                post("/1/indexes/own/facets/word/query", &body).await,
                post("/1/indexes/own/facets/team/query", &body).await,
            ];
            for answer in answers {
                let text = String::from_utf8_lossy(&answer.bytes);
                let is_fine = answer.status == 200 || answer.status == 400;
                assert!(is_fine, "{body}: {} {text}", answer.status);
                let shows = text.contains("hidden") || text.contains(r#""team":"blue""#);
                assert!(!(answer.status == 200 && shows), "{body}: {text}");
            }
            // the same in the query string
            let pairs = body.as_object().unwrap().iter().map(|(name, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                (name.clone(), value)
            });
            let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
            for path in ["/1/indexes/own", "/1/indexes/own/browse"] {
                let answer = node.call_with(key, Method::GET, &format!("{path}?{query}"), "").await;
                assert!(!String::from_utf8_lossy(&answer.bytes).contains("hidden"), "{query}");
            }
        }
    }
}

#[actix_web::test]
async fn a_key_takes_no_more_hits_than_it_may() {
    let node = Node::start().await;
    teams(&node).await;
    let capped = key(&node, json!({"acl": ["search", "browse"], "maxHitsPerQuery": 3})).await;
    let secured = derive(&capped, "hitsPerPage=1000");
    let plain = derive(&node.search_key, "hitsPerPage=3");
    for key in [&capped, &secured, &plain] {
        for body in [
            json!({}),
            json!({"hitsPerPage": 1000}),
            json!({"offset": 0, "length": 1000}),
            json!({"params": "hitsPerPage=1000"}),
            json!({"params": "length=1000&offset=0"}),
            json!({"page": 1, "hitsPerPage": 1000}),
        ] {
            let mut element = body.clone();
            element["indexName"] = json!("own");
            let one =
                node.call_with(key, Method::POST, "/1/indexes/own/query", &body.to_string()).await.success();
            let all = json!({"requests": [element]}).to_string();
            let many = node.call_with(key, Method::POST, "/1/indexes/*/queries", &all).await.success();
            for hits in [&one["hits"], &many["results"][0]["hits"]] {
                assert!(hits.as_array().unwrap().len() <= 3, "{body}: {hits}");
            }
        }
        let get =
            node.call_with(key, Method::GET, "/1/indexes/own?hitsPerPage=1000&length=500&offset=0", "").await;
        assert!(get.success()["hits"].as_array().unwrap().len() <= 3);
    }
    for key in [&capped, &secured] {
        let browse =
            node.call_with(key, Method::POST, "/1/indexes/own/browse", r#"{"hitsPerPage":1000}"#).await;
        assert_eq!(browse.success()["hits"].as_array().unwrap().len(), 3);
    }
}

#[actix_web::test]
async fn a_cursor_shows_what_the_key_of_the_call_may_show() {
    let node = Node::start().await;
    teams(&node).await;
    let browse = key(&node, json!({"acl": ["browse"]})).await;
    let red = derive(&browse, "filters=team%3Ared&attributesToRetrieve=team");
    let first = node.post("/1/indexes/own/browse", json!({"hitsPerPage": 2})).await;
    let mut cursor = first["cursor"].as_str().unwrap().to_owned();
    let mut seen = 0;
    loop {
        let body = json!({ "cursor": cursor }).to_string();
        let page = node.call_with(&red, Method::POST, "/1/indexes/own/browse", &body).await.success();
        for hit in page["hits"].as_array().unwrap() {
            seen += 1;
            assert!(hit["team"] == "red" && hit["word"].is_null(), "{hit}");
        }
        let Some(next) = page["cursor"].as_str() else { break };
        cursor = next.to_owned();
    }
    assert!((1..=5).contains(&seen), "{seen}");
    // one that a caller has written
    let own = quorate_api::search::cursor::Cursor {
        params: "filters=team%3Ablue".into(),
        page: 0,
        order: None,
        after: vec![],
    };
    let forged = own.encode(&quorate_model::IndexName::new("own").unwrap());
    for cursor in [forged.as_str(), "AAAA", &"A".repeat(1 << 20), "é"] {
        let body = json!({ "cursor": cursor }).to_string();
        let answer = node.call_with(&red, Method::POST, "/1/indexes/own/browse", &body).await;
        let text = String::from_utf8_lossy(&answer.bytes);
        let is_refused = answer.status == 400 || answer.status == 413;
        assert!(is_refused || !text.contains(r#""team":"blue""#), "{text}");
    }
}

#[actix_web::test]
async fn addresses_and_referers_are_not_believed_from_whoever_says_them() {
    let node = Node::start().await;
    two_indices(&node).await;
    let query = "/1/indexes/own/query";
    let office = derive(&node.search_key, "restrictSources=10.0.0.0%2F8");
    let from = async |peer: &str, key: &str, headers: &[(&str, &str)]| {
        let all = [&[APP_ID, (KEY, key)], headers].concat();
        let request =
            request(Method::POST, query, &all, "{}").peer_addr(format!("{peer}:9").parse().unwrap());
        node.send(request).await
    };
    from("10.1.2.3", &office, &[]).await.success();
    for headers in [
        &[("X-Forwarded-For", "10.1.2.3")][..],
        &[("X-Forwarded-For", "10.1.2.3, 10.1.2.3"), ("X-Forwarded-For", "10.1.2.3")],
        &[("Forwarded", "for=10.1.2.3"), ("X-Real-IP", "10.1.2.3"), ("X-Forwarded-API-Key", ADMIN)],
    ] {
        from("11.1.2.3", &office, headers).await.refused(403, "Source not allowed with this API key");
    }
    // a limited key is counted for the peer, whatever the caller says of itself; the admin key passes calls on (C§13.4)
    let limited = key(&node, json!({"acl": ["search"], "maxQueriesPerIPPerHour": 2})).await;
    let state = node.options().state();
    let app = test::init_service(App::new().configure(|config| routes(config, state))).await;
    let send = async |peer: &str, key: &str, headers: &[(&str, &str)]| {
        let all = [&[APP_ID, (KEY, key)], headers].concat();
        let request =
            request(Method::POST, query, &all, "{}").peer_addr(format!("{peer}:9").parse().unwrap());
        let response: ServiceResponse<BoxBody> = app.call(request.to_request()).await.unwrap();
        response.status().as_u16()
    };
    let mut statuses = vec![];
    for address in ["1.1.1.1", "2.2.2.2", "3.3.3.3"] {
        statuses.push(send("9.9.9.9", &limited, &[("X-Forwarded-For", address)]).await);
    }
    assert_eq!(statuses, [200, 200, 429]);
    let passed_on = [("X-Forwarded-For", "4.4.4.4"), ("X-Forwarded-API-Key", limited.as_str())];
    let mut statuses = vec![];
    for _ in 0..3 {
        statuses.push(send("9.9.9.9", ADMIN, &passed_on).await);
    }
    assert_eq!(statuses, [200, 200, 429]);
    // a key that is no admin key passes nothing on: its own limit counts
    assert_eq!(send("9.9.9.9", &node.search_key, &passed_on).await, 200);

    let shop = key(&node, json!({"acl": ["search"], "referers": ["https://shop.example/*"]})).await;
    for (headers, is_allowed) in [
        (vec![("Referer", "https://shop.example/a")], true),
        (vec![("Origin", "https://shop.example/")], true),
        (vec![("Referer", "https://evil.example/"), ("Origin", "https://shop.example/")], false),
        (vec![("Referer", "https://shop.example.evil/")], false),
        (vec![("Referer", "https://evil/?https://shop.example/")], false),
        (vec![("Referer", "HTTPS://SHOP.EXAMPLE/")], false),
        (vec![("Referer", "https://shop.example")], false),
        (vec![("Referer", "")], false),
        (vec![("Referrer", "https://shop.example/a")], false),
        (vec![], false),
    ] {
        let answer = from("10.1.2.3", &shop, &headers).await;
        match is_allowed {
            true => drop(answer.success()),
            false => drop(answer.refused(403, "Method not allowed with this referer")),
        }
        let widened = derive(&shop, "referers=*");
        assert_eq!(from("10.1.2.3", &widened, &headers).await.status == 200, is_allowed, "{headers:?}");
    }
}

#[actix_web::test]
async fn forged_keys_run_out_and_others_do_not() {
    let node = Node::start().await;
    two_indices(&node).await;
    // as many that each try is long: more than may be hashed on the thread that answers
    for number in 0..200 {
        let key = quorate_model::ApiKey::new("", number, vec![]);
        node.service.create_key(key).await.unwrap();
    }
    let state = node.options().state();
    let app = test::init_service(App::new().configure(|config| routes(config, state))).await;
    let send = async |peer: &str, key: &str| {
        let request = request(Method::POST, "/1/indexes/own/query", &[APP_ID, (KEY, key)], "{}");
        let request = request.peer_addr(format!("{peer}:9").parse().unwrap());
        let response: ServiceResponse<BoxBody> = app.call(request.to_request()).await.unwrap();
        response.status().as_u16()
    };
    // together they cost twice what an address has in stock
    let padding = "x".repeat(40_000);
    let keys: Vec<String> =
        (0..64).map(|number| derive("nobody", &format!("userToken={number}&a={padding}"))).collect();
    let statuses = futures_util::future::join_all(keys.iter().map(|key| send("9.9.9.9", key))).await;
    let stopped = statuses.iter().filter(|status| **status == 429).count();
    assert!((20..=50).contains(&stopped) && !statuses.contains(&200), "{statuses:?}");
    // plain keys go on, from there as well, and secured ones from elsewhere
    assert_eq!(send("9.9.9.9", &node.search_key).await, 200);
    assert_eq!(send("8.8.8.8", &derive(&node.search_key, "hitsPerPage=1")).await, 200);
}
