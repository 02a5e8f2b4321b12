//! What decides which words an index has? Its settings with the dictionaries of its application, and the analyzer they make.

use super::Analyzer;
use crate::language::{Dictionaries, Language, Languages};
use quorate_model::Settings;
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};

/// Settings with dictionaries: segments are written and queries are read by the same ones. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Schema {
    settings: Arc<Settings>,
    dictionaries: Arc<Dictionaries>,
    analyzer: Analyzer,
    fingerprint: u64,
}
impl Schema {
    /// Settings with the standard dictionaries and custom entries beside them.
    pub fn new(settings: Arc<Settings>, dictionaries: Arc<Dictionaries>) -> Schema {
        let analyzer = Analyzer::new(&settings, dictionaries.clone());
        let in_segments = dictionaries.in_segments(decompounded(&settings));
        let fingerprint = settings.fingerprint_with(&in_segments);
        Schema { settings, dictionaries, analyzer, fingerprint }
    }
    /// The settings.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }
    /// The dictionaries.
    pub fn dictionaries(&self) -> &Arc<Dictionaries> {
        &self.dictionaries
    }
    /// The one analyzer of records and queries.
    pub fn analyzer(&self) -> &Analyzer {
        &self.analyzer
    }
    /// Whether both are made of the very same settings and dictionaries. Cost: two comparisons.
    pub fn is(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.settings, &other.settings) && Arc::ptr_eq(&self.dictionaries, &other.dictionaries)
    }
    /// A stable hash over everything that decides what the files of the index hold: two schemas with the same one want the
    /// same files. Stop words and word forms act when a query is read, so they are no part of it.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
    /// The entries of dictionaries that the fingerprint covers, as files remember them; empty without custom ones.
    pub fn dictionaries_in_segments(&self) -> Map<String, Value> {
        self.dictionaries.in_segments(decompounded(&self.settings))
    }
}
/// Languages whose compounds are taken apart in segments.
fn decompounded(settings: &Settings) -> Languages {
    let listed = settings.index.decompounded_attributes.iter().filter(|(_, paths)| !paths.is_empty());
    listed.filter_map(|(code, _)| Language::of(code)).fold(Languages::NONE, Languages::with)
}
/// No custom entries, for all that have none.
static STANDARD: LazyLock<Arc<Dictionaries>> = LazyLock::new(Arc::default);
impl From<Arc<Settings>> for Schema {
    /// Settings with the standard dictionaries alone.
    fn from(settings: Arc<Settings>) -> Schema {
        Schema::new(settings, STANDARD.clone())
    }
}
impl Default for Schema {
    fn default() -> Schema {
        Schema::from(Arc::<Settings>::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn with(settings: Value, dictionaries: Dictionaries) -> Schema {
        let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
        Schema::new(Arc::new(settings), Arc::new(dictionaries))
    }
    fn compound(code: &str, word: &str, parts: &[&str]) -> Dictionaries {
        let parts = parts.iter().map(|part| (*part).to_owned()).collect();
        let compounds = [(word.to_owned(), vec![(Language::of(code).unwrap(), parts)])].into_iter().collect();
        Dictionaries { compounds, ..Dictionaries::default() }
    }

    #[test]
    fn the_fingerprint_covers_what_lies_in_segments_and_nothing_else() {
        let german = json!({"decompoundedAttributes": {"de": ["name"]}});
        let english = Language::of("en").unwrap();
        let plain = with(german.clone(), Dictionaries::default());
        assert_eq!(
            plain.fingerprint(),
            plain.settings().fingerprint(),
            "as stored before there were custom entries"
        );
        let mut query_time = compound("nl", "fietsbel", &["fiets", "bel"]);
        query_time.stop_words.insert("shop".into(), Languages::NONE.with(english));
        query_time.disabled_stop_words.insert("the".into(), Languages::NONE.with(english));
        query_time.plurals.insert("ox".into(), vec![(english, vec!["oxen".into()])]);
        query_time.without_standard = [Languages::ALL, Languages::ALL, Languages::listed(&["nl"])];
        assert_eq!(with(german.clone(), query_time).fingerprint(), plain.fingerprint());
        let custom = || compound("de", "xyloturm", &["xylo", "turm"]);
        assert_eq!(with(json!({}), custom()).fingerprint(), Schema::default().fingerprint());
        let without_standard = [Languages::NONE, Languages::NONE, Languages::listed(&["de"])];
        let all = [
            Dictionaries::default(),
            custom(),
            compound("de", "xyloturm", &["xyl", "oturm"]),
            compound("de", "xyloturme", &["xylo", "turm"]),
            Dictionaries { without_standard, ..Dictionaries::default() },
            Dictionaries { without_standard, ..custom() },
        ];
        let seen: std::collections::HashSet<u64> =
            all.into_iter().map(|dictionaries| with(german.clone(), dictionaries).fingerprint()).collect();
        assert_eq!(seen.len(), 6);
        let stored = with(german, custom()).fingerprint();
        assert_eq!(stored, 0xe1c9_f2c4_74b7_9d74, "compared with stored ones: must never change");
    }

    #[test]
    fn words_of_segments_and_queries_come_from_the_same_entries() {
        let schema = with(
            json!({"decompoundedAttributes": {"de": ["name"]}}),
            compound("de", "xyloturm", &["xyl", "oturm"]),
        );
        let options = super::super::AttributeOptions::new(schema.settings()).of("name");
        let mut found = vec![];
        schema.analyzer().tokens("Xyloturm", options, |token| found.push(token.text.to_owned()));
        assert_eq!(found, ["xyloturm", "xyl", "oturm"], "not as the lists say");
    }
}
