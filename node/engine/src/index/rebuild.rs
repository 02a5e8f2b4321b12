//! How a shard changes to a schema that shapes its files otherwise: beside the old segments, in rounds, then all at once.
//!
//! A round indexes the records of the segments that are there when it begins. Writes go on in the old form; what they
//! add is a matter of the next, smaller round, what they remove is noticed when the new segments take over. Until the
//! durable commit after that the old state is whole: a crash leaves the files of the rebuild unnamed, and they are
//! removed at the next open. A round ends with one segment, durable on disk, so that taking over costs little.

use super::background::Background;
use super::background_turn::BackgroundPermit;
use super::build::merge_segments;
use super::bulk::Bulk;
use super::error::{IndexError, Result};
use super::extract::Extractor;
use super::manifest::Built;
use super::merge::died_since;
use super::new_segment::{NewSegment, remove};
use super::segment::Segment;
use super::writer::{ShardWriter, kill};
use crate::analysis::Schema;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Records that are indexed while the owner waits, at the end.
const REST_RECORDS: u64 = 1_000;
/// Rounds after which the rest is indexed while the owner waits, however much it is: writes are faster than rounds.
const ROUNDS_MAX: usize = 8;

/// Where a rebuild stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RebuildState {
    /// None was started.
    Idle,
    /// It goes on in the background, or waits for its turn; ask again later.
    Running,
    /// What is left is little: [`ShardWriter::finish_rebuild`] is quick.
    Ready,
}
/// How far a rebuild has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RebuildCounts {
    /// Records indexed again.
    pub done: u64,
    /// Records to index again, as far as known: what is written meanwhile adds to it.
    pub total: u64,
}

/// A rebuild in progress.
pub(crate) struct Rebuild {
    schema: Schema,
    bulk: Arc<Bulk>,
    began: Instant,
    rounds: Vec<Round>,
    running: Option<(Vec<Segment>, Background<Result<Option<NewSegment>>>)>,
    done: Arc<AtomicU64>,
    total: u64,
}
/// The segments of a round as they were when it began, and what it made of them.
struct Round {
    sources: Vec<Segment>,
    made: Option<NewSegment>,
}

impl Rebuild {
    fn covers(&self, segment: &Segment) -> bool {
        let serial = segment.file().serial();
        let is_in = |sources: &[Segment]| sources.iter().any(|s| s.file().serial() == serial);
        self.rounds.iter().any(|round| is_in(&round.sources))
            || self.running.as_ref().is_some_and(|(sources, _)| is_in(sources))
    }
    fn begin_round(
        &mut self,
        sources: Vec<Segment>,
        permit: BackgroundPermit,
        writer: &ShardWriter,
    ) -> Result<()> {
        self.total += alive(&sources);
        let (bulk, done, inputs) = (self.bulk.clone(), self.done.clone(), sources.clone());
        let work = move || {
            let _until_the_end = permit;
            round(&bulk, &inputs, &done)
        };
        let started = Background::start("rebuild", &writer.options.waker, work)
            .map_err(|e| IndexError::io(self.bulk.overlay.dir(), e))?;
        self.running = Some((sources, started));
        Ok(())
    }
    /// Takes the result of the running round over, waiting for its end.
    fn end_round(&mut self) -> Result<()> {
        if let Some((sources, running)) = self.running.take() {
            let made = running.join()?;
            self.rounds.push(Round { sources, made });
        }
        Ok(())
    }
    /// Ends the work and removes its files.
    fn give_up(mut self) {
        self.bulk.overlay.close();
        let last = self.running.take().and_then(|(_, running)| running.abandon());
        let made = self.rounds.into_iter().filter_map(|round| round.made);
        made.chain(last.and_then(Result::ok).flatten()).for_each(|made| made.remove(&self.bulk.overlay));
        let pending = self.bulk.overlay.pending("");
        remove(&self.bulk.overlay, pending.into_iter().map(|(name, _)| name));
    }
}

