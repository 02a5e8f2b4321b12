//! Does everything that commands are parsed by say since when, and is what older programs took read as they read it?

use super::*;
use crate::key::{Acl, ApiKey};
use crate::languages::CODES;
use crate::settings::table::{Form, Scope, Target, row};
use crate::synonym::SYNONYM_TYPES;
use crate::{BuiltIn, IndexName, RecommendModel, RecommendRule, Rule, Settings, Synonym};
use serde_json::json;
use std::collections::BTreeMap;

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(members) = value else { panic!("{value}") };
    members
}

/// A table of a later program.
static LATER: [SettingRow; 2] = [
    row("brandNew", Scope::Both, Target::Kept(Form::Any), "null", "").since(9),
    row("mode", Scope::Both, Target::Kept(Form::Any), "null", "")
        .with_later(&[LaterValue { level: 7, is_it: |value| value == "rankedSearch" }]),
];
fn later(name: &str) -> Option<&'static SettingRow> {
    LATER.iter().find(|row| row.name == name).or_else(|| table::lookup(name))
}
const RULE: Bearer = Bearer::Document(ResourceKind::Rules);
const SYNONYM: Bearer = Bearer::Document(ResourceKind::Synonyms);
const WORDS: &[LaterWord] = &[
    LaterWord { bearer: RULE, path: "conditions.mood", value: None, level: 5 },
    LaterWord { bearer: SYNONYM, path: "type", value: Some("oppositeOf"), level: 6 },
    LaterWord { bearer: Bearer::Key, path: "acl", value: Some("whisper"), level: 7 },
    LaterWord { bearer: Bearer::Key, path: "quietHours", value: None, level: 8 },
];

#[test]
fn what_began_later_needs_its_level_and_is_named() {
    for (changes, level, what) in [
        (json!({}), 1, None),
        (json!({"hitsPerPage": 5, "mode": "keywordSearch"}), 1, None),
        (json!({"brandNew": 1}), 9, Some("brandNew")),
        (json!({"mode": "rankedSearch"}), 7, Some("mode")),
        (json!({"mode": "rankedSearch", "brandNew": null, "page": 1}), 9, Some("brandNew")),
    ] {
        let expected = Needs { level, what: what.map(str::to_owned) };
        assert_eq!(of_members(&object(changes.clone()), later), expected, "{changes}");
    }
    for (bearer, document, level) in [
        (RULE, json!({"conditions": [{"pattern": "x"}]}), 1),
        (RULE, json!({"conditions": [{}, {"mood": "calm"}]}), 5),
        (RULE, json!({"consequence": {"params": {"brandNew": 1}}, "conditions": []}), 9),
        (SYNONYM, json!({"type": "oppositeOf"}), 6),
        (SYNONYM, json!({"type": "oppositeof"}), 6),
        (SYNONYM, json!({"type": "synonym", "conditions": [{"mood": 1}]}), 1),
        (Bearer::Key, json!({"value": "k", "acl": ["search", "browse"], "type": "oppositeOf"}), 1),
        (Bearer::Key, json!({"value": "k", "acl": ["search", "whisper"]}), 7),
        (Bearer::Key, json!({"value": "k", "acl": ["whisper"], "quietHours": 3}), 8),
    ] {
        assert_eq!(of_value(bearer, &document, WORDS, later).level, level, "{document}");
    }
    let delete_by = |params: Value| of_delete_by(params.to_string().as_bytes());
    assert_eq!(delete_by(json!({"filters": "a:b"})), Needs::NOTHING);
    assert_eq!(delete_by(json!({"filters": "a:b", OWNER: "u"})).level, OF_USERS);
}

/// One line for each row: what it accepts, from which level on. What is newer than the last release is not listed yet: a row that has values
/// that are newer keeps the line that it had.
fn rows(rows: &[SettingRow], listed: &str, released: u16) -> String {
    let line = |row: &SettingRow| {
        let names = [&[row.name], row.legacy].concat().join("|");
        let head = format!("{} {:?} {names}: ", row.began, row.scope);
        let later: Vec<u16> = row.later.iter().map(|later| later.level).collect();
        let before = listed.lines().find(|line| line.starts_with(&head));
        match before.filter(|_| later.iter().any(|level| *level > released)) {
            Some(before) => format!("{before}\n"),
            None => format!("{head}{} {later:?}\n", row.allowed()),
        }
    };
    rows.iter().filter(|row| row.began <= released).map(line).collect()
}

