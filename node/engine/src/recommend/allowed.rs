//! Which records may be recommended?

use crate::bits;
use crate::clock::{Clock, Deadline};
use crate::filter::lazily::LazySet;
use crate::index::ShardView;
use crate::matching::find::Prepared;
use crate::query::Plan;
use quorate_model::{Filter, Settings};
use rustc_hash::FxHashSet;
use std::cell::RefCell;

/// What a filter selects, found out document by document: a model names some hundred, whatever the number of records.
pub(super) struct OneByOne<'a> {
    segments: Vec<LazySet<'a>>,
    hidden: FxHashSet<(usize, u32)>,
    clock: RefCell<Clock>,
}

impl<'a> OneByOne<'a> {
    /// Those that pass and are not hidden; a look at one is worth a set of so many.
    pub fn new(
        view: &'a ShardView,
        settings: &'a Settings,
        filter: &'a Filter,
        hidden: &[(usize, u32)],
        deadline: &Deadline,
        set_of: u32,
    ) -> OneByOne<'a> {
        let lazy = |segment| LazySet::new(segment, &settings.index, filter, set_of);
        OneByOne {
            segments: view.segments().iter().map(lazy).collect(),
            hidden: hidden.iter().copied().collect(),
            clock: RefCell::new(Clock::new(deadline)),
        }
    }
    /// Whether a filter is all that a query selects by: words and places are found as sets.
    pub fn is_enough(plan: &Plan) -> bool {
        let Plan { words, beyond, excluded, geo, .. } = plan;
        words.is_empty() && beyond.is_empty() && excluded.is_empty() && geo.is_empty()
    }
    /// Whether time ran out, so that some may have been left out.
    pub fn is_late(&self) -> bool {
        self.clock.borrow().rang()
    }
}

/// The documents that may be shown.
pub(super) enum Allowed<'a, 'p> {
    /// Those that a filter selects.
    OneByOne(&'a OneByOne<'a>),
    /// Those that filters and places select.
    Filtered(&'a Prepared<'p>),
    /// Those that words select besides.
    Found(&'a [Vec<u64>]),
}

impl Allowed<'_, '_> {
    pub fn holds(&self, segment: usize, doc: u32) -> bool {
        match self {
            Allowed::OneByOne(one) => {
                !one.hidden.contains(&(segment, doc))
                    && one.segments[segment].holds(doc, &mut one.clock.borrow_mut())
            }
            Allowed::Filtered(prepared) => prepared.contexts[segment].is_allowed(doc),
            Allowed::Found(sets) => bits::contains(&sets[segment], doc),
        }
    }
}
