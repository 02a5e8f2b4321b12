//! What do counted searches and events say about an index (C§18.5)?
//!
//! The sorted rows of a range are read in one pass, in another one before that for events where they are asked for. Users come one after
//! another, so that each is counted once without any list of users. Sums are exact; only groups beyond a bound are not told apart.

mod followed;
mod groups;
mod joined;

pub use followed::{EVENTS_MAX, FOLLOWS_WITHIN_MS};

use self::followed::Events;
use self::groups::{Counts, Groups};
use self::joined::Joined;
use crate::chains::{TOGETHER_WITHIN_MS, Typed};
use crate::error::Error;
use crate::rows::Parts;
use crate::segment::Wanted;
use crate::store::EventView;
use quorate_model::analytics::{Asked, By, Day, Order, Report, TagFilter};
use quorate_model::event::search::FILTERS_MAX;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

/// Rows between two looks at whether to stop.
const LOOK_ROWS: usize = 1_024;

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The rows cannot be read.
    #[error(transparent)]
    Rows(#[from] Error),
    /// It was to be stopped.
    #[error("it was stopped")]
    Stopped,
    /// The range has too many events.
    #[error("more than {EVENTS_MAX} events")]
    TooMany,
    /// The tags are not what they have to be.
    #[error("the tags cannot be read")]
    Tags,
}

fn look(number: usize, is_over: &dyn Fn() -> bool) -> Result<(), Failure> {
    match number.is_multiple_of(LOOK_ROWS) && is_over() {
        true => Err(Failure::Stopped),
        false => Ok(()),
    }
}

/// The figures of an index. Cost: some microseconds a row of the range.
///
/// Errors: `Stopped` soon after `is_over` says so.
pub fn report(
    view: &EventView,
    index: &str,
    asked: &Asked,
    is_over: &dyn Fn() -> bool,
) -> Result<Report, Failure> {
    let tags = asked.tags.as_deref().map(TagFilter::parse).transpose().map_err(|_| Failure::Tags)?;
    let (first, last) = asked.days;
    let from_ms = first.start_ms();
    let to_ms = Day(last.0.saturating_add(1)).start_ms();
    let rows = |parts: Parts, times_ms: Range<u64>| {
        view.rows(Wanted { index: Some(index), parts, ..Wanted::ALL }, times_ms)
    };
    let of_events = Parts { searches: false, shown: false, events: true };
    let of_searches = Parts { searches: true, shown: asked.by == By::Hit, events: false };
    let events = match asked.with_events {
        true => Events::read(rows(of_events, from_ms..to_ms.saturating_add(FOLLOWS_WITHIN_MS))?, is_over)?,
        false => Events::default(),
    };
    // what is typed around the ends of the range belongs together as everywhere
    let around = from_ms.saturating_sub(TOGETHER_WITHIN_MS)..to_ms.saturating_add(TOGETHER_WITHIN_MS + 1);
    let mut scan = Scan::new(asked, &events);
    for (number, searched) in Joined::new(rows(of_searches, around)?).enumerate() {
        look(number, is_over)?;
        let (user, typed) = searched?;
        let has = |tag: &str| typed.search.tags.iter().any(|has| **has == *tag);
        let is_asked = (from_ms..to_ms).contains(&typed.time_ms)
            && tags.as_ref().is_none_or(|tags| tags.takes(&has))
            && asked.search.as_ref().is_none_or(|query| **query == *typed.search.query);
        if is_asked {
            scan.add(user, &typed);
        }
    }
    Ok(scan.finish())
}

struct Scan<'a> {
    asked: &'a Asked,
    events: &'a Events,
    total: Counts,
    days: BTreeMap<Day, Counts>,
    groups: Groups,
}

