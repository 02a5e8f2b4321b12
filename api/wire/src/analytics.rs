//! How do figures of searches look in JSON (C§18.5)? Names and shapes are those that the official clients read.

use crate::json::{self, Object};
use quorate_model::analytics::{By, Day, Figures, POSITIONS, Report};
use quorate_model::event::search::filter_parts;
use std::collections::BTreeMap;

/// Which figures are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Endpoint {
    TopSearches,
    SearchCount,
    WithoutResults,
    WithoutClicks,
    NoResultRate,
    NoClickRate,
    TopHits,
    UserCount,
    FilterAttributes,
    FiltersOf,
    FiltersWithoutResults,
    Countries,
    AverageClickPosition,
    ClickPositions,
    ClickThroughRate,
    ConversionRate,
    AddToCartRate,
    PurchaseRate,
    Revenue,
}

impl Endpoint {
    /// What its report has a group for each of; `attribute` is that of the path, of which only [`Self::FiltersOf`] has one.
    pub fn by(self, attribute: &str) -> By {
        match self {
            Self::TopSearches => By::Query,
            Self::WithoutResults => By::QueryWithoutResults,
            Self::WithoutClicks | Self::NoClickRate => By::QueryWithoutClicks,
            Self::TopHits => By::Hit,
            Self::FilterAttributes => By::Attribute,
            Self::FiltersOf => By::FilterOf(attribute.to_owned()),
            Self::FiltersWithoutResults => By::FiltersWithoutResults,
            Self::Countries => By::Country,
            Self::SearchCount
            | Self::NoResultRate
            | Self::UserCount
            | Self::AverageClickPosition
            | Self::ClickPositions
            | Self::ClickThroughRate
            | Self::ConversionRate
            | Self::AddToCartRate
            | Self::PurchaseRate
            | Self::Revenue => By::Nothing,
        }
    }

    /// Whether its report counts what users did, beside their searches.
    pub fn needs_events(self) -> bool {
        match self {
            Self::WithoutClicks
            | Self::NoClickRate
            | Self::AverageClickPosition
            | Self::ClickPositions
            | Self::ClickThroughRate
            | Self::ConversionRate
            | Self::AddToCartRate
            | Self::PurchaseRate
            | Self::Revenue => true,
            Self::TopSearches
            | Self::WithoutResults
            | Self::TopHits
            | Self::FilterAttributes
            | Self::FiltersOf
            | Self::FiltersWithoutResults
            | Self::Countries
            | Self::SearchCount
            | Self::NoResultRate
            | Self::UserCount => false,
        }
    }
}

/// What is told of searches and hits beside their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Detail {
    None,
    Clicks,
    Revenue,
}

/// Between the filters of a search in the name of their group.
const BETWEEN_FILTERS: char = '\u{1f}';

/// The body of an answer.
pub fn figures_body(endpoint: Endpoint, report: &Report, detail: Detail) -> Vec<u8> {
    let mut out = Vec::with_capacity(1_024);
    let mut object = Object::open(&mut out);
    match endpoint {
        Endpoint::TopSearches => of_groups(&mut object, "searches", report, |of, name, figures| {
            of.string("search", name).integer("count", figures.searches);
            of.integer("nbHits", figures.average_hits());
            details(of, figures, detail, Details { tracked: "trackedSearchCount", has_positions: true });
        }),
        Endpoint::WithoutResults => of_groups(&mut object, "searches", report, |of, name, figures| {
            of.string("search", name).integer("count", figures.searches);
            of.integer("withFilterCount", figures.with_filters);
        }),
        Endpoint::WithoutClicks => of_groups(&mut object, "searches", report, |of, name, figures| {
            of.string("search", name).integer("count", figures.clickable);
            of.integer("nbHits", figures.average_hits());
        }),
        Endpoint::TopHits => of_groups(&mut object, "hits", report, |of, name, figures| {
            of.string("hit", name).integer("count", figures.searches);
            details(of, figures, detail, Details { tracked: "trackedHitCount", has_positions: false });
        }),
        Endpoint::FilterAttributes => of_groups(&mut object, "attributes", report, |of, name, figures| {
            of.string("attribute", name).integer("count", figures.searches);
        }),
        Endpoint::FiltersOf => of_groups(&mut object, "values", report, |of, name, figures| {
            filter(of, name);
            of.integer("count", figures.searches);
        }),
        Endpoint::FiltersWithoutResults if report.groups.is_empty() => drop(object.raw("values", b"null")),
        Endpoint::FiltersWithoutResults => of_groups(&mut object, "values", report, |of, name, figures| {
            of.integer("count", figures.searches);
            json::list(of.member("values"), name.split(BETWEEN_FILTERS), |out, text| {
                let mut of = Object::open(out);
                filter(&mut of, text);
                of.close();
            });
        }),
        Endpoint::Countries => of_groups(&mut object, "countries", report, |of, name, figures| {
            of.string("country", name).integer("count", figures.searches);
        }),
        Endpoint::ClickPositions => positions(&mut object, "positions", &report.total),
        Endpoint::SearchCount
        | Endpoint::UserCount
        | Endpoint::NoResultRate
        | Endpoint::NoClickRate
        | Endpoint::AverageClickPosition
        | Endpoint::ClickThroughRate
        | Endpoint::ConversionRate
        | Endpoint::AddToCartRate
        | Endpoint::PurchaseRate
        | Endpoint::Revenue => daily(&mut object, endpoint, report),
    }
    object.close();
    out
}

