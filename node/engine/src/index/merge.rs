//! When and how segments are merged: few small ones beside a big one while writes go on, a single one when they pause.

use super::background::Background;
use super::background_turn::BackgroundPermit;
use super::build::merge_segments;
use super::error::{IndexError, Result};
use super::new_segment::NewSegment;
use super::segment::Segment;
use super::writer::{ShardWriter, kill};
use quorate_store::space::Claim;

/// Small segments that are left alone while writes go on.
const SEGMENTS_KEPT: usize = 8;
/// The same while a load is under way.
const SEGMENTS_KEPT_LOADING: usize = 35;
/// Segments that a merge during a load takes at least.
const LOAD_AT_ONCE: usize = 12;
/// One of so many documents may be dead before a segment is rewritten.
const DEAD_FRACTION: u32 = 5;
/// Documents of a segment that is worth rewriting for its dead ones.
const DEAD_MIN: u32 = 256;
/// A big segment is rewritten for small ones beside it once they hold more than one in so many of its records.
const BIG_FRACTION: u64 = 32;

/// How far to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeGoal {
    /// While more writes wait than are carried out: up to three dozen segments, so that records are merged seldom.
    Load,
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
    thread: Background<Result<Option<NewSegment>>>,
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
        // the sources go when the commit that has the merged segment is durable
        let bytes = chosen.iter().map(live_bytes).sum();
        let Some(claim) = self.options.room.claim_spare(bytes) else { return Ok(MergeState::Idle) };
        let Some(permit) = self.options.background_turn.take_for(records) else {
            return Ok(MergeState::Running);
        };
        self.start_merge(chosen, permit, claim)?;
        Ok(MergeState::Running)
    }

    fn start_merge(&mut self, sources: Vec<Segment>, permit: BackgroundPermit, claim: Claim) -> Result<()> {
        let (overlay, extractor, inputs) = (self.overlay.clone(), self.extractor.clone(), sources.clone());
        let ready = self.options.ready;
        let work = move || {
            let _until_the_end = (permit, claim);
            let merged =
                merge_segments(&overlay, &extractor, &inputs, ready).map_err(|e| overlay.explain(e))?;
            merged.map(|file| NewSegment::durable_if_large(&overlay, file)).transpose()
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
            if let Ok(Some(made)) = result {
                made.remove(&self.overlay);
            }
            self.sweep();
            self.remove_orphans();
            return Ok(());
        }
        if result.is_err() {
            self.sweep();
        }
        let merged = result?.map(|made| self.take_over(made));
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
        self.remove_orphans();
        Ok(())
    }
    /// A segment made beside the writer, to be part of the next durable commit.
    pub(super) fn take_over(&mut self, made: NewSegment) -> Segment {
        if !made.files.is_empty() {
            self.synced.insert(made.file.name.clone(), made.files);
        }
        Segment::new(made.file, None)
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

/// Bytes of disk that the live part of a segment takes in a merged one, about.
fn live_bytes(segment: &Segment) -> u64 {
    let (alive, docs) = (u128::from(segment.alive_count()), u128::from(segment.doc_count().max(1)));
    (u128::from(segment.file().origin().disk_bytes) * alive / docs) as u64
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
        MergeGoal::Load if segments.len() <= SEGMENTS_KEPT_LOADING => Vec::new(),
        MergeGoal::Load => smallest(&sizes(segments, &order), LOAD_AT_ONCE, order),
        MergeGoal::Few if segments.len() <= SEGMENTS_KEPT + 1 => {
            order.retain(|&i| decayed(&segments[i]));
            order
        }
        MergeGoal::Few => smallest(&sizes(segments, &order), segments.len() - SEGMENTS_KEPT + 1, order),
    }
}
fn sizes(segments: &[Segment], order: &[usize]) -> Vec<u64> {
    order.iter().map(|&i| u64::from(segments[i].alive_count())).collect()
}

/// The small segments, at least so many, and then as long as the next one is not much larger than those before it
/// together. Each record is then merged about log n times, to a base that grows with how many are taken.
fn smallest(sizes: &[u64], at_least: usize, mut order: Vec<usize>) -> Vec<usize> {
    let mut sum = 0u64;
    let mut count = 0;
    for &size in sizes {
        if count >= at_least && size > sum {
            break;
        }
        sum += size;
        count += 1;
    }
    order.truncate(count);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records merged for each record loaded, when so many equal segments come one after another.
    fn cost(segments: usize, kept: usize, at_least: impl Fn(usize) -> usize) -> f64 {
        let mut sizes: Vec<u64> = Vec::new();
        let mut merged = 0;
        for published in std::iter::repeat_n(10_000, segments) {
            sizes.push(published);
            if sizes.len() > kept {
                sizes.sort_unstable();
                let taken = smallest(&sizes, at_least(sizes.len()), (0..sizes.len()).collect()).len();
                let sum = sizes.drain(..taken).sum();
                merged += sum;
                sizes.push(sum);
            }
        }
        merged as f64 / (segments as f64 * 10_000.0)
    }

    #[test]
    fn a_load_merges_each_record_seldom() {
        for (segments, load_at_most) in [(30, 0.0), (300, 1.8), (3_000, 2.8)] {
            let few = cost(segments, SEGMENTS_KEPT + 1, |count| count - SEGMENTS_KEPT + 1);
            let load = cost(segments, SEGMENTS_KEPT_LOADING, |_| LOAD_AT_ONCE);
            assert!(load <= load_at_most && load < few, "{segments} segments: few {few:.2}, load {load:.2}");
        }
    }
}
