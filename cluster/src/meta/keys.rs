//! Which keys are there, which were deleted lately, and how do commands change them?
//!
//! What applying these commands does rests on the limits of the model and on the times of entries, never on a clock.

use super::rows::{Row, RowChange, StateTable};
use super::{At, MetaState, SharedMap};
use quorate_model::limits::{KEYS_MAX, RESTORABLE_KEYS_MAX};
use quorate_model::{ApiKey, IndexName, level};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// A row for each living key, by its value.
const KEY: u8 = b'k';
/// A row for each key that was deleted lately.
const DELETED_KEY: u8 = b'x';
/// Seconds after its end at which a key is removed: by then it counts on no node, whatever their clocks differ by.
pub const ENDED_S: u64 = 60;

/// The SHA-256 of a key: what keys are looked up by, so that the time that takes says nothing about keys that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyDigest(pub [u8; 32]);

impl KeyDigest {
    /// Of a key string.
    pub fn of(value: &str) -> KeyDigest {
        KeyDigest(Sha256::digest(value.as_bytes()).into())
    }
}
impl From<&str> for KeyDigest {
    fn from(value: &str) -> Self {
        KeyDigest::of(value)
    }
}
impl From<&String> for KeyDigest {
    fn from(value: &String) -> Self {
        KeyDigest::of(value)
    }
}

/// Keys by their value.
pub type KeyMap = SharedMap<String, Arc<ApiKey>>;

/// Every key but the admin key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keys {
    living: KeyMap,
    by_digest: SharedMap<KeyDigest, Arc<ApiKey>>,
    deleted: SharedMap<String, Arc<DeletedKey>>,
}

/// A key that was deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct DeletedKey {
    /// The log index of its deletion.
    pub log_index: u64,
    /// The key as it was.
    pub key: ApiKey,
}

impl StateTable for Keys {
    fn kinds(&self) -> &'static [u8] {
        &[KEY, DELETED_KEY]
    }
    fn hashed_as(&self) -> &'static str {
        "keys"
    }
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_> {
        let living = self.living.values().map(|key| row(key));
        Box::new(living.chain(self.deleted.values().map(|it| deleted_row(it))))
    }
    fn take(&mut self, row: Row<'_>) -> Option<()> {
        match row.kind {
            KEY => self.load(serde_json::from_slice(row.value).ok()?),
            _ => {
                let (log_index, document) = row.value.split_first_chunk::<8>()?;
                let log_index = u64::from_be_bytes(*log_index);
                self.load_deleted(DeletedKey { log_index, key: serde_json::from_slice(document).ok()? });
            }
        }
        Some(())
    }
}

fn row(key: &ApiKey) -> RowChange {
    RowChange::put(KEY, key.value.as_bytes(), document(key))
}
/// With the log index of the deletion before the document.
fn deleted_row(DeletedKey { log_index, key }: &DeletedKey) -> RowChange {
    let value = [&log_index.to_be_bytes()[..], &document(key)].concat();
    RowChange::put(DELETED_KEY, key.value.as_bytes(), value)
}
fn no_row(value: &str) -> RowChange {
    RowChange::delete(KEY, value.as_bytes())
}
fn no_deleted_row(value: &str) -> RowChange {
    RowChange::delete(DELETED_KEY, value.as_bytes())
}
fn document(key: &ApiKey) -> Vec<u8> {
    serde_json::to_vec(key).expect("a key always serialises")
}

impl Keys {
    /// Keys that count, and those whose time is up and that were not removed yet.
    pub fn living(&self) -> &KeyMap {
        &self.living
    }
    /// The living key with this digest.
    pub fn get(&self, digest: KeyDigest) -> Option<&Arc<ApiKey>> {
        self.by_digest.get(&digest)
    }
    /// The living keys that are for this index alone, or for it and others that are copies.
    pub fn of(&self, index: &IndexName) -> impl Iterator<Item = &Arc<ApiKey>> {
        self.living.values().filter(|key| key.is_of(index.as_str()))
    }
    /// Whether a text is the value of one of them, living or deleted.
    pub fn knows(&self, value: &str) -> bool {
        self.get(value.into()).is_some() || self.deleted().contains_key(value)
    }
    /// Deleted keys that can be restored.
    pub fn deleted(&self) -> &SharedMap<String, Arc<DeletedKey>> {
        &self.deleted
    }

    /// As a row says.
    fn load(&mut self, key: ApiKey) {
        let key = Arc::new(key);
        self.by_digest.insert(KeyDigest::of(&key.value), key.clone());
        self.living.insert(key.value.clone(), key);
    }
    /// As a row says.
    fn load_deleted(&mut self, deleted: DeletedKey) {
        self.deleted.insert(deleted.key.value.clone(), Arc::new(deleted));
    }

    fn put(&mut self, key: ApiKey) -> RowChange {
        let change = row(&key);
        self.load(key);
        change
    }
    fn remove(&mut self, value: &str) -> Option<Arc<ApiKey>> {
        self.by_digest.remove(&KeyDigest::of(value));
        self.living.remove(value)
    }
    /// Keeps a removed key for a while.
    fn keep(&mut self, log_index: u64, key: Arc<ApiKey>) -> Vec<RowChange> {
        let deleted = DeletedKey { log_index, key: Arc::unwrap_or_clone(key) };
        let mut changes = vec![deleted_row(&deleted)];
        self.load_deleted(deleted);
        if self.deleted.len() > RESTORABLE_KEYS_MAX {
            let first = self.deleted.iter().min_by_key(|(value, it)| (it.log_index, value.as_str()));
            if let Some(value) = first.map(|(value, _)| value.clone()) {
                self.deleted.remove(&value);
                changes.push(no_deleted_row(&value));
            }
        }
        changes
    }
}

