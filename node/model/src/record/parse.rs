//! Is this body a record or a partial update, and which id does it name (C§3.5)?

use super::{BuiltIn, ObjectId};
use crate::error::{Error, Result, shortened};
use crate::json::{self, Member, Minified};
use crate::limits::OBJECT_ID_BYTES_MAX;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashSet;

/// Parses a record into its id, if it names one, and its minified text.
///
/// Shape: with an id the text contains it as a string; without one, [`with_object_id`] adds an id that is made for it. An id from
/// the path wins over the one in the body (C§2). Numbers and strings keep their text.
/// Errors: `Invalid` when it is no JSON object, has a wrong objectID, names an attribute twice on its first level (which
/// of the two would count is anybody's guess) or is larger than `record_bytes_max`.
pub fn parse_record(
    bytes: &[u8],
    path_id: Option<&str>,
    record_bytes_max: usize,
) -> Result<(Option<ObjectId>, Vec<u8>)> {
    let found = scan_object(bytes)?;
    let (object_id, place) = object_id_of(&found, path_id)?;
    let named =
        |member: &Member| found.value(member) == json::quote(object_id.as_deref().unwrap_or_default());
    let text = match (&object_id, place) {
        (Some(_), Some(place)) if named(&found.members[place]) => found.text,
        (Some(id), Some(place)) => with_object_id(&without(&found, place), id),
        (Some(id), None) => with_object_id(&found.text, id),
        (None, _) => found.text,
    };
    let text = if text.len() > record_bytes_max { json::unescaped(&text) } else { text };
    check_size(text.len(), record_bytes_max, object_id.as_deref())?;
    Ok((object_id, text))
}

/// Parses a partial update into its id, if it names one, and its minified changes without objectID.
///
/// Errors: as [`parse_record`], and `Invalid` for an unknown built-in operation or a wrong `value` of one.
pub fn parse_partial(
    bytes: &[u8],
    path_id: Option<&str>,
    record_bytes_max: usize,
) -> Result<(Option<ObjectId>, Vec<u8>)> {
    let found = scan_object(bytes)?;
    let (object_id, place) = object_id_of(&found, path_id)?;
    for member in &found.members {
        operation(found.value(member)).map_err(|what| what.for_attribute(&found.name(member)))?;
    }
    let changes = match place {
        Some(place) => without(&found, place),
        None => found.text,
    };
    let changes = if changes.len() > record_bytes_max { json::unescaped(&changes) } else { changes };
    check_size(changes.len(), record_bytes_max, object_id.as_deref())?;
    Ok((object_id, changes))
}

/// Puts `"objectID"` first into the text of a minified object that has none.
pub fn with_object_id(record: &[u8], object_id: &str) -> Vec<u8> {
    let members = record.strip_prefix(b"{").unwrap_or(record);
    let mut text = Vec::with_capacity(record.len() + object_id.len() + 16);
    text.extend_from_slice(b"{\"objectID\":");
    text.extend_from_slice(&json::quote(object_id));
    if members != b"}" {
        text.push(b',');
    }
    text.extend_from_slice(members);
    text
}

/// Checks an id: not empty, at most 512 bytes, no control characters.
pub fn check_object_id(object_id: &str) -> Result<()> {
    if object_id.is_empty() {
        return Err(Error::invalid("objectID must not be empty"));
    }
    if object_id.len() > OBJECT_ID_BYTES_MAX {
        return Err(Error::invalid(format!("objectID must have at most {OBJECT_ID_BYTES_MAX} bytes")));
    }
    if object_id.chars().any(char::is_control) {
        return Err(Error::invalid("objectID must not contain control characters"));
    }
    Ok(())
}

/// The id that a JSON value names: a string, or a number by its decimal text (C§2).
pub fn object_id_from_json(raw: &[u8]) -> Result<ObjectId> {
    let id = match raw.first() {
        Some(b'"') => json::unquote(raw).into_owned(),
        Some(b'-' | b'0'..=b'9') => decimal(raw),
        _ => return Err(Error::invalid("objectID must be a string or a number")),
    };
    check_object_id(&id)?;
    Ok(id)
}

fn decimal(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw);
    if raw.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') {
        return text.into_owned();
    }
    text.parse::<f64>().map_or_else(|_| text.clone().into_owned(), |number| number.to_string())
}

/// The same error, saying at which position of a batch it happened (C§19).
pub fn at_position(mut error: Error, position: u64) -> Error {
    if let Some(rest) = error.message.strip_prefix("Record is too big") {
        let id = error.object_id.as_ref().map(|id| format!(" objectID={id}")).unwrap_or_default();
        error.message = format!("Record at the position {position}{id} is too big{rest}");
    }
    error.position = Some(position);
    error
}

fn check_size(size: usize, limit: usize, object_id: Option<&str>) -> Result<()> {
    if size <= limit { Ok(()) } else { Err(too_large(size, limit, object_id)) }
}

/// The error of a record that takes more bytes than it may (C§20).
pub fn too_large(size: usize, limit: usize, object_id: Option<&str>) -> Error {
    let mut error = Error::invalid(format!(
        "Record is too big size={size}/{limit} bytes. Please have a look at the option record-bytes-max"
    ));
    error.object_id = object_id.map(str::to_owned);
    error
}

