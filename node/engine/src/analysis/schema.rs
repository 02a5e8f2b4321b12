//! What decides which words an index has? Its settings with the dictionaries of its application, and the analyzer they make.

use super::Analyzer;
use crate::language::{Dictionaries, Language, Languages};
use quorate_model::Settings;
use serde_json::Map;
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
        // none: as it is stored of files from before there were custom entries
        let others = match dictionaries.hash_in_segments(decompounded(&settings)) {
            0 => Map::new(),
            hash => Map::from_iter([("dictionaries".to_owned(), hash.into())]),
        };
        let fingerprint = settings.fingerprint_with(&others);
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
    use crate::language::CustomEntries;
    use quorate_model::DictionaryEntry;
    use quorate_model::dictionary::{DictionaryWords, StandardChange};
    use serde_json::{Value, json};

    fn with(settings: Value, dictionaries: Dictionaries) -> Schema {
        let settings = Settings::from_document(settings.as_object().unwrap()).unwrap();
        Schema::new(Arc::new(settings), Arc::new(dictionaries))
    }
    fn dictionaries(entries: Vec<(&'static str, DictionaryWords)>, off: [&[&str]; 3]) -> Dictionaries {
        let mut custom = CustomEntries::default();
        for (number, (language, words)) in entries.into_iter().enumerate() {
            custom.insert(DictionaryEntry { object_id: number.to_string(), language, words });
        }
        custom.change_standard(
            off.map(|codes| {
                StandardChange::Set(codes.iter().map(|code| ((*code).to_owned(), true)).collect())
            }),
        );
        Dictionaries::new(custom)
    }
    fn compound(word: &str, parts: &[&str]) -> DictionaryWords {
        let parts = parts.iter().map(|part| (*part).to_owned()).collect();
        DictionaryWords::Compound { word: word.into(), parts }
    }

    #[test]
    fn the_fingerprint_covers_what_lies_in_segments_and_nothing_else() {
        let german = json!({"decompoundedAttributes": {"de": ["name"]}});
        let plain = with(german.clone(), Dictionaries::default());
        assert_eq!(
            plain.fingerprint(),
            plain.settings().fingerprint(),
            "as stored before there were custom entries"
        );
        let entries = vec![
            ("nl", compound("fietsbel", &["fiets", "bel"])),
            ("de", DictionaryWords::StopWord { word: "shop".into(), is_enabled: true }),
            ("de", DictionaryWords::Plurals { words: vec!["ochs".into(), "ochsen".into()] }),
        ];
        let query_time = dictionaries(entries, [&["de"], &["de"], &["nl"]]);
        assert_eq!(with(german.clone(), query_time).fingerprint(), plain.fingerprint());
        let custom = |off: &[&str]| {
            dictionaries(vec![("de", compound("xyloturm", &["xylo", "turm"]))], [&[], &[], off])
        };
        assert_eq!(with(json!({}), custom(&["de"])).fingerprint(), Schema::default().fingerprint());
        let all = [
            Dictionaries::default(),
            custom(&[]),
            dictionaries(vec![("de", compound("xyloturm", &["xyl", "oturm"]))], [&[]; 3]),
            dictionaries(vec![("de", compound("xyloturme", &["xylo", "turm"]))], [&[]; 3]),
            dictionaries(vec![], [&[], &[], &["de"]]),
            custom(&["de"]),
        ];
        let seen: std::collections::HashSet<u64> =
            all.into_iter().map(|dictionaries| with(german.clone(), dictionaries).fingerprint()).collect();
        assert_eq!(seen.len(), 6);
        let stored = with(german, custom(&[])).fingerprint();
        assert_eq!(stored, 0x6ee2_2bdd_f7a5_263f, "compared with stored ones: must never change");
    }

    #[test]
    fn words_of_segments_and_queries_come_from_the_same_entries() {
        let schema = with(
            json!({"decompoundedAttributes": {"de": ["name"]}}),
            dictionaries(vec![("de", compound("xyloturm", &["xyl", "oturm"]))], [&[]; 3]),
        );
        let options = super::super::AttributeOptions::new(schema.settings()).of("name");
        let mut found = vec![];
        schema.analyzer().tokens("Xyloturm", options, |token| found.push(token.text.to_owned()));
        assert_eq!(found, ["xyloturm", "xyl", "oturm"], "not as the lists say");
    }
}
