//! Which events followed a search?

use super::Failure;
use crate::chains::Typed;
use crate::error::Result;
use crate::rows::{Row, RowKind, Text};
use quorate_model::analytics::{DAY_MS, Figures, POSITIONS};
use quorate_model::event::{EventKind, QueryId};
use rustc_hash::{FxHashMap, FxHashSet};

/// How long after a search an event counts for it.
pub const FOLLOWS_WITHIN_MS: u64 = DAY_MS;
/// Events of a range that name searches, at most.
pub const EVENTS_MAX: usize = 2_000_000;

/// An event on a record that names a search.
#[derive(Clone, Debug)]
pub(super) struct Event {
    kind: EventKind,
    time_ms: u64,
    object: Text,
    position: Option<u32>,
    /// What was paid, and its currency.
    revenue: Option<(Text, i128)>,
}

/// The events of a range, by the search that they name.
#[derive(Default)]
pub(super) struct Events(FxHashMap<QueryId, Vec<Event>>);

impl Events {
    /// Reads those of sorted rows.
    pub fn read(
        rows: impl Iterator<Item = Result<Row>>,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Events, Failure> {
        let (mut events, mut count, mut texts) = (Events::default(), 0, FxHashSet::<Text>::default());
        for (number, row) in rows.enumerate() {
            super::look(number, is_over)?;
            let row = row?;
            let (RowKind::Event(kind), Some(id), Some(object)) = (row.kind, row.query_id, &row.object) else {
                continue;
            };
            if count == EVENTS_MAX {
                return Err(Failure::TooMany);
            }
            count += 1;
            let object = match texts.get(object) {
                Some(text) => text.clone(),
                None => {
                    texts.insert(object.clone());
                    object.clone()
                }
            };
            let revenue = revenue(&row);
            let event = Event { kind, time_ms: row.time_ms, object, position: row.position, revenue };
            events.0.entry(id).or_default().push(event);
        }
        Ok(events)
    }
    /// Those that followed a search.
    pub fn of<'e>(&'e self, typed: &'e Typed) -> impl Iterator<Item = &'e Event> + Clone {
        let until_ms = typed.time_ms.saturating_add(FOLLOWS_WITHIN_MS);
        let named = typed.search.query_ids.iter().filter_map(|id| self.0.get(id)).flatten();
        named.filter(move |event| event.time_ms < until_ms)
    }
}

/// Price times quantity, less the discount.
fn revenue(row: &Row) -> Option<(Text, i128)> {
    let price = row.price.filter(|_| row.kind == RowKind::Event(EventKind::Purchase))?;
    let quantity = row.quantity.map_or(1, i128::from);
    let discount = row.discount.map_or(0, |discount| discount.scaled());
    let paid = price.scaled().saturating_mul(quantity).saturating_sub(discount);
    Some((row.currency.clone()?, paid))
}

impl Event {
    pub fn is_of(&self, object: &str) -> bool {
        *self.object == *object
    }
}

/// Adds a tracked search with the events that followed it.
pub(super) fn add<'e>(figures: &mut Figures, events: impl Iterator<Item = &'e Event>) {
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
