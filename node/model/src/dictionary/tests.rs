//! Are batches of entries read as meant, and does every wrong member say what is wrong?

use super::*;
use crate::dictionary::DictionaryKind::{Compounds, Plurals, StopWords};
use serde_json::json;

#[track_caller]
fn parse(kind: DictionaryKind, body: Value) -> Result<DictionaryChange, String> {
    DictionaryChange::parse(kind, body.to_string().as_bytes()).map_err(|error| error.message)
}
fn add(body: Value) -> Value {
    json!({"requests": [{"action": "addEntry", "body": body}]})
}
fn stop_word(object_id: &str, language: &'static str, word: &str, is_enabled: bool) -> DictionaryOp {
    let words = DictionaryWords::StopWord { word: word.into(), is_enabled };
    DictionaryOp::Add(DictionaryEntry { object_id: object_id.into(), language, words })
}

#[test]
fn each_dictionary_has_entries_of_its_own() {
    let body = json!({"clearExistingDictionaryEntries": true, "requests": [
        {"action": "addEntry", "body": {"objectID": "a", "language": "EN", "word": " down "}},
        {"action": "addEntry", "body": {"objectID": 7, "language": "pt-br", "word": "de", "state": "disabled", "type": "custom"}},
        {"action": "deleteEntry", "body": {"objectID": "b"}},
    ]});
    let delete = DictionaryOp::Delete { object_id: "b".into() };
    let ops = vec![stop_word("a", "en", "down", true), stop_word("7", "pt-br", "de", false), delete];
    assert_eq!(parse(StopWords, body), Ok(DictionaryChange { clear: true, ops }));
    let words = |kind, body| match parse(kind, add(body)).unwrap().ops.remove(0) {
        DictionaryOp::Add(entry) => entry.words,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        words(Plurals, json!({"objectID": "a", "language": "fr", "words": ["cheval", "chevaux"]})),
        DictionaryWords::Plurals { words: vec!["cheval".into(), "chevaux".into()] }
    );
    let text = json!({"objectID": "a", "language": "fr", "words": "cheval, chevaux,"});
    assert_eq!(
        words(Plurals, text),
        DictionaryWords::Plurals { words: vec!["cheval".into(), "chevaux".into()] }
    );
    for parts in [vec!["kopf", "schmerz", "tablette"], vec![]] {
        let body =
            json!({"objectID": "a", "language": "de", "word": "kopfschmerztablette", "decomposition": parts});
        let parts = parts.into_iter().map(str::to_owned).collect();
        let expected = DictionaryWords::Compound { word: "kopfschmerztablette".into(), parts };
        assert_eq!(words(Compounds, body), expected);
    }
}

#[test]
fn c12_older_clients_clear_with_a_request_without_entries() {
    let old = json!({"clearExistingDictionaryEntries": true, "requests": {"action": "addEntry", "body": []}});
    let cleared = Ok(DictionaryChange { clear: true, ops: vec![] });
    assert_eq!(parse(StopWords, old), cleared);
    assert_eq!(parse(StopWords, json!({"clearExistingDictionaryEntries": "true", "requests": []})), cleared);
    let other = json!({"requests": {"action": "addEntry", "body": [{"objectID": "a"}]}});
    assert_eq!(
        parse(StopWords, other),
        Err("Invalid value for \"requests\" parameter, expected array".into())
    );
}

#[test]
fn words_of_every_script_are_taken() {
    for word in [
        "über",
        "Þórshöfn",
        "слово",
        "λέξη",
        "كلمة",
        "מילה",
        "शब्द",
        "คำ",
        "言葉",
        "단어",
        "სიტყვა",
        "🎉",
        "don't",
    ] {
        let body = json!({"objectID": "a", "language": "en", "word": word});
        assert_eq!(parse(StopWords, add(body)).unwrap().ops, [stop_word("a", "en", word, true)]);
    }
}