fn alive(segments: &[Segment]) -> u64 {
    segments.iter().map(|segment| u64::from(segment.alive_count())).sum()
}

/// Indexes the live records of segments again, into one segment that is durable.
fn round(bulk: &Bulk, sources: &[Segment], done: &AtomicU64) -> Result<Option<NewSegment>> {
    let parts = bulk.build_again(sources, done)?;
    let overlay = &bulk.overlay;
    let file = match <[_; 1]>::try_from(parts) {
        Ok([one]) => one,
        Err(parts) => {
            let parts: Vec<Segment> = parts.into_iter().map(|file| Segment::new(file, None)).collect();
            let merged = merge_segments(overlay, &bulk.extractor, &parts, bulk.ready)
                .map_err(|e| overlay.explain(e))?;
            let names: Vec<String> = parts.iter().map(|part| format!("{}.", part.file().name)).collect();
            drop(parts);
            for name in names.iter().flat_map(|prefix| overlay.pending(prefix)) {
                overlay.remove(&name.0)?;
            }
            match merged {
                Some(file) => file,
                None => return Ok(None),
            }
        }
    };
    NewSegment::durable(overlay, file).map(Some)
}

impl ShardWriter {
    /// Starts to index every record again under another schema, in the background; a rebuild in progress is given up.
    ///
    /// Reads and writes go on under the schema of before until [`Self::finish_rebuild`].
    pub fn start_rebuild(&mut self, schema: &Schema) -> Result<()> {
        self.cancel_rebuild();
        let bulk = Bulk {
            overlay: self.overlay.apart()?,
            extractor: Arc::new(Extractor::new(schema, self.options.level.form())),
            threads: self.options.threads,
            // half of what the writer takes: both may be at work
            part_bytes: self.part_bytes() / 2,
            ready: self.options.ready,
        };
        self.rebuild = Some(Rebuild {
            schema: schema.clone(),
            bulk: Arc::new(bulk),
            began: Instant::now(),
            rounds: Vec::new(),
            running: None,
            done: Arc::default(),
            total: 0,
        });
        Ok(())
    }
    /// Gives a rebuild in progress up and removes its files.
    pub fn cancel_rebuild(&mut self) {
        if let Some(rebuild) = self.rebuild.take() {
            rebuild.give_up();
        }
    }
    /// The schema that a rebuild in progress is for.
    pub fn rebuild_schema(&self) -> Option<&Schema> {
        self.rebuild.as_ref().map(|rebuild| &rebuild.schema)
    }
    /// How far the rebuild in progress has come.
    pub fn rebuild_counts(&self) -> Option<RebuildCounts> {
        self.rebuild
            .as_ref()
            .map(|rebuild| RebuildCounts { done: rebuild.done.load(Ordering::Relaxed), total: rebuild.total })
    }

    /// Moves the rebuild on: takes a round over that has ended, begins another one when much was written meanwhile.
    ///
    /// Errors: those of a round; the rebuild is given up then, everything else is as it was.
    pub fn rebuild_step(&mut self) -> Result<RebuildState> {
        let Some(mut rebuild) = self.rebuild.take() else { return Ok(RebuildState::Idle) };
        match self.step_of(&mut rebuild) {
            Ok(state) => {
                self.rebuild = Some(rebuild);
                Ok(state)
            }
            Err(error) => {
                rebuild.give_up();
                Err(error)
            }
        }
    }
    fn step_of(&self, rebuild: &mut Rebuild) -> Result<RebuildState> {
        if rebuild.running.as_ref().is_some_and(|(_, running)| !running.has_ended()) {
            return Ok(RebuildState::Running);
        }
        rebuild.end_round()?;
        let sources: Vec<Segment> = self.segments.iter().filter(|s| !rebuild.covers(s)).cloned().collect();
        let records = alive(&sources);
        let is_last = rebuild.rounds.len() >= ROUNDS_MAX || records <= REST_RECORDS;
        if is_last && !rebuild.rounds.is_empty() {
            return Ok(RebuildState::Ready);
        }
        // segments that are being merged would have to be indexed twice
        if self.merge.is_none()
            && let Some(permit) = self.options.background_turn.take_for(records)
        {
            rebuild.begin_round(sources, permit, self)?;
        }
        Ok(RebuildState::Running)
    }

