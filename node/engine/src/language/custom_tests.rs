//! Do custom entries come and go as they are changed, whatever came before?

use super::*;
use DictionaryKind::{Compounds, Plurals, StopWords};

fn stop_word(id: &str, language: &'static str, word: &str, is_enabled: bool) -> DictionaryOp {
    add(id, language, DictionaryWords::StopWord { word: word.into(), is_enabled })
}
fn plurals(id: &str, language: &'static str, words: &[&str]) -> DictionaryOp {
    add(id, language, DictionaryWords::Plurals { words: words.iter().map(|word| (*word).into()).collect() })
}
fn compound(id: &str, language: &'static str, word: &str, parts: &[&str]) -> DictionaryOp {
    let parts = parts.iter().map(|part| (*part).into()).collect();
    add(id, language, DictionaryWords::Compound { word: word.into(), parts })
}
fn add(id: &str, language: &'static str, words: DictionaryWords) -> DictionaryOp {
    DictionaryOp::Add(DictionaryEntry { object_id: id.into(), language, words })
}
fn delete(id: &str) -> DictionaryOp {
    DictionaryOp::Delete { object_id: id.into() }
}
fn listed(codes: &[&str]) -> Languages {
    Languages::listed(codes)
}

#[test]
fn the_last_operation_on_an_id_counts() {
    let mut custom = CustomEntries::default();
    let ops = vec![
        stop_word("a", "en", "Shop", true),
        stop_word("a", "de", "Über", true),
        stop_word("b", "en", "the", false),
        stop_word("c", "en", "gone", true),
        delete("c"),
        delete("never there"),
        plurals("d", "en", &["of another", "dictionary"]),
    ];
    let changes = custom.change(StopWords, false, ops).unwrap();
    assert_eq!(changes.len(), 5);
    let all = Languages::ALL;
    assert_eq!(custom.stop_word("uber", all), (listed(&["de"]), Languages::NONE));
    assert_eq!(custom.stop_word("uber", listed(&["en"])), (Languages::NONE, Languages::NONE));
    assert_eq!(custom.stop_word("the", all), (Languages::NONE, listed(&["en"])));
    assert_eq!(custom.stop_word("shop", all).0, Languages::NONE, "its entry says something else now");
    let count = |code: &str| custom.count(StopWords, Language::of(code).unwrap());
    assert_eq!((count("en"), count("de"), count("fr")), (1, 1, 0));
    let changes = custom.change(StopWords, true, vec![stop_word("z", "fr", "le", true)]).unwrap();
    assert_eq!(changes[..2], [EntryChange::Removed("a".into()), EntryChange::Removed("b".into())]);
    assert_eq!(custom.all(StopWords).map(|entry| entry.object_id.as_str()).collect::<Vec<_>>(), ["z"]);
}

#[test]
fn sets_and_parts_are_found_by_each_of_their_words() {
    let mut custom = CustomEntries::default();
    custom.change(Plurals, false, vec![plurals("a", "en", &["Roof", "rooves", "ROOF"])]).unwrap();
    custom.change(Plurals, false, vec![plurals("b", "de", &["roof", "Röfe"])]).unwrap();
    let (found, forms) = custom.plurals("roof", Languages::ALL);
    assert_eq!((found, forms.join(" ").as_str()), (listed(&["en", "de"]), "rooves rofe"));
    assert_eq!(custom.plurals("rooves", listed(&["en"])).1, ["roof"]);
    let ops = vec![
        compound("a", "nl", "kaskade", &["kas", "kade"]),
        compound("b", "de", "Kaskade", &["kask", "ade"]),
        compound("c", "de", "xylo", &[]),
    ];
    custom.change(Compounds, false, ops).unwrap();
    let parts = |codes: &[&str]| custom.parts("kaskade", listed(codes)).map(|parts| parts.join(" "));
    assert_eq!(parts(&["nl", "de"]).as_deref(), Some("kask ade"));
    assert_eq!((parts(&["nl"]).as_deref(), parts(&["sv"])), (Some("kas kade"), None));
    assert!(custom.is_part("xylo", listed(&["de"])) && !custom.is_part("xylo", listed(&["nl"])));
    assert!(!custom.is_part("kaskade", Languages::ALL) && custom.parts("xylo", Languages::ALL).is_none());
}

