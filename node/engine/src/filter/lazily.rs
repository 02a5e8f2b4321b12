//! Which documents of a segment pass a filter, when few are asked about?
//!
//! Each is looked at alone until that has taken as long as the set of all would, which is made then: at most twice the time of the
//! cheaper way.

use super::filter_set_in_time;
use super::single::passes;
use crate::bits;
use crate::clock::{Clock, Deadline};
use crate::index::Segment;
use crate::scratch::Scratch;
use quorate_model::Filter;
use quorate_model::settings::IndexSettings;
use std::cell::{Cell, OnceCell, RefCell};

/// What a filter selects of a segment, found out as it is asked.
pub struct LazySet<'a> {
    segment: &'a Segment,
    settings: &'a IndexSettings,
    filter: &'a Filter,
    /// Looks at one document that are left.
    looks: Cell<u32>,
    /// Once it is made; `None` in it: the filter restricts nothing.
    set: OnceCell<Option<Vec<u64>>>,
    clock: RefCell<Clock>,
}

impl<'a> LazySet<'a> {
    /// Nothing is looked at yet. A look at one document is worth that of a set of so many.
    pub fn new(
        segment: &'a Segment,
        settings: &'a IndexSettings,
        filter: &'a Filter,
        deadline: &Deadline,
        set_of: u32,
    ) -> LazySet<'a> {
        let looks = Cell::new(segment.doc_count() / set_of);
        let clock = RefCell::new(Clock::new(deadline));
        LazySet { segment, settings, filter, looks, set: OnceCell::new(), clock }
    }
    /// Whether a document is there and passes. None does once the time is over.
    pub fn holds(&self, doc: u32) -> bool {
        self.segment.is_alive(doc) && self.passes(doc)
    }
    fn passes(&self, doc: u32) -> bool {
        let looks = self.looks.get();
        if self.set.get().is_none() && looks > 0 {
            self.looks.set(looks - 1);
            return !self.clock.borrow_mut().is_over()
                && passes(self.segment, self.settings, self.filter, doc);
        }
        let whole = || {
            let clock = &mut *self.clock.borrow_mut();
            filter_set_in_time(self.segment, self.settings, self.filter, clock, &mut Scratch::new())
        };
        self.set.get_or_init(whole).as_ref().is_none_or(|set| bits::contains(set, doc))
    }
    /// Whether time ran out, so that documents that pass may have been left out.
    pub fn is_late(&self) -> bool {
        self.clock.borrow().rang()
    }
}
