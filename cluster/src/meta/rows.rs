//! How the meta state lies in its tree: one row for each index, key, reservation, tombstoned incarnation and announcement
//! that may not have been heard.

use super::suggestions_row::SuggestionsRow;
use super::{
    Catalogue, ClusterRow, DeletedKey, IndexRow, Installation, KeyHistory, MetaState, NodeRow, UserRow,
    Waiting, keys,
};
use crate::command::Subject;
use quorate_model::dictionary::{DictionaryEntry, DictionarySettings};
use quorate_model::{AllowedSource, AllowedSources, DictionaryKind, GroupId, IndexName, NodeId, UserId};
use quorate_node::ops::Incarnation;
use quorate_store::codec;
use quorate_store::layout::rows::{INDEX, INSTALLATION, KEY};
use std::sync::Arc;

/// First bytes of the row keys of the meta tree, beside those that the layout names.
const RESERVED: u8 = b'r';
const TOMBSTONED: u8 = b'd';
const UNANNOUNCED: u8 = b'u';
const NODE: u8 = b'N';
const CLUSTER: u8 = b'C';
const PLACED: u8 = b'P';
const USER: u8 = b'U';
const USERS_ENABLED: u8 = b'M';
const LEVEL: u8 = b'L';
const KEY_HISTORY: u8 = b'A';
const CATALOGUE_CHANGED: u8 = b'c';
const WAITING: u8 = b'w';
const SOURCES: u8 = b'a';
const DICTIONARY_ENTRY: u8 = b'D';
const STANDARD_ENTRIES: u8 = b'S';
const DICTIONARIES_REVISION: u8 = b'R';
const DELETED_KEY: u8 = b'x';
const SUGGESTIONS: u8 = b'q';
/// Bytes of a row at most; far above a name of 256 characters or a key document.
const ROW_BYTES_MAX: usize = 1 << 20;

/// A row to be written, or to be removed when there is no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// Row key in the meta tree.
    pub key: Vec<u8>,
    /// What it becomes.
    pub value: Option<Vec<u8>>,
}

fn key(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + rest.len());
    key.push(kind);
    key.extend_from_slice(rest);
    key
}

