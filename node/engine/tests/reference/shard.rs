//! A shard in a temporary folder, filled with records.

use quorate_engine::Configuration;
use quorate_engine::index::{ShardView, ShardWriter, WriterOptions};
use quorate_model::Settings;
use quorate_store::files::RealFiles;
use serde_json::Value;
use std::sync::Arc;

/// A published shard; its folder lives as long as it does.
pub struct Shard {
    pub view: Arc<ShardView>,
    pub configuration: Configuration,
    _writer: ShardWriter,
    _folder: tempfile::TempDir,
}
impl Shard {
    /// Puts the records and publishes after each batch.
    pub fn new(settings: Settings, records: &[Value], batches: &[usize]) -> Shard {
        let settings = Arc::new(settings);
        let folder = tempfile::tempdir().unwrap();
        let options = WriterOptions { memory_bytes: 16 << 20, threads: 1, ..WriterOptions::default() };
        let mut writer = ShardWriter::open(folder.path(), &settings, Arc::new(RealFiles), options).unwrap();
        let mut rest = records;
        for &size in batches {
            let (batch, later) = rest.split_at(size);
            for record in batch {
                let id = record["objectID"].as_str().unwrap();
                writer.put(id, record.to_string().into_bytes().into()).unwrap();
            }
            writer.publish().unwrap();
            rest = later;
        }
        Shard {
            view: writer.publish().unwrap(),
            configuration: Configuration { settings, ..Configuration::default() },
            _writer: writer,
            _folder: folder,
        }
    }
}
