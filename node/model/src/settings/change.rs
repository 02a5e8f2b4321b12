//! How do settings change, what do they answer, and what is wrong with a change (C§4.8, C§4.9)?

use super::table::{self, Form, ROWS, SettingRow, Target};
use super::{IndexSettings, Settings};
use crate::error::{Error, Result, shortened};
use crate::json;
use crate::limits::{FACET_ATTRIBUTES_MAX, SETTINGS_BYTES_MAX};
use crate::params::{SearchParams, kept, lenient};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// The settings that the error text of C§4.9 says accept a single string.
const SINGLE_STRING: &str = "attributes, attributesToRetrieve, unretrievableAttributes, attributesToHighlight, \
     attributesToSnippet, ranking, customRanking, attributesForFaceting, removeWordsIfNoResults, \
     attributeCriteriaComputedBy, queryType, reRankingApplyFilter";

/// What GET answers for members that were never set.
static SHOWN_DEFAULTS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    ROWS.iter().filter(|row| row.shown).map(|row| (row.name.to_owned(), row.default_value())).collect()
});

static DEFAULT: LazyLock<Settings> = LazyLock::new(|| {
    Settings::from_document(&Map::new()).expect("the defaults of the table are valid; a test reads them all")
});

impl Default for Settings {
    fn default() -> Self {
        DEFAULT.clone()
    }
}

impl Settings {
    /// Reads a stored document: every member is checked, legacy names are translated, nulls are left out.
    pub fn from_document(document: &Map<String, Value>) -> Result<Settings> {
        let mut settings = Settings {
            document: Map::new(),
            index: IndexSettings::default(),
            params: SearchParams::default(),
        };
        for row in ROWS {
            set_index(&mut settings.index, row, row.name, &row.default_value())?;
        }
        let locate = || in_document(document);
        for (name, value) in document {
            let Some(row) = setting_row(name, &locate)? else { continue };
            let overridden = name != row.name && document.contains_key(row.name);
            if value.is_null() || overridden {
                continue;
            }
            let value = translated(row, value);
            check_form(row, name, &value, &locate)?;
            fill(&mut settings, row, name, &value)?;
            settings.document.insert(row.name.to_owned(), value);
        }
        Ok(settings)
    }

    /// The settings after a change: given members replace, `null` resets, the rest stays.
    ///
    /// Errors: `Invalid` with the texts of C§4.9 and C§19; positions are those in the compact text of `changes`.
    pub fn merge(&self, changes: &Map<String, Value>) -> Result<Settings> {
        let locate = || in_document(changes);
        let mut document = self.document.clone();
        for (name, value) in changes {
            let Some(row) = setting_row(name, &locate)? else { continue };
            if name != row.name && changes.contains_key(row.name) {
                continue;
            }
            if value.is_null() {
                document.remove(row.name);
                continue;
            }
            let value = translated(row, value);
            check_form(row, name, &value, &locate)?;
            document.insert(row.name.to_owned(), value);
        }
        Settings::from_document(&document)
    }

