//! Are dictionaries changed, searched and set as C§12 says?
//!
//! - `POST /1/dictionaries/{dictionaryName}/batch`: editSettings
//! - `GET /1/dictionaries/{dictionaryName}/search`: settings
//! - `POST /1/dictionaries/{dictionaryName}/search`: settings
//! - `PUT /1/dictionaries/*/settings`: editSettings
//! - `GET /1/dictionaries/*/settings`: settings
//! - `GET /1/dictionaries/*/languages`: settings

use super::*;
use serde_json::json;

/// Bytes of the body of a batch at most.
const BATCH_BYTES_MAX: usize = 10 << 20;

pub(crate) fn add(body: Value) -> Value {
    json!({"action": "addEntry", "body": body})
}
fn stop_word(id: &str, language: &str, word: &str) -> Value {
    add(json!({"objectID": id, "language": language, "word": word}))
}
/// The words of the hits, and nbHits.
fn found(answer: &Value) -> (String, u64) {
    let word = |hit: &Value| match &hit["word"] {
        Value::String(word) => word.clone(),
        _ => hit["words"]
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect::<Vec<_>>()
            .join("+"),
    };
    let words: Vec<String> = answer["hits"].as_array().unwrap().iter().map(word).collect();
    (words.join(" "), answer["nbHits"].as_u64().unwrap())
}

