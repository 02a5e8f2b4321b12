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
                (key.created_at, key.index) = (before.created_at, before.index.clone());
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
        let of_index = self.keys.living.values().filter(|key| key.index.as_ref() == Some(name));
        let values: Vec<String> = of_index.map(|key| key.value.clone()).collect();
        values.iter().flat_map(|value| self.delete_key(at, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::MetaCommand;
    use crate::meta::log_of_tests::Log;
    use quorate_model::Acl;

    /// A state whose entries are of a time that the test sets.
    struct Keys {
        log: Log,
        now_s: u64,
    }
    impl Keys {
        fn at_level(level: u16) -> Keys {
            let mut log = Log::default();
            log.join(1, "main", level);
            Keys { log, now_s: 1_000 }
        }
        fn step(&mut self, command: MetaCommand) {
            self.log.step(self.now_s * 1_000 + 999, command);
        }
        fn create(&mut self, value: &str, change: impl FnOnce(&mut ApiKey)) {
            let mut key = ApiKey::new(value, 0, vec![Acl::Search]);
            change(&mut key);
            self.step(MetaCommand::CreateKey { key: document(&key) });
        }
        fn update(&mut self, value: &str, change: impl FnOnce(&mut ApiKey)) {
            let mut key = ApiKey::new(value, 0, vec![Acl::Browse]);
            change(&mut key);
            self.step(MetaCommand::UpdateKey { key: document(&key) });
        }
        fn delete(&mut self, value: &str) {
            self.step(MetaCommand::DeleteKey { value: value.into() });
        }
        fn restore(&mut self, value: &str) {
            self.step(MetaCommand::RestoreKey { value: value.into() });
        }
        fn key(&self, value: &str) -> Option<&ApiKey> {
            let by_value = self.log.state.keys.living().get(value);
            assert_eq!(by_value, self.log.state.keys.get(value.into()));
            by_value.map(|key| &**key)
        }
    }

    #[test]
    fn a_key_is_created_changed_deleted_and_restored() {
        let mut log = Keys::at_level(level::NEWEST);
        log.create("a", |key| key.validity = 100);
        assert_eq!(log.key("a").map(|key| (key.created_at, key.left_s(1_000))), Some((1_000, Some(100))));
        log.create("a", |key| key.acl = vec![]);
        assert_eq!(log.key("a").map(|key| key.acl.len()), Some(1), "there is one with its value");
        log.now_s = 1_040;
        log.update("a", |key| key.validity = 70);
        let changed = log.key("a").expect("it is there");
        assert_eq!((changed.created_at, changed.left_s(1_040)), (1_000, Some(70)), "counted from the change");
        assert_eq!(changed.acl, [Acl::Browse]);
        log.now_s = 1_050;
        log.delete("a");
        assert_eq!(log.key("a"), None);
        log.update("a", |_| {});
        assert_eq!(log.key("a"), None, "a change that comes late brings none back");
        log.create("a", |_| {});
        assert_eq!(log.key("a"), None, "nor does one that is made with its value");
        log.now_s = 1_060;
        log.restore("a");
        let restored = log.key("a").expect("it is there again");
        assert_eq!((restored.created_at, restored.validity), (1_060, 0));
        log.restore("a");
        log.delete("b");
        log.restore("b");
        log.update("b", |_| {});
        assert_eq!((log.log.state.keys.living().len(), log.log.state.keys.deleted().len()), (1, 0));
        log.step(MetaCommand::CreateKey { key: b"{".to_vec() });
        log.step(MetaCommand::UpdateKey { key: vec![] });
        assert_eq!(log.log.state.keys.living().len(), 1);
    }

    #[test]
    fn what_has_ended_is_removed_for_good() {
        let mut log = Keys::at_level(level::NEWEST);
        log.create("short", |key| key.validity = 10);
        log.create("long", |key| key.validity = 100);
        log.create("ever", |_| {});
        log.now_s = 1_010;
        log.update("short", |key| key.validity = 50);
        assert!(log.key("short").is_some_and(|key| !key.is_valid_at(1_010)), "its time was up");
        log.now_s = 1_010 + ENDED_S - 1;
        log.step(MetaCommand::RemoveEndedKeys);
        assert!(log.key("short").is_some());
        log.now_s += 1;
        assert_eq!(log.log.state.ended_keys(log.now_s), ["short"]);
        log.step(MetaCommand::RemoveEndedKeys);
        assert!(log.key("short").is_none() && log.key("long").is_some() && log.key("ever").is_some());
        log.restore("short");
        assert_eq!(log.key("short"), None);
        log.now_s = 1_101;
        log.delete("long");
        log.restore("long");
        assert_eq!(log.key("long"), None, "deleted after its end, before it was removed");
    }

    #[test]
    fn an_index_takes_its_keys_along() {
        let mut log = Keys::at_level(level::NEWEST);
        let name = |text: &str| IndexName::new(text).expect("a name");
        log.step(MetaCommand::CreateIndex { name: name("i"), group: quorate_model::GroupId(1) });
        let life = log.log.state.catalogue.get(&name("i")).expect("made").incarnation;
        log.create("of-i", |key| key.index = Some(name("i")));
        log.create("of-j", |key| key.index = Some(name("j")));
        log.create("of-all", |key| key.indexes = vec!["i".into()]);
        log.update("of-i", |key| key.index = Some(name("j")));
        assert_eq!(
            log.key("of-i").and_then(|key| key.index.clone()),
            Some(name("i")),
            "it stays with its index"
        );
        log.step(MetaCommand::DeleteIndex { name: name("i"), incarnation: life });
        assert!(log.key("of-i").is_none() && log.key("of-j").is_some() && log.key("of-all").is_some());
        log.restore("of-i");
        assert!(log.key("of-i").is_some());
    }

    #[test]
    fn both_lists_are_bounded() {
        let mut log = Keys::at_level(level::NEWEST);
        // straight into the state: each step of a log compares all rows
        for number in 0..KEYS_MAX {
            log.log.state.keys.load(ApiKey::new(format!("k{number}"), 0, vec![]));
        }
        let at = |log_index| At { log_index, time_ms: 0 };
        let create = |value: &str| document(&ApiKey::new(value, 0, vec![]));
        assert_eq!(log.log.state.create_key(at(1), &create("more")), []);
        for number in 0..RESTORABLE_KEYS_MAX {
            let changes = log.log.state.delete_key(at(number as u64 + 10), &format!("k{number}"));
            assert_eq!(changes.len(), 2);
        }
        let changes = log.log.state.delete_key(at(9_000), &format!("k{RESTORABLE_KEYS_MAX}"));
        assert_eq!(changes.last(), Some(&no_deleted_row("k0")), "the first one cannot be restored");
        assert_eq!(log.log.state.keys.deleted().len(), RESTORABLE_KEYS_MAX);
        for number in 0..=RESTORABLE_KEYS_MAX {
            assert_eq!(log.log.state.create_key(at(9_001), &create(&format!("n{number}"))).len(), 1);
        }
        assert_eq!(log.log.state.restore_key(at(9_002), "k5"), [], "there are as many as there may be");
        log.log.state.delete_key(at(9_003), "n0");
        assert_eq!(log.log.state.restore_key(at(9_004), "k5").len(), 2);
    }

    #[test]
    fn before_their_level_deleted_keys_are_not_kept() {
        let mut log = Keys::at_level(level::MANAGED_KEYS - 1);
        log.step(MetaCommand::PutKey { key: document(&ApiKey::new("a", 0, vec![])) });
        log.delete("a");
        assert!(log.log.state.keys.deleted().is_empty() && log.key("a").is_none());
    }
}
