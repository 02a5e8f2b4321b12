//! Which entries have users added to the dictionaries, and what do they say of a word (C§12)?
//!
//! A clone costs some pointers, and a change copies little of what clones share: there may be 200,000 entries of each kind.

use super::codes::{Language, Languages};
use super::dictionaries::FORMS_MAX;
use crate::text::fold_word;
use quorate_model::dictionary::{DictionaryEntry, DictionarySettings, DictionaryWords, StandardChange};
use quorate_model::limits::{DICTIONARY_BYTES_MAX, DICTIONARY_ENTRIES_MAX, DICTIONARY_SAME_WORD_MAX};
use quorate_model::{DictionaryKind, DictionaryOp, Error, Result, SharedMap};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// The entries that users added to the three dictionaries, and which standard ones they switched off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CustomEntries {
    kinds: [Entries; 3],
    settings: Arc<DictionarySettings>,
    /// What the settings say, as look-ups ask for it.
    without_standard: [Languages; 3],
}

/// An entry with its words as they are looked up: normalised.
#[derive(Debug, PartialEq)]
struct Entry {
    given: DictionaryEntry,
    language: Language,
    words: Vec<Arc<str>>,
    parts: Vec<String>,
}

/// The entries of one dictionary.
#[derive(Clone, Debug, Default)]
struct Entries {
    by_id: SharedMap<Arc<str>, Arc<Entry>>,
    /// By word, then by objectID.
    by_word: SharedMap<(Arc<str>, Arc<str>), Arc<Entry>>,
    bytes: usize,
    of_language: BTreeMap<Language, Figures>,
}
impl PartialEq for Entries {
    fn eq(&self, other: &Self) -> bool {
        self.by_id == other.by_id
    }
}

/// What the entries of a language come to, in whatever order they were added.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    count: u64,
    /// The sum of the hashes of the entries.
    hash: u64,
}

/// What became of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryChange {
    /// It is there, as it says.
    Saved(DictionaryEntry),
    /// The one with this id is gone.
    Removed(String),
}

