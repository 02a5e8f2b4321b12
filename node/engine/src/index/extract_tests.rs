//! Which words, values and numbers records give.

use super::*;
use crate::index::position::{attribute, whole_value, word};
use crate::index::wire::WireTokenizer;
use serde_json::json;
use std::sync::Arc;
use tantivy::tokenizer::{TokenStream, Tokenizer};

fn schema(document: Value) -> Schema {
    Schema::from(Arc::new(Settings::from_document(document.as_object().unwrap()).unwrap()))
}

fn extract(schema: &Schema, record: &Value) -> Extracted {
    Extractor::new(schema, SegmentForm::Lettered).extract("1", Bytes::from(record.to_string())).unwrap()
}
/// `word@attribute:position`, `!` for whole values.
fn words(document: Value, record: Value) -> String {
    let extracted = extract(&schema(document), &record);
    let mut tokenizer = WireTokenizer::default();
    let mut stream = tokenizer.token_stream(&extracted.wire);
    let mut out = Vec::new();
    while stream.advance() {
        let p = stream.token().position as u16;
        let flag = if whole_value(p) { "!" } else { "" };
        out.push(format!("{}@{}:{}{flag}", stream.token().text, attribute(p), word(p)));
    }
    out.join(" ")
}

#[test]
fn attributes_and_positions() {
    let table = [
        (
            json!({"searchableAttributes": ["a", "b"]}),
            json!({"b": "x y", "a": "z", "c": "q"}),
            "z@0:0! x@1:0 y@1:1",
        ),
        (
            json!({"searchableAttributes": ["b,a", "c"]}),
            json!({"a": "x", "b": "y z", "c": 7}),
            "y@0:0 z@0:1 x@1:0! 7@2:0!",
        ),
        (
            json!({"searchableAttributes": ["a"]}),
            json!({"a": ["x", "y z", "w"]}),
            "x@0:0! y@0:9 z@0:10 w@0:19!",
        ),
        (
            json!({"searchableAttributes": ["a"]}),
            json!({"a": {"b": "x", "c": [{"d": "y"}], "e": true}}),
            "x@0:0! y@0:9!",
        ),
        (
            json!({"searchableAttributes": ["a.b"]}),
            json!({"a": [{"b": "x"}, {"b": "y"}, {"c": "z"}]}),
            "x@0:0! y@0:9!",
        ),
        (json!({"searchableAttributes": ["a"]}), json!({"a": "don't"}), "dont@0:0! don@0:0"),
        (json!({"searchableAttributes": ["a"]}), json!({"a": 1.50}), "15@0:0! 1@0:0 5@0:1"),
        (
            json!({"searchableAttributes": ["a"], "camelCaseAttributes": ["a"]}),
            json!({"a": "fooBar"}),
            "foobar@0:0! foo@0:0 bar@0:1",
        ),
        (json!({}), json!({"a": "x", "b": 2, "c": false, "_geoloc": {"lat": 1, "lng": 2}}), "x@0:0! 2@0:9!"),
    ];
    for (settings, record, expected) in table {
        assert_eq!(words(settings.clone(), record.clone()), expected, "{settings} {record}");
    }
}

#[test]
fn positions_never_descend_for_a_term() {
    let many: Vec<String> =
        (0..200).map(|i| if i % 3 == 0 { "tag".into() } else { format!("tag {}", i % 7) }).collect();
    let shown = words(json!({"searchableAttributes": ["a"]}), json!({"a": many}));
    let mut last = std::collections::BTreeMap::new();
    for token in shown.split(' ') {
        let (word, place) = token.split_once('@').unwrap();
        let place = place.split_once(':').unwrap().1;
        let packed = pack(0, place.trim_end_matches('!').parse().unwrap(), u16::from(place.ends_with('!')));
        let before = last.insert(word.to_string(), packed).unwrap_or(0);
        assert!(before <= packed, "{token} after {before}");
    }
    assert!(shown.contains("tag@0:999!"));
}

#[test]
fn values_numbers_and_points() {
    let schema = schema(json!({"attributesForFaceting": ["a", "n.b"], "attributeForDistinct": "g"}));
    let record = json!({"a": ["X", 2, 2.5, true, null, 3.0], "n": [{"b": "u"}, {"b": 4}], "g": "G", "_tags": ["t", "t"],
        "deep": {"p": [1, {"q": false}]}, "s": "12",
        "_geoloc": [{"lat": 1.5, "lng": -2}, {"lat": 91, "lng": 0}, {"lat": "1", "lng": 0}]});
    let found = extract(&schema, &record);
    let facets: Vec<(u16, &str)> = found.facets.iter().map(|(c, v)| (*c, v.as_str())).collect();
    let expected = [
        (0, "X"),
        (0, "2"),
        (0, "2.5"),
        (0, "true"),
        (0, "3"),
        (1, "u"),
        (1, "4"),
        (2, "t"),
        (2, "t"),
        (3, "G"),
    ];
    assert_eq!(facets, expected);
    let mut numbers: Vec<(&str, f64)> = found.numbers.iter().map(|(p, n)| (p.as_str(), *n)).collect();
    numbers.retain(|(path, _)| !path.starts_with("_geoloc"));
    let expected =
        [("a", 2.0), ("a", 2.5), ("a", 1.0), ("a", 3.0), ("deep.p", 1.0), ("deep.p.q", 0.0), ("n.b", 4.0)];
    assert_eq!(numbers, expected);
    assert_eq!(found.points, [[1.5, -2.0]]);
    let Err(IndexError::Record { object_id, .. }) =
        Extractor::new(&schema, SegmentForm::Lettered).extract("x", Bytes::from("[1]"))
    else {
        panic!("an array is no record")
    };
    assert_eq!(object_id, "x");
}
