//! Which documents of a segment pass a filter, when few are asked about?
//!
//! Each is looked at alone until that has taken about as long as the set of all would, which is made then.

use super::filter_set_in_time;
use super::single::passes;
use crate::bits;
use crate::clock::Clock;
use crate::index::Segment;
use crate::scratch::Scratch;
use quorate_model::settings::IndexSettings;
use quorate_model::{Atom, Filter};
use std::cell::{Cell, OnceCell};

/// How many times as many documents of a set are made in the time of a look when no numbers are compared.
const WITHOUT_NUMBERS: u32 = 8;

/// What a filter selects of a segment, found out as it is asked.
pub struct LazySet<'a> {
    segment: &'a Segment,
    settings: &'a IndexSettings,
    filter: &'a Filter,
    /// What a look is worth in documents that are ranked.
    cost: u32,
    /// Looks at one document that are left.
    looks: Cell<u32>,
    /// Once it is made; `None` in it: the filter restricts nothing.
    set: OnceCell<Option<Vec<u64>>>,
}

impl<'a> LazySet<'a> {
    /// Nothing is looked at yet. A look at one document takes as long as the set of so many, where numbers are compared; with 0 all are
    /// looked at alone.
    pub fn new(
        segment: &'a Segment,
        settings: &'a IndexSettings,
        filter: &'a Filter,
        set_of: u32,
    ) -> LazySet<'a> {
        let atoms = || filter.all.iter().flat_map(|group| &group.any);
        let has_numbers = atoms().any(|it| matches!(it.atom, Atom::Numeric { .. } | Atom::Range { .. }));
        let set_of = set_of.saturating_mul(if has_numbers { 1 } else { WITHOUT_NUMBERS });
        let looks = Cell::new(segment.doc_count().checked_div(set_of).unwrap_or(u32::MAX));
        LazySet { segment, settings, filter, cost: atoms().count() as u32, looks, set: OnceCell::new() }
    }
    /// Whether a document is there and passes. None does once the clock has rung.
    pub fn holds(&self, doc: u32, clock: &mut Clock) -> bool {
        self.segment.is_alive(doc) && self.passes(doc, clock)
    }
    fn passes(&self, doc: u32, clock: &mut Clock) -> bool {
        let looks = self.looks.get();
        if self.set.get().is_none() && looks > 0 {
            self.looks.set(looks - 1);
            return !clock.spend(self.cost) && passes(self.segment, self.settings, self.filter, doc);
        }
        let whole =
            || filter_set_in_time(self.segment, self.settings, self.filter, clock, &mut Scratch::new());
        self.set.get_or_init(whole).as_ref().is_none_or(|set| bits::contains(set, doc))
    }
}
