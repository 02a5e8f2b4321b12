//! Which values of facets did the searches of each query filter by?

use super::counted::CountedSearches;
use crate::error::Result;
use quorate_model::event::search::filter_parts;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Values that are counted at a time: when there are more, those of one search are let go.
const VALUES_MAX: usize = 500_000;
/// Bytes of the texts of an answer.
const BYTES_MAX: usize = 8 << 20;

/// How many searches of a query filtered by a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilteredBy {
    /// The query, as it was asked.
    pub query: String,
    /// The attribute.
    pub attribute: String,
    /// Its value.
    pub value: String,
    /// How many searches.
    pub count: u64,
}

/// The values of these attributes that searches filtered by, the most frequent first; values that were to be left out, comparisons and ranges
/// are none. `None` when it is stopped.
///
/// Cost: the rows of the index in that time are read.
pub fn filtered(searches: &CountedSearches<'_>, attributes: &[String]) -> Result<Option<Vec<FilteredBy>>> {
    let mut counts: FxHashMap<(Arc<str>, Arc<str>), u64> = FxHashMap::default();
    let is_wanted = |filter: &str| match filter_parts(filter) {
        Some((attribute, ":", value)) => {
            !value.starts_with('-') && attributes.iter().any(|wanted| wanted == attribute)
        }
        _ => false,
    };
    let is_whole = searches.each(|_, search| {
        for filter in search.filters.iter().filter(|filter| is_wanted(filter)) {
            *counts.entry((search.query.clone(), Arc::from(filter))).or_default() += 1;
        }
        if counts.len() > VALUES_MAX {
            counts.retain(|_, count| *count > 1);
        }
    })?;
    if !is_whole {
        return Ok(None);
    }
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let mut bytes = 0;
    let has_room = |((query, filter), _): &((Arc<str>, Arc<str>), u64)| {
        bytes += query.len() + filter.len();
        bytes <= BYTES_MAX
    };
    let found = all.into_iter().take_while(has_room).filter_map(|((query, filter), count)| {
        let (attribute, _, value) = filter_parts(&filter)?;
        let (query, attribute, value) = (query.to_string(), attribute.to_owned(), value.to_owned());
        Some(FilteredBy { query, attribute, value, count })
    });
    Ok(Some(found.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suggestions::counted::tests::{HOUR, stored};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn values_are_counted_for_each_query() {
        let (_folder, store) = stored();
        let view = store.view();
        let of = |attributes: &[&str], tags: &[&str], stop: bool| {
            let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
            let (tags, stop) = (texts(tags), AtomicBool::new(stop));
            let searches = CountedSearches {
                view: &view,
                index: "shop",
                tags: &tags,
                times_ms: 0..50 * HOUR,
                stop: &stop,
            };
            let found = filtered(&searches, &texts(attributes)).unwrap()?;
            let shown = |it: FilteredBy| format!("{} {}={} {}", it.query, it.attribute, it.value, it.count);
            Some(found.into_iter().map(shown).collect::<Vec<_>>())
        };
        let all = of(&["color", "brand", "price"], &[], false).unwrap();
        assert_eq!(
            all,
            ["red lamp color=red 2", "desk brand=a 1", "red lamp brand=a:b 1", "red lamp color=pink 1"]
        );
        assert_eq!(of(&["color"], &["app"], false).unwrap(), ["red lamp color=pink 1"]);
        assert_eq!(of(&[], &[], false).unwrap(), [""; 0]);
        assert_eq!(of(&["color"], &[], true), None);
    }
}