#[test]
fn the_two_codes_of_norwegian_share_their_compounds() {
    let mut custom = CustomEntries::default();
    let entries = vec![compound("a", "nb", "hulahop", &["foo", "bar"]), compound("b", "no", "xylo", &[])];
    custom.change(Compounds, false, entries).unwrap();
    for code in ["nb", "no"] {
        assert_eq!(custom.parts("hulahop", listed(&[code])), Some(["foo".into(), "bar".into()].as_slice()));
        assert!(custom.is_part("xylo", listed(&[code])), "{code}");
    }
    assert_eq!(custom.compounds_hash(listed(&["no"])), custom.compounds_hash(listed(&["nb"])));
    assert!(custom.parts("hulahop", listed(&["da", "sv"])).is_none());
    // its own entry comes first
    custom.change(Compounds, false, vec![compound("c", "no", "hulahop", &["hula", "hop"])]).unwrap();
    assert_eq!(custom.parts("hulahop", listed(&["no"])), Some(["hula".into(), "hop".into()].as_slice()));
    assert_eq!(custom.parts("hulahop", listed(&["nb"])), Some(["foo".into(), "bar".into()].as_slice()));
    assert_eq!(custom.compounds_hash(listed(&["da"])), 0);
}

#[test]
fn the_hash_of_compounds_depends_on_what_is_there_alone() {
    let hash = |ops: Vec<DictionaryOp>, codes: &[&str]| {
        let mut custom = CustomEntries::default();
        custom.change(Compounds, false, ops).unwrap();
        custom.compounds_hash(listed(codes))
    };
    let one = || compound("a", "de", "kaskade", &["kas", "kade"]);
    let two = || compound("b", "de", "xylo", &[]);
    let both = hash(vec![one(), two()], &["de"]);
    assert_eq!(hash(vec![two(), compound("a", "nl", "x", &["y"]), one()], &["de"]), both);
    assert_eq!(hash(vec![one(), two(), delete("a"), delete("b")], &["de"]), 0);
    assert_eq!(hash(vec![one(), two()], &["nl"]), 0);
    let others = [
        hash(vec![one()], &["de"]),
        hash(vec![two()], &["de"]),
        hash(vec![compound("a", "de", "kaskade", &["kask", "ade"])], &["de"]),
        hash(vec![compound("a", "de", "kaskade", &[])], &["de"]),
        both,
    ];
    assert!((1..others.len()).all(|i| !others[..i].contains(&others[i])), "{others:?}");
    let mut custom = CustomEntries::default();
    let off = StandardChange::Set([("de".to_owned(), true)].into_iter().collect());
    custom.change_standard([StandardChange::Kept, StandardChange::Kept, off]);
    assert!(custom.compounds_hash(listed(&["de"])) != 0 && custom.compounds_hash(listed(&["nl"])) == 0);
    assert_eq!(hash(vec![one()], &["de"]), GOLDEN, "compared with stored ones: must never change");
}
const GOLDEN: u64 = 7_509_943_769_786_043_865;

#[test]
fn many_entries_of_one_word_cost_little() {
    let mut custom = CustomEntries::default();
    let ops = (0..20_000).map(|n| stop_word(&format!("{n:06}"), "en", "same", n != 3)).collect();
    custom.change(StopWords, false, ops).unwrap();
    assert_eq!(custom.of(StopWords, "same", Languages::ALL).count(), DICTIONARY_SAME_WORD_MAX);
    let english = listed(&["en"]);
    assert_eq!(custom.stop_word("same", Languages::ALL), (english, english));
    custom.change(StopWords, true, vec![]).unwrap();
    assert_eq!((custom.clone(), custom.kinds[0].bytes), (CustomEntries::default(), 0));
}

#[test]
fn what_is_over_the_quota_changes_nothing() {
    let mut custom = CustomEntries::default();
    custom.change(StopWords, false, vec![stop_word("a", "en", "a", true)]).unwrap();
    let before = custom.clone();
    let many =
        |count: usize| (0..count).map(|n| stop_word(&n.to_string(), "en", "b", true)).collect::<Vec<_>>();
    let error = custom.change(StopWords, false, many(DICTIONARY_ENTRIES_MAX)).unwrap_err();
    assert_eq!(error.kind, quorate_model::ErrorKind::Forbidden);
    assert_eq!(
        error.message,
        "Custom entries quota exceeded: the dictionary stopwords can have at most 200000 entries of 33554432 bytes together"
    );
    assert_eq!(custom, before);
    let words = vec!["x".repeat(512); 100];
    let large = |n: usize| add(&n.to_string(), "en", DictionaryWords::Plurals { words: words.clone() });
    assert!(custom.change(Plurals, false, (0..700).map(large).collect()).is_err());
    assert!(custom.change(Plurals, false, (0..600).map(large).collect()).is_ok());
    assert!(
        custom.change(StopWords, true, many(DICTIONARY_ENTRIES_MAX)).is_ok(),
        "the cleared ones do not count"
    );
}
