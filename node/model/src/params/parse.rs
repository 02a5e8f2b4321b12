//! How do request bodies and query strings become search parameters (C§2)?

use super::{SearchParams, lenient};
use crate::error::{Error, Result, shortened};
use crate::languages;
use crate::limits::{FILTERS_MAX, JSON_DEPTH_MAX, QUERY_BYTES_MAX};
use crate::settings::table::{self, Form, SettingRow, Target};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Members of calls that carry search parameters which are not parameters themselves.
const CALL_MEMBERS: &[&str] = &["params", "indexName", "strategy", "requests", "apiKey", "index"];

/// What deleteByQuery may carry (C§3.5).
/// What selects the records that a call deletes.
pub const DELETE_BY_NAMES: &[&str] = &[
    "filters",
    "facetFilters",
    "numericFilters",
    "tagFilters",
    "aroundLatLng",
    "aroundRadius",
    "insideBoundingBox",
    "insidePolygon",
];

impl SearchParams {
    /// Parses the body of a search-like call: the members of its `params` text, overridden by direct members.
    ///
    /// A `null` member is as good as none. Errors: `Invalid` with the texts of C§19.
    pub fn from_json(body: &Map<String, Value>) -> Result<SearchParams> {
        match body.get("params") {
            // none to put together, as from most callers
            None | Some(Value::Null) => SearchParams::from_direct(body),
            Some(_) => SearchParams::from_given(&together(&embedded(body)?, body)),
        }
    }

    /// Parses the body of a search-like call from its bytes; no bytes are an empty body.
    pub fn from_body(bytes: &[u8]) -> Result<SearchParams> {
        let object = if bytes.iter().all(u8::is_ascii_whitespace) {
            Map::new()
        } else {
            crate::json::scan(bytes)?;
            serde_json::from_slice(bytes)
                .map_err(|_| Error::invalid("expected a JSON object near line:1 column:1"))?
        };
        SearchParams::from_json(&object)
    }

    /// Parses URL-encoded parameters, as in `params` or in a key's `queryParameters`; unknown names are refused.
    pub fn from_url_encoded(text: &str) -> Result<SearchParams> {
        let mut members = Map::new();
        collect_pairs(&mut members, text)?;
        SearchParams::from_members(&members)
    }

    /// Parses the decoded query string of a GET; credentials and unknown names are passed over (C§1.1).
    pub fn from_query_pairs<N, V>(pairs: impl IntoIterator<Item = (N, V)>) -> Result<SearchParams>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        let (mut direct, mut members) = (Map::new(), Map::new());
        for (name, value) in pairs {
            match name.as_ref() {
                "params" => collect_pairs(&mut members, value.as_ref())?,
                name if query_row(name).is_some() => {
                    direct.insert(name.to_owned(), Value::String(value.as_ref().to_owned()));
                }
                _ => {}
            }
        }
        members.extend(direct);
        SearchParams::from_members(&members)
    }

    /// Parses what deleteByQuery selects: filters and geo restrictions only, at least one of them (C§3.5).
    pub fn from_delete_by(body: &Map<String, Value>) -> Result<SearchParams> {
        let embedded = embedded(body)?;
        let members = together(&embedded, body);
        for (&name, value) in &members {
            let empty_query = name == "query" && value.as_str() == Some("");
            if !empty_query && !DELETE_BY_NAMES.contains(&name) && table::lookup(name).is_some() {
                return Err(Error::invalid(format!(
                    "Invalid parameter for deleteBy: {name}, only filters and geo restrictions are allowed"
                )));
            }
        }
        let params = SearchParams::from_given(&members)?;
        let everywhere = params.around_lat_lng.is_none()
            && params.inside_bounding_box.is_none()
            && params.inside_polygon.is_none();
        if params.filter.is_empty() && everywhere {
            return Err(Error::invalid("deleteBy needs at least one filter or geo restriction"));
        }
        Ok(params)
    }

    /// Parses parameters alone, none of them inside a `params` text; unknown names are refused.
    pub(crate) fn from_members(members: &Map<String, Value>) -> Result<SearchParams> {
        let given = members.iter().map(|(name, value)| (name.as_str(), value));
        SearchParams::from_some(given, |name| members.contains_key(name))
    }
    /// Parses the members of a body that has no `params` text.
    fn from_direct(body: &Map<String, Value>) -> Result<SearchParams> {
        SearchParams::from_some(direct(body), |name| {
            !is_call_member(name) && body.get(name).is_some_and(|value| !value.is_null())
        })
    }
    /// Parses parameters that stand in several places.
    fn from_given(members: &BTreeMap<&str, &Value>) -> Result<SearchParams> {
        let given = members.iter().map(|(&name, &value)| (name, value));
        SearchParams::from_some(given, |name| members.contains_key(name))
    }
    /// Parses parameters of which `is_given` says which there are.
    fn from_some<'m>(
        members: impl Iterator<Item = (&'m str, &'m Value)>,
        is_given: impl Fn(&str) -> bool,
    ) -> Result<SearchParams> {
        let mut params = SearchParams::default();
        for (name, value) in members {
            let row = query_row(name)
                .ok_or_else(|| Error::invalid(format!("Unknown parameter: {}", shortened(name))))?;
            let overridden = name != row.name && is_given(row.name);
            if !overridden && !is_no_value(row, value) {
                params.set(row, name, value)?;
            }
        }
        if params.filter.len() + params.optional_filter.len() > FILTERS_MAX {
            return Err(Error::parameter("filters", &format!("at most {FILTERS_MAX} filters")));
        }
        Ok(params)
    }

    /// Fills the member of one row from a value that is not null. Names the caller used appear in errors.
    pub(crate) fn set(&mut self, row: &SettingRow, name: &str, value: &Value) -> Result<()> {
        match row.target {
            Target::Flag(at) => *at(self) = Some(lenient::flag(name, value)?),
            Target::Count(min, max, at) => *at(self) = Some(lenient::count(name, value, min, max)?),
            Target::Text(bytes_max, at) => *at(self) = Some(lenient::text_up_to(name, value, bytes_max)?),
            Target::List(at) => *at(self) = Some(lenient::list(name, value)?),
            Target::Languages(at) => {
                let listed = lenient::list(name, value);
                let listed = listed.map_err(|_| Error::parameter(name, "array of language codes"))?;
                languages::check(name, &listed)?;
                *at(self) = Some(listed);
            }
            Target::Query(_, set) => set(self, name, value)?,
            Target::Kept(form) => {
                self.other.insert(row.name.to_owned(), kept(form, name, value)?);
            }
            Target::IndexList(..)
            | Target::Index(..)
            | Target::IndexCount(..)
            | Target::IndexText(_)
            | Target::IndexStrings(_)
            | Target::Dropped => {}
        }
        Ok(())
    }
}

