//! API keys: what a caller may do (C§13).

mod body;

use crate::error::{Error, Result, shortened};
use crate::ids::IndexName;
use crate::limits::KEY_COPIES_MAX;
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
    /// The index that it is for alone, but for copies of it (C§13.1); such a key has no `indexes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<IndexName>,
    /// Copies of that index that it came to with the records (C§3.2): it is for them as well. At most [`KEY_COPIES_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copied_to: Vec<IndexName>,
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
            copied_to: vec![],
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
    /// The indices that it is for alone; none of a key for all, or for those that patterns name.
    pub fn own_indices(&self) -> impl Iterator<Item = &IndexName> {
        let copies = self.copied_to.iter().filter(|copy| self.index.as_ref() != Some(*copy));
        self.index.iter().chain(copies)
    }
    /// Whether it is for this index alone, or for this one among its copies.
    pub fn is_of(&self, index: &str) -> bool {
        self.own_indices().any(|own| own.as_str() == index)
    }
    /// The key when it comes along to a copy of an index; `None` when it has come there before, or to too many.
    pub fn copied_to(&self, copy: &IndexName) -> Option<ApiKey> {
        let may_come = !self.is_of(copy.as_str()) && self.copied_to.len() < KEY_COPIES_MAX;
        may_come.then(|| {
            let mut key = self.clone();
            key.copied_to.push(copy.clone());
            key
        })
    }
    /// The key when it is taken away from an index; `None` when there is no other that it is for.
    pub fn taken_from(&self, index: &IndexName) -> Option<ApiKey> {
        let copied_to: Vec<IndexName> =
            self.copied_to.iter().filter(|copy| *copy != index).cloned().collect();
        let left = self.index.iter().filter(|own| *own != index).chain(&copied_to).next()?.clone();
        Some(ApiKey { index: Some(left), copied_to, ..self.clone() })
    }
    /// The key when an index that it came to as a copy goes by another name; `None` when it did not come there so.
    pub fn moved(&self, from: &IndexName, to: &IndexName) -> Option<ApiKey> {
        if !self.copied_to.contains(from) {
            return None;
        }
        let is_made_for_to = self.index.as_ref() == Some(to) && !self.copied_to.contains(to);
        let mut copied_to: Vec<IndexName> =
            self.copied_to.iter().filter(|copy| *copy != from && *copy != to).cloned().collect();
        if !is_made_for_to {
            copied_to.push(to.clone());
        }
        let index = if self.index.as_ref() == Some(from) { Some(to.clone()) } else { self.index.clone() };
        Some(ApiKey { index, copied_to, ..self.clone() })
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
    fn a_key_is_for_the_copies_that_it_came_to() {
        let name = |text: &str| IndexName::new(text).unwrap();
        let of = |key: &ApiKey| key.own_indices().map(|own| own.to_string()).collect::<Vec<_>>();
        let all = ApiKey::new("k", 0, vec![]);
        assert!(of(&all).is_empty() && !all.is_of("a") && all.taken_from(&name("a")).is_none());
        let key = ApiKey { index: Some(name("a")), ..all };
        let key = key.copied_to(&name("b")).unwrap().copied_to(&name("c")).unwrap();
        assert!(
            of(&key) == ["a", "b", "c"]
                && ["a", "b", "c"].iter().all(|own| key.is_of(own))
                && !key.is_of("d")
        );
        assert!(key.copied_to(&name("a")).is_none() && key.copied_to(&name("c")).is_none(), "it is there");
        let key = key.taken_from(&name("a")).unwrap();
        assert_eq!((of(&key), key.index.clone()), (vec!["b".into(), "c".into()], Some(name("b"))));
        assert_eq!(key.taken_from(&name("d")).as_ref(), Some(&key));
        let key = key.taken_from(&name("c")).unwrap();
        assert!(of(&key) == ["b"] && key.taken_from(&name("b")).is_none(), "never one for all");
        // what it came along to is renamed for it, also as the last one that it is for; what it was made for is not
        assert!(
            of(&key.moved(&name("b"), &name("z")).unwrap()) == ["z"]
                && key.moved(&name("y"), &name("z")).is_none()
        );
        let made = ApiKey { index: Some(name("a")), ..ApiKey::new("k", 0, vec![]) };
        let copied = made.copied_to(&name("b")).unwrap().copied_to(&name("c")).unwrap();
        assert!(
            made.moved(&name("a"), &name("z")).is_none() && copied.moved(&name("a"), &name("z")).is_none()
        );
        assert_eq!(of(&copied.moved(&name("b"), &name("z")).unwrap()), ["a", "c", "z"]);
        assert_eq!(of(&copied.moved(&name("b"), &name("c")).unwrap()), ["a", "c"]);
        assert_eq!(
            copied.moved(&name("b"), &name("a")).unwrap().moved(&name("c"), &name("a")).unwrap(),
            made
        );
        let mut key = made;
        for number in 0..KEY_COPIES_MAX {
            key = key.copied_to(&name(&format!("b{number}"))).unwrap();
        }
        assert!(key.copied_to(&name("more")).is_none());
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