impl<'a> Scan<'a> {
    fn new(asked: &'a Asked, events: &'a Events) -> Self {
        let (first, last) = asked.days;
        let days = (first.0..=last.0).map(|day| (Day(day), Counts::default())).collect();
        Scan { asked, events, total: Counts::default(), days, groups: Groups::default() }
    }
    fn add(&mut self, user: u64, typed: &Typed) {
        let (day, search) = (Day::of(typed.time_ms), &typed.search);
        let events = || self.events.of(typed);
        let of_day = self.days.entry(day).or_default();
        self.total.add(user, typed, events());
        of_day.add(user, typed, events());
        let groups = &mut self.groups;
        let mut group = |key: &str| groups.add(key, user, typed, events());
        match &self.asked.by {
            By::Nothing => {}
            By::Query => group(&search.query),
            By::QueryWithoutClicks => groups.add_of_day(day, user, typed, events()),
            By::QueryWithoutResults if search.hits == 0 => group(&search.query),
            By::QueryWithoutResults => {}
            By::Hit => {
                for shown in &search.shown {
                    groups.add(shown, user, typed, events().filter(|event| event.is_of(shown)));
                }
            }
            By::Attribute => distinct(search.filters.iter().map(|text| attribute(text))).for_each(group),
            By::FilterOf(of) => {
                let of_it = search.filters.iter().filter(|text| attribute(text) == *of);
                distinct(of_it.map(|text| &**text)).for_each(group);
            }
            By::FiltersWithoutResults if search.hits == 0 && !search.filters.is_empty() => {
                let mut filters: Vec<&str> = search.filters.iter().map(|text| &**text).collect();
                filters.sort_unstable();
                group(&filters.join(BETWEEN_FILTERS));
            }
            By::FiltersWithoutResults => {}
            By::Country => {
                if let Some(country) = &search.country {
                    group(country);
                }
            }
        }
    }
    fn finish(self) -> Report {
        let Scan { asked, events: _, mut total, mut days, groups } = self;
        let mut groups = match asked.by {
            By::QueryWithoutClicks => groups.without_clicks(&mut total, &mut days),
            _ => groups.all(),
        };
        groups.sort_by(|one, other| in_order(asked, one, other));
        let groups = groups.into_iter().skip(asked.offset).take(asked.limit).collect();
        let days = days.into_iter().map(|(day, counts)| (day, counts.figures)).collect();
        Report { total: total.figures, days, groups }
    }
}

/// Between the filters of a search in the key of a group.
pub const BETWEEN_FILTERS: &str = "\u{1f}";

/// The attribute of a filter.
fn attribute(text: &str) -> &str {
    quorate_model::event::search::filter_parts(text).map_or("", |(attribute, ..)| attribute)
}
/// Each once; there are few.
fn distinct<'t>(texts: impl Iterator<Item = &'t str>) -> impl Iterator<Item = &'t str> {
    let mut seen: Vec<&str> = Vec::with_capacity(FILTERS_MAX);
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen.into_iter()
}

/// By what was asked; those without such a figure last, equal ones by name.
fn in_order(asked: &Asked, one: &groups::Group, other: &groups::Group) -> Ordering {
    let counted = |(_, figures): &groups::Group| match asked.by == By::QueryWithoutClicks {
        true => figures.clickable,
        false => figures.searches,
    };
    let figure = |group @ (_, figures): &groups::Group| match asked.order {
        Order::Searches => Some(counted(group) as f64),
        Order::ClickThroughRate => figures.rate(figures.clicked),
        Order::ConversionRate => figures.rate(figures.converted),
        Order::AverageClickPosition => figures.average_position(),
    };
    let by_figure = match (figure(one), figure(other)) {
        (Some(one), Some(other)) if asked.ascending => one.total_cmp(&other),
        (Some(one), Some(other)) => other.total_cmp(&one),
        (one, other) => other.is_some().cmp(&one.is_some()),
    };
    by_figure.then_with(|| counted(other).cmp(&counted(one))).then_with(|| one.0.cmp(&other.0))
}

#[cfg(test)]
mod tests;
