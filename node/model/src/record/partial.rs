//! What does a record become under a partial update (C§3.5)?
//!
//! A pure function of texts: every node computes the same. Numbers follow these rules: two integers give an integer;
//! a result outside what 64 bits hold (signed or unsigned) becomes a floating point number; a floating point number on
//! either side gives one; a result beyond its range stays at the largest finite one.

use super::BuiltIn;
use super::parse::{operation, with_object_id};
use crate::error::{Error, Result};
use crate::json::{self, Member, Minified};
use crate::user::owner_of;
use serde_json::Value;
use std::collections::HashMap;

/// What a partial update does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartialOutcome {
    /// The record's new text, minified, with its objectID.
    Write(Vec<u8>),
    /// Nothing: the record is missing and must not be created, or a condition does not hold.
    Ignore,
    /// Nothing: the record would take so many bytes, more than it may and more than it does.
    TooLarge(usize),
}

/// What one attribute becomes.
enum Change {
    Set(Vec<u8>),
    Keep,
    /// The condition of IncrementFrom or IncrementSet fails: the whole update is ignored.
    Refuse,
}

/// Applies the changes that `parse_partial` accepted to a stored record, or to a missing one.
///
/// Attributes keep their order; new ones follow in the order of `changes`. `create` makes a missing record, but an
/// IncrementFrom of anything but 0 and an IncrementSet of 0 or less do not create it. Without `bytes_max` a record may become as
/// large as it does.
/// Errors: `Internal` when a text is not what this crate wrote. Cost: proportional to the record and the changes.
pub fn apply_partial(
    current: Option<&[u8]>,
    changes: &[u8],
    create: bool,
    object_id: &str,
    bytes_max: Option<u64>,
) -> Result<PartialOutcome> {
    if current.is_none() && !create {
        return Ok(PartialOutcome::Ignore);
    }
    let fresh;
    let current = match current {
        Some(text) => text,
        None => {
            fresh = with_object_id(b"{}", owner_of(object_id).1);
            &fresh
        }
    };
    let record = stored(current)?;
    let changes = stored(changes)?;
    let by_name: HashMap<_, _> =
        record.members.iter().enumerate().map(|(place, member)| (record.name(member), place)).collect();
    let mut replaced: Vec<Option<Vec<u8>>> = vec![None; record.members.len()];
    let mut added: Vec<(&Member, Vec<u8>)> = Vec::new();
    for member in &changes.members {
        let name = changes.name(member);
        if name == "objectID" {
            continue;
        }
        let place = by_name.get(&name).copied();
        let old = place.map(|place| record.value(&record.members[place]));
        match change(old, changes.value(member)) {
            Change::Set(value) => match place {
                Some(place) => replaced[place] = Some(value),
                None => added.push((member, value)),
            },
            Change::Keep => {}
            Change::Refuse => return Ok(PartialOutcome::Ignore),
        }
    }
    let written = assemble(&record, &changes, &replaced, &added);
    let is_too_large = bytes_max.is_some_and(|bytes_max| written.len() as u64 > bytes_max);
    Ok(match is_too_large && written.len() > current.len() {
        true => PartialOutcome::TooLarge(written.len()),
        false => PartialOutcome::Write(written),
    })
}

fn stored(text: &[u8]) -> Result<Minified> {
    let found = json::scan(text)?;
    if found.is_object() { Ok(found) } else { Err(Error::internal("a stored record is not a JSON object")) }
}

fn assemble(
    record: &Minified,
    changes: &Minified,
    replaced: &[Option<Vec<u8>>],
    added: &[(&Member, Vec<u8>)],
) -> Vec<u8> {
    let mut text = Vec::with_capacity(record.text.len() + changes.text.len());
    text.push(b'{');
    let kept = record.members.iter().zip(replaced).map(|(member, new)| {
        (&record.text[member.key.clone()], new.as_deref().unwrap_or_else(|| record.value(member)))
    });
    let new = added.iter().map(|(member, value)| (&changes.text[member.key.clone()], value.as_slice()));
    for (key, value) in kept.chain(new) {
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(key);
        text.push(b':');
        text.extend_from_slice(value);
    }
    text.push(b'}');
    text
}

fn change(old: Option<&[u8]>, new: &[u8]) -> Change {
    let Ok(Some((kind, operand))) = operation(new) else {
        return Change::Set(new.to_vec());
    };
    match kind {
        BuiltIn::Increment => step(old, &operand, 1),
        BuiltIn::Decrement => step(old, &operand, -1),
        BuiltIn::Add | BuiltIn::AddUnique => append(kind, old, operand),
        BuiltIn::Remove => remove(old, &operand),
        BuiltIn::IncrementFrom | BuiltIn::IncrementSet => conditional(kind, old, &operand),
    }
}

