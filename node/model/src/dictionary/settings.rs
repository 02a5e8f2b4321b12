//! Which standard entries of dictionaries are switched off (C§12.1)?

use super::DictionaryKind;
use crate::error::{Error, Result};
use crate::languages;
use crate::params::lenient;
use crate::resource::Members;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// For each dictionary: whether the standard entries of a language are switched off, as far as somebody said so.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DictionarySettings {
    /// By the number of the dictionary, then by the code of the language.
    disabled: [BTreeMap<String, bool>; 3],
}

/// What becomes of the switches of one dictionary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StandardChange {
    /// They stay.
    #[default]
    Kept,
    /// All of them go: every standard entry is in force.
    Reset,
    /// Those of these languages change.
    Set(BTreeMap<String, bool>),
}

impl DictionarySettings {
    /// The switches of a dictionary, by the code of the language.
    pub fn of(&self, kind: DictionaryKind) -> &BTreeMap<String, bool> {
        &self.disabled[kind as usize]
    }
    /// Languages whose standard entries are switched off.
    pub fn without_standard(&self, kind: DictionaryKind) -> impl Iterator<Item = &str> {
        self.of(kind).iter().filter(|(_, is_off)| **is_off).map(|(code, _)| code.as_str())
    }
    /// Carries out a change of each dictionary.
    pub fn change(&mut self, changes: [StandardChange; 3]) {
        for (switches, change) in self.disabled.iter_mut().zip(changes) {
            match change {
                StandardChange::Kept => {}
                StandardChange::Reset => switches.clear(),
                StandardChange::Set(set) => switches.extend(set),
            }
        }
    }
    /// Reads the body of a call that sets them.
    ///
    /// Errors: `Invalid`, naming the member and what was expected (C§19).
    pub fn parse(body: &Map<String, Value>) -> Result<[StandardChange; 3]> {
        const NAME: &str = "disableStandardEntries";
        Members::top(body).only(&[NAME])?;
        let given = Members::of(Members::top(body).required(NAME)?, NAME.to_owned())?;
        given.only(&DictionaryKind::ALL.map(DictionaryKind::name))?;
        let members = body.get(NAME).and_then(Value::as_object);
        let member = |kind: DictionaryKind| members.and_then(|members| members.get(kind.name()));
        if DictionaryKind::ALL.into_iter().all(|kind| member(kind).is_none()) {
            return Err(Error::invalid(format!("{NAME}.stopwords is required")));
        }
        let mut changes = <[StandardChange; 3]>::default();
        for kind in DictionaryKind::ALL {
            changes[kind as usize] = match member(kind) {
                None => StandardChange::Kept,
                Some(Value::Null) => StandardChange::Reset,
                Some(value) => StandardChange::Set(switches(&given.at(kind.name()), value)?),
            };
        }
        Ok(changes)
    }
}

fn switches(path: &str, value: &Value) -> Result<BTreeMap<String, bool>> {
    let object = value.as_object().ok_or_else(|| Error::parameter(path, "object or null"))?;
    let switch = |(code, value): (&String, &Value)| {
        let code = languages::code(path, code)?;
        Ok((code.to_owned(), lenient::flag(&format!("{path}.{code}"), value)?))
    };
    object.iter().map(switch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn parse(body: Value) -> Result<[StandardChange; 3], String> {
        DictionarySettings::parse(body.as_object().unwrap()).map_err(|error| error.message)
    }

    #[test]
    fn languages_change_one_by_one_and_null_resets() {
        let mut settings = DictionarySettings::default();
        let off = |settings: &DictionarySettings, kind| {
            settings.without_standard(kind).collect::<Vec<_>>().join(" ")
        };
        for (stop_words, expected) in [
            (json!({"fr": true, "en": true}), "en fr"),
            (json!({"FR": false, "pt-br": "true"}), "en pt-br"),
            (json!({}), "en pt-br"),
            (Value::Null, ""),
        ] {
            settings.change(parse(json!({"disableStandardEntries": {"stopwords": stop_words}})).unwrap());
            assert_eq!(off(&settings, DictionaryKind::StopWords), expected);
        }
        settings.change(parse(json!({"disableStandardEntries": {"compounds": {"de": true}}})).unwrap());
        assert_eq!(off(&settings, DictionaryKind::Compounds), "de");
        assert!(settings.of(DictionaryKind::Plurals).is_empty());
    }

    #[test]
    fn c19_wrong_members_are_named() {
        for (body, expected) in [
            (json!({}), "disableStandardEntries is required"),
            (json!({"disableStandardEntries": null}), "disableStandardEntries is required"),
            (json!({"disableStandardEntries": {}}), "disableStandardEntries.stopwords is required"),
            (
                json!({"disableStandardEntries": []}),
                "Invalid value for \"disableStandardEntries\" parameter, expected object",
            ),
            (
                json!({"disableStandardEntries": {"stopwords": [true]}}),
                "Invalid value for \"disableStandardEntries.stopwords\" parameter, expected object or null",
            ),
            (
                json!({"disableStandardEntries": {"stopwords": {"xx": true}}}),
                "Invalid value for \"disableStandardEntries.stopwords\" parameter, expected language codes such as \
                 \"en\", \"xx\" is not one",
            ),
            (
                json!({"disableStandardEntries": {"stopwords": {"fr": "perhaps"}}}),
                "Invalid value for \"disableStandardEntries.stopwords.fr\" parameter, expected boolean",
            ),
            (
                json!({"disableStandardEntries": {"stopwords": {"fr": null}}}),
                "Invalid value for \"disableStandardEntries.stopwords.fr\" parameter, expected boolean",
            ),
            (
                json!({"disableStandardEntries": {"synonyms": {}}}),
                "Invalid object attributes: disableStandardEntries.synonyms near line:1 column:11",
            ),
            (
                json!({"disableStandardEntries": {"stopwords": null}, "more": 1}),
                "Invalid object attributes: more near line:1 column:51",
            ),
        ] {
            assert_eq!(parse(body.clone()), Err(expected.to_owned()), "{body}");
        }
    }
}
