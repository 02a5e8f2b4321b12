//! A shard in a temporary folder, filled with records.

use quorate_engine::Configuration;
use quorate_engine::index::{MergeGoal, MergeState, ShardView, ShardWriter, WriterOptions};
use quorate_engine::language::{Dictionaries, Language, Languages};
use quorate_engine::query::synonyms::SynonymSet;
use quorate_model::{Settings, Synonym};
use quorate_store::files::RealFiles;
use serde_json::Value;
use std::slice::Iter;
use std::sync::Arc;

/// What stands for what, and what says little.
#[derive(Clone, Debug, Default)]
pub struct Spoken {
    /// Documents without ids.
    pub synonyms: Vec<Value>,
    /// Sets of forms of one word.
    pub plurals: Vec<Vec<String>>,
    pub stop_words: Vec<String>,
}
impl Spoken {
    fn configuration(&self, settings: Arc<Settings>) -> Configuration {
        let synonym = |(i, document): (usize, &Value)| {
            Synonym::parse_body(document.to_string().as_bytes(), &format!("{i}")).unwrap()
        };
        let synonyms: Vec<Synonym> = self.synonyms.iter().enumerate().map(synonym).collect();
        let english = Language::of("en").unwrap();
        // compounds are the standard ones
        let without_standard = [Languages::ALL, Languages::ALL, Languages::NONE];
        let mut dictionaries = Dictionaries { without_standard, ..Dictionaries::default() };
        for set in &self.plurals {
            for word in set {
                let others = set.iter().filter(|other| *other != word).cloned().collect();
                dictionaries.plurals.entry(word.clone()).or_default().push((english, others));
            }
        }
        for word in &self.stop_words {
            dictionaries.stop_words.insert(word.clone(), Languages::NONE.with(english));
        }
        let synonyms = Arc::new(SynonymSet::new(&settings, &synonyms));
        Configuration { settings, synonyms, dictionaries: Arc::new(dictionaries), ..Configuration::default() }
    }
}
/// What happens to a shard, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The next so many records are put and published.
    Put(usize),
    /// Records are deleted; shown with the next publication.
    Delete(Vec<String>),
    /// Segments are merged.
    Merge,
    /// Everything is indexed again with the settings; before that there were none.
    Rebuild,
}
/// A published shard; its folder lives as long as it does.
pub struct Shard {
    pub view: Arc<ShardView>,
    pub configuration: Configuration,
    writer: ShardWriter,
    _folder: tempfile::TempDir,
}
impl Shard {
    /// Puts the records and publishes after each batch.
    pub fn new(settings: Settings, records: &[Value], batches: &[usize]) -> Shard {
        Shard::with_words(settings, records, batches, &Spoken::default())
    }
    /// The same with synonyms, plurals and stop words; there are no others.
    pub fn with_words(settings: Settings, records: &[Value], batches: &[usize], spoken: &Spoken) -> Shard {
        let events: Vec<Event> = batches.iter().map(|size| Event::Put(*size)).collect();
        Shard::after(settings, &mut records.iter(), &events, spoken)
    }
    /// What is there after a history, which takes records as it needs them.
    pub fn after(
        settings: Settings,
        records: &mut Iter<'_, Value>,
        events: &[Event],
        spoken: &Spoken,
    ) -> Shard {
        let settings = Arc::new(settings);
        let folder = tempfile::tempdir().unwrap();
        let options = WriterOptions { memory_bytes: 16 << 20, threads: 1, ..WriterOptions::default() };
        let at_first = if events.contains(&Event::Rebuild) { Arc::default() } else { settings.clone() };
        let mut writer = ShardWriter::open(folder.path(), &at_first, Arc::new(RealFiles), options).unwrap();
        let view = writer.publish().unwrap();
        let configuration = spoken.configuration(settings);
        let mut shard = Shard { view, configuration, writer, _folder: folder };
        shard.go_on(records, events);
        shard
    }
    /// Lets more happen.
    pub fn go_on(&mut self, records: &mut Iter<'_, Value>, events: &[Event]) {
        let writer = &mut self.writer;
        for event in events {
            match event {
                Event::Put(size) => {
                    for record in records.by_ref().take(*size) {
                        let id = record["objectID"].as_str().unwrap();
                        writer.put(id, record.to_string().into_bytes().into()).unwrap();
                    }
                    writer.publish().unwrap();
                }
                Event::Delete(ids) => ids.iter().for_each(|id| writer.delete(id)),
                Event::Merge => {
                    writer.publish().unwrap();
                    if writer.merge_step(MergeGoal::One).unwrap() == MergeState::Running {
                        writer.wait_for_merge().unwrap();
                    }
                }
                Event::Rebuild => {
                    writer.publish().unwrap();
                    writer.rebuild(&self.configuration.settings).unwrap();
                }
            }
        }
        self.view = writer.publish().unwrap();
    }
}
