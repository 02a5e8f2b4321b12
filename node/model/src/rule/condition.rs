//! How is a condition of a rule read (C§10.1, C§10.2)?

use super::{Anchoring, Condition, FacetValue, Pattern, PatternPart};
use crate::error::{Error, Result};
use crate::filter::{Atom, Filter, parse_filters};
use crate::params::lenient;
use crate::resource::Members;
use serde_json::Value;

const MEMBERS: &[&str] = &["pattern", "anchoring", "alternatives", "context", "filters"];

/// Reads one condition; `path` names it in errors.
pub(super) fn condition(value: &Value, path: String) -> Result<Condition> {
    let members = Members::of(value, path)?;
    members.only(MEMBERS)?;
    let anchoring = members
        .value("anchoring")
        .map(|value| lenient::choice(&members.at("anchoring"), value, Anchoring::NAMES))
        .transpose()?;
    let pattern = match (members.text("pattern")?, anchoring) {
        (None, _) => None,
        (Some(_), None) => {
            members.required("anchoring")?;
            None
        }
        (Some(text), Some(anchoring)) => {
            if text.trim().is_empty() && anchoring != Anchoring::Is {
                let allowed = "non-empty string unless the anchoring is \"is\"";
                return Err(Error::parameter(&members.at("pattern"), allowed));
            }
            let parts = parts(&members.at("pattern"), &text)?;
            Some(Pattern { text, anchoring, parts })
        }
    };
    let condition = Condition {
        pattern,
        alternatives: members.flag("alternatives")?.unwrap_or(false),
        context: context(&members)?,
        filters: filters(&members)?,
    };
    if condition.pattern.is_none() && condition.context.is_none() && condition.filters.is_empty() {
        return Err(Error::invalid(format!(
            "{} has no effect: one of pattern, context and filters is required",
            members.path()
        )));
    }
    Ok(condition)
}

/// The context of a condition.
pub(super) fn context(members: &Members) -> Result<Option<String>> {
    let context = members.text("context")?.filter(|context| !context.is_empty());
    if let Some(context) = &context
        && !context.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
    {
        return Err(Error::parameter(&members.at("context"), "string of letters, digits, \"_\" and \"-\""));
    }
    Ok(context)
}

/// The filters of a condition, and as they are written.
pub(super) fn filter(members: &Members) -> Result<Option<(Filter, String)>> {
    let path = members.at("filters");
    let Some(value) = members.value("filters") else { return Ok(None) };
    let text = value.as_str().ok_or_else(|| Error::parameter(&path, "string"))?;
    let filter = parse_filters(text).map_err(|mut error| {
        error.message = format!("Invalid value for \"{path}\" parameter: {}", error.message);
        error
    })?;
    Ok(Some((filter, text.to_owned())))
}

/// Facet values joined with AND; no OR, no negation, no numeric comparison.
fn filters(members: &Members) -> Result<Vec<FacetValue>> {
    let path = members.at("filters");
    let Some((filter, _)) = filter(members)? else { return Ok(Vec::new()) };
    let wrong = || Error::parameter(&path, "filters of the form facet_name:facet_value joined with AND");
    let mut values = Vec::with_capacity(filter.all.len());
    for mut group in filter.all {
        let atom = group.any.pop().filter(|atom| group.any.is_empty() && !atom.negated).ok_or_else(wrong)?;
        values.push(match atom.atom {
            Atom::Facet { attribute, value } => FacetValue { attribute, value },
            Atom::Tag { value } => FacetValue { attribute: "_tags".to_owned(), value },
            Atom::Numeric { .. } | Atom::Range { .. } => return Err(wrong()),
        });
    }
    Ok(values)
}

/// Cuts a text at its `{facet:attribute}` placeholders. A brace that opens nothing of that form is text.
pub(super) fn parts(path: &str, text: &str) -> Result<Vec<PatternPart>> {
    const OPEN: &str = "{facet:";
    let mut parts = Vec::new();
    let mut rest = text;
    let literal = |text: &str, parts: &mut Vec<PatternPart>| {
        if !text.trim().is_empty() {
            parts.push(PatternPart::Literal(text.trim().to_owned()));
        }
    };
    while let Some(start) = rest.find(OPEN) {
        let inner = &rest[start + OPEN.len()..];
        let end = inner.find('}').filter(|&end| !inner[..end].trim().is_empty());
        let end = end.ok_or_else(|| Error::parameter(path, "placeholders of the form {facet:attribute}"))?;
        literal(&rest[..start], &mut parts);
        parts.push(PatternPart::Facet(inner[..end].trim().to_owned()));
        rest = &inner[end + 1..];
    }
    literal(rest, &mut parts);
    Ok(parts)
}
