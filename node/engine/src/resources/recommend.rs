//! Which rules of recommendations hold the words that someone looks for among them, and what is shown of them (C§17.4)?

use super::{Words, page, parsed};
use crate::analysis::Schema;
use quorate_model::resource::ResourceQuery;
use quorate_model::results::ResourceHits;
use quorate_model::rule::RecommendCondition;
use quorate_model::{RecommendRule, Result};
use serde_json::{Map, Value, json};

/// The rules that match, of one page; see [`super::find_synonyms`].
pub fn find_recommend_rules<'a>(
    rules: impl Iterator<Item = &'a RecommendRule>,
    schema: &Schema,
    asked: &ResourceQuery,
) -> Result<ResourceHits> {
    let words = Words::new(schema, &asked.query);
    let is_selected = |rule: &RecommendRule| {
        let has_context = |condition: &RecommendCondition| condition.context == asked.context;
        asked.enabled.is_none_or(|enabled| enabled == rule.enabled)
            && (asked.context.is_none() || rule.conditions.iter().any(has_context))
            && (asked.filter.is_empty() || asked.filter.passes(&filtered_by(rule)))
    };
    let selected = rules.filter(|rule| is_selected(rule)).filter(|rule| words.are_in(&texts(rule)));
    page(selected, asked, |rule| {
        let mut members = parsed(&rule.document);
        let mut shown = Map::new();
        for name in ["description", "condition", "conditions"] {
            if let Some(marked) = members.get(name).and_then(|value| words.shown(value)) {
                shown.insert(name.to_owned(), marked);
            }
        }
        let params = members.get("consequence").and_then(|consequence| consequence.get("params"));
        if let Some(params) = params.and_then(|params| words.shown(params)) {
            shown.insert("consequence".to_owned(), json!({ "params": params }));
        }
        members.insert("_highlightResult".to_owned(), Value::Object(shown));
        members
    })
}

/// The rule as filters see it: what it does not say of `enabled` holds.
fn filtered_by(rule: &RecommendRule) -> Value {
    let mut members = parsed(&rule.document);
    members.entry("enabled").or_insert(Value::Bool(rule.enabled));
    Value::Object(members)
}

fn texts(rule: &RecommendRule) -> Vec<&str> {
    let mut texts = vec![rule.object_id.as_str()];
    texts.extend(rule.description.as_deref());
    for condition in &rule.conditions {
        texts.extend(condition.context.as_deref());
        texts.extend(condition.filters.as_deref());
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::filter::parse_filters;

    #[test]
    fn s4_14_rules_are_found_by_words_and_members() {
        let rule = |document: Value| RecommendRule::from_document(document.to_string().as_bytes()).unwrap();
        let hide = json!({"params": {"filters": "price < 3"}});
        let all = [
            rule(json!({"objectID": "r3", "conditions": [{"filters": "brand:Zorro"}, {"context": "mobile"}],
                "consequence": hide, "enabled": false, "_metadata": {"lastUpdate": "now"}})),
            rule(json!({"objectID": "r2", "condition": {"context": "mobile"}, "consequence": hide})),
            rule(json!({"objectID": "r1", "description": "Spring sale", "consequence": hide})),
        ];
        let find = |query: &str, change: fn(&mut ResourceQuery)| {
            let mut asked =
                ResourceQuery { query: query.into(), hits_per_page: 10, ..ResourceQuery::default() };
            change(&mut asked);
            let hits = find_recommend_rules(all.iter(), &Schema::default(), &asked).unwrap().hits;
            hits.iter().map(|hit| serde_json::from_slice(hit).unwrap()).collect::<Vec<Value>>()
        };
        let ids = |query: &str, change: fn(&mut ResourceQuery)| {
            let hits = find(query, change);
            hits.iter().map(|hit| hit["objectID"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        for (query, expected) in [
            ("", "r3 r2 r1"),
            ("zor", "r3"),
            ("mobile", "r3 r2"),
            ("sale", "r1"),
            ("r2", "r2"),
            ("price", ""),
        ] {
            assert_eq!(ids(query, |_| ()), expected, "{query}");
        }
        assert_eq!(ids("", |asked| asked.context = Some("mobile".into())), "r3 r2");
        assert_eq!(ids("", |asked| asked.context = Some("Mobile".into())), "");
        assert_eq!(ids("", |asked| asked.enabled = Some(false)), "r3");
        assert_eq!(ids("", |asked| asked.enabled = Some(true)), "r2 r1");
        let some = |asked: &mut ResourceQuery| {
            asked.filter = parse_filters("objectID:r1 OR enabled:false").unwrap();
        };
        assert_eq!(ids("", some), "r3 r1");
        assert_eq!(ids("", |asked| asked.filter = parse_filters("enabled:true").unwrap()), "r2 r1");
        assert_eq!(ids("mobile", some), "r3");

        let hit = &find("zorro", |_| ())[0];
        let leaf = |value: &str| json!({"value": value, "matchLevel": "none", "matchedWords": []});
        assert_eq!(
            hit["_highlightResult"]["conditions"][0]["filters"],
            json!({"value": "brand:<em>Zorro</em>", "matchLevel": "full", "matchedWords": ["zorro"], "fullyHighlighted": false})
        );
        assert_eq!(hit["_highlightResult"]["conditions"][1], json!({"context": leaf("mobile")}));
        assert_eq!(hit["_highlightResult"]["consequence"]["params"], json!({"filters": leaf("price < 3")}));
        assert_eq!(hit["_metadata"]["lastUpdate"], "now");
    }
}