#[test]
fn what_is_newer_than_the_last_release_is_not_listed() {
    let older = row("mode", Scope::Both, Target::Kept(Form::Choice(&["a"])), "null", "");
    let listed = rows(&[older], "", 6);
    assert_eq!(listed, "1 Both mode: one of \"a\" []\n");
    let newer = LATER[1];
    assert_eq!(rows(&[newer, LATER[0]], &listed, 6), listed);
    let all = "1 Both mode: any JSON [7]\n9 Both brandNew: any JSON []\n";
    assert_eq!(rows(&[newer, LATER[0]], &listed, 9), all);
    let unsaid = row("mode", Scope::Both, Target::Kept(Form::Any), "null", "");
    assert_ne!(rows(&[unsaid], &listed, 6), listed, "a value that does not say since when is found");
}

/// The documents that name everything synonyms and rules of searches may have.
const DOCUMENTS: &[&str] = &[
    r#"{"objectID":"r","conditions":[{"pattern":"x {facet:brand}","anchoring":"is","alternatives":true,"context":"c","filters":"a:b"}],
       "consequence":{"params":{"query":{"edits":[{"type":"remove","delete":"x"}]},"automaticFacetFilters":[{"facet":"brand"}]},
       "promote":[{"objectID":"1","position":0}],"hide":[{"objectID":"2"}],"redirect":{"indexName":"i"}},
       "validity":[{"from":1,"until":2}]}"#,
    r#"{"objectID":"r","condition":{"pattern":"x","anchoring":"is"},"consequence":{"hide":[{"objectID":"2"}]}}"#,
];
const SYNONYMS: &[&str] = &[
    r#"{"objectID":"1","type":"synonym","synonyms":["a","b"]}"#,
    r#"{"objectID":"2","type":"oneWaySynonym","input":"a","synonyms":["b"]}"#,
    r#"{"objectID":"3","type":"altCorrection1","word":"a","corrections":["b"]}"#,
    r#"{"objectID":"4","type":"placeholder","placeholder":"<a>","replacements":["b"]}"#,
];

/// The rules of a model that name everything such rules may have.
const RECOMMEND_RULES: &str = r#"[{"objectID":"r","conditions":[{"context":"c","filters":"a:b"}],
    "consequence":{"params":{"automaticFacetFilters":[{"facet":"brand"}]},"promote":[{"objectID":"1","position":0}],
    "hide":[{"objectID":"2"}]},"validity":[{"from":1,"until":2}]},
    {"objectID":"s","condition":{"context":"c"},"consequence":{"hide":[{"objectID":"2"}]}}]"#;

/// What keys may have: their members, and the rights.
fn of_keys() -> BTreeMap<String, Vec<String>> {
    // every member is given, so that all are written
    let key = ApiKey {
        value: "k".into(),
        created_at: 1,
        acl: Acl::ALL.to_vec(),
        index: Some(IndexName::new("i").unwrap()),
        copied_to: vec![IndexName::new("j").unwrap()],
        validity: 1,
        description: "d".into(),
        indexes: vec!["i".into()],
        max_hits_per_query: 1,
        max_queries_per_ip_per_hour: 1,
        query_parameters: "q".into(),
        referers: vec!["r".into()],
    };
    let Value::Object(members) = serde_json::to_value(&key).unwrap() else { panic!("{key:?}") };
    let rights = Acl::ALL.map(|right| Acl::name(right).to_owned()).to_vec();
    BTreeMap::from([(String::new(), members.keys().cloned().collect()), ("acl".into(), rights)])
}

/// The level at which a word began that is known at a place: as the name of a member there, or as its value.
fn began(bearers: &[Bearer], place: &str, word: &str, later: &[LaterWord]) -> Option<u16> {
    let member = if place.is_empty() { word.to_owned() } else { format!("{place}.{word}") };
    let is_it = |it: &&LaterWord| {
        let is_value = it.path == place && it.value.is_some_and(|value| value.eq_ignore_ascii_case(word));
        bearers.contains(&it.bearer) && (is_value || it.path == member && it.value.is_none())
    };
    later.iter().filter(is_it).map(|it| it.level).max()
}

