//! When and how segments are merged: few small ones beside a big one while writes go on, a single one when they pause.

use super::background::Background;
use super::build::merge_segments;
use super::error::{IndexError, Result};
use super::heavy::HeavyPermit;
use super::segment::{Segment, SegmentFile};
use super::writer::{ShardWriter, kill};
use std::sync::Arc;

/// Segments that are left alone while writes go on.
const SEGMENTS_KEPT: usize = 8;
/// One of so many documents may be dead before a segment is rewritten.
const DEAD_FRACTION: u32 = 5;
/// Documents of a segment that is worth rewriting for its dead ones.
const DEAD_MIN: u32 = 256;
/// A big segment is rewritten for small ones beside it once they hold more than one in so many of its records.
const BIG_FRACTION: u64 = 32;

/// How far to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeGoal {
    /// While writes go on: at most one big and about eight small segments.
    Few,
    /// When writes have paused: one segment, or a big one beside a small one that is not worth rewriting it for.
    One,
}
/// What [`ShardWriter::merge_step`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeState {
    /// Nothing to do.
    Idle,
    /// A merge runs in the background, or a big one waits for its turn; ask again later.
    Running,
    /// A merge has ended; publish to search the merged segment.
    Merged,
}

/// A merge in the background.
pub(crate) struct RunningMerge {
    sources: Vec<Segment>,
    thread: Background<Result<Option<Arc<SegmentFile>>>>,
}
impl RunningMerge {
    /// Waits for the end and ignores the result; the overlay must be closed, so that the end is near.
    pub fn abandon(self) {
        self.thread.abandon();
    }
}

impl ShardWriter {
    /// Takes over a merge that has ended, else starts one when `goal` asks for it. At most one runs at a time.
    ///
    /// Errors: those of the merge; the writer stays usable, with its segments as they were.
    pub fn merge_step(&mut self, goal: MergeGoal) -> Result<MergeState> {
        if let Some(merge) = &self.merge {
            if !merge.thread.has_ended() {
                return Ok(MergeState::Running);
            }
            self.wait_for_merge()?;
            return Ok(MergeState::Merged);
        }
        let free = self.free_of_rebuild();
        let chosen: Vec<Segment> = choose(&free, goal).into_iter().map(|i| free[i].clone()).collect();
        if chosen.is_empty() {
            return Ok(MergeState::Idle);
        }
        let records = chosen.iter().map(|segment| u64::from(segment.alive_count())).sum();
        let Some(permit) = self.options.heavy.take_for(records) else { return Ok(MergeState::Running) };
        self.start_merge(chosen, permit)?;
        Ok(MergeState::Running)
    }

    fn start_merge(&mut self, sources: Vec<Segment>, permit: HeavyPermit) -> Result<()> {
        let (overlay, extractor, inputs) = (self.overlay.clone(), self.extractor.clone(), sources.clone());
        let work = move || {
            let _until_the_end = permit;
            merge_segments(&overlay, &extractor, &inputs).map_err(|e| overlay.explain(e))
        };
        let thread = Background::start("merge", &self.options.waker, work)
            .map_err(|e| IndexError::io(self.overlay.dir(), e))?;
        self.merge = Some(RunningMerge { sources, thread });
        Ok(())
    }

    /// Waits for the running merge, if any, and takes its result over.
    pub fn wait_for_merge(&mut self) -> Result<()> {
        let Some(RunningMerge { sources, thread }) = self.merge.take() else { return Ok(()) };
        let result = thread.join();
        let still: Vec<Option<usize>> = sources
            .iter()
            .map(|source| self.segments.iter().position(|s| s.file().serial() == source.file().serial()))
            .collect();
        if still.iter().all(Option::is_none) {
            // all were cleared or died meanwhile: whatever came out is not wanted
            self.sweep();
            return self.remove_orphans();
        }
        if result.is_err() {
            self.sweep();
        }
        let merged = result?.map(|file| Segment::new(file, None));
        let mut died = Vec::new();
        for (source, place) in sources.iter().zip(&still) {
            let now = place.map(|i| &self.segments[i]);
            if let Some(merged) = &merged {
                died.extend(died_since(source, now).filter_map(|doc| merged.doc_of(source.object_id(doc))));
            }
        }
        let old: Vec<u64> = sources.iter().map(|s| s.file().serial()).collect();
        self.segments.retain(|s| !old.contains(&s.file().serial()));
        if let Some(mut segment) = merged {
            kill(&mut segment, &died);
            if segment.alive_count() > 0 {
                self.segments.push(segment);
            }
        }
        self.sweep();
        self.remove_orphans()
    }
}

/// Documents that were alive in `source` and are not in `now`, the same segment at present.
pub(super) fn died_since<'a>(
    source: &'a Segment,
    now: Option<&'a Segment>,
) -> impl Iterator<Item = u32> + 'a {
    (0..source.doc_count())
        .filter(move |&doc| source.is_alive(doc) && !now.is_some_and(|now| now.is_alive(doc)))
}

/// Indices of the segments to merge; none when nothing is worth it.
fn choose(segments: &[Segment], goal: MergeGoal) -> Vec<usize> {
    let mut order: Vec<usize> = (0..segments.len()).collect();
    order.sort_by_key(|&i| segments[i].alive_count());
    let decayed = |s: &Segment| {
        s.doc_count() >= DEAD_MIN && s.doc_count() - s.alive_count() > s.doc_count() / DEAD_FRACTION
    };
    match goal {
        MergeGoal::One => {
            let Some((&big, small)) = order.split_last() else { return Vec::new() };
            let beside: u64 = small.iter().map(|&i| u64::from(segments[i].alive_count())).sum();
            if !decayed(&segments[big]) && beside * BIG_FRACTION < u64::from(segments[big].alive_count()) {
                return if small.len() > 1 { small.to_vec() } else { Vec::new() };
            }
            order
        }
        MergeGoal::Few => {
            if segments.len() > SEGMENTS_KEPT + 1 {
                return smallest(segments, &order);
            }
            order.retain(|&i| decayed(&segments[i]));
            order
        }
    }
}

/// The small segments, as long as the next one is not much larger than those before it together: each document is then
/// merged about log2 n times.
fn smallest(segments: &[Segment], order: &[usize]) -> Vec<usize> {
    let mut sum = 0u64;
    let mut count = 0;
    for &i in order {
        let size = u64::from(segments[i].alive_count());
        if count > segments.len() - SEGMENTS_KEPT && size > sum {
            break;
        }
        sum += size;
        count += 1;
    }
    order[..count].to_vec()
}
