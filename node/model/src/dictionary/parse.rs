//! How is the body of a change of a dictionary read (C§12.1)?

use super::{DictionaryEntry, DictionaryKind, DictionaryOp, DictionaryWords};
use crate::error::{Error, Result, shortened};
use crate::json;
use crate::languages;
use crate::limits::{BATCH_OPS_MAX, DICTIONARY_WORDS_MAX};
use crate::params::lenient;
use crate::record::check_object_id;
use crate::resource::{Members, required_text};
use serde_json::Value;
use serde_json::value::RawValue;

/// A change of a dictionary: everything or nothing of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DictionaryChange {
    /// Removes all custom entries first.
    pub clear: bool,
    /// What is done then, in order.
    pub ops: Vec<DictionaryOp>,
}

/// Languages that have compounds.
const COMPOUNDING: [&str; 7] = ["da", "de", "fi", "nb", "nl", "no", "sv"];

impl DictionaryChange {
    /// Reads the body of a batch.
    ///
    /// Errors: `Invalid`, naming the member and what was expected (C§19).
    pub fn parse(kind: DictionaryKind, body: &[u8]) -> Result<DictionaryChange> {
        let text = if body.trim_ascii().is_empty() { b"{}" } else { body };
        let found = json::scan(text)?;
        if !found.is_object() {
            return Err(Error::invalid("parse error: expected a JSON object near line:1 column:1"));
        }
        let (mut clear, mut requests) = (false, None);
        for member in &found.members {
            let value = found.value(member);
            match &*found.name(member) {
                "clearExistingDictionaryEntries" if value == b"null" => {}
                "clearExistingDictionaryEntries" => {
                    clear = lenient::flag("clearExistingDictionaryEntries", &parsed(value)?)?;
                }
                "requests" => requests = Some(value).filter(|value| *value != b"null"),
                other => {
                    let place = json::place(text, member.source_end);
                    let name = shortened(other);
                    return Err(Error::invalid(format!("Invalid object attributes: {name} {place}")));
                }
            }
        }
        let requests = requests.ok_or_else(|| Error::invalid("requests is required"))?;
        Ok(DictionaryChange { clear, ops: operations(kind, requests)? })
    }
    /// Whether it adds nothing.
    pub fn only_removes(&self) -> bool {
        self.ops.iter().all(|op| matches!(op, DictionaryOp::Delete { .. }))
    }
}

fn parsed(text: &[u8]) -> Result<Value> {
    serde_json::from_slice(text).map_err(|error| Error::invalid(format!("parse error: {error}")))
}

fn operations(kind: DictionaryKind, requests: &[u8]) -> Result<Vec<DictionaryOp>> {
    if requests.first() == Some(&b'{') {
        // older clients clear a dictionary with a request that has no entries (C§12.1)
        return match parsed(requests)?.get("body").and_then(Value::as_array) {
            Some(entries) if entries.is_empty() => Ok(vec![]),
            Some(_) | None => Err(Error::parameter("requests", "array")),
        };
    }
    // one tree at a time: a body may be large
    let values: Vec<&RawValue> =
        serde_json::from_slice(requests).map_err(|_| Error::parameter("requests", "array"))?;
    if values.len() > BATCH_OPS_MAX {
        let most = format!("array of at most {BATCH_OPS_MAX} entries");
        return Err(Error::parameter("requests", &most));
    }
    let operation = |(position, value): (usize, &RawValue)| {
        operation(kind, format!("requests[{position}]"), value).map_err(|mut error| {
            error.position = Some(position as u64);
            error
        })
    };
    values.into_iter().enumerate().map(operation).collect()
}

fn operation(kind: DictionaryKind, path: String, value: &RawValue) -> Result<DictionaryOp> {
    let value = parsed(value.get().as_bytes())?;
    let request = Members::of(&value, path)?;
    request.only(&["action", "body"])?;
    let action = request.required("action")?;
    let body = Members::of(request.required("body")?, request.at("body"))?;
    match action.as_str() {
        Some("addEntry") => Ok(DictionaryOp::Add(entry(kind, &body)?)),
        Some("deleteEntry") => {
            body.only(&["objectID"])?;
            Ok(DictionaryOp::Delete { object_id: object_id(&body)? })
        }
        Some(_) | None => {
            Err(Error::parameter(&request.at("action"), "one of \"addEntry\", \"deleteEntry\""))
        }
    }
}

