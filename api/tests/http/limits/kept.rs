//! What limits has that which an index keeps?

use super::rows::{FULL, by, here, letters, repeated};
use super::*;
use quorate_model::limits::*;

/// Every row of it, in the order of the contract.
pub fn all() -> Vec<Limit> {
    [synonyms(), rules(), indices()].into_iter().flatten().collect()
}

fn synonym(body: Value) -> Ask {
    let mut all = json!({"type": "synonym"});
    all.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    ask(Method::PUT, "/1/indexes/i/synonyms/s", all)
}
/// A rule with these members.
fn rule(body: Value) -> Ask {
    let mut all = json!({"consequence": {"filterPromotes": true}});
    all.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    ask(Method::PUT, "/1/indexes/i/rules/r", all)
}
fn consequence(body: Value) -> Ask {
    rule(json!({ "consequence": body }))
}
pub(super) fn at_most(entries: usize) -> String {
    format!("array of at most {entries} entries")
}

fn synonyms() -> Vec<Limit> {
    let words = repeated(SYNONYM_ENTRIES_MAX, |n| json!(n.to_string()));
    let long = letters(QUERY_BYTES_MAX).map(|word| synonym(json!({"synonyms": ["a", word]})));
    let [at, past] = long;
    vec![
        by(
            "synonyms of an index",
            count(SYNONYMS_MAX),
            "400",
            &[(FULL, "an_index_has_as_many_synonyms_and_rules_as_it_may")],
        ),
        here(
            "list of a synonym; an entry of it",
            format!("{SYNONYM_ENTRIES_MAX} entries; {}", bytes(QUERY_BYTES_MAX)),
            "400",
            vec![
                member(synonym, "synonyms", words, &at_most(SYNONYM_ENTRIES_MAX)),
                tried(at, past, 400, parameter("synonyms[1]", "string of at most 512 bytes")),
            ],
        ),
    ]
}

/// A consequence of so many bytes that is too large in no other way.
fn consequence_of(bytes: usize) -> Ask {
    let ids = |count: usize| (0..count).map(|n| format!("{n:0500}")).collect::<Vec<_>>();
    let group = |last: usize| {
        let mut promote = vec![json!({"objectIDs": ids(100), "position": 0})];
        promote.push(json!({"objectIDs": ids(100), "position": 1}));
        promote.push(json!({"objectID": "x".repeat(last), "position": 2}));
        json!({ "promote": promote })
    };
    let mut made = group(1);
    let missing = bytes - made.to_string().len();
    made["hide"] = json!([]);
    let missing = missing - r#","hide":[]"#.len();
    let mut hide = vec!["h".repeat(400); missing / 420];
    let taken: usize = hide.iter().map(|id| json!({ "objectID": id }).to_string().len() + 1).sum();
    if let Some(last) = hide.last_mut() {
        *last = "h".repeat(400 + missing + 1 - taken);
    }
    made["hide"] = hide.into_iter().map(|id| json!({ "objectID": id })).collect();
    assert_eq!(made.to_string().len(), bytes);
    consequence(made)
}

