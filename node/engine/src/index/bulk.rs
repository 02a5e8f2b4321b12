//! How many records become segments: in parts that fit the memory, on several threads.

use super::build::build_segment;
use super::error::{IndexError, Result};
use super::extract::Extractor;
use super::lists::ReadySizes;
use super::overlay::Overlay;
use super::segment::{Segment, SegmentFile};
use bytes::Bytes;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Records in a batch from which on it is worth splitting among threads.
const PARALLEL_RECORDS: usize = 1_024;

/// Where and how records are indexed.
pub(crate) struct Bulk {
    /// Takes the files.
    pub overlay: Arc<Overlay>,
    /// Takes records apart.
    pub extractor: Arc<Extractor>,
    /// Threads for a large batch.
    pub threads: usize,
    /// Raw record bytes of one part.
    pub part_bytes: usize,
    /// What segments hold ready.
    pub ready: ReadySizes,
}

impl Bulk {
    /// Indexes a batch, on several threads when it is large. Ids in it must be unique.
    pub fn build(&self, puts: Vec<(String, Bytes)>) -> Result<Vec<Arc<SegmentFile>>> {
        let threads = if puts.len() < PARALLEL_RECORDS { 1 } else { self.threads.max(1) };
        if threads == 1 {
            return Ok(self.build_one(puts)?.into_iter().collect());
        }
        let size = puts.len().div_ceil(threads);
        let mut rest = puts;
        std::thread::scope(|scope| {
            let mut running = Vec::new();
            while rest.len() > size {
                let part = rest.split_off(rest.len() - size);
                running.push(scope.spawn(move || self.build_one(part)));
            }
            let mut made = vec![self.build_one(rest)];
            made.extend(
                running.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p))),
            );
            made.into_iter().filter_map(Result::transpose).collect()
        })
    }
    fn build_one(&self, part: Vec<(String, Bytes)>) -> Result<Option<Arc<SegmentFile>>> {
        let overlay = &self.overlay;
        let extract = |(id, record): (String, Bytes)| {
            if overlay.is_closing() {
                return Err(IndexError::io(overlay.dir(), io::Error::other("the shard is being closed")));
            }
            self.extractor.extract(&id, record)
        };
        let batch = part.into_iter().map(extract).collect::<Result<Vec<_>>>()?;
        build_segment(overlay, &self.extractor, batch, self.ready).map_err(|e| overlay.explain(e))
    }
    /// Indexes the live records of segments again; `done` counts them.
    pub fn build_again(&self, sources: &[Segment], done: &AtomicU64) -> Result<Vec<Arc<SegmentFile>>> {
        let mut made = Vec::new();
        let (mut part, mut bytes) = (Vec::new(), 0);
        for segment in sources {
            for doc in (0..segment.doc_count()).filter(|&doc| segment.is_alive(doc)) {
                let record = Bytes::copy_from_slice(segment.record(doc));
                bytes += record.len();
                part.push((segment.object_id(doc).to_string(), record));
                if bytes >= self.part_bytes {
                    let count = part.len() as u64;
                    made.extend(self.build(std::mem::take(&mut part))?);
                    done.fetch_add(count, Ordering::Relaxed);
                    bytes = 0;
                }
            }
        }
        let count = part.len() as u64;
        made.extend(self.build(part)?);
        done.fetch_add(count, Ordering::Relaxed);
        Ok(made)
    }
}