impl At {
    /// Unix seconds.
    fn seconds(self) -> u64 {
        self.time_ms / 1_000
    }
}

impl MetaState {
    /// As programs before [`level::MANAGED_KEYS`] did, and for the first search key.
    pub(super) fn put_key(&mut self, document: &[u8]) -> Vec<RowChange> {
        let Ok(key) = serde_json::from_slice::<ApiKey>(document) else { return vec![] };
        let change = RowChange::put(KEY, key.value.as_bytes(), document.to_vec());
        self.keys.load(key);
        vec![change]
    }

    pub(super) fn create_key(&mut self, at: At, document: &[u8]) -> Vec<RowChange> {
        let Ok(key) = serde_json::from_slice::<ApiKey>(document) else { return vec![] };
        let is_known =
            self.keys.living.contains_key(&key.value) || self.keys.deleted.contains_key(&key.value);
        match is_known || self.keys.living.len() >= KEYS_MAX {
            true => vec![],
            false => vec![self.keys.put(ApiKey { created_at: at.seconds(), ..key })],
        }
    }

    /// A key that was deleted meanwhile stays deleted. The new validity counts from now on.
    pub(super) fn update_key(&mut self, at: At, document: &[u8]) -> Vec<RowChange> {
        let Ok(mut key) = serde_json::from_slice::<ApiKey>(document) else { return vec![] };
        match self.keys.living.get(&key.value) {
            Some(before) if before.is_valid_at(at.seconds()) => {
                key.created_at = before.created_at;
                (key.index, key.copied_to) = (before.index.clone(), before.copied_to.clone());
            }
            Some(_) | None => return vec![],
        }
        if key.validity > 0 {
            let age_s = at.seconds().saturating_sub(key.created_at);
            key.validity = key.validity.saturating_add(age_s);
        }
        vec![self.keys.put(key)]
    }

    pub(super) fn delete_key(&mut self, at: At, value: &str) -> Vec<RowChange> {
        let Some(key) = self.keys.remove(value) else { return vec![] };
        let mut changes = vec![no_row(value)];
        // one whose time is up is gone for good, whether or not it was removed yet
        if self.level() >= level::MANAGED_KEYS && key.is_valid_at(at.seconds()) {
            changes.extend(self.keys.keep(at.log_index, key));
        }
        changes
    }

    pub(super) fn restore_key(&mut self, at: At, value: &str) -> Vec<RowChange> {
        if self.keys.living.len() >= KEYS_MAX {
            return vec![];
        }
        let Some(deleted) = self.keys.deleted.remove(value) else { return vec![] };
        let key = ApiKey { created_at: at.seconds(), validity: 0, ..deleted.key.clone() };
        vec![no_deleted_row(value), self.keys.put(key)]
    }

    pub(super) fn remove_ended_keys(&mut self, at: At) -> Vec<RowChange> {
        let ended = self.ended_keys(at.seconds());
        let removed = ended.into_iter().map(|value| {
            self.keys.remove(&value);
            no_row(&value)
        });
        removed.collect()
    }

    /// Keys whose end was a while before a time, Unix seconds.
    pub fn ended_keys(&self, now_s: u64) -> Vec<String> {
        let has_ended = |key: &&Arc<ApiKey>| !key.is_valid_at(now_s.saturating_sub(ENDED_S));
        self.keys.living.values().filter(has_ended).map(|key| key.value.clone()).collect()
    }

    /// An index is deleted with the keys that are for it alone, from [`level::MANAGED_KEYS`] on.
    pub(super) fn delete_keys_of(&mut self, at: At, name: &IndexName) -> Vec<RowChange> {
        if self.level() < level::MANAGED_KEYS {
            return vec![];
        }
        let values: Vec<String> = self.keys.of(name).map(|key| key.value.clone()).collect();
        values.iter().flat_map(|value| self.delete_key_of(at, value, name)).collect()
    }
    /// A key leaves one of the indices that it is for alone; it is deleted with the last one.
    pub(super) fn delete_key_of(&mut self, at: At, value: &str, name: &IndexName) -> Vec<RowChange> {
        let key = self.keys.living.get(value).filter(|key| key.is_of(name.as_str()));
        match key.map(|key| key.taken_from(name)) {
            Some(Some(left)) => vec![self.keys.put(left)],
            Some(None) => self.delete_key(at, value),
            None => vec![],
        }
    }
    /// The keys of an index come along to a copy of it (C§3.2).
    pub(super) fn copy_keys(&mut self, from: &IndexName, to: &IndexName) -> Vec<RowChange> {
        let copied: Vec<ApiKey> = self.keys.of(from).filter_map(|key| key.copied_to(to)).collect();
        copied.into_iter().map(|key| self.keys.put(key)).collect()
    }
    /// Keys that came along to a copy go by its new name. What was made for a name stays with it.
    pub(super) fn move_copied_keys(&mut self, from: &IndexName, to: &IndexName) -> Vec<RowChange> {
        let moved: Vec<ApiKey> = self.keys.of(from).filter_map(|key| key.moved(from, to)).collect();
        moved.into_iter().map(|key| self.keys.put(key)).collect()
    }
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