    /// Parses and checks the body of a settings call; positions in errors are those of the body.
    ///
    /// An empty body changes nothing. The result is what [`Settings::merge`] takes.
    pub fn parse_body(body: &[u8]) -> Result<Map<String, Value>> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Map::new());
        }
        let found = json::scan(body)?;
        if found.text.len() > SETTINGS_BYTES_MAX {
            let size = found.text.len();
            return Err(Error::invalid(format!(
                "Settings are too big size={size}/{SETTINGS_BYTES_MAX} bytes"
            )));
        }
        if !found.is_object() {
            return Err(Error::invalid("Invalid object inside settings near line:1 column:1"));
        }
        let changes: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|_| Error::invalid("Invalid object inside settings near line:1 column:1"))?;
        let locate = || body.to_vec();
        let mut scratch = Settings::default();
        for (name, value) in &changes {
            let Some(row) = setting_row(name, &locate)? else { continue };
            if !value.is_null() {
                let value = translated(row, value);
                check_form(row, name, &value, &locate)?;
                fill(&mut scratch, row, name, &value)?;
            }
        }
        // not looked at where commands are applied: earlier programs took more
        if scratch.index.attributes_for_faceting.len() > FACET_ATTRIBUTES_MAX {
            let expected = format!("at most {FACET_ATTRIBUTES_MAX} attributes");
            return Err(Error::parameter("attributesForFaceting", &expected));
        }
        if let Some(facet) =
            scratch.index.attributes_for_faceting.iter().find(|it| it.searchable && it.filter_only)
        {
            let path = shortened(&facet.path);
            let expected = format!("either searchable({path}) or filterOnly({path}), not both");
            return Err(Error::parameter("attributesForFaceting", &expected));
        }
        Ok(changes)
    }

    /// The answer of GET settings: shown defaults, then everything that was set, as it was set. A number or a truth value that was given
    /// as a text, and a text that was given as a number, are shown as what they are: clients of typed languages could not read the
    /// settings otherwise.
    ///
    /// Synonyms are never embedded, so every version (`getVersion`, C§3.1) answers the same.
    pub fn answer(&self, _version: u8) -> Map<String, Value> {
        let mut answer = SHOWN_DEFAULTS.clone();
        answer.extend(self.document.iter().map(|(name, value)| (name.clone(), plain(name, value))));
        if let Some(primary) = &self.index.primary {
            answer.insert("primary".to_owned(), Value::from(primary.as_str()));
        }
        answer
    }
}

