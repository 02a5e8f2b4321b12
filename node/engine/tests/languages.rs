//! Which texts of the world are found, and how are they marked? (C§6, C§4.5)

mod shard;

use quorate_engine::index::ReadySizes;
use quorate_engine::{Scratch, search};
use quorate_model::{SearchParams, Settings};
use serde_json::{Value, json};
use shard::{Shard, WordLists, limits};

/// Records with these names, numbered from 0.
fn shard(mut settings: Value, names: &[&str]) -> Shard {
    settings["searchableAttributes"] = json!(["name"]);
    let records: Vec<Value> =
        names.iter().enumerate().map(|(i, name)| json!({"objectID": i.to_string(), "name": name})).collect();
    let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
    Shard::new(settings, &records, &[records.len()], &WordLists::default(), ReadySizes::default())
}
/// The shown names of the hits, in the order of their numbers.
fn found(shard: &Shard, query: &str) -> String {
    let params =
        json!({"query": query, "typoTolerance": false, "highlightPreTag": "[", "highlightPostTag": "]"});
    let params = SearchParams::from_json(params.as_object().unwrap()).unwrap();
    let results = search(&shard.view, &shard.configuration, &params, &limits(), &mut Scratch::new()).unwrap();
    let mut shown: Vec<(String, String)> = results
        .hits
        .iter()
        .map(|raw| {
            let hit: Value = serde_json::from_slice(raw).unwrap();
            let text = |value: &Value| value.as_str().unwrap().to_string();
            (text(&hit["objectID"]), text(&hit["_highlightResult"]["name"]["value"]))
        })
        .collect();
    shown.sort();
    shown.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" | ")
}
fn check(shard: &Shard, table: &[(&str, &str)]) {
    for (query, expected) in table {
        assert_eq!(found(shard, query), *expected, "{query}");
    }
}

#[test]
fn letters_are_found_however_they_are_written() {
    let names = [
        "Straße",
        "ﬁne Oﬀer",
        "Ｆｕｌｌ",
        "m² Fläche",
        "ΟΔΟΣ",
        "İstanbul",
        "cafe\u{301}s",
        "كِتَـاب",
        "한국어",
        "1½ cup",
    ];
    check(
        &shard(json!({}), &names),
        &[
            ("strasse", "[Straße]"),
            ("stras", "[Straß]e"),
            ("FINE", "[ﬁne] Oﬀer"),
            ("full", "[Ｆｕｌｌ]"),
            ("m2", "[m²] Fläche"),
            ("οδος", "[ΟΔΟΣ]"),
            ("istanbul", "[İstanbul]"),
            ("caf", "[caf]e\u{301}s"),
            ("café", "[cafe\u{301}]s"),
            ("كتاب", "[كِتَـاب]"),
            ("한국", "[한국]어"),
            // half a syllable is its beginning
            ("하", "[한]국어"),
            ("1 1/2", "[1½] cup"),
        ],
    );
}

#[test]
fn settings_say_which_marks_and_signs_count() {
    let kept = json!({"keepDiacriticsOnCharacters": "é", "separatorsToIndex": "+", "customNormalization": {"default": {"ä": "ae"}}});
    check(
        &shard(kept, &["rosé", "rose", "Disney+", "Bär"]),
        &[
            ("rosé", "[rosé]"),
            ("rose", "[rose]"),
            ("disney+", "[Disney+]"),
            ("baer", "[Bär]"),
            ("ba", "[Bä]r"),
        ],
    );
}

#[test]
fn pictures_are_words() {
    let names = ["Rocket 🚀 launch", "Family 👨\u{200d}👩\u{200d}👧", "Thumb 👍🏽", "🇫🇷 France", "🇩🇪 Germany"];
    check(
        &shard(json!({}), &names),
        &[
            ("🚀", "Rocket [🚀] launch"),
            ("👨\u{200d}👩\u{200d}👧", "Family [👨\u{200d}👩\u{200d}👧]"),
            ("👍", "Thumb [👍🏽]"),
            ("👍🏿", "Thumb [👍🏽]"),
            ("🇫🇷", "[🇫🇷] France"),
        ],
    );
}

#[test]
fn ideographs_are_found_alone_and_as_words() {
    let names = ["北京大学", "大阪の学校", "香蕉和苹果", "東京タワー", "我喜欢吃苹果和香蕉"];
    check(
        &shard(json!({}), &names),
        &[("大学", "北京[大学] | [大]阪の[学]校"), ("东京", "[東京]タワー"), ("タワ", "東京[タワ]ー")],
    );
    check(
        &shard(json!({"indexLanguages": ["zh", "ja"]}), &names),
        &[
            ("大学", "北京[大学]"),
            ("北京大学", "[北京大学]"),
            ("东京", "[東京]タワー"),
            ("京", "北[京]大学 | 東[京]タワー"),
            ("タワ", "東京[タワ]ー"),
            ("香蕉", "[香蕉]和苹果 | 我喜欢吃苹果和[香蕉]"),
            ("學", "北京大[学] | 大阪の[学]校"),
        ],
    );
    check(
        &shard(json!({"indexLanguages": ["ja"]}), &["デジタルカメラ", "データベースの本", "カメラ"]),
        &[
            ("カメラ", "デジタル[カメラ] | [カメラ]"),
            ("カメ", "デジタル[カメ]ラ | [カメ]ラ"),
            ("ベース", "データ[ベース]の本"),
            ("デジタルカメラ", "[デジタルカメラ]"),
        ],
    );
}

#[test]
fn thai_falls_into_words() {
    check(&shard(json!({}), &["ภาษาไทยง่าย"]), &[("ไทย", "ภาษา[ไทย]ง่าย"), ("ง่าย", "ภาษาไทย[ง่าย]")]);
}

#[test]
fn compounds_are_found_by_their_parts() {
    let settings = json!({"decompoundedAttributes": {"de": ["name"]}});
    check(
        &shard(settings, &["Gartenhaus aus Holz", "Küchenstuhl", "Haus"]),
        &[("haus", "Garten[haus] aus Holz | [Haus]"), ("stuhl", "Küchen[stuhl]"), ("küche", "[Küche]nstuhl")],
    );
    check(&shard(json!({}), &["Gartenhaus"]), &[("haus", "")]);
}