fn scan_object(bytes: &[u8]) -> Result<Minified> {
    let found = json::scan(bytes)?;
    if !found.is_object() {
        return Err(Error::invalid("Invalid record: expected a JSON object near line:1 column:1"));
    }
    if let Some(twice) = duplicate(&found) {
        let place = json::place(bytes, twice.source_end);
        return Err(Error::invalid(format!(
            "Duplicate attribute: {} {place}",
            shortened(&found.name(twice))
        )));
    }
    Ok(found)
}

/// The first member whose name an earlier member has.
fn duplicate(found: &Minified) -> Option<&Member> {
    /// Up to this many members comparing all pairs is faster than hashing.
    const PAIRS_MAX: usize = 32;
    let escaped = |member: &Member| found.text[member.key.clone()].contains(&b'\\');
    if found.members.len() > PAIRS_MAX || found.members.iter().any(escaped) {
        let mut seen: HashSet<Cow<str>> = HashSet::with_capacity(found.members.len());
        return found.members.iter().find(|member| !seen.insert(found.name(member)));
    }
    let key = |member: &Member| &found.text[member.key.clone()];
    let mut members = found.members.iter().enumerate();
    members
        .find(|(place, member)| found.members[..*place].iter().any(|other| key(other) == key(member)))
        .map(|(_, member)| member)
}

/// The id from the path, else from the body, and the place of the member that names it.
fn object_id_of(found: &Minified, path_id: Option<&str>) -> Result<(Option<ObjectId>, Option<usize>)> {
    let place = found.members.iter().position(|member| found.name(member) == "objectID");
    if let Some(path_id) = path_id {
        check_object_id(path_id)?;
        return Ok((Some(path_id.to_owned()), place));
    }
    let id = place.map(|place| object_id_from_json(found.value(&found.members[place]))).transpose()?;
    Ok((id, place))
}

/// The object without the member at `place`.
fn without(found: &Minified, place: usize) -> Vec<u8> {
    let mut text = vec![b'{'];
    for (other, member) in found.members.iter().enumerate() {
        if other != place {
            if text.len() > 1 {
                text.push(b',');
            }
            text.extend_from_slice(&found.text[member.key.start..member.value.end]);
        }
    }
    text.push(b'}');
    text
}

/// What is wrong with a built-in operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperationError {
    Unknown,
    NotNumber,
    NotInteger,
    NotScalar,
}
impl OperationError {
    fn for_attribute(self, attribute: &str) -> Error {
        let expected = match self {
            OperationError::Unknown => {
                "_operation among Increment, Decrement, Add, Remove, AddUnique, IncrementFrom, IncrementSet"
            }
            OperationError::NotNumber => "number as value",
            OperationError::NotInteger => "integer as value",
            OperationError::NotScalar => "number or string as value",
        };
        Error::invalid(format!(
            "Invalid operation on attribute {}, expected {expected}",
            shortened(attribute)
        ))
    }
}

/// The built-in operation and the raw operand that a minified value stands for; `None` for a plain value.
pub(super) fn operation(value: &[u8]) -> Result<Option<(BuiltIn, Vec<u8>)>, OperationError> {
    if value.first() != Some(&b'{') {
        return Ok(None);
    }
    // The value is part of an accepted text, so scanning it again cannot fail.
    let Ok(found) = json::scan(value) else { return Ok(None) };
    let member = |name: &str| found.members.iter().rev().find(|member| found.name(member) == name);
    let Some(kind) = member("_operation") else { return Ok(None) };
    let kind = match json::unquote(found.value(kind)).as_ref() {
        _ if !found.value(kind).starts_with(b"\"") => return Err(OperationError::Unknown),
        "Increment" => BuiltIn::Increment,
        "Decrement" => BuiltIn::Decrement,
        "Add" => BuiltIn::Add,
        "Remove" => BuiltIn::Remove,
        "AddUnique" => BuiltIn::AddUnique,
        "IncrementFrom" => BuiltIn::IncrementFrom,
        "IncrementSet" => BuiltIn::IncrementSet,
        _ => return Err(OperationError::Unknown),
    };
    let operand = member("value").map(|member| found.value(member)).unwrap_or_default();
    let is_number = matches!(operand.first(), Some(b'-' | b'0'..=b'9'));
    let is_text = operand.first() == Some(&b'"');
    match kind {
        BuiltIn::Increment | BuiltIn::Decrement if !is_number => Err(OperationError::NotNumber),
        BuiltIn::IncrementFrom | BuiltIn::IncrementSet if !is_integer(operand) => {
            Err(OperationError::NotInteger)
        }
        BuiltIn::Add | BuiltIn::Remove | BuiltIn::AddUnique if !is_number && !is_text => {
            Err(OperationError::NotScalar)
        }
        BuiltIn::Increment
        | BuiltIn::Decrement
        | BuiltIn::IncrementFrom
        | BuiltIn::IncrementSet
        | BuiltIn::Add
        | BuiltIn::Remove
        | BuiltIn::AddUnique => Ok(Some((kind, operand.to_vec()))),
    }
}

fn is_integer(raw: &[u8]) -> bool {
    serde_json::from_slice::<Value>(raw).is_ok_and(|value| value.is_i64() || value.is_u64())
}