impl Node {
    /// Changes a dictionary and waits until every reader goes by it.
    pub(crate) async fn change_dictionary(
        &self,
        dictionary: &str,
        clear: bool,
        requests: Vec<Value>,
    ) -> Value {
        let body = json!({"clearExistingDictionaryEntries": clear, "requests": requests});
        self.write(Method::POST, &format!("/1/dictionaries/{dictionary}/batch"), body).await
    }
    pub(crate) async fn switch_standard(&self, switches: Value) -> Value {
        let body = json!({"disableStandardEntries": switches});
        self.write(Method::PUT, "/1/dictionaries/*/settings", body).await
    }
    /// The custom entries of a dictionary, by objectID.
    async fn custom(&self, dictionary: &str) -> String {
        let uri = format!("/1/dictionaries/{dictionary}/search");
        let all = self.post(&uri, json!({"query": "", "hitsPerPage": 1000})).await;
        let custom = all["hits"].as_array().unwrap().iter().filter(|hit| hit["type"] == "custom");
        custom.map(|hit| hit["objectID"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    }
}

#[actix_web::test]
async fn every_call_answers_what_clients_decode() {
    let node = Node::start().await;
    let base = "/1/dictionaries/stopwords";
    let requests =
        vec![stop_word("b", "en", "down"), stop_word("a", "de", "Über"), stop_word("c", "en", "downtown")];
    let answer = node.change_dictionary("stopwords", false, requests).await;
    assert!(answer["taskID"].is_u64() && answer["updatedAt"].is_string() && answer["objectIDs"].is_null());
    let status = node.get(&format!("/1/task/{}", answer["taskID"])).await;
    assert_eq!(status["status"], "published");
    for (body, expected) in [
        (json!({"query": "down", "language": "en"}), ("down downtown down", 3)),
        (json!({"query": "downt"}), ("downtown", 1)),
        (json!({"query": "ÜBER", "language": "DE"}), ("Über über", 2)),
        (json!({"query": "down", "language": "de"}), ("", 0)),
        (json!({"query": "down", "language": "en", "hitsPerPage": 2, "page": 1}), ("down", 3)),
        (json!({"query": "down", "language": "en", "hitsPerPage": "1", "page": "7"}), ("", 3)),
        (json!({"query": "a", "language": "de", "hitsPerPage": 1}), ("Über", 4)),
    ] {
        let answer = node.post(&format!("{base}/search"), body.clone()).await;
        let (words, nb_hits) = found(&answer);
        assert_eq!((words.as_str(), nb_hits.min(4)), expected, "{body} {answer}");
        assert!(answer["page"].is_u64() && answer["nbPages"].is_u64());
    }
    let hit = &node.get(&format!("{base}/search?query=downt&language=en&x-algolia-agent=x")).await["hits"][0];
    let expected =
        json!({"objectID": "c", "language": "en", "word": "downtown", "state": "enabled", "type": "custom"});
    assert_eq!(hit, &expected);
    let standard = node.get(&format!("{base}/search?query=about&language=en")).await["hits"][0].clone();
    assert_eq!((&standard["word"], &standard["type"]), (&json!("about"), &json!("standard")));
    let id = standard["objectID"].as_str().unwrap();
    assert_eq!(found(&node.post(&format!("{base}/search"), json!({"query": id})).await), ("about".into(), 1));

    node.change_dictionary(
        "stopwords",
        false,
        vec![
            json!({"action": "deleteEntry", "body": {"objectID": "b"}}),
            json!({"action": "deleteEntry", "body": {"objectID": "never"}}),
            stop_word("a", "de", "unter"),
        ],
    )
    .await;
    assert_eq!(node.custom("stopwords").await, "a c");
    let plurals = add(json!({"objectID": "p", "language": "fr", "words": ["cheval", "chevaux"]}));
    node.change_dictionary("plurals", false, vec![plurals]).await;
    let found_plural = node.post("/1/dictionaries/plurals/search", json!({"query": "chevau"})).await;
    assert_eq!(found(&found_plural), ("cheval+chevaux".into(), 1));
    let compound =
        add(json!({"objectID": "k", "language": "de", "word": "Kaskade", "decomposition": ["kas", "kade"]}));
    node.change_dictionary("compounds", false, vec![compound]).await;
    let found = node.post("/1/dictionaries/compounds/search", json!({"query": "kaskade"})).await;
    assert_eq!(found["hits"][0]["decomposition"], json!(["kas", "kade"]));

    let languages = node.get("/1/dictionaries/*/languages").await;
    assert_eq!(languages.as_object().unwrap().len(), 68);
    let count = |count: u64| json!({"nbCustomEntries": count});
    assert_eq!(languages["de"], json!({"stopwords": count(1), "plurals": count(0), "compounds": count(1)}));
    assert_eq!(languages["fr"], json!({"stopwords": count(0), "plurals": count(1), "compounds": null}));
    assert_eq!(languages["th"]["plurals"], Value::Null);

    node.change_dictionary("stopwords", true, vec![stop_word("z", "en", "only")]).await;
    assert_eq!(node.custom("stopwords").await, "z");
    let old = json!({"clearExistingDictionaryEntries": true, "requests": {"action": "addEntry", "body": []}});
    node.write(Method::POST, &format!("{base}/batch"), old).await;
    assert_eq!((node.custom("stopwords").await, node.custom("plurals").await), (String::new(), "p".into()));
}

#[actix_web::test]
async fn settings_change_language_by_language() {
    let node = Node::start().await;
    let empty = json!({"stopwords": {}, "plurals": {}, "compounds": {}});
    let settings = async || node.get("/1/dictionaries/*/settings").await["disableStandardEntries"].clone();
    assert_eq!(settings().await, empty);
    let answer = node.switch_standard(json!({"stopwords": {"fr": true, "en": false}})).await;
    assert!(answer["taskID"].is_u64() && answer["updatedAt"].is_string());
    node.switch_standard(json!({"stopwords": {"en": true}, "compounds": {"de": true}})).await;
    let expected = json!({"stopwords": {"en": true, "fr": true}, "plurals": {}, "compounds": {"de": true}});
    assert_eq!(settings().await, expected);
    let about = node.get("/1/dictionaries/stopwords/search?query=about&language=en").await["hits"][0].clone();
    assert_eq!(about["state"], "disabled");
    node.switch_standard(json!({"stopwords": null})).await;
    assert_eq!(settings().await, json!({"stopwords": {}, "plurals": {}, "compounds": {"de": true}}));
}

#[actix_web::test]
async fn c19_bad_calls_say_why_and_change_nothing() {
    let node = Node::start().await;
    node.change_dictionary("stopwords", false, vec![stop_word("a", "en", "kept")]).await;
    let batch =
        |requests: Value| json!({"clearExistingDictionaryEntries": true, "requests": requests}).to_string();
    let good = || stop_word("b", "en", "new");
    let long = stop_word("b", "en", &"x".repeat(10 << 10));
    let parameter = |name: &str| format!("Invalid value for \"{name}\" parameter, expected ");
    let base = "/1/dictionaries/stopwords";
    for (method, uri, body, text) in [
        (Method::POST, format!("{base}/batch"), "{\"requests\":[".into(), "parse error:".into()),
        (Method::POST, format!("{base}/batch"), String::new(), "requests is required".into()),
        (
            Method::POST,
            "/1/dictionaries/synonyms/batch".into(),
            batch(json!([good()])),
            "Unknown dictionary: synonyms, expected stopwords, plurals or compounds".into(),
        ),
        (
            Method::POST,
            format!("{base}/batch"),
            batch(json!([good(), stop_word("b", "en", "")])),
            parameter("requests[1].body.word") + "non-empty string",
        ),
        (
            Method::POST,
            format!("{base}/batch"),
            batch(json!([good(), long])),
            parameter("requests[1].body.word") + "string of at most 512 bytes",
        ),
        (
            Method::POST,
            format!("{base}/batch"),
            batch(json!([good(), stop_word("b", "xx", "a")])),
            parameter("requests[1].body.language") + "language codes",
        ),
        (
            Method::POST,
            format!("{base}/batch"),
            batch(json!([good(), {"action": "addEntry", "body": {"more": 1}}])),
            "Invalid object attributes: requests[1].body.more".into(),
        ),
        (
            Method::POST,
            "/1/dictionaries/compounds/batch".into(),
            batch(json!([add(json!({"objectID": "a", "language": "en", "word": "a", "decomposition": []}))])),
            parameter("requests[0].body.language") + "a language with compounds",
        ),
        (Method::GET, format!("{base}/search"), String::new(), "query is required".into()),
        (
            Method::GET,
            format!("{base}/search?query=a&hitsPerPage=1001"),
            String::new(),
            parameter("hitsPerPage") + "integer between 1 and 1000",
        ),
        (
            Method::POST,
            format!("{base}/search"),
            json!({"query": "a", "hitsPerPage": 0}).to_string(),
            parameter("hitsPerPage") + "integer between 1 and 1000",
        ),
        (
            Method::POST,
            format!("{base}/search"),
            json!({"query": "a", "language": "xx"}).to_string(),
            parameter("language") + "language codes",
        ),
        (
            Method::POST,
            "/1/dictionaries/rules/search".into(),
            json!({"query": "a"}).to_string(),
            "Unknown dictionary: rules".into(),
        ),
        (
            Method::PUT,
            "/1/dictionaries/*/settings".into(),
            "{}".into(),
            "disableStandardEntries is required".into(),
        ),
        (
            Method::PUT,
            "/1/dictionaries/*/settings".into(),
            json!({"disableStandardEntries": {"stopwords": {"en": true, "xx": true}}}).to_string(),
            parameter("disableStandardEntries.stopwords") + "language codes",
        ),
    ] {
        let refused = node.call(method, &uri, &body).await.refused(400, &text);
        assert!(refused["message"].as_str().unwrap().len() < 300, "{refused}");
    }
    assert_eq!(node.custom("stopwords").await, "a");
    let settings = node.get("/1/dictionaries/*/settings").await;
    assert_eq!(settings["disableStandardEntries"]["stopwords"], json!({}));
    for (method, uri) in [
        (Method::POST, "/1/dictionaries/stopwords/batch"),
        (Method::GET, "/1/dictionaries/stopwords/search?query="),
        (Method::PUT, "/1/dictionaries/*/settings"),
        (Method::GET, "/1/dictionaries/*/languages"),
    ] {
        node.call_with(&node.search_key, method, uri, "{}")
            .await
            .refused(403, "Method not allowed with this API key");
    }
}

#[actix_web::test]
async fn a_batch_may_have_ten_megabytes_and_not_a_byte_more() {
    let node = Node::start().await;
    node.change_dictionary("stopwords", false, vec![stop_word("a", "en", "kept")]).await;
    let entry =
        |n: usize| stop_word(&format!("{n:06}"), "en", &format!("w{n}{}", "x".repeat(400))).to_string();
    let mut body = String::from("{\"requests\":[");
    for n in 0.. {
        let next = entry(n);
        if body.len() + next.len() + 2 > BATCH_BYTES_MAX {
            break;
        }
        if n > 0 {
            body.push(',');
        }
        body.push_str(&next);
    }
    body.push_str("]}");
    body.push_str(&" ".repeat(BATCH_BYTES_MAX + 1 - body.len()));
    let uri = "/1/dictionaries/stopwords/batch";
    let too_big = node.call_large(uri, body.clone()).await;
    too_big.refused(413, "The body is too big: at most 10485760 bytes are accepted");
    assert_eq!(node.custom("stopwords").await, "a");
    body.pop();
    let taken = node.call_large(uri, body).await.success();
    node.wait(taken["taskID"].as_u64().unwrap()).await;
    let all = node.get("/1/dictionaries/stopwords/search?query=w&language=en&hitsPerPage=1").await;
    assert!(all["nbHits"].as_u64().unwrap() > 20_000, "{}", all["nbHits"]);
}

#[actix_web::test]
async fn what_is_over_the_quota_is_refused_and_changes_nothing() {
    let node = Node::start().await;
    node.change_dictionary(
        "plurals",
        false,
        vec![add(json!({"objectID": "a", "language": "en", "words": ["a"]}))],
    )
    .await;
    let words: Vec<String> = (0..100).map(|n| format!("{n}{}", "x".repeat(500))).collect();
    let set = |n: usize| add(json!({"objectID": n.to_string(), "language": "en", "words": words}));
    let uri = "/1/dictionaries/plurals/batch";
    let mut refused = 0;
    for part in 0..4 {
        let requests: Vec<Value> = (0..200).map(|n| set(part * 200 + n)).collect();
        let body = json!({"requests": requests}).to_string();
        let answer = node.call_large(uri, body).await;
        match part {
            0..=2 => drop(answer.success()),
            _ => {
                answer.refused(403, "Custom entries quota exceeded: the dictionary plurals can have at most");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 1);
    let languages = node.get("/1/dictionaries/*/languages").await;
    assert_eq!(languages["en"]["plurals"], json!({"nbCustomEntries": 601}));
}

impl Node {
    /// Sends a body that is larger than these tests allow otherwise.
    async fn call_large(&self, uri: &str, body: String) -> Answer {
        let options = ServerOptions { limits: Limits::default(), ..self.options() };
        let request = test::TestRequest::default()
            .method(Method::POST)
            .uri(uri)
            .insert_header(("X-Algolia-Application-Id", APP))
            .insert_header(("X-Algolia-API-Key", ADMIN))
            .set_payload(body);
        self.send_to(options, request).await
    }
}

impl Node {
    /// An index with these names, numbered, and the ids that each query finds.
    pub(crate) async fn names(&self, index: &str, names: &[&str]) {
        for (number, name) in names.iter().enumerate() {
            self.write(Method::PUT, &format!("/1/indexes/{index}/{number}"), json!({"name": name})).await;
        }
    }
    /// The ids that a search finds, in order.
    pub(crate) async fn ids(&self, index: &str, asked: Value) -> String {
        let answer = self.post(&format!("/1/indexes/{index}/query"), asked).await;
        let mut ids: Vec<&str> =
            answer["hits"].as_array().unwrap().iter().map(|hit| hit["objectID"].as_str().unwrap()).collect();
        ids.sort();
        ids.join(" ")
    }
}

#[actix_web::test]
async fn stop_words_act_on_every_index_in_their_languages() {
    let node = Node::start().await;
    node.names("i", &["red car", "shiny car", "the band", "Łąka zielona", "слово дело"]).await;
    let search = |query: &str, languages: Value| json!({"query": format!("{query} "), "removeStopWords": true, "queryLanguages": languages});
    assert_eq!(node.ids("i", search("shiny red car", json!(["en"]))).await, "");
    let entries = vec![
        stop_word("1", "en", "Shiny"),
        stop_word("2", "pl", "łąka"),
        stop_word("3", "ru", "СЛОВО"),
        add(json!({"objectID": "4", "language": "en", "word": "the", "state": "disabled"})),
    ];
    assert_eq!(node.ids("i", search("the red car", json!(["en"]))).await, "0", "a standard one");
    node.change_dictionary("stopwords", false, entries).await;
    assert_eq!(node.ids("i", search("shiny red car", json!(["en"]))).await, "0");
    assert_eq!(node.ids("i", search("shiny red car", json!(["de"]))).await, "");
    assert_eq!(node.ids("i", json!({"query": "shiny red car", "removeStopWords": ["en"], "queryType": "prefixNone", "typoTolerance": false})).await, "0");
    assert_eq!(node.ids("i", json!({"query": "shiny red car "})).await, "", "nobody asked for it");
    assert_eq!(
        node.ids("i", search("the red car", json!(["en"]))).await,
        "",
        "the standard one is switched off"
    );
    assert_eq!(node.ids("i", search("łąka red car", json!(["pl"]))).await, "0");
    assert_eq!(node.ids("i", search("слово red car", json!(["ru"]))).await, "0");
    assert_eq!(node.ids("i", json!({"query": "shiny red car ", "removeStopWords": ["en", "fr"]})).await, "0");
    // an index that is made later, and a virtual replica
    let replica = json!({"replicas": ["virtual(v)"], "removeStopWords": true, "queryLanguages": ["en"]});
    node.write(Method::PUT, "/1/indexes/later/settings", replica).await;
    node.names("later", &["red car"]).await;
    for index in ["later", "v"] {
        assert_eq!(node.ids(index, json!({"query": "shiny red car "})).await, "0", "{index}");
    }
    // standard ones of a language
    assert_eq!(node.ids("i", search("about red car", json!(["en"]))).await, "0");
    node.switch_standard(json!({"stopwords": {"en": true}})).await;
    assert_eq!(node.ids("i", search("about red car", json!(["en"]))).await, "");
    assert_eq!(node.ids("i", search("shiny red car", json!(["en"]))).await, "0", "custom ones stay");
    node.switch_standard(json!({"stopwords": {"en": false}})).await;
    assert_eq!(node.ids("i", search("about red car", json!(["en"]))).await, "0");
    node.change_dictionary("stopwords", true, vec![]).await;
    assert_eq!(node.ids("i", search("shiny red car", json!(["en"]))).await, "");
    assert_eq!(node.ids("i", search("the red car", json!(["en"]))).await, "0");
}

#[actix_web::test]
async fn plurals_find_each_other_in_their_languages() {
    let node = Node::start().await;
    node.names("i", &["one blork", "two zwampf", "car", "cars", "мышь", "мыши"]).await;
    let search = |query: &str, language: &str| json!({"query": format!("{query} "), "ignorePlurals": [language], "typoTolerance": false, "queryType": "prefixNone"});
    assert_eq!(node.ids("i", search("blork", "sv")).await, "0");
    let sets = vec![
        add(json!({"objectID": "1", "language": "sv", "words": ["Blork", "Zwampf"]})),
        add(json!({"objectID": "2", "language": "ru", "words": ["мышь", "мыши"]})),
    ];
    node.change_dictionary("plurals", false, sets).await;
    assert_eq!(node.ids("i", search("blork", "sv")).await, "0 1");
    assert_eq!(node.ids("i", search("zwampf", "sv")).await, "0 1");
    assert_eq!(node.ids("i", search("blork", "fr")).await, "0");
    assert_eq!(node.ids("i", search("мыши", "ru")).await, "4 5");
    assert_eq!(node.ids("i", search("car", "en")).await, "2 3");
    node.switch_standard(json!({"stopwords": null, "plurals": {"en": true}})).await;
    assert_eq!(node.ids("i", search("car", "en")).await, "2");
    assert_eq!(node.ids("i", search("blork", "sv")).await, "0 1");
    let delete = json!({"action": "deleteEntry", "body": {"objectID": "1"}});
    node.change_dictionary("plurals", false, vec![delete]).await;
    assert_eq!(node.ids("i", search("blork", "sv")).await, "0");
}

#[actix_web::test]
async fn compounds_are_taken_apart_in_segments_and_queries() {
    let node = Node::start().await;
    let settings = json!({"decompoundedAttributes": {"de": ["name"], "nl": ["name"]}});
    node.write(Method::PUT, "/1/indexes/i/settings", settings.clone()).await;
    node.names("i", &["Xylokubel", "Gartenhaus", "Kaskade", "kubel fur xylo"]).await;
    node.names("plain", &["Xylokubel"]).await;
    let part = |query: &str| json!({"query": query, "typoTolerance": false, "queryType": "prefixNone"});
    assert_eq!(node.ids("i", part("haus")).await, "1", "as lists say");
    assert_eq!(node.ids("i", part("kubel")).await, "3");
    let entries = vec![
        add(json!({"objectID": "1", "language": "de", "word": "Xylo", "decomposition": []})),
        add(json!({"objectID": "2", "language": "de", "word": "kübel", "decomposition": []})),
        add(json!({"objectID": "3", "language": "nl", "word": "Kaskade", "decomposition": ["kas", "kade"]})),
        add(
            json!({"objectID": "4", "language": "de", "word": "Gartenhaus", "decomposition": ["gart", "enhaus"]}),
        ),
        add(
            json!({"objectID": "5", "language": "nl", "word": "Kaskadex", "decomposition": ["ka", "skadex"]}),
        ),
    ];
    node.change_dictionary("compounds", false, entries).await;
    for (query, expected) in
        [("kubel", "0 3"), ("xylo", "0 3"), ("kade", "2"), ("haus", ""), ("enhaus", "1"), ("gartenhaus", "1")]
    {
        assert_eq!(node.ids("i", part(query)).await, expected, "{query}");
    }
    assert_eq!(node.ids("plain", part("kubel")).await, "", "it takes no words apart");
    let query = json!({"query": "kaskadex ", "queryLanguages": ["nl"], "decompoundQuery": true, "typoTolerance": false});
    node.names("parts", &["ka met skadex"]).await;
    assert_eq!(node.ids("parts", query.clone()).await, "0");
    // made later, and written to later
    node.write(Method::PUT, "/1/indexes/later/settings", settings).await;
    node.names("later", &["Xylokubel"]).await;
    assert_eq!(node.ids("later", part("kubel")).await, "0");
    node.write(Method::PUT, "/1/indexes/i/9", json!({"name": "Kubelxylo"})).await;
    assert_eq!(node.ids("i", part("xylo")).await, "0 3 9");
    // without the standard ones, then without any
    node.switch_standard(json!({"compounds": {"de": true}})).await;
    node.write(Method::PUT, "/1/indexes/i/10", json!({"name": "Lederhandtasche"})).await;
    assert_eq!(node.ids("i", part("tasche")).await, "");
    node.switch_standard(json!({"compounds": null})).await;
    assert_eq!(node.ids("i", part("tasche")).await, "10");
    node.change_dictionary("compounds", true, vec![]).await;
    assert_eq!(
        (node.ids("i", part("kubel")).await, node.ids("i", part("haus")).await),
        ("3".into(), "1".into())
    );
    assert_eq!(node.ids("parts", query).await, "");
}
