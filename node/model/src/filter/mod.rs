//! Filters as a tree, whatever notation they came in (C§5).

mod document;
mod items;
mod lex;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use items::{Items, parse_items};
pub use parse::parse_filters;

use crate::wire::exact;
use serde::{Deserialize, Serialize};

/// A conjunction of disjunctions: what every notation of C§5 reduces to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// All of these must hold.
    pub all: Vec<AnyOf>,
}
/// At least one of these must hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnyOf {
    /// The alternatives, all of one kind when they come from `filters`.
    pub any: Vec<FilterAtom>,
}
/// One test with its sign and score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilterAtom {
    /// The test.
    pub atom: Atom,
    /// Whether it is inverted (`NOT`, `-value`).
    pub negated: bool,
    /// Weight for the `filters` criterion, 0–65535, 1 unless given (C§5.5).
    pub score: u32,
}
/// A test of one attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Atom {
    /// The attribute has this value (case-insensitive; C§5.3).
    Facet {
        /// Attribute, dots for nesting.
        attribute: String,
        /// Value as written.
        value: String,
    },
    /// `_tags` has this value (case-sensitive).
    Tag {
        /// Value as written.
        value: String,
    },
    /// Some number of the attribute compares so (C§5.4).
    Numeric {
        /// Attribute, dots for nesting.
        attribute: String,
        /// Comparison.
        op: NumericOp,
        /// Right-hand side.
        #[serde(with = "exact")]
        value: f64,
    },
    /// Some number of the attribute lies in the closed range.
    Range {
        /// Attribute, dots for nesting.
        attribute: String,
        /// Lower bound.
        #[serde(with = "exact")]
        from: f64,
        /// Upper bound.
        #[serde(with = "exact")]
        to: f64,
    },
}
/// A comparison operator of C§5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum NumericOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}
impl Filter {
    /// Whether nothing is restricted.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
    /// How many atoms it has.
    pub fn len(&self) -> usize {
        self.all.iter().map(|group| group.any.len()).sum()
    }
    /// Bytes of memory that a filter of so many atoms takes, more or less: attribute and value are short texts of their own.
    pub fn bytes_of(atoms: usize) -> usize {
        atoms * (size_of::<FilterAtom>() + size_of::<AnyOf>() + 2 * 48)
    }
    /// Both filters must hold.
    pub fn and(mut self, other: Filter) -> Filter {
        self.all.extend(other.all);
        self
    }
}
