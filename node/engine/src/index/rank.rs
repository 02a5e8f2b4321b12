//! How the order of records by sort criteria and custom ranking becomes bytes that compare the same way (C§7.9, C§7.10).
//!
//! Per key: 0 and the value, or 1 when it is missing; the value is a type byte and order-preserving bytes, all inverted
//! when descending. Then the objectID, descending.

use crate::text::fold_text;
use quorate_model::Settings;
use quorate_model::settings::SortKey;
use serde_json::{Map, Value};

/// Bytes of a text value that take part in the order.
const TEXT_BYTES_MAX: usize = 256;

/// The keys that order documents: `asc`/`desc` criteria and, where `custom` stands, customRanking, in the order of
/// `ranking`. The fingerprint of the settings covers all of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankKeys {
    keys: Vec<SortKey>,
}

impl RankKeys {
    /// Takes the keys from the settings.
    pub fn new(settings: &Settings) -> RankKeys {
        let custom = &settings.index.custom_ranking;
        let keys = settings.index.ranking.iter().flat_map(|criterion| criterion.sort_keys(custom));
        RankKeys { keys: keys.cloned().collect() }
    }
    /// Stands for the order that they make.
    pub fn order(&self) -> u32 {
        let mut order = crc32fast::Hasher::new();
        for key in &self.keys {
            order.update(&[u8::from(key.descending)]);
            order.update(key.path.as_bytes());
            order.update(&[0]);
        }
        order.finalize()
    }
    /// Appends what a record has for one key.
    pub fn push(key: &SortKey, record: &Map<String, Value>, out: &mut Vec<u8>) {
        push_present(key, out, |out| {
            only_value_at(record, &key.path).is_some_and(|value| push_value(value, out))
        });
    }
    /// Appends a number for one key, as [`Self::push`] does for a record that has it.
    pub fn push_number(key: &SortKey, number: Option<f64>, out: &mut Vec<u8>) {
        push_present(key, out, |out| number.map(|number| push_ordered(number, out)).is_some());
    }
    /// The key of a record.
    pub fn encode(&self, object_id: &str, record: &Map<String, Value>) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.keys.len() * 10 + object_id.len() + 1);
        for key in &self.keys {
            RankKeys::push(key, record, &mut out);
        }
        out.extend(object_id.bytes().map(|b| !b));
        out.push(0xff);
        out
    }
}

/// Appends whether there is a value, and the value so that it compares in the direction of the key.
fn push_present(key: &SortKey, out: &mut Vec<u8>, push: impl FnOnce(&mut Vec<u8>) -> bool) {
    let start = out.len() + 1;
    out.push(0);
    if !push(out) {
        out.truncate(start);
        out[start - 1] = 1;
    } else if key.descending {
        out[start..].iter_mut().for_each(|b| *b = !*b);
    }
}

fn push_ordered(number: f64, out: &mut Vec<u8>) {
    let bits = (number + 0.0).to_bits();
    let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    out.push(2);
    out.extend(ordered.to_be_bytes());
}

/// The value at a dotted path; an array of one element stands for the element.
fn only_value_at<'v>(record: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    if let Some(value) = record.get(path) {
        return Some(only(value));
    }
    let (head, rest) = path.split_once('.')?;
    only_value_at(only(record.get(head)?).as_object()?, rest)
}
fn only(value: &Value) -> &Value {
    match value {
        Value::Array(elements) if elements.len() == 1 => only(&elements[0]),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => value,
    }
}
/// Appends a value; `false` when its type has no order here.
fn push_value(value: &Value, out: &mut Vec<u8>) -> bool {
    match value {
        // as in columns of numbers
        Value::Bool(flag) => push_ordered(f64::from(u8::from(*flag)), out),
        Value::Number(number) => {
            let Some(number) = number.as_f64() else { return false };
            push_ordered(number, out);
        }
        Value::String(text) => {
            let mut folded = fold_text(text);
            folded.retain(|c| c != '\0');
            let mut end = folded.len().min(TEXT_BYTES_MAX);
            while !folded.is_char_boundary(end) {
                end -= 1;
            }
            out.push(3);
            out.extend_from_slice(&folded.as_bytes()[..end]);
            out.push(0);
        }
        Value::Null | Value::Array(_) | Value::Object(_) => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ranked(keys: &[(&str, bool)], records: &[Value]) -> Vec<String> {
        let keys = RankKeys {
            keys: keys.iter().map(|(p, d)| SortKey { path: p.to_string(), descending: *d }).collect(),
        };
        let mut all: Vec<(Vec<u8>, String)> = records
            .iter()
            .map(|r| {
                let id = r["objectID"].as_str().unwrap();
                (keys.encode(id, r.as_object().unwrap()), id.to_string())
            })
            .collect();
        all.sort();
        all.into_iter().map(|(_, id)| id).collect()
    }

    #[test]
    fn keys_order_records() {
        let r = |id: &str, v: Value| json!({"objectID": id, "v": v, "n": {"w": v}});
        let numbers =
            [r("a", json!(-1.5)), r("b", json!(2)), r("c", json!(0)), r("d", json!(-30)), r("e", json!("x"))];
        assert_eq!(ranked(&[("v", false)], &numbers), ["d", "a", "c", "b", "e"]);
        assert_eq!(ranked(&[("v", true)], &numbers), ["e", "b", "c", "a", "d"]);
        let gaps = [r("a", json!(null)), r("b", json!(1)), r("c", json!([5, 6])), r("d", json!([2]))];
        assert_eq!(
            ranked(&[("v", false)], &gaps),
            ["b", "d", "c", "a"],
            "missing last, then objectID descending"
        );
        assert_eq!(ranked(&[("n.w", true)], &gaps), ["d", "b", "c", "a"]);
        let texts = [r("a", json!("Éclair")), r("b", json!("east")), r("c", json!("ec")), r("d", json!("Z"))];
        assert_eq!(ranked(&[("v", false)], &texts), ["b", "c", "a", "d"]);
        assert_eq!(ranked(&[("v", true)], &texts), ["d", "a", "c", "b"]);
        let flags = [r("a", json!(true)), r("b", json!(false))];
        assert_eq!(ranked(&[("v", true)], &flags), ["a", "b"]);
        let ids = [r("a", json!(1)), r("ab", json!(1)), r("b", json!(1))];
        assert_eq!(ranked(&[], &ids), ["b", "ab", "a"]);
        assert_eq!(ranked(&[("v", false), ("n.w", true)], &ids), ["b", "ab", "a"]);
    }
}
