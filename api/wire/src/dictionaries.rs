//! What do the endpoints of dictionaries answer (C§12, C§14)?

use crate::json::{self, Object};
use quorate_model::DictionaryKind;
use quorate_model::dictionary::{DictionaryHit, DictionaryHits, DictionarySettings, DictionaryWords};

/// A page of entries.
pub fn dictionary_hits_body(found: &DictionaryHits) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + found.hits.len() * 128);
    let mut object = Object::open(&mut out);
    json::list(object.member("hits"), &found.hits, hit);
    object.integer("nbHits", found.nb_hits).integer("page", found.page).integer("nbPages", found.nb_pages);
    object.close();
    out
}

fn hit(out: &mut Vec<u8>, DictionaryHit { entry, is_standard }: &DictionaryHit) {
    let mut object = Object::open(out);
    object.string("objectID", &entry.object_id).string("language", entry.language);
    match &entry.words {
        DictionaryWords::StopWord { word, is_enabled } => {
            object.string("word", word).string("state", if *is_enabled { "enabled" } else { "disabled" });
        }
        DictionaryWords::Plurals { words } => {
            object.strings("words", words.iter().map(String::as_str));
        }
        DictionaryWords::Compound { word, parts } => {
            object.string("word", word).strings("decomposition", parts.iter().map(String::as_str));
        }
    }
    object.string("type", if *is_standard { "standard" } else { "custom" });
    object.close();
}

/// Which standard entries are switched off.
pub fn dictionary_settings_body(settings: &DictionarySettings) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    let mut object = Object::open(&mut out);
    let mut disabled = Object::open(object.member("disableStandardEntries"));
    for kind in DictionaryKind::ALL {
        let mut switches = Object::open(disabled.member(kind.name()));
        for (code, is_off) in settings.of(kind) {
            switches.flag(code, *is_off);
        }
        switches.close();
    }
    disabled.close();
    object.close();
    out
}

/// Which dictionaries languages have: by code, the custom entries of each dictionary by its number.
pub fn dictionary_languages_body<'a>(
    languages: impl IntoIterator<Item = (&'a str, [Option<u64>; 3])>,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 << 10);
    let mut object = Object::open(&mut out);
    for (code, entries) in languages {
        let mut language = Object::open(object.member(code));
        for kind in DictionaryKind::ALL {
            match entries[kind as usize] {
                Some(count) => {
                    let mut dictionary = Object::open(language.member(kind.name()));
                    dictionary.integer("nbCustomEntries", count);
                    dictionary.close();
                }
                None => {
                    language.raw(kind.name(), b"null");
                }
            }
        }
        language.close();
    }
    object.close();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use quorate_model::DictionaryEntry;
    use quorate_model::dictionary::StandardChange;

    fn text(body: Vec<u8>) -> String {
        String::from_utf8(body).unwrap()
    }

    #[test]
    fn bodies_have_the_members_strict_clients_read() {
        let hit = |object_id: &str, words, is_standard| DictionaryHit {
            entry: DictionaryEntry { object_id: object_id.into(), language: "de", words },
            is_standard,
        };
        let hits = vec![
            hit("a\"", DictionaryWords::StopWord { word: "der".into(), is_enabled: false }, true),
            hit("b", DictionaryWords::Plurals { words: vec!["Haus".into(), "Häuser".into()] }, false),
            hit("c", DictionaryWords::Compound { word: "xylo".into(), parts: vec![] }, false),
        ];
        let found = DictionaryHits { hits, nb_hits: 43, page: 1, nb_pages: 15 };
        assert_eq!(
            text(dictionary_hits_body(&found)),
            "{\"hits\":[{\"objectID\":\"a\\\"\",\"language\":\"de\",\"word\":\"der\",\"state\":\"disabled\",\"type\":\"standard\"},\
             {\"objectID\":\"b\",\"language\":\"de\",\"words\":[\"Haus\",\"Häuser\"],\"type\":\"custom\"},\
             {\"objectID\":\"c\",\"language\":\"de\",\"word\":\"xylo\",\"decomposition\":[],\"type\":\"custom\"}],\
             \"nbHits\":43,\"page\":1,\"nbPages\":15}"
        );
        let mut settings = DictionarySettings::default();
        let set =
            StandardChange::Set([("fr".to_owned(), true), ("en".to_owned(), false)].into_iter().collect());
        settings.change([set, StandardChange::Kept, StandardChange::Kept]);
        assert_eq!(
            text(dictionary_settings_body(&settings)),
            r#"{"disableStandardEntries":{"stopwords":{"en":false,"fr":true},"plurals":{},"compounds":{}}}"#
        );
        assert_eq!(
            text(dictionary_languages_body([("de", [Some(3), Some(0), None])])),
            r#"{"de":{"stopwords":{"nbCustomEntries":3},"plurals":{"nbCustomEntries":0},"compounds":null}}"#
        );
    }
}