/// The body that says when figures are of.
pub fn status_body(updated_at: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    let mut object = Object::open(&mut out);
    match updated_at {
        Some(time) => object.string("updatedAt", time),
        None => object.raw("updatedAt", b"null"),
    };
    object.close();
    out
}

fn of_groups(
    object: &mut Object<'_>,
    list: &str,
    report: &Report,
    mut write: impl FnMut(&mut Object<'_>, &str, &Figures),
) {
    json::list(object.member(list), &report.groups, |out, (name, figures)| {
        let mut of = Object::open(out);
        write(&mut of, name, figures);
        of.close();
    });
}

/// A figure of the whole range, and the same of each day.
fn daily(object: &mut Object<'_>, endpoint: Endpoint, report: &Report) {
    one(object, endpoint, &report.total);
    json::list(object.member("dates"), &report.days, |out, (day, figures): &(Day, Figures)| {
        let mut of = Object::open(out);
        one(&mut of, endpoint, figures);
        of.string("date", &day.to_string());
        of.close();
    });
}
fn one(of: &mut Object<'_>, endpoint: Endpoint, figures: &Figures) {
    let tracked = |of: &mut Object<'_>, name: &str, part: u64, events: u64| {
        rate(of, "rate", figures.rate(part));
        of.integer("trackedSearchCount", figures.tracked).integer(name, events);
    };
    match endpoint {
        Endpoint::UserCount => drop(of.integer("count", figures.users)),
        Endpoint::NoResultRate => {
            never_null(of, figures.without_results, figures.searches);
            of.integer("count", figures.searches).integer("noResultCount", figures.without_results);
        }
        Endpoint::NoClickRate => {
            never_null(of, figures.without_clicks, figures.clickable);
            of.integer("count", figures.clickable).integer("noClickCount", figures.without_clicks);
        }
        Endpoint::AverageClickPosition => {
            rate(of, "average", figures.average_position());
            of.integer("clickCount", figures.clicks);
        }
        Endpoint::ClickThroughRate => tracked(of, "clickCount", figures.clicked, figures.clicks),
        Endpoint::ConversionRate => tracked(of, "conversionCount", figures.converted, figures.conversions),
        Endpoint::AddToCartRate => tracked(of, "addToCartCount", figures.carted, figures.carts),
        Endpoint::PurchaseRate => tracked(of, "purchaseCount", figures.purchased, figures.purchases),
        Endpoint::Revenue => currencies(of, &figures.revenue),
        Endpoint::SearchCount
        | Endpoint::TopSearches
        | Endpoint::WithoutResults
        | Endpoint::WithoutClicks
        | Endpoint::TopHits
        | Endpoint::FilterAttributes
        | Endpoint::FiltersOf
        | Endpoint::FiltersWithoutResults
        | Endpoint::Countries
        | Endpoint::ClickPositions => drop(of.integer("count", figures.searches)),
    }
}

/// What is called otherwise of searches and of hits.
struct Details {
    tracked: &'static str,
    has_positions: bool,
}

