//! What limits do query suggestions have (C§16.4)?

use super::rows::{by, here};
use super::*;
use quorate_model::limits::{FACET_VALUES_MAX, SUGGESTION_CONFIG_BYTES_MAX, SUGGESTION_CONFIGS_MAX};

pub fn all() -> Vec<Limit> {
    let set = |source: Value, exclude: Value| {
        let config = json!({"sourceIndices": [source], "exclude": exclude});
        ask(Method::PUT, "/1/configs/limit_s", config)
    };
    // as it is kept, with all defaults
    let empty = json!({"indexName": "limit_s", "sourceIndices": [{"indexName": "i", "replicas": false, "analyticsTags": [],
        "facets": [], "minHits": 5, "generate": [], "external": []}], "languages": false, "exclude": [""],
        "enablePersonalization": false, "allowSpecialCharacters": false});
    let room = SUGGESTION_CONFIG_BYTES_MAX - empty.to_string().len();
    // so many bytes more than one entry without a letter takes
    let long = |bytes: usize| {
        let (mut left, mut entries) = (bytes, vec![]);
        while left > 0 {
            let own = if left > 510 { 500 } else { left };
            entries.push("x".repeat(own));
            left = (left - own).saturating_sub(r#"",""#.len());
        }
        set(json!({"indexName": "i"}), json!(entries))
    };
    let message = format!(
        "sourceIndices and exclude are too long: a configuration may take {SUGGESTION_CONFIG_BYTES_MAX} bytes"
    );
    let facet = |amount: u64| {
        let facet = json!({"attribute": "color", "amount": amount});
        set(json!({"indexName": "i", "facets": [facet]}), json!([]))
    };
    vec![
        by(
            "configurations of query suggestions",
            count(SUGGESTION_CONFIGS_MAX),
            "400",
            &[("api/tests/http/suggestions.rs", "there_are_as_many_configurations_as_there_may_be")],
        ),
        here(
            "a configuration of query suggestions, minified, with all members",
            bytes(SUGGESTION_CONFIG_BYTES_MAX),
            "400",
            vec![tried(long(room), long(room + 1), 400, message)],
        ),
        here(
            "`amount` of a facet of suggestions",
            count(FACET_VALUES_MAX),
            "400",
            vec![tried(
                facet(FACET_VALUES_MAX),
                facet(FACET_VALUES_MAX + 1),
                400,
                parameter("amount", &format!("integer between 1 and {FACET_VALUES_MAX}")),
            )],
        ),
    ]
}