fn entry(kind: DictionaryKind, body: &Members<'_>) -> Result<DictionaryEntry> {
    // answers of searches say `type`; sent back, it says nothing
    body.only(match kind {
        DictionaryKind::StopWords => &["objectID", "language", "word", "state", "type"],
        DictionaryKind::Plurals => &["objectID", "language", "words", "type"],
        DictionaryKind::Compounds => &["objectID", "language", "word", "decomposition", "type"],
    })?;
    if body.value("type").is_some_and(|value| !value.is_string()) {
        return Err(Error::parameter(&body.at("type"), "string"));
    }
    let object_id = object_id(body)?;
    let language = language(kind, &body.at("language"), body.required("language")?)?;
    let words = match kind {
        DictionaryKind::StopWords => DictionaryWords::StopWord {
            word: word(&body.at("word"), body.required("word")?)?,
            is_enabled: is_enabled(body)?,
        },
        DictionaryKind::Plurals => {
            // a text of words between commas, or the list that clients send
            let words = match body.required("words")? {
                Value::String(text) => split(&body.at("words"), text)?,
                _ => words(body, "words")?,
            };
            if words.is_empty() {
                return Err(Error::parameter(&body.at("words"), "non-empty array of strings"));
            }
            DictionaryWords::Plurals { words }
        }
        DictionaryKind::Compounds => {
            let word = word(&body.at("word"), body.required("word")?)?;
            body.required("decomposition")?;
            DictionaryWords::Compound { word, parts: words(body, "decomposition")? }
        }
    };
    Ok(DictionaryEntry { object_id, language, words })
}

fn object_id(body: &Members<'_>) -> Result<String> {
    let id = match body.required("objectID")? {
        Value::String(id) => id.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err(Error::parameter(&body.at("objectID"), "string")),
    };
    check_object_id(&id)?;
    Ok(id)
}

fn is_enabled(body: &Members<'_>) -> Result<bool> {
    match body.value("state").map(Value::as_str) {
        None | Some(Some("enabled")) => Ok(true),
        Some(Some("disabled")) => Ok(false),
        Some(_) => Err(Error::parameter(&body.at("state"), "one of \"enabled\", \"disabled\"")),
    }
}

fn language(kind: DictionaryKind, path: &str, value: &Value) -> Result<&'static str> {
    let code = value.as_str().ok_or_else(|| Error::parameter(path, "string"))?;
    let known = languages::code(path, code)?;
    match kind {
        DictionaryKind::Compounds if !COMPOUNDING.contains(&known) => {
            let with_compounds = COMPOUNDING.map(|code| format!("\"{code}\"")).join(", ");
            Err(Error::parameter(path, &format!("a language with compounds: one of {with_compounds}")))
        }
        _ => Ok(known),
    }
}

fn words(body: &Members<'_>, name: &str) -> Result<Vec<String>> {
    let listed = body.list(name, DICTIONARY_WORDS_MAX)?.iter().enumerate();
    listed.map(|(number, value)| word(&format!("{}[{number}]", body.at(name)), value)).collect()
}

/// Words between commas.
fn split(path: &str, text: &str) -> Result<Vec<String>> {
    let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    if words.len() > DICTIONARY_WORDS_MAX {
        return Err(Error::parameter(path, &format!("at most {DICTIONARY_WORDS_MAX} words")));
    }
    words.into_iter().map(|text| word(path, &Value::String(text.to_owned()))).collect()
}

/// A word without spaces inside it: a text of several words is never looked up.
fn word(path: &str, value: &Value) -> Result<String> {
    let text = required_text(path, value)?;
    let word = text.trim();
    if word.contains(char::is_whitespace) {
        return Err(Error::parameter(path, "one word, without white space"));
    }
    Ok(word.to_owned())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
