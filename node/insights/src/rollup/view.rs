//! Which rollups say what the rows of an index say?

use super::block::{Block, Built};
use super::derive;
use super::held::MadeOf;
use super::rolling::{times_of, touches};
use super::without::users_of;
use crate::chains::HOUR_MS;
use crate::error::Result;
use crate::merge::REPEATED_WITHIN_MS;
use crate::rows::Parts;
use crate::segment::{RowFilter, Segment};
use crate::store::EventView;
use quorate_model::analytics::{DAY_MS, Day};
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// By how much more rows of a day may be read when it is read hour by hour.
const HOURS_READ_MAX: u64 = 2;

/// Rollups of an index as of one moment.
pub(crate) struct Source<'v> {
    view: &'v EventView,
    index: Arc<str>,
    /// Files that may have rows of the index.
    files: Vec<&'v Segment>,
    /// Rows in memory of the index: how many touch an hour, and the last log index of these.
    waiting: BTreeMap<u64, (u64, u64)>,
    /// Sorted hashes of users who are to be forgotten.
    forgotten: Vec<u64>,
    /// Origins of all files, also of those that have nothing of the index.
    there: FxHashSet<u64>,
    /// Whether records shown are asked for.
    shown: bool,
    /// Days whose files are not used.
    broken: BTreeSet<Day>,
    /// Whether something of the file of a day could not be read.
    opened: RefCell<BTreeMap<Day, Arc<AtomicBool>>>,
}

