//! Tables of settings: the table itself, changes, answers, fingerprints and effective values.

use super::table::{ROWS, Scope, lookup, markdown};
use super::*;
use crate::limits::FACET_ATTRIBUTES_MAX;
use crate::params::{ForLanguages, QueryType, TypoTolerance};
use serde_json::json;
use std::collections::HashSet;

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

#[track_caller]
fn set(value: Value) -> Settings {
    Settings::default().merge(&object(value.clone())).unwrap_or_else(|error| panic!("{value}: {error}"))
}

#[track_caller]
fn refused(body: &str, expected: &str) {
    let error = Settings::parse_body(body.as_bytes()).expect_err(body);
    assert_eq!(error.message, expected, "for {body}");
}

#[test]
fn the_table_is_sound() {
    let mut names = HashSet::new();
    for row in ROWS {
        let _ = row.default_value();
        assert!(row.doc.ends_with('.') && !row.doc.contains('|'), "{}", row.name);
        assert!(!row.allowed().is_empty(), "{}", row.name);
        for name in std::iter::once(row.name).chain(row.legacy.iter().copied()) {
            assert!(names.insert(name), "{name} is there twice");
            assert_eq!(lookup(name).map(|found| found.name), Some(row.name));
        }
        assert!(!(row.shapes_index && row.scope == Scope::Query), "{}", row.name);
    }
}

#[test]
fn the_table_renders_to_markdown() {
    let text = markdown();
    assert_eq!(text.lines().count(), ROWS.len() + 2);
    assert!(text.lines().all(|line| line.matches('|').count() == 6), "{text}");
    assert!(text.contains(
        "| `hitsPerPage` | settings, query | integer between 0 and 1000 | `20` | Hits of a page. |"
    ));
}

#[test]
fn numbers_and_truth_values_are_answered_as_such() {
    let given = json!({"hitsPerPage": "7", "minWordSizefor1Typo": "5", "allowTyposOnNumericTokens": "false", "queryType": "prefixAll"});
    let settings = Settings::default().merge(given.as_object().unwrap()).unwrap();
    let answer = settings.answer(2);
    assert_eq!((&answer["hitsPerPage"], &answer["minWordSizefor1Typo"]), (&json!(7), &json!(5)));
    assert_eq!(
        (&answer["allowTyposOnNumericTokens"], &answer["queryType"]),
        (&json!(false), &json!("prefixAll"))
    );
}

#[test]
fn c4_9_a_fresh_index_answers_the_shown_defaults() {
    let expected = json!({
        "minWordSizefor1Typo": 4, "minWordSizefor2Typos": 8, "hitsPerPage": 20, "maxValuesPerFacet": 100,
        "paginationLimitedTo": 1000, "exactOnSingleWordQuery": "attribute", "separatorsToIndex": "",
        "ranking": ["typo", "geo", "words", "proximity", "attribute", "exact", "custom"],
        "removeWordsIfNoResults": "none", "queryType": "prefixLast", "highlightPreTag": "<em>",
        "highlightPostTag": "</em>", "alternativesAsExact": ["ignorePlurals", "singleWordSynonym"]
    });
    assert_eq!(Value::Object(Settings::default().answer(2)), expected);
    assert!(Settings::default().document.is_empty());
}

#[test]
fn c4_9_values_come_back_as_they_were_set() {
    let given = json!({
        "distinct": true, "ignorePlurals": ["en", "fr"], "typoTolerance": "min", "hitsPerPage": 5,
        "searchableAttributes": ["unordered(title)", "a,b"], "attributesForFaceting": "searchable(brand)",
        "customNormalization": {"default": {"ä": "ae"}}, "userData": {"any": [1, null]}, "numericAttributesForFiltering": []
    });
    let settings = set(given.clone());
    let answer = settings.answer(1);
    for (name, value) in object(given) {
        assert_eq!(answer[&name], value, "{name}");
    }
    assert_eq!(Settings::from_document(&settings.document).unwrap(), settings);
}

