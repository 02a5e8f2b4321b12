//! Which groups of a report is a search in?

use crate::error::Result;
use crate::rollup::{Labels, Search, Searches, Texts};
use quorate_model::analytics::By;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Between the filters of a search in the key of a group.
pub const BETWEEN_FILTERS: &str = "\u{1f}";

/// The attribute of a filter.
fn attribute(text: &str) -> &str {
    quorate_model::event::search::filter_parts(text).map_or("", |(attribute, ..)| attribute)
}
/// The groups of one block, by number.
pub(super) enum Keys<'b> {
    None,
    /// Queries; those of searches that found nothing alone?
    Queries(Texts, bool),
    /// By the list of records that a search has shown.
    Lists(Vec<Vec<usize>>, Vec<Cow<'b, str>>),
    /// By its filters; where it found nothing alone?
    Filters(Vec<Vec<usize>>, Vec<Cow<'b, str>>, bool),
    /// By its label.
    Labels(Vec<Vec<usize>>, Vec<Cow<'b, str>>),
}

impl<'b> Keys<'b> {
    pub fn new(by: &By, labels: &Labels<'b>, searches: &'b Searches, texts: Option<Texts>) -> Result<Self> {
        let mut names = Names::default();
        let mut of_filters = |keys: &dyn Fn(&[&'b str]) -> Vec<Cow<'b, str>>| -> Vec<Vec<usize>> {
            labels.filters.iter().map(|set| names.numbers(keys(set))).collect()
        };
        Ok(match (by, texts) {
            (By::Query | By::QueryWithoutClicks, Some(texts)) => Keys::Queries(texts, false),
            (By::QueryWithoutResults, Some(texts)) => Keys::Queries(texts, true),
            (By::Query | By::QueryWithoutClicks | By::QueryWithoutResults, None) | (By::Nothing, _) => {
                Keys::None
            }
            (By::Hit, _) => {
                let records = searches.records()?;
                Keys::Lists(records.lists, records.names.into_iter().map(Cow::Borrowed).collect())
            }
            (By::Attribute, _) => {
                let of = of_filters(&|set| set.iter().map(|text| attribute(text).into()).collect());
                Keys::Filters(of, names.all, false)
            }
            (By::FilterOf(name), _) => {
                let is_of = |text: &&&str| attribute(text) == name;
                let of =
                    of_filters(&|set| set.iter().filter(is_of).map(|text| Cow::Borrowed(*text)).collect());
                Keys::Filters(of, names.all, false)
            }
            (By::FiltersWithoutResults, _) => {
                let of = of_filters(&|set| {
                    let mut filters = set.to_vec();
                    filters.sort_unstable();
                    // a search has a filter once, however often it names it
                    filters.dedup();
                    vec![filters.join(BETWEEN_FILTERS).into()]
                });
                Keys::Filters(of, names.all, true)
            }
            (By::Country, _) => {
                let country = |country: Option<&'b str>| country.map(Cow::Borrowed).into_iter().collect();
                let of = labels.labels.iter().map(|label| names.numbers(country(label.country))).collect();
                Keys::Labels(of, names.all)
            }
        })
    }
    /// How many groups there are.
    pub fn len(&self) -> usize {
        match self {
            Keys::None => 0,
            Keys::Queries(texts, _) => texts.len(),
            Keys::Lists(_, names) | Keys::Filters(_, names, _) | Keys::Labels(_, names) => names.len(),
        }
    }
    /// The groups of each list of records, if these are groups.
    pub fn lists(&self) -> Option<&[Vec<usize>]> {
        match self {
            Keys::Lists(lists, _) => Some(lists),
            Keys::None | Keys::Queries(..) | Keys::Filters(..) | Keys::Labels(..) => None,
        }
    }
    /// The name of a group.
    pub fn name(&self, number: usize) -> Result<&str> {
        match self {
            Keys::Queries(texts, _) => texts.get(number),
            Keys::Lists(_, names) | Keys::Filters(_, names, _) | Keys::Labels(_, names) => Ok(&names[number]),
            Keys::None => Ok(""),
        }
    }
    /// Gives the groups of a search.
    #[inline]
    pub fn each(&self, search: &Search<'_>, give: &mut impl FnMut(usize)) {
        let of = |lists: &[Vec<usize>], number: Option<usize>, give: &mut dyn FnMut(usize)| {
            let list = number.and_then(|number| lists.get(number));
            list.into_iter().flatten().for_each(|group| give(*group));
        };
        match self {
            Keys::None => {}
            Keys::Queries(_, false) => give(search.query),
            Keys::Queries(_, true) if search.hits > 0 => {}
            Keys::Queries(_, true) => give(search.query),
            Keys::Lists(lists, _) => of(lists, Some(search.list), give),
            Keys::Filters(_, _, true) if search.hits > 0 => {}
            Keys::Filters(sets, ..) => of(sets, search.filters, give),
            Keys::Labels(labels, _) => of(labels, Some(search.label), give),
        }
    }
}

/// Names by number, each once.
#[derive(Default)]
struct Names<'b> {
    numbers: FxHashMap<Cow<'b, str>, usize>,
    all: Vec<Cow<'b, str>>,
}

impl<'b> Names<'b> {
    /// The numbers of some names, each once.
    fn numbers(&mut self, names: Vec<Cow<'b, str>>) -> Vec<usize> {
        let mut all = vec![];
        for name in names {
            let next = self.all.len();
            let number = *self.numbers.entry(name.clone()).or_insert(next);
            if number == next {
                self.all.push(name);
            }
            if !all.contains(&number) {
                all.push(number);
            }
        }
        all
    }
}