fn details(of: &mut Object<'_>, figures: &Figures, detail: Detail, names: Details) {
    if detail >= Detail::Clicks {
        rate(of, "clickThroughRate", figures.rate(figures.clicked));
        if names.has_positions {
            rate(of, "averageClickPosition", figures.average_position());
            positions(of, "clickPositions", figures);
        }
        rate(of, "conversionRate", figures.rate(figures.converted));
        of.integer(names.tracked, figures.tracked).integer("clickCount", figures.clicks);
        of.integer("conversionCount", figures.conversions);
    }
    if detail >= Detail::Revenue {
        rate(of, "addToCartRate", figures.rate(figures.carted));
        of.integer("addToCartCount", figures.carts);
        rate(of, "purchaseRate", figures.rate(figures.purchased));
        of.integer("purchaseCount", figures.purchases);
        currencies(of, &figures.revenue);
    }
}
fn positions(of: &mut Object<'_>, name: &str, figures: &Figures) {
    json::list(of.member(name), POSITIONS.iter().zip(figures.positions), |out, ((first, last), clicks)| {
        let last = if *last == u32::MAX { "-1".to_owned() } else { last.to_string() };
        let mut of = Object::open(out);
        of.raw("position", format!("[{first},{last}]").as_bytes()).integer("clickCount", clicks);
        of.close();
    });
}
fn currencies(of: &mut Object<'_>, revenue: &BTreeMap<String, i128>) {
    let mut all = Object::open(of.member("currencies"));
    for (currency, amount) in revenue {
        let mut one = Object::open(all.member(currency));
        one.string("currency", currency).raw("revenue", decimal(*amount).as_bytes());
        one.close();
    }
    all.close();
}
/// An amount in units of 10^-15 as a decimal number.
fn decimal(amount: i128) -> String {
    const UNIT: u128 = 1_000_000_000_000_000;
    let (sign, digits) = (if amount < 0 { "-" } else { "" }, amount.unsigned_abs());
    let text = format!("{sign}{}.{:015}", digits / UNIT, digits % UNIT);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
fn filter(of: &mut Object<'_>, text: &str) {
    let (attribute, operator, value) = filter_parts(text).unwrap_or((text, ":", ""));
    of.string("attribute", attribute).string("operator", operator).string("value", value);
}
fn rate(of: &mut Object<'_>, name: &str, rate: Option<f64>) {
    match rate {
        Some(rate) => json::number(of.member(name), rate),
        None => drop(of.raw(name, b"null")),
    }
}
/// Official clients take no `null` for these.
fn never_null(of: &mut Object<'_>, part: u64, all: u64) {
    let value = if all == 0 { 0.0 } else { part as f64 / all as f64 };
    json::number(of.member("rate"), value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_decimals() {
        for (amount, expected) in [
            (0, "0"),
            (1, "0.000000000000001"),
            (-12_500_000_000_000_000, "-12.5"),
            (10_000_000_000_000_000, "10"),
            (i128::MAX, "170141183460469231731687.303715884105727"),
        ] {
            assert_eq!(decimal(amount), expected);
        }
    }

    #[test]
    fn what_nothing_can_be_divided_by_is_null() {
        let empty = Report { days: vec![(Day(0), Figures::default())], ..Report::default() };
        for (endpoint, expected) in [
            (
                Endpoint::ClickThroughRate,
                r#"{"rate":null,"trackedSearchCount":0,"clickCount":0,"dates":[{"rate":null,"trackedSearchCount":0,"clickCount":0,"date":"1970-01-01"}]}"#,
            ),
            (
                Endpoint::NoResultRate,
                r#"{"rate":0,"count":0,"noResultCount":0,"dates":[{"rate":0,"count":0,"noResultCount":0,"date":"1970-01-01"}]}"#,
            ),
            (Endpoint::FiltersWithoutResults, r#"{"values":null}"#),
            (Endpoint::Countries, r#"{"countries":[]}"#),
            (Endpoint::Revenue, r#"{"currencies":{},"dates":[{"currencies":{},"date":"1970-01-01"}]}"#),
        ] {
            let body = figures_body(endpoint, &empty, Detail::None);
            assert_eq!(String::from_utf8(body).unwrap(), expected, "{endpoint:?}");
        }
    }
}