#[test]
fn what_was_given_as_another_kind_is_shown_as_what_it_is() {
    let given = json!({
        "highlightPreTag": 1.5, "separatorsToIndex": 7, "snippetEllipsisText": 3, "attributeForDistinct": 9,
        "hitsPerPage": "10", "maxValuesPerFacet": "11", "minProximity": "2", "distinct": "3",
        "advancedSyntax": 1, "allowTyposOnNumericTokens": "false", "decompoundQuery": "0", "ignorePlurals": "true", "removeStopWords": ["en"],
    });
    let answer = set(given).answer(1);
    for (name, value) in object(json!({
        "highlightPreTag": "1.5", "separatorsToIndex": "7", "snippetEllipsisText": "3", "attributeForDistinct": "9",
        "hitsPerPage": 10, "maxValuesPerFacet": 11, "minProximity": 2, "distinct": 3,
        "advancedSyntax": true, "allowTyposOnNumericTokens": false, "decompoundQuery": false, "ignorePlurals": true, "removeStopWords": ["en"],
    })) {
        assert_eq!(answer[&name], value, "{name}");
    }
}

#[test]
fn null_resets_and_the_rest_stays() {
    let settings = set(json!({"hitsPerPage": 5, "distinct": 2}));
    let settings = settings.merge(&object(json!({"hitsPerPage": null, "slaves": ["r"]}))).unwrap();
    assert_eq!(Value::Object(settings.document.clone()), json!({"distinct": 2, "replicas": ["r"]}));
    assert_eq!(settings.answer(2)["hitsPerPage"], json!(20));
    let cleared = settings.merge(&object(json!({"distinct": null, "slaves": null}))).unwrap();
    assert_eq!(cleared, Settings::default());
}

#[test]
fn c4_8_legacy_names_and_forms_are_translated_or_dropped() {
    let settings = set(json!({
        "attributesToIndex": ["a"], "numericAttributesToIndex": ["equalOnly(n)"], "attributes": "x",
        "disableTypoToleranceOn": ["w"], "enableExactOnSingleWordQuery": false, "primary": "p",
        "placeholders": {"a": ["b"]}, "altCorrections": [], "synonyms": [["a", "b"]], "attributeCriteriaComputedBy": "x"
    }));
    assert_eq!(
        Value::Object(settings.document),
        json!({
            "searchableAttributes": ["a"], "numericAttributesForFiltering": ["equalOnly(n)"],
            "attributesToRetrieve": "x", "disableTypoToleranceOnWords": ["w"], "exactOnSingleWordQuery": "none"
        })
    );
    assert_eq!(settings.index.numeric_attributes_for_filtering, Some(vec![("n".to_owned(), true)]));
    assert_eq!(settings.index.primary, None);
    let both = set(json!({"attributesToIndex": ["old"], "searchableAttributes": ["new"]}));
    assert_eq!(both.document["searchableAttributes"], json!(["new"]));
}

/// What `getSettings` of the hosted service gives is what users bring along.
#[test]
fn exported_settings_are_accepted() {
    let exported = json!({
        "minWordSizefor1Typo": 4, "minWordSizefor2Typos": 8, "hitsPerPage": 20, "maxValuesPerFacet": 100, "version": 2,
        "searchableAttributes": ["unordered(title)"], "attributesToIndex": null, "numericAttributesToIndex": null,
        "attributesToRetrieve": null, "distinct": true, "unretrievableAttributes": null, "optionalWords": null,
        "attributesForFaceting": [], "attributesToSnippet": ["content:10"], "attributesToHighlight": null,
        "paginationLimitedTo": 1000, "attributeForDistinct": "key", "exactOnSingleWordQuery": "attribute",
        "ranking": ["typo", "geo", "words", "filters", "proximity", "attribute", "exact", "custom"],
        "customRanking": null, "separatorsToIndex": "", "removeWordsIfNoResults": "none", "queryType": "prefixLast",
        "highlightPreTag": "<em>", "highlightPostTag": "</em>", "snippetEllipsisText": "", "primary": "other",
        "alternativesAsExact": ["ignorePlurals", "singleWordSynonym"], "replicas": ["virtual(a)", "b"]
    });
    let body = serde_json::to_vec(&exported).unwrap();
    let settings = Settings::default().merge(&Settings::parse_body(&body).unwrap()).unwrap();
    assert_eq!(settings.index.searchable_attributes[0].path, "title");
    assert!(!settings.document.contains_key("version") && !settings.document.contains_key("primary"));
    assert_eq!(settings.answer(2)["replicas"], json!(["virtual(a)", "b"]));
}

