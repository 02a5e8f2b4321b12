//! Which entries of a dictionary does a query find: custom ones, then standard ones (C§12.1)?

use super::codes::Language;
use super::custom::CustomEntries;
use super::{compounds, plurals, stop_words};
use crate::text::fold_word;
use quorate_model::DictionaryKind;
use quorate_model::dictionary::{
    DictionaryEntry, DictionaryHit, DictionaryHits, DictionaryQuery, DictionaryWords,
};
use std::sync::LazyLock;

/// Standard entries with their words as they are looked up, by language and word.
static STANDARD: LazyLock<[Vec<Standard>; 3]> = LazyLock::new(|| {
    DictionaryKind::ALL.map(|kind| {
        let mut entries: Vec<Standard> =
            Language::all().flat_map(|language| standard(kind, language)).collect();
        entries.dedup_by(|next, entry| next.entry == entry.entry);
        entries
    })
});

struct Standard {
    entry: DictionaryEntry,
    words: Vec<String>,
}

impl CustomEntries {
    /// A page of the entries that match: custom ones by objectID, then standard ones by language and word.
    ///
    /// Cost: a look at each entry, some milliseconds for 100,000.
    pub fn find(&self, kind: DictionaryKind, asked: &DictionaryQuery) -> DictionaryHits {
        let query = asked.query.trim();
        let prefix = fold_word(query);
        let is_of_language =
            |entry: &&DictionaryEntry| asked.language.is_none_or(|language| entry.language == language);
        let custom = self.found(kind, query, &prefix).filter(is_of_language).map(|entry| (entry, false));
        let is_found = |standard: &&Standard| {
            query.is_empty()
                || standard.entry.object_id == query
                || (!prefix.is_empty() && standard.words.iter().any(|word| word.starts_with(&prefix)))
        };
        let standard = STANDARD[kind as usize].iter().filter(is_found).map(|standard| &standard.entry);
        let standard = standard.filter(is_of_language).map(|entry| (entry, true));
        let first = asked.page.saturating_mul(asked.hits_per_page);
        let (mut hits, mut nb_hits) = (vec![], 0);
        for (entry, is_standard) in custom.chain(standard) {
            if nb_hits >= first && nb_hits - first < asked.hits_per_page {
                hits.push(DictionaryHit { entry: self.shown(entry, is_standard), is_standard });
            }
            nb_hits += 1;
        }
        DictionaryHits {
            hits,
            nb_hits,
            page: asked.page,
            nb_pages: nb_hits.div_ceil(asked.hits_per_page.max(1)),
        }
    }
    /// An entry as it acts: a standard stop word may be switched off.
    fn shown(&self, entry: &DictionaryEntry, is_standard: bool) -> DictionaryEntry {
        let mut shown = entry.clone();
        if is_standard
            && let DictionaryWords::StopWord { word, is_enabled } = &mut shown.words
            && let Some(language) = Language::of(entry.language)
        {
            let (_, off) = self.stop_word(&fold_word(word), super::Languages::NONE.with(language));
            *is_enabled =
                off.is_empty() && !self.without_standard(DictionaryKind::StopWords).contains(language);
        }
        shown
    }
}

fn standard(kind: DictionaryKind, language: Language) -> Vec<Standard> {
    let words: Vec<DictionaryWords> = match kind {
        DictionaryKind::StopWords => {
            let stop_word =
                |word: &&str| DictionaryWords::StopWord { word: (*word).to_owned(), is_enabled: true };
            stop_words::listed(language).iter().map(stop_word).collect()
        }
        DictionaryKind::Plurals => {
            let pair = |(one, many): &(&str, &str)| DictionaryWords::Plurals {
                words: vec![(*one).to_owned(), (*many).to_owned()],
            };
            plurals::irregular(language).iter().map(pair).collect()
        }
        DictionaryKind::Compounds => {
            let part =
                |word: &'static str| DictionaryWords::Compound { word: word.to_owned(), parts: vec![] };
            compounds::listed(language).into_iter().map(part).collect()
        }
    };
    let mut entries: Vec<Standard> =
        words.into_iter().map(|words| Standard::new(kind, language, words)).collect();
    entries.sort_by(|a, b| (&a.words, a.entry.listed()).cmp(&(&b.words, b.entry.listed())));
    entries
}

impl Standard {
    fn new(kind: DictionaryKind, language: Language, words: DictionaryWords) -> Standard {
        let mut entry = DictionaryEntry { object_id: String::new(), language: language.code(), words };
        let named =
            [kind.name(), language.code()].into_iter().chain(entry.listed().iter().map(String::as_str));
        entry.object_id = format!("{:032x}", opaque(&named.collect::<Vec<_>>().join("\0")));
        let words = entry.listed().iter().map(|word| fold_word(word)).collect();
        Standard { entry, words }
    }
}

/// FNV-1a of 128 bits: an id that says nothing and stays the same.
fn opaque(text: &str) -> u128 {
    text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash: u128, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::DictionaryOp;

    fn found(
        custom: &CustomEntries,
        kind: DictionaryKind,
        query: &str,
        language: Option<&'static str>,
    ) -> DictionaryHits {
        custom.find(kind, &DictionaryQuery { query: query.into(), page: 0, hits_per_page: 1_000, language })
    }

    #[test]
    fn standard_entries_stand_behind_custom_ones_and_say_whether_they_act() {
        let mut custom = CustomEntries::default();
        let entry = |object_id: &str, word: &str, is_enabled| {
            let words = DictionaryWords::StopWord { word: word.into(), is_enabled };
            DictionaryOp::Add(DictionaryEntry { object_id: object_id.into(), language: "en", words })
        };
        let ops = vec![entry("z", "Aboutish", true), entry("y", "about", false)];
        custom.change(DictionaryKind::StopWords, false, ops).unwrap();
        let hits = found(&custom, DictionaryKind::StopWords, "ABOU", Some("en")).hits;
        let shown: Vec<_> = hits.iter().map(|hit| (&hit.entry.listed()[0][..], hit.is_standard)).collect();
        assert_eq!(shown, [("about", false), ("Aboutish", false), ("about", true)]);
        assert!(matches!(hits[2].entry.words, DictionaryWords::StopWord { is_enabled: false, .. }));
        let id = hits[2].entry.object_id.clone();
        assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        assert_eq!(found(&custom, DictionaryKind::StopWords, &id, None).nb_hits, 1);
        assert_eq!(found(&custom, DictionaryKind::StopWords, "z", Some("fr")).nb_hits, 0);
        assert_eq!(found(&custom, DictionaryKind::StopWords, "!!", None).nb_hits, 0);
    }

    #[test]
    fn every_page_has_its_entries() {
        let custom = CustomEntries::default();
        for kind in DictionaryKind::ALL {
            let all = found(&custom, kind, "", None);
            assert!(all.nb_hits > 80, "{kind:?}: {}", all.nb_hits);
            let (mut page, mut ids) = (0, vec![]);
            loop {
                let asked =
                    DictionaryQuery { query: String::new(), page, hits_per_page: 999, language: None };
                let found = custom.find(kind, &asked);
                assert_eq!((found.nb_pages, found.page), (all.nb_hits.div_ceil(999), page));
                if found.hits.is_empty() {
                    break;
                }
                ids.extend(found.hits.into_iter().map(|hit| hit.entry.object_id));
                page += 1;
            }
            let total = ids.len() as u64;
            ids.sort();
            ids.dedup();
            assert_eq!((ids.len() as u64, total), (all.nb_hits, all.nb_hits), "{kind:?}");
        }
    }
}
