//! How does a field of the meta state lie in the tree of the meta group? As rows, whose keys begin with bytes of its own.

use quorate_model::{GroupId, IndexName};
use quorate_store::codec;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a row at most; far above a name of 256 characters or a key document.
pub(super) const ROW_BYTES_MAX: usize = 1 << 20;

/// A field of the meta state, which says itself which rows of the tree it lies in.
pub(super) trait StateTable {
    /// The first bytes of the keys of its rows, which no other table has (`every_kind_of_row_is_of_one_table` says which are taken).
    fn kinds(&self) -> &'static [u8];
    /// The name under which it is hashed; tables may share one.
    fn hashed_as(&self) -> &'static str;
    /// All its rows: those that the tree has, and of released tables some that say the same as none. A new table has none before
    /// its first command, as programs have none of it that do not know it.
    fn rows(&self) -> Box<dyn Iterator<Item = RowChange> + '_>;
    /// Takes a row of one of its kinds over; `None` when the row cannot be read.
    fn take(&mut self, row: Row<'_>) -> Option<()>;
}

/// A row as the tree has it.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    /// The first byte of its key.
    pub kind: u8,
    /// The rest of its key.
    pub rest: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
}

impl<'a> Row<'a> {
    /// The row with a key; `None` of no key.
    pub fn new(key: &'a [u8], value: &'a [u8]) -> Option<Row<'a>> {
        let (&kind, rest) = key.split_first()?;
        Some(Row { kind, rest, value })
    }
    /// What the value says, as [`RowChange::encoded`] wrote it.
    pub fn decoded<T: DeserializeOwned>(&self) -> Option<T> {
        codec::decode(self.value, ROW_BYTES_MAX).ok()
    }
    /// The rest of the key as text.
    pub fn text(&self) -> Option<&'a str> {
        std::str::from_utf8(self.rest).ok()
    }
    /// The rest of the key as the name of an index.
    pub fn index(&self) -> Option<IndexName> {
        IndexName::stored(self.text()?).ok()
    }
}

/// A number that eight bytes say.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}
/// The group that two bytes say.
pub(super) fn group(bytes: &[u8]) -> Option<GroupId> {
    Some(GroupId(u16::from_be_bytes(bytes.try_into().ok()?)))
}

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
    pub(super) fn put(kind: u8, rest: &[u8], value: Vec<u8>) -> Self {
        RowChange { key: key(kind, rest), value: Some(value) }
    }
    pub(super) fn encoded<T: Serialize + ?Sized>(kind: u8, rest: &[u8], value: &T) -> Self {
        Self::put(kind, rest, codec::encode(value))
    }
    pub(super) fn delete(kind: u8, rest: &[u8]) -> Self {
        RowChange { key: key(kind, rest), value: None }
    }
}
