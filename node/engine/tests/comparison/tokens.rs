//! Which words does a record have, and where do they stand? (C§4.1, C§6.2)

use super::case::Query;
use super::letters::{Attribute, written};
use super::ranker::Ranker;
use quorate_model::Settings;
use serde_json::Value;

/// A word of a record.
#[derive(Clone, Debug)]
pub struct Token {
    pub text: Vec<char>,
    /// Its attribute, by its place in searchableAttributes.
    pub attribute: usize,
    pub word: u32,
    /// Whether it is all there is of its value.
    pub whole: bool,
}
/// Whether `second` stands directly after `first`.
pub fn is_next(first: (usize, u32), second: (usize, u32)) -> bool {
    first.0 == second.0 && first.1 + 1 == second.1
}
impl Token {
    pub fn place(&self) -> (usize, u32) {
        (self.attribute, self.word)
    }
}

impl Ranker<'_> {
    /// The words of a record with their places.
    pub fn tokens(&self, record: &Value) -> Vec<Token> {
        let mut tokens = vec![];
        let attributes = &self.settings.index.searchable_attributes;
        for (number, attribute) in attributes.iter().enumerate() {
            let value = attribute.path.split('.').try_fold(record, |value, member| value.get(member));
            let mut next = 0;
            for leaf in value.map(leaves).unwrap_or_default() {
                self.add(leaf, &attribute.path, number, &mut next, &mut tokens);
            }
        }
        if attributes.is_empty() {
            let mut next = 0;
            for (name, value) in record.as_object().unwrap().iter().filter(|(name, _)| *name != "_geoloc") {
                for leaf in leaves(value) {
                    self.add(leaf, name, 0, &mut next, &mut tokens);
                }
            }
        }
        tokens
    }
    fn add(&self, value: &Value, path: &str, attribute: usize, next: &mut u32, tokens: &mut Vec<Token>) {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return,
        };
        let index = &self.settings.index;
        let words = written(&text, index, Attribute::at(path, index));
        let Some(last) = words.iter().map(|word| word.position).max() else { return };
        let start = words.iter().map(|word| word.start).min();
        let end = words.iter().map(|word| word.end).max();
        for word in words {
            let whole = (Some(word.start), Some(word.end)) == (start, end);
            tokens.push(Token { text: word.text, attribute, word: *next + word.position as u32, whole });
        }
        // elements of an array are far from each other
        *next += last as u32 + 1 + 8;
    }
}
/// Numbers of the attributes that a parameter lists, or else a setting.
pub fn numbers_of(settings: &Settings, query: &Query, name: &str) -> Vec<usize> {
    let listed = query.params.get(name).or_else(|| settings.document.get(name));
    let listed: Vec<&str> =
        listed.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let attributes = settings.index.searchable_attributes.iter().enumerate();
    let named = attributes.filter(|(_, a)| {
        listed.iter().any(|path| a.path == *path || a.path.starts_with(&format!("{path}.")))
    });
    named.map(|(number, _)| number).collect()
}
/// Whether the words stand one after another somewhere.
pub fn occurs(phrase: &[Vec<char>], tokens: &[Token]) -> bool {
    let Some((first, rest)) = phrase.split_first() else { return true };
    tokens.iter().filter(|token| token.text == *first).any(|token| {
        rest.iter().enumerate().all(|(i, word)| {
            let place = (token.attribute, token.word + 1 + i as u32);
            tokens.iter().any(|other| other.place() == place && other.text == *word)
        })
    })
}
/// The values inside of a value that are neither lists nor objects.
pub fn leaves(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().flat_map(leaves).collect(),
        Value::Object(members) => members.values().flat_map(leaves).collect(),
        leaf => vec![leaf],
    }
}
