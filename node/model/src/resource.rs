//! How are the resources users keep beside records (synonyms, rules) read, and what is wrong with one?

mod query;

pub use query::ResourceQuery;

use crate::error::{Error, Result, shortened};
use crate::json;
use crate::limits::{BATCH_OPS_MAX, QUERY_BYTES_MAX, RECOMMEND_RULES_MAX, RULES_MAX, SYNONYMS_MAX};
use crate::params::lenient;
use crate::recommend::RecommendModel;
use crate::record::check_object_id;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Which resources of an index. Commands carry it by its number: append, never reorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum ResourceKind {
    Synonyms,
    Rules,
    /// The rules of one model of recommendations.
    Recommend(RecommendModel),
}
impl ResourceKind {
    /// All kinds.
    pub const ALL: [ResourceKind; 2 + RecommendModel::ALL.len()] = {
        let mut all = [ResourceKind::Synonyms; 2 + RecommendModel::ALL.len()];
        all[1] = ResourceKind::Rules;
        let mut model = 0;
        while model < RecommendModel::ALL.len() {
            all[2 + model] = ResourceKind::Recommend(RecommendModel::ALL[model]);
            model += 1;
        }
        all
    };

    /// The part of an index that it belongs to, as the `scope` of a copy names it.
    pub fn scope(self) -> &'static str {
        match self {
            ResourceKind::Synonyms => "synonyms",
            ResourceKind::Rules | ResourceKind::Recommend(_) => "rules",
        }
    }
    /// What they are.
    pub fn name(self) -> &'static str {
        match self {
            ResourceKind::Synonyms => "synonyms",
            ResourceKind::Rules => "rules",
            ResourceKind::Recommend(_) => "recommend_rules",
        }
    }
    /// How many of them one index may have (C§20).
    pub fn count_max(self) -> usize {
        match self {
            ResourceKind::Synonyms => SYNONYMS_MAX,
            ResourceKind::Rules => RULES_MAX,
            ResourceKind::Recommend(_) => RECOMMEND_RULES_MAX,
        }
    }
    /// 400 for a change that would leave more than that.
    pub fn too_many(self) -> Error {
        let whose = match self {
            ResourceKind::Synonyms | ResourceKind::Rules => "An index",
            ResourceKind::Recommend(_) => "A model of an index",
        };
        Error::invalid(format!("{whose} can have at most {} {}", self.count_max(), self.scope()))
    }
    /// 404 for one that is not there (C§19).
    pub fn missing(self) -> Error {
        match self {
            ResourceKind::Synonyms => Error::not_found("Synonym set does not exist"),
            ResourceKind::Rules | ResourceKind::Recommend(_) => Error::no_object(),
        }
    }
}

/// Members that answers of searches add to a document; sent back, they are passed over.
const ADDED_BY_ANSWERS: &[&str] = &["_highlightResult", "_metadata"];

/// A document as given, ready to be typed: no nulls on its first level, nothing that answers add, `objectID` a text.
pub(crate) struct Given {
    /// The id.
    pub object_id: String,
    /// Everything, `objectID` included.
    pub members: Map<String, Value>,
}
impl Given {
    /// Reads one value of a body. `path_id` is the id in the URL, which wins over the one in the document (C§2).
    pub fn new(value: Value, what: &str, path_id: Option<&str>) -> Result<Given> {
        let Value::Object(mut members) = value else {
            return Err(Error::invalid(format!("expected {what} as a JSON object")));
        };
        members.retain(|name, value| !value.is_null() && !ADDED_BY_ANSWERS.contains(&name.as_str()));
        let object_id = match (path_id, members.get("objectID")) {
            (Some(id), _) => id.to_owned(),
            (None, Some(Value::String(id))) => id.clone(),
            (None, Some(Value::Number(number))) => number.to_string(),
            (None, Some(_)) => return Err(Error::invalid("objectID must be a string or a number")),
            (None, None) => return Err(missing("objectID")),
        };
        check_object_id(&object_id)?;
        members.insert("objectID".to_owned(), Value::from(object_id.as_str()));
        Ok(Given { object_id, members })
    }
    /// The document without white space.
    pub fn text(&self) -> Box<str> {
        serde_json::to_string(&self.members).expect("a JSON object is always text").into()
    }
}

/// Reads the body of a call that saves one document.
pub(crate) fn one<T>(
    body: &[u8],
    what: &str,
    path_id: &str,
    typed: impl Fn(Given) -> Result<T>,
) -> Result<T> {
    json::scan(body)?;
    typed(Given::new(parsed(body)?, what, Some(path_id))?)
}

