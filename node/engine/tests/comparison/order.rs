//! In which order do records stand? The criteria one after another, custom ranking among them (C§7.1, C§7.9, C§7.10).

use super::criteria::ROWS;
use super::ranker::{Ranked, Ranker};
use quorate_model::settings::{Criterion, SortKey};
use serde_json::Value;
use std::cmp::Ordering;

impl Ranker<'_> {
    /// The whole order; equal records stand by objectID, the greatest first.
    pub fn compare(&self, a: &(Ranked, &Value), b: &(Ranked, &Value)) -> Ordering {
        self.compare_criteria(a, b).then_with(|| b.0.id.cmp(&a.0.id))
    }
    /// The same without the objectID.
    pub fn compare_criteria(&self, a: &(Ranked, &Value), b: &(Ranked, &Value)) -> Ordering {
        let mut order: Vec<Criterion> = self.settings.index.ranking.clone();
        if !order.contains(&Criterion::Filters) {
            let words = order.iter().position(|criterion| *criterion == Criterion::Words);
            let at = words.map(|i| i + 1).unwrap_or_else(|| {
                let late = [Criterion::Proximity, Criterion::Attribute, Criterion::Exact, Criterion::Custom];
                order.iter().position(|criterion| late.contains(criterion)).unwrap_or(order.len())
            });
            order.insert(at, Criterion::Filters);
        }
        if self.query.is_similar {
            order.retain(|criterion| *criterion != Criterion::Words);
            order.insert(0, Criterion::Words);
        }
        // what is left out because of its typos stands behind what stays
        if self.query.params.get("typoTolerance").is_some_and(Value::is_string) {
            order.retain(|criterion| *criterion != Criterion::Typo);
            order.insert(0, Criterion::Typo);
        }
        let by = order.iter().map(|criterion| match ROWS.iter().any(|row| row.criterion == *criterion) {
            true => a.0.count(criterion).cmp(&b.0.count(criterion)),
            false => {
                let keys = criterion.sort_keys(&self.settings.index.custom_ranking).iter();
                keys.map(|key| by_key(key, a.1, b.1)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
            }
        });
        by.into_iter().find(|by| by.is_ne()).unwrap_or(Ordering::Equal)
    }
}
/// Missing, array and object values come last in both directions. An array of one value is that value; texts come
/// after numbers.
pub fn by_key(key: &SortKey, a: &Value, b: &Value) -> Ordering {
    let value = |record: &Value| {
        let mut value = record;
        for member in key.path.split('.') {
            value = value.get(member)?;
            while let Value::Array(list) = value
                && let [one] = list.as_slice()
            {
                value = one;
            }
        }
        match value {
            Value::Bool(flag) => Some((1, f64::from(u8::from(*flag)), String::new())),
            Value::Number(number) => Some((1, number.as_f64().unwrap(), String::new())),
            Value::String(text) => Some((2, 0.0, text.to_lowercase())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    };
    match (value(a), value(b)) {
        (Some(a), Some(b)) => {
            let order = a.partial_cmp(&b).unwrap();
            if key.descending { order.reverse() } else { order }
        }
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}
