//! Tables of documents that are rules, and of those that are not.

use super::*;
use crate::limits::RULE_CONDITIONS_MAX;
use serde_json::json;

#[track_caller]
fn read(document: Value) -> Rule {
    let read =
        Rule::parse_body(document.to_string().as_bytes(), "r").unwrap_or_else(|e| panic!("{document}: {e}"));
    assert_eq!(Rule::from_document(read.document.as_bytes()).unwrap(), read);
    read
}

/// A rule with one condition.
#[track_caller]
fn condition(value: Value) -> Condition {
    read(json!({"conditions": [value], "consequence": {"userData": 1}})).conditions.remove(0)
}

#[track_caller]
fn consequence(value: Value) -> Consequence {
    let conditions = json!([{"pattern": "{facet:brand} x {facet:color}", "anchoring": "contains"}]);
    read(json!({"conditions": conditions, "consequence": value})).consequence
}

#[test]
fn long_parameters_are_read_when_they_act() {
    let filters = (0..300).map(|i| format!("n = {i}")).collect::<Vec<_>>().join(" OR ");
    let params = json!({"filters": filters, "hitsPerPage": 3});
    let expected = crate::SearchParams::from_members(params.as_object().unwrap()).unwrap();
    let mut given = params;
    given
        .as_object_mut()
        .unwrap()
        .extend([("query".to_owned(), json!("lamp")), ("page".to_owned(), Value::Null)]);
    let rule = read(json!({"consequence": {"hide": [{"objectID": "a"}], "params": given}}));
    let kept = rule.consequence.params.as_ref().unwrap();
    assert!(kept.bytes_to_read() > 2_000, "{kept:?}");
    assert_eq!(kept.read(&rule.document).into_owned(), expected);
    // what callers may not give any more is shortened, as in a rule that is short
    let tags = json!(["x".repeat(2_000), "short"]);
    let document =
        json!({"objectID": "r", "consequence": {"params": {"filters": filters, "analyticsTags": tags}}})
            .to_string();
    let rule = Rule::from_document(document.as_bytes()).unwrap();
    let kept = rule.consequence.params.as_ref().unwrap();
    assert!(kept.bytes_to_read() > 2_000, "{kept:?}");
    let tags = kept.read(&rule.document).other["analyticsTags"].clone();
    assert!(tags[0].as_str().unwrap().len() < 200 && tags[1] == "short", "{tags}");
}

#[test]
fn c10_1_a_rule_keeps_its_document_and_fills_nothing_in() {
    let document = json!({"objectID": "r", "conditions": [{"alternatives": true, "anchoring": "contains", "pattern": "zorro"}],
        "consequence": {"params": {"ignorePlurals": "true"}, "filterPromotes": true,
            "promote": [{"objectIDs": ["a", 7], "position": 0}]},
        "description": "d", "enabled": true});
    let rule = read(document.clone());
    assert_eq!(serde_json::from_str::<Value>(&rule.document).unwrap(), document);
    assert_eq!(rule.object_id, "r");
    assert_eq!(rule.description.as_deref(), Some("d"));
    assert_eq!(
        rule.consequence.promote,
        [Promotion { object_ids: vec!["a".into(), "7".into()], position: 0 }]
    );
    let params = rule.consequence.params.as_ref().unwrap().read(&rule.document);
    assert_eq!(params.ignore_plurals, Some(crate::params::ForLanguages::Query));
    assert!(rule.consequence.filter_promotes && rule.enabled && rule.conditions[0].alternatives);

    let rule = read(
        json!({"consequence": {"hide": [{"objectID": "x"}]}, "_metadata": {"lastUpdate": 1}, "scope": "redirect",
        "_highlightResult": {}, "enabled": "false", "tags": ["t"], "validity": [{"from": 1, "until": "2"}]}),
    );
    assert_eq!(
        (rule.conditions.len(), rule.enabled, rule.tags, rule.scope.as_deref()),
        (0, false, vec!["t".to_owned()], Some("redirect"))
    );
    assert_eq!(rule.validity, [Period { from: 1, until: 2 }]);
    assert!(!rule.document.contains("_metadata") && !rule.document.contains("_highlight"));
}

