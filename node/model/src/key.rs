//! API keys: what a caller may do (C§13).

mod body;

use crate::error::{Error, Result, shortened};
use crate::ids::IndexName;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One right of a key (C§13.1).
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

/// A key with its restrictions, as stored and as answered (C§13.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// The key string.
    pub value: String,
    /// Unix seconds.
    pub created_at: u64,
    /// Rights, in the order given.
    pub acl: Vec<Acl>,
    /// The index that it is for alone (C§13.1); such a key has no `indexes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexName>,
    /// Seconds after `created_at` at which the key ends; 0 = never.
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

impl ApiKey {
    /// A key without restrictions.
    pub fn new(value: impl Into<String>, created_at: u64, acl: Vec<Acl>) -> ApiKey {
        ApiKey {
            value: value.into(),
            created_at,
            acl,
            index: None,
            validity: 0,
            description: String::new(),
            indexes: vec![],
            max_hits_per_query: 0,
            max_queries_per_ip_per_hour: 0,
            query_parameters: String::new(),
            referers: vec![],
        }
    }
    /// Seconds that the key has left at a time, Unix seconds; `None` = it never ends. 0: it has ended.
    pub fn left_s(&self, now_s: u64) -> Option<u64> {
        let ends_at = self.created_at.saturating_add(self.validity);
        (self.validity > 0).then(|| ends_at.saturating_sub(now_s))
    }
    /// Whether the key counts at a time, Unix seconds.
    pub fn is_valid_at(&self, now_s: u64) -> bool {
        self.left_s(now_s) != Some(0)
    }
}

impl Acl {
    /// Every right, in the order of C§13.1, then the public extras.
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
    fn validity_counts_down_to_the_end() {
        let mut key = ApiKey::new("k", 100, vec![]);
        assert_eq!((key.left_s(u64::MAX), key.is_valid_at(u64::MAX)), (None, true));
        key.validity = 10;
        for (now_s, left_s) in [(0, 110), (100, 10), (109, 1), (110, 0), (u64::MAX, 0)] {
            assert_eq!((key.left_s(now_s), key.is_valid_at(now_s)), (Some(left_s), left_s > 0), "{now_s}");
        }
        key.created_at = u64::MAX;
        assert!(key.is_valid_at(1));
    }

    #[test]
    fn rights_are_read_and_written_by_their_names() {
        for right in Acl::ALL {
            assert_eq!(right.to_string().parse::<Acl>().unwrap(), right);
            assert_eq!(serde_json::to_string(&right).unwrap(), format!("\"{right}\""));
        }
        assert_eq!("Search".parse::<Acl>().unwrap_err().message, "Invalid acl: Search");
    }
}
