//! The index of one shard on disk and in memory: the only place that names tantivy.
