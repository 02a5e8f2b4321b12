//! What does an index hold of the users whose records it has?

use crate::index::IndexView;
use quorate_engine::owners;
use std::collections::BTreeMap;

impl IndexView {
    /// For each owner the live records and their bytes. Cost: one look at every record that belongs to somebody.
    pub fn owners(&self) -> BTreeMap<String, (u64, u64)> {
        owners::owners(&self.shard)
    }
    /// The stored ids of an owner's records, of all or of `ids`, each with a number that differs when the records do.
    pub fn owned(&self, owner: &str, ids: Option<&[String]>) -> BTreeMap<String, u64> {
        owners::owned(&self.shard, owner, ids)
    }
    /// The raw JSON of the record with a stored id.
    pub fn record(&self, stored_id: &str) -> Option<&[u8]> {
        self.shard.get(stored_id)
    }
}
