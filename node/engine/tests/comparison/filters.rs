//! filters: which records may be shown, and how much do filters say in their favour? (C§5, C§7.5)

use super::case::{Atom, Test};
use super::ranker::{Ranker, flag};
use serde_json::{Value, json};

impl Ranker<'_> {
    /// Whether filters and places let a record through.
    pub fn passes(&self, record: &Value) -> bool {
        self.around().holds(record) && self.is_filtered_in(record)
    }
    /// Whether the filters do.
    pub fn is_filtered_in(&self, record: &Value) -> bool {
        self.query.filter.iter().all(|group| group.iter().any(|atom| holds(atom, record)))
    }
    /// The scores of the filters that hold; of alternatives the highest, or all.
    pub fn score(&self, record: &Value) -> u32 {
        let sum = flag(&self.query.params, "sumOrFiltersScores");
        let group = |group: &Vec<Atom>| {
            let scores = group.iter().filter(|atom| holds(atom, record)).map(|atom| atom.score);
            if sum { scores.sum() } else { scores.max().unwrap_or(0) }
        };
        self.query.filter.iter().chain(&self.query.optional).map(group).sum()
    }
}
/// Whether a filter test holds for a record, its sign included.
pub fn holds(atom: &Atom, record: &Value) -> bool {
    let prices: Vec<f64> = match &record["price"] {
        Value::Array(list) => list.iter().filter_map(Value::as_f64).collect(),
        value => value.as_f64().into_iter().collect(),
    };
    let found = match &atom.test {
        Test::Brand(value) => record["brand"].as_str().is_some_and(|brand| brand.eq_ignore_ascii_case(value)),
        Test::Tag(value) => record["_tags"].as_array().is_some_and(|tags| tags.contains(&json!(value))),
        Test::Price(op, value) => match *op {
            "!=" => !prices.is_empty() && prices.iter().all(|price| price != value),
            "=" => prices.iter().any(|price| price == value),
            "<" => prices.iter().any(|price| price < value),
            "<=" => prices.iter().any(|price| price <= value),
            ">" => prices.iter().any(|price| price > value),
            _ => prices.iter().any(|price| price >= value),
        },
        Test::PriceRange(from, to) => prices.iter().any(|price| price >= from && price <= to),
    };
    found != atom.negated
}
