//! A right body for every call that takes one, with every member that it may have.

use super::*;

pub struct Call {
    pub method: Method,
    /// The path of its row.
    pub route: &'static str,
    pub uri: String,
    pub body: Value,
    /// Whether it changes something when it is carried out.
    pub writes: bool,
    /// Whether any text would be taken, with an effect that ends the test.
    pub is_of_texts: bool,
}
/// The path of a row with names in it.
fn uri(route: &str, key: &str) -> String {
    let named = [
        ("{indexName}", "i"),
        ("{objectID}", "1"),
        ("{facetName}", "color"),
        ("{dictionaryName}", "stopwords"),
        ("{model}", "trending-items"),
        ("{key}", key),
        ("{node}", "nobody"),
        ("{group}", "4095"),
    ];
    named.into_iter().fold(route.to_owned(), |uri, (part, name)| uri.replace(part, name))
}
fn read(method: Method, route: &'static str, body: Value) -> Call {
    Call { method, route, uri: uri(route, ""), body, writes: false, is_of_texts: false }
}
fn write(method: Method, route: &'static str, body: Value) -> Call {
    Call { writes: true, ..read(method, route, body) }
}
fn post(route: &'static str, body: Value) -> Call {
    write(Method::POST, route, body)
}
fn put(route: &'static str, body: Value) -> Call {
    write(Method::PUT, route, body)
}

pub fn all(key: &str, key_of_index: &str) -> Vec<Call> {
    // builds go on after the calls for suggestions
    let of_parts =
        [documents(), keys(key, key_of_index), installation(), events(), recommendations(), suggestions()];
    [searches(), records()].into_iter().chain(of_parts).flatten().collect()
}

fn events() -> Vec<Call> {
    let id = "0123456789abcdef0123456789abcdef";
    let data = json!({"queryID": id, "price": 1.5, "quantity": 2, "discount": "0.5"});
    let bought = json!({"eventName": "Bought", "eventType": "conversion", "eventSubtype": "purchase", "index": "i",
        "userToken": "ann", "authenticatedUserToken": "bob", "queryID": id, "objectIDs": ["1"], "objectData": [data],
        "value": 2.5, "currency": "EUR"});
    let clicked = json!({"eventName": "Clicked", "eventType": "click", "index": "i", "userToken": "ann",
        "objectIDs": ["1"], "positions": [1]});
    let seen = json!({"eventName": "Seen", "eventType": "view", "index": "i", "userToken": "ann", "filters": ["a:b"]});
    let batch = |event: Value| post("/1/events", json!({"events": [event]}));
    let yesterday = quorate_cluster::unix_ms() - 24 * 3_600_000;
    let mut past = clicked.clone();
    past["timestamp"] = json!(yesterday);
    let search = json!({"index": "i", "userToken": "ann", "timestamp": yesterday, "query": "lamp", "hits": 3, "shown": ["1"],
        "tags": ["t"], "filters": ["a:b"], "country": "DE", "queryIDs": [id], "stands": true});
    let history = post("/admin/events", json!({"events": [past], "searches": [search]}));
    vec![batch(bought), batch(clicked), batch(seen), history]
}

fn suggestions() -> Vec<Call> {
    let source = json!({"indexName": "i", "replicas": true, "analyticsTags": ["t"], "minHits": 5, "minLetters": 4,
        "facets": [{"attribute": "color", "amount": 2}], "generate": [["color"]], "external": ["j"]});
    let config = json!({"appID": "A", "indexName": "made", "sourceIndices": [source], "languages": ["en"],
        "exclude": ["word"], "enablePersonalization": false, "allowSpecialCharacters": false});
    let mut unnamed = config.clone();
    unnamed["indexName"] = json!("i_suggestions");
    let set = put("/1/configs/{indexName}", unnamed);
    vec![post("/1/configs", config), Call { uri: "/1/configs/i_suggestions".into(), ..set }]
}

