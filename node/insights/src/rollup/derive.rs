//! Which searches count, among rows that several nodes wrote?
//!
//! Rows come by index, user and time, so that what one user typed at an index stands together, with the events that name it between.
//! They are read a row group of each file at a time, and become one block after another.

use super::block::Built;
use super::build::Builder;
use crate::chains::{Chain, Typed};
use crate::error::Result;
use crate::rows::EventRow;

/// Rows between two looks at whether to stop.
const LOOK_ROWS: usize = 1_024;

/// Makes blocks of sorted rows, whose times are told from a moment on (Unix milliseconds). Returns whether these are all: not
/// when `is_over` said so.
pub(super) fn blocks(
    rows: impl Iterator<Item = Result<EventRow>>,
    from_ms: u64,
    is_over: &dyn Fn() -> bool,
    give: &mut dyn FnMut(Built) -> Result<()>,
) -> Result<bool> {
    let mut joined =
        Joined { from_ms, chain: Chain::default(), of: None, builder: Builder::new(from_ms), give };
    for (number, row) in rows.enumerate() {
        if number.is_multiple_of(LOOK_ROWS) && is_over() {
            return Ok(false);
        }
        joined.take(row?)?;
    }
    joined.end_user();
    joined.flush()?;
    Ok(true)
}

struct Joined<'g> {
    from_ms: u64,
    chain: Chain,
    /// Whose rows are being taken.
    of: Option<EventRow>,
    builder: Builder,
    give: &'g mut dyn FnMut(Built) -> Result<()>,
}

impl Joined<'_> {
    fn end_user(&mut self) {
        if let (Some(last), Some(of)) = (self.chain.end(), &self.of) {
            self.builder.search(of.user_hash, &last);
        }
    }
    fn flush(&mut self) -> Result<()> {
        let Some(of) = self.of.as_ref().filter(|_| !self.builder.is_empty()) else { return Ok(()) };
        let builder = std::mem::replace(&mut self.builder, Builder::new(self.from_ms));
        (self.give)(builder.finish(&of.index))
    }
    fn take(&mut self, mut row: EventRow) -> Result<()> {
        let is_same = self.of.as_ref().is_some_and(|of| of.is_of_same_user(&row));
        if !is_same {
            self.end_user();
        }
        if self.builder.is_full() || self.of.as_ref().is_some_and(|of| of.index != row.index) {
            self.flush()?;
        }
        let search = row.search.take();
        if !is_same {
            self.of = Some(row.clone());
        }
        match search {
            Some(search) => {
                let complete = self.chain.then(Typed::at(row.time_ms, *search));
                complete.iter().for_each(|typed| self.builder.search(row.user_hash, typed));
            }
            None => {
                row.query_id.iter().for_each(|id| self.chain.named(*id));
                self.builder.event(&row);
            }
        }
        Ok(())
    }
}
