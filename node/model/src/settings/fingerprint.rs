//! Do two settings ask for the same index on disk?
//!
//! The fingerprint is FNV-1a (64 bits) over a text that is fixed for ever, because it is compared with one that an
//! older version stored: for each row of the table with `shapes_index`, in the order of their names, that is set to
//! something other than its default, the tagged name and the tagged value. A tag is one letter for the kind of JSON
//! value and, for everything with a length, the length as eight little-endian bytes; members of objects are visited in
//! the order of their names. Of `ranking` only the `asc(…)` and `desc(…)` entries count, each as the tagged direction
//! and the tagged name. One string counts as a list of one where settings accept it for a list. What else shapes the index
//! follows in the same way: its members, in the order of their names; nothing where there is nothing.

use super::table::ROWS;
use super::{Criterion, Settings, SortKey};
use serde_json::{Map, Value};

impl Settings {
    /// A stable hash over the settings that decide what the index holds on disk.
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint_with(&Map::new())
    }
    /// The same over these settings and what else decides it, such as entries of dictionaries.
    pub fn fingerprint_with(&self, others: &Map<String, Value>) -> u64 {
        let mut rows: Vec<_> = ROWS.iter().filter(|row| row.shapes_index).collect();
        rows.sort_by_key(|row| row.name);
        let mut hash = Fnv::new();
        for row in rows {
            if row.name == "ranking" {
                self.hash_sort_keys(&mut hash);
                continue;
            }
            if let Some(value) = self.document.get(row.name) {
                let value = match value {
                    Value::String(text) if row.single => Value::from(vec![text.as_str()]),
                    other => other.clone(),
                };
                if !is_default(&value, &row.default_value()) {
                    hash.text(row.name);
                    hash.value(&value);
                }
            }
        }
        hash.members(others);
        hash.0
    }

    fn hash_sort_keys(&self, hash: &mut Fnv) {
        let keys = self.index.custom_ranking.len();
        let custom = self.index.ranking.iter().position(|criterion| *criterion == Criterion::Custom);
        for (place, criterion) in self.index.ranking.iter().enumerate() {
            if let Criterion::Sort(SortKey { path, descending }) = criterion {
                if keys > 0 && custom.is_some_and(|custom| custom < place) {
                    hash.text("after custom");
                }
                hash.text(if *descending { "desc" } else { "asc" });
                hash.text(path);
            }
        }
        if keys > 0 && custom.is_none() {
            hash.text("without custom");
        }
    }
}

fn is_default(value: &Value, default: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_) => false,
    };
    value == default || (is_empty(value) && is_empty(default))
}

struct Fnv(u64);
impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn tag(&mut self, tag: u8, length: usize) {
        self.bytes(&[tag]);
        self.bytes(&(length as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.tag(b's', text.len());
        self.bytes(text.as_bytes());
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.bytes(b"n"),
            Value::Bool(false) => self.bytes(b"f"),
            Value::Bool(true) => self.bytes(b"t"),
            Value::Number(number) => {
                let text = number.to_string();
                self.tag(b'd', text.len());
                self.bytes(text.as_bytes());
            }
            Value::String(text) => self.text(text),
            Value::Array(list) => {
                self.tag(b'a', list.len());
                list.iter().for_each(|entry| self.value(entry));
            }
            Value::Object(map) => {
                self.tag(b'o', map.len());
                self.members(map);
            }
        }
    }

    fn members(&mut self, map: &Map<String, Value>) {
        let mut members: Vec<_> = map.iter().collect();
        members.sort_by_key(|(name, _)| *name);
        for (name, inner) in members {
            self.text(name);
            self.value(inner);
        }
    }
}
