//! Which value does each query parameter have for one search: the request's, else the setting's, else the default?

use super::Settings;
use super::table::ROWS;
use crate::filter::Filter;
use crate::params::list::parameters;
use crate::params::{
    AlternativesAsExact, AroundRadius, ExactOnSingleWord, FacetSort, ForLanguages, LatLng, QueryType,
    RemoveWords, SearchParams, SyntaxFeatures, TypoTolerance,
};
use serde_json::{Map, Value};
use std::sync::{Arc, LazyLock};

/// What a parameter is when it is resolved.
macro_rules! resolved {
    (added $of:ty) => { $of };
    (always $of:ty) => { $of };
    ($kind:ident $of:ty) => { Option<$of> };
}
macro_rules! effective {
    ($($(#[$about:meta])* $member:ident: $kind:ident $of:ty $(as $written:tt)?,)*) => {
        /// Every query parameter with the value that holds for one search; `None` only where absence has a meaning.
        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs)]
        pub struct Effective {
            $($(#[$about])* pub $member: resolved!($kind $of),)*
            /// Accepted parameters that act elsewhere or not at all: those of the settings, overridden by the request.
            pub other: Map<String, Value>,
        }
    };
}
parameters!(effective);

/// The defaults of the table as parameters.
static DEFAULTS: LazyLock<SearchParams> = LazyLock::new(|| {
    let mut defaults = SearchParams::default();
    for row in ROWS {
        let value = row.default_value();
        if !value.is_null() {
            defaults
                .set(row, row.name, &value)
                .expect("the defaults of the table are valid; a test reads them all");
        }
    }
    // Members of `other` without a request or a setting stay absent: whoever acts on one knows its default.
    defaults.other = Map::new();
    defaults
});

impl Settings {
    /// Resolves every query parameter of a request on these settings.
    pub fn effective(&self, request: &SearchParams) -> Effective {
        let (set, default) = (&self.params, &*DEFAULTS);
        macro_rules! value {
            (added $member:ident) => {
                request.$member.clone()
            };
            (always $member:ident) => {
                value!(perhaps $member).expect("the table has a default; a test resolves every member")
            };
            ($kind:ident $member:ident) => {
                request.$member.clone().or_else(|| set.$member.clone()).or_else(|| default.$member.clone())
            };
        }
        let mut other = set.other.clone();
        other.extend(request.other.iter().map(|(name, value)| (name.clone(), value.clone())));
        macro_rules! values {
            ($($(#[$about:meta])* $member:ident: $kind:ident $of:ty $(as $written:tt)?,)*) => {
                Effective { $($member: value!($kind $member),)* other }
            };
        }
        parameters!(values)
    }
}
