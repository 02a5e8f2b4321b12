//! What do counted searches and events say about an index (C§18.5)?
//!
//! Reports read rollups (`rollup/`), a day after another: sums of queries where nothing else is asked for (`top.rs`), otherwise the
//! searches one after another (`scan.rs`), with the events of their day and the next where these are asked for. Sums are exact; only
//! groups beyond a bound, and users beyond another one, are not told apart.

mod failure;
mod followed;
mod groups;
mod keys;
mod scan;
mod top;
mod users;

pub use failure::Failure;
pub use followed::{EVENTS_MAX, FOLLOWS_WITHIN_MS};
pub use keys::BETWEEN_FILTERS;

use self::followed::Events;
use self::groups::Group;
use self::scan::Scan;
use crate::rollup::{Block, Source};
use crate::store::EventView;
use quorate_model::analytics::{By, Day, Figures, Order, Report, ReportQuery, TagFilter};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The figures of an index. Cost: some ten nanoseconds for each query of a day where sums are enough, as much for each search
/// otherwise; some microseconds for each row of days, or hours, whose rollups are not there.
///
/// Errors: `Stopped` soon after `is_over` says so.
pub fn report(
    view: &EventView,
    index: &str,
    asked: &ReportQuery,
    is_over: &dyn Fn() -> bool,
) -> Result<Report, Failure> {
    let mut broken = BTreeSet::new();
    loop {
        let source = Source::new(view, index, asked.by == By::Hit, std::mem::take(&mut broken));
        let days = Days { source, is_over };
        match of_days(&days, asked) {
            // without the files that cannot be read, each of which is met once
            Err(Failure::Rows(_)) if days.source.meets_broken() => broken = days.source.broken(),
            other => return other,
        }
    }
}
fn of_days(days: &Days<'_>, asked: &ReportQuery) -> Result<Report, Failure> {
    let tags = asked.tags.as_deref().map(TagFilter::parse).transpose().map_err(|_| Failure::Tags)?;
    let is_of_all = tags.is_none() && asked.search.is_none() && !asked.with_events;
    let (mut report, groups) = match is_of_all && matches!(asked.by, By::Nothing | By::Query | By::Hit) {
        true => of_sums(days, asked)?,
        false => of_searches(days, asked, tags.as_ref())?,
    };
    report.groups = groups;
    report.groups.sort_by(|one, other| in_order(asked, one, other));
    report.groups = report.groups.into_iter().skip(asked.offset).take(asked.limit).collect();
    Ok(report)
}

/// The days of a report.
struct Days<'v> {
    source: Source<'v>,
    is_over: &'v dyn Fn() -> bool,
}

impl Days<'_> {
    fn blocks(&self, day: Day) -> Result<Vec<Block>, Failure> {
        self.source.of_day(day, self.is_over)?.ok_or(Failure::Stopped)
    }
}
fn days_of(asked: &ReportQuery) -> impl Iterator<Item = Day> {
    let (first, last) = asked.days;
    (first.0..=last.0).map(Day)
}

/// Of all searches, by sums alone.
fn of_sums(days: &Days<'_>, asked: &ReportQuery) -> Result<(Report, Vec<Group>), Failure> {
    let mut report = Report::default();
    let (mut all, mut users) = (vec![], users::Users::default());
    for day in days_of(asked) {
        let (mut figures, mut users_of_day) = (Figures::default(), users::Users::default());
        let blocks = days.blocks(day)?;
        for block in &blocks {
            let sums = block.totals();
            sums.add_to(&mut figures);
            sums.add_to(&mut report.total);
            if asked.by == By::Nothing {
                for user in block.users()?.into_iter().filter(|user| !block.leaves_out(*user)) {
                    users.add(user);
                    users_of_day.add(user);
                }
            }
        }
        figures.users = users_of_day.count();
        report.days.push((day, figures));
        if asked.by != By::Nothing {
            all.extend(blocks);
        }
    }
    report.total.users = users.count();
    let groups = match asked.by {
        By::Query => top::queries(&all, asked, days.is_over)?,
        By::Hit => top::records(&all, asked, days.is_over)?,
        _ => vec![],
    };
    Ok((report, groups))
}

/// Of searches one after another.
fn of_searches(
    days: &Days<'_>,
    asked: &ReportQuery,
    tags: Option<&TagFilter>,
) -> Result<(Report, Vec<Group>), Failure> {
    let mut report = Report::default();
    let (mut scan, mut events) = (Scan::new(asked, tags), Events::default());
    let mut next: BTreeMap<Day, Vec<Block>> = BTreeMap::new();
    for day in days_of(asked) {
        let blocks = match next.remove(&day) {
            Some(blocks) => blocks,
            None => {
                let blocks = days.blocks(day)?;
                if asked.with_events {
                    events.take(day, &blocks, day, days.is_over)?;
                }
                blocks
            }
        };
        if asked.with_events {
            let after = Day(day.0.saturating_add(1));
            let blocks = days.blocks(after)?;
            events.take(after, &blocks, day, days.is_over)?;
            next.insert(after, blocks);
        }
        let figures = scan.day(&blocks, &events, days.is_over)?;
        add(&mut report.total, &figures);
        report.days.push((day, figures));
    }
    report.total.users = scan.users.count();
    let groups = match asked.by {
        By::QueryWithoutClicks => {
            let groups = scan.groups.without_clicks();
            report.total.without_clicks = groups.iter().map(|(_, figures)| figures.clickable).sum();
            groups
        }
        _ => scan.groups.all(),
    };
    Ok((report, groups))
}
/// Adds the figures of a day that are sums.
fn add(total: &mut Figures, of_day: &Figures) {
    total.searches += of_day.searches;
    total.hits = total.hits.saturating_add(of_day.hits);
    total.without_results += of_day.without_results;
    total.with_filters += of_day.with_filters;
    total.tracked += of_day.tracked;
    total.clickable += of_day.clickable;
    followed::add_events(total, of_day);
}

/// By what was asked; those without such a figure last, equal ones by name.
fn in_order(asked: &ReportQuery, one: &Group, other: &Group) -> Ordering {
    let counted = |(_, figures): &Group| match asked.by == By::QueryWithoutClicks {
        true => figures.clickable,
        false => figures.searches,
    };
    let figure = |group @ (_, figures): &Group| match asked.order {
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