impl CustomEntries {
    /// Carries out a change of a dictionary, whole or not at all, and returns what became of which entries.
    ///
    /// Errors: `Forbidden` when there would be too many entries, or too large ones. Cost: some microseconds an operation.
    pub fn change(
        &mut self,
        kind: DictionaryKind,
        clear: bool,
        ops: Vec<DictionaryOp>,
    ) -> Result<Vec<EntryChange>> {
        self.check(kind, clear, &ops)?;
        let entries = &mut self.kinds[kind as usize];
        let mut changes = vec![];
        if clear {
            let cleared = std::mem::take(entries);
            changes.extend(cleared.by_id.keys().map(|id| EntryChange::Removed(id.to_string())));
        }
        for op in ops {
            match op {
                // whoever proposes a change has checked that
                DictionaryOp::Add(entry) if entry.kind() != kind => {}
                DictionaryOp::Add(entry) => {
                    changes.push(EntryChange::Saved(entry.clone()));
                    entries.put(entry);
                }
                DictionaryOp::Delete { object_id } => {
                    if entries.remove(&object_id) {
                        changes.push(EntryChange::Removed(object_id));
                    }
                }
            }
        }
        Ok(changes)
    }
    /// Whether a change would be carried out. Errors: `Forbidden`, as [`Self::change`]. Cost: a look-up an operation.
    pub fn check(&self, kind: DictionaryKind, clear: bool, ops: &[DictionaryOp]) -> Result<()> {
        let mut after: FxHashMap<&str, Option<&DictionaryEntry>> = FxHashMap::default();
        after.extend(ops.iter().map(|op| match op {
            DictionaryOp::Add(entry) => (entry.object_id.as_str(), Some(entry)),
            DictionaryOp::Delete { object_id } => (object_id.as_str(), None),
        }));
        let entries = &self.kinds[kind as usize];
        let (mut count, mut bytes) = if clear { (0, 0) } else { (entries.by_id.len(), entries.bytes) };
        for (object_id, entry) in after {
            if let Some(known) = entries.by_id.get(object_id).filter(|_| !clear) {
                (count, bytes) = (count - 1, bytes - known.given.bytes());
            }
            if let Some(entry) = entry {
                (count, bytes) = (count + 1, bytes + entry.bytes());
            }
        }
        let fits = count <= DICTIONARY_ENTRIES_MAX && bytes <= DICTIONARY_BYTES_MAX;
        if fits || ops.is_empty() { Ok(()) } else { Err(over_quota(kind)) }
    }
    /// Takes an entry as it is, whatever there is already.
    pub fn insert(&mut self, entry: DictionaryEntry) {
        self.kinds[entry.kind() as usize].put(entry);
    }
    /// Whether nobody ever changed anything, or all of it is gone again.
    pub fn is_empty(&self) -> bool {
        *self == CustomEntries::default()
    }
    /// Switches standard entries off and on.
    pub fn change_standard(&mut self, changes: [StandardChange; 3]) {
        let mut settings = DictionarySettings::clone(&self.settings);
        settings.change(changes);
        self.set(settings);
    }
    /// Takes over which standard entries are switched off.
    pub fn set(&mut self, settings: DictionarySettings) {
        let off = |kind| Languages::listed(&settings.without_standard(kind).collect::<Vec<_>>());
        self.without_standard = DictionaryKind::ALL.map(off);
        self.settings = Arc::new(settings);
    }
    /// Which standard entries are switched off, as it was set.
    pub fn settings(&self) -> &DictionarySettings {
        &self.settings
    }
    /// Languages whose standard entries are switched off.
    pub fn without_standard(&self, kind: DictionaryKind) -> Languages {
        self.without_standard[kind as usize]
    }
    /// All entries of a dictionary, by objectID.
    pub fn all(&self, kind: DictionaryKind) -> impl Iterator<Item = &DictionaryEntry> {
        self.kinds[kind as usize].by_id.values().map(|entry| &entry.given)
    }
    /// The entries that a query finds (C§12.1), by objectID: those with a word that begins with `prefix`, which is normalised,
    /// and the one with the objectID `query`. Cost: a look at each entry.
    pub(super) fn found<'a>(
        &'a self,
        kind: DictionaryKind,
        query: &'a str,
        prefix: &'a str,
    ) -> impl Iterator<Item = &'a DictionaryEntry> {
        let is_found = move |entry: &&Arc<Entry>| {
            let begins = |word: &Arc<str>| word.starts_with(prefix);
            query.is_empty()
                || entry.given.object_id == query
                || (!prefix.is_empty() && entry.words.iter().any(begins))
        };
        self.kinds[kind as usize].by_id.values().filter(is_found).map(|entry| &entry.given)
    }
    /// How many entries a language has in a dictionary.
    pub fn count(&self, kind: DictionaryKind, language: Language) -> u64 {
        self.kinds[kind as usize].of_language.get(&language).map_or(0, |figures| figures.count)
    }
    /// Of these languages: those in which a normalised word is a custom stop word, and those in which the standard one is
    /// switched off by an entry.
    pub(super) fn stop_word(&self, word: &str, languages: Languages) -> (Languages, Languages) {
        let (mut on, mut off) = (Languages::NONE, Languages::NONE);
        for entry in self.of(DictionaryKind::StopWords, word, languages) {
            match entry.given.words {
                DictionaryWords::StopWord { is_enabled: false, .. } => off = off.with(entry.language),
                _ => on = on.with(entry.language),
            }
        }
        (on, off)
    }
    /// The languages in which a normalised word is in custom sets of plurals, and the words of these sets.
    pub(super) fn plurals(&self, word: &str, languages: Languages) -> (Languages, Vec<String>) {
        let (mut found, mut forms) = (Languages::NONE, Vec::<String>::new());
        for entry in self.of(DictionaryKind::Plurals, word, languages) {
            found = found.with(entry.language);
            for form in entry.words.iter().filter(|form| &***form != word) {
                if forms.len() < FORMS_MAX && !forms.iter().any(|known| **known == **form) {
                    forms.push(form.to_string());
                }
            }
        }
        (found, forms)
    }
    /// The parts that somebody wrote down for a normalised word; of several languages those of the first by code.
    pub(super) fn parts(&self, word: &str, languages: Languages) -> Option<&[String]> {
        let written = self
            .of(DictionaryKind::Compounds, word, compounding(languages))
            .filter(|entry| !entry.parts.is_empty());
        written
            .min_by_key(|entry| (!languages.contains(entry.language), entry.language))
            .map(|entry| entry.parts.as_slice())
    }
    /// Of these languages those in which somebody said that compounds consist of this normalised word.
    pub(super) fn is_part(&self, word: &str, languages: Languages) -> bool {
        self.of(DictionaryKind::Compounds, word, compounding(languages)).any(|entry| entry.parts.is_empty())
    }
    /// A hash over what decides how words of these languages are taken apart; 0 when nobody changed anything of it. It is
    /// compared with stored ones: it stays what it is.
    pub(super) fn compounds_hash(&self, languages: Languages) -> u64 {
        let kind = DictionaryKind::Compounds;
        let custom = self.kinds[kind as usize].of_language.iter();
        let taken = compounding(languages);
        let custom =
            custom.filter(|(language, _)| taken.contains(**language)).map(|(_, figures)| figures.hash);
        let off = self.without_standard(kind).common(languages);
        let off = Language::all()
            .filter(|language| off.contains(*language))
            .map(|language| hash_of(&["without", language.code()]));
        custom.chain(off).fold(0, u64::wrapping_add)
    }

    /// The entries of a word, the first by objectID as far as they act.
    fn of<'a>(
        &'a self,
        kind: DictionaryKind,
        word: &str,
        languages: Languages,
    ) -> impl Iterator<Item = &'a Arc<Entry>> {
        let by_word = &self.kinds[kind as usize].by_word;
        let found = by_word.from(move |(other, _)| &**other < word);
        let found = found.take_while(move |((other, _), _)| &**other == word);
        let acting = found.take(DICTIONARY_SAME_WORD_MAX).map(|(_, entry)| entry);
        acting.filter(move |entry| languages.contains(entry.language))
    }
}

