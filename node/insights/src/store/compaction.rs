//! How do many small files become few, and how do forgotten users leave them? Planned here, done beside, and then put in force.

use super::manifest::{FileMeta, Manifest, Period};
use super::{EventStore, Written};
use crate::error::Result;
use crate::forgotten::Forgotten;
use crate::merge::Sorted;
use crate::rollup::Forgetting;
use crate::rows::EventRow;
use crate::segment::{RowFilter, Segment, Swept, sweep};
use quorate_store::files::Files;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Files of one hour, or late ones of a day, about as large as each other, that become one.
const MERGED: usize = 8;
/// How long after the end of a day its hours become one.
const DAY_IS_OVER_MS: u64 = 2 * 3_600_000;
/// Rows of a file that is made of others at most.
const MERGED_ROWS_MAX: u64 = 4_000_000;
/// Rows between two looks at whether to stop.
const LOOK_ROWS: usize = 1_024;

/// What is to be written anew.
pub struct Compaction {
    files: Arc<dyn Files>,
    folder: PathBuf,
    forgotten: Forgotten,
    work: Work,
}

enum Work {
    /// What is derived of files: before these, so that it goes on to say what they say.
    Derived(Forgetting),
    /// A file that may have forgotten users.
    Sweep(FileMeta, u64, Segment),
    /// Files that become one.
    Merge(FileMeta, Vec<u64>, Vec<Segment>),
}

/// What became of it.
pub struct Compacted {
    from: Vec<u64>,
    forgotten: Forgotten,
    become_of: Become,
}

enum Become {
    /// What is derived has nothing of them any more.
    Derived,
    /// It cannot be read.
    Unreadable,
    /// Nothing of it is to go.
    Same,
    /// Nothing is left.
    Nothing,
    /// This file, which is there.
    File(FileMeta),
}

impl EventStore {
    /// What is to be done next at a moment (Unix milliseconds), if anything: forgetting first. One at a time.
    pub fn compaction(&mut self, now_ms: u64) -> Option<Compaction> {
        let forgotten = self.manifest.forgotten.clone();
        let work = match self.to_sweep() {
            Some(_) if self.derived_without.as_ref() != Some(&forgotten) => {
                Work::Derived(self.rollups.forgetting(self.view().of_files()))
            }
            Some((period, number, segment)) => Work::Sweep(self.meta(period), number, segment),
            None => {
                let (period, from) = self.to_merge(now_ms)?;
                let open = self.by_number();
                let segments = from.iter().filter_map(|number| open.get(number).cloned()).collect();
                Work::Merge(self.meta(period), from, segments)
            }
        };
        Some(Compaction { files: self.files.clone(), folder: self.folder.clone(), forgotten, work })
    }
    /// Where a new file comes.
    fn meta(&mut self, period: Period) -> FileMeta {
        let meta = FileMeta { period, number: self.next, facts: Arc::default() };
        self.next += 1;
        meta
    }
    fn to_sweep(&self) -> Option<(Period, u64, Segment)> {
        if self.manifest.forgotten.is_empty() {
            return None;
        }
        // what is lost stays in the manifest, and so does whom it may still have
        let mut open = self.metas().zip(self.segments.iter());
        let is_done = |number| self.swept.contains(number) || self.not_swept.contains(number);
        let (meta, segment) = open.find(|(meta, _)| !is_done(&meta.number))?;
        Some((meta.period, meta.number, segment.clone()))
    }
    fn to_merge(&self, now_ms: u64) -> Option<(Period, Vec<u64>)> {
        let mut hours_of_days: BTreeMap<Period, Vec<&FileMeta>> = BTreeMap::new();
        let mut alike: BTreeMap<(Period, u32), Vec<&FileMeta>> = BTreeMap::new();
        for (meta, segment) in self.metas().zip(self.segments.iter()) {
            if !segment.unreadable().is_empty() {
                continue;
            }
            let day = Period { hour: None, ..meta.period };
            let size = meta.facts.rows.max(1).ilog2() / MERGED.ilog2();
            alike.entry((meta.period, size)).or_default().push(meta);
            if meta.period != day && day.end_ms().saturating_add(DAY_IS_OVER_MS) <= now_ms {
                hours_of_days.entry(day).or_default().push(meta);
            }
        }
        let rows = |metas: &[&FileMeta]| metas.iter().map(|meta| meta.facts.rows).sum::<u64>();
        let hours = alike.into_iter().filter_map(|((period, _), mut metas)| {
            metas.truncate(MERGED);
            (metas.len() == MERGED && rows(&metas) <= MERGED_ROWS_MAX).then_some((period, metas))
        });
        let days = hours_of_days.into_iter().map(|(day, mut metas)| {
            while metas.len() > 1 && rows(&metas) > MERGED_ROWS_MAX {
                metas.pop();
            }
            (day, metas)
        });
        let mut due = days.chain(hours);
        due.next().map(|(period, metas)| (period, metas.iter().map(|meta| meta.number).collect()))
    }

