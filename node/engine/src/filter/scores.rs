//! How much do the filters say in favour of a document? (C§7.5)
//!
//! Few filters keep the sets of their documents, so that only ranked documents are added up. Many are added up for every
//! document at once: 1,000 filters take the memory of one number for each document, not of 1,000 sets.

use super::{cost_of, signed_set};
use crate::bits;
use crate::clock::Clock;
use crate::index::Segment;
use quorate_model::Filter;
use quorate_model::filter::AnyOf;
use quorate_model::settings::IndexSettings;

/// Filters up to which sets are kept: beyond, a number for each document takes less memory.
const SETS_MAX: usize = 32;

/// Scores of one query in one segment.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// What every matching document gets.
    constant: u32,
    groups: Vec<Group>,
    /// What the groups give each document, when they are too many to be kept.
    totals: Option<Vec<u32>>,
    /// The most that the groups give.
    most: u32,
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
    /// The scores of mandatory and optional filters. Those not looked at when the clock rings count nothing.
    pub fn new(
        segment: &Segment,
        settings: &IndexSettings,
        filter: &Filter,
        optional: &Filter,
        summing: Summing,
        clock: &mut Clock,
    ) -> Scores {
        let mut scores = Scores::default();
        let mut groups: Vec<&AnyOf> = vec![];
        for group in &filter.all {
            match equal_score(group, summing) {
                Some(score) => scores.constant = scores.constant.saturating_add(score),
                None => groups.push(group),
            }
        }
        groups.extend(&optional.all);
        scores.most = groups.iter().map(|group| best(group, summing)).fold(0, u32::saturating_add);
        if groups.iter().map(|group| group.any.len()).sum::<usize>() > SETS_MAX {
            scores.totals = Some(totals(segment, settings, &groups, summing, clock));
            return scores;
        }
        let kept = groups.iter().map(|group| Group::new(segment, settings, group, summing, clock));
        scores.groups = kept.collect();
        scores
    }
    /// Whether all matching documents have the same score.
    pub fn is_constant(&self) -> bool {
        self.groups.is_empty() && self.totals.is_none()
    }
    /// The score of a document that passes the filter.
    pub fn of(&self, doc: u32) -> u32 {
        if let Some(totals) = &self.totals {
            return self.constant.saturating_add(totals[doc as usize]);
        }
        self.groups.iter().fold(self.constant, |score, group| score.saturating_add(group.of(doc)))
    }
    /// The highest score that a document can have.
    pub fn max(&self) -> u32 {
        self.constant.saturating_add(self.most)
    }
}
/// The most that a group gives.
fn best(group: &AnyOf, summing: Summing) -> u32 {
    let scores = group.any.iter().map(|atom| atom.score);
    match summing {
        Summing::Highest => scores.max().unwrap_or(0),
        Summing::All => scores.fold(0, u32::saturating_add),
    }
}
/// What the groups give each document of the segment together.
fn totals(
    segment: &Segment,
    settings: &IndexSettings,
    groups: &[&AnyOf],
    summing: Summing,
    clock: &mut Clock,
) -> Vec<u32> {
    let mut totals = vec![0u32; segment.doc_count() as usize];
    let mut given = vec![0u32; totals.len()];
    for group in groups {
        given.fill(0);
        for atom in &group.any {
            // adding up a set costs more than finding it
            if clock.spend(cost_of(segment, &atom.atom).saturating_mul(4)) {
                return totals;
            }
            bits::each(&signed_set(segment, settings, atom), |doc| {
                let given = &mut given[doc as usize];
                *given = match summing {
                    Summing::Highest => (*given).max(atom.score),
                    Summing::All => given.saturating_add(atom.score),
                };
                true
            });
        }
        totals.iter_mut().zip(&given).for_each(|(total, given)| *total = total.saturating_add(*given));
    }
    totals
}
/// The score every document that passes the group gets, when it is the same for all.
fn equal_score(group: &AnyOf, summing: Summing) -> Option<u32> {
    let first = group.any.first()?.score;
    let equal = group.any.iter().all(|atom| atom.score == first);
    (equal && (group.any.len() == 1 || summing == Summing::Highest)).then_some(first)
}
impl Group {
    fn new(
        segment: &Segment,
        settings: &IndexSettings,
        group: &AnyOf,
        sum: Summing,
        clock: &mut Clock,
    ) -> Group {
        let in_time = group.any.iter().take_while(|atom| !clock.spend(cost_of(segment, &atom.atom)));
        let atoms = in_time.map(|atom| (atom.score, signed_set(segment, settings, atom))).collect();
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
