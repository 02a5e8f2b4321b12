//! Which documents of a segment are alive: one bit each, in a small checked file beside the segment.

use super::container::{Container, ContainerWriter};
use super::error::{IndexError, Result};
use std::path::Path;
use tantivy::directory::OwnedBytes;

const WORDS: u32 = 1;

/// A set in which all documents are alive.
pub(crate) fn all_alive(docs: u32) -> Vec<u64> {
    let mut words = vec![u64::MAX; docs.div_ceil(64) as usize];
    if !docs.is_multiple_of(64)
        && let Some(last) = words.last_mut()
    {
        *last = (1 << (docs % 64)) - 1;
    }
    words
}
/// The file of a set.
pub(crate) fn alive_file(words: &[u64]) -> Vec<u8> {
    let write = || {
        let mut out = ContainerWriter::new(Vec::new())?;
        out.section(WORDS, bytemuck::cast_slice(words))?;
        out.finish()
    };
    write().expect("a vector takes every write")
}
/// Reads such a file; its content is checked, it is small.
pub(crate) fn read_alive(path: &Path, bytes: OwnedBytes, docs: u32) -> Result<Vec<u64>> {
    let file = Container::open(path, bytes)?;
    file.verify()?;
    let words: Vec<u64> = file.numbers(&file.range(WORDS)).to_vec();
    let past_end = if docs.is_multiple_of(64) { 0 } else { words.last().map_or(0, |w| w >> (docs % 64)) };
    if words.len() != docs.div_ceil(64) as usize || past_end != 0 {
        return Err(IndexError::damaged(path, "wrong number of documents"));
    }
    Ok(words)
}
