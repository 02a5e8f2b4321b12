//! Bodies of dictionaries: their entries, which standard ones are in force, which languages have them.

use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A change of a dictionary: all of it or nothing.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct DictionaryBatch {
    /// Removes all custom entries first.
    pub clear_existing_dictionary_entries: Option<bool>,
    pub requests: Vec<DictionaryRequest>,
}
/// One entry that comes or goes.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct DictionaryRequest {
    pub action: DictionaryAction,
    /// To delete an entry, its objectID alone.
    pub body: DictionaryEntry,
}
/// What becomes of an entry.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum DictionaryAction {
    AddEntry,
    DeleteEntry,
}
/// An entry; which members there are depends on the dictionary.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct DictionaryEntry {
    #[schema(rename = "objectID")]
    pub object_id: String,
    pub language: Option<String>,
    /// Of stop words and compounds.
    pub word: Option<String>,
    /// Of stop words.
    pub state: Option<EntryState>,
    /// Of plurals: the forms of one word.
    pub words: Option<Vec<String>>,
    /// Of compounds: the parts of the word; none to keep it whole.
    pub decomposition: Option<Vec<String>>,
    /// Answers say whose entry it is; passed over in calls.
    #[schema(rename = "type")]
    pub kind: Option<EntryType>,
}
/// Whether a stop word is in force.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum EntryState {
    Enabled,
    Disabled,
}
/// Whether an entry is one of the installation or one of the program.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub enum EntryType {
    Custom,
    Standard,
}
/// A search of entries.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct DictionarySearch {
    /// The beginning of words, or an objectID; empty for all.
    #[schema(max_length = 512)]
    pub query: String,
    pub page: Option<u64>,
    #[schema(minimum = 1, maximum = 1000)]
    pub hits_per_page: Option<u64>,
    pub language: Option<String>,
}
/// A page of entries.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct DictionaryEntries {
    pub hits: Vec<DictionaryEntry>,
    pub nb_hits: u64,
    pub page: u64,
    pub nb_pages: u64,
}
/// Which standard entries are switched off.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct DictionarySettings {
    pub disable_standard_entries: Switches,
}
/// By language whether its standard entries are switched off; in a call, null switches all on.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct Switches {
    pub stopwords: Option<BTreeMap<String, bool>>,
    pub plurals: Option<BTreeMap<String, bool>>,
    pub compounds: Option<BTreeMap<String, bool>>,
}
/// The dictionaries of each language, by its code.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct DictionaryLanguages(pub BTreeMap<String, LanguageDictionaries>);
/// The dictionaries of a language; null where it has none.
#[derive(ToSchema)]
#[allow(missing_docs)]
pub struct LanguageDictionaries {
    #[schema(required)]
    pub stopwords: Option<LanguageDictionary>,
    #[schema(required)]
    pub plurals: Option<LanguageDictionary>,
    #[schema(required)]
    pub compounds: Option<LanguageDictionary>,
}
/// What a dictionary has for a language.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct LanguageDictionary {
    pub nb_custom_entries: u64,
}
