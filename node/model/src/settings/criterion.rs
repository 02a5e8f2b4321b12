//! By which criteria can `ranking` order hits? (C§4.2)

use super::SortKey;
use crate::level::LaterValue;

/// Names of criteria; `Criterion = "name" since LEVEL` for one that began after the first level.
macro_rules! criteria {
    ($($(#[$about:meta])* $criterion:ident = $name:literal $(since $level:expr)?,)*) => {
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
        /// Criteria that began after the first level: alone or in a list, as `ranking` is read.
        pub(super) const LATER: &[LaterValue] = &[$($(LaterValue {
            level: $level,
            is_it: |ranking| {
                let mut entries = ranking.as_array().into_iter().flatten().chain([ranking]);
                entries.any(|entry| entry.as_str().is_some_and(|entry| entry.trim() == $name))
            },
        },)?)*];
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

#[cfg(test)]
mod tests {
    use crate::settings::SortKey;
    use serde_json::json;

    #[allow(dead_code)]
    mod later {
        use super::SortKey;
        use crate::level::LaterValue;

        criteria! {
            /// Known to every program.
            Old = "old",
            /// Not to those before level 7.
            New = "new" since 7,
        }
        pub fn levels(ranking: &serde_json::Value) -> Vec<u16> {
            LATER.iter().filter(|later| (later.is_it)(ranking)).map(|later| later.level).collect()
        }
    }

    #[test]
    fn a_later_criterion_needs_its_level_however_ranking_is_given() {
        for (ranking, levels) in [
            (json!(["old", "asc(new)"]), vec![]),
            (json!(["old", "new"]), vec![7]),
            (json!(["old", " new "]), vec![7]),
            (json!("new"), vec![7]),
            (json!(null), vec![]),
        ] {
            assert_eq!(later::levels(&ranking), levels, "{ranking}");
        }
        assert_eq!(later::Criterion::named("new"), Some(later::Criterion::New));
    }
}
