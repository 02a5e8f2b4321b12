//! Index settings (C§4): one table drives parsing, defaults, validation and what GET answers.

mod change;
pub(crate) mod criterion;
mod effective;
mod facets;
mod fingerprint;
pub(crate) mod members;
pub mod replica;
pub mod table;
#[cfg(test)]
mod tests;

pub use criterion::Criterion;
pub use effective::Effective;
pub use facets::{FacetAttribute, FacetAttributes};
pub use members::{IndexSettings, SearchableAttribute, SortKey};

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
