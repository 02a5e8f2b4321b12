//! Whose rows are passed over, because the user has asked to be forgotten?

use crate::rows::{EventRow, user_hash};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Users to be forgotten, with the log index through which rows of theirs do not count any more. What they do later counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgotten(BTreeMap<String, u64>);

impl Forgotten {
    /// Forgets what a user did before `log_index`.
    pub fn add(&mut self, token: &str, log_index: u64) {
        let through = self.0.entry(token.to_owned()).or_default();
        *through = log_index.max(*through);
    }
    /// Adds those of another list.
    pub fn merge(&mut self, other: &Forgotten) {
        other.0.iter().for_each(|(token, log_index)| self.add(token, *log_index));
    }
    /// Whether a row does not count, by either of its tokens. Cost: two looks at a map, none when nobody is forgotten.
    pub fn hides(&self, row: &EventRow) -> bool {
        let hides = |token: &str| self.0.get(token).is_some_and(|through| row.log_index < *through);
        !self.0.is_empty() && (hides(&row.user) || row.authenticated.as_deref().is_some_and(hides))
    }
    /// Whether a token is one of theirs.
    pub(crate) fn has(&self, token: &str) -> bool {
        self.0.contains_key(token)
    }
    /// Hashes of those who are to be forgotten, sorted. Cost: a digest for each.
    pub fn hashes(&self) -> Vec<u64> {
        let mut hashes: Vec<u64> = self.0.keys().map(|token| user_hash(token)).collect();
        hashes.sort_unstable();
        hashes
    }
    /// Whether nobody is to be forgotten.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