#[test]
fn c4_9_wrong_bodies_name_the_place() {
    let single = "String is supported only for attributes, attributesToRetrieve, unretrievableAttributes, attributesToHighlight, attributesToSnippet, ranking, customRanking, attributesForFaceting, removeWordsIfNoResults, attributeCriteriaComputedBy, queryType, reRankingApplyFilter attributes near line:1 column:23";
    refused(r#"{"searchableAttributes":"a"}"#, single);
    refused(r#"{"advancedSyntx":true}"#, "Invalid object attributes: advancedSyntx near line:1 column:16");
    refused("{\"page\":1}", "Invalid object attributes: page near line:1 column:7");
    refused("{\n  \"x\":1}", "Invalid object attributes: x near line:2 column:5");
    refused(r#"{"customRanking":["desc(a)",""]}"#, "Invalid string of size 0 near line:1 column:16");
    refused(r#"{"ranking":""}"#, "Invalid string of size 0 near line:1 column:10");
    refused("[]", "Invalid object inside settings near line:1 column:1");
    refused("7", "Invalid object inside settings near line:1 column:1");
    refused("{\"a\"", "parse error: premature EOF near line:1 column:4");
    let big = serde_json::to_vec(&json!({"replicas": vec!["index"; 200_000]})).unwrap();
    assert!(
        Settings::parse_body(&big).unwrap_err().message.starts_with("Settings are too big size=1600014/")
    );
    assert_eq!(Settings::parse_body(b" ").unwrap(), Map::new());
    let merge = Settings::default().merge(&object(json!({"zzz": 1})));
    assert_eq!(merge.unwrap_err().message, "Invalid object attributes: zzz near line:1 column:6");
}

#[test]
fn c19_wrong_values_name_the_setting() {
    let twelve: Map<String, Value> = ('a'..='l').map(|c| (c.to_string(), json!("x"))).collect();
    for (value, expected) in [
        (json!({"hitsPerPage": 1001}), "integer between 0 and 1000"),
        (json!({"paginationLimitedTo": 20001}), "integer between 0 and 20000"),
        (
            json!({"ranking": ["best"]}),
            &format!("{}, asc(name) or desc(name), \"best\" is none of them", Criterion::NAMES.join(", ")),
        ),
        (json!({"customRanking": ["price"]}), "asc(name) or desc(name), \"price\" is none of them"),
        (json!({"customRanking": ["desc(price"]}), "asc(name) or desc(name), \"desc(price\" is none of them"),
        (json!({"customRanking": ["asc(desc(a))"]}), "asc(name) or desc(name), \"desc(a)\" is none of them"),
        (json!({"customRanking": ["asc()"]}), "asc(name) or desc(name), not an empty name"),
        (json!({"customRanking": [1]}), "array of asc(name) or desc(name)"),
        (
            json!({"attributesForFaceting": ["searchable(filterOnly(a))"]}),
            "either searchable(name) or filterOnly(name), not both",
        ),
        (
            json!({"attributesForFaceting": ["bogus(c)"]}),
            "attribute names, searchable(name), filterOnly(name) or afterDistinct(name), \"bogus(c)\" is none of them",
        ),
        (
            json!({"searchableAttributes": ["a,,b"]}),
            "attribute names, ordered(name) or unordered(name), not an empty name",
        ),
        (
            json!({"searchableAttributes": ["unordered(a"]}),
            "attribute names, ordered(name) or unordered(name), \"unordered(a\" is none of them",
        ),
        (
            json!({"numericAttributesForFiltering": ["equalOnly(a"]}),
            "attribute names or equalOnly(name), \"equalOnly(a\" is none of them",
        ),
        (json!({"queryLanguages": ["en", "xx"]}), "language codes such as \"en\", \"xx\" is not one"),
        (json!({"indexLanguages": ["english"]}), "language codes such as \"en\", \"english\" is not one"),
        (json!({"ignorePlurals": ["xx"]}), "language codes such as \"en\", \"xx\" is not one"),
        (json!({"removeStopWords": "fr,xx"}), "language codes such as \"en\", \"xx\" is not one"),
        (json!({"removeStopWords": 2}), "boolean or array of language codes"),
        (
            json!({"customNormalization": {"default": {"ab": "c"}}}),
            "object of at most 10 replacements of one character each",
        ),
        (
            json!({"customNormalization": {"default": twelve}}),
            "object of at most 10 replacements of one character each",
        ),
        (json!({"userData": "x".repeat(40_000)}), "JSON of at most 32768 bytes"),
        (
            json!({"advancedSyntaxFeatures": ["x"]}),
            "array of strings among \"exactPhrase\", \"excludeWords\"",
        ),
        (json!({"separatorsToIndex": ["+"]}), "string"),
        (json!({"replicas": ["*"]}), "array of index names or virtual(name)"),
        (
            json!({"decompoundedAttributes": 1}),
            "object of lists of attribute names under de, nl, fi, da, sv or no",
        ),
    ] {
        let name = object(value.clone()).keys().next().unwrap().clone();
        let error = Settings::default().merge(&object(value)).unwrap_err();
        assert_eq!(error.message, format!("Invalid value for \"{name}\" parameter, expected {expected}"));
    }
}

#[test]
fn c4_1_modifiers_are_understood() {
    let settings = set(json!({
        "searchableAttributes": ["title, alt", "unordered(body)", "ordered(tag)", "unordered(x),ordered(price (EUR))"],
        "attributesForFaceting": ["afterDistinct(searchable(brand))", "filterOnly(id)", "x"],
        "ranking": ["desc(date)", "typo", "filters"], "customRanking": "asc(price)"
    }));
    let attributes: Vec<_> = settings
        .index
        .searchable_attributes
        .iter()
        .map(|a| (a.path.as_str(), a.priority, a.ordered))
        .collect();
    let (named, together) = attributes.split_at(4);
    assert_eq!(named, [("title", 0, false), ("alt", 0, false), ("body", 1, false), ("tag", 2, true)]);
    assert_eq!(together, [("x", 3, false), ("price (EUR)", 3, false)]);
    let facets = settings.index.attributes_for_faceting.iter();
    let facets: Vec<_> =
        facets.map(|f| (f.path.as_str(), f.searchable, f.filter_only, f.after_distinct)).collect();
    assert_eq!(
        facets,
        [("brand", true, false, true), ("id", false, true, false), ("x", false, false, false)]
    );
    let date = SortKey { path: "date".to_owned(), descending: true };
    assert_eq!(settings.index.ranking, [Criterion::Sort(date), Criterion::Typo, Criterion::Filters]);
    assert_eq!(settings.index.custom_ranking, [SortKey { path: "price".to_owned(), descending: false }]);
}

#[test]
fn an_attribute_that_is_listed_several_times_is_all_that_the_entries_say() {
    let settings = set(
        json!({"attributesForFaceting": ["a", "filterOnly(b)", "afterDistinct(a)", "searchable(b)", "c"]}),
    );
    let facets = &settings.index.attributes_for_faceting;
    let said = |f: &FacetAttribute| (f.path.clone(), f.searchable, f.filter_only, f.after_distinct);
    let expected = [("a", false, false, true), ("b", true, true, false), ("c", false, false, false)];
    let expected = expected.map(|(path, searchable, only, after)| (path.to_owned(), searchable, only, after));
    assert_eq!(facets.iter().map(said).collect::<Vec<_>>(), expected);
    for attribute in &expected {
        assert_eq!(facets.get(&attribute.0).map(said).as_ref(), Some(attribute));
    }
    assert_eq!(facets.get("filterOnly(b)"), None);
}

#[test]
fn more_attributes_for_faceting_than_there_may_be_are_refused_to_callers_and_kept_where_they_are() {
    let names = |count: usize| json!((0..count).map(|n| n.to_string()).collect::<Vec<_>>());
    let most = json!({"attributesForFaceting": names(FACET_ATTRIBUTES_MAX)}).to_string();
    Settings::parse_body(most.as_bytes()).unwrap();
    let more = json!({"attributesForFaceting": names(FACET_ATTRIBUTES_MAX + 1)});
    let text = Settings::parse_body(more.to_string().as_bytes()).unwrap_err().message;
    assert_eq!(
        text,
        "Invalid value for \"attributesForFaceting\" parameter, expected at most 10000 attributes"
    );
    // as programs before this limit stored them
    let stored = Settings::from_document(&object(more)).unwrap();
    let changed = stored.merge(&object(json!({"hitsPerPage": 3}))).unwrap();
    assert_eq!(changed.index.attributes_for_faceting.len(), FACET_ATTRIBUTES_MAX + 1);
}

#[test]
fn an_attribute_is_not_searchable_in_one_entry_and_filter_only_in_another() {
    let both = json!({"attributesForFaceting": ["searchable(a)", "b", "filterOnly(a)"]});
    let text = Settings::parse_body(both.to_string().as_bytes()).unwrap_err().message;
    assert!(text.ends_with("expected either searchable(a) or filterOnly(a), not both"), "{text}");
    // as programs before this one stored them
    Settings::from_document(&object(both)).unwrap();
    let several = json!({"attributesForFaceting": ["a", "searchable(a)", "afterDistinct(a)"]});
    Settings::parse_body(several.to_string().as_bytes()).unwrap();
}

#[test]
fn language_settings_are_typed() {
    let settings = set(json!({
        "indexLanguages": ["de", "ja"], "decompoundedAttributes": {"de": ["name"], "nl": []}
    }));
    assert_eq!(settings.index.index_languages, ["de", "ja"]);
    let by_language = [("de".to_owned(), vec!["name".to_owned()]), ("nl".to_owned(), vec![])];
    assert_eq!(settings.index.decompounded_attributes, by_language);
    for wrong in [json!({"fr": ["a"]}), json!({"de": "a"}), json!({"de": [1]}), json!(["a"]), json!("de")] {
        let document = json!({"decompoundedAttributes": wrong});
        let error = Settings::from_document(document.as_object().unwrap()).unwrap_err();
        assert!(error.to_string().contains("decompoundedAttributes"), "{wrong}: {error}");
    }
}

#[test]
fn the_fingerprint_sees_what_shapes_the_index_and_nothing_else() {
    let plain = Settings::default().fingerprint();
    assert_eq!(plain, 0xcbf2_9ce4_8422_2325, "compared with stored ones: must never change");
    for same in [
        json!({"hitsPerPage": 5, "distinct": true, "typoTolerance": false}),
        json!({"searchableAttributes": [], "separatorsToIndex": "", "attributeForDistinct": ""}),
        json!({"ranking": ["words", "typo", "custom"]}),
    ] {
        assert_eq!(set(same.clone()).fingerprint(), plain, "{same}");
    }
    let rich = json!({
        "searchableAttributes": ["title", "unordered(body)"], "customRanking": ["desc(price)"],
        "ranking": ["asc(date)", "typo"], "decompoundedAttributes": {"nl": ["b"], "de": ["a"]}
    });
    assert_eq!(
        set(rich).fingerprint(),
        0xc7d5_6661_ed35_0b69,
        "compared with stored ones: must never change"
    );
    let mut seen = HashSet::from([plain]);
    for other in [
        json!({"searchableAttributes": ["a"]}),
        json!({"searchableAttributes": ["a", "b"]}),
        json!({"searchableAttributes": ["a,b"]}),
        json!({"attributesForFaceting": ["a"]}),
        json!({"customRanking": ["asc(a)"]}),
        json!({"ranking": ["asc(a)", "typo"]}),
        json!({"ranking": ["desc(a)", "typo"]}),
        json!({"attributeForDistinct": "a"}),
        json!({"separatorsToIndex": "+"}),
        json!({"camelCaseAttributes": ["a"]}),
        json!({"keepDiacriticsOnCharacters": "é"}),
        json!({"customNormalization": {"default": {"ä": "ae"}}}),
        json!({"numericAttributesForFiltering": []}),
        json!({"decompoundedAttributes": {"de": ["a"]}}),
        json!({"indexLanguages": ["de"]}),
    ] {
        assert!(seen.insert(set(other.clone()).fingerprint()), "{other}");
    }
    let (text, list) = (set(json!({"customRanking": "asc(a)"})), set(json!({"customRanking": ["asc(a)"]})));
    assert_eq!(text.fingerprint(), list.fingerprint());
}

#[test]
fn c8_6_the_request_overrides_the_setting_and_the_setting_the_default() {
    let settings = set(
        json!({"hitsPerPage": 5, "queryType": "prefixNone", "ignorePlurals": true, "mode": "keywordSearch"}),
    );
    let request = object(json!({"queryType": "prefixAll", "ignorePlurals": ["en"], "filters": "a:b"}));
    let effective = settings.effective(&SearchParams::from_json(&request).unwrap());
    assert_eq!((effective.hits_per_page, effective.page), (5, 0));
    assert_eq!((effective.query_type, effective.typo_tolerance), (QueryType::PrefixAll, TypoTolerance::On));
    assert_eq!(effective.ignore_plurals, ForLanguages::Listed(vec!["en".to_owned()]));
    assert_eq!(effective.filter.to_string(), r#""a":"b""#);
    assert_eq!((effective.min_word_size_for_1_typo, effective.min_word_size_for_2_typos), (4, 8));
    assert_eq!(
        (effective.highlight_pre_tag.as_str(), effective.snippet_ellipsis_text.as_str()),
        ("<em>", "…")
    );
    assert_eq!((effective.attributes_to_highlight, effective.attributes_to_snippet), (None, vec![]));
    assert_eq!(
        (effective.distinct, effective.around_precision, effective.query),
        (0, vec![(0, 10)], String::new())
    );
}
