//! How much do the filters say in favour of a document? (C§7.5)

use super::signed_set;
use crate::index::Segment;
use crate::matching::bits;
use quorate_model::Filter;
use quorate_model::filter::AnyOf;
use quorate_model::settings::IndexSettings;

/// Scores of one query in one segment.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// What every matching document gets.
    constant: u32,
    groups: Vec<Group>,
}
/// Alternatives, with the documents for which each holds.
#[derive(Clone, Debug)]
struct Group {
    atoms: Vec<(u32, Vec<u64>)>,
    sum: Summing,
}
/// How the alternatives of one group add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summing {
    /// The highest score counts (the default).
    Highest,
    /// All count (`sumOrFiltersScores`).
    All,
}
impl Scores {
    /// The scores of mandatory and optional filters.
    pub fn new(
        segment: &Segment,
        settings: &IndexSettings,
        filter: &Filter,
        optional: &Filter,
        summing: Summing,
    ) -> Scores {
        let mut scores = Scores::default();
        for group in &filter.all {
            match equal_score(group, summing) {
                Some(score) => scores.constant = scores.constant.saturating_add(score),
                None => scores.groups.push(Group::new(segment, settings, group, summing)),
            }
        }
        for group in &optional.all {
            scores.groups.push(Group::new(segment, settings, group, summing));
        }
        scores
    }
    /// Whether all matching documents have the same score.
    pub fn is_constant(&self) -> bool {
        self.groups.is_empty()
    }
    /// The score of a document that passes the filter.
    pub fn of(&self, doc: u32) -> u32 {
        self.groups.iter().fold(self.constant, |score, group| score.saturating_add(group.of(doc)))
    }
    /// The highest score that a document can have.
    pub fn max(&self) -> u32 {
        let best = |group: &Group| {
            let scores = group.atoms.iter().map(|(score, _)| *score);
            match group.sum {
                Summing::Highest => scores.max().unwrap_or(0),
                Summing::All => scores.fold(0, u32::saturating_add),
            }
        };
        self.groups.iter().map(best).fold(self.constant, u32::saturating_add)
    }
}
/// The score every document that passes the group gets, when it is the same for all.
fn equal_score(group: &AnyOf, summing: Summing) -> Option<u32> {
    let first = group.any.first()?.score;
    let equal = group.any.iter().all(|atom| atom.score == first);
    (equal && (group.any.len() == 1 || summing == Summing::Highest)).then_some(first)
}
impl Group {
    fn new(segment: &Segment, settings: &IndexSettings, group: &AnyOf, sum: Summing) -> Group {
        let atoms = group.any.iter().map(|atom| (atom.score, signed_set(segment, settings, atom))).collect();
        Group { atoms, sum }
    }
    fn of(&self, doc: u32) -> u32 {
        let held = self.atoms.iter().filter(|(_, set)| bits::contains(set, doc)).map(|(score, _)| *score);
        match self.sum {
            Summing::Highest => held.max().unwrap_or(0),
            Summing::All => held.fold(0, u32::saturating_add),
        }
    }
}
