//! Tables of documents that are synonyms, and of those that are not.

use super::*;
use serde_json::{Value, json};

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn c11_all_types_are_read_and_keep_their_document() {
    for (document, kind) in [
        (
            json!({"objectID": "a", "type": "synonym", "synonyms": ["car", "auto mobile"]}),
            SynonymKind::Synonym { synonyms: texts(&["car", "auto mobile"]) },
        ),
        (
            json!({"objectID": "a", "type": "oneWaySynonym", "input": "tv set", "synonyms": ["x"]}),
            SynonymKind::OneWay { input: "tv set".into(), synonyms: texts(&["x"]) },
        ),
        (
            json!({"objectID": "a", "type": "altCorrection1", "word": "w", "corrections": ["x", "y"]}),
            SynonymKind::AltCorrection { typos: 1, word: "w".into(), corrections: texts(&["x", "y"]) },
        ),
        (
            json!({"objectID": "a", "type": "altcorrection2", "word": "w", "corrections": ["x"]}),
            SynonymKind::AltCorrection { typos: 2, word: "w".into(), corrections: texts(&["x"]) },
        ),
        (
            json!({"objectID": "a", "type": "placeholder", "placeholder": "<no>", "replacements": ["1", "2"]}),
            SynonymKind::Placeholder { placeholder: "<no>".into(), replacements: texts(&["1", "2"]) },
        ),
    ] {
        let read = Synonym::parse_body(document.to_string().as_bytes(), "a").unwrap();
        assert_eq!(read.kind, kind);
        assert_eq!(serde_json::from_str::<Value>(&read.document).unwrap(), document);
        assert_eq!(Synonym::from_document(read.document.as_bytes()).unwrap(), read);
        let wanted = document["type"].as_str().unwrap().to_lowercase();
        assert_eq!(read.kind.type_name(), wanted);
    }
}

#[test]
fn c2_the_id_of_the_path_wins_and_numbers_are_ids() {
    let body = br#"{ "objectID": "b", "type": "synonym", "synonyms": ["x"], "_highlightResult": {}, "input": null }"#;
    let read = Synonym::parse_body(body, "a/1").unwrap();
    assert_eq!(read.object_id, "a/1");
    assert_eq!(&*read.document, r#"{"objectID":"a/1","synonyms":["x"],"type":"synonym"}"#);
    let read = Synonym::parse_batch(br#"[{"objectID": 7, "type": "synonym", "synonyms": ["x"]}]"#).unwrap();
    assert_eq!(read[0].object_id, "7");
    assert_eq!(Synonym::parse_batch(b" ").unwrap(), []);
}

#[test]
fn c19_wrong_synonyms_name_the_member() {
    let known =
        "one of \"synonym\", \"onewaysynonym\", \"altcorrection1\", \"altcorrection2\", \"placeholder\"";
    let parameter =
        |name: &str, expected: &str| format!("Invalid value for \"{name}\" parameter, expected {expected}");
    let long = "x".repeat(513);
    for (document, expected) in [
        (json!([]), "expected synonym as a JSON object".to_owned()),
        (json!({}), "type is required".to_owned()),
        (json!({"type": "x"}), parameter("type", known)),
        (json!({"type": 1}), parameter("type", known)),
        (json!({"type": "synonym"}), "synonyms is required".to_owned()),
        (json!({"type": "synonym", "synonyms": "a"}), parameter("synonyms", "array")),
        (json!({"type": "synonym", "synonyms": []}), parameter("synonyms", "non-empty array")),
        (json!({"type": "synonym", "synonyms": [1]}), parameter("synonyms[0]", "string")),
        (json!({"type": "synonym", "synonyms": ["a", " "]}), parameter("synonyms[1]", "non-empty string")),
        (
            json!({"type": "synonym", "synonyms": [long]}),
            parameter("synonyms[0]", "string of at most 512 bytes"),
        ),
        (
            json!({"type": "synonym", "synonyms": vec!["a"; 101]}),
            parameter("synonyms", "array of at most 100 entries"),
        ),
        (json!({"type": "onewaysynonym", "synonyms": ["a"]}), "input is required".to_owned()),
        (
            json!({"type": "onewaysynonym", "synonyms": ["a"], "input": ""}),
            parameter("input", "non-empty string"),
        ),
        (json!({"type": "altcorrection1", "corrections": ["a"]}), "word is required".to_owned()),
        (
            json!({"type": "altcorrection1", "word": "a b", "corrections": ["a"]}),
            parameter("word", "single word"),
        ),
        (
            json!({"type": "altcorrection2", "word": "a", "corrections": ["a", "b c"]}),
            parameter("corrections[1]", "single word"),
        ),
        (json!({"type": "placeholder", "replacements": ["a"]}), "placeholder is required".to_owned()),
        (json!({"type": "placeholder", "placeholder": "<a>"}), "replacements is required".to_owned()),
        (
            json!({"type": "synonym", "synonyms": ["a"], "words": []}),
            "Invalid object attributes: words near line:1 column:57".to_owned(),
        ),
    ] {
        let error = Synonym::parse_body(document.to_string().as_bytes(), "i").expect_err(&expected);
        assert_eq!(error.message, expected, "{document}");
        assert_eq!(error.kind, crate::ErrorKind::Invalid);
    }
}

#[test]
fn c19_errors_of_a_batch_name_the_place() {
    for (body, expected, position) in [
        ("{}", "expected a JSON array of synonyms near line:1 column:1", None),
        ("[1]", "expected synonym as a JSON object in the synonym at the position 0", Some(0)),
        (
            r#"[{"objectID":"a","type":"synonym","synonyms":["a"]},{"objectID":"b"}]"#,
            "type is required in the synonym at the position 1 objectID=b",
            Some(1),
        ),
        (
            r#"[{"objectID":""}]"#,
            "objectID must not be empty in the synonym at the position 0 objectID=",
            Some(0),
        ),
        (
            r#"[{"objectID":[]}]"#,
            "objectID must be a string or a number in the synonym at the position 0",
            Some(0),
        ),
        ("[{}]", "objectID is required in the synonym at the position 0", Some(0)),
    ] {
        let error = Synonym::parse_batch(body.as_bytes()).expect_err(body);
        assert_eq!((error.message.as_str(), error.position), (expected, position), "{body}");
    }
    assert!(Synonym::parse_batch(b"[").unwrap_err().message.starts_with("parse error"));
}
