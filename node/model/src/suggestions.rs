//! What does a configuration of query suggestions say (C§16), and what is wrong with one (C§16.4)?

use crate::error::shortened;
use crate::{Error, IndexName, Result, limits};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Hits that a query has to have at least, unless a source says otherwise.
const MIN_HITS: u32 = 5;

/// How one suggestions index is made. The serialised form is kept and shown: members are only ever added, with a default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SuggestionConfig {
    /// The suggestions index.
    pub index_name: IndexName,
    /// Where popular queries come from, at least one.
    pub source_indices: Vec<SuggestionSource>,
    /// For which languages plural forms are one suggestion.
    #[serde(default)]
    pub languages: PluralLanguages,
    /// Words and patterns that no suggestion has.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Whether suggestions are personal: kept and shown, without effect.
    #[serde(default)]
    pub enable_personalization: bool,
    /// Whether suggestions may have special characters.
    #[serde(default)]
    pub allow_special_characters: bool,
}

/// An index whose queries become suggestions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SuggestionSource {
    /// Its name; it need not be there yet.
    pub index_name: IndexName,
    /// Whether queries of its replicas count, too.
    #[serde(default)]
    pub replicas: bool,
    /// Only queries with one of these tags count; all when there are none.
    #[serde(default)]
    pub analytics_tags: Vec<String>,
    /// What is said of each suggestion beside.
    #[serde(default)]
    pub facets: Vec<SuggestionFacet>,
    /// Hits that a query has to have at least.
    pub min_hits: u32,
    /// Letters that a query has to have at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_letters: Option<u32>,
    /// Attributes whose values are put together as suggestions.
    #[serde(default)]
    pub generate: Vec<Vec<String>>,
    /// Indices with records of a `query` and a `count`.
    #[serde(default)]
    pub external: Vec<IndexName>,
}

/// A facet whose most frequent values each suggestion has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuggestionFacet {
    /// The attribute.
    pub attribute: String,
    /// How many values.
    pub amount: u32,
}

/// For which languages plural forms of a word are one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PluralLanguages {
    /// For all, or for none.
    All(bool),
    /// For these.
    Listed(Vec<String>),
}
impl Default for PluralLanguages {
    fn default() -> Self {
        // what documents that do not name it have always meant, on every node
        PluralLanguages::Listed(vec![])
    }
}

impl SuggestionConfig {
    /// Reads the body of a call that creates a configuration, or that changes the one of `named`.
    ///
    /// Errors: `Invalid`, with the texts of C§16.4 where there are any.
    pub fn read(body: &Map<String, Value>, named: Option<&IndexName>) -> Result<SuggestionConfig> {
        const KNOWN: [&str; 7] = [
            "indexName",
            "sourceIndices",
            "languages",
            "exclude",
            "enablePersonalization",
            "allowSpecialCharacters",
            // what is shown is taken back
            "appID",
        ];
        known(body, &KNOWN)?;
        text(body, "appID")?;
        let config = SuggestionConfig {
            index_name: suggestions_index(body, named)?,
            source_indices: sources(body)?,
            languages: languages(body)?,
            exclude: texts(body, "exclude")?,
            enable_personalization: flag(body, "enablePersonalization")?,
            allow_special_characters: flag(body, "allowSpecialCharacters")?,
        };
        let bytes = config.to_json().len();
        match bytes <= limits::SUGGESTION_CONFIG_BYTES_MAX {
            true => Ok(config),
            false => Err(Error::invalid(format!(
                "sourceIndices and exclude are too long: a configuration may take {} bytes, this one takes {bytes}",
                limits::SUGGESTION_CONFIG_BYTES_MAX
            ))),
        }
    }
    /// As it is kept.
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers always serialise")
    }
    /// Reads what [`Self::to_json`] wrote.
    pub fn from_json(json: &[u8]) -> Option<SuggestionConfig> {
        serde_json::from_slice(json).ok()
    }
    /// The indices that it reads.
    pub fn reads(&self) -> impl Iterator<Item = &IndexName> {
        self.source_indices.iter().flat_map(|source| [&source.index_name].into_iter().chain(&source.external))
    }
}