fn searches() -> Vec<Call> {
    let ask = |route, body| read(Method::POST, route, body);
    let query = json!({"query": "lamp", "params": "hitsPerPage=3"});
    let queries = json!({"strategy": "none", "requests": [
        {"indexName": "i", "type": "facet", "facet": "color", "facetQuery": "r", "params": "filters=color%3Ared"}]});
    let documents = |name: &str, value: &str| json!({"query": "a", "page": 0, "hitsPerPage": 3, name: value});
    let mut rules = documents("context", "c");
    rules["anchoring"] = json!("is");
    rules["enabled"] = json!(true);
    let mut recommend_rules = documents("context", "c");
    recommend_rules["enabled"] = json!(true);
    vec![
        ask("/1/indexes/{indexName}/query", query.clone()),
        ask("/1/indexes/{indexName}/browse", query),
        ask("/1/indexes/*/queries", queries),
        ask("/1/indexes/{indexName}/facets/{facetName}/query", json!({"facetQuery": "r", "maxFacetHits": 3})),
        ask(
            "/1/indexes/*/objects",
            json!({"requests": [
            {"indexName": "i", "objectID": "1", "attributesToRetrieve": ["color"]}]}),
        ),
        ask("/1/indexes/{indexName}/synonyms/search", documents("type", "synonym")),
        ask("/1/indexes/{indexName}/rules/search", rules),
        ask("/1/indexes/{indexName}/{model}/recommend/rules/search", recommend_rules),
        ask("/1/dictionaries/{dictionaryName}/search", documents("language", "en")),
    ]
}

fn recommendations() -> Vec<Call> {
    let recommend =
        |request: Value| read(Method::POST, "/1/indexes/*/recommendations", json!({"requests": [request]}));
    vec![
        recommend(
            json!({"indexName": "i", "model": "looking-similar", "threshold": 0, "maxRecommendations": 5,
            "objectID": "1", "queryParameters": {"params": "filters=color%3Ared"}, "fallbackParameters": {"query": "lamp"}}),
        ),
        recommend(json!({"indexName": "i", "model": "trending-items", "threshold": 0, "facetName": "color",
            "facetValue": "red"})),
    ]
}

fn records() -> Vec<Call> {
    let operation = json!({"action": "addObject", "body": {"objectID": "1"}});
    let mut anywhere = operation.clone();
    anywhere["indexName"] = json!("i");
    let record = json!({"objectID": "1"});
    vec![
        post("/1/indexes/{indexName}", record.clone()),
        put("/1/indexes/{indexName}/{objectID}", record),
        post(
            "/1/indexes/{indexName}/{objectID}/partial",
            json!({"n": {"_operation": "Increment", "value": 1}}),
        ),
        post("/1/indexes/{indexName}/batch", json!({"requests": [operation]})),
        post("/1/indexes/*/batch", json!({"requests": [anywhere]})),
        post(
            "/1/indexes/{indexName}/deleteByQuery",
            json!({"filters": "color:none", "params": "tagFilters=none"}),
        ),
        put("/1/indexes/{indexName}/settings", json!({"hitsPerPage": 20})),
        post(
            "/1/indexes/{indexName}/operation",
            json!({"operation": "copy", "destination": "j", "scope": ["settings"]}),
        ),
    ]
}

fn documents() -> Vec<Call> {
    let synonyms = [
        json!({"objectID": "1", "type": "synonym", "synonyms": ["a", "b"]}),
        json!({"objectID": "1", "type": "onewaysynonym", "input": "a", "synonyms": ["b"]}),
        json!({"objectID": "1", "type": "altcorrection1", "word": "a", "corrections": ["b"]}),
        json!({"objectID": "1", "type": "placeholder", "placeholder": "<a>", "replacements": ["b"]}),
    ];
    let batch = post("/1/indexes/{indexName}/synonyms/batch", json!([synonyms[0]]));
    let one = synonyms.map(|synonym| put("/1/indexes/{indexName}/synonyms/{objectID}", synonym));
    let rule = json!({
        "objectID": "1", "description": "d", "enabled": true, "tags": ["t"], "scope": "s",
        "validity": [{"from": 1, "until": 2}],
        "conditions": [{"pattern": "x {facet:color}", "anchoring": "contains", "alternatives": false, "context": "c",
            "filters": "color:red"}],
        "consequence": {
            "params": {
                "query": {"edits": [{"type": "replace", "delete": "x", "insert": "y"}]},
                "automaticFacetFilters": [{"facet": "color", "score": 1, "disjunctive": false, "negative": false}],
                "hitsPerPage": 3},
            "promote": [{"objectID": "1", "position": 0}], "hide": [{"objectID": "2"}], "filterPromotes": false,
            "userData": {"a": 1}, "redirect": {"indexName": "j"}},
    });
    let rules = [
        put("/1/indexes/{indexName}/rules/{objectID}", rule.clone()),
        post(
            "/1/indexes/{indexName}/rules/batch",
            json!([{"objectID": "1", "consequence": rule["consequence"],
            "conditions": rule["conditions"]}]),
        ),
    ];
    let of_model = json!([{
        "objectID": "1", "description": "d", "enabled": true, "validity": [{"from": 1, "until": 2}],
        "conditions": [{"context": "c", "filters": "color:red"}],
        "consequence": {
            "params": {
                "filters": "color:red", "optionalFilters": ["color:red"],
                "automaticFacetFilters": [{"facet": "color", "score": 1, "disjunctive": false, "negative": false}],
                "automaticOptionalFacetFilters": ["color"]},
            "promote": [{"objectID": "1", "position": 0}], "hide": [{"objectID": "2"}], "userData": {"a": 1}},
    }]);
    let of_model = post("/1/indexes/{indexName}/{model}/recommend/rules/batch", of_model);
    one.into_iter().chain([batch]).chain(rules).chain([of_model]).collect()
}

