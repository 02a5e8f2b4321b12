//! What is stored of an index beside its files, and what lists say of it?

use serde::{Deserialize, Serialize};

/// The durable row of an index in its group's metadata store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IndexRow {
    /// The settings document as raw JSON.
    #[serde(with = "serde_bytes")]
    pub settings: Vec<u8>,
    /// Unix milliseconds.
    pub created_ms: u64,
    /// Unix milliseconds of the last write.
    pub updated_ms: u64,
    /// Log indices of settings that reads may not see yet: they hold until the files fit the newest settings.
    pub waiting: Vec<u64>,
}

/// Figures of an index for lists and metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs)]
pub struct IndexStats {
    pub records: u64,
    pub data_bytes: u64,
    pub file_bytes: u64,
    pub pending: u64,
    pub created_ms: u64,
    pub updated_ms: u64,
    /// How long the last rebuild took; 0 = there was none.
    pub build_ms: u64,
}
