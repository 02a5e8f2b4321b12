//! What the interface calls for dictionaries (C§12): every node knows all entries.

use super::Service;
use crate::types::{DictionaryLanguage, Receipt};
use crate::write::dictionaries;
use quorate_model::dictionary::{
    DictionaryChange, DictionaryHits, DictionaryQuery, DictionarySettings, StandardChange,
};
use quorate_model::{DictionaryKind, Error, Result};
use quorate_node::{Dictionaries, Language};

impl Service {
    /// Changes the entries of a dictionary, all of it or nothing. Errors: `Forbidden` over the quota.
    pub async fn change_dictionary(&self, kind: DictionaryKind, change: DictionaryChange) -> Result<Receipt> {
        dictionaries::change(self.open_context()?, kind, change).await
    }
    /// Switches standard entries off and on.
    pub async fn set_standard_entries(&self, changes: [StandardChange; 3]) -> Result<Receipt> {
        dictionaries::set_standard(self.open_context()?, changes).await
    }
    /// A page of the entries of a dictionary that match, custom ones first. Cost: a look at each entry, on another thread.
    pub async fn search_dictionary(
        &self,
        kind: DictionaryKind,
        asked: DictionaryQuery,
    ) -> Result<DictionaryHits> {
        let meta = self.open_context()?.meta();
        let found = tokio::task::spawn_blocking(move || meta.dictionaries.custom.find(kind, &asked));
        found.await.map_err(|_| Error::internal("the search of a dictionary broke off"))
    }
    /// Which standard entries are switched off, as it was set.
    pub fn dictionary_settings(&self) -> Result<DictionarySettings> {
        Ok(self.open_context()?.meta().dictionaries.custom.settings().clone())
    }
    /// Which dictionaries each language has, and how many custom entries are in them.
    pub fn dictionary_languages(&self) -> Result<Vec<DictionaryLanguage>> {
        let meta = self.open_context()?.meta();
        let of = |language: Language| {
            let has_standard = Dictionaries::standard(language);
            let entries = DictionaryKind::ALL.map(|kind| {
                let custom = meta.dictionaries.custom.count(kind, language);
                (custom > 0 || has_standard[kind as usize]).then_some(custom)
            });
            DictionaryLanguage { code: language.code(), entries }
        };
        Ok(Language::all().map(of).collect())
    }
}
