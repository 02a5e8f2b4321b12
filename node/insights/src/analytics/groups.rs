//! How are the figures of many groups of searches counted at a time?

use super::followed::add_events;
use crate::rollup::Sums;
use quorate_model::analytics::{Figures, GROUPS_MAX};
use rustc_hash::FxHashMap;

/// A group: what its searches have in common, and their figures.
pub(super) type Group = (String, Figures);

/// The groups of a report. When there are more than so many, those with the fewest searches are let go.
#[derive(Default)]
pub(super) struct Groups(FxHashMap<Box<str>, Figures>);

impl Groups {
    /// Adds searches of a group, with figures of what followed them.
    pub fn add(&mut self, key: &str, sums: &Sums, events: Option<&Figures>) {
        if !self.0.contains_key(key) {
            self.make_room();
            self.0.insert(key.into(), Figures::default());
        }
        if let Some(figures) = self.0.get_mut(key) {
            sums.add_to(figures);
            events.iter().for_each(|events| add_events(figures, events));
        }
    }
    fn make_room(&mut self) {
        if self.0.len() >= GROUPS_MAX {
            let mut counts: Vec<u64> = self.0.values().map(|figures| figures.searches).collect();
            let (_, few, _) = counts.select_nth_unstable(GROUPS_MAX / 2);
            let few = *few;
            self.0.retain(|_, figures| figures.searches > few);
        }
    }
    /// All of them.
    pub fn all(self) -> Vec<Group> {
        self.0.into_iter().map(|(key, figures)| (key.into(), figures)).collect()
    }
    /// Queries that could have been clicked and never were.
    pub fn without_clicks(self) -> Vec<Group> {
        let mut all = self.all();
        all.retain(|(_, figures)| figures.clickable > 0 && figures.clicks == 0);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_with_few_searches_are_let_go_when_there_are_too_many() {
        let mut groups = Groups::default();
        let often = Sums { searches: 7, ..Sums::default() };
        let once = Sums::of(1, false, false);
        for number in 0..GROUPS_MAX + 10 {
            groups.add(&number.to_string(), if number % 1_000 == 0 { &often } else { &once }, None);
        }
        let all = groups.all();
        assert_eq!(all.len(), GROUPS_MAX / 1_000 + 10);
        assert_eq!(all.iter().filter(|(_, figures)| figures.searches == 7).count(), GROUPS_MAX / 1_000 + 1);
    }
}
