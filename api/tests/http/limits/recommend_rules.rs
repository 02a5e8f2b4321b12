//! What limits have rules of recommendations?

use super::kept::at_most;
use super::rows::{FULL, by, here, repeated};
use super::*;
use quorate_model::limits::*;

/// A rule with these members.
fn rule(body: Value) -> Ask {
    let mut all = json!({"objectID": "r", "consequence": {"userData": {}}});
    all.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    ask(Method::POST, "/1/indexes/i/trending-items/recommend/rules/batch", json!([all]))
}
fn in_consequence(name: &str, values: [Value; 2], expected: &str) -> Try {
    let [at, past] = values.map(|value| rule(json!({"consequence": { name: value }})));
    tried(at, past, 400, parameter(&format!("consequence.{name}"), expected))
}

/// Every row of it, in the order of the contract.
pub fn all() -> Vec<Limit> {
    let conditions = repeated(RECOMMEND_RULE_CONDITIONS_MAX, |n| json!({"context": n.to_string()}));
    let promoted =
        repeated(RECOMMEND_RULE_PROMOTED_MAX, |n| json!({"objectID": n.to_string(), "position": n}));
    let grouped = [29, 30].map(|count| {
        let ids: Vec<String> = (0..count).map(|n| n.to_string()).collect();
        json!([{"objectIDs": ids, "position": 0}, {"objectID": "x", "position": 1}])
    });
    let hidden = repeated(RECOMMEND_RULE_HIDDEN_MAX, |n| json!({"objectID": n.to_string()}));
    vec![
        by(
            "rules of a model of recommendations of an index",
            count(RECOMMEND_RULES_MAX),
            "400",
            &[(FULL, "a_model_has_as_many_rules_as_it_may")],
        ),
        here(
            "conditions of a rule of recommendations",
            count(RECOMMEND_RULE_CONDITIONS_MAX),
            "400",
            vec![member(rule, "conditions", conditions, &at_most(RECOMMEND_RULE_CONDITIONS_MAX))],
        ),
        here(
            "records that a rule of recommendations promotes",
            count(RECOMMEND_RULE_PROMOTED_MAX),
            "400",
            vec![
                in_consequence("promote", promoted, &at_most(RECOMMEND_RULE_PROMOTED_MAX)),
                in_consequence("promote", grouped, "at most 30 records"),
            ],
        ),
        here(
            "records that a rule of recommendations hides",
            count(RECOMMEND_RULE_HIDDEN_MAX),
            "400",
            vec![in_consequence("hide", hidden, &at_most(RECOMMEND_RULE_HIDDEN_MAX))],
        ),
    ]
}
