//! What is a model called, and what does the log say of the one that is in force?

use crate::error::Result;
use quorate_model::{IndexName, RecommendModel};
use quorate_store::codec;
use serde::{Deserialize, Serialize};

/// Rows that say which model of recommendations is in force, by its number and the name of the index.
pub(crate) const MODEL: u8 = b'm';
/// Bytes of a row at most.
const ROW_BYTES_MAX: usize = 64;

/// A model of an index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModelKey {
    /// The name of the index.
    pub index: IndexName,
    /// Which.
    pub model: RecommendModel,
}

impl ModelKey {
    /// The key of its row in the metadata store.
    pub(crate) fn row(&self) -> Vec<u8> {
        let mut key = vec![MODEL, self.model as u8];
        key.extend_from_slice(self.index.as_str().as_bytes());
        key
    }
    /// The model of a row.
    pub(crate) fn of_row(key: &[u8]) -> Option<ModelKey> {
        let model = *RecommendModel::ALL.get(usize::from(*key.get(1)?))?;
        let index = IndexName::stored(std::str::from_utf8(key.get(2..)?).ok()?).ok()?;
        Some(ModelKey { index, model })
    }
}

/// A model that is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// A later one of the same index has a higher number.
    pub seq: u64,
    /// Bytes of its file.
    pub length: u64,
    /// CRC-32 of its file.
    pub crc: u32,
    /// When it was installed, Unix milliseconds.
    pub time_ms: u64,
}

/// What of a value is in the metadata store.
pub(crate) fn decode_row(key: &[u8], value: &[u8]) -> Result<Option<(ModelKey, Installed)>> {
    let installed: Installed = codec::decode(value, ROW_BYTES_MAX)?;
    Ok(ModelKey::of_row(key).map(|key| (key, installed)))
}
