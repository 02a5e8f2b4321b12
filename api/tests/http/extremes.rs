//! What do words of any script, times far away and patterns of stars do?

use super::*;
use quorate_api::auth::secured::derive;
use serde_json::json;

/// A language and a word of it, in each script that people write.
const WORDS: [(&str, &str); 22] = [
    ("en", "zqbook"),
    ("de", "Fußgänger"),
    ("tr", "ışık"),
    ("vi", "sách"),
    ("el", "βιβλίο"),
    ("ru", "Книга"),
    ("hy", "գիրք"),
    ("ka", "წიგნი"),
    ("he", "ספר"),
    ("ar", "كتاب"),
    ("fa", "کتاب‌خانه"),
    ("hi", "किताब"),
    ("bn", "বই"),
    ("ta", "புத்தகம்"),
    ("te", "పుస్తకం"),
    ("th", "หนังสือ"),
    ("ko", "책방"),
    ("ja", "本"),
    ("zh", "书"),
    ("fr", "e\u{301}tude"),
    ("en", "𐌰𐌱𐌲"),
    ("es", "𝒷𝓊𝓈"),
];

#[actix_web::test]
async fn words_of_every_script_are_kept_found_and_left_out() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/1", json!({"name": "lamp"})).await;
    // a language that is not known is refused, one by one
    let known: Vec<&(&str, &str)> =
        WORDS.iter().filter(|(language, _)| quorate_model::languages::CODES.contains(language)).collect();
    for (language, word) in &known {
        let asked = json!({"query": format!("{word} lamp"), "removeStopWords": [language]});
        let before = node.post("/1/indexes/i/query", asked.clone()).await["nbHits"].clone();
        let entry = json!({"objectID": word, "language": language, "word": word});
        node.change_dictionary("stopwords", false, vec![json!({"action": "addEntry", "body": entry})]).await;
        let found = json!({"query": word, "language": language});
        let found = node.post("/1/dictionaries/stopwords/search", found).await;
        let hit = found["hits"].as_array().unwrap().iter().find(|hit| hit["objectID"] == *word);
        assert_eq!(hit.map(|hit| &hit["word"]), Some(&json!(word)), "{language} {found}");
        let after = node.post("/1/indexes/i/query", asked).await["nbHits"].clone();
        assert_eq!((before, after), (json!(0), json!(1)), "{language} {word}");
    }
    assert!(known.len() > 18, "{}", known.len());
    let custom =
        node.post("/1/dictionaries/stopwords/search", json!({"query": "", "hitsPerPage": 1000})).await;
    let hits = custom["hits"].as_array().unwrap();
    assert_eq!(hits.iter().filter(|hit| hit["type"] == "custom").count(), known.len());
}

#[actix_web::test]
async fn rules_act_in_their_time_however_far_it_is() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/1", json!({"name": "lamp"})).await;
    let rule = |validity: Value| json!({"validity": validity, "consequence": {"userData": {"acts": true}}});
    for (validity, acts) in [
        (json!([]), true),
        (json!([{"from": 0, "until": u64::MAX}]), true),
        (json!([{"from": 0, "until": 1}]), false),
        (json!([{"from": u64::MAX, "until": u64::MAX}]), false),
        (json!([{"from": 0, "until": 1}, {"from": 1, "until": u64::MAX - 1}]), true),
    ] {
        node.write(Method::PUT, "/1/indexes/i/rules/r", rule(validity.clone())).await;
        let answer = node.post("/1/indexes/i/query", json!({})).await;
        assert_eq!(answer["userData"].is_array(), acts, "{validity} {answer}");
    }
    let before = node.get("/1/indexes/i/rules/r").await;
    for (from, until, member) in [
        (json!(-1), json!(1), "validity[0].from"),
        (json!(0), json!(-1), "validity[0].until"),
        (json!(2), json!(1), "validity[0].until"),
        (json!(0), json!(1e30), "validity[0].until"),
        (json!("now"), json!(1), "validity[0].from"),
    ] {
        let body = rule(json!([{"from": from, "until": until}])).to_string();
        let answer = node.call(Method::PUT, "/1/indexes/i/rules/r", &body).await;
        answer.refused(400, &format!("Invalid value for \"{member}\" parameter, expected "));
    }
    assert_eq!(node.get("/1/indexes/i/rules/r").await, before);
}

#[actix_web::test]
async fn keys_end_when_they_say_however_far_it_is() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/1", json!({"name": "lamp"})).await;
    let longest = node.key(json!({"acl": ["search"], "validity": i32::MAX})).await;
    node.call_with(&longest, Method::GET, "/1/indexes/i", "").await.success();
    let left = node.get(&format!("/1/keys/{longest}")).await["validity"].as_u64().unwrap();
    assert!((i32::MAX as u64 - 60..=i32::MAX as u64).contains(&left), "{left}");
    for (until, status) in [
        ("0", 400),
        ("1", 400),
        ("-1", 400),
        ("-9999999999999", 400),
        ("tomorrow", 400),
        ("99999999999999999999999", 400),
        ("4102444800", 200),
        ("18446744073709551615", 200),
    ] {
        let key = derive(&node.search_key, &format!("validUntil={until}"));
        let answer = node.call_with(&key, Method::GET, "/1/indexes/i", "").await;
        match status {
            200 => drop(answer.success()),
            _ => drop(answer.refused(400, "validUntil parameter expired (less than current date)")),
        }
    }
}