#[test]
fn c19_wrong_members_are_named() {
    let long = "x".repeat(10 << 10);
    let word = |word: Value| add(json!({"objectID": "a", "language": "en", "word": word}));
    let wrong = |path: &str, expected: &str| {
        format!("Invalid value for \"requests[0].{path}\" parameter, expected {expected}")
    };
    let top =
        |name: &str, expected: &str| format!("Invalid value for \"{name}\" parameter, expected {expected}");
    let unknown = "language codes such as \"en\", \"xx\" is not one";
    let compounding =
        "a language with compounds: one of \"da\", \"de\", \"fi\", \"nb\", \"nl\", \"no\", \"sv\"";
    for (kind, body, expected) in [
        (StopWords, json!([]), "parse error: expected a JSON object near line:1 column:1".into()),
        (StopWords, json!({}), "requests is required".into()),
        (StopWords, json!({"requests": null}), "requests is required".into()),
        (StopWords, json!({"requests": "a"}), top("requests", "array")),
        (
            StopWords,
            json!({"requests": [], "more": 1}),
            "Invalid object attributes: more near line:1 column:7".into(),
        ),
        (
            StopWords,
            json!({"requests": [], "clearExistingDictionaryEntries": 3}),
            top("clearExistingDictionaryEntries", "boolean"),
        ),
        (StopWords, json!({"requests": [3]}), top("requests[0]", "object")),
        (StopWords, json!({"requests": [{"body": {}}]}), "requests[0].action is required".into()),
        (StopWords, json!({"requests": [{"action": "addEntry"}]}), "requests[0].body is required".into()),
        (
            StopWords,
            json!({"requests": [{"action": "add", "body": {}}]}),
            wrong("action", "one of \"addEntry\", \"deleteEntry\""),
        ),
        (StopWords, json!({"requests": [{"action": "addEntry", "body": []}]}), wrong("body", "object")),
        (
            StopWords,
            json!({"requests": [{"action": "deleteEntry", "body": {"objectID": "a", "word": "b"}}]}),
            "Invalid object attributes: requests[0].body.word near line:1 column:22".into(),
        ),
        (
            StopWords,
            json!({"requests": [{"action": "deleteEntry", "body": {}}]}),
            "requests[0].body.objectID is required".into(),
        ),
        (
            StopWords,
            add(json!({"language": "en", "word": "a"})),
            "requests[0].body.objectID is required".into(),
        ),
        (
            StopWords,
            add(json!({"objectID": true, "language": "en", "word": "a"})),
            wrong("body.objectID", "string"),
        ),
        (
            StopWords,
            add(json!({"objectID": "a", "word": "a"})),
            "requests[0].body.language is required".into(),
        ),
        (
            StopWords,
            add(json!({"objectID": "a", "language": "xx", "word": "a"})),
            wrong("body.language", unknown),
        ),
        (
            StopWords,
            add(json!({"objectID": "a", "language": 1, "word": "a"})),
            wrong("body.language", "string"),
        ),
        (
            StopWords,
            add(json!({"objectID": "a", "language": "en"})),
            "requests[0].body.word is required".into(),
        ),
        (StopWords, word(json!("")), wrong("body.word", "non-empty string")),
        (StopWords, word(json!(" \t")), wrong("body.word", "non-empty string")),
        (StopWords, word(json!("new york")), wrong("body.word", "one word, without white space")),
        (StopWords, word(json!(long)), wrong("body.word", "string of at most 512 bytes")),
        (StopWords, word(json!(["a"])), wrong("body.word", "string")),
        (
            StopWords,
            add(json!({"objectID": "a", "language": "en", "word": "a", "state": "off"})),
            wrong("body.state", "one of \"enabled\", \"disabled\""),
        ),
        (
            StopWords,
            add(json!({"objectID": "a", "language": "en", "word": "a", "words": ["a"]})),
            "Invalid object attributes: requests[0].body.words near line:1 column:50".into(),
        ),
        (
            Plurals,
            add(json!({"objectID": "a", "language": "en"})),
            "requests[0].body.words is required".into(),
        ),
        (
            Plurals,
            add(json!({"objectID": "a", "language": "en", "words": []})),
            wrong("body.words", "non-empty array of strings"),
        ),
        (
            Plurals,
            add(json!({"objectID": "a", "language": "en", "words": " , "})),
            wrong("body.words", "non-empty array of strings"),
        ),
        (
            Plurals,
            add(json!({"objectID": "a", "language": "en", "words": vec!["a"; 101].join(",")})),
            wrong("body.words", "at most 100 words"),
        ),
        (
            Plurals,
            add(json!({"objectID": "a", "language": "en", "words": ["a", ""]})),
            wrong("body.words[1]", "non-empty string"),
        ),
        (
            Plurals,
            add(json!({"objectID": "a", "language": "en", "words": vec!["a"; 101]})),
            wrong("body.words", "array of at most 100 entries"),
        ),
        (
            Compounds,
            add(json!({"objectID": "a", "language": "de", "word": "a"})),
            "requests[0].body.decomposition is required".into(),
        ),
        (
            Compounds,
            add(json!({"objectID": "a", "language": "en", "word": "a", "decomposition": []})),
            wrong("body.language", compounding),
        ),
        (
            Compounds,
            add(json!({"objectID": "a", "language": "de", "word": "a", "decomposition": ["b c"]})),
            wrong("body.decomposition[0]", "one word, without white space"),
        ),
    ] {
        assert_eq!(parse(kind, body.clone()), Err(expected), "{body}");
    }
    let at =
        |body: Value| DictionaryChange::parse(StopWords, body.to_string().as_bytes()).unwrap_err().position;
    let second = json!({"requests": [{"action": "deleteEntry", "body": {"objectID": "a"}}, {}]});
    assert_eq!(at(second), Some(1));
    assert_eq!(
        DictionaryKind::named("synonyms").unwrap_err().message,
        "Unknown dictionary: synonyms, expected stopwords, plurals or compounds"
    );
}
