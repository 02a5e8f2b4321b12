//! How many searches, and of what kind?

use super::bytes::{Reader, put};
use crate::error::Result;
use quorate_model::analytics::Figures;
use serde::{Deserialize, Serialize};

/// Sums of some searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sums {
    /// Searches.
    pub searches: u64,
    /// Records found, of all of them together.
    pub hits: u64,
    /// Searches that found nothing.
    pub without_results: u64,
    /// Searches with filters.
    pub with_filters: u64,
    /// Searches with an id.
    pub tracked: u64,
    /// Of these, those that found something.
    pub clickable: u64,
}

impl Sums {
    /// Those of one search.
    pub fn of(hits: u64, has_filters: bool, is_tracked: bool) -> Sums {
        Sums {
            searches: 1,
            hits,
            without_results: u64::from(hits == 0),
            with_filters: u64::from(has_filters),
            tracked: u64::from(is_tracked),
            clickable: u64::from(is_tracked && hits > 0),
        }
    }
    /// Adds others.
    #[inline]
    pub fn add(&mut self, other: &Sums) {
        self.searches += other.searches;
        self.hits = self.hits.saturating_add(other.hits);
        self.without_results += other.without_results;
        self.with_filters += other.with_filters;
        self.tracked += other.tracked;
        self.clickable += other.clickable;
    }
    /// These less others that are among them.
    pub fn less(&self, others: &Sums) -> Sums {
        Sums {
            searches: self.searches.saturating_sub(others.searches),
            hits: self.hits.saturating_sub(others.hits),
            without_results: self.without_results.saturating_sub(others.without_results),
            with_filters: self.with_filters.saturating_sub(others.with_filters),
            tracked: self.tracked.saturating_sub(others.tracked),
            clickable: self.clickable.saturating_sub(others.clickable),
        }
    }
    /// Adds them to figures.
    pub fn add_to(&self, figures: &mut Figures) {
        figures.searches += self.searches;
        figures.hits = figures.hits.saturating_add(self.hits);
        figures.without_results += self.without_results;
        figures.with_filters += self.with_filters;
        figures.tracked += self.tracked;
        figures.clickable += self.clickable;
    }
    /// How they lie in a region: most queries have some of them only.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let some = [self.without_results, self.with_filters, self.tracked, self.clickable];
        put(out, self.searches);
        put(out, self.hits);
        out.push(some.iter().enumerate().map(|(at, count)| u8::from(*count > 0) << at).sum());
        some.iter().filter(|count| **count > 0).for_each(|count| put(out, *count));
    }
    /// Takes what was put.
    #[inline]
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Sums> {
        let (searches, hits, [which]) = (reader.number()?, reader.number()?, reader.array()?);
        let mut some = |at: u8| if which & 1 << at > 0 { reader.number() } else { Ok(0) };
        Ok(Sums {
            searches,
            hits,
            without_results: some(0)?,
            with_filters: some(1)?,
            tracked: some(2)?,
            clickable: some(3)?,
        })
    }
}