/// Reads the body of a call that saves many resources: a JSON array. Errors name the place in it and the id.
pub(crate) fn many<T>(body: &[u8], what: &str, typed: impl Fn(Given) -> Result<T>) -> Result<Vec<T>> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Vec::new());
    }
    let found = json::scan(body)?;
    // one tree at a time: a body may be large
    let values: Vec<&RawValue> = serde_json::from_slice(&found.text)
        .map_err(|_| Error::invalid(format!("expected a JSON array of {what}s near line:1 column:1")))?;
    if values.len() > BATCH_OPS_MAX {
        return Err(Error::invalid(format!("expected at most {BATCH_OPS_MAX} {what}s in one call")));
    }
    let mut resources = Vec::with_capacity(values.len());
    for (position, value) in values.into_iter().enumerate() {
        let value = parsed(value.get().as_bytes())?;
        let id = value.get("objectID").and_then(Value::as_str).map(str::to_owned);
        let document = Given::new(value, what, None).and_then(&typed).map_err(|mut error| {
            let named = id.as_deref().map_or_else(String::new, |id| format!(" objectID={}", shortened(id)));
            error.message = format!("{} in the {what} at the position {position}{named}", error.message);
            error.position = Some(position as u64);
            error.object_id = id;
            error
        })?;
        resources.push(document);
    }
    Ok(resources)
}

fn parsed(body: &[u8]) -> Result<Value> {
    serde_json::from_slice(body).map_err(|error| Error::invalid(format!("parse error: {error}")))
}

/// 400 for a member that has to be there.
pub(crate) fn missing(path: &str) -> Error {
    Error::invalid(format!("{path} is required"))
}

/// Bytes of a value without white space.
pub(crate) fn bytes_of(value: &Value) -> usize {
    serde_json::to_vec(value).map_or(0, |text| text.len())
}

/// The members of one object in a document; errors name them by their path. A `null` member is as good as none.
pub(crate) struct Members<'a> {
    map: &'a Map<String, Value>,
    path: String,
}
impl<'a> Members<'a> {
    /// The members of the whole document.
    pub fn top(map: &'a Map<String, Value>) -> Self {
        Members { map, path: String::new() }
    }
    /// The members of an inner object.
    pub fn of(value: &'a Value, path: String) -> Result<Self> {
        match value.as_object() {
            Some(map) => Ok(Members { map, path }),
            None => Err(Error::parameter(&path, "object")),
        }
    }
    /// The path of the object itself.
    pub fn path(&self) -> &str {
        &self.path
    }
    /// Every member with a value.
    pub fn given(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.map.iter().filter(|(_, value)| !value.is_null())
    }
    /// The path of a member.
    pub fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
    /// Refuses members that are not among `known` (C§19).
    pub fn only(&self, known: &[&str]) -> Result<()> {
        #[cfg(test)]
        crate::level::vocabulary::note(&self.path, known);
        match self.map.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                let name = self.at(&shortened(name));
                let text = serde_json::to_vec(self.map).unwrap_or_default();
                let found = json::scan(&text)?;
                let end = found.members.iter().find(|member| !known.contains(&&*found.name(member)));
                let place = json::place(&text, end.map_or(0, |member| member.source_end));
                Err(Error::invalid(format!("Invalid object attributes: {name} {place}")))
            }
            None => Ok(()),
        }
    }
    /// Whether no member has a value.
    pub fn is_empty(&self) -> bool {
        self.given().next().is_none()
    }
    /// A member of any form.
    pub fn value(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }
    /// A member that has to be there.
    pub fn required(&self, name: &str) -> Result<&'a Value> {
        self.value(name).ok_or_else(|| missing(&self.at(name)))
    }
    /// A text, as in search parameters at most 512 bytes long.
    pub fn text(&self, name: &str) -> Result<Option<String>> {
        self.value(name).map(|value| text(&self.at(name), value)).transpose()
    }
    /// A text that has to be there and to hold more than white space.
    pub fn required_text(&self, name: &str) -> Result<String> {
        required_text(&self.at(name), self.required(name)?)
    }
    /// A boolean; the texts and numbers of C§2 count.
    pub fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.value(name).map(|value| lenient::flag(&self.at(name), value)).transpose()
    }
    /// A list of at most `entries_max` values.
    pub fn list(&self, name: &str, entries_max: usize) -> Result<&'a [Value]> {
        match self.value(name) {
            None => Ok(&[]),
            Some(Value::Array(list)) if list.len() <= entries_max => Ok(list),
            Some(Value::Array(_)) => {
                Err(Error::parameter(&self.at(name), &format!("array of at most {entries_max} entries")))
            }
            Some(_) => Err(Error::parameter(&self.at(name), "array")),
        }
    }
    /// A list of at most `entries_max` texts with more than white space.
    pub fn texts(&self, name: &str, entries_max: usize) -> Result<Vec<String>> {
        let list = self.list(name, entries_max)?.iter().enumerate();
        list.map(|(i, value)| required_text(&format!("{}[{i}]", self.at(name)), value)).collect()
    }
}

/// A text of at most 512 bytes.
pub(crate) fn text(path: &str, value: &Value) -> Result<String> {
    match value.as_str() {
        Some(text) if text.len() <= QUERY_BYTES_MAX => Ok(text.to_owned()),
        Some(_) => Err(Error::parameter(path, &format!("string of at most {QUERY_BYTES_MAX} bytes"))),
        None => Err(Error::parameter(path, "string")),
    }
}

/// A text of at most 512 bytes with more than white space.
pub(crate) fn required_text(path: &str, value: &Value) -> Result<String> {
    let text = text(path, value)?;
    if text.trim().is_empty() { Err(Error::parameter(path, "non-empty string")) } else { Ok(text) }
}