fn rules() -> Vec<Limit> {
    let conditions = repeated(RULE_CONDITIONS_MAX, |n| json!({"context": n.to_string()}));
    let promoted = repeated(RULE_PROMOTED_MAX, |n| json!({"objectID": n.to_string(), "position": n}));
    let groups = [100, 101].map(|last| {
        let ids = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        let group = |count| json!({"objectIDs": ids(count), "position": 0});
        json!([group(100), group(100), group(last - 1), {"objectID": "x", "position": 1}])
    });
    let ids = repeated(RULE_PROMOTED_GROUP_MAX, |n| json!(n.to_string()));
    let group = |ids: Value| consequence(json!({"promote": [{"objectIDs": ids, "position": 0}]}));
    let [group_at, group_past] = ids.map(group);
    let hidden = repeated(RULE_HIDDEN_MAX, |n| json!({"objectID": n.to_string()}));
    let periods = repeated(RULE_LIST_ENTRIES_MAX, |n| json!({"from": n, "until": n}));
    let tags = repeated(RULE_LIST_ENTRIES_MAX, |n| json!(n.to_string()));
    let in_consequence = |name: &str, values: [Value; 2], expected: &str| {
        let [at, past] = values.map(|value| consequence(json!({ name: value })));
        tried(at, past, 400, parameter(&format!("consequence.{name}"), expected))
    };
    // quotes count
    let user_data = |bytes: usize| consequence(json!({"userData": "u".repeat(bytes - 2)}));
    let content = |bytes: usize| {
        let text = "c".repeat(bytes - r#"{"a":""}"#.len());
        consequence(json!({"params": {"renderingContent": {"a": text}}}))
    };
    let too_big = |what: &str, most: usize| format!("{what} is too big size={}/{most} bytes", most + 1);
    let sized = |call: &dyn Fn(usize) -> Ask, most: usize, what: &str| {
        vec![tried(call(most), call(most + 1), 400, too_big(what, most))]
    };
    let description =
        member(rule, "description", letters(RULE_PARAMETER_BYTES_MAX), "string shorter than 16384 bytes");
    let parameter_bytes = sized(&content, RULE_PARAMETER_BYTES_MAX, "consequence.params.renderingContent");
    vec![
        by(
            "rules of an index",
            count(RULES_MAX),
            "400",
            &[(FULL, "an_index_has_as_many_synonyms_and_rules_as_it_may")],
        ),
        here(
            "conditions of a rule",
            count(RULE_CONDITIONS_MAX),
            "400",
            vec![member(rule, "conditions", conditions, &at_most(RULE_CONDITIONS_MAX))],
        ),
        here(
            "records that a rule promotes; in a group",
            format!("{RULE_PROMOTED_MAX}; {RULE_PROMOTED_GROUP_MAX}"),
            "400",
            vec![
                in_consequence("promote", promoted, &at_most(RULE_PROMOTED_MAX)),
                in_consequence("promote", groups, "at most 300 records"),
                tried(
                    group_at,
                    group_past,
                    400,
                    parameter("consequence.promote[0].objectIDs", &at_most(100)),
                ),
            ],
        ),
        here(
            "records that a rule hides",
            count(RULE_HIDDEN_MAX),
            "400",
            vec![in_consequence("hide", hidden, &at_most(RULE_HIDDEN_MAX))],
        ),
        here(
            "any other list of a rule",
            format!("{RULE_LIST_ENTRIES_MAX} entries"),
            "400",
            vec![
                member(rule, "validity", periods, &at_most(RULE_LIST_ENTRIES_MAX)),
                member(rule, "tags", tags, &at_most(RULE_LIST_ENTRIES_MAX)),
            ],
        ),
        here(
            "consequence of a rule, minified",
            bytes(RULE_CONSEQUENCE_BYTES_MAX),
            "400",
            sized(&consequence_of, RULE_CONSEQUENCE_BYTES_MAX, "consequence"),
        ),
        here(
            "a parameter of a consequence, minified; description of a rule",
            bytes(RULE_PARAMETER_BYTES_MAX),
            "400",
            [parameter_bytes, vec![description]].into_iter().flatten().collect(),
        ),
        here(
            "userData of a rule, minified",
            bytes(RULE_USER_DATA_BYTES_MAX),
            "400",
            sized(&user_data, RULE_USER_DATA_BYTES_MAX, "consequence.userData"),
        ),
    ]
}

fn indices() -> Vec<Limit> {
    let of_bytes = |bytes: usize| {
        let empty = json!({"disableTypoToleranceOnWords": [""]}).to_string().len();
        settings(json!({"disableTypoToleranceOnWords": ["w".repeat(bytes - empty)]}))
    };
    let too_big = format!("Settings are too big size={}/{SETTINGS_BYTES_MAX} bytes", SETTINGS_BYTES_MAX + 1);
    let faceted = repeated(FACET_ATTRIBUTES_MAX, |n| json!(n.to_string()));
    let user_data = [0, 1].map(|more| json!("u".repeat(USER_DATA_BYTES_MAX - 2 + more)));
    let replacements = [NORMALIZATIONS_MAX, NORMALIZATIONS_MAX + 1].map(|count| {
        let all = ('a'..='z').take(count).map(|letter| (letter.to_string(), json!("x")));
        json!({"default": Value::Object(all.collect())})
    });
    vec![
        here(
            "a change of settings, minified; its lists have no limits but those below",
            bytes(SETTINGS_BYTES_MAX),
            "400",
            vec![tried(of_bytes(SETTINGS_BYTES_MAX), of_bytes(SETTINGS_BYTES_MAX + 1), 400, too_big)],
        ),
        here(
            "list of settings that a search may give as well (`attributesToRetrieve`, `optionalWords` ...)",
            format!("{} entries", count(LIST_ENTRIES_MAX)),
            "400",
            ["attributesToRetrieve", "attributesToHighlight", "attributesToSnippet", "optionalWords"]
                .map(|name| {
                    member(settings, name, repeated(LIST_ENTRIES_MAX, |_| json!("a")), "at most 1000 strings")
                })
                .into(),
        ),
        here(
            "attributes of `attributesForFaceting`",
            count(FACET_ATTRIBUTES_MAX),
            "400",
            vec![member(settings, "attributesForFaceting", faceted, "at most 10000 attributes")],
        ),
        here(
            "`userData` of settings, minified",
            bytes(USER_DATA_BYTES_MAX),
            "400",
            vec![member(settings, "userData", user_data, "JSON of at most 32768 bytes")],
        ),
        here(
            "`customNormalization`",
            format!("{NORMALIZATIONS_MAX} characters"),
            "400",
            vec![member(settings, "customNormalization", replacements, "object of at most 10 replacements")],
        ),
        by(
            "replicas of an index; virtual ones among them",
            format!("{REPLICAS_MAX}; {VIRTUAL_REPLICAS_MAX}"),
            "400",
            &[(FULL, "an_index_has_as_many_replicas_as_it_may")],
        ),
        by(
            "indices of an installation; of a group of placement (parts and replicas count)",
            format!("{}; {}", count(INDICES_MAX), count(INDICES_OF_GROUP_MAX)),
            "400",
            &[(
                "cluster/src/meta/index_limits.rs",
                "what_makes_an_index_needs_room_in_its_group_and_in_the_installation",
            )],
        ),
    ]
}
