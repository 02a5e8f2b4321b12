//! What does a search in a dictionary ask (C§12.1), and what does it find?

use super::DictionaryEntry;
use crate::error::{Error, Result, shortened};
use crate::languages;
use crate::limits::HITS_PER_PAGE_MAX;
use crate::params::lenient;
use serde_json::{Map, Value};

/// A search in a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryQuery {
    /// The beginning of words, or an objectID; empty = all entries.
    pub query: String,
    /// Zero-based page.
    pub page: u64,
    /// Entries of a page, 1 to 1,000.
    pub hits_per_page: u64,
    /// Only entries of this language.
    pub language: Option<&'static str>,
}

impl DictionaryQuery {
    /// The names of what a search may carry.
    pub const NAMES: [&'static str; 4] = ["query", "page", "hitsPerPage", "language"];

    /// Reads the members of a body.
    ///
    /// Errors: `Invalid`, naming the member (C§19).
    pub fn parse(members: &Map<String, Value>) -> Result<DictionaryQuery> {
        let mut found = DictionaryQuery { query: String::new(), page: 0, hits_per_page: 20, language: None };
        let mut has_query = false;
        for (name, value) in members {
            if !Self::NAMES.contains(&name.as_str()) {
                return Err(Error::invalid(format!("Unknown parameter: {}", shortened(name))));
            }
            if value.is_null() {
                continue;
            }
            match name.as_str() {
                "query" => (found.query, has_query) = (lenient::text(name, value)?, true),
                "page" => found.page = lenient::count(name, value, 0, u64::from(u32::MAX))?,
                "hitsPerPage" => found.hits_per_page = lenient::count(name, value, 1, HITS_PER_PAGE_MAX)?,
                _ => {
                    let code = value.as_str().ok_or_else(|| Error::parameter(name, "string"))?;
                    if !code.is_empty() {
                        found.language = Some(languages::code(name, code)?);
                    }
                }
            }
        }
        if has_query { Ok(found) } else { Err(Error::invalid("query is required")) }
    }
}

/// An entry that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryHit {
    /// The entry.
    pub entry: DictionaryEntry,
    /// Whether it is one of the standard ones.
    pub is_standard: bool,
}

/// A page of entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DictionaryHits {
    /// The entries of the page.
    pub hits: Vec<DictionaryHit>,
    /// All that were found.
    pub nb_hits: u64,
    /// Zero-based.
    pub page: u64,
    /// Pages there are.
    pub nb_pages: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn c19_wrong_members_are_named() {
        let parse =
            |body: Value| DictionaryQuery::parse(body.as_object().unwrap()).map_err(|error| error.message);
        let plain = DictionaryQuery { query: "a".into(), page: 0, hits_per_page: 20, language: None };
        assert_eq!(parse(json!({"query": "a", "page": null, "language": ""})), Ok(plain.clone()));
        let all = json!({"query": "a", "page": "2", "hitsPerPage": 1000, "language": "FR"});
        let expected = DictionaryQuery { page: 2, hits_per_page: 1000, language: Some("fr"), ..plain };
        assert_eq!(parse(all), Ok(expected));
        for (body, expected) in [
            (json!({}), "query is required"),
            (json!({"query": null}), "query is required"),
            (json!({"query": ["a"]}), "Invalid value for \"query\" parameter, expected string"),
            (
                json!({"query": "x".repeat(513)}),
                "Invalid value for \"query\" parameter, expected string shorter than 512 bytes",
            ),
            (
                json!({"query": "", "hitsPerPage": 0}),
                "Invalid value for \"hitsPerPage\" parameter, expected integer between 1 and 1000",
            ),
            (
                json!({"query": "", "hitsPerPage": 1001}),
                "Invalid value for \"hitsPerPage\" parameter, expected integer between 1 and 1000",
            ),
            (
                json!({"query": "", "page": -1}),
                "Invalid value for \"page\" parameter, expected integer between 0 and 4294967295",
            ),
            (
                json!({"query": "", "language": "xx"}),
                "Invalid value for \"language\" parameter, expected language codes such as \"en\", \"xx\" is not one",
            ),
            (
                json!({"query": "", "language": 3}),
                "Invalid value for \"language\" parameter, expected string",
            ),
            (json!({"query": "", "typo": 1}), "Unknown parameter: typo"),
        ] {
            assert_eq!(parse(body.clone()), Err(expected.to_owned()), "{body}");
        }
    }
}
