//! What is the record of a suggestion (C§16.2)?

use super::words;
use serde_json::{Map, Value, json};

/// A suggestion, with what each source says of it.
#[derive(Clone, Debug, Default)]
pub struct Suggestion {
    /// The query.
    pub text: String,
    /// How many asked for it, over all sources.
    pub popularity: u64,
    /// For each source index that has it what [`of_source`] says.
    pub sources: Vec<(String, Value)>,
    /// For each facet that any source names its most frequent values.
    pub facets: Vec<(String, Vec<String>)>,
}

/// A facet with values, the most frequent first, and how often each is met.
pub type FacetCounts = (String, Vec<(String, u64)>);

/// What a source index says of a suggestion: the records that it finds, for each facet their most frequent values with their counts, and the
/// values that searches of it filtered by most.
pub fn of_source(hits: u64, facets: &[FacetCounts], filtered: &[FacetCounts]) -> Value {
    let matches = |values: &[(String, u64)]| {
        values.iter().map(|(value, count)| json!({"value": value, "count": count})).collect::<Vec<_>>()
    };
    let counts: Map<String, Value> =
        facets.iter().map(|(attribute, values)| (attribute.clone(), matches(values).into())).collect();
    let searched = |attribute: &String| {
        let values = filtered.iter().filter(|(known, _)| known == attribute).flat_map(|(_, values)| values);
        let shown = |(value, count): &(String, u64)| json!({"attribute": attribute, "operator": ":", "value": value, "count": count});
        values.map(shown).collect::<Vec<_>>()
    };
    let searched: Map<String, Value> =
        facets.iter().map(|(attribute, _)| (attribute.clone(), searched(attribute).into())).collect();
    json!({"exact_nb_hits": hits, "facets": {"exact_matches": counts, "analytics": searched}})
}

impl Suggestion {
    /// The record, whose objectID is the query. A source or facet that is called as a member of its own does not stand for that.
    pub fn record(&self) -> Vec<u8> {
        let mut record = Map::new();
        for (attribute, values) in &self.facets {
            record.insert(attribute.clone(), json!(values));
        }
        for (index, said) in &self.sources {
            record.insert(index.clone(), said.clone());
        }
        record.insert("objectID".to_owned(), json!(self.text));
        record.insert("query".to_owned(), json!(self.text));
        record.insert("nb_words".to_owned(), json!(words(&self.text)));
        record.insert("popularity".to_owned(), json!(self.popularity));
        serde_json::to_vec(&record).expect("texts and numbers always serialise")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c16_a_record_has_what_each_source_says() {
        let facets = [
            ("brand.name".to_owned(), vec![("acme".to_owned(), 3), ("b".to_owned(), 1)]),
            ("color".to_owned(), vec![]),
        ];
        let filtered = [("brand.name".to_owned(), vec![("b".to_owned(), 9)]), ("x".to_owned(), vec![])];
        let suggestion = Suggestion {
            text: "red shoes".into(),
            popularity: 7,
            sources: vec![
                ("shop".into(), of_source(4, &facets, &filtered)),
                ("query".into(), of_source(1, &[], &[])),
            ],
            facets: vec![("brand.name".into(), vec!["acme".into(), "b".into()])],
        };
        let record: Value = serde_json::from_slice(&suggestion.record()).unwrap();
        let expected = json!({
            "objectID": "red shoes", "query": "red shoes", "nb_words": 2, "popularity": 7,
            "shop": {"exact_nb_hits": 4, "facets": {
                "exact_matches": {"brand.name": [{"value": "acme", "count": 3}, {"value": "b", "count": 1}], "color": []},
                "analytics": {
                    "brand.name": [{"attribute": "brand.name", "operator": ":", "value": "b", "count": 9}],
                    "color": []}}},
            "brand.name": ["acme", "b"]});
        assert_eq!(record, expected);
    }
}
