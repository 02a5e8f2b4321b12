//! What does a search for synonyms or rules ask (C§11, C§10)?

use super::{ResourceKind, text};
use crate::error::{Error, Result, shortened};
use crate::filter::{Filter, parse_filters};
use crate::limits::DOCUMENTS_PER_PAGE_MAX;
use crate::params::lenient;
use crate::rule::Anchoring;
use crate::synonym::{SYNONYM_TYPES, synonym_type};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

/// A search for resources. What does not belong to the kind is left open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ResourceQuery {
    /// Words to look for; empty = all resources.
    pub query: String,
    /// Zero-based page.
    pub page: u64,
    /// Resources of a page, 1 to 1,000.
    pub hits_per_page: u64,
    /// Types of synonyms to look among, as in [`SYNONYM_TYPES`]; empty = all.
    #[serde(deserialize_with = "sent_types")]
    pub types: Vec<&'static str>,
    /// Rules with a pattern anchored so.
    pub anchoring: Option<Anchoring>,
    /// Rules with exactly this context.
    pub context: Option<String>,
    /// Rules that are enabled, or those that are not.
    pub enabled: Option<bool>,
    /// Rules of recommendations that pass it.
    #[serde(skip_serializing_if = "Filter::is_empty")]
    pub filter: Filter,
    /// Bytes that the answer may have; 0 = any number.
    #[serde(skip_serializing_if = "is_any")]
    pub bytes_max: usize,
}

fn is_any(bytes_max: &usize) -> bool {
    *bytes_max == 0
}

impl ResourceQuery {
    /// The names of what a search of this kind may carry.
    pub fn names(kind: ResourceKind) -> &'static [&'static str] {
        match kind {
            ResourceKind::Synonyms => &["query", "type", "page", "hitsPerPage"],
            ResourceKind::Rules => &["query", "anchoring", "context", "enabled", "page", "hitsPerPage"],
            ResourceKind::Recommend(_) => &[
                "query",
                "context",
                "enabled",
                "page",
                "hitsPerPage",
                "filters",
                "requestOptions",
                "facets",
                "maxValuesPerFacet",
            ],
        }
    }

    /// Reads the members of a body. A `null` or an empty text is as good as none.
    ///
    /// Errors: `Invalid`, naming the member (C§19).
    pub fn parse(kind: ResourceKind, members: &Map<String, Value>) -> Result<ResourceQuery> {
        const SYNONYMS_PER_PAGE: u64 = 100;
        const RULES_PER_PAGE: u64 = 20;
        let mut found = ResourceQuery {
            hits_per_page: match kind {
                ResourceKind::Synonyms => SYNONYMS_PER_PAGE,
                ResourceKind::Rules | ResourceKind::Recommend(_) => RULES_PER_PAGE,
            },
            ..ResourceQuery::default()
        };
        for (name, value) in members {
            if !Self::names(kind).contains(&name.as_str()) {
                return Err(Error::invalid(format!("Unknown parameter: {}", shortened(name))));
            }
            if value.is_null() || value.as_str() == Some("") {
                continue;
            }
            match name.as_str() {
                "query" => found.query = lenient::text(name, value)?,
                "page" => found.page = lenient::count(name, value, 0, u64::from(u32::MAX))?,
                "hitsPerPage" => {
                    found.hits_per_page = lenient::count(name, value, 1, DOCUMENTS_PER_PAGE_MAX)?;
                }
                "type" => found.types = types(value)?,
                "anchoring" => found.anchoring = Some(lenient::choice(name, value, Anchoring::NAMES)?),
                "context" => found.context = Some(text(name, value)?),
                "enabled" => found.enabled = Some(lenient::flag(name, value)?),
                "filters" => {
                    let text = value.as_str().ok_or_else(|| Error::parameter(name, "string"))?;
                    found.filter = parse_filters(text)?;
                }
                // clients may send them, and nothing of the answer depends on them
                "requestOptions" | "facets" | "maxValuesPerFacet" => {}
                other => return Err(Error::invalid(format!("Unknown parameter: {other}"))),
            }
        }
        Ok(found)
    }
}