impl RowChange {
    fn put(kind: u8, rest: &[u8], value: Vec<u8>) -> Self {
        RowChange { key: key(kind, rest), value: Some(value) }
    }
    fn delete(kind: u8, rest: &[u8]) -> Self {
        RowChange { key: key(kind, rest), value: None }
    }
    pub(super) fn installation(it: &Installation) -> Self {
        Self::put(INSTALLATION, b"", codec::encode(&(&it.app_id, it.admin_key)))
    }
    pub(super) fn key_history(history: &KeyHistory) -> Self {
        Self::put(KEY_HISTORY, b"", codec::encode(history))
    }
    pub(super) fn index(name: &IndexName, row: &IndexRow) -> Self {
        Self::put(INDEX, name.as_str().as_bytes(), codec::encode(row))
    }
    pub(super) fn no_index(name: &IndexName) -> Self {
        Self::delete(INDEX, name.as_str().as_bytes())
    }
    pub(super) fn key(value: &str, document: &[u8]) -> Self {
        Self::put(KEY, value.as_bytes(), document.to_vec())
    }
    pub(super) fn no_key(value: &str) -> Self {
        Self::delete(KEY, value.as_bytes())
    }
    pub(super) fn sources(sources: &AllowedSources) -> Self {
        match sources.list() {
            [] => Self::delete(SOURCES, b""),
            list => Self::put(SOURCES, b"", codec::encode(&list)),
        }
    }
    /// With the log index of the deletion before the document.
    pub(super) fn deleted_key(DeletedKey { log_index, key }: &DeletedKey) -> Self {
        let mut value = log_index.to_be_bytes().to_vec();
        value.extend(keys::document(key));
        Self::put(DELETED_KEY, key.value.as_bytes(), value)
    }
    pub(super) fn no_deleted_key(value: &str) -> Self {
        Self::delete(DELETED_KEY, value.as_bytes())
    }
    pub(super) fn reserved(incarnation: Incarnation, group: GroupId) -> Self {
        Self::put(RESERVED, &incarnation.to_be_bytes(), group.0.to_be_bytes().to_vec())
    }
    pub(super) fn not_reserved(incarnation: Incarnation) -> Self {
        Self::delete(RESERVED, &incarnation.to_be_bytes())
    }
    pub(super) fn tombstoned(incarnation: Incarnation, group: GroupId) -> Self {
        Self::put(TOMBSTONED, &incarnation.to_be_bytes(), group.0.to_be_bytes().to_vec())
    }
    pub(super) fn not_tombstoned(incarnation: Incarnation) -> Self {
        Self::delete(TOMBSTONED, &incarnation.to_be_bytes())
    }
    pub(super) fn unannounced(subject: Subject, revision: u64) -> Self {
        Self::put(UNANNOUNCED, &u64::from(subject).to_be_bytes(), revision.to_be_bytes().to_vec())
    }
    pub(super) fn node(node: NodeId, row: &NodeRow) -> Self {
        Self::put(NODE, &node.0.to_be_bytes(), codec::encode(row))
    }
    pub(super) fn cluster(name: &str, row: ClusterRow) -> Self {
        Self::put(CLUSTER, name.as_bytes(), codec::encode(&row))
    }
    pub(super) fn placed(group: GroupId, nodes: &[NodeId]) -> Self {
        Self::put(PLACED, &group.0.to_be_bytes(), codec::encode(&nodes))
    }
    pub(super) fn user(user: &UserId, row: UserRow) -> Self {
        Self::put(USER, user.as_str().as_bytes(), codec::encode(&row))
    }
    pub(super) fn no_user(user: &UserId) -> Self {
        Self::delete(USER, user.as_str().as_bytes())
    }
    pub(super) fn users_enabled() -> Self {
        Self::put(USERS_ENABLED, b"", vec![])
    }
    pub(super) fn level(level: u16) -> Self {
        Self::put(LEVEL, b"", level.to_be_bytes().to_vec())
    }
    pub(super) fn catalogue_changed(log_index: u64) -> Self {
        Self::put(CATALOGUE_CHANGED, b"", log_index.to_be_bytes().to_vec())
    }
    pub(super) fn waiting(waiting: Waiting) -> Self {
        Self::put(WAITING, b"", codec::encode(&waiting))
    }
    pub(super) fn nobody_waits() -> Self {
        Self::delete(WAITING, b"")
    }
    pub(super) fn dictionary_entry(entry: &DictionaryEntry) -> Self {
        let rest = of_dictionary(entry.kind(), &entry.object_id);
        Self::put(DICTIONARY_ENTRY, &rest, codec::encode(entry))
    }
    pub(super) fn no_dictionary_entry(kind: DictionaryKind, object_id: &str) -> Self {
        Self::delete(DICTIONARY_ENTRY, &of_dictionary(kind, object_id))
    }
    pub(super) fn standard_entries(settings: &DictionarySettings) -> Self {
        Self::put(STANDARD_ENTRIES, b"", codec::encode(settings))
    }
    pub(super) fn dictionaries_revision(log_index: u64) -> Self {
        Self::put(DICTIONARIES_REVISION, b"", log_index.to_be_bytes().to_vec())
    }
    pub(super) fn suggestions(index: &IndexName, row: &SuggestionsRow) -> Self {
        Self::put(SUGGESTIONS, index.as_str().as_bytes(), row.encode())
    }
    pub(super) fn no_suggestions(index: &IndexName) -> Self {
        Self::delete(SUGGESTIONS, index.as_str().as_bytes())
    }
    /// Whether it is about an index.
    pub(super) fn is_of_index(&self) -> bool {
        self.key.first() == Some(&INDEX)
    }
    pub(super) fn announced(subject: Subject) -> Self {
        Self::delete(UNANNOUNCED, &u64::from(subject).to_be_bytes())
    }
}

/// A row that does not say what its key promises.
#[derive(Debug, thiserror::Error)]
#[error("row {0:?} of the meta state cannot be read")]
pub struct RowError(String);

