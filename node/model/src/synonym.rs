//! Synonyms (C§11): which words stand for which, as users save them.

#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::ids::ObjectId;
use crate::limits::SYNONYM_ENTRIES_MAX;
use crate::resource::{self, Given, Members};

/// One synonym of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synonym {
    /// The id by which it is saved, read and deleted.
    pub object_id: ObjectId,
    /// What it says.
    pub kind: SynonymKind,
    /// The document as it was saved, minified JSON; absent members are not filled in.
    pub document: Box<str>,
}

/// What a synonym says. Texts are as written; whoever looks words up normalises them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SynonymKind {
    /// `synonym`: each of the words or phrases stands for all others.
    Synonym {
        /// Two or more; fewer have no effect.
        synonyms: Vec<String>,
    },
    /// `onewaysynonym`: the synonyms are found where the input is searched, but not the other way.
    OneWay {
        /// Word or phrase of a query.
        input: String,
        /// Words or phrases of records.
        synonyms: Vec<String>,
    },
    /// `altcorrection1` and `altcorrection2`: a correction counts as that many typos.
    AltCorrection {
        /// 1 or 2.
        typos: u8,
        /// Word of a query.
        word: String,
        /// Words of records.
        corrections: Vec<String>,
    },
    /// `placeholder`: any of the replacements in a query finds the token in records.
    Placeholder {
        /// The token, with its angle brackets where they were written.
        placeholder: String,
        /// Words or phrases of a query.
        replacements: Vec<String>,
    },
}
impl SynonymKind {
    /// The type in the spelling of C§11, by which searches select.
    pub fn type_name(&self) -> &'static str {
        match self {
            SynonymKind::Synonym { .. } => "synonym",
            SynonymKind::OneWay { .. } => "onewaysynonym",
            SynonymKind::AltCorrection { typos: 1, .. } => "altcorrection1",
            SynonymKind::AltCorrection { .. } => "altcorrection2",
            SynonymKind::Placeholder { .. } => "placeholder",
        }
    }
}

/// The types of C§11. Other spellings of the same letters are accepted (C§4.8).
pub const SYNONYM_TYPES: &[&str] =
    &["synonym", "onewaysynonym", "altcorrection1", "altcorrection2", "placeholder"];

/// The type that a text names, in the spelling of [`SYNONYM_TYPES`].
pub fn synonym_type(text: &str) -> Option<&'static str> {
    SYNONYM_TYPES.iter().find(|known| known.eq_ignore_ascii_case(text)).copied()
}

impl Synonym {
    /// Reads the body of a call that saves one synonym; the id of the path wins over that of the body.
    ///
    /// Errors: `Invalid`, naming the member (C§19).
    pub fn parse_body(body: &[u8], path_id: &str) -> Result<Synonym> {
        resource::one(body, "synonym", path_id, Synonym::typed)
    }
    /// Reads the body of a batch; an empty body is an empty list.
    ///
    /// Errors: `Invalid`, naming the member, the position and the id.
    pub fn parse_batch(body: &[u8]) -> Result<Vec<Synonym>> {
        resource::many(body, "synonym", Synonym::typed)
    }
    /// Reads a document that was saved.
    pub fn from_document(document: &[u8]) -> Result<Synonym> {
        let value = serde_json::from_slice(document)
            .map_err(|error| Error::internal(format!("a stored synonym: {error}")))?;
        Synonym::typed(Given::new(value, "synonym", None)?)
    }

    fn typed(given: Given) -> Result<Synonym> {
        let document = given.text();
        let members = Members::top(&given.members);
        let kind = members.required("type")?.as_str().and_then(synonym_type);
        let kind = kind.ok_or_else(|| {
            let known: Vec<_> = SYNONYM_TYPES.iter().map(|known| format!("\"{known}\"")).collect();
            Error::parameter("type", &format!("one of {}", known.join(", ")))
        })?;
        let list = |name: &str| {
            members.required(name)?;
            let texts = members.texts(name, SYNONYM_ENTRIES_MAX)?;
            if texts.is_empty() { Err(Error::parameter(name, "non-empty array")) } else { Ok(texts) }
        };
        let only = |names: &[&str]| members.only(&[&["objectID", "type"], names].concat());
        let kind = match kind {
            "synonym" => {
                only(&["synonyms"])?;
                SynonymKind::Synonym { synonyms: list("synonyms")? }
            }
            "onewaysynonym" => {
                only(&["input", "synonyms"])?;
                SynonymKind::OneWay { input: members.required_text("input")?, synonyms: list("synonyms")? }
            }
            "placeholder" => {
                only(&["placeholder", "replacements"])?;
                let placeholder = members.required_text("placeholder")?;
                SynonymKind::Placeholder { placeholder, replacements: list("replacements")? }
            }
            correction => {
                only(&["word", "corrections"])?;
                let word = members.required_text("word")?;
                single_word("word", &word)?;
                let corrections = list("corrections")?;
                for (i, correction) in corrections.iter().enumerate() {
                    single_word(&format!("corrections[{i}]"), correction)?;
                }
                let typos = if correction == "altcorrection1" { 1 } else { 2 };
                SynonymKind::AltCorrection { typos, word, corrections }
            }
        };
        Ok(Synonym { object_id: given.object_id, kind, document })
    }
}

/// C§11: alternative corrections are single words only.
fn single_word(path: &str, text: &str) -> Result<()> {
    match text.trim().contains(char::is_whitespace) {
        true => Err(Error::parameter(path, "single word")),
        false => Ok(()),
    }
}
