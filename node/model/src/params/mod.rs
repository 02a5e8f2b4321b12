//! Search parameters, typed (C§4). `None` = not given: the index setting, then the default, applies.

mod echo;
mod free;
pub(crate) mod lenient;
pub(crate) mod list;
pub(crate) mod members;
mod overlay;
mod parse;
#[cfg(test)]
mod tests;

pub use echo::{echo, echo_bytes, echo_pairs};
pub use free::{check_free, check_free_pairs};
pub use overlay::{Forced, put_over};
pub(crate) use parse::kept;
pub use parse::{DELETE_BY_NAMES, given};

use crate::filter::Filter;
use crate::wire::{exact, exact_boxes};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// `typoTolerance` (C§4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum TypoTolerance {
    On,
    Off,
    Min,
    Strict,
}
/// `queryType` (C§4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
#[expect(clippy::enum_variant_names, reason = "the values have these names in the interface")]
pub enum QueryType {
    PrefixLast,
    PrefixAll,
    PrefixNone,
}
/// `removeWordsIfNoResults` (C§4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum RemoveWords {
    None,
    LastWords,
    FirstWords,
    AllOptional,
}
/// `exactOnSingleWordQuery` (C§7.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ExactOnSingleWord {
    Attribute,
    None,
    Word,
}
/// `sortFacetValuesBy` (C§4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum FacetSort {
    Count,
    Alpha,
}
/// For which languages something is on: `ignorePlurals`, `removeStopWords` (C§4.5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ForLanguages {
    /// Off.
    None,
    /// `true`: the query languages, or all that are supported.
    Query,
    /// The languages listed.
    Listed(Vec<String>),
}
/// `advancedSyntaxFeatures` (C§4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct SyntaxFeatures {
    pub exact_phrase: bool,
    pub exclude_words: bool,
}
/// `alternativesAsExact` (C§4.6): which alternatives of a query word count as exact matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct AlternativesAsExact {
    pub plurals: bool,
    pub single_word_synonyms: bool,
    pub multi_word_synonyms: bool,
    pub conjugations: bool,
}
/// `aroundRadius` (C§4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AroundRadius {
    /// Metres.
    Metres(u64),
    /// Every record with a position.
    All,
}
/// A point in degrees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct LatLng {
    #[serde(with = "exact")]
    pub lat: f64,
    #[serde(with = "exact")]
    pub lng: f64,
}
/// What a parameter is while it may not be given.
macro_rules! asked {
    (added $of:ty) => { $of };
    ($kind:ident $of:ty) => { Option<$of> };
}
macro_rules! search_params {
    ($($(#[$about:meta])* $member:ident: $kind:ident $of:ty $(as $written:tt)?,)*) => {
        /// What a request or the settings of an index say about one search.
        ///
        /// The same struct holds the query-time values of the settings, so the effective value of a member is
        /// `request.x.or(settings.params.x)` and then the default of the table: `Settings::effective` resolves them all.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        #[allow(missing_docs)]
        pub struct SearchParams {
            $($(#[$about])* $(#[serde(with = $written)])? pub $member: asked!($kind $of),)*
            /// Accepted parameters that act elsewhere or not at all (analytics, languages, personalisation …), as given.
            pub other: serde_json::Map<String, Value>,
            /// What the caller's key forces; it is in the other members already, and put over what rules say.
            pub forced: Option<Arc<Forced>>,
        }
    };
}
list::parameters!(search_params);