    /// Waits for the rebuild in progress, indexes what it has not seen, and goes on with the new segments and schema.
    /// They are searchable and durable with the next [`Self::flush`], not before.
    ///
    /// Errors: after one, drop the writer and open it again.
    pub fn finish_rebuild(&mut self) -> Result<()> {
        self.absorb()?;
        let Some(mut rebuild) = self.rebuild.take() else { return Ok(()) };
        let made = rebuild.end_round().and_then(|()| {
            let rest: Vec<Segment> = self.segments.iter().filter(|s| !rebuild.covers(s)).cloned().collect();
            let here = Bulk {
                overlay: self.overlay.clone(),
                extractor: rebuild.bulk.extractor.clone(),
                threads: self.options.threads,
                part_bytes: self.part_bytes(),
                ready: self.options.ready,
            };
            here.build_again(&rest, &rebuild.done)
        });
        let rest = match made {
            Ok(rest) => rest,
            Err(error) => {
                rebuild.give_up();
                return Err(error);
            }
        };
        let mut segments = Vec::new();
        for Round { sources, made } in rebuild.rounds {
            let Some(made) = made else { continue };
            let mut segment = self.take_over(made);
            let died = self.died_of(&sources, &segment);
            kill(&mut segment, &died);
            segments.push(segment);
        }
        segments.extend(rest.into_iter().map(|file| Segment::new(file, None)));
        segments.retain(|segment| segment.alive_count() > 0);
        self.segments = segments;
        self.extractor = rebuild.bulk.extractor.clone();
        self.is_outdated = false;
        self.dictionaries = rebuild.schema.dictionaries().clone();
        self.built = Built {
            build_ms: (rebuild.began.elapsed().as_millis() as u64).max(1),
            ..Built::with(&rebuild.schema)
        };
        Ok(())
    }
    /// Documents of `made` whose originals have died since the round began.
    fn died_of(&self, sources: &[Segment], made: &Segment) -> Vec<u32> {
        let now = |source: &Segment| {
            self.segments.iter().find(|segment| segment.file().serial() == source.file().serial())
        };
        let each =
            |source| died_since(source, now(source)).filter_map(|doc| made.doc_of(source.object_id(doc)));
        sources.iter().flat_map(each).collect()
    }
    /// Indexes every record again under another schema before it returns; as [`Self::start_rebuild`] and
    /// [`Self::finish_rebuild`].
    pub fn rebuild(&mut self, schema: &Schema) -> Result<()> {
        self.start_rebuild(schema)?;
        self.finish_rebuild()
    }

    /// Segments that may be merged: while a rebuild runs those that it will look at later, before it none.
    pub(super) fn free_of_rebuild(&self) -> Vec<Segment> {
        match &self.rebuild {
            None => self.segments.clone(),
            Some(rebuild) if rebuild.running.is_none() => Vec::new(),
            Some(rebuild) => self.segments.iter().filter(|s| !rebuild.covers(s)).cloned().collect(),
        }
    }
    /// Removes the files of rebuilt segments that died before they were part of a durable state.
    pub(super) fn forget_synced(&mut self) {
        let live: FxHashSet<&str> = self.segments.iter().map(|s| s.file().name.as_str()).collect();
        let dead = self.synced.drain().filter(|(name, _)| !live.contains(name.as_str()));
        remove(&self.overlay, dead.flat_map(|(_, files)| files).map(|(name, _)| name));
    }
}

#[cfg(test)]
#[path = "rebuild_tests.rs"]
mod tests;