/// As another node sends them.
fn sent_types<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<&'static str>, D::Error> {
    let named = Vec::<String>::deserialize(from)?;
    let known = named.iter().map(|name| synonym_type(name)).collect::<Option<_>>();
    known.ok_or_else(|| de::Error::custom("a type of synonyms that is not known"))
}

/// A comma-separated text or a list.
fn types(value: &Value) -> Result<Vec<&'static str>> {
    let named = lenient::list("type", value)?.into_iter();
    let known = named.map(|name| synonym_type(name.trim())).collect::<Option<Vec<_>>>();
    known.ok_or_else(|| {
        let known: Vec<_> = SYNONYM_TYPES.iter().map(|name| format!("\"{name}\"")).collect();
        Error::parameter("type", &format!("comma-separated list of {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn parse(kind: ResourceKind, body: Value) -> Result<ResourceQuery, String> {
        ResourceQuery::parse(kind, body.as_object().unwrap()).map_err(|error| error.message)
    }

    #[test]
    fn defaults_differ_between_synonyms_and_rules() {
        let plain = |hits_per_page| Ok(ResourceQuery { hits_per_page, ..ResourceQuery::default() });
        let empty = json!({"query": "", "page": null});
        assert_eq!(parse(ResourceKind::Synonyms, empty.clone()), plain(100));
        assert_eq!(parse(ResourceKind::Rules, empty), plain(20));
        let found = parse(
            ResourceKind::Synonyms,
            json!({"query": "a b", "type": "synonym,altCorrection1", "page": "2", "hitsPerPage": 7}),
        );
        let found = found.unwrap();
        assert_eq!((found.query.as_str(), found.page, found.hits_per_page), ("a b", 2, 7));
        assert_eq!(found.types, ["synonym", "altcorrection1"]);
        let found =
            parse(ResourceKind::Rules, json!({"anchoring": "is", "context": "c", "enabled": "false"}));
        let found = found.unwrap();
        assert_eq!((found.anchoring, found.context.as_deref()), (Some(Anchoring::Is), Some("c")));
        assert_eq!(found.enabled, Some(false));
    }

    #[test]
    fn c19_wrong_members_are_named() {
        for (kind, body, expected) in [
            (ResourceKind::Synonyms, json!({"enabled": true}), "Unknown parameter: enabled"),
            (ResourceKind::Rules, json!({"type": "synonym"}), "Unknown parameter: type"),
            (
                ResourceKind::Synonyms,
                json!({"type": "word"}),
                "Invalid value for \"type\" parameter, expected comma-separated list of \"synonym\", \
                 \"onewaysynonym\", \"altcorrection1\", \"altcorrection2\", \"placeholder\"",
            ),
            (
                ResourceKind::Rules,
                json!({"hitsPerPage": 0}),
                "Invalid value for \"hitsPerPage\" parameter, expected integer between 1 and 1000",
            ),
            (
                ResourceKind::Rules,
                json!({"page": -1}),
                "Invalid value for \"page\" parameter, expected integer between 0 and 4294967295",
            ),
            (
                ResourceKind::Rules,
                json!({"anchoring": "starts"}),
                "Invalid value for \"anchoring\" parameter, expected one of \"is\", \"startsWith\", \
                 \"endsWith\", \"contains\"",
            ),
            (
                ResourceKind::Rules,
                json!({"query": ["a"]}),
                "Invalid value for \"query\" parameter, expected string",
            ),
            (
                ResourceKind::Synonyms,
                json!({"query": "x".repeat(513)}),
                "Invalid value for \"query\" parameter, expected string shorter than 512 bytes",
            ),
        ] {
            assert_eq!(parse(kind, body.clone()), Err(expected.to_owned()), "{body}");
        }
    }
}
