//! What do facetFilters, numericFilters, tagFilters and optionalFilters mean (C§5.6–5.9)?

use super::lex::is_number;
use super::parse::{named_value, operator};
use super::{AnyOf, Atom, Filter, FilterAtom};
use crate::error::{Error, Result};
use crate::limits::{FILTER_SCORE_MAX, FILTERS_MAX, FILTERS_TEXT_BYTES_MAX, JSON_DEPTH_MAX};
use serde_json::Value;

/// The notation of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// `attribute:value`, as in facetFilters and optionalFilters.
    Facets,
    /// `attribute > 1` or `attribute:1 TO 2`.
    Numbers,
    /// A tag.
    Tags,
}

/// What becomes of the spaces around the value of a facet or a tag: in a list it is what stands behind the name, in a text they separate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spaces {
    Kept,
    Dropped,
}

/// Parses a parameter that is a nested list of items or the text of one.
///
/// Shape: the outer list is a conjunction, inner lists are disjunctions, deeper ones flow into them.
/// Errors: `Invalid`, naming the parameter `name`.
pub fn parse_items(name: &str, items: Items, value: &Value) -> Result<Filter> {
    let mut spaces = Spaces::Kept;
    let groups = match value {
        Value::Null => Vec::new(),
        Value::Array(list) => json_groups(name, items, list)?,
        Value::String(text) if text.len() > FILTERS_TEXT_BYTES_MAX => {
            return Err(Error::parameter(name, "string shorter than 65536 bytes"));
        }
        Value::String(text) if text.trim_start().starts_with('[') => {
            match serde_json::from_str::<Vec<Value>>(text) {
                Ok(list) => json_groups(name, items, &list)?,
                Err(_) => return Err(expected(name, items)),
            }
        }
        Value::String(text) => {
            spaces = Spaces::Dropped;
            text_groups(text).ok_or_else(|| expected(name, items))?
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Err(expected(name, items)),
    };
    let count: usize = groups.iter().map(Vec::len).sum();
    if count > FILTERS_MAX {
        return Err(Error::parameter(name, &format!("at most {FILTERS_MAX} filters")));
    }
    if groups.iter().flatten().any(|item| item.len() > FILTERS_TEXT_BYTES_MAX) {
        return Err(Error::parameter(name, "string shorter than 65536 bytes"));
    }
    let mut filter = Filter::default();
    for group in groups {
        let any: Result<Vec<FilterAtom>> =
            group.iter().map(|item| atom(items, item, spaces).ok_or_else(|| expected(name, items))).collect();
        filter.all.push(AnyOf { any: any? });
    }
    Ok(filter)
}

fn expected(name: &str, items: Items) -> Error {
    let form = match items {
        Items::Facets => "\"attribute:value\"",
        Items::Numbers => {
            "\"attribute=10\", \">10\", \">=10\", \"<10\", \"<=10\", \"!=10\" or \"attribute:10 TO 20\""
        }
        Items::Tags => "\"tag\"",
    };
    Error::parameter(name, &format!("string or nested array of strings of the form {form}"))
}

/// Groups of a JSON list. Empty strings and empty groups restrict nothing.
fn json_groups(name: &str, items: Items, list: &[Value]) -> Result<Vec<Vec<String>>> {
    let mut groups = Vec::new();
    for entry in list {
        let mut group = Vec::new();
        flatten(entry, &mut group, 1).ok_or_else(|| expected(name, items))?;
        if !group.is_empty() {
            groups.push(group);
        }
    }
    Ok(groups)
}

fn flatten(value: &Value, group: &mut Vec<String>, depth: usize) -> Option<()> {
    match value {
        Value::String(text) if text.trim().is_empty() => Some(()),
        Value::String(text) => {
            group.push(text.clone());
            Some(())
        }
        Value::Array(list) if depth < JSON_DEPTH_MAX => {
            list.iter().try_for_each(|inner| flatten(inner, group, depth + 1))
        }
        Value::Null => Some(()),
        Value::Array(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Groups of the legacy text form `a,(b,c)`; `None` when the parentheses do not pair.
///
/// A quote protects commas and parentheses when it starts an item or its value.
fn text_groups(text: &str) -> Option<Vec<Vec<String>>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    let mut open: Option<Vec<String>> = None;
    let mut item = String::new();
    let mut quote = None;
    let mut quotable = true;
    for c in text.chars() {
        let may_quote = std::mem::replace(&mut quotable, false);
        match c {
            _ if quote == Some(c) => {
                quote = None;
                item.push(c);
            }
            _ if quote.is_some() => item.push(c),
            '"' | '\'' if may_quote => {
                quote = Some(c);
                item.push(c);
            }
            '(' if item.trim().is_empty() && open.is_none() => {
                open = Some(Vec::new());
                item.clear();
                quotable = true;
            }
            ')' if open.is_some() => {
                let mut group = open.take()?;
                end_item(&mut item, &mut group);
                groups.push(group);
            }
            ',' => {
                match &mut open {
                    Some(group) => end_item(&mut item, group),
                    None => end_group(&mut item, &mut groups),
                }
                quotable = true;
            }
            _ => {
                quotable = c == ':' || (c == '-' && may_quote) || (c.is_whitespace() && may_quote);
                item.push(c);
            }
        }
    }
    end_group(&mut item, &mut groups);
    groups.retain(|group| !group.is_empty());
    (open.is_none() && quote.is_none()).then_some(groups)
}

fn end_item(item: &mut String, group: &mut Vec<String>) {
    let text = std::mem::take(item);
    if !text.trim().is_empty() {
        group.push(text.trim().to_owned());
    }
}

fn end_group(item: &mut String, groups: &mut Vec<Vec<String>>) {
    let mut group = Vec::new();
    end_item(item, &mut group);
    groups.push(group);
}

fn atom(items: Items, untrimmed: &str, spaces: Spaces) -> Option<FilterAtom> {
    let item = untrimmed.trim();
    match items {
        Items::Numbers => Some(FilterAtom { atom: number_atom(item)?, negated: false, score: 1 }),
        Items::Tags => {
            let item = if spaces == Spaces::Kept { untrimmed } else { item };
            let (item, score) = split_score(item)?;
            let (negated, value) = sign(item);
            let value = strip_quotes(value);
            (!value.is_empty()).then(|| FilterAtom {
                atom: Atom::Tag { value: value.to_owned() },
                negated,
                score,
            })
        }
        Items::Facets => {
            // what stands behind the name is the value as it is, spaces included
            let (item, score) = split_score(untrimmed.trim_start())?;
            let (name_negated, item) = sign(item);
            let (attribute, value) = split_name(item)?;
            let value = if spaces == Spaces::Dropped { value.trim_start() } else { value };
            let (value_negated, value) = sign(value);
            let atom = named_value(attribute.to_owned(), strip_quotes(value).to_owned());
            Some(FilterAtom { atom, negated: name_negated != value_negated, score })
        }
    }
}

/// Takes a leading `-` as a negation and `\-` as a literal dash.
fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None if text.starts_with("\\-") => (false, &text[1..]),
        None => (false, text),
    }
}

fn strip_quotes(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// Splits at the first `:` that is not the first character; a quoted name may contain colons.
fn split_name(item: &str) -> Option<(&str, &str)> {
    if let Some(quote @ ('"' | '\'')) = item.chars().next()
        && let Some(end) = item[1..].find(quote)
        && let Some(value) = item[end + 2..].trim_start().strip_prefix(':')
        && end > 0
    {
        return Some((&item[1..=end], value));
    }
    let first = item.chars().next()?.len_utf8();
    let colon = first + item[first..].find(':')?;
    Some((item[..colon].trim_end(), &item[colon + 1..]))
}

/// Splits a trailing `<score=N>` off; `None` when N is out of range.
fn split_score(item: &str) -> Option<(&str, u32)> {
    let Some((start, digits)) = item.strip_suffix('>').and_then(|rest| rest.rsplit_once("<score=")) else {
        return Some((item, 1));
    };
    let score = digits.trim().parse::<u32>().ok().filter(|&score| score <= FILTER_SCORE_MAX)?;
    Some((start.trim_end(), score))
}

fn number_atom(item: &str) -> Option<Atom> {
    let start = item.find(['=', '!', '<', '>', ':'])?;
    let attribute = strip_quotes(item[..start].trim());
    let rest = &item[start..];
    if attribute.is_empty() {
        return None;
    }
    if let Some(bounds) = rest.strip_prefix(':') {
        let (from, to) = bounds.split_once("TO").or_else(|| bounds.split_once("to"))?;
        return Some(Atom::Range { attribute: attribute.to_owned(), from: number(from)?, to: number(to)? });
    }
    let symbol = ["!=", "<=", ">=", "=", "<", ">"].into_iter().find(|symbol| rest.starts_with(symbol))?;
    let value = number(&rest[symbol.len()..])?;
    Some(Atom::Numeric { attribute: attribute.to_owned(), op: operator(symbol), value })
}

fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    is_number(text).then(|| text.parse().ok()).flatten().filter(|value: &f64| value.is_finite())
}
