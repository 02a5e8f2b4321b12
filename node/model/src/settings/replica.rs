//! Which settings does a replica take over from its primary, and which may a virtual replica have (C§3.2, C§4.9)?

use super::{Settings, table};
use serde_json::{Map, Value};

/// What a new replica does not copy from its primary: what orders hits, and what belongs to one index alone.
const NOT_INHERITED: [&str; 6] =
    ["ranking", "customRanking", "relevancyStrictness", "replicas", "enableReRanking", "mode"];

/// What shapes an index, and therefore follows the primary on a virtual replica, which has no records of its own.
const FORBIDDEN_IN_VIRTUAL: [&str; 16] = [
    "allowCompressionOfIntegerArray",
    "attributeForDistinct",
    "attributesForFaceting",
    "attributesToTransliterate",
    "camelCaseAttributes",
    "customNormalization",
    "decompoundedAttributes",
    "disablePrefixOnAttributes",
    "disableTypoToleranceOnAttributes",
    "indexLanguages",
    "keepDiacriticsOnCharacters",
    "numericAttributesForFiltering",
    "ranking",
    "replicas",
    "searchableAttributes",
    "separatorsToIndex",
];

/// The current name of a setting.
fn current(name: &str) -> &str {
    table::lookup(name).map_or(name, |row| row.name)
}

/// The settings in `changes` that a virtual replica refuses, as they were named, in order of name.
pub fn forbidden_in_virtual(changes: &Map<String, Value>) -> Vec<&str> {
    changes.keys().map(String::as_str).filter(|name| FORBIDDEN_IN_VIRTUAL.contains(&current(name))).collect()
}

/// The settings in `changes` that a virtual replica takes.
pub fn for_virtual(changes: &Map<String, Value>) -> Map<String, Value> {
    let kept = changes.iter().filter(|(name, _)| !FORBIDDEN_IN_VIRTUAL.contains(&current(name)));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl Settings {
    /// The document of a new replica of an index with these settings.
    pub fn inherited(&self) -> Map<String, Value> {
        let kept = self.document.iter().filter(|(name, _)| !NOT_INHERITED.contains(&name.as_str()));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
    /// The document that holds on a virtual replica with the document `own` of an index with these settings: index-shaping
    /// settings are the primary's, the others the replica's. The primary's own order of hits stays in force beneath.
    pub fn on_virtual(&self, own: &Map<String, Value>) -> Map<String, Value> {
        let shaping = self.document.iter().filter(|(name, _)| FORBIDDEN_IN_VIRTUAL.contains(&name.as_str()));
        let shaping = shaping.filter(|(name, _)| *name != "replicas");
        let mut document = for_virtual(own);
        document.extend(shaping.map(|(name, value)| (name.clone(), value.clone())));
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).expect("an object")
    }

    #[test]
    fn every_name_is_one_of_a_setting() {
        for name in NOT_INHERITED.iter().chain(&FORBIDDEN_IN_VIRTUAL) {
            let row = table::lookup(name).unwrap_or_else(|| panic!("{name} is no setting"));
            assert_eq!(row.name, *name);
        }
    }

    #[test]
    fn a_replica_takes_over_what_does_not_order_hits() {
        let primary = Settings::from_document(&map(json!({
            "searchableAttributes": ["a"], "hitsPerPage": 5, "ranking": ["typo"], "customRanking": ["desc(n)"],
            "relevancyStrictness": 3, "replicas": ["r"]
        })));
        let inherited = primary.expect("valid").inherited();
        assert_eq!(Value::Object(inherited), json!({"searchableAttributes": ["a"], "hitsPerPage": 5}));
    }

    #[test]
    fn a_virtual_replica_follows_its_primary_in_what_shapes_the_index() {
        let changes = map(json!({
            "customRanking": ["desc(n)"], "slaves": ["x"], "attributesToIndex": ["a"], "hitsPerPage": 5,
            "disableTypoToleranceOnWords": ["w"]
        }));
        assert_eq!(forbidden_in_virtual(&changes), ["attributesToIndex", "slaves"]);
        let taken = for_virtual(&changes);
        let expected =
            json!({"customRanking": ["desc(n)"], "hitsPerPage": 5, "disableTypoToleranceOnWords": ["w"]});
        assert_eq!(Value::Object(taken), expected);
        let primary = Settings::from_document(&map(
            json!({"searchableAttributes": ["b"], "customRanking": ["asc(m)"], "hitsPerPage": 9}),
        ));
        let shown = primary.expect("valid").on_virtual(&map(json!({"hitsPerPage": 5})));
        assert_eq!(Value::Object(shown), json!({"searchableAttributes": ["b"], "hitsPerPage": 5}));
    }
}
