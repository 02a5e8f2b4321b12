//! From which level of commands on may a log hold settings, parameters, synonyms and rules as they are?
//!
//! A program that does not know a name or a value counts it as invalid and changes nothing, where a newer one changes
//! something. So whatever applying a command parses by says at which level it began: rows of the table of settings and
//! parameters, values of them that came later, members and words of synonyms, rules and keys. A command needs the highest level of
//! what it holds. What callers may not give any more is no part of this: logs and folders keep it, and it is read as before.

use crate::params::given;
use crate::resource::ResourceKind;
use crate::settings::table::{self, ROWS, SettingRow};
use crate::user::OWNER;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// The level that every program knows.
pub const FIRST: u16 = 1;
/// The newest level that this program knows. It rises when a variant is appended to any command, whose row then has the new
/// level, and when commands do more than before, which they do from the moment at which the level is in force: with the first thing after a release that older programs do not know: what
/// needs a level that no program has would be refused for ever.
pub const NEWEST: u16 = BOUNDED_GROWTH;
/// The level from which on records belong to users.
pub const OF_USERS: u16 = 2;
/// From this level on, segments are written in the form that has the letters of words; nobody reads the first form only.
pub const LETTERED: u16 = 2;
/// From this level on, commands that link or move an index do so to the partitions that other clusters have of it.
pub const PARTITIONS_FOLLOW: u16 = 3;
/// From this level on, a leader has the replicas of its group compare what they hold at one place of the log.
pub const COMPARE: u16 = 4;
/// From this level on, a new admin key replaces the one that its proposer knew, which still counts for a time.
pub const KEY_ROTATION: u16 = 4;
/// From this level on, a node that takes another one's place counts before that one leaves: the level must not rise between.
pub const PLACES_COUNT: u16 = 4;
/// From this level on, nobody takes the place of a node by having its name and its address.
pub const PLACES_HELD: u16 = 4;
/// From this level on, steps of moves and ends of copies have no effect when what they rest on has changed, copies and users
/// whose writes wait take turns, and a move whose last part takes too long is tried again.
pub const LOOKED: u16 = 4;
/// From this level on, every node answers questions for several pieces of a snapshot.
pub const PIECES: u16 = 4;
/// From this level on, the installation has a list of allowed sources.
pub const SOURCES: u16 = 5;
/// From this level on, keys are managed: deleted ones can be restored, and an index is deleted with those that are for it alone.
pub const MANAGED_KEYS: u16 = 5;
/// From this level on, there are custom entries of dictionaries.
pub const DICTIONARIES: u16 = 5;
/// From this level on, dictionaries have revisions, of which groups are told, and act.
pub const DICTIONARIES_ACT: u16 = 6;
/// From this level on, groups keep events.
pub const EVENTS: u16 = 7;
/// From this level on, groups keep rules and models of recommendations and counted searches, and there are suggestions.
pub const RECOMMEND: u16 = 8;
/// From this level on, groups keep how much of their events a sink has been given.
pub const SINK: u16 = 9;
/// From this level on, cursors say which order they go through.
pub const ORDERED_CURSORS: u16 = 9;

/// From this level on, no earlier admin key counts for longer after a rotation than the one that was replaced.
pub const OVERLAP_OF_ALL: u16 = 10;
/// From this level on, partial updates say how large a record may become.
pub const BOUNDED_GROWTH: u16 = 11;
/// From this level on, it is known for which name something is made ready as a replica, and it follows nobody in another group.
pub const RESERVED_FOR: u16 = 11;
/// From this level on, copies of an index take its keys along.
pub const COPIED_KEYS: u16 = 11;

/// From this level on, tags of highlights may be longer than other texts.
pub const LONG_TAGS: u16 = 6;

/// What something needs of the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Every node has to know commands up to this level.
    pub level: u16,
    /// What needs it, as callers name it; `None` at the first level, and when it is the command itself.
    pub what: Option<String>,
}

impl Needs {
    /// Nothing but the first level.
    pub const NOTHING: Needs = Needs { level: FIRST, what: None };

    /// A level that a command needs by itself.
    pub fn level(level: u16) -> Needs {
        Needs { level, what: None }
    }
    fn of(level: u16, what: &str) -> Needs {
        let what = (level > FIRST).then(|| what.to_owned());
        Needs { level, what }
    }
    /// The higher of two.
    pub fn or(self, other: Needs) -> Needs {
        if other.level > self.level { other } else { self }
    }
}

/// A value of a row that came after the row itself.
#[derive(Clone, Copy, Debug)]
pub struct LaterValue {
    /// The level at which it began.
    pub level: u16,
    /// Whether a value is, or holds, one of them.
    pub is_it: fn(&Value) -> bool,
}

/// What has members and words of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bearer {
    /// A synonym or a rule.
    Document(ResourceKind),
    /// An API key.
    Key,
}

/// A member or a word of synonyms, rules or keys that came after the first level.
#[derive(Clone, Copy, Debug)]
pub struct LaterWord {
    /// In documents of this kind.
    pub bearer: Bearer,
    /// Names of the members from the document down to it, with dots between; entries of lists have no name.
    pub path: &'static str,
    /// The word; `None` = any value.
    pub value: Option<&'static str>,
    /// The level at which it began.
    pub level: u16,
}

