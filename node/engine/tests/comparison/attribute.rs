//! attribute: which attribute matches, and how early in it? (C§7.7)

use super::ranker::{Found, Ranker, flag};
use super::tokens::Token;
use quorate_model::settings::Criterion;

/// Priority of the attribute and word in it.
pub type Place = (u32, u32);

impl Ranker<'_> {
    /// What a word of a record counts. Words of unordered attributes, and of those that share a priority, all come first.
    pub fn place(&self, token: &Token) -> Place {
        match self.settings.index.searchable_attributes.get(token.attribute) {
            None => (0, 0),
            Some(attribute) => {
                (u32::from(attribute.priority), if attribute.ordered { token.word } else { 0 })
            }
        }
    }
    /// The place that counts of what was found.
    pub fn best_place(&self, found: &Found) -> Place {
        if !self.attribute_of_all_matches() {
            return found.nearest.1;
        }
        let matches = found.steps.iter().flat_map(|(_, words)| words.iter().flatten());
        matches.map(|one| self.place(&one.token)).min().unwrap_or_default()
    }
    /// Whether the best of all matches counts, not that of the nearest ones.
    fn attribute_of_all_matches(&self) -> bool {
        let place = |wanted| self.settings.index.ranking.iter().position(|criterion| *criterion == wanted);
        let by_proximity = flag(&self.query.params, "attributeCriteriaComputedByMinProximity");
        let first = match (place(Criterion::Attribute), place(Criterion::Proximity)) {
            (Some(attribute), Some(proximity)) => attribute < proximity,
            (_, None) => true,
            (None, _) => false,
        };
        first && !by_proximity
    }
}