/// A line for each level at which words of a place began, of documents or keys that began at level `first`. What is newer than the
/// last release is not listed yet.
fn words(
    name: &str,
    first: u16,
    bearers: &[Bearer],
    known: &BTreeMap<String, Vec<String>>,
    later: &[LaterWord],
    released: u16,
) -> String {
    let mut lines = String::new();
    for (place, known) in known {
        let mut by_level = BTreeMap::<u16, Vec<&str>>::new();
        for word in known {
            let level = began(bearers, place, word, later).unwrap_or(first);
            by_level.entry(level).or_default().push(word);
        }
        for (level, words) in by_level.range(..=released) {
            let place = if place.is_empty() { String::new() } else { format!(" {place}") };
            lines += &format!("{level} {name}{place}: {}\n", words.join(" "));
        }
    }
    lines
}

#[test]
fn a_word_is_listed_with_the_level_at_which_it_began() {
    let known = |places: &[(&str, &[&str])]| -> BTreeMap<String, Vec<String>> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        places.iter().map(|(place, words)| ((*place).to_owned(), owned(words))).collect()
    };
    let rules = known(&[("conditions", &["pattern", "mood"]), ("condition", &["pattern", "mood"])]);
    let listed = |released| words("rules", 1, &[RULE], &rules, WORDS, released);
    // where it does not say since when, it seems to be of the first level, which is found
    let before = "1 rules condition: pattern mood\n1 rules conditions: pattern\n";
    assert_eq!((listed(4), listed(5)), (before.into(), format!("{before}5 rules conditions: mood\n")));
    let synonyms = known(&[("", &["objectID", "type"]), ("type", &["synonym", "oppositeof"])]);
    let before = "1 synonyms: objectID type\n1 synonyms type: synonym\n";
    assert_eq!(words("synonyms", 1, &[SYNONYM], &synonyms, WORDS, 5), before);
    let later = format!("{before}6 synonyms type: oppositeof\n");
    assert_eq!(words("synonyms", 1, &[SYNONYM], &synonyms, WORDS, 6), later);
    let keys = known(&[("", &["acl", "quietHours"]), ("acl", &["search", "whisper"])]);
    let all = "1 keys: acl\n8 keys: quietHours\n1 keys acl: search\n7 keys acl: whisper\n";
    assert_eq!(words("keys", 1, &[Bearer::Key], &keys, WORDS, 8), all);
}

#[test]
fn everything_that_is_parsed_by_is_listed_with_its_level() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/level/began.txt");
    let listed = std::fs::read_to_string(path).unwrap();
    let released = listed.lines().next().and_then(|line| line.strip_prefix("released "));
    let released: u16 = released.and_then(|level| level.parse().ok()).expect("the level of the last release");
    let newest = ROWS.iter().flat_map(|row| row.later.iter().map(|later| later.level).chain([row.began]));
    let newest = newest.chain(LATER_WORDS.iter().map(|word| word.level)).max();
    assert!(newest.is_some_and(|newest| newest <= NEWEST), "something needs a level that no program knows");
    let mut found = format!("released {released}\n") + &rows(ROWS, &listed, released);
    let of_rules = vocabulary::of(|| {
        DOCUMENTS.iter().for_each(|document| drop(Rule::parse_body(document.as_bytes(), "r").unwrap()));
    });
    let mut of_synonyms = vocabulary::of(|| {
        for document in SYNONYMS {
            let id = document.split('"').nth(3).unwrap();
            Synonym::parse_body(document.as_bytes(), id).unwrap();
        }
    });
    of_synonyms.insert("type".into(), SYNONYM_TYPES.iter().map(|&name| name.to_owned()).collect());
    let of_models = vocabulary::of(|| drop(RecommendRule::parse_batch(RECOMMEND_RULES.as_bytes()).unwrap()));
    let models = RecommendModel::ALL.map(|model| Bearer::Document(ResourceKind::Recommend(model)));
    found += &words("rules", FIRST, &[RULE], &of_rules, LATER_WORDS, released);
    found += &words("synonyms", FIRST, &[SYNONYM], &of_synonyms, LATER_WORDS, released);
    found += &words("recommend", RECOMMEND, &models, &of_models, LATER_WORDS, released);
    found += &words("keys", FIRST, &[Bearer::Key], &of_keys(), LATER_WORDS, released);
    found += &format!("{RECOMMEND} models: {}\n", RecommendModel::ALL.map(RecommendModel::name).join(" "));
    found += &format!("1 languages: {}\n", CODES.join(" "));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    let listed = std::fs::read_to_string(path).unwrap();
    let is_new = |line: &&str| !listed.lines().any(|listed| listed == *line);
    let new: Vec<&str> = found.lines().filter(is_new).collect();
    assert!(
        new.is_empty() && found == listed,
        "what applying a command parses by has changed: give what is new the level it begins with (SettingRow::since, SettingRow::with_later, \
         LATER_WORDS), keep reading what older programs took, then list it with UPDATE=1: {new:#?}"
    );
}