/// Every later word of synonyms, rules and keys.
pub const LATER_WORDS: &[LaterWord] = &[
    LaterWord { bearer: Bearer::Key, path: "index", value: None, level: 5 },
    LaterWord { bearer: Bearer::Key, path: "copiedTo", value: None, level: COPIED_KEYS },
];

/// Whether any setting or parameter began after the first level: if none did, none has to be looked for.
fn any_row_is_later() -> bool {
    static IS: LazyLock<bool> =
        LazyLock::new(|| ROWS.iter().any(|row| row.began > FIRST || !row.later.is_empty()));
    *IS
}
/// The same for what has words of its own, too.
fn anything_is_later(bearer: Bearer) -> bool {
    let rows = match bearer {
        Bearer::Document(_) => any_row_is_later(),
        Bearer::Key => false,
    };
    rows || LATER_WORDS.iter().any(|word| word.bearer == bearer)
}

/// What a change of settings needs; `changes` is its JSON text.
pub fn of_settings(changes: &[u8]) -> Needs {
    match any_row_is_later().then(|| serde_json::from_slice(changes)) {
        Some(Ok(changes)) => of_members(&changes, table::lookup),
        // what cannot be read has no effect at any level
        Some(Err(_)) | None => Needs::NOTHING,
    }
}

/// What a deletion by query needs; `params` is the JSON text of its parameters.
pub fn of_delete_by(params: &[u8]) -> Needs {
    let Ok(params) = serde_json::from_slice::<Map<String, Value>>(params) else { return Needs::NOTHING };
    if params.contains_key(OWNER) {
        return Needs::level(OF_USERS);
    }
    match any_row_is_later().then(|| given(params)) {
        Some(Ok(members)) => of_members(&members, table::lookup),
        Some(Err(_)) | None => Needs::NOTHING,
    }
}

/// The level at which a kind of documents began.
pub fn of_kind(kind: ResourceKind) -> u16 {
    match kind {
        ResourceKind::Synonyms | ResourceKind::Rules => FIRST,
        ResourceKind::Recommend(_) => RECOMMEND,
    }
}

/// The kinds of documents that there can be while commands are of this level at most.
pub fn kinds_at(level: u16) -> Vec<ResourceKind> {
    ResourceKind::ALL.into_iter().filter(|&kind| of_kind(kind) <= level).collect()
}

/// What a synonym or a rule needs; `document` is its JSON text.
pub fn of_document(kind: ResourceKind, document: &[u8]) -> Needs {
    let of_kind = Needs::level(of_kind(kind));
    if !anything_is_later(Bearer::Document(kind)) {
        return of_kind;
    }
    match serde_json::from_slice(document) {
        Ok(document) => of_kind.or(of_value(Bearer::Document(kind), &document, LATER_WORDS, table::lookup)),
        Err(_) => of_kind,
    }
}

/// What an API key needs; `key` is its JSON text. A program that does not know a restriction would let the key do more than it
/// may, one that does not know a right would have no such key.
pub fn of_key(key: &[u8]) -> Needs {
    match anything_is_later(Bearer::Key).then(|| serde_json::from_slice(key)) {
        Some(Ok(key)) => of_value(Bearer::Key, &key, LATER_WORDS, table::lookup),
        Some(Err(_)) | None => Needs::NOTHING,
    }
}

fn of_members(members: &Map<String, Value>, row_of: fn(&str) -> Option<&'static SettingRow>) -> Needs {
    let needs = members.iter().filter_map(|(name, value)| {
        let row = row_of(name)?;
        let later = row.later.iter().filter(|later| (later.is_it)(value)).map(|later| later.level);
        Some(Needs::of(later.fold(row.began, u16::max), name))
    });
    needs.fold(Needs::NOTHING, Needs::or)
}

fn of_value(
    bearer: Bearer,
    document: &Value,
    words: &[LaterWord],
    row_of: fn(&str) -> Option<&'static SettingRow>,
) -> Needs {
    let words = words.iter().filter(|word| word.bearer == bearer);
    let used = words.filter(|word| is_used(document, &word.path.split('.').collect::<Vec<_>>(), word.value));
    let needs = used.map(|word| Needs::of(word.level, word.path)).fold(Needs::NOTHING, Needs::or);
    let params = match bearer {
        Bearer::Document(ResourceKind::Rules | ResourceKind::Recommend(_)) => {
            document.pointer("/consequence/params").and_then(Value::as_object)
        }
        Bearer::Document(ResourceKind::Synonyms) | Bearer::Key => None,
    };
    params.map_or(Needs::NOTHING, |params| of_members(params, row_of)).or(needs)
}

/// Whether a value has a member at a path, with this word if there is one. Words may be written in capitals where some are.
fn is_used(value: &Value, path: &[&str], word: Option<&str>) -> bool {
    match (value, path) {
        (Value::Array(entries), _) => entries.iter().any(|entry| is_used(entry, path, word)),
        (Value::Object(members), [name, rest @ ..]) => {
            members.get(*name).is_some_and(|value| is_used(value, rest, word))
        }
        (value, []) => !value.is_null() && word.is_none_or(|word| is_text(value, word)),
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), [_, ..]) => false,
    }
}

fn is_text(value: &Value, word: &str) -> bool {
    value.as_str().is_some_and(|text| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod vocabulary;
