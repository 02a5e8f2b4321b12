//! Which records of an index does a caller get who names them by their ids?

use crate::index::IndexView;
use crate::search::ReadRights;
use quorate_engine::filter::filter_set;
use quorate_engine::{Selection, bits};
use quorate_model::Filter;
use std::cell::OnceCell;

/// Direct reads of one index, which show what passes a filter only.
///
/// Cost: a lookup for each record; with a filter, also one evaluation of it for each segment that has a wanted record; what is
/// shown is worked out once for equal lists of attributes that follow each other.
pub struct ObjectReader<'a> {
    view: &'a IndexView,
    filter: &'a Filter,
    rights: ReadRights,
    /// The attributes that were asked for last, and what they show.
    selected: Option<(Option<&'a [String]>, Selection)>,
    /// For each segment: not evaluated yet, or the documents that pass (`None` = all).
    passing: Vec<OnceCell<Option<Vec<u64>>>>,
}

impl<'a> ObjectReader<'a> {
    /// Reads what `view` shows of the records that pass `filter`.
    pub fn new(view: &'a IndexView, filter: &'a Filter, rights: ReadRights) -> Self {
        let passing = vec![OnceCell::new(); view.shard.segments().len()];
        ObjectReader { view, filter, rights, selected: None, passing }
    }
    /// Renders one record; `None` when it does not exist or does not pass.
    pub fn object(
        &mut self,
        object_id: &str,
        attributes_to_retrieve: Option<&'a [String]>,
    ) -> Option<Vec<u8>> {
        let (at, doc) = self.view.shard.find(object_id)?;
        let segment = &self.view.shard.segments()[at];
        let settings = self.view.configuration.settings();
        let evaluate = || filter_set(segment, &settings.index, self.filter);
        if self.passing[at].get_or_init(evaluate).as_ref().is_some_and(|set| !bits::contains(set, doc)) {
            return None;
        }
        if self.selected.as_ref().is_none_or(|(attributes, _)| *attributes != attributes_to_retrieve) {
            let sees_unretrievable = self.rights.sees_unretrievable;
            let selection = Selection::new(settings, attributes_to_retrieve, sees_unretrievable);
            self.selected = Some((attributes_to_retrieve, selection));
        }
        self.selected.as_ref().map(|(_, selection)| selection.render(segment.record(doc)))
    }
}
