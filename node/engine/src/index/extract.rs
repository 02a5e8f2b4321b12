//! What the index keeps of a record: its words with positions, facet values, numbers, points and rank key.

use super::error::{IndexError, Result};
use super::form::SegmentForm;
use super::paths::{leaves, number_text, value_at, values_at};
use super::position::{AttributeNumbers, VALUE_GAP, WORD_MAX, attribute_numbers, pack};
use super::rank::RankKeys;
use super::wire::push_word;
use crate::analysis::{Analyzer, AttributeOptions, Schema, Token, TokenOptions};
use bytes::Bytes;
use quorate_model::Settings;
use quorate_model::user::{OWNER, owner_of};
use serde_json::{Map, Value};

/// A record ready to be indexed.
pub(crate) struct Extracted {
    /// Its id.
    pub object_id: String,
    /// Raw JSON.
    pub record: Bytes,
    /// Rank key.
    pub rank: Vec<u8>,
    /// Words, see [`super::wire`].
    pub wire: String,
    /// (facet column, value), in record order.
    pub facets: Vec<(u16, String)>,
    /// (path, number), in record order.
    pub numbers: Vec<(String, f64)>,
    /// Latitude and longitude of each point.
    pub points: Vec<[f64; 2]>,
}

/// One attribute to search.
struct Searchable {
    path: String,
    number: u32,
    options: TokenOptions,
}

/// How the records of an index are taken apart: its schema, compiled.
pub(crate) struct Extractor {
    analyzer: Analyzer,
    searchable: Vec<Searchable>,
    options: AttributeOptions,
    rank: RankKeys,
    facets: Vec<String>,
    numeric: Option<Vec<String>>,
    attributes: AttributeNumbers,
    form: SegmentForm,
    numbers_differ: bool,
}

impl Extractor {
    /// Compiles the schema.
    pub fn new(schema: &Schema, form: SegmentForm) -> Extractor {
        let settings: &Settings = schema.settings();
        let index = &settings.index;
        let options = AttributeOptions::new(settings);
        let numbered = index.searchable_attributes.iter().zip(attribute_numbers(index, form));
        let mut searchable: Vec<Searchable> = numbered
            .map(|(a, number)| Searchable { path: a.path.clone(), number, options: options.of(&a.path) })
            .collect();
        searchable.sort_by_key(|a| a.number);
        let mut facets: Vec<String> = index.attributes_for_faceting.iter().map(|f| f.path.clone()).collect();
        facets.push("_tags".into());
        facets.extend(index.attribute_for_distinct.clone());
        facets.push(OWNER.into());
        let mut seen = rustc_hash::FxHashSet::default();
        facets.retain(|path| seen.insert(path.clone()));
        // each once: a record has the numbers of an attribute as often as that is named here
        let numeric = index.numeric_attributes_for_filtering.as_ref().map(|listed| {
            let listed = listed.iter().map(|(path, _)| path).filter(|path| seen.insert((*path).clone()));
            listed.chain(&facets).cloned().collect::<Vec<_>>()
        });
        Extractor {
            analyzer: schema.analyzer().clone(),
            searchable,
            options,
            rank: RankKeys::new(settings),
            facets,
            numeric,
            attributes: AttributeNumbers::new(index, form),
            form,
            numbers_differ: SegmentForm::numbers_differ(index),
        }
    }
    /// Paths of the facet columns.
    pub fn facet_paths(&self) -> &[String] {
        &self.facets
    }
    /// What the numbers of attributes mean.
    pub fn attributes(&self) -> &AttributeNumbers {
        &self.attributes
    }
    /// The form of segments that it takes records apart for.
    pub fn form(&self) -> SegmentForm {
        self.form
    }
    /// Whether segments of the other form have other numbers for its attributes, so that the two cannot be searched together.
    pub fn numbers_differ(&self) -> bool {
        self.numbers_differ
    }
    /// Takes a record apart. Errors: `Record` when it is not a JSON object.
    pub fn extract(&self, object_id: &str, record: Bytes) -> Result<Extracted> {
        let parsed: Map<String, Value> = serde_json::from_slice(&record)
            .map_err(|e| IndexError::Record { object_id: object_id.into(), what: e.to_string() })?;
        Ok(Extracted {
            rank: self.rank.encode(object_id, &parsed),
            wire: self.words(&parsed),
            facets: self.facet_values(object_id, &parsed),
            numbers: self.numbers(&parsed),
            points: points(&parsed),
            object_id: object_id.into(),
            record,
        })
    }

    fn words(&self, record: &Map<String, Value>) -> String {
        let mut wire = Words::default();
        for attribute in &self.searchable {
            wire.attribute(attribute.number);
            values_at(record, &attribute.path, &mut |value| {
                leaves(value, &mut |leaf| wire.leaf(&self.analyzer, attribute.options, leaf));
            });
        }
        if self.searchable.is_empty() {
            for (name, value) in record.iter().filter(|(name, _)| *name != "_geoloc") {
                let options = self.options.of(name);
                leaves(value, &mut |leaf| wire.leaf(&self.analyzer, options, leaf));
            }
        }
        wire.finish()
    }