impl MetaState {
    /// Builds the state from the rows of its tree.
    pub fn from_rows(rows: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> Result<MetaState, RowError> {
        let mut state = MetaState { catalogue: Catalogue::default(), ..MetaState::default() };
        for (key, value) in rows {
            state
                .take_row(&key, &value)
                .ok_or_else(|| RowError(String::from_utf8_lossy(&key).into_owned()))?;
        }
        Ok(state)
    }

    fn take_row(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        let (&kind, rest) = key.split_first()?;
        match kind {
            INSTALLATION => {
                let (app_id, admin_key) = codec::decode(value, ROW_BYTES_MAX).ok()?;
                self.installation = Some(Arc::new(Installation { app_id, admin_key }));
            }
            KEY_HISTORY => self.key_history = Arc::new(codec::decode(value, ROW_BYTES_MAX).ok()?),
            INDEX => {
                let name = IndexName::stored(std::str::from_utf8(rest).ok()?).ok()?;
                self.catalogue.put(name, codec::decode(value, ROW_BYTES_MAX).ok()?);
            }
            KEY => self.keys.load(serde_json::from_slice(value).ok()?),
            DELETED_KEY => {
                let (log_index, document) = value.split_first_chunk::<8>()?;
                let log_index = u64::from_be_bytes(*log_index);
                self.keys.load_deleted(DeletedKey { log_index, key: serde_json::from_slice(document).ok()? });
            }
            SOURCES => {
                let list: Vec<AllowedSource> = codec::decode(value, ROW_BYTES_MAX).ok()?;
                self.sources = Arc::new(AllowedSources::new(list));
            }
            RESERVED => drop(self.reserved.insert(number(rest)?, group(value)?)),
            TOMBSTONED => drop(self.tombstoned.insert(number(rest)?, group(value)?)),
            UNANNOUNCED => drop(self.unannounced.insert(number(rest)?.into(), number(value)?)),
            NODE => {
                let row = codec::decode(value, ROW_BYTES_MAX).ok()?;
                Arc::make_mut(&mut self.nodes).insert(NodeId(number(rest)?), row);
            }
            CLUSTER => {
                let name = String::from_utf8(rest.to_vec()).ok()?;
                Arc::make_mut(&mut self.clusters).insert(name, codec::decode(value, ROW_BYTES_MAX).ok()?);
            }
            PLACED => {
                let nodes = codec::decode(value, ROW_BYTES_MAX).ok()?;
                Arc::make_mut(&mut self.placement).insert(group(rest)?, nodes);
            }
            USER => {
                let user = UserId::new(std::str::from_utf8(rest).ok()?).ok()?;
                self.users.load(user, codec::decode(value, ROW_BYTES_MAX).ok()?);
            }
            USERS_ENABLED => self.users.is_enabled = true,
            CATALOGUE_CHANGED => self.catalogue_changed = number(value)?,
            WAITING => self.waiting = Some(codec::decode(value, ROW_BYTES_MAX).ok()?),
            DICTIONARY_ENTRY => self.dictionaries.insert(codec::decode(value, ROW_BYTES_MAX).ok()?),
            STANDARD_ENTRIES => self.dictionaries.set(codec::decode(value, ROW_BYTES_MAX).ok()?),
            DICTIONARIES_REVISION => self.dictionaries_revision = number(value)?,
            SUGGESTIONS => {
                let index = IndexName::stored(std::str::from_utf8(rest).ok()?).ok()?;
                let row = Arc::new(SuggestionsRow::decode(value, ROW_BYTES_MAX)?);
                Arc::make_mut(&mut self.suggestions).insert(index, row);
            }
            LEVEL => self.in_force = u16::from_be_bytes(value.try_into().ok()?),
            _ => return None,
        }
        Some(())
    }
}

/// A key of an entry, behind its kind of row.
fn of_dictionary(kind: DictionaryKind, object_id: &str) -> Vec<u8> {
    key(kind as u8, object_id.as_bytes())
}
fn number(bytes: &[u8]) -> Option<Incarnation> {
    Some(Incarnation::from_be_bytes(bytes.try_into().ok()?))
}
fn group(bytes: &[u8]) -> Option<GroupId> {
    Some(GroupId(u16::from_be_bytes(bytes.try_into().ok()?)))
}
