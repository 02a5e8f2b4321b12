//! What do two sets of parameters say together, when one of them is stronger? Rules over requests, keys over rules
//! (C§8.6).

use super::SearchParams;
use super::list::parameters;
use crate::filter::Filter;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// What the caller's key forces: nothing overrides it (C§13.3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Forced {
    /// The parameters. Their `filter` is empty: it is [`Forced::filter`].
    pub params: SearchParams,
    /// What every record that the caller gets to see must pass. It is part of the request's filter, too.
    pub filter: Filter,
}

/// Puts the stronger of two values of a parameter over the weaker one.
macro_rules! stronger {
    (added $weaker:expr, $stronger:expr) => {
        $weaker = std::mem::take(&mut $weaker).and($stronger.clone())
    };
    (merged $weaker:expr, $stronger:expr) => {
        if let Some(content) = &$stronger {
            let weaker = $weaker.get_or_insert_with(|| Arc::new(Value::Object(Map::new())));
            merge(Arc::make_mut(weaker), content);
        }
    };
    ($kind:ident $weaker:expr, $stronger:expr) => {
        if $stronger.is_some() {
            $weaker.clone_from(&$stronger);
        }
    };
}

impl SearchParams {
    /// These parameters with what `stronger` gives: its members replace, its filters are added to these (C§10.4),
    /// `renderingContent` is merged.
    pub fn overridden_by(mut self, stronger: &SearchParams) -> SearchParams {
        macro_rules! put_over {
            ($($(#[$about:meta])* $member:ident: $kind:ident $of:ty $(as $written:tt)?,)*) => {
                $(stronger!($kind self.$member, stronger.$member);)*
            };
        }
        parameters!(put_over);
        self.other.extend(stronger.other.iter().map(|(name, value)| (name.clone(), value.clone())));
        if stronger.forced.is_some() {
            self.forced.clone_from(&stronger.forced);
        }
        self
    }
    /// These parameters with what the caller's key forces on top again.
    pub fn under_key(self) -> SearchParams {
        let Some(forced) = self.forced.clone() else { return self };
        let mut params = self.overridden_by(&forced.params);
        params.keep_forced();
        params
    }
    /// Takes out what would win over something that the key forces: `offset` and `length` over `hitsPerPage`, one kind of place over
    /// another, `similarQuery` over `query`.
    pub fn keep_forced(&mut self) {
        let Some(forced) = self.forced.clone() else { return };
        let forced = &forced.params;
        if forced.hits_per_page.is_some() && forced.length.is_none() && forced.offset.is_none() {
            self.offset = None;
            self.length = None;
        }
        if forced.has_place() {
            self.take_places(forced);
        }
        if forced.query.is_some() && forced.similar_query.is_none() {
            self.similar_query = None;
        }
    }
    /// Whether the records have to be somewhere.
    pub fn has_place(&self) -> bool {
        self.around_lat_lng.is_some() || self.inside_bounding_box.is_some() || self.inside_polygon.is_some()
    }
    /// Takes the places of `other` for its own, and no others.
    pub fn take_places(&mut self, other: &SearchParams) {
        self.around_lat_lng = other.around_lat_lng;
        self.inside_bounding_box.clone_from(&other.inside_bounding_box);
        self.inside_polygon.clone_from(&other.inside_polygon);
    }
}

/// Parameters of filters as they are written: those of both must hold, or count.
const ADDED: [&str; 7] = [
    "filters",
    "facetFilters",
    "numericFilters",
    "tagFilters",
    "optionalFilters",
    "automaticFacetFilters",
    "automaticOptionalFacetFilters",
];

/// As [`SearchParams::overridden_by`] for parameters as they are written: members replace, also renderingContent; filters are added.
pub fn put_over(weaker: &mut Map<String, Value>, stronger: &Map<String, Value>) {
    for (name, value) in stronger {
        let value = match weaker.remove(name) {
            Some(before) if ADDED.contains(&name.as_str()) => both(name, before, value.clone()),
            Some(_) | None => value.clone(),
        };
        weaker.insert(name.clone(), value);
    }
}
/// Two filters that must both hold.
fn both(name: &str, weaker: Value, stronger: Value) -> Value {
    match (weaker, stronger) {
        (Value::String(weaker), Value::String(stronger)) if name == "filters" => {
            format!("({weaker}) AND ({stronger})").into()
        }
        (weaker, stronger) => {
            let list = |value| if let Value::Array(list) = value { list } else { vec![value] };
            let mut all = list(weaker);
            all.extend(list(stronger));
            Value::Array(all)
        }
    }
}

/// Puts `stronger` over `value`: objects member by member, everything else as a whole.
fn merge(value: &mut Value, stronger: &Value) {
    match (value, stronger) {
        (Value::Object(members), Value::Object(given)) => {
            for (name, given) in given {
                match members.get_mut(name) {
                    Some(member) => merge(member, given),
                    None => {
                        members.insert(name.clone(), given.clone());
                    }
                }
            }
        }
        (value, stronger) => *value = stronger.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn params(value: Value) -> SearchParams {
        SearchParams::from_json(value.as_object().unwrap()).unwrap()
    }

    #[test]
    fn members_replace_and_filters_add_up() {
        for (weaker, stronger, expected) in [
            (
                json!({"query": "a", "page": 1}),
                json!({"page": 2, "distinct": 1}),
                json!({"query": "a", "page": 2, "distinct": 1}),
            ),
            (json!({"filters": "a:1"}), json!({"filters": "b:2"}), json!({"filters": "a:1 AND b:2"})),
            (
                json!({"optionalFilters": ["a:1"]}),
                json!({"optionalFilters": ["b:2"]}),
                json!({"optionalFilters": ["a:1", "b:2"]}),
            ),
            (
                json!({"renderingContent": {"a": {"x": 1, "y": 2}, "b": [1]}}),
                json!({"renderingContent": {"a": {"x": 3}, "b": [2]}}),
                json!({"renderingContent": {"a": {"x": 3, "y": 2}, "b": [2]}}),
            ),
            (
                json!({"analytics": true, "analyticsTags": ["x"]}),
                json!({"analytics": false}),
                json!({"analytics": false, "analyticsTags": ["x"]}),
            ),
        ] {
            let together = params(weaker.clone()).overridden_by(&params(stronger.clone()));
            assert_eq!(together, params(expected), "{weaker} under {stronger}");
        }
    }

    #[test]
    fn every_parameter_of_the_table_replaces() {
        for row in crate::settings::table::ROWS.iter().filter(|row| row.scope.in_query()) {
            let value = row.default_value();
            if !value.is_null() {
                let given = params(json!({ row.name: value }));
                assert_eq!(SearchParams::default().overridden_by(&given), given, "{}", row.name);
            }
        }
    }

    #[test]
    fn what_a_key_forces_stays() {
        let forced = Forced { params: params(json!({"hitsPerPage": 2})), filter: Filter::default() };
        let asked = SearchParams { forced: Some(Arc::new(forced)), ..params(json!({"page": 1})) };
        let ruled =
            asked.overridden_by(&params(json!({"hitsPerPage": 50, "length": 9, "page": 3}))).under_key();
        assert_eq!((ruled.hits_per_page, ruled.length, ruled.page), (Some(2), None, Some(3)));
    }
}
