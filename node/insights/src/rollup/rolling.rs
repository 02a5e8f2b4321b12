//! When are rollups of days written, and which go?
//!
//! A day whose hours are over becomes a file beside the group's rows, and again when its rows are others; planned here, done beside. What
//! is there already is as it was until the new file takes its place.

use super::Rollups;
use super::derive;
use super::file::{self, Opened};
use crate::error::{Error, Result};
use crate::merge::REPEATED_WITHIN_MS;
use crate::segment::{RowFilter, Segment};
use crate::store::EventView;
use quorate_model::analytics::{DAY_MS, Day};
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// How long after the end of a day it becomes a file: when its hours have become one.
const DAY_IS_OVER_MS: u64 = 2 * 3_600_000;
/// How long a day that was written waits for being written again at most, and rows that let it wait for a millisecond.
const AGAIN_AFTER_MS: u64 = 240_000;
const ROWS_OF_MS: u64 = 10;

/// What is there when nothing is to be done: the number of the next file of rows, how many there are, and the day.
pub(crate) type Settled = (u64, usize, u64);

/// What is known of days that are files.
#[derive(Default)]
pub(super) struct Written {
    settled: Option<Settled>,
    /// Bytes of all files, if they are known.
    pub bytes: Option<u64>,
    /// What each was made of, and when it was written.
    days: BTreeMap<Day, (Vec<u64>, u64)>,
}

/// Days that may have to be written.
pub struct Rolling {
    /// Files alone: what is in memory changes them soon.
    view: EventView,
    rollups: Arc<Rollups>,
    now_ms: u64,
    state: Settled,
}

impl Rollups {
    /// What is to be done at a moment (Unix milliseconds), with files as they are. `None` when nothing is.
    pub(crate) fn rolling(
        self: &Arc<Self>,
        view: EventView,
        now_ms: u64,
        places: (u64, usize),
    ) -> Option<Rolling> {
        let state = (places.0, places.1, now_ms.saturating_sub(DAY_IS_OVER_MS) / DAY_MS);
        let is_settled = self.written().settled == Some(state);
        (!is_settled).then(|| Rolling { view, rollups: self.clone(), now_ms, state })
    }
}

/// Whether the rollup of some time is made of a file, too: of its rows, or since its rows are what others repeat.
pub(super) fn touches(segment: &Segment, times_ms: &Range<u64>) -> bool {
    let [first, last] = segment.facts().times_ms;
    first < times_ms.end && last >= times_ms.start.saturating_sub(REPEATED_WITHIN_MS)
}
/// The time of a day, Unix milliseconds.
pub(super) fn times_of(day: Day) -> Range<u64> {
    day.start_ms()..day.start_ms().saturating_add(DAY_MS)
}

impl Rolling {
    /// Writes what is to be written, and removes what nothing belongs to. Ends soon when `is_over` says so. Cost: some microseconds for
    /// each row of a day that is written; a row group of each of its files, and a block, are in memory. Errors: also of days whose
    /// files are damaged, when the others are there.
    pub fn run(self, is_over: &dyn Fn() -> bool) -> Result<()> {
        let days = self.days();
        let (mut is_settled, mut damage) = (true, None);
        for (day, made_of, rows) in &days {
            match self.day(*day, made_of, *rows, is_over) {
                // until there are other files
                Err(error) if error.is_damage() => damage = damage.or(Some(error)),
                done => is_settled &= done?,
            }
            if is_over() {
                return Ok(());
            }
        }
        self.remove_unknown(&days.iter().map(|(day, ..)| *day).collect())?;
        if is_settled {
            self.rollups.written().settled = Some(self.state);
        }
        damage.map_or(Ok(()), Err)
    }
    /// Days that are over and have rows: origins of their files, and how many rows these have.
    fn days(&self) -> Vec<(Day, Vec<u64>, u64)> {
        let mut of: BTreeSet<Day> = BTreeSet::new();
        for segment in self.view.segments() {
            let [first, last] = segment.facts().times_ms.map(Day::of);
            of.extend((first.0..=last.0).map(Day));
        }
        let is_over = |day: &Day| times_of(*day).end.saturating_add(DAY_IS_OVER_MS) <= self.now_ms;
        let of_day = |day: Day| {
            let segments = self.view.segments().iter().filter(|segment| touches(segment, &times_of(day)));
            let (mut made_of, rows): (Vec<u64>, Vec<u64>) =
                segments.map(|segment| (segment.origin(), segment.facts().rows)).unzip();
            made_of.sort_unstable();
            (day, made_of, rows.iter().sum())
        };
        of.into_iter().filter(is_over).map(of_day).collect()
    }
    /// Writes a day unless it is there. Returns whether it is there now.
    fn day(&self, day: Day, made_of: &[u64], rows: u64, is_over: &dyn Fn() -> bool) -> Result<bool> {
        let known = self.rollups.written().days.get(&day).cloned();
        if known.as_ref().is_some_and(|(known, _)| known == made_of) {
            return Ok(true);
        }
        let path = self.rollups.path(day);
        if known.is_none() && self.rollups.opened(day).is_some_and(|opened| opened.made_of() == made_of) {
            self.rollups.written().days.insert(day, (made_of.to_vec(), 0));
            return Ok(true);
        }
        let again_ms = AGAIN_AFTER_MS.min(rows / ROWS_OF_MS);
        if known.is_some_and(|(_, at_ms)| at_ms.saturating_add(again_ms) > self.now_ms) {
            return Ok(false);
        }
        let times_ms = times_of(day);
        let view = &self.view;
        let written = file::write(&*self.rollups.files, &path, made_of.to_vec(), &mut |give| {
            derive::blocks(view.rows(RowFilter::ALL, times_ms.clone())?, times_ms.start, is_over, give)
        });
        match written {
            Ok(true) => {
                let mut written = self.rollups.written();
                written.bytes = None;
                written.days.insert(day, (made_of.to_vec(), self.now_ms));
                Ok(true)
            }
            Ok(false) => Ok(false),
            Err(error) => {
                // what is not of these rows may have somebody who was forgotten
                self.rollups.remove(day);
                Err(error)
            }
        }
    }
    fn remove_unknown(&self, days: &BTreeSet<Day>) -> Result<()> {
        let known: BTreeSet<_> = days.iter().map(|day| self.rollups.path(*day)).collect();
        for path in self.rollups.list()?.into_iter().filter(|path| !known.contains(path)) {
            self.rollups.files.remove(&path).map_err(|error| Error::io("remove", &path, error))?;
        }
        let mut written = self.rollups.written();
        written.bytes = None;
        written.days.retain(|day, _| days.contains(day));
        Ok(())
    }
}

impl Rollups {
    /// What their folder has.
    pub(super) fn list(&self) -> Result<Vec<PathBuf>> {
        let io = |error| Error::io("list", &self.folder, error);
        match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries.map(|entry| Ok(entry.map_err(io)?.path())).collect(),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(vec![]),
            Err(error) => Err(io(error)),
        }
    }
    /// The file of a day, if there is one that is whole.
    pub(super) fn opened(&self, day: Day) -> Option<Opened> {
        match Opened::open(&*self.files, &self.path(day)) {
            Ok(opened) => opened,
            Err(error) => {
                if error.is_damage() {
                    self.remove(day);
                }
                None
            }
        }
    }
    /// Removes the file of a day, which is written again when it is looked for next.
    pub(super) fn remove(&self, day: Day) {
        let mut written = self.written();
        written.settled = None;
        written.bytes = None;
        written.days.remove(&day);
        // what stays is removed when it is met again
        drop(self.files.remove(&self.path(day)));
    }
}
