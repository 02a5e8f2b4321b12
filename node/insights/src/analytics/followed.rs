//! Which events followed a search?

use super::failure::{Failure, LOOK};
use crate::rollup::{Block, NamingEvent, Search, each_event};
use quorate_model::analytics::{DAY_MS, Day, Figures, POSITIONS};
use quorate_model::event::{EventKind, QueryId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// How long after a search an event counts for it.
pub const FOLLOWS_WITHIN_MS: u64 = DAY_MS;
/// Events of two days that name searches, at most.
pub const EVENTS_MAX: usize = 2_000_000;

/// The events of some days, by the search that they name.
#[derive(Default)]
pub(super) struct Events {
    days: BTreeMap<Day, FxHashMap<QueryId, Vec<NamingEvent>>>,
}

impl Events {
    /// Adds those of a day, and lets those of days before another one go.
    pub fn take(
        &mut self,
        day: Day,
        blocks: &[Block],
        from: Day,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        self.days.retain(|day, _| *day >= from);
        let before = self.days.values().flat_map(FxHashMap::values).map(Vec::len).sum::<usize>();
        let (mut of_day, mut count, mut stopped) = (FxHashMap::<QueryId, Vec<_>>::default(), before, false);
        for block in blocks {
            each_event(block, &mut |id, event| {
                count += 1;
                stopped |= count.is_multiple_of(LOOK) && is_over();
                let goes_on = !stopped && count <= EVENTS_MAX;
                if goes_on {
                    of_day.entry(id).or_default().push(event);
                }
                Ok(goes_on)
            })?;
            match (stopped, count > EVENTS_MAX) {
                (true, _) => return Err(Failure::Stopped),
                (false, true) => return Err(Failure::TooMany),
                (false, false) => {}
            }
        }
        self.days.insert(day, of_day);
        Ok(())
    }
    /// Puts those that followed a search into a list.
    pub fn of<'e>(&'e self, search: &Search<'_>, into: &mut Vec<&'e NamingEvent>) {
        into.clear();
        let until_ms = search.time_ms.saturating_add(FOLLOWS_WITHIN_MS);
        for id in search.ids() {
            let named = self.days.values().filter_map(|day| day.get(&id)).flatten();
            into.extend(named.filter(|event| event.time_ms < until_ms));
        }
    }
}

/// Adds the events that followed one search.
pub(super) fn add<'e>(figures: &mut Figures, events: impl Iterator<Item = &'e NamingEvent>) {
    let (mut clicked, mut converted, mut carted, mut purchased) = (false, false, false, false);
    for event in events {
        match event.kind {
            EventKind::View => {}
            EventKind::Click => {
                clicked = true;
                figures.clicks += 1;
                let position = event.position.unwrap_or(1);
                figures.positions_sum += u64::from(position);
                let class = POSITIONS.iter().position(|(_, last)| position <= *last);
                figures.positions[class.unwrap_or_default()] += 1;
            }
            EventKind::Conversion | EventKind::AddToCart | EventKind::Purchase => {
                converted = true;
                figures.conversions += 1;
                let (is_cart, is_purchase) =
                    (event.kind == EventKind::AddToCart, event.kind == EventKind::Purchase);
                carted |= is_cart;
                purchased |= is_purchase;
                figures.carts += u64::from(is_cart);
                figures.purchases += u64::from(is_purchase);
                if let Some((currency, paid)) = &event.revenue {
                    let sum = figures.revenue.entry(currency.to_string()).or_default();
                    *sum = sum.saturating_add(*paid);
                }
            }
        }
    }
    figures.clicked += u64::from(clicked);
    figures.converted += u64::from(converted);
    figures.carted += u64::from(carted);
    figures.purchased += u64::from(purchased);
}

/// Adds the figures of other searches, which are of events alone.
pub(super) fn add_events(figures: &mut Figures, other: &Figures) {
    figures.clicked += other.clicked;
    figures.converted += other.converted;
    figures.carted += other.carted;
    figures.purchased += other.purchased;
    figures.clicks += other.clicks;
    figures.conversions += other.conversions;
    figures.carts += other.carts;
    figures.purchases += other.purchases;
    figures.positions_sum += other.positions_sum;
    figures.positions.iter_mut().zip(other.positions).for_each(|(sum, more)| *sum += more);
    for (currency, paid) in &other.revenue {
        let sum = figures.revenue.entry(currency.clone()).or_default();
        *sum = sum.saturating_add(*paid);
    }
}
