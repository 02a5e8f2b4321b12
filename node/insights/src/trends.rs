//! Which records of an index do more and more users have to do with?
//!
//! A user who has to do with a record on a day counts once, weaker the longer ago it was: with `H` the time in which it loses half
//! of its weight, `r_H = Σ w·2^(-age/H) / (H/ln 2)` is how much happens a day. Three days say what is liked, and one day against
//! fourteen whether that rises: `r_3 · √clamp((r_1 + m)/(r_14 + m), ¼, 4)`, with `m` one a day, so that few say little.

use crate::error::Result;
use crate::learn::interaction_of;
use crate::neighbours::{Kind, USER_ROWS_MAX};
use crate::rows::{EventRow, Text};
use crate::segment::RowFilter;
use crate::store::EventView;
use quorate_model::Candidates;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records that a list has at most.
pub const TRENDING_MAX: usize = 1_000;
const DAY_MS: u64 = 24 * 3_600_000;
/// What happened longer ago than this counts for nothing: of two weeks' weight a sixteenth is left.
const DAYS: u64 = 56;
/// In so many days half of a weight is lost.
const HALVES: [f64; 3] = [1.0, 3.0, 14.0];
/// What a record has in any case, a day.
const PRIOR: f64 = 1.0;
/// Records that are told apart at most: of others nothing is known. Some 150 bytes each.
const ITEMS_MAX: usize = 1_000_000;
/// Records that have to have something of the stronger kinds before the weaker ones count for nothing.
const ITEMS_ENOUGH: usize = 10;
/// Rows between two looks at whether to stop.
const LOOK_ROWS: usize = 1_024;
/// The kinds, the strongest first: conversions, clicks, views.
const CLASSES: usize = 3;

/// The class of a kind, and its weight.
fn class_of(kind: Kind) -> (usize, f64) {
    match kind {
        Kind::Purchase => (0, 4.0),
        Kind::Conversion => (0, 3.0),
        Kind::Cart => (0, 2.0),
        Kind::Click => (1, 1.0),
        Kind::View => (2, 0.5),
    }
}

/// What one user did with one record on one day, of one class.
struct Deed {
    item: Text,
    day: u64,
    class: usize,
    weight: f64,
    time_ms: u64,
}

/// Rates of a record, by class and half-life; 0 where there is nothing.
type Rates = [[f64; HALVES.len()]; CLASSES];

/// Takes rows in their order: those of a user stand together.
struct Trends {
    now_ms: u64,
    items: FxHashMap<Text, Rates>,
    users: u32,
    /// Of the user that is being read.
    deeds: Vec<Deed>,
    rows: u32,
}

/// What of an index trends at a moment (Unix milliseconds), the strongest first, with hundredths of scores of which the best has all.
///
/// Forgotten users and those with more than 10,000 rows count for nothing. `None` when it was told to stop. Cost: the rows of 56
/// days are read; memory some 150 bytes a record.
pub fn trending(view: &EventView, index: &str, now_ms: u64, stop: &AtomicBool) -> Result<Option<Candidates>> {
    let wanted = RowFilter { index: Some(index), ..RowFilter::ALL };
    let from_ms = now_ms.saturating_sub(DAYS * DAY_MS);
    of_rows(view.rows(wanted, from_ms..now_ms.saturating_add(DAY_MS))?, now_ms, stop)
}

fn of_rows(
    rows: impl Iterator<Item = Result<EventRow>>,
    now_ms: u64,
    stop: &AtomicBool,
) -> Result<Option<Candidates>> {
    let mut trends = Trends { now_ms, items: FxHashMap::default(), users: 0, deeds: vec![], rows: 0 };
    let mut before: Option<EventRow> = None;
    for (number, row) in rows.enumerate() {
        if number % LOOK_ROWS == 0 && stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let row = row?;
        if before.as_ref().is_some_and(|before| before.user_hash != row.user_hash) {
            trends.end_user();
        }
        trends.take(&row);
        before = Some(row);
    }
    trends.end_user();
    Ok(Some(trends.ranked()))
}

impl Trends {
    fn take(&mut self, row: &EventRow) {
        let (Some(interaction), Some(item)) = (interaction_of(row), &row.object) else { return };
        self.rows = self.rows.saturating_add(1);
        if self.rows > USER_ROWS_MAX {
            self.deeds.clear();
            return;
        }
        let (class, weight) = class_of(interaction.kind);
        let (day, time_ms) = (row.time_ms / DAY_MS, row.time_ms);
        self.deeds.push(Deed { item: item.clone(), day, class, weight, time_ms });
    }
    /// Adds what a user did, each record and day once: by the strongest that it was, at the last time.
    fn end_user(&mut self) {
        let mut deeds = std::mem::take(&mut self.deeds);
        if std::mem::take(&mut self.rows) > USER_ROWS_MAX || deeds.is_empty() {
            return;
        }
        self.users += 1;
        deeds.sort_by(|a, b| (&a.item, a.day, a.class).cmp(&(&b.item, b.day, b.class)));
        deeds.dedup_by(|next, kept| {
            let is_same = (&next.item, next.day, next.class) == (&kept.item, kept.day, kept.class);
            if is_same {
                kept.weight = kept.weight.max(next.weight);
                kept.time_ms = kept.time_ms.max(next.time_ms);
            }
            is_same
        });
        for deed in deeds.drain(..) {
            let is_room = self.items.len() < ITEMS_MAX;
            let rates = match self.items.get_mut(&deed.item) {
                Some(rates) => rates,
                None if is_room => self.items.entry(deed.item).or_default(),
                None => continue,
            };
            let days = self.now_ms.saturating_sub(deed.time_ms) as f64 / DAY_MS as f64;
            for (rate, half) in rates[deed.class].iter_mut().zip(HALVES) {
                *rate += deed.weight * (-days / half).exp2() * std::f64::consts::LN_2 / half;
            }
        }
        self.deeds = deeds;
    }
    /// How many classes count: as few, of the strongest, as enough records have something of; all where there are none.
    fn classes(&self) -> usize {
        let mut having = [0; CLASSES];
        for rates in self.items.values() {
            let strongest = rates.iter().position(|rates| rates[2] > 0.0).unwrap_or(CLASSES);
            having.iter_mut().skip(strongest).for_each(|having| *having += 1);
        }
        having.iter().position(|having| *having >= ITEMS_ENOUGH).map_or(CLASSES, |class| class + 1)
    }
    fn ranked(self) -> Candidates {
        let classes = self.classes();
        let score = |[day, three, fortnight]: [f64; HALVES.len()]| {
            three * ((day + PRIOR) / (fortnight + PRIOR)).clamp(0.25, 4.0).sqrt()
        };
        let all = |rates: Rates| {
            let of_half = |half| rates[..classes].iter().map(|rates| rates[half]).sum();
            score(std::array::from_fn(of_half))
        };
        let items = self.items.into_iter().map(|(item, rates)| (all(rates), item));
        let mut items: Vec<(f64, Text)> = items.filter(|(score, _)| *score > 0.0).collect();
        items.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        items.truncate(TRENDING_MAX);
        let best = items.first().map_or(1.0, |(score, _)| *score);
        let hundredths = |score: f64| (score / best * 10_000.0).round().max(1.0) as u16;
        let list = items.iter().map(|(score, item)| (item.to_string(), hundredths(*score))).collect();
        Candidates { users: self.users, list }
    }
}

#[cfg(test)]
mod tests;
