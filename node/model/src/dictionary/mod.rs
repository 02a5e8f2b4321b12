//! What do users add to the dictionaries of languages (C§12), and what is wrong with an entry?

mod entry;
mod parse;
mod query;
mod settings;

pub use entry::{DictionaryEntry, DictionaryWords, LanguageCode};
pub use parse::DictionaryChange;
pub use query::{DictionaryHit, DictionaryHits, DictionaryQuery};
pub use settings::{DictionarySettings, StandardChange};

use crate::error::{Error, Result, shortened};
use serde::{Deserialize, Serialize};

/// A dictionary. Commands carry it by its number: append, never reorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DictionaryKind {
    /// Words that say little about what is searched.
    StopWords,
    /// Words that are forms of each other.
    Plurals,
    /// Words that consist of others.
    Compounds,
}
impl DictionaryKind {
    /// All three.
    pub const ALL: [DictionaryKind; 3] =
        [DictionaryKind::StopWords, DictionaryKind::Plurals, DictionaryKind::Compounds];

    /// The name in paths and answers.
    pub fn name(self) -> &'static str {
        match self {
            DictionaryKind::StopWords => "stopwords",
            DictionaryKind::Plurals => "plurals",
            DictionaryKind::Compounds => "compounds",
        }
    }
    /// The dictionary with this name. Errors: `Invalid` for another name.
    pub fn named(name: &str) -> Result<DictionaryKind> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| {
            let name = shortened(name);
            Error::invalid(format!("Unknown dictionary: {name}, expected stopwords, plurals or compounds"))
        })
    }
}

/// One change of the entries of a dictionary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DictionaryOp {
    /// Adds an entry or replaces the one with its id.
    Add(DictionaryEntry),
    /// Removes an entry; a missing one is no error.
    Delete {
        /// Its id.
        object_id: String,
    },
}
