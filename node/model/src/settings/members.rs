//! Which members do only settings carry, and how do they become typed (C§4)?

use super::criterion::ENTRY;
use super::{Criterion, FacetAttribute, FacetAttributes};
use crate::error::{Error, Result, shortened};
use crate::languages;
use crate::limits::{NORMALIZATIONS_MAX, USER_DATA_BYTES_MAX};
use crate::params::lenient;
use serde_json::Value;

/// One entry of searchableAttributes after parsing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchableAttribute {
    /// Dotted path.
    pub path: String,
    /// Priority; entries of one comma list share it.
    pub priority: u16,
    /// Whether word positions count (`false` for `unordered(…)` and for comma lists).
    pub ordered: bool,
}
/// `asc(attr)` or `desc(attr)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct SortKey {
    pub path: String,
    pub descending: bool,
}
/// Settings-only members, parsed. The defaults of the table replace those of the types.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct IndexSettings {
    /// Empty = every attribute is searchable and the attribute criterion is off.
    pub searchable_attributes: Vec<SearchableAttribute>,
    pub attributes_for_faceting: FacetAttributes,
    pub unretrievable_attributes: Vec<String>,
    pub ranking: Vec<Criterion>,
    pub custom_ranking: Vec<SortKey>,
    pub replicas: Vec<String>,
    pub primary: Option<String>,
    pub attribute_for_distinct: Option<String>,
    pub pagination_limited_to: u64,
    pub disable_typo_tolerance_on_words: Vec<String>,
    pub disable_prefix_on_attributes: Vec<String>,
    pub separators_to_index: String,
    pub camel_case_attributes: Vec<String>,
    /// Codes as given; unknown ones have no effect.
    pub index_languages: Vec<String>,
    /// Language code and attributes whose compound words are indexed in parts, too.
    pub decompounded_attributes: Vec<(String, Vec<String>)>,
    pub keep_diacritics_on_characters: String,
    pub custom_normalization: Vec<(char, String)>,
    /// `None` = every number; paths may be `equalOnly(…)`.
    pub numeric_attributes_for_filtering: Option<Vec<(String, bool)>>,
}

/// The strings of a list whose form is already checked.
fn entries(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn owned(value: &Value) -> Vec<String> {
    entries(value).map(str::to_owned).collect()
}

/// What `word(inner)` holds, if the text is that.
fn inside<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let inner = text.trim().strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')')?;
    // not `word(a),word(b)`
    (depths(inner).all(|depth| depth >= 0)).then_some(inner.trim())
}

/// How many parentheses are open after each of the text's.
fn depths(text: &str) -> impl Iterator<Item = i32> {
    let steps = text.bytes().filter_map(|byte| match byte {
        b'(' => Some(1),
        b')' => Some(-1),
        _ => None,
    });
    steps.scan(0, |depth, step| {
        *depth += step;
        Some(*depth)
    })
}

/// The name of an attribute. Errors: it is empty, or has the form `word(…` that only modifiers have.
fn attribute(name: &str, text: &str, expected: &str) -> Result<String> {
    let text = text.trim();
    let before = text.split_once('(').map(|(before, _)| before);
    let is_modified = before.is_some_and(|word| word.bytes().all(|c| c.is_ascii_alphabetic()));
    let is_open = depths(text).any(|depth| depth < 0) || depths(text).last().is_some_and(|depth| depth != 0);
    if text.is_empty() {
        return Err(Error::parameter(name, &format!("{expected}, not an empty name")));
    }
    if is_modified || is_open {
        let text = shortened(text);
        return Err(Error::parameter(name, &format!("{expected}, \"{text}\" is none of them")));
    }
    Ok(text.to_owned())
}

pub(crate) fn searchable_attributes(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let mut found = Vec::new();
    for (priority, entry) in entries(value).enumerate() {
        let priority =
            u16::try_from(priority).map_err(|_| Error::parameter(name, "at most 65536 entries"))?;
        let (list, unordered) = match (inside(entry, "unordered"), inside(entry, "ordered")) {
            (Some(list), _) => (list, true),
            (None, Some(list)) => (list, false),
            (None, None) => (entry, false),
        };
        let alone = !list.contains(',');
        for part in list.split(',') {
            let (path, part_unordered) = match (inside(part, "unordered"), inside(part, "ordered")) {
                (Some(path), _) => (path, true),
                (None, Some(path)) => (path, false),
                (None, None) => (part, false),
            };
            let path = attribute(name, path, "attribute names, ordered(name) or unordered(name)")?;
            let ordered = alone && !unordered && !part_unordered;
            found.push(SearchableAttribute { path, priority, ordered });
        }
    }
    index.searchable_attributes = found;
    Ok(())
}

