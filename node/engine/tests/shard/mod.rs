//! A shard in a temporary folder, filled with records.

use quorate_engine::index::{ReadySizes, ShardView, ShardWriter, WriterOptions};
use quorate_engine::language::{CustomEntries, Dictionaries};
use quorate_engine::query::synonyms::SynonymSet;
use quorate_engine::{Configuration, Schema, SearchLimits};
use quorate_model::dictionary::{DictionaryEntry, DictionaryWords, StandardChange};
use quorate_model::languages::CODES;
use quorate_model::{Settings, Synonym};
use quorate_store::files::RealFiles;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time and room enough for everything.
#[allow(dead_code, reason = "some tests have limits of their own")]
pub fn limits() -> SearchLimits {
    SearchLimits {
        deadline: (Instant::now() + Duration::from_secs(60)).into(),
        now_s: 0,
        sees_unretrievable: false,
        max_hits_per_query: 0,
        bytes_max: usize::MAX,
    }
}

/// Synonyms, plurals and stop words: what stands for what, and what says little.
#[derive(Clone, Debug, Default)]
pub struct WordLists {
    /// Documents without ids.
    pub synonyms: Vec<Value>,
    /// Sets of forms of one word.
    pub plurals: Vec<Vec<String>>,
    pub stop_words: Vec<String>,
}
impl WordLists {
    /// With these settings, and nothing else.
    pub fn configuration(&self, settings: Arc<Settings>) -> Configuration {
        let synonym = |(i, document): (usize, &Value)| {
            Synonym::parse_body(document.to_string().as_bytes(), &format!("{i}")).unwrap()
        };
        let synonyms: Vec<Synonym> = self.synonyms.iter().enumerate().map(synonym).collect();
        let plurals = self.plurals.iter().map(|words| DictionaryWords::Plurals { words: words.clone() });
        let stop_words = self.stop_words.iter();
        let stop_words =
            stop_words.map(|word| DictionaryWords::StopWord { word: word.clone(), is_enabled: true });
        let mut custom = CustomEntries::default();
        for (number, words) in plurals.chain(stop_words).enumerate() {
            custom.insert(DictionaryEntry { object_id: number.to_string(), language: "en", words });
        }
        let all = || StandardChange::Set(CODES.iter().map(|code| ((*code).to_owned(), true)).collect());
        // compounds are the standard ones
        custom.change_standard([all(), all(), StandardChange::Kept]);
        let dictionaries = Dictionaries::new(custom);
        let schema = Schema::new(settings, Arc::new(dictionaries));
        let synonyms = Arc::new(SynonymSet::new(&schema, &synonyms));
        Configuration { schema, synonyms, ..Configuration::default() }
    }
}
/// A published shard; its folder lives as long as it does.
pub struct Shard {
    pub view: Arc<ShardView>,
    pub configuration: Configuration,
    pub writer: ShardWriter,
    _folder: tempfile::TempDir,
}
impl Shard {
    /// Puts the records and publishes after each batch. Synonyms, plurals and stop words are those of `word_lists`, no others.
    pub fn new(
        settings: Settings,
        records: &[Value],
        batches: &[usize],
        word_lists: &WordLists,
        ready: ReadySizes,
    ) -> Shard {
        let settings = Arc::new(settings);
        let folder = tempfile::tempdir().unwrap();
        let options = WriterOptions { memory_bytes: 16 << 20, threads: 1, ready, ..WriterOptions::default() };
        let configuration = word_lists.configuration(settings);
        let files = Arc::new(RealFiles);
        let mut writer = ShardWriter::open(folder.path(), &configuration.schema, files, options).unwrap();
        let view = writer.publish().unwrap();
        let mut shard = Shard { view, configuration, writer, _folder: folder };
        let mut records = records.iter();
        for size in batches {
            shard.put(records.by_ref().take(*size));
        }
        shard
    }
    /// Puts records and publishes them.
    pub fn put<'r>(&mut self, records: impl Iterator<Item = &'r Value>) {
        for record in records {
            let id = record["objectID"].as_str().unwrap();
            self.writer.put(id, record.to_string().into_bytes().into()).unwrap();
        }
        self.view = self.writer.publish().unwrap();
    }
}
