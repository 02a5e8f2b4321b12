//! Which settings does a replica take over from its primary, and which may a virtual replica have (C§3.2, C§4.9)?

use super::{Settings, table};
use serde_json::{Map, Value};

/// Whether a virtual replica has the value that its primary has.
fn is_of_primary(name: &str) -> bool {
    table::lookup(name).is_some_and(|row| row.of_primary)
}

/// The settings in `changes` that a virtual replica refuses, as they were named, in order of name.
pub fn forbidden_in_virtual(changes: &Map<String, Value>) -> Vec<&str> {
    changes.keys().map(String::as_str).filter(|name| is_of_primary(name)).collect()
}

/// The settings in `changes` that a virtual replica takes.
pub fn for_virtual(changes: &Map<String, Value>) -> Map<String, Value> {
    let kept = changes.iter().filter(|(name, _)| !is_of_primary(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

impl Settings {
    /// The document of a new replica of an index with these settings.
    pub fn inherited(&self) -> Map<String, Value> {
        let kept = self.document.iter().filter(|(name, _)| !table::lookup(name).is_some_and(|row| row.own));
        kept.map(|(name, value)| (name.clone(), value.clone())).collect()
    }
    /// What a virtual replica that shows these settings takes over as a standard one when its primary is changed so: what was its
    /// primary's, but for the order, `null` for what that has not. What is its own it has, and may be changing at this moment.
    pub fn taken_over_from_primary(&self, changes: &Map<String, Value>) -> Map<String, Value> {
        let is_order = |name: &str| table::lookup(name).is_some_and(|row| row.own && row.of_primary);
        let is_taken = |name: &str| is_of_primary(name) && !is_order(name) && name != "replicas";
        let unset = table::ROWS.iter().map(|row| (row.name.to_owned(), Value::Null));
        let set = self.document.iter().chain(changes).map(|(name, value)| (name.clone(), value.clone()));
        unset.chain(set).filter(|(name, _)| is_taken(name)).collect()
    }
    /// The document that holds on a virtual replica with the document `own` of an index with these settings: index-shaping
    /// settings are the primary's, the others the replica's. The primary's own order of hits stays in force beneath.
    pub fn on_virtual(&self, own: &Map<String, Value>) -> Map<String, Value> {
        let shaping = self.document.iter().filter(|(name, _)| is_of_primary(name));
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
    fn the_table_says_what_replicas_do_without() {
        let named = |is_it: fn(&table::SettingRow) -> bool| {
            let mut names: Vec<_> = table::ROWS.iter().filter(|row| is_it(row)).map(|row| row.name).collect();
            names.sort_unstable();
            names.join(" ")
        };
        let own = "customRanking enableReRanking mode ranking relevancyStrictness replicas";
        assert_eq!(named(|row| row.own), own, "what is written down for callers, C§3.2");
        assert!(table::ROWS.iter().all(|row| row.scope.in_settings() || !(row.own || row.of_primary)));
        // the order of hits is that of the replica
        let shapes = named(|row| row.shapes_index && !row.of_primary);
        assert_eq!(shapes, "customRanking", "what shapes files is that of the primary, whose files they are");
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
        assert_eq!(Value::Object(shown.clone()), json!({"searchableAttributes": ["b"], "hitsPerPage": 5}));
        let shown = Settings::from_document(&shown).expect("valid");
        let changes = map(json!({"attributesForFaceting": ["c"], "ranking": ["typo"], "hitsPerPage": 8}));
        let mut taken = shown.taken_over_from_primary(&changes);
        assert!(taken.contains_key("separatorsToIndex") && !taken.contains_key("replicas"));
        taken.retain(|_, value| !value.is_null());
        let expected = json!({"searchableAttributes": ["b"], "attributesForFaceting": ["c"]});
        assert_eq!(Value::Object(taken), expected);
    }
}
