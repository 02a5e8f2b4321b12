//! How is the model of an index made of the events of its group?

use super::files::Making;
use super::key::ModelKey;
use crate::error::{Error, Result};
use crate::node::Node;
use quorate_insights::learn;
use quorate_insights::neighbours::{
    Interactions, Model, NeighboursError, Report, bought_together, related_products,
};
use quorate_model::{GroupId, RecommendModel};
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;

/// What a build has made.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// What it learned from.
    pub report: Report,
    /// Bytes of the file; 0 when nothing goes together and there is none.
    pub length: u64,
    /// CRC-32 of the file.
    pub crc: u32,
}

/// A file on its way, with length and checksum of what was written.
struct Summed<W> {
    out: W,
    length: u64,
    crc: crc32fast::Hasher,
}
impl<W: Write> Write for Summed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.crc.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Node {
    /// What models of an index learn from, as of a moment (Unix milliseconds). Errors: `Stopped`; this node has no replica of the
    /// group; files of events cannot be read.
    pub fn interactions(
        &self,
        group: GroupId,
        index: &str,
        now_ms: u64,
        stop: &AtomicBool,
    ) -> Result<Interactions> {
        let view = self.events(group).ok_or(Error::Stopped)?;
        Ok(learn::interactions_of(&view, index, now_ms, stop)?)
    }
    /// Makes a model and its file, durable, in the place that was taken for it. It runs on the calling thread, at its priority.
    ///
    /// Errors: `Stopped`; the disk; then nothing is left. Cost: `related_products` of `quorate_insights`.
    pub fn build_model(
        &self,
        key: &ModelKey,
        interactions: &Interactions,
        place: &Making,
        stop: &AtomicBool,
    ) -> Result<Made> {
        let made = self.write_model(key.model, interactions, place, stop).and_then(|made| {
            if made.length > 0 {
                place.finish()?;
            }
            Ok(made)
        });
        if !made.as_ref().is_ok_and(|made| made.length > 0) {
            place.discard();
        }
        made
    }
    /// Keeps the file of a model that was made elsewhere, durable, in the place that was taken for it. Errors: it is not whole; the disk;
    /// then nothing is left.
    pub fn keep_model(&self, file: &[u8], place: &Making) -> Result<Made> {
        let keep = || -> Result<Made> {
            let model = Model::open(file)?;
            model.check()?;
            let mut out = Summed { out: place.create()?, length: 0, crc: crc32fast::Hasher::new() };
            out.write_all(file).map_err(NeighboursError::Io)?;
            out.out.sync().map_err(NeighboursError::Io)?;
            place.finish()?;
            Ok(Made { report: model.report()?, length: out.length, crc: out.crc.finalize() })
        };
        let kept = keep();
        if kept.is_err() {
            place.discard();
        }
        kept
    }
    fn write_model(
        &self,
        model: RecommendModel,
        interactions: &Interactions,
        place: &Making,
        stop: &AtomicBool,
    ) -> Result<Made> {
        let build = match model {
            RecommendModel::RelatedProducts => related_products,
            RecommendModel::BoughtTogether => bought_together,
            RecommendModel::TrendingItems
            | RecommendModel::TrendingFacets
            | RecommendModel::LookingSimilar => {
                return Err(quorate_model::Error::invalid(format!("{model} has no file")).into());
            }
        };
        let mut out = Summed { out: place.create()?, length: 0, crc: crc32fast::Hasher::new() };
        let report = build(interactions, &mut out, stop)?;
        if report.neighbours == 0 {
            return Ok(Made { report, length: 0, crc: 0 });
        }
        out.out.sync().map_err(NeighboursError::Io)?;
        Ok(Made { report, length: out.length, crc: out.crc.finalize() })
    }
}
