//! What does an entry of a dictionary say?

use super::DictionaryKind;
use crate::languages::{self, CODES};
use serde::{Deserialize, Deserializer, Serialize, de};

/// The code of a language, one of [`CODES`].
pub type LanguageCode = &'static str;

/// An entry of a dictionary as users save it. Logs hold its bytes: fields and variants are only ever appended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DictionaryEntry {
    /// Its id, unique in its dictionary.
    pub object_id: String,
    /// Its language.
    #[serde(deserialize_with = "as_code")]
    pub language: LanguageCode,
    /// What it says.
    pub words: DictionaryWords,
}
/// What an entry says of words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DictionaryWords {
    /// A word is a stop word, or is none although the standard list has it.
    StopWord {
        /// The word.
        word: String,
        /// Whether it is one.
        is_enabled: bool,
    },
    /// Words are forms of each other.
    Plurals {
        /// The words.
        words: Vec<String>,
    },
    /// A word consists of others, or others consist of it.
    Compound {
        /// The word.
        word: String,
        /// Its parts in order; empty when it is one that others consist of.
        parts: Vec<String>,
    },
}
impl DictionaryEntry {
    /// The dictionary that it belongs to.
    pub fn kind(&self) -> DictionaryKind {
        match self.words {
            DictionaryWords::StopWord { .. } => DictionaryKind::StopWords,
            DictionaryWords::Plurals { .. } => DictionaryKind::Plurals,
            DictionaryWords::Compound { .. } => DictionaryKind::Compounds,
        }
    }
    /// The words that it is found by.
    pub fn listed(&self) -> &[String] {
        match &self.words {
            DictionaryWords::StopWord { word, .. } | DictionaryWords::Compound { word, .. } => {
                std::slice::from_ref(word)
            }
            DictionaryWords::Plurals { words } => words,
        }
    }
    /// About how many bytes it takes in an entry of a log.
    pub fn bytes(&self) -> usize {
        const FRAME: usize = 24;
        let parts = match &self.words {
            DictionaryWords::Compound { parts, .. } => parts.as_slice(),
            DictionaryWords::StopWord { .. } | DictionaryWords::Plurals { .. } => &[],
        };
        let words = self.listed().iter().chain(parts).map(|word| word.len() + 4);
        FRAME + self.object_id.len() + words.sum::<usize>()
    }
}

fn as_code<'de, D: Deserializer<'de>>(from: D) -> Result<LanguageCode, D::Error> {
    let code = String::deserialize(from)?;
    let known = languages::number(&code).map(|number| CODES[number]);
    known.ok_or_else(|| de::Error::custom("a language that is not known"))
}
