//! Are configurations of suggestions read as they are written, and is what is wrong named?

use super::*;
use serde_json::json;

fn read(body: Value, named: Option<&str>) -> Result<SuggestionConfig> {
    let named = named.map(|name| IndexName::new(name).unwrap());
    SuggestionConfig::read(body.as_object().unwrap(), named.as_ref())
}

/// A body with one source that has these members, too.
fn source(members: Value) -> Value {
    let mut source = json!({"indexName": "shop"});
    source.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    json!({"indexName": "s", "sourceIndices": [source]})
}
/// A body with these members, too.
fn body(members: Value) -> Value {
    let mut body = source(json!({}));
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

#[test]
fn c16_defaults_are_shown_and_what_is_shown_is_taken_back() {
    let short = json!({"indexName": "s", "sourceIndices": [{"indexName": "shop", "external": null}]});
    let config = read(short, None).unwrap();
    let mut shown: Value = serde_json::from_slice(&config.to_json()).unwrap();
    let expected = json!({"indexName": "s", "sourceIndices": [{"indexName": "shop", "replicas": false,
        "analyticsTags": [], "facets": [], "minHits": 5, "generate": [], "external": []}],
        "languages": false, "exclude": [], "enablePersonalization": false, "allowSpecialCharacters": false});
    assert_eq!(shown, expected);
    shown["appID"] = json!("A");
    assert_eq!(read(shown, Some("s")).unwrap(), config);
    assert_eq!(SuggestionConfig::from_json(&config.to_json()), Some(config));
    let full = json!({"sourceIndices": [{"indexName": "shop", "replicas": true, "analyticsTags": ["a"],
        "facets": [{"attribute": "brand", "amount": 2}], "minHits": 1, "minLetters": 4,
        "generate": [["color", "brand"], ["brand"]], "external": ["e", "f"]}],
        "languages": ["en", "de"], "exclude": ["word", "/^x/"], "enablePersonalization": true,
        "allowSpecialCharacters": true});
    let config = read(full.clone(), Some("s")).unwrap();
    let mut shown: Value = serde_json::from_slice(&config.to_json()).unwrap();
    shown.as_object_mut().unwrap().remove("indexName");
    assert_eq!(shown, full);
    let reads: Vec<&str> = config.reads().map(IndexName::as_str).collect();
    assert_eq!(reads, ["shop", "e", "f"]);
    let all = read(json!({"sourceIndices": [{"indexName": "a"}], "languages": true}), Some("s")).unwrap();
    assert_eq!(all.languages, PluralLanguages::All(true));
}

#[test]
fn c16_what_is_wrong_is_named() {
    for (body, expected) in [
        (json!({"sourceIndices": []}), "IndexName cannot be empty."),
        (body(json!({"indexName": ""})), "IndexName cannot be empty."),
        (
            body(json!({"sourceIndices": []})),
            "Invalid body \"sourceIndices needs to contain at least one index\".",
        ),
        (
            body(json!({"sourceIndices": null})),
            "Invalid body \"sourceIndices needs to contain at least one index\".",
        ),
        (
            body(json!({"sourceIndices": [{}]})),
            "Invalid body \"every source index must have an `indexName`\".",
        ),
        (source(json!({"minHits": 0})), "Invalid body \"every source index `minHits` must be positive\"."),
        (
            source(json!({"minLetters": -1})),
            "Invalid body \"every source index `minLetters` must be positive\".",
        ),
        (source(json!({"minHits": 1.5})), "Invalid value for \"minHits\" parameter, expected integer"),
        (source(json!({"surprise": 1})), "Unknown parameter: surprise"),
        (
            source(json!({"facets": [{"attribute": "a", "amount": 0}]})),
            "Invalid value for \"amount\" parameter, expected integer between 1 and 1000",
        ),
        (
            source(json!({"facets": [{"amount": 1}]})),
            "Invalid value for \"facets\" parameter, expected list of objects",
        ),
        (source(json!({"generate": ["color"]})), "Invalid value for \"generate\" parameter"),
        (source(json!({"external": [""]})), "Invalid value for \"external\" parameter"),
        (body(json!({"languages": ["xx"]})), "Invalid value for \"languages\" parameter"),
        (body(json!({"exclude": "word"})), "Invalid value for \"exclude\" parameter"),
        (body(json!({"exclude": vec!["x".repeat(500); 140]})), "sourceIndices and exclude are too long"),
    ] {
        let error = read(body.clone(), None).unwrap_err();
        assert!(error.message.starts_with(expected), "{body:.200}: {error}");
    }
    let other = read(source(json!({})), Some("t")).unwrap_err();
    assert!(other.message.contains("the one of the path, t"), "{other}");
}

#[test]
fn c20_lists_and_texts_are_as_long_as_any() {
    for (body, expected) in [
        (body(json!({"exclude": ["x".repeat(513)]})), "Invalid value for \"exclude\" parameter"),
        (body(json!({"exclude": vec!["x"; 1_001]})), "Invalid value for \"exclude\" parameter"),
        (body(json!({"languages": vec!["en"; 1_001]})), "Invalid value for \"languages\" parameter"),
        (source(json!({"external": vec!["e"; 1_001]})), "Invalid value for \"external\" parameter"),
        (source(json!({"generate": [vec!["g"; 1_001]]})), "Invalid value for \"generate\" parameter"),
        (source(json!({"generate": [["g".repeat(513)]]})), "Invalid value for \"generate\" parameter"),
        (
            source(json!({"analyticsTags": ["t".repeat(101)]})),
            "Invalid value for \"analyticsTags\" parameter, expected strings of at most 100 characters",
        ),
        (
            source(json!({"facets": [{"attribute": "a".repeat(513), "amount": 1}]})),
            "Invalid value for \"attribute\" parameter",
        ),
    ] {
        let error = read(body.clone(), None).unwrap_err();
        assert!(error.message.starts_with(expected), "{body:.200}: {error}");
    }
}