impl<'v> Source<'v> {
    /// Those of a view, but for the files of some days. Cost: a look at what is known of each file, and at rows of the index in memory.
    pub fn new(view: &'v EventView, index: &str, shown: bool, broken: BTreeSet<Day>) -> Source<'v> {
        let wanted = RowFilter { index: Some(index), ..RowFilter::ALL };
        let there = view.segments().iter().map(Segment::origin).collect();
        let files = view.segments().iter().filter(|segment| segment.may_have(wanted)).collect();
        let rows = view.waiting();
        let from = rows.partition_point(|row| *row.index < *index);
        let rows = rows[from..].iter().take_while(|row| *row.index == *index);
        let mut waiting: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for row in rows {
            let hours = [row.time_ms, row.time_ms.saturating_add(REPEATED_WITHIN_MS)]
                .map(|time_ms| time_ms / HOUR_MS);
            for hour in hours[0]..=hours[1] {
                let (count, last) = waiting.entry(hour).or_default();
                (*count, *last) = (*count + 1, row.log_index.max(*last));
            }
        }
        let forgotten = view.forgotten().hashes();
        let (index, opened) = (index.into(), RefCell::default());
        Source { view, index, files, waiting, forgotten, there, shown, broken, opened }
    }
    /// The blocks of a day. `None` when `is_over` said so. Cost: those that are not there are derived from rows.
    pub fn of_day(&self, day: Day, is_over: &dyn Fn() -> bool) -> Result<Option<Vec<Block>>> {
        if let Some(blocks) = self.of_file(day) {
            return self.without_forgotten(blocks, &times_of(day), is_over);
        }
        let mut all = vec![];
        for times_ms in self.pieces(day) {
            let Some(blocks) = self.of(times_ms, is_over)? else { return Ok(None) };
            all.extend(blocks.iter().cloned());
        }
        Ok(Some(all))
    }
    /// Whether something of files could not be read.
    pub fn meets_broken(&self) -> bool {
        self.opened.borrow().values().any(|broken| broken.load(Ordering::Relaxed))
    }
    /// Days whose files are not to be used: those that were not to be before, and those that could not be read, which go.
    pub fn broken(&self) -> BTreeSet<Day> {
        let (opened, mut all) = (self.opened.borrow(), self.broken.clone());
        for (day, _) in opened.iter().filter(|(_, broken)| broken.load(Ordering::Relaxed)) {
            self.view.rollups().remove(*day);
            all.insert(*day);
        }
        all
    }
    /// The blocks of the file of a day, if it says what rows say.
    fn of_file(&self, day: Day) -> Option<Vec<Block>> {
        let times_ms = times_of(day);
        let files: Vec<u64> = self.files_of(&times_ms).map(Segment::origin).collect();
        if files.is_empty() || self.waiting_in(&times_ms).0 > 0 || self.broken.contains(&day) {
            return None;
        }
        let rollups = self.view.rollups();
        let opened = rollups.opened(day)?;
        let made_of = opened.made_of();
        let is_of_them = made_of.iter().all(|file| self.there.contains(file))
            && files.iter().all(|file| made_of.binary_search(file).is_ok());
        if !is_of_them {
            return None;
        }
        match opened.blocks(&self.index) {
            Ok(blocks) => {
                self.opened.borrow_mut().insert(day, opened.broken());
                Some(blocks)
            }
            Err(_) => {
                rollups.remove(day);
                None
            }
        }
    }
    /// Blocks of some time without users who are to be forgotten. Cost: nothing when they have none; otherwise some nanoseconds a search,
    /// and the rows of these users are read.
    fn without_forgotten(
        &self,
        blocks: Vec<Block>,
        times_ms: &Range<u64>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Option<Vec<Block>>> {
        let users = users_of(&blocks, &self.forgotten)?;
        if users.is_empty() {
            return Ok(Some(blocks));
        }
        let mut left: Vec<Block> = blocks.iter().map(|block| block.except(&users)).collect::<Result<_>>()?;
        let is_whole = self.derive(Some(&users), times_ms, is_over, &mut |built| {
            left.push(Block::held(built));
            Ok(())
        })?;
        Ok(is_whole.then_some(left))
    }
    /// Derives blocks of the rows of all users, or of some, whose hashes are sorted. Returns whether these are all.
    fn derive(
        &self,
        users: Option<&[u64]>,
        times_ms: &Range<u64>,
        is_over: &dyn Fn() -> bool,
        give: &mut dyn FnMut(Built) -> Result<()>,
    ) -> Result<bool> {
        let parts = Parts { shown: self.shown, ..Parts::ALL };
        // what is lost is told, and the rest is answered
        let passes_over_damage = true;
        let wanted =
            RowFilter { index: Some(&self.index), users, parts, passes_over_damage, ..RowFilter::ALL };
        derive::blocks(self.view.rows(wanted, times_ms.clone())?, times_ms.start, is_over, give)
    }
    /// Hours of a day that have rows, or the day when its files have hours mixed.
    fn pieces(&self, day: Day) -> Vec<Range<u64>> {
        let start_ms = day.start_ms();
        let whole = times_of(day);
        let of_day = self.rows_of(&whole);
        let hour = |number| start_ms + number * HOUR_MS..start_ms + (number + 1) * HOUR_MS;
        let hours = (0..DAY_MS / HOUR_MS).map(hour).map(|hour| (self.rows_of(&hour), hour));
        let hours: Vec<(u64, Range<u64>)> =
            hours.filter(|(rows, hour)| *rows > 0 || self.waiting_in(hour).0 > 0).collect();
        let of_hours: u64 = hours.iter().map(|(rows, _)| rows).sum();
        match of_hours <= of_day.saturating_mul(HOURS_READ_MAX) {
            true => hours.into_iter().map(|(_, hour)| hour).collect(),
            false => vec![whole],
        }
    }
    /// Files that have to be read for some time.
    fn files_of(&self, times_ms: &Range<u64>) -> impl Iterator<Item = &'v Segment> {
        let times_ms = times_ms.clone();
        self.files.iter().copied().filter(move |segment| touches(segment, &times_ms))
    }
    /// How many rows these have.
    fn rows_of(&self, times_ms: &Range<u64>) -> u64 {
        self.files_of(times_ms).map(|segment| segment.facts().rows).sum()
    }
    fn waiting_in(&self, times_ms: &Range<u64>) -> (u64, u64) {
        let hours = self.waiting.range(times_ms.start / HOUR_MS..times_ms.end.div_ceil(HOUR_MS));
        hours.fold((0, 0), |(rows, last), (_, (more, later))| (rows + more, *later.max(&last)))
    }
    fn of(&self, times_ms: Range<u64>, is_over: &dyn Fn() -> bool) -> Result<Option<Arc<[Block]>>> {
        // of what they have, also when it comes from the same rows: what is in memory has whoever was in them
        let mut files: Vec<u64> = self.files_of(&times_ms).map(Segment::digest).collect();
        files.sort_unstable();
        let made_of = MadeOf { files, waiting: self.waiting_in(&times_ms), shown: self.shown };
        let rollups = self.view.rollups();
        if let Some(held) = rollups.held(&self.index, &times_ms, &made_of) {
            let blocks = self.without_forgotten(held.to_vec(), &times_ms, is_over)?;
            return Ok(blocks.map(Arc::from));
        }
        let mut blocks = vec![];
        let is_whole = self.derive(None, &times_ms, is_over, &mut |built| {
            blocks.push(Block::held(built));
            Ok(())
        })?;
        if !is_whole {
            return Ok(None);
        }
        let blocks: Arc<[Block]> = blocks.into();
        rollups.hold(&self.index, &times_ms, made_of, &blocks);
        Ok(Some(blocks))
    }
}