fn suggestions_index(body: &Map<String, Value>, named: Option<&IndexName>) -> Result<IndexName> {
    let given = text(body, "indexName")?;
    match (given, named) {
        (None | Some(""), None) => Err(Error::invalid("IndexName cannot be empty.")),
        (None, Some(named)) => Ok(named.clone()),
        (Some(given), Some(named)) if given == named.as_str() => Ok(named.clone()),
        (Some(_), Some(named)) => {
            Err(Error::parameter("indexName", &format!("the one of the path, {}", shortened(named.as_str()))))
        }
        (Some(given), None) => index(given, "indexName"),
    }
}

fn sources(body: &Map<String, Value>) -> Result<Vec<SuggestionSource>> {
    let list = list(body, "sourceIndices", "list of source indices")?;
    if list.is_empty() {
        return Err(wrong_body("sourceIndices needs to contain at least one index"));
    }
    list.iter().map(source).collect()
}

fn source(value: &Value) -> Result<SuggestionSource> {
    const KNOWN: [&str; 8] =
        ["indexName", "replicas", "analyticsTags", "facets", "minHits", "minLetters", "generate", "external"];
    let Value::Object(members) = value else {
        return Err(Error::parameter("sourceIndices", "list of objects with an indexName"));
    };
    known(members, &KNOWN)?;
    let name = text(members, "indexName")?.unwrap_or_default();
    if name.is_empty() {
        return Err(wrong_body("every source index must have an `indexName`"));
    }
    let generate = list(members, "generate", "list of lists of attribute names")?;
    let external = texts(members, "external")?;
    Ok(SuggestionSource {
        index_name: index(name, "indexName")?,
        replicas: flag(members, "replicas")?,
        analytics_tags: tags(members)?,
        facets: list(members, "facets", FACETS)?.iter().map(facet).collect::<Result<_>>()?,
        min_hits: positive(members, "minHits")?.unwrap_or(MIN_HITS),
        min_letters: positive(members, "minLetters")?,
        generate: generate.iter().map(combination).collect::<Result<_>>()?,
        external: external.iter().map(|name| index(name, "external")).collect::<Result<_>>()?,
    })
}

const FACETS: &str = "list of objects with an attribute and an amount";

fn facet(value: &Value) -> Result<SuggestionFacet> {
    let Value::Object(members) = value else { return Err(Error::parameter("facets", FACETS)) };
    known(members, &["attribute", "amount"])?;
    let attribute = text(members, "attribute")?.ok_or_else(|| Error::parameter("facets", FACETS))?;
    if attribute.is_empty() {
        return Err(Error::parameter("attribute", "name of an attribute"));
    }
    let most = limits::FACET_VALUES_MAX;
    let amount = members.get("amount").and_then(Value::as_u64).filter(|amount| (1..=most).contains(amount));
    let amount =
        amount.ok_or_else(|| Error::parameter("amount", &format!("integer between 1 and {most}")))?;
    Ok(SuggestionFacet { attribute: entry_of("attribute", attribute)?, amount: amount as u32 })
}

fn combination(value: &Value) -> Result<Vec<String>> {
    let wrong = || Error::parameter("generate", "list of lists of attribute names");
    let names = value.as_array().filter(|names| !names.is_empty()).ok_or_else(wrong)?;
    if names.len() > limits::LIST_ENTRIES_MAX {
        return Err(Error::parameter(
            "generate",
            &format!("lists of at most {} names", limits::LIST_ENTRIES_MAX),
        ));
    }
    let name =
        |name: &Value| entry_of("generate", name.as_str().filter(|it| !it.is_empty()).ok_or_else(wrong)?);
    names.iter().map(name).collect()
}

