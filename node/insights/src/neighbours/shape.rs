//! Where are the parts of a model file?

use super::error::{NeighboursError, Result};
use super::writer::{END_MAGIC, ENTRY, FORMAT_VERSION, HEADER, MAGIC, TRAILER, frame_crc};

/// How much a model holds of everything, from which follows where it is. The layout is in `writer.rs`.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub items: usize,
    pub neighbours: usize,
    pub id_bytes: usize,
    pub report_bytes: usize,
    /// Checksum of all between header and trailer.
    pub crc: u32,
    /// Where the trailer begins.
    pub end: usize,
}

pub(super) fn damaged<T>(what: &'static str) -> Result<T> {
    Err(NeighboursError::Damaged(what))
}

impl Shape {
    /// Of a file of so many bytes, by its first and last ones.
    ///
    /// Errors: `Version`; `Damaged` when the bytes do not end where a model does, or header or trailer are not as written.
    pub fn of(length: usize, header: &[u8; HEADER], trailer: &[u8; TRAILER]) -> Result<Self> {
        if !header.starts_with(MAGIC) || !trailer.ends_with(END_MAGIC) {
            return damaged("it does not begin and end as a model");
        }
        if frame_crc(header, &trailer[..20]) != number_at(trailer, 20) {
            return damaged("header or trailer");
        }
        let version = number_at(header, 8);
        if version != FORMAT_VERSION {
            return Err(NeighboursError::Version(version));
        }
        let [items, neighbours, id_bytes, report_bytes] =
            [0, 4, 8, 12].map(|at| number_at(trailer, at) as usize);
        let end = length - TRAILER;
        // as u64: lengths of an unknown origin may be more than a machine can address
        let parts = [(neighbours, ENTRY), (3 * items + 2, 4), (id_bytes, 1), (report_bytes, 1)]
            .iter()
            .map(|(count, size)| *count as u64 * *size as u64)
            .sum::<u64>();
        if parts != (end - HEADER) as u64 {
            return damaged("its lengths do not fit together");
        }
        Ok(Shape { items, neighbours, id_bytes, report_bytes, crc: number_at(trailer, 16), end })
    }
    /// Where the numbers of neighbours before each list begin.
    pub fn offsets(&self) -> usize {
        HEADER + self.neighbours * ENTRY
    }
    /// Where the numbers of users of each item begin.
    pub fn users(&self) -> usize {
        self.offsets() + (self.items + 1) * 4
    }
    /// Where the numbers of bytes before each id begin.
    pub fn id_offsets(&self) -> usize {
        self.offsets() + (2 * self.items + 1) * 4
    }
    /// Where the ids begin.
    pub fn ids(&self) -> usize {
        self.id_offsets() + (self.items + 1) * 4
    }
    /// Where the report begins.
    pub fn report(&self) -> usize {
        self.end - self.report_bytes
    }
}

pub(super) fn number_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