    fn facet_values(&self, object_id: &str, record: &Map<String, Value>) -> Vec<(u16, String)> {
        let mut out = Vec::new();
        for (column, path) in self.facets.iter().enumerate() {
            if path == OWNER {
                out.extend(owner_of(object_id).0.map(|owner| (column as u16, owner.to_owned())));
                continue;
            }
            values_at(record, path, &mut |value| {
                each_scalar(value, &mut |scalar| match scalar {
                    Value::String(text) => out.push((column as u16, text.clone())),
                    Value::Number(number) => out.push((column as u16, number_text(number))),
                    Value::Bool(flag) => out.push((column as u16, flag.to_string())),
                    Value::Null | Value::Array(_) | Value::Object(_) => {}
                });
            });
        }
        out
    }

    fn numbers(&self, record: &Map<String, Value>) -> Vec<(String, f64)> {
        let mut out = Vec::new();
        match &self.numeric {
            Some(paths) => {
                for path in paths {
                    values_at(record, path, &mut |value| {
                        each_scalar(value, &mut |scalar| {
                            out.extend(number(scalar).map(|n| (path.clone(), n)))
                        });
                    });
                }
            }
            None => {
                let mut path = String::new();
                for (name, value) in record {
                    path.push_str(name);
                    collect_numbers(value, &mut path, &mut out);
                    path.clear();
                }
            }
        }
        out
    }
}

/// The elements of an array, or the value itself; arrays in arrays count, too.
fn each_scalar<'v>(value: &'v Value, each: &mut dyn FnMut(&'v Value)) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| each_scalar(element, each)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => each(value),
    }
}
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64().filter(|n| n.is_finite()),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => None,
    }
}
fn collect_numbers(value: &Value, path: &mut String, out: &mut Vec<(String, f64)>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| collect_numbers(element, path, out)),
        Value::Object(members) => {
            for (name, member) in members {
                let length = path.len();
                path.push('.');
                path.push_str(name);
                collect_numbers(member, path, out);
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.extend(number(value).map(|n| (path.clone(), n)));
        }
    }
}
/// `{lat, lng}` or an array of them; points off the globe are left out.
fn points(record: &Map<String, Value>) -> Vec<[f64; 2]> {
    let mut out = Vec::new();
    if let Some(value) = record.get("_geoloc") {
        each_scalar(value, &mut |point| {
            let Value::Object(members) = point else { return };
            let part = |name: &str| value_at(members, name).and_then(Value::as_f64);
            if let (Some(lat), Some(lng)) = (part("lat"), part("lng"))
                && lat.abs() <= 90.0
                && lng.abs() <= 180.0
            {
                out.push([lat, lng]);
            }
        });
    }
    out
}

/// Writes words in ascending position, as the postings below need.
#[derive(Default)]
struct Words {
    wire: String,
    number: u32,
    next: u32,
    value: Vec<(u32, usize, usize, usize)>,
    texts: String,
    /// Whole values past the last word number; they carry the flag, so they come after the plain ones.
    late: Vec<String>,
}
impl Words {
    /// Goes on with the attributes of `number`; attributes that share it are like elements of one array.
    fn attribute(&mut self, number: u32) {
        if number != self.number {
            self.end_attribute();
            self.number = number;
            self.next = 0;
        }
    }
    fn end_attribute(&mut self) {
        for text in std::mem::take(&mut self.late) {
            push_word(&mut self.wire, pack(self.number, WORD_MAX, 1), &text);
        }
    }
    fn leaf(&mut self, analyzer: &Analyzer, options: TokenOptions, leaf: &Value) {
        match leaf {
            Value::String(text) => self.text(analyzer, options, text),
            Value::Number(number) => self.text(analyzer, options, &number_text(number)),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {}
        }
    }
    fn text(&mut self, analyzer: &Analyzer, options: TokenOptions, text: &str) {
        let (mut value, mut texts) = (std::mem::take(&mut self.value), std::mem::take(&mut self.texts));
        let used = analyzer.tokens(text, options, |token: Token<'_>| {
            let from = texts.len();
            texts.push_str(token.text);
            value.push((token.position, token.start, token.end, from));
        });
        let first = value.iter().map(|w| w.1).min().unwrap_or(0);
        let last = value.iter().map(|w| w.2).max().unwrap_or(0);
        for (i, &(position, start, end, from)) in value.iter().enumerate() {
            let word = &texts[from..value.get(i + 1).map_or(texts.len(), |next| next.3)];
            let (at, whole) = (self.next + position, start == first && end == last);
            if whole && at >= WORD_MAX {
                self.late.push(word.into());
            } else {
                push_word(&mut self.wire, pack(self.number, at, u16::from(whole)), word);
            }
        }
        if used > 0 {
            self.next += used + VALUE_GAP;
        }
        value.clear();
        texts.clear();
        (self.value, self.texts) = (value, texts);
    }
    fn finish(mut self) -> String {
        self.end_attribute();
        self.wire
    }
}

#[cfg(test)]
#[path = "extract_tests.rs"]
mod tests;
