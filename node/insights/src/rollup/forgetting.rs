//! How do forgotten users leave files of rollups?
//!
//! Before their rows go: then what is left says what the rows say that are left, so that it need not be derived anew. A day that has nothing of
//! them is as it was; of others the blocks of indices that have something are written without them, and what there is of them since
//! is derived of their rows alone.

use super::block::{Block, Built};
use super::file::{self, Opened};
use super::rolling::{times_of, touches};
use super::without::users_of;
use super::{Rollups, derive};
use crate::error::{Error, Result};
use crate::segment::{RowFilter, Segment};
use crate::store::EventView;
use quorate_model::analytics::Day;
use quorate_store::files::Files;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Blocks of an index beyond which a day is derived anew: each time somebody is forgotten who did something since, there is one more.
const BLOCKS_MAX: usize = 64;

/// Days that forgotten users may have to leave.
pub(crate) struct Forgetting {
    view: EventView,
    rollups: Arc<Rollups>,
}

/// The blocks of a day by index, each with the users whom it is to be without.
type Parted = Vec<(Arc<str>, Vec<Block>, Vec<u64>)>;

impl Rollups {
    /// What is to be done, with files as they are and users who are to be forgotten.
    pub(crate) fn forgetting(self: &Arc<Self>, view: EventView) -> Forgetting {
        Forgetting { view, rollups: self.clone() }
    }
}

impl Forgetting {
    /// Does it. Returns whether it is done: not when it was stopped. Cost: a look at who is in each file; some hundred nanoseconds for each search of
    /// days that have one of them.
    pub fn run(self, stop: &AtomicBool) -> Result<bool> {
        let tokens = self.view.forgotten().hashes();
        for path in self.rollups.list()? {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(day) = name.and_then(Day::parse).filter(|day| self.rollups.path(*day) == path) else {
                // what a crash has left
                remove(&*self.rollups.files, &path)?;
                continue;
            };
            match self.day(day, &tokens, stop) {
                Ok(true) => {}
                Ok(false) if stop.load(Ordering::Relaxed) => return Ok(false),
                // what is not as rows say, or cannot be written, is derived anew
                Ok(false) | Err(_) => self.rollups.remove_surely(day)?,
            }
        }
        Ok(true)
    }
    /// Returns whether the file of a day has nothing of them any more.
    fn day(&self, day: Day, tokens: &[u64], stop: &AtomicBool) -> Result<bool> {
        let Some(opened) = self.rollups.opened(day) else { return Ok(false) };
        let parted = parted(&opened, tokens)?;
        if parted.iter().all(|(_, _, users)| users.is_empty()) {
            return Ok(true);
        }
        let is_small = parted.iter().all(|(_, blocks, _)| blocks.len() < BLOCKS_MAX);
        if !is_small || !self.is_of_rows(day, opened.made_of()) {
            return Ok(false);
        }
        let made_of = opened.made_of().to_vec();
        let is_over = || stop.load(Ordering::Relaxed);
        let written = file::write(&*self.rollups.files, &self.rollups.path(day), made_of, &mut |give| {
            for (index, blocks, users) in &parted {
                if is_over() || !self.index(day, (index, blocks, users), &is_over, give)? {
                    return Ok(false);
                }
            }
            Ok(true)
        });
        self.rollups.written().bytes = None;
        written
    }
    /// Gives the blocks of an index without some users, and those of what they did since. Returns whether these are all.
    fn index(
        &self,
        day: Day,
        (index, blocks, users): (&str, &[Block], &[u64]),
        is_over: &dyn Fn() -> bool,
        give: &mut dyn FnMut(Built) -> Result<()>,
    ) -> Result<bool> {
        for block in blocks {
            match users.is_empty() {
                true => give(block.whole()?)?,
                false => block.stripped(users)?.map_or(Ok(()), &mut *give)?,
            }
        }
        let times_ms = times_of(day);
        let wanted = RowFilter { index: Some(index), users: Some(users), ..RowFilter::ALL };
        if users.is_empty() {
            return Ok(true);
        }
        derive::blocks(self.view.rows(wanted, times_ms.clone())?, times_ms.start, is_over, give)
    }
    /// Whether a day was made of the files that there are.
    fn is_of_rows(&self, day: Day, made_of: &[u64]) -> bool {
        let times_ms = times_of(day);
        let segments = self.view.segments();
        let of_day = segments.iter().filter(|segment| touches(segment, &times_ms));
        let mut there = segments.iter().map(Segment::origin).collect::<Vec<_>>();
        there.sort_unstable();
        of_day.map(Segment::origin).all(|origin| made_of.binary_search(&origin).is_ok())
            && made_of.iter().all(|origin| there.binary_search(origin).is_ok())
    }
}

fn parted(opened: &Opened, tokens: &[u64]) -> Result<Parted> {
    let mut of: BTreeMap<Arc<str>, Vec<Block>> = BTreeMap::new();
    for block in opened.all_blocks()? {
        of.entry(block.facts.index.as_str().into()).or_default().push(block);
    }
    let with_users = |(index, blocks): (Arc<str>, Vec<Block>)| {
        let users = users_of(&blocks, tokens)?;
        Ok((index, blocks, users))
    };
    of.into_iter().map(with_users).collect()
}

impl Rollups {
    /// Removes the file of a day. Errors: it stays.
    fn remove_surely(&self, day: Day) -> Result<()> {
        self.remove(day);
        remove(&*self.files, &self.path(day))
    }
}
fn remove(files: &dyn Files, path: &Path) -> Result<()> {
    match files.remove(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
