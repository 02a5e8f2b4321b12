//! Index settings (§2.5, C§4): one table drives parsing, defaults, validation and what GET answers.

mod change;
pub(crate) mod criterion;
mod effective;
mod fingerprint;
pub(crate) mod members;
pub mod replica;
pub mod table;
#[cfg(test)]
mod tests;

pub use criterion::Criterion;
pub use effective::Effective;

use crate::params::SearchParams;
use serde_json::{Map, Value};

/// The settings of one index: the document as set, and its typed form.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What was set, with legacy names translated; values keep their form (C§4.9). Defaults are not in it.
    pub document: Map<String, Value>,
    /// Settings that only settings can carry.
    pub index: IndexSettings,
    /// Settings that a query may override.
    pub params: SearchParams,
}
/// One entry of searchableAttributes after parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchableAttribute {
    /// Dotted path.
    pub path: String,
    /// Priority; entries of one comma list share it.
    pub priority: u16,
    /// Whether word positions count (`false` for `unordered(…)` and for comma lists).
    pub ordered: bool,
}
/// One entry of attributesForFaceting after parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct FacetAttribute {
    pub path: String,
    pub searchable: bool,
    pub filter_only: bool,
    pub after_distinct: bool,
}
/// `asc(attr)` or `desc(attr)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SortKey {
    pub path: String,
    pub descending: bool,
}
/// Settings-only members, parsed.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct IndexSettings {
    /// Empty = every attribute is searchable and the attribute criterion is off.
    pub searchable_attributes: Vec<SearchableAttribute>,
    pub attributes_for_faceting: Vec<FacetAttribute>,
    pub unretrievable_attributes: Vec<String>,
    pub ranking: Vec<Criterion>,
    pub custom_ranking: Vec<SortKey>,
    pub replicas: Vec<String>,
    pub primary: Option<String>,
    pub attribute_for_distinct: Option<String>,
    pub pagination_limited_to: u64,
    pub disable_typo_tolerance_on_words: Vec<String>,
    pub disable_prefix_on_attributes: Vec<String>,
    pub separators_to_index: String,
    pub camel_case_attributes: Vec<String>,
    /// Codes as given; unknown ones have no effect.
    pub index_languages: Vec<String>,
    /// Language code and attributes whose compound words are indexed in parts, too.
    pub decompounded_attributes: Vec<(String, Vec<String>)>,
    pub keep_diacritics_on_characters: String,
    pub custom_normalization: Vec<(char, String)>,
    /// `None` = every number; paths may be `equalOnly(…)`.
    pub numeric_attributes_for_filtering: Option<Vec<(String, bool)>>,
}
