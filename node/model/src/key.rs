//! API keys: what a caller may do (§2.8, §5.3, C§13).

use crate::error::{Error, Result, shortened};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One right of a key (§5.3 and the public extras of C§13.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum Acl {
    Search,
    Browse,
    AddObject,
    DeleteObject,
    DeleteIndex,
    Settings,
    EditSettings,
    Analytics,
    Recommendation,
    Usage,
    ListIndexes,
    Logs,
    SeeUnretrievableAttributes,
    Inference,
    Personalization,
}

/// A key with its restrictions, as stored and as answered (§2.8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// The key string.
    pub value: String,
    /// Unix seconds.
    pub created_at: u64,
    /// Rights, in the order given.
    pub acl: Vec<Acl>,
    /// Seconds after which the key is removed; 0 = never.
    #[serde(default)]
    pub validity: u64,
    /// Free text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Index names or patterns; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<String>,
    /// Cap on hitsPerPage; 0 = none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub max_hits_per_query: u64,
    /// Calls an hour and IP (or user token); 0 = no limit.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[serde(rename = "maxQueriesPerIPPerHour")]
    pub max_queries_per_ip_per_hour: u64,
    /// URL-encoded parameters forced on every query.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub query_parameters: String,
    /// Referer patterns; empty = all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub referers: Vec<String>,
}
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Acl {
    /// Every right, in the order of §5.3, then the public extras.
    pub const ALL: [Acl; 15] = [
        Acl::Search,
        Acl::Browse,
        Acl::AddObject,
        Acl::DeleteObject,
        Acl::DeleteIndex,
        Acl::Settings,
        Acl::EditSettings,
        Acl::Analytics,
        Acl::Recommendation,
        Acl::Usage,
        Acl::ListIndexes,
        Acl::Logs,
        Acl::SeeUnretrievableAttributes,
        Acl::Inference,
        Acl::Personalization,
    ];

    /// The name in the interface.
    pub fn name(self) -> &'static str {
        match self {
            Acl::Search => "search",
            Acl::Browse => "browse",
            Acl::AddObject => "addObject",
            Acl::DeleteObject => "deleteObject",
            Acl::DeleteIndex => "deleteIndex",
            Acl::Settings => "settings",
            Acl::EditSettings => "editSettings",
            Acl::Analytics => "analytics",
            Acl::Recommendation => "recommendation",
            Acl::Usage => "usage",
            Acl::ListIndexes => "listIndexes",
            Acl::Logs => "logs",
            Acl::SeeUnretrievableAttributes => "seeUnretrievableAttributes",
            Acl::Inference => "inference",
            Acl::Personalization => "personalization",
        }
    }
}

impl fmt::Display for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Acl {
    type Err = Error;
    fn from_str(name: &str) -> Result<Acl> {
        let found = Acl::ALL.into_iter().find(|right| right.name() == name);
        found.ok_or_else(|| Error::invalid(format!("Invalid acl: {}", shortened(name))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_read_and_written_by_their_names() {
        for right in Acl::ALL {
            assert_eq!(right.to_string().parse::<Acl>().unwrap(), right);
            assert_eq!(serde_json::to_string(&right).unwrap(), format!("\"{right}\""));
        }
        assert_eq!("Search".parse::<Acl>().unwrap_err().message, "Invalid acl: Search");
    }
}