/// Languages with those whose compounds are theirs: Norwegian has two codes, and `decompoundedAttributes` takes one of them.
fn compounding(languages: Languages) -> Languages {
    static NORWEGIAN: LazyLock<Languages> = LazyLock::new(|| Languages::listed(&["nb", "no"]));
    if languages.common(*NORWEGIAN).is_empty() { languages } else { languages.and(*NORWEGIAN) }
}

impl Entries {
    fn put(&mut self, given: DictionaryEntry) {
        let Some(language) = Language::of(given.language) else { return };
        self.remove(&given.object_id);
        let mut words: Vec<Arc<str>> = vec![];
        for word in given.listed().iter().map(|word| fold_word(word)).filter(|word| !word.is_empty()) {
            if !words.iter().any(|known| **known == *word) {
                words.push(word.into());
            }
        }
        let parts = match &given.words {
            DictionaryWords::Compound { parts, .. } => parts.iter().map(|part| fold_word(part)).collect(),
            DictionaryWords::StopWord { .. } | DictionaryWords::Plurals { .. } => vec![],
        };
        let id: Arc<str> = given.object_id.as_str().into();
        let entry = Arc::new(Entry { given, language, words, parts });
        for word in &entry.words {
            self.by_word.insert((word.clone(), id.clone()), entry.clone());
        }
        self.bytes += entry.given.bytes();
        let figures = self.of_language.entry(language).or_default();
        figures.count += 1;
        figures.hash = figures.hash.wrapping_add(entry.hash());
        self.by_id.insert(id, entry);
    }
    /// Takes an entry out. Returns whether it was there.
    fn remove(&mut self, object_id: &str) -> bool {
        let Some(entry) = self.by_id.remove(object_id) else { return false };
        let id: Arc<str> = object_id.into();
        for word in &entry.words {
            self.by_word.remove(&(word.clone(), id.clone()));
        }
        self.bytes -= entry.given.bytes();
        if let Some(figures) = self.of_language.get_mut(&entry.language) {
            figures.count -= 1;
            figures.hash = figures.hash.wrapping_sub(entry.hash());
        }
        true
    }
}

impl Entry {
    /// Two entries with the same one are the same for look-ups.
    fn hash(&self) -> u64 {
        let words = self.words.iter().map(|word| &**word);
        let parts = self.parts.iter().map(String::as_str);
        let all = [self.given.object_id.as_str(), self.language.code()]
            .into_iter()
            .chain(words)
            .chain(["|"])
            .chain(parts);
        hash_of(&all.collect::<Vec<_>>())
    }
}

/// FNV-1a over texts, each with a byte behind it that no text has, and mixed so that sums of hashes say little of each other.
fn hash_of(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0xff]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ hash >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 29
}

fn over_quota(kind: DictionaryKind) -> Error {
    let kind = kind.name();
    Error::forbidden(format!(
        "Custom entries quota exceeded: the dictionary {kind} can have at most {DICTIONARY_ENTRIES_MAX} entries of \
         {DICTIONARY_BYTES_MAX} bytes together"
    ))
}

#[cfg(test)]
#[path = "custom_tests.rs"]
mod tests;
