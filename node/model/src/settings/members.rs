//! How do the members that only settings carry become typed (C§4)?

use super::{Criterion, FacetAttribute, IndexSettings, SearchableAttribute, SortKey};
use crate::error::{Error, Result};
use crate::limits::{NORMALIZATIONS_MAX, PAGINATION_LIMIT_MAX, USER_DATA_BYTES_MAX};
use crate::params::lenient;
use serde_json::Value;

/// The strings of a list whose form is already checked.
fn entries(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn owned(value: &Value) -> Vec<String> {
    entries(value).map(str::to_owned).collect()
}

/// What `word(inner)` holds, if the text is that.
fn inside<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    Some(text.trim().strip_prefix(word)?.strip_prefix('(')?.strip_suffix(')')?.trim())
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
                (None, None) => (part.trim(), false),
            };
            if path.is_empty() {
                return Err(Error::parameter(name, "non-empty attribute names"));
            }
            let ordered = alone && !unordered && !part_unordered;
            found.push(SearchableAttribute { path: path.to_owned(), priority, ordered });
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
        if rest.is_empty() {
            return Err(Error::parameter(name, "non-empty attribute names"));
        }
        if facet.searchable && facet.filter_only {
            return Err(Error::parameter(name, "either searchable(name) or filterOnly(name), not both"));
        }
        facet.path = rest.to_owned();
        found.push(facet);
    }
    index.attributes_for_faceting = found;
    Ok(())
}

pub(crate) fn unretrievable_attributes(index: &mut IndexSettings, _: &str, value: &Value) -> Result<()> {
    index.unretrievable_attributes = owned(value);
    Ok(())
}

pub(crate) fn ranking(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let criterion = |entry: &str| {
        Some(match entry.trim() {
            "typo" => Criterion::Typo,
            "geo" => Criterion::Geo,
            "words" => Criterion::Words,
            "filters" => Criterion::Filters,
            "proximity" => Criterion::Proximity,
            "attribute" => Criterion::Attribute,
            "exact" => Criterion::Exact,
            "custom" => Criterion::Custom,
            other => Criterion::Sort(sort_key(other)?),
        })
    };
    let expected = "typo, geo, words, filters, proximity, attribute, exact, custom, asc(name) or desc(name)";
    let criteria: Option<Vec<_>> = entries(value).map(criterion).collect();
    index.ranking = criteria.ok_or_else(|| Error::parameter(name, expected))?;
    Ok(())
}

pub(crate) fn custom_ranking(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    let keys: Option<Vec<_>> = entries(value).map(sort_key).collect();
    index.custom_ranking = keys.ok_or_else(|| Error::parameter(name, "asc(name) or desc(name)"))?;
    Ok(())
}

fn sort_key(entry: &str) -> Option<SortKey> {
    let (path, descending) = match (inside(entry, "asc"), inside(entry, "desc")) {
        (Some(path), _) => (path, false),
        (None, Some(path)) => (path, true),
        (None, None) => return None,
    };
    (!path.is_empty()).then(|| SortKey { path: path.to_owned(), descending })
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

pub(crate) fn pagination_limited_to(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    index.pagination_limited_to = lenient::count(name, value, 0, PAGINATION_LIMIT_MAX)?;
    Ok(())
}

pub(crate) fn disable_typo_tolerance_on_words(
    index: &mut IndexSettings,
    _: &str,
    value: &Value,
) -> Result<()> {
    index.disable_typo_tolerance_on_words = owned(value);
    Ok(())
}

pub(crate) fn disable_prefix_on_attributes(index: &mut IndexSettings, _: &str, value: &Value) -> Result<()> {
    index.disable_prefix_on_attributes = owned(value);
    Ok(())
}

pub(crate) fn separators_to_index(index: &mut IndexSettings, name: &str, value: &Value) -> Result<()> {
    index.separators_to_index = lenient::text(name, value)?;
    Ok(())
}

pub(crate) fn camel_case_attributes(index: &mut IndexSettings, _: &str, value: &Value) -> Result<()> {
    index.camel_case_attributes = owned(value);
    Ok(())
}

pub(crate) fn keep_diacritics_on_characters(
    index: &mut IndexSettings,
    name: &str,
    value: &Value,
) -> Result<()> {
    index.keep_diacritics_on_characters = lenient::text(name, value)?;
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

pub(crate) fn index_languages(index: &mut IndexSettings, _: &str, value: &Value) -> Result<()> {
    index.index_languages = owned(value);
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
    _: &str,
    value: &Value,
) -> Result<()> {
    index.numeric_attributes_for_filtering = value.is_array().then(|| {
        let paths = entries(value).map(|entry| match inside(entry, "equalOnly") {
            Some(path) => (path.to_owned(), true),
            None => (entry.trim().to_owned(), false),
        });
        paths.collect()
    });
    Ok(())
}
