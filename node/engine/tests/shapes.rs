//! Does the fingerprint of a schema cover every setting that the files of an index depend on?
//!
//! Each setting of the table is changed alone, from two starts: then the files hold the same bytes, or the fingerprint is another
//! one. And each setting that the table says shapes the index does change the files, so the records here are of all kinds.

use bytes::Bytes;
use quorate_engine::Schema;
use quorate_engine::index::{Payload, ShardWriter, WriterOptions};
use quorate_model::Settings;
use quorate_model::settings::table::{Form, ROWS, SettingRow, Target};
use quorate_store::files::RealFiles;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

fn records() -> Vec<Value> {
    vec![
        json!({"objectID": "1", "name": "Gartenhaus & Küche", "kind": "iPhoneCase", "n": 3, "m": 9, "_tags": ["a"]}),
        json!({"objectID": "2", "name": "C++ für Anfänger", "kind": "b", "n": 1, "m": 7, "text": "中华人民共和国"}),
        json!({"objectID": "3", "name": "Gartenzaun", "kind": "B", "n": 2, "m": 8, "_geoloc": {"lat": 1, "lng": 2}}),
        json!({"objectID": "4", "name": "éclair eclair", "kind": ["b", "c"], "n": 2, "text": "a b, name"}),
    ]
}

/// What the files of a new index hold, by how their names end, with the fingerprint.
fn built(document: &Map<String, Value>) -> (u64, BTreeMap<String, Vec<u8>>) {
    let settings = Settings::from_document(document).unwrap_or_else(|error| panic!("{document:?}: {error}"));
    let schema = Schema::from(Arc::new(settings));
    let folder = tempfile::tempdir().unwrap();
    let options = WriterOptions { memory_bytes: 8 << 20, ..WriterOptions::default() };
    let mut writer = ShardWriter::open(folder.path(), &schema, RealFiles::shared(), options).unwrap();
    for record in records() {
        writer.put(record["objectID"].as_str().unwrap(), Bytes::from(record.to_string())).unwrap();
    }
    writer.flush(Payload::default()).unwrap();
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        // what stands in the manifest are the settings themselves and names by chance
        let kind = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        if !["manifest", "lock"].contains(&kind.as_str()) {
            let earlier = files.insert(kind.clone(), std::fs::read(&path).unwrap());
            assert!(earlier.is_none(), "{kind}: two files, so two segments");
        }
    }
    assert!(files.contains_key("seg"), "{:?}", files.keys());
    (schema.fingerprint(), files)
}

/// Values that a setting can have beside its default.
fn values(row: &SettingRow) -> Vec<Value> {
    let lists = || vec![json!(["name"]), json!(["kind", "name"])];
    match row.name {
        "searchableAttributes" => {
            vec![json!(["name"]), json!(["name,kind"]), json!(["kind", "name"]), json!(["unordered(name)"])]
        }
        "attributesForFaceting" => {
            vec![json!(["kind"]), json!(["searchable(kind)"]), json!(["filterOnly(n)"])]
        }
        "ranking" => vec![json!(["asc(n)", "typo"]), json!(["custom", "desc(m)"]), json!(["words", "typo"])],
        "customRanking" => vec![json!(["asc(n)"]), json!(["desc(n)", "asc(m)"])],
        "numericAttributesForFiltering" => vec![json!([]), json!(["n"]), json!(["equalOnly(n)"])],
        "replicas" => vec![json!(["other"]), json!(["virtual(other)"])],
        "attributeForDistinct" => vec![json!("kind")],
        "customNormalization" => vec![json!({"default": {"ü": "ue"}})],
        "decompoundedAttributes" => vec![json!({"de": ["name"]})],
        "indexLanguages" => vec![json!(["zh"]), json!(["ja"]), json!(["de"])],
        "queryLanguages" => vec![json!(["de"]), json!(["zh"])],
        "separatorsToIndex" => vec![json!("+"), json!("&,")],
        "keepDiacriticsOnCharacters" => vec![json!("é"), json!("üä")],
        "userData" | "renderingContent" => vec![json!({"a": 1})],
        "maxValuesPerFacet" | "minProximity" => vec![json!(7)],
        "sortFacetValuesBy" => vec![json!("alpha")],
        "distinct" => vec![json!(true), json!(2)],
        "typoTolerance" => vec![json!(false), json!("min"), json!("strict")],
        "ignorePlurals" | "removeStopWords" => vec![json!(true), json!(["de"])],
        "queryType" => vec![json!("prefixAll"), json!("prefixNone")],
        "removeWordsIfNoResults" => vec![json!("allOptional"), json!("lastWords")],
        "advancedSyntaxFeatures" => vec![json!(["exactPhrase"])],
        "exactOnSingleWordQuery" => vec![json!("none"), json!("word")],
        "alternativesAsExact" => vec![json!([]), json!(["ignoreConjugations"])],
        "reRankingApplyFilter" => vec![json!("kind:b")],
        _ => match row.target {
            Target::Flag(_) | Target::Kept(Form::Flag) => vec![json!(true), json!(false)],
            Target::Count(from, to, _)
            | Target::IndexCount(from, to, _)
            | Target::Kept(Form::Count(from, to)) => vec![json!(from), json!(to.min(11))],
            Target::Text(..) | Target::IndexText(_) | Target::Kept(Form::Text) => vec![json!("name")],
            Target::List(_) | Target::IndexStrings(_) | Target::Kept(Form::List) => lists(),
            Target::Kept(Form::Choice(names)) => names.iter().map(|name| json!(name)).collect(),
            Target::Kept(Form::Object) => vec![json!({"a": 1})],
            Target::Kept(Form::Any) | Target::Dropped => vec![json!("name")],
            Target::Languages(_) | Target::Query(..) | Target::Index(..) | Target::IndexList(..) => {
                panic!("{}: which values has it? They are a line of `values`", row.name)
            }
        },
    }
}

#[test]
fn what_changes_the_files_changes_the_fingerprint() {
    let plain = Map::new();
    let rich = json!({
        "searchableAttributes": ["name", "kind", "text"], "attributesForFaceting": ["kind"], "customRanking": ["desc(m)"],
        "ranking": ["asc(n)", "typo", "custom"], "separatorsToIndex": "&", "decompoundedAttributes": {"de": ["name"]},
        "camelCaseAttributes": ["kind"], "numericAttributesForFiltering": ["n", "m"], "attributeForDistinct": "kind",
        "indexLanguages": ["zh"], "keepDiacriticsOnCharacters": "é",
    });
    let settings = || ROWS.iter().filter(|row| row.scope.in_settings());
    let mut shaping = BTreeMap::<&str, bool>::new();
    for start in [&plain, rich.as_object().unwrap()] {
        let (fingerprint, files) = built(start);
        assert_eq!(built(start), (fingerprint, files.clone()), "the same twice");
        for row in settings() {
            let mut changes = values(row).into_iter().map(Some).collect::<Vec<_>>();
            changes.push(None);
            for value in changes {
                let mut document = start.clone();
                match value.clone() {
                    Some(value) => document.insert(row.name.to_owned(), value),
                    None => document.remove(row.name),
                };
                let (other_fingerprint, other_files) = built(&document);
                let is_changed = other_files != files;
                assert!(
                    !is_changed || other_fingerprint != fingerprint,
                    "{} = {value:?} changes the files and not the fingerprint",
                    row.name
                );
                *shaping.entry(row.name).or_default() |= is_changed;
            }
        }
    }
    for row in settings() {
        assert_eq!(shaping[row.name], row.shapes_index, "{}: whether it changes files", row.name);
    }
}