/// A number, exact while it is an integer of 64 bits.
#[derive(Clone, Copy)]
enum Exact {
    Integer(i128),
    Float(f64),
}
impl Exact {
    fn read(raw: &[u8]) -> Option<Exact> {
        let Ok(Value::Number(number)) = serde_json::from_slice(raw) else { return None };
        let integer = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
        integer.map(Exact::Integer).or_else(|| number.as_f64().map(Exact::Float))
    }

    fn float(self) -> f64 {
        match self {
            Exact::Integer(integer) => integer as f64,
            Exact::Float(float) => float,
        }
    }

    fn plus(self, other: Exact, sign: i8) -> Exact {
        match (self, other) {
            (Exact::Integer(a), Exact::Integer(b)) => Exact::Integer(a + b * i128::from(sign)),
            (a, b) => Exact::Float((a.float() + b.float() * f64::from(sign)).clamp(f64::MIN, f64::MAX)),
        }
    }

    fn equals(self, other: Exact) -> bool {
        match (self, other) {
            (Exact::Integer(a), Exact::Integer(b)) => a == b,
            (a, b) => a.float() == b.float(),
        }
    }

    fn is_greater(self, other: Exact) -> bool {
        match (self, other) {
            (Exact::Integer(a), Exact::Integer(b)) => a > b,
            (a, b) => a.float() > b.float(),
        }
    }

    fn text(self) -> Vec<u8> {
        // The standard library's notation, not that of a JSON library, so that an upgrade changes no record.
        match self {
            Exact::Integer(integer) if (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&integer) => {
                integer.to_string().into_bytes()
            }
            Exact::Integer(_) | Exact::Float(_) => format!("{:?}", self.float()).into_bytes(),
        }
    }
}

/// Increment and Decrement: from 0 on a missing attribute, nothing on one that is no number.
fn step(old: Option<&[u8]>, operand: &[u8], sign: i8) -> Change {
    let current = old.map_or(Some(Exact::Integer(0)), Exact::read);
    match (current, Exact::read(operand)) {
        (Some(current), Some(operand)) => Change::Set(current.plus(operand, sign).text()),
        _ => Change::Keep,
    }
}

/// IncrementFrom and IncrementSet; a missing attribute counts as 0, one that is no number refuses.
fn conditional(kind: BuiltIn, old: Option<&[u8]>, operand: &[u8]) -> Change {
    let current = old.map_or(Some(Exact::Integer(0)), Exact::read);
    let (Some(current), Some(operand)) = (current, Exact::read(operand)) else {
        return Change::Refuse;
    };
    if kind == BuiltIn::IncrementFrom {
        let holds = operand.equals(current);
        return if holds { Change::Set(current.plus(Exact::Integer(1), 1).text()) } else { Change::Refuse };
    }
    if operand.is_greater(current) { Change::Set(operand.text()) } else { Change::Refuse }
}

/// Elements of a raw array; `None` when it is none.
fn elements(raw: &[u8]) -> Option<Vec<&serde_json::value::RawValue>> {
    serde_json::from_slice(raw).ok()
}

fn has_nested(elements: &[&serde_json::value::RawValue]) -> bool {
    elements.iter().any(|element| element.get().starts_with(['{', '[']))
}

/// Add and AddUnique: an array of one on a missing attribute, nothing on one that is no array.
fn append(kind: BuiltIn, old: Option<&[u8]>, operand: Vec<u8>) -> Change {
    let Some(old) = old else {
        return Change::Set([b"[", operand.as_slice(), b"]"].concat());
    };
    let Some(elements) = elements(old) else {
        return Change::Keep;
    };
    let present = || elements.iter().any(|element| same(element.get().as_bytes(), &operand));
    if kind == BuiltIn::AddUnique && (has_nested(&elements) || present()) {
        return Change::Keep;
    }
    let mut text = old[..old.len() - 1].to_vec();
    if !elements.is_empty() {
        text.push(b',');
    }
    text.extend_from_slice(&operand);
    text.push(b']');
    Change::Set(text)
}

/// Remove: nothing on a missing attribute, on one that is no array and on arrays with nested values.
fn remove(old: Option<&[u8]>, operand: &[u8]) -> Change {
    let Some(elements) = old.and_then(elements).filter(|elements| !has_nested(elements)) else {
        return Change::Keep;
    };
    let kept: Vec<&str> = elements
        .iter()
        .map(|element| element.get())
        .filter(|element| !same(element.as_bytes(), operand))
        .collect();
    Change::Set(format!("[{}]", kept.join(",")).into_bytes())
}

/// Whether two raw scalars are the same string or the same number.
fn same(a: &[u8], b: &[u8]) -> bool {
    if a.first() == Some(&b'"') && b.first() == Some(&b'"') {
        return json::unquote(a) == json::unquote(b);
    }
    match (Exact::read(a), Exact::read(b)) {
        (Some(a), Some(b)) => a.equals(b),
        _ => false,
    }
}
