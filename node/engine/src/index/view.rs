//! What a search sees of a shard: an immutable list of segments.

use super::error::Result;
use super::segment::{Segment, next_serial};

/// The published state of a shard. Cheap to clone behind its `Arc`, valid as long as it is held.
#[derive(Debug)]
pub struct ShardView {
    segments: Vec<Segment>,
    generation: u64,
}

impl ShardView {
    /// Makes a view; largest segments first.
    pub(crate) fn new(mut segments: Vec<Segment>) -> ShardView {
        segments.retain(|segment| segment.alive_count() > 0);
        segments.sort_by_key(|segment| std::cmp::Reverse(segment.doc_count()));
        ShardView { segments, generation: next_serial() }
    }
    /// Segments with live documents, largest first.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }
    /// A number that no other view of this process has, growing with time. For caches.
    pub fn generation(&self) -> u64 {
        self.generation
    }
    /// Live records.
    pub fn record_count(&self) -> u64 {
        self.segments.iter().map(|s| u64::from(s.alive_count())).sum()
    }
    /// Bytes of the raw records; dead ones count until they are merged away.
    pub fn data_bytes(&self) -> u64 {
        self.segments.iter().map(Segment::record_bytes).sum()
    }
    /// Bytes of the segment files that searches read.
    pub fn mapped_bytes(&self) -> u64 {
        self.segments.iter().map(|s| s.bytes() as u64).sum()
    }
    /// The raw JSON of a record.
    pub fn get(&self, object_id: &str) -> Option<&[u8]> {
        self.segments.iter().find_map(|s| Some(s.record(s.doc_of(object_id)?)))
    }
    /// Recomputes the checksums of every segment.
    pub fn verify(&self) -> Result<()> {
        self.segments.iter().try_for_each(Segment::verify)
    }
}