fn keys(key: &str, key_of_index: &str) -> Vec<Call> {
    let wanted = |name: Option<&str>| {
        let mut body = json!({"acl": ["search"], "description": "d", "maxHitsPerQuery": 1, "maxQueriesPerIPPerHour": 1,
            "queryParameters": "filters=color%3Ared", "referers": ["https://example.org/*"], "validity": 100});
        if let Some(name) = name {
            body["indexes"] = json!([name]);
        }
        body
    };
    let of = |key: &str, call: Call| Call { uri: uri(call.route, key), ..call };
    vec![
        post("/1/keys", wanted(Some("i*"))),
        of(key, put("/1/keys/{key}", wanted(Some("i*")))),
        post("/1/indexes/{indexName}/keys", wanted(None)),
        of(key_of_index, put("/1/indexes/{indexName}/keys/{key}", wanted(None))),
    ]
}

fn installation() -> Vec<Call> {
    let entry = json!({"objectID": "1", "language": "en", "word": "w", "state": "enabled"});
    let batch =
        json!({"clearExistingDictionaryEntries": false, "requests": [{"action": "addEntry", "body": entry}]});
    let standard = json!({"stopwords": {"en": true}, "plurals": {"en": false}, "compounds": {"de": true}});
    let dictionary = |name: &str, entry: Value| {
        let call = post(
            "/1/dictionaries/{dictionaryName}/batch",
            json!({"requests": [{"action": "addEntry", "body": entry}]}),
        );
        Call { uri: format!("/1/dictionaries/{name}/batch"), ..call }
    };
    let texts = |call: Call| Call { is_of_texts: true, ..call };
    vec![
        post("/1/dictionaries/{dictionaryName}/batch", batch),
        dictionary("plurals", json!({"objectID": "1", "language": "en", "words": ["a", "b"]})),
        dictionary(
            "compounds",
            json!({"objectID": "1", "language": "de", "word": "ab", "decomposition": ["a", "b"]}),
        ),
        put("/1/dictionaries/*/settings", json!({ "disableStandardEntries": standard })),
        post("/1/clusters/mapping", json!({"cluster": "main"})),
        post("/1/clusters/mapping/batch", json!({"cluster": "main", "users": ["jane"]})),
        read(
            Method::POST,
            "/1/clusters/mapping/search",
            json!({"query": "j", "cluster": "main", "page": 0, "hitsPerPage": 3}),
        ),
        texts(post("/admin/events/forget", json!({"userToken": "somebody"}))),
        texts(post("/admin/admin-key", json!({"adminKey": "too short"}))),
        texts(post("/admin/nodes/{node}/replace", json!({"with": "nobody"}))),
        texts(post("/admin/groups/{group}/leader", json!({"node": "nobody"}))),
        put("/1/security/sources", json!([{"source": "127.0.0.0/8", "description": "d"}])),
        post("/1/security/sources/append", json!({"source": "127.0.0.0/8", "description": "d"})),
    ]
}
