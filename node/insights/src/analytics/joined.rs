//! Which searches count, among rows that several nodes wrote?
//!
//! Rows come by user and time, so that what one user typed at an index stands together, with the events that name it between.

use crate::chains::{Chain, Typed};
use crate::error::Result;
use crate::rows::Row;
use std::collections::VecDeque;

/// A search that counts, by a user with this number: those of one user come one after another.
pub(super) type Searched = (u64, Typed);

/// The searches of sorted rows, joined.
pub(super) struct Joined<R> {
    rows: R,
    chain: Chain,
    of: Option<Row>,
    user: u64,
    ready: VecDeque<Searched>,
}

impl<R: Iterator<Item = Result<Row>>> Joined<R> {
    pub fn new(rows: R) -> Self {
        Joined { rows, chain: Chain::default(), of: None, user: 0, ready: VecDeque::new() }
    }
    fn end_chain(&mut self) {
        let last = self.chain.end();
        self.ready.extend(last.map(|typed| (self.user, typed)));
    }
    fn take(&mut self, mut row: Row) {
        if !self.of.as_ref().is_some_and(|of| of.is_of_same_user(&row)) {
            self.end_chain();
            self.user += 1;
            self.of = Some(Row { search: None, ..row.clone() });
        }
        match row.search.take() {
            Some(search) => {
                let complete = self.chain.then(Typed::at(row.time_ms, *search));
                self.ready.extend(complete.map(|typed| (self.user, typed)));
            }
            None => {
                if let Some(id) = row.query_id {
                    self.chain.named(id);
                }
            }
        }
    }
}

impl<R: Iterator<Item = Result<Row>>> Iterator for Joined<R> {
    type Item = Result<Searched>;

    fn next(&mut self) -> Option<Result<Searched>> {
        loop {
            if let Some(searched) = self.ready.pop_front() {
                return Some(Ok(searched));
            }
            match self.rows.next() {
                Some(Ok(row)) => self.take(row),
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    self.end_chain();
                    return self.ready.pop_front().map(Ok);
                }
            }
        }
    }
}