    /// Puts the new file in the place of those it was made of, unless these are gone meanwhile. When it fails everything is as it was.
    pub fn put(&mut self, compacted: Compacted) -> Result<()> {
        let Compacted { from, forgotten, become_of } = compacted;
        if let Become::Derived = become_of {
            self.derived_without = Some(forgotten);
            return Ok(());
        }
        if let Become::Unreadable = become_of {
            // others go on, and what it may have stays passed over
            self.not_swept.extend(from);
            return Ok(());
        }
        let mut manifest = self.manifest.clone();
        let mut swept = from.clone();
        let mut written = Written::new(&*self.files, &self.folder);
        if let Become::File(meta) = &become_of {
            written.paths.push(self.folder.join(meta.path()));
        }
        if !from.iter().all(|number| manifest.has(*number)) {
            return Ok(());
        }
        if !matches!(become_of, Become::Same) {
            manifest.metas.retain(|meta| !from.contains(&meta.number));
            swept.clear();
        }
        if let Become::File(meta) = become_of {
            swept.push(meta.number);
            manifest.metas.push(meta);
        }
        if manifest.forgotten != forgotten {
            // others are to be forgotten since: files are looked through again
            swept.clear();
        }
        let is_swept = |meta: &FileMeta| self.swept.contains(&meta.number) || swept.contains(&meta.number);
        let is_derived = self.derived_without.as_ref() == Some(&forgotten);
        if is_derived && manifest.forgotten == forgotten && manifest.metas.iter().all(is_swept) {
            manifest.forgotten = Forgotten::default();
        }
        let new = written.keep();
        self.force_if_new(manifest, new)?;
        self.swept.extend(swept);
        if self.manifest.forgotten.is_empty() {
            self.swept.clear();
        }
        Ok(())
    }
    fn force_if_new(&mut self, manifest: Manifest, new: Vec<PathBuf>) -> Result<()> {
        if manifest == self.manifest { Ok(()) } else { self.put_in_force(manifest, new) }
    }
}

impl Compaction {
    /// Writes the new file. `None` when it was stopped. Cost: of a merge some microseconds a row, with a row group of each file in memory;
    /// forgetting reads what has the user, and copies the rest.
    pub fn run(self, stop: &AtomicBool) -> Result<Option<Compacted>> {
        let Compaction { files, folder, forgotten, work } = self;
        let mut written = Written::new(&*files, &folder);
        let (from, become_of) = match work {
            Work::Derived(forgetting) => match forgetting.run(stop)? {
                true => (vec![], Become::Derived),
                false => return Ok(None),
            },
            Work::Sweep(mut meta, number, segment) => {
                let path = written.path(&meta)?;
                let become_of = match sweep(&segment, &forgotten, &*files, &path, stop) {
                    Err(error) if error.is_damage() => Become::Unreadable,
                    Err(error) => return Err(error),
                    Ok(None) => return Ok(None),
                    Ok(Some(Swept::Same)) => Become::Same,
                    Ok(Some(Swept::Nothing)) => Become::Nothing,
                    Ok(Some(Swept::File(facts))) => {
                        meta.facts = Arc::new(facts);
                        Become::File(meta)
                    }
                };
                (vec![number], become_of)
            }
            Work::Merge(meta, from, segments) => {
                let mut rows = Rows::new(&segments, &forgotten, stop)?;
                let mut rows = rows.by_ref().peekable();
                let become_of = match rows.peek() {
                    None => Become::Nothing,
                    Some(_) => Become::File(written.write(meta, &mut rows)?),
                };
                (from, become_of)
            }
        };
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if !matches!(become_of, Become::Unreadable) {
            written.keep();
        }
        Ok(Some(Compacted { from, forgotten, become_of }))
    }
}

/// What is to be kept of files: no forgotten users, and of rows that are equal in every respect but their place in the log the first.
struct Rows<'r> {
    sorted: Sorted<'r>,
    last: Option<EventRow>,
    seen: usize,
    stop: &'r AtomicBool,
}

impl<'r> Rows<'r> {
    fn new(segments: &'r [Segment], forgotten: &'r Forgotten, stop: &'r AtomicBool) -> Result<Self> {
        let sorted = Sorted::new(segments.iter(), &[], RowFilter::ALL, |row| !forgotten.hides(row))?;
        Ok(Rows { sorted, last: None, seen: 0, stop })
    }
}
impl Iterator for Rows<'_> {
    type Item = Result<EventRow>;

    fn next(&mut self) -> Option<Result<EventRow>> {
        loop {
            self.seen += 1;
            if self.seen.is_multiple_of(LOOK_ROWS) && self.stop.load(Ordering::Relaxed) {
                return None;
            }
            let row = match self.sorted.step() {
                Ok(row) => row?,
                Err(error) => return Some(Err(error)),
            };
            let repeats = |last: &EventRow| {
                last.is_of_same_user(&row)
                    && (last.time_ms, last.fingerprint) == (row.time_ms, row.fingerprint)
            };
            if !self.last.as_ref().is_some_and(repeats) {
                self.last = Some(row.clone());
                return Some(Ok(row));
            }
        }
    }
}