#[actix_web::test]
async fn patterns_of_stars_stand_for_every_index() {
    let node = Node::start().await;
    node.write(Method::PUT, "/1/indexes/i/1", json!({"name": "lamp"})).await;
    for patterns in
        [json!(["*"]), json!(["**"]), json!(["none", "*"]), json!(["*i*"]), json!(vec!["*"; 1_000])]
    {
        let key = node.key(json!({"acl": ["search"], "indexes": patterns})).await;
        node.call_with(&key, Method::GET, "/1/indexes/i", "").await.success();
        assert_eq!(node.get(&format!("/1/keys/{key}")).await["indexes"], patterns);
    }
    for pattern in ["***", "****", "*a*b*", "a*b", ""] {
        let body = json!({"acl": ["search"], "indexes": ["i", pattern]}).to_string();
        let answer = node.call(Method::POST, "/1/keys", &body).await;
        answer.refused(400, "Invalid value for \"indexes[1]\" parameter, expected ");
    }
    let key = node.key(json!({"acl": ["search"], "referers": ["*"]})).await;
    node.call_with(&key, Method::GET, "/1/indexes/i", "").await.success();
}

#[actix_web::test]
async fn numbers_are_what_was_written_whatever_is_done_with_them() {
    let node = Node::start().await;
    let settings = json!({"attributesForFaceting": ["v", "huge"]});
    node.write(Method::PUT, "/1/indexes/i/settings", settings).await;
    let wanted = "/1/indexes/i/query";
    for (id, number) in
        [("a", "123456789.12345679"), ("b", "11.692884402888751"), ("c", "123456789.123456790")]
    {
        let record = format!(r#"{{"v":{number},"huge":1e308}}"#);
        let written = node.call(Method::PUT, &format!("/1/indexes/i/{id}"), &record).await.success();
        node.waited(written).await;
    }
    for (number, count) in [("123456789.12345679", 2), ("11.692884402888751", 1)] {
        let found = node.post(wanted, json!({"filters": format!("v:{number}")})).await;
        assert_eq!(found["nbHits"], count, "{number}: {found}");
    }
    let found = node.post(wanted, json!({"facets": ["v", "huge"]})).await;
    assert_eq!(found["facets"]["v"], json!({"123456789.12345679": 2, "11.692884402888751": 1}));
    let huge = &found["facets_stats"]["huge"];
    assert_eq!((huge["avg"].as_f64(), huge["sum"].as_f64()), (Some(1e308), Some(f64::MAX)), "{huge}");
    let change = json!({"v": {"_operation": "Increment", "value": 0}});
    node.write(Method::POST, "/1/indexes/i/b/partial", change).await;
    assert_eq!(node.get("/1/indexes/i/b").await["v"].to_string(), "11.692884402888751");
}

#[actix_web::test]
async fn a_record_is_as_large_as_what_it_says() {
    // 1,000 bytes are allowed
    let node = Node::start().await;
    let record = |times: usize| format!(r#"{{"a":"{}"}}"#, r"\u00e9\/".repeat(times));
    let answer = node.call(Method::PUT, "/1/indexes/i/1", &record(300)).await.success();
    node.waited(answer).await;
    assert_eq!(node.get("/1/indexes/i/1").await["a"], "é/".repeat(300));
    node.call(Method::PUT, "/1/indexes/i/1", &record(400)).await.refused(400, "Record is too big size=12");
}

#[actix_web::test]
async fn no_hit_has_a_member_twice() {
    let node = Node::start().await;
    let record = json!({"t": "x", "_highlightResult": {"t": 1}, "_rankingInfo": 2, "_snippetResult": 3, "_geoloc": {"lat": 1, "lng": 1}});
    node.write(Method::PUT, "/1/indexes/i/1", record.clone()).await;
    let asked = json!({"query": "x", "getRankingInfo": true, "attributesToSnippet": ["t"]}).to_string();
    let answer = node.call(Method::POST, "/1/indexes/i/query", &asked).await;
    let text = String::from_utf8(answer.bytes.clone()).unwrap();
    for own in [r#""_highlightResult":{"t":1}"#, r#""_rankingInfo":2"#, r#""_snippetResult":3"#] {
        assert!(!text.contains(own), "{own}: {text}");
    }
    let hit = &answer.success()["hits"][0];
    assert_eq!(hit["_highlightResult"]["t"]["value"], "<em>x</em>");
    // what is not added is shown as it was written
    let plain = json!({"query": "x", "attributesToHighlight": [], "attributesToSnippet": [],
        "attributesToRetrieve": ["_highlightResult"]});
    assert_eq!(node.post("/1/indexes/i/query", plain).await["hits"][0]["_highlightResult"], json!({"t": 1}));
    assert_eq!(node.get("/1/indexes/i/1").await["_rankingInfo"], 2);
}
