//! How are the figures of many groups of searches counted at a time?

use super::followed::{Event, add};
use crate::chains::Typed;
use crate::rows::Text;
use quorate_model::analytics::{Day, Figures, GROUPS_MAX};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A group: what its searches have in common, and their figures.
pub(super) type Group = (String, Figures);

/// Figures on their way.
#[derive(Default)]
pub(super) struct Counts {
    pub figures: Figures,
    /// The number of the user who was counted last: users come one after another.
    last_user: u64,
}

impl Counts {
    /// Adds a search with the events that followed it.
    pub fn add<'e>(&mut self, user: u64, typed: &Typed, events: impl Iterator<Item = &'e Event>) {
        let (figures, search) = (&mut self.figures, &typed.search);
        let is_tracked = !search.query_ids.is_empty();
        figures.searches += 1;
        figures.users += u64::from(self.last_user != user);
        figures.hits = figures.hits.saturating_add(search.hits);
        figures.without_results += u64::from(search.hits == 0);
        figures.with_filters += u64::from(!search.filters.is_empty());
        figures.tracked += u64::from(is_tracked);
        figures.clickable += u64::from(is_tracked && search.hits > 0);
        self.last_user = user;
        if is_tracked {
            add(figures, events);
        }
    }
}

/// The groups of a report, at most so many.
#[derive(Default)]
pub(super) struct Groups {
    of: FxHashMap<Text, Counts>,
    /// Queries of days: clickable searches, and whether any was clicked.
    of_days: FxHashMap<(Day, Text), (u64, bool)>,
}

impl Groups {
    /// Adds a search to a group. Beyond the bound no new groups are made.
    pub fn add<'e>(&mut self, key: &str, user: u64, typed: &Typed, events: impl Iterator<Item = &'e Event>) {
        if let Some(counts) = self.of.get_mut(key) {
            counts.add(user, typed, events);
        } else if self.of.len() < GROUPS_MAX {
            self.of.entry(Text::from(key)).or_default().add(user, typed, events);
        }
    }
    /// Adds a search to its query, and to its query of a day.
    pub fn add_of_day<'e>(
        &mut self,
        day: Day,
        user: u64,
        typed: &Typed,
        events: impl Iterator<Item = &'e Event>,
    ) {
        let query = &typed.search.query;
        let clicked = |of: &Groups| of.of.get(query).map_or(0, |counts| counts.figures.clicks);
        let before = clicked(self);
        self.add(query, user, typed, events);
        let is_clickable = !typed.search.query_ids.is_empty() && typed.search.hits > 0;
        let key = (day, query.clone());
        if self.of_days.contains_key(&key) || self.of_days.len() < GROUPS_MAX {
            let (searches, is_clicked) = self.of_days.entry(key).or_default();
            *searches += u64::from(is_clickable);
            *is_clicked |= self.of.get(query).map_or(0, |counts| counts.figures.clicks) > before;
        }
    }
    /// All of them.
    pub fn all(self) -> Vec<Group> {
        self.of.into_iter().map(|(key, counts)| (key.to_string(), counts.figures)).collect()
    }
    /// Queries that could have been clicked and never were. Says so in the figures of the whole range and of days, where a query
    /// counts if it was not clicked on that day.
    pub fn without_clicks(mut self, total: &mut Counts, days: &mut BTreeMap<Day, Counts>) -> Vec<Group> {
        for ((day, _), (searches, is_clicked)) in std::mem::take(&mut self.of_days) {
            if !is_clicked {
                days.entry(day).or_default().figures.without_clicks += searches;
            }
        }
        let mut all = self.all();
        all.retain(|(_, figures)| figures.clickable > 0 && figures.clicks == 0);
        total.figures.without_clicks = all.iter().map(|(_, figures)| figures.clickable).sum();
        all
    }
}
