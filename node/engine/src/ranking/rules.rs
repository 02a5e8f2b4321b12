//! What do settings and the way to read a query say about positions, for all documents alike?

use crate::index::position::AttributeNumbers;
use quorate_model::params::ExactOnSingleWord;

/// What the settings say about positions: sets of attribute numbers, one bit each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionRules {
    /// Attributes that are searched at all.
    pub searched: u32,
    /// Attributes in which typos count as matches.
    pub typos: u32,
    /// Attributes in which beginnings of words count as matches.
    pub prefixes: u32,
    /// Attributes whose matches can be exact.
    pub exact: u32,
    /// What the numbers of attributes count.
    pub numbers: AttributeNumbers,
    /// Whether attributes rank at all (C§7.7: not when searchableAttributes is unset).
    pub attributes_rank: bool,
    /// Whether the attribute is the best of all matches, not of the nearest ones.
    pub attribute_of_all_matches: bool,
    /// Distances below it count as it.
    pub min_proximity: u32,
    /// What counts as exact when there is one word.
    pub exact_on_single_word: ExactOnSingleWord,
}
impl PositionRules {
    /// Whether sets of terms decide which documents match, without a look at positions.
    pub fn sets_decide(&self) -> bool {
        let PositionRules { searched, typos, prefixes, .. } = *self;
        searched == u32::MAX && typos == u32::MAX && prefixes == u32::MAX
    }
}
/// What holds for every document that a way to read the query matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Words of the query, however many are looked for.
    pub words: usize,
    /// Typos of alternatives.
    pub typos: u32,
    /// Distances between words that an alternative stands for.
    pub proximity: u32,
}