pub(crate) fn attributes_for_faceting(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let mut found = Vec::new();
    for entry in entries(value) {
        let mut facet = FacetAttribute {
            path: String::new(),
            searchable: false,
            filter_only: false,
            after_distinct: false,
        };
        let mut rest = entry.trim();
        loop {
            if let Some(inner) = inside(rest, "searchable") {
                facet.searchable = true;
                rest = inner;
            } else if let Some(inner) = inside(rest, "filterOnly") {
                facet.filter_only = true;
                rest = inner;
            } else if let Some(inner) = inside(rest, "afterDistinct") {
                facet.after_distinct = true;
                rest = inner;
            } else {
                break;
            }
        }
        let expected = "attribute names, searchable(name), filterOnly(name) or afterDistinct(name)";
        facet.path = attribute(name, rest, expected)?;
        if facet.searchable && facet.filter_only {
            return Err(Error::parameter(name, "either searchable(name) or filterOnly(name), not both"));
        }
        found.push(facet);
    }
    index.attributes_for_faceting = found.into_iter().collect();
    Ok(())
}

pub(crate) fn ranking(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let criterion = |entry: &str| match Criterion::named(entry.trim()) {
        Some(criterion) => Ok(criterion),
        None => Ok(Criterion::Sort(sort_key(name, entry.trim(), ENTRY)?)),
    };
    index.ranking = entries(value).map(criterion).collect::<Result<_>>()?;
    Ok(())
}

pub(crate) fn custom_ranking(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let key = |entry| sort_key(name, entry, "asc(name) or desc(name)");
    index.custom_ranking = entries(value).map(key).collect::<Result<_>>()?;
    Ok(())
}

fn sort_key(name: &str, entry: &str, expected: &str) -> Result<SortKey> {
    let (path, descending) = match (inside(entry, "asc"), inside(entry, "desc")) {
        (Some(path), _) => (path, false),
        (None, Some(path)) => (path, true),
        (None, None) => {
            let entry = shortened(entry);
            return Err(Error::parameter(name, &format!("{expected}, \"{entry}\" is none of them")));
        }
    };
    Ok(SortKey { path: attribute(name, path, expected)?, descending })
}

pub(crate) fn replicas(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let replicas = owned(value);
    let bare = replicas.iter().map(|entry| inside(entry, "virtual").unwrap_or(entry));
    for replica in bare {
        if crate::IndexName::new(replica).is_err() {
            return Err(Error::parameter(name, "array of index names or virtual(name)"));
        }
    }
    index.replicas = replicas;
    Ok(())
}

pub(crate) fn attribute_for_distinct(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let text = if value.is_null() { String::new() } else { lenient::text(name, value)? };
    index.attribute_for_distinct = (!text.is_empty()).then_some(text);
    Ok(())
}

pub(crate) fn custom_normalization(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let wrong = || Error::parameter(name, "object of at most 10 replacements of one character each");
    let groups = value.as_object().ok_or_else(wrong)?;
    let mut found = Vec::new();
    for group in groups.values() {
        for (from, to) in group.as_object().ok_or_else(wrong)? {
            let mut chars = from.chars();
            let (Some(from), None, Some(to)) = (chars.next(), chars.next(), to.as_str()) else {
                return Err(wrong());
            };
            found.push((from, lenient::text(name, &Value::from(to))?));
        }
    }
    if found.len() > NORMALIZATIONS_MAX {
        return Err(wrong());
    }
    found.sort();
    index.custom_normalization = found;
    Ok(())
}

pub(crate) fn index_languages(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let listed = owned(value);
    languages::check(name, &listed)?;
    index.index_languages = listed;
    Ok(())
}

pub(crate) fn decompounded_attributes(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let wrong =
        || Error::parameter(name, "object of lists of attribute names under de, nl, fi, da, sv or no");
    let mut found = Vec::new();
    for (language, listed) in value.as_object().ok_or_else(wrong)? {
        let attributes: Option<Vec<String>> = listed
            .as_array()
            .and_then(|list| list.iter().map(|one| one.as_str().map(str::to_owned)).collect());
        match attributes {
            Some(attributes) if COMPOUNDING.contains(&language.as_str()) => {
                found.push((language.clone(), attributes));
            }
            Some(_) | None => return Err(wrong()),
        }
    }
    index.decompounded_attributes = found;
    Ok(())
}
/// Languages with compound words (C§12.1).
const COMPOUNDING: [&str; 6] = ["de", "nl", "fi", "da", "sv", "no"];

pub(crate) fn user_data(_: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    if value.to_string().len() > USER_DATA_BYTES_MAX {
        return Err(Error::parameter(name, "JSON of at most 32768 bytes"));
    }
    Ok(())
}

pub(crate) fn numeric_attributes_for_filtering(
    index: &mut IndexSettings,
    name: &str,
    value: &Value,
) -> Result<()> {
    let path = |entry| {
        let (path, equal_only) = match inside(entry, "equalOnly") {
            Some(path) => (path, true),
            None => (entry, false),
        };
        Ok((attribute(name, path, "attribute names or equalOnly(name)")?, equal_only))
    };
    index.numeric_attributes_for_filtering =
        if value.is_array() { Some(entries(value).map(path).collect::<Result<_>>()?) } else { None };
    Ok(())
}