/// The value of a setting as its kind is written.
fn plain(name: &str, value: &Value) -> Value {
    let Some(target) = table::lookup(name).map(|row| row.target) else { return value.clone() };
    let (is_number, is_flag, is_text) = match target {
        Target::Count(..) | Target::IndexCount(..) => (true, false, false),
        Target::Flag(_) | Target::Kept(Form::Flag) => (false, true, false),
        Target::Text(..) | Target::IndexText(_) => (false, false, true),
        // the words say which forms there are
        Target::Query(words, _) | Target::Index(words, _) => {
            (words.contains("integer"), words.starts_with("boolean"), words == "string")
        }
        Target::List(_)
        | Target::Languages(_)
        | Target::IndexStrings(_)
        | Target::IndexList(..)
        | Target::Kept(_)
        | Target::Dropped => (false, false, false),
    };
    let read = match value {
        Value::String(text) => {
            let number = text.trim().parse::<u64>().ok().filter(|_| is_number).map(Value::from);
            let flag = if is_number { text.trim().parse().ok() } else { lenient::loose_flag(value) };
            number.or_else(|| flag.filter(|_| is_flag).map(Value::from))
        }
        Value::Number(number) if is_text => Some(Value::from(number.to_string())),
        Value::Number(_) if is_flag && !is_number => lenient::loose_flag(value).map(Value::from),
        Value::Number(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    read.unwrap_or_else(|| value.clone())
}

/// The bytes in which positions of errors are counted; only made when there is an error.
type Locate<'a> = &'a dyn Fn() -> Vec<u8>;

fn in_document(document: &Map<String, Value>) -> Vec<u8> {
    serde_json::to_vec(document).expect("a JSON object is always text")
}

/// `near line:L column:C` of the end of a first-level name.
fn near(name: &str, locate: Locate) -> String {
    let text = locate();
    let end = json::scan(&text).ok().and_then(|found| {
        let member = found.members.iter().find(|member| found.name(member) == name)?;
        Some(member.source_end)
    });
    json::place(&text, end.unwrap_or(0))
}

/// The row of a setting; `None` when it is accepted and dropped.
fn setting_row(name: &str, locate: Locate) -> Result<Option<&'static SettingRow>> {
    match table::lookup(name) {
        Some(SettingRow { target: Target::Dropped, .. }) => Ok(None),
        Some(row) if row.scope.in_settings() => Ok(Some(row)),
        // A list of synonym sets: the form of the time before the synonym interface (C§4.8).
        Some(SettingRow { name: "synonyms", .. }) => Ok(None),
        Some(_) | None => {
            let (name, place) = (shortened(name), near(name, locate));
            Err(Error::invalid(format!("Invalid object attributes: {name} {place}")))
        }
    }
}

/// Legacy values in their current form.
fn translated(row: &SettingRow, value: &Value) -> Value {
    match (row.name, value) {
        ("exactOnSingleWordQuery", Value::Bool(true)) => Value::from("attribute"),
        ("exactOnSingleWordQuery", Value::Bool(false)) => Value::from("none"),
        _ => value.clone(),
    }
}

/// Whether the value of a row must be a list of strings.
fn is_list(row: &SettingRow) -> bool {
    matches!(
        row.target,
        Target::List(_)
            | Target::Languages(_)
            | Target::IndexStrings(_)
            | Target::IndexList(..)
            | Target::Kept(Form::List)
    )
}

/// The rules of C§4.9 about single strings and empty strings.
fn check_form(row: &SettingRow, name: &str, value: &Value, locate: Locate) -> Result<()> {
    let empty = || Error::invalid(format!("Invalid string of size 0 {}", near(name, locate)));
    match value {
        Value::String(text) if is_list(row) => {
            if !row.single {
                let place = near(name, locate);
                return Err(Error::invalid(format!(
                    "String is supported only for {SINGLE_STRING} attributes {place}"
                )));
            }
            if text.is_empty() { Err(empty()) } else { Ok(()) }
        }
        Value::Array(list) if is_list(row) => {
            if list.iter().any(|entry| !entry.is_string()) {
                return Err(Error::parameter(name, &row.allowed()));
            }
            if list.iter().any(|entry| entry.as_str() == Some("")) { Err(empty()) } else { Ok(()) }
        }
        Value::Array(list) if list.iter().any(|entry| entry.as_str() == Some("")) => Err(empty()),
        _ if is_list(row) => Err(Error::parameter(name, &row.allowed())),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => Ok(()),
    }
}

/// Fills the typed member of a row from a value that passed [`check_form`].
fn fill(settings: &mut Settings, row: &SettingRow, name: &str, value: &Value) -> Result<()> {
    let listed;
    let value = if value.is_string() && is_list(row) {
        listed = Value::Array(vec![value.clone()]);
        &listed
    } else {
        value
    };
    match row.target {
        Target::IndexList(..)
        | Target::Index(..)
        | Target::IndexCount(..)
        | Target::IndexText(_)
        | Target::IndexStrings(_) => set_index(&mut settings.index, row, name, value),
        Target::Kept(form) => {
            let value = kept(form, name, value)?;
            settings.params.other.insert(row.name.to_owned(), value);
            Ok(())
        }
        Target::Flag(_)
        | Target::Count(..)
        | Target::Text(..)
        | Target::List(_)
        | Target::Languages(_)
        | Target::Query(..) => settings.params.set(row, name, value),
        Target::Dropped => Ok(()),
    }
}

/// Fills a member that settings alone have.
fn set_index(index: &mut IndexSettings, row: &SettingRow, name: &str, value: &Value) -> Result<()> {
    match row.target {
        Target::IndexList(_, set) | Target::Index(_, set) => return set(index, name, value),
        Target::IndexCount(min, max, at) => *at(index) = lenient::count(name, value, min, max)?,
        Target::IndexText(at) => *at(index) = lenient::text(name, value)?,
        Target::IndexStrings(at) => {
            let entries = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            *at(index) = entries.map(str::to_owned).collect();
        }
        Target::Flag(_)
        | Target::Count(..)
        | Target::Text(..)
        | Target::List(_)
        | Target::Languages(_)
        | Target::Query(..)
        | Target::Kept(_)
        | Target::Dropped => {}
    }
    Ok(())
}
