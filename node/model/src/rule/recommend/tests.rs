//! Documents that are rules of recommendations, and those that are not.

use super::*;
use crate::filter::parse_filters;

#[track_caller]
fn read(document: &Value) -> RecommendRule {
    let body = json!([document]).to_string();
    let read = RecommendRule::parse_batch(body.as_bytes()).unwrap_or_else(|e| panic!("{document}: {e}"));
    read.into_iter().next().unwrap()
}

#[test]
fn s2_14_a_rule_comes_back_as_it_was_given() {
    let document = json!({"objectID": "r", "condition": {"context": "mobile", "filters": "brand:a AND price > 3"},
        "consequence": {
            "params": {
                "filters": "stock > 0", "optionalFilters": ["brand:a<score=3>"],
                "automaticFacetFilters": [{"facet": "brand"}, {"facet": "color", "negative": true, "disjunctive": true}],
                "automaticOptionalFacetFilters": ["size<score=5>", {"facet": "brand", "score": 2}]},
            "promote": [{"objectID": "p", "position": 0}, {"objectIDs": ["q", 7], "position": 2}],
            "hide": [{"objectID": "h"}], "userData": {"banner": 1}},
        "description": "d", "enabled": false, "validity": [{"from": 10, "until": 20}, {"from": 30, "until": 30}]});
    let rule = read(&document);
    let written: Value = serde_json::from_slice(&rule.given()).unwrap();
    assert_eq!(written, document);
    let [condition] = &rule.conditions[..] else { panic!("{rule:?}") };
    assert_eq!(condition.context.as_deref(), Some("mobile"));
    assert_eq!(condition.filter, parse_filters("brand:a AND price > 3").unwrap());
    assert_eq!(condition.filters.as_deref(), Some("brand:a AND price > 3"));
    let done = &rule.consequence;
    assert_eq!((done.filter.len(), done.optional_filter.all[0].any[0].score), (1, 3));
    let filter = |facet: &str, score, disjunctive, negative| AutomaticFilter {
        facet: facet.into(),
        score,
        disjunctive,
        negative,
    };
    assert_eq!(
        done.automatic_facet_filters,
        [filter("brand", 1, false, false), filter("color", 1, true, true)]
    );
    assert_eq!(
        done.automatic_optional_facet_filters,
        [filter("size", 5, false, false), filter("brand", 2, false, false)]
    );
    assert_eq!(done.promote[1], Promotion { object_ids: vec!["q".into(), "7".into()], position: 2 });
    assert_eq!((&done.hide[..], &done.user_data), (&["h".to_owned()][..], &Some(json!({"banner": 1}))));

    // when it was saved is kept beside it, whatever a caller says
    let stamped = RecommendRule::stamped(rule.document.as_bytes(), "2024-01-01T00:00:00.000Z");
    let kept = RecommendRule::from_document(&stamped).unwrap();
    assert_eq!(kept.document.as_bytes(), stamped);
    assert!(kept.document.contains(r#""_metadata":{"lastUpdate":"2024-01-01T00:00:00.000Z"}"#));
    assert_eq!(kept.given(), rule.given());
    assert_eq!(RecommendRule { document: rule.document.clone(), ..kept }, rule);
    let sent_back = read(&json!({"objectID": "r", "consequence": {"hide": [{"objectID": "x"}]},
        "_metadata": {"lastUpdate": "x"}, "_highlightResult": {}}));
    assert_eq!(&*sent_back.document, r#"{"consequence":{"hide":[{"objectID":"x"}]},"objectID":"r"}"#);
}

#[test]
fn s2_14_a_rule_acts_when_it_is_enabled_and_valid() {
    let rule = |more: Value| {
        let mut document = json!({"objectID": "r", "consequence": {"userData": {}}});
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read(&document)
    };
    assert!(
        rule(json!({})).is_in_force(0) && rule(json!({"enabled": true, "validity": null})).is_in_force(9)
    );
    assert!(!rule(json!({"enabled": false})).is_in_force(0));
    let periods = rule(json!({"validity": [{"from": 10, "until": 20}, {"from": 30, "until": 31}]}));
    for (now, acts) in [(9, false), (10, true), (20, true), (21, false), (30, true), (31, true), (32, false)]
    {
        assert_eq!(periods.is_in_force(now), acts, "{now}");
    }
    for always in [json!({"condition": {}}), json!({"conditions": []}), json!({"conditions": [{}]})] {
        let conditions = rule(always).conditions;
        assert!(conditions.iter().all(|condition| *condition == RecommendCondition::default()));
    }
}

#[test]
fn c19_wrong_rules_name_the_member() {
    let acts = json!({"userData": {}});
    let when = |condition: Value| json!({"objectID": "r", "conditions": [condition], "consequence": acts});
    let then = |consequence: Value| json!({"objectID": "r", "consequence": consequence});
    let with = |params: Value| then(json!({"params": params}));
    let promoted = |count: usize| vec![json!({"objectID": "x", "position": 0}); count];
    let parameter =
        |name: &str, expected: &str| format!("Invalid value for \"{name}\" parameter, expected {expected}");
    let plain = |text: &str| text.to_owned();
    for (document, expected) in [
        (json!({"consequence": acts}), plain("objectID is required")),
        (json!({"objectID": "r"}), plain("consequence is required")),
        (
            then(json!({})),
            plain("consequence has no effect: one of params, promote, hide, userData is required"),
        ),
        (
            then(json!({"filterPromotes": true})),
            plain("Invalid object attributes: consequence.filterPromotes near line:1 column:17"),
        ),
        (then(json!([])), parameter("consequence", "object")),
        (
            when(json!({"pattern": "a", "anchoring": "is"})),
            plain("Invalid object attributes: conditions[0].anchoring near line:1 column:12"),
        ),
        (
            json!({"objectID": "r", "conditions": vec![json!({}); 11], "consequence": acts}),
            parameter("conditions", "array of at most 10 entries"),
        ),
        (
            json!({"objectID": "r", "conditions": [], "condition": {}, "consequence": acts}),
            plain("conditions and condition cannot both be given"),
        ),
        (
            when(json!({"context": "a b"})),
            parameter("conditions[0].context", "string of letters, digits, \"_\" and \"-\""),
        ),
        (when(json!({"filters": 3})), parameter("conditions[0].filters", "string")),
        (
            when(json!({"filters": "a > b"})),
            plain(
                "Invalid value for \"conditions[0].filters\" parameter: filters: Unexpected token string(b) expected numeric at col 4",
            ),
        ),
        (with(json!({"hitsPerPage": 3})), {
            plain("Invalid object attributes: consequence.params.hitsPerPage near line:1 column:14")
        }),
        (
            with(json!({"automaticFacetFilters": [{"score": 1}]})),
            plain("consequence.params.automaticFacetFilters[0].facet is required"),
        ),
        (
            with(json!({"automaticOptionalFacetFilters": [{"facet": "a", "score": 65_536}]})),
            parameter(
                "consequence.params.automaticOptionalFacetFilters[0].score",
                "score between 0 and 65535",
            ),
        ),
        (
            then(json!({"promote": promoted(31)})),
            parameter("consequence.promote", "array of at most 30 entries"),
        ),
        (
            then(json!({"promote": vec![json!({"objectIDs": ["a", "b"], "position": 0}); 16]})),
            parameter("consequence.promote", "at most 30 records"),
        ),
        (then(json!({"promote": [{"objectID": "a"}]})), plain("consequence.promote[0].position is required")),
        (
            then(json!({"hide": vec![json!({"objectID": "x"}); 51]})),
            parameter("consequence.hide", "array of at most 50 entries"),
        ),
        (then(json!({"userData": 1})), parameter("consequence.userData", "object")),
        (
            json!({"objectID": "r", "consequence": acts, "validity": []}),
            parameter("validity", "non-empty array"),
        ),
        (
            json!({"objectID": "r", "consequence": acts, "validity": [{"from": 1}]}),
            plain("validity[0].until is required"),
        ),
        (
            json!({"objectID": "r", "consequence": acts, "validity": [{"from": 2, "until": 1}]}),
            parameter("validity[0].until", "time that is not before from"),
        ),
        (json!({"objectID": "r", "consequence": acts, "enabled": "no"}), parameter("enabled", "boolean")),
        (
            json!({"objectID": "r", "consequence": acts, "tags": []}),
            plain("Invalid object attributes: tags near line:1 column:52"),
        ),
    ] {
        let body = json!([document]).to_string();
        let error = RecommendRule::parse_batch(body.as_bytes()).expect_err(&expected);
        let (message, place) = error.message.split_once(" in the rule at the position 0").unwrap();
        assert_eq!(message, expected, "{document}");
        assert!(place.is_empty() || place == " objectID=r", "{place}");
        assert_eq!(error.kind, crate::ErrorKind::Invalid);
    }
    let most = json!({"promote": promoted(30), "hide": vec![json!({"objectID": "x"}); 50]});
    let document = json!({"objectID": "r", "conditions": vec![json!({}); 10], "consequence": most});
    assert_eq!(read(&document).consequence.hide.len(), 50);
}