fn languages(body: &Map<String, Value>) -> Result<PluralLanguages> {
    match body.get("languages") {
        Some(Value::Bool(all)) => Ok(PluralLanguages::All(*all)),
        None | Some(Value::Null) => Ok(PluralLanguages::All(false)),
        Some(_) => {
            let expected = "boolean or list of language codes";
            let codes = list(body, "languages", expected)?.iter().map(|code| {
                let code = code.as_str().filter(|code| crate::languages::number(code).is_some());
                code.map(str::to_owned).ok_or_else(|| Error::parameter("languages", expected))
            });
            codes.collect::<Result<_>>().map(PluralLanguages::Listed)
        }
    }
}

fn known(members: &Map<String, Value>, names: &[&str]) -> Result<()> {
    match members.keys().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(Error::invalid(format!("Unknown parameter: {}", shortened(name)))),
        None => Ok(()),
    }
}
fn given<'v>(members: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    members.get(name).filter(|value| !value.is_null())
}
fn text<'v>(members: &'v Map<String, Value>, name: &str) -> Result<Option<&'v str>> {
    let text = |value: &'v Value| value.as_str().ok_or_else(|| Error::parameter(name, "string"));
    given(members, name).map(text).transpose()
}
fn flag(members: &Map<String, Value>, name: &str) -> Result<bool> {
    let flag = |value: &Value| value.as_bool().ok_or_else(|| Error::parameter(name, "boolean"));
    Ok(given(members, name).map(flag).transpose()?.unwrap_or_default())
}
fn list<'v>(members: &'v Map<String, Value>, name: &str, expected: &str) -> Result<&'v [Value]> {
    match given(members, name) {
        None => Ok(&[]),
        Some(Value::Array(entries)) if entries.len() <= limits::LIST_ENTRIES_MAX => Ok(entries),
        Some(Value::Array(_)) => {
            Err(Error::parameter(name, &format!("list of at most {} entries", limits::LIST_ENTRIES_MAX)))
        }
        Some(_) => Err(Error::parameter(name, expected)),
    }
}
fn texts(members: &Map<String, Value>, name: &str) -> Result<Vec<String>> {
    let expected = "list of strings that are not empty";
    let texts = list(members, name, expected)?.iter().map(|entry| {
        let text = entry.as_str().filter(|text| !text.trim().is_empty());
        entry_of(name, text.ok_or_else(|| Error::parameter(name, expected))?)
    });
    texts.collect()
}
/// An entry of a list, or another text, if it is not too long (C§20).
fn entry_of(name: &str, text: &str) -> Result<String> {
    match text.len() <= limits::QUERY_BYTES_MAX {
        true => Ok(text.to_owned()),
        false => {
            Err(Error::parameter(name, &format!("strings of at most {} bytes", limits::QUERY_BYTES_MAX)))
        }
    }
}
fn tags(members: &Map<String, Value>) -> Result<Vec<String>> {
    let tags = texts(members, "analyticsTags")?;
    match tags.iter().all(|tag| tag.chars().count() <= limits::ANALYTICS_TAG_CHARS_MAX) {
        true => Ok(tags),
        false => {
            let expected = format!("strings of at most {} characters", limits::ANALYTICS_TAG_CHARS_MAX);
            Err(Error::parameter("analyticsTags", &expected))
        }
    }
}
/// A number above zero.
fn positive(members: &Map<String, Value>, name: &str) -> Result<Option<u32>> {
    let Some(value) = given(members, name) else { return Ok(None) };
    let is_too_small = value.as_i64().is_some_and(|number| number <= 0);
    match value.as_u64().and_then(|number| u32::try_from(number).ok()) {
        Some(number) if number > 0 => Ok(Some(number)),
        _ if is_too_small => Err(wrong_body(&format!("every source index `{name}` must be positive"))),
        _ => Err(Error::parameter(name, &format!("integer between 1 and {}", u32::MAX))),
    }
}
fn index(name: &str, member: &str) -> Result<IndexName> {
    IndexName::new(name).map_err(|_| Error::parameter(member, "name of an index"))
}
fn wrong_body(what: &str) -> Error {
    Error::invalid(format!("Invalid body \"{what}\"."))
}

#[cfg(test)]
mod tests;