/// The row of a parameter that a request may carry.
fn query_row(name: &str) -> Option<&'static SettingRow> {
    table::lookup(name).filter(|row| row.scope.in_query())
}

/// Whether a name carries credentials or telemetry rather than a parameter (C§1.1).
pub(super) fn is_transport_name(name: &str) -> bool {
    const BEGINNINGS: [&[u8]; 2] = [b"x-algolia-", b"x-service-"];
    let begins =
        |with: &[u8]| name.as_bytes().get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
    BEGINNINGS.into_iter().any(begins)
}

/// Whether a body member belongs to the call and not to the search.
pub(super) fn is_call_member(name: &str) -> bool {
    CALL_MEMBERS.contains(&name) || is_transport_name(name)
}

/// The members of the `params` text of a body.
fn embedded(body: &Map<String, Value>) -> Result<Map<String, Value>> {
    let mut members = Map::new();
    match body.get("params") {
        Some(Value::String(text)) => collect_pairs(&mut members, text)?,
        Some(Value::Null) | None => {}
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            return Err(Error::parameter("params", "URL-encoded UTF-8 string"));
        }
    }
    Ok(members)
}
/// The members of a body that are parameters, without those of its `params` text.
fn direct(body: &Map<String, Value>) -> impl Iterator<Item = (&str, &Value)> {
    let members = body.iter().map(|(name, value)| (name.as_str(), value));
    members.filter(|(name, value)| !is_call_member(name) && !value.is_null())
}
/// The members of `params`, overridden by the direct ones; without those of the call and without nulls. Nothing is copied: a
/// value may be a large tree that is refused in a moment.
fn together<'m>(
    embedded: &'m Map<String, Value>,
    body: &'m Map<String, Value>,
) -> BTreeMap<&'m str, &'m Value> {
    let embedded = embedded.iter().map(|(name, value)| (name.as_str(), value));
    embedded.chain(direct(body)).collect()
}

/// The parameters that the body of a search-like call gives, as written: those of its `params` text, overridden by direct
/// members. Errors: `Invalid` when the text cannot be read.
pub fn given(mut body: Map<String, Value>) -> Result<Map<String, Value>> {
    let embedded = embedded(&body)?;
    body.retain(|name, value| !is_call_member(name) && !value.is_null());
    for (name, value) in embedded {
        body.entry(name).or_insert(value);
    }
    Ok(body)
}

/// Adds the pairs of a URL-encoded text.
fn collect_pairs(members: &mut Map<String, Value>, text: &str) -> Result<()> {
    if percent_decode_str(text).decode_utf8().is_err() {
        return Err(Error::parameter("params", "URL-encoded UTF-8 string"));
    }
    for (name, value) in form_urlencoded::parse(text.as_bytes()) {
        if !name.is_empty() && !is_call_member(&name) {
            members.insert(name.into_owned(), Value::String(value.into_owned()));
        }
    }
    Ok(())
}

/// Old clients write an absent value as the text `null`; only where text is not the natural form of the value.
fn is_no_value(row: &SettingRow, value: &Value) -> bool {
    let is_text = matches!(row.target, Target::Text(..) | Target::Kept(Form::Text));
    !is_text && row.name != "filters" && value.as_str() == Some("null")
}

/// Checks a value that no typed member holds and brings it into the form of the table.
pub(crate) fn kept(form: Form, name: &str, value: &Value) -> Result<Value> {
    let wrong = || Error::parameter(name, &form.words());
    match form {
        Form::Flag => lenient::flag(name, value).map(Value::Bool),
        Form::Count(min, max) => lenient::count(name, value, min, max).map(Value::from),
        Form::Text => lenient::text(name, value).map(Value::String),
        Form::List => lenient::list(name, value).map(Value::from),
        Form::Choice(names) => match value.as_str() {
            Some(text) if names.contains(&text) => Ok(value.clone()),
            _ => Err(wrong()),
        },
        Form::Object => Some(lenient::json(value)).filter(Value::is_object).ok_or_else(wrong),
        Form::Any => bounded(value).then(|| value.clone()).ok_or_else(wrong),
    }
}

/// Whether a free value is small enough to be kept: texts within the limit and bounded nesting.
fn bounded(value: &Value) -> bool {
    fn within(value: &Value, depth: usize) -> bool {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
            Value::String(text) => text.len() <= QUERY_BYTES_MAX,
            Value::Array(list) => depth > 0 && list.iter().all(|inner| within(inner, depth - 1)),
            Value::Object(map) => depth > 0 && map.values().all(|inner| within(inner, depth - 1)),
        }
    }
    within(value, JSON_DEPTH_MAX)
}