#[test]
fn tags_that_older_programs_would_refuse_need_a_later_level() {
    for (letters, level) in [(0, FIRST), (512, FIRST), (513, LONG_TAGS), (1_024, LONG_TAGS), (1_025, FIRST)] {
        let tags = json!({"highlightPostTag": "x".repeat(letters), "hitsPerPage": 3});
        assert_eq!(of_settings(tags.to_string().as_bytes()).level, level, "{letters}");
        let rule = json!({"objectID": "r", "consequence": {"params": tags}}).to_string();
        assert_eq!(of_document(ResourceKind::Rules, rule.as_bytes()).level, level, "{letters}");
    }
}

#[test]
fn rules_of_models_need_the_level_at_which_they_began() {
    let kind = ResourceKind::Recommend(RecommendModel::TrendingItems);
    assert_eq!(of_document(kind, b"{}").level, RECOMMEND);
    assert_eq!(kinds_at(EVENTS), [ResourceKind::Synonyms, ResourceKind::Rules]);
    assert_eq!(kinds_at(RECOMMEND), ResourceKind::ALL);
}

#[test]
fn operations_of_records_are_those_of_the_first_level() {
    let kinds = [
        BuiltIn::Increment,
        BuiltIn::Decrement,
        BuiltIn::Add,
        BuiltIn::Remove,
        BuiltIn::AddUnique,
        BuiltIn::IncrementFrom,
        BuiltIn::IncrementSet,
    ];
    // exhaustive: a further one is stored as a value by programs that do not know it, so it needs a level of its own
    for kind in kinds {
        match kind {
            BuiltIn::Increment
            | BuiltIn::Decrement
            | BuiltIn::Add
            | BuiltIn::Remove
            | BuiltIn::AddUnique
            | BuiltIn::IncrementFrom
            | BuiltIn::IncrementSet => {}
        }
    }
}

#[test]
fn what_older_programs_took_is_read_from_logs_and_folders() {
    let long = "t".repeat(150);
    for tags in [json!([long, "short"]), json!(long)] {
        let document = json!({"objectID": "r", "conditions": [],
            "consequence": {"params": {"analyticsTags": tags, "hitsPerPage": 3}}});
        let document = document.to_string();
        let refused = Rule::parse_body(document.as_bytes(), "r").unwrap_err();
        assert!(refused.message.contains("analyticsTags"), "{refused}");
        let rule = Rule::from_document(document.as_bytes()).unwrap();
        assert_eq!(*rule.document, *document, "it is kept as it was given");
        assert_eq!(rule.consequence.params.unwrap().read(&rule.document).hits_per_page, Some(3));
    }
    let steps: Vec<Value> = (1..=30).rev().map(|n| json!({"from": n * 100, "value": 10 * n})).collect();
    let document =
        json!({"objectID": "r", "conditions": [], "consequence": {"params": {"aroundPrecision": steps}}});
    let document = document.to_string();
    let refused = Rule::parse_body(document.as_bytes(), "r").unwrap_err();
    assert!(refused.message.contains("aroundPrecision"), "{refused}");
    let rule = Rule::from_document(document.as_bytes()).unwrap();
    assert_eq!(*rule.document, *document, "it is kept as it was given");
    let precision = rule.consequence.params.unwrap().read(&rule.document).around_precision.clone().unwrap();
    assert_eq!(
        (precision.len(), precision[1], precision[20]),
        (21, (100, 10), (2_000, 200)),
        "and the one from 0"
    );
    assert!(Settings::from_document(&object(json!({"hitsPerPage": 5}))).is_ok());
}
