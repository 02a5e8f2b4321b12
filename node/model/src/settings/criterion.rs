//! By which criteria can `ranking` order hits? (C§4.2)

use super::SortKey;
use crate::level::LaterValue;

macro_rules! criteria {
    ($($(#[$about:meta])* $criterion:ident = $name:literal,)*) => {
        /// One criterion of `ranking`.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Criterion {
            $($(#[$about])* $criterion,)*
            /// `asc(attr)` or `desc(attr)`.
            Sort(SortKey),
        }
        impl Criterion {
            /// The names of those that have one.
            pub const NAMES: &[&str] = &[$($name,)*];

            /// The criterion of this name.
            pub fn named(name: &str) -> Option<Criterion> {
                match name {
                    $($name => Some(Criterion::$criterion),)*
                    _ => None,
                }
            }
        }
        /// What an entry of `ranking` may be.
        pub(super) const ENTRY: &str = concat!($($name, ", ",)* "asc(name) or desc(name)");
        /// What `ranking` may be.
        pub(super) const ENTRIES: &str = concat!("array of ", $($name, ", ",)* "asc(name) or desc(name)");
    };
}
criteria! {
    /// Fewer typos.
    Typo = "typo",
    /// Nearer to the centre.
    Geo = "geo",
    /// More of the words.
    Words = "words",
    /// More that the filters say in favour.
    Filters = "filters",
    /// Words nearer to each other.
    Proximity = "proximity",
    /// A better attribute, and earlier in it.
    Attribute = "attribute",
    /// More words as they were typed.
    Exact = "exact",
    /// The keys of customRanking.
    Custom = "custom",
}
/// Criteria that began after the first level.
pub(super) const LATER: &[LaterValue] = &[];

impl Criterion {
    /// The keys that records are sorted by where it stands; `custom` are those of customRanking.
    pub fn sort_keys<'k>(&'k self, custom: &'k [SortKey]) -> &'k [SortKey] {
        match self {
            Criterion::Sort(key) => std::slice::from_ref(key),
            Criterion::Custom => custom,
            _ => &[],
        }
    }
}