#[test]
fn c10_1_conditions_have_many_forms() {
    let rule =
        read(json!({"condition": {"pattern": "a", "anchoring": "is"}, "consequence": {"userData": {}}}));
    assert_eq!(rule.conditions[0].pattern.as_ref().unwrap().anchoring, Anchoring::Is);
    assert!(rule.document.contains(r#""condition":"#));
    for (text, parts) in [
        ("", vec![]),
        ("big phone", vec![PatternPart::Literal("big phone".into())]),
        ("{facet:a.b}", vec![PatternPart::Facet("a.b".into())]),
        (
            "cheap {facet:brand} phone{facet:color}",
            vec![
                PatternPart::Literal("cheap".into()),
                PatternPart::Facet("brand".into()),
                PatternPart::Literal("phone".into()),
                PatternPart::Facet("color".into()),
            ],
        ),
        ("a {b}", vec![PatternPart::Literal("a {b}".into())]),
    ] {
        let pattern = condition(json!({"pattern": text, "anchoring": "is"})).pattern.unwrap();
        assert_eq!((pattern.text.as_str(), &pattern.parts), (text, &parts));
    }
    let value =
        |attribute: &str, value: &str| FacetValue { attribute: attribute.into(), value: value.into() };
    let found = condition(json!({"context": "m-1_B", "filters": "brand:'a b' AND _tags:new AND (size:7)"}));
    assert_eq!(found.context.as_deref(), Some("m-1_B"));
    assert_eq!(found.filters, [value("brand", "a b"), value("_tags", "new"), value("size", "7")]);
    assert_eq!(found.pattern, None);
}

#[test]
fn c10_4_consequences_are_typed() {
    assert_eq!(consequence(json!({"params": {"query": "q"}})).query, Some(QueryChange::Replace("q".into())));
    let edit =
        |delete: PatternPart, insert: Option<&str>| QueryEdit { delete, insert: insert.map(str::to_owned) };
    let literal = |text: &str| PatternPart::Literal(text.into());
    let edits = json!([{"type": "remove", "delete": "a b"}, {"type": "replace", "delete": "{facet:brand}", "insert": "x"}]);
    assert_eq!(
        consequence(json!({"params": {"query": {"edits": edits, "remove": ["old"]}}})).query,
        Some(QueryChange::Edit(vec![
            edit(literal("old"), None),
            edit(literal("a b"), None),
            edit(PatternPart::Facet("brand".into()), Some("x")),
        ]))
    );
    let filter = |facet: &str, score, disjunctive, negative| AutomaticFilter {
        facet: facet.into(),
        score,
        disjunctive,
        negative,
    };
    let found = consequence(json!({"params": {
        "automaticFacetFilters": ["brand", "-color", {"facet": "brand", "score": 3, "disjunctive": true}],
        "automaticOptionalFacetFilters": ["brand<score=5>"],
        "filters": "a:1", "facetFilters": ["b:2"], "hitsPerPage": 3, "renderingContent": {"redirect": {"url": "u"}}}}));
    assert_eq!(
        found.automatic_facet_filters,
        [filter("brand", 1, false, false), filter("color", 1, false, true), filter("brand", 3, true, false)]
    );
    assert_eq!(found.automatic_optional_facet_filters, [filter("brand", 5, false, false)]);
    let params = found.params.unwrap();
    assert_eq!(params.bytes_to_read(), 0);
    let params = params.read("");
    assert_eq!((params.filter.len(), params.hits_per_page), (2, Some(3)));
    assert_eq!(params.rendering_content.as_deref(), Some(&json!({"redirect": {"url": "u"}})));
    let found = consequence(
        json!({"userData": {"banner": 1}, "redirect": {"indexName": "i"}, "hide": [{"objectID": 5}],
        "promote": [{"objectID": "a", "position": 2}]}),
    );
    assert_eq!((found.user_data, found.redirect.as_deref()), (Some(json!({"banner": 1})), Some("i")));
    assert_eq!((found.hide, found.promote[0].position), (vec!["5".to_owned()], 2));
    assert_eq!(found.params, None);
    assert!(size_of::<crate::Rule>() <= 512, "10,000 rules stay small: {}", size_of::<crate::Rule>());
}

#[test]
fn c19_wrong_rules_name_the_member() {
    let acts = json!({"userData": 1});
    let when = |condition: Value| json!({"conditions": [condition], "consequence": acts});
    let then = |consequence: Value| json!({"consequence": consequence});
    let with = |params: Value| json!({"consequence": {"params": params}});
    let ids = |count: usize| Value::from(vec![json!({"objectID": "x", "position": 0}); count]);
    let parameter =
        |name: &str, expected: &str| format!("Invalid value for \"{name}\" parameter, expected {expected}");
    let plain = |text: &str| text.to_owned();
    let anchorings = "one of \"is\", \"startsWith\", \"endsWith\", \"contains\"";
    let placeholders = "placeholders of the form {facet:attribute}";
    let equal = "filters of the form facet_name:facet_value joined with AND";
    let long = "x".repeat(17 << 10);
    for (document, expected) in [
        (json!({}), plain("consequence is required")),
        (json!({"consequence": 1}), parameter("consequence", "object")),
        (
            then(json!({})),
            plain(
                "consequence has no effect: one of params, promote, hide, filterPromotes, userData, redirect is required",
            ),
        ),
        (then(json!({"x": 1})), plain("Invalid object attributes: consequence.x near line:1 column:4")),
        (json!({"rule": 1}), plain("Invalid object attributes: rule near line:1 column:22")),
        (json!({"conditions": 1, "consequence": acts}), parameter("conditions", "array")),
        (
            json!({"conditions": vec![1; RULE_CONDITIONS_MAX + 1], "consequence": acts}),
            parameter("conditions", "array of at most 25 entries"),
        ),
        (
            json!({"conditions": [], "condition": {}, "consequence": acts}),
            plain("conditions and condition cannot both be given"),
        ),
        (
            when(json!({})),
            plain("conditions[0] has no effect: one of pattern, context and filters is required"),
        ),
        (when(json!({"pattern": "a"})), plain("conditions[0].anchoring is required")),
        (when(json!({"pattern": "a", "anchoring": "x"})), parameter("conditions[0].anchoring", anchorings)),
        (
            when(json!({"pattern": "", "anchoring": "contains"})),
            parameter("conditions[0].pattern", "non-empty string unless the anchoring is \"is\""),
        ),
        (
            when(json!({"pattern": "{facet:}", "anchoring": "is"})),
            parameter("conditions[0].pattern", placeholders),
        ),
        (
            when(json!({"pattern": "{facet:a", "anchoring": "is"})),
            parameter("conditions[0].pattern", placeholders),
        ),
        (
            when(json!({"context": "a b"})),
            parameter("conditions[0].context", "string of letters, digits, \"_\" and \"-\""),
        ),
        (when(json!({"filters": "a:b OR a:c"})), parameter("conditions[0].filters", equal)),
        (when(json!({"filters": "a > 3"})), parameter("conditions[0].filters", equal)),
        (when(json!({"filters": "NOT a:b"})), parameter("conditions[0].filters", equal)),
        (
            when(json!({"alternatives": "maybe", "context": "a"})),
            parameter("conditions[0].alternatives", "boolean"),
        ),
        (
            with(json!({"hitsPerPage": 5_000})),
            format!("{} in consequence.params", parameter("hitsPerPage", "integer between 0 and 1000")),
        ),
        (with(json!({"hitPerPage": 5})), plain("Unknown parameter: hitPerPage in consequence.params")),
        (
            with(json!({"searchableAttributes": ["a"]})),
            plain("Unknown parameter: searchableAttributes in consequence.params"),
        ),
        (
            with(json!({"filters": long})),
            plain("consequence.params.filters is too big size=17410/16384 bytes"),
        ),
        (with(json!({"query": 1})), parameter("consequence.params.query", "string or object with edits")),
        (with(json!({"query": {}})), plain("consequence.params.query.edits is required")),
        (
            with(json!({"query": {"edits": [{"type": "add", "delete": "a"}]}})),
            parameter("consequence.params.query.edits[0].type", "one of \"remove\", \"replace\""),
        ),
        (
            with(json!({"query": {"edits": [{"type": "replace", "delete": "a"}]}})),
            plain("consequence.params.query.edits[0].insert is required"),
        ),
        (
            with(json!({"query": {"remove": ["{facet:a} b"]}})),
            parameter("consequence.params.query.remove[0]", "word, phrase or one {facet:attribute}"),
        ),
        (
            with(json!({"automaticFacetFilters": ["brand"]})),
            parameter(
                "consequence.params.automaticFacetFilters",
                "facet with a placeholder in a pattern, as in {facet:brand}",
            ),
        ),
        (
            with(json!({"automaticFacetFilters": ["a<score=65536>"]})),
            parameter("consequence.params.automaticFacetFilters[0]", "score between 0 and 65535"),
        ),
        (
            then(json!({"promote": ids(301)})),
            parameter("consequence.promote", "array of at most 300 entries"),
        ),
        (
            then(json!({"promote": [{"objectIDs": vec!["x"; 101], "position": 0}]})),
            parameter("consequence.promote[0].objectIDs", "array of at most 100 entries"),
        ),
        (
            then(json!({"promote": vec![json!({"objectIDs": vec!["x"; 100], "position": 0}); 4]})),
            parameter("consequence.promote", "at most 300 records"),
        ),
        (then(json!({"promote": [{"objectID": "x"}]})), plain("consequence.promote[0].position is required")),
        (
            then(json!({"promote": [{"position": 1}]})),
            plain("consequence.promote[0] needs either objectID or objectIDs"),
        ),
        (
            then(json!({"promote": [{"objectID": "", "position": 1}]})),
            parameter("consequence.promote[0].objectID", "objectID of 1 to 512 bytes"),
        ),
        (
            then(json!({"promote": [{"objectID": "x", "position": -1}]})),
            parameter("consequence.promote[0].position", "integer between 0 and 4294967295"),
        ),
        (
            then(json!({"hide": vec![json!({"objectID": "x"}); 51]})),
            parameter("consequence.hide", "array of at most 50 entries"),
        ),
        (
            then(json!({"userData": "x".repeat(1_023)})),
            plain("consequence.userData is too big size=1025/1024 bytes"),
        ),
        (then(json!({"redirect": {}})), plain("consequence.redirect.indexName is required")),
        (
            json!({"consequence": acts, "validity": [{"from": 2, "until": 1}]}),
            parameter("validity[0].until", "time that is not before from"),
        ),
        (
            json!({"consequence": acts, "validity": [{"from": "x", "until": 1}]}),
            parameter("validity[0].from", "Unix time in seconds"),
        ),
        (json!({"consequence": acts, "enabled": "no"}), parameter("enabled", "boolean")),
    ] {
        let error = Rule::parse_body(document.to_string().as_bytes(), "r").expect_err(&expected);
        assert_eq!(error.message, expected, "{document}");
        assert_eq!(error.kind, crate::ErrorKind::Invalid);
    }
    let huge = json!({"params": {"filters": "x".repeat(12_000), "facetFilters": vec!["a:b"; 2_000],
        "renderingContent": {"a": vec!["x".repeat(500); 30]}, "optionalFilters": vec!["a:bcd"; 1_500],
        "numericFilters": vec!["abcd=1"; 1_500], "tagFilters": vec!["abcdef"; 1_500]}, "userData": 1, "hide": [],
        "promote": vec![json!({"objectIDs": vec!["x".repeat(100); 80], "position": 1}); 3]});
    let error =
        Rule::parse_body(json!({"consequence": huge}).to_string().as_bytes(), "r").unwrap_err().message;
    assert!(error.starts_with("consequence is too big size=") && error.ends_with("/102400 bytes"), "{error}");
    let error =
        Rule::parse_batch(br#"[{"objectID":"a","consequence":{"hide":[]}},{"objectID":"b"}]"#).unwrap_err();
    assert_eq!(error.message, "consequence is required in the rule at the position 1 objectID=b");
    assert_eq!((error.position, error.object_id.as_deref()), (Some(1), Some("b")));
}
