//! Random texts: words that resemble each other, in several scripts.

use super::letters::{CHINESE, GERMAN, compounds};
use quorate_model::chance::Chance;
use serde_json::{Map, Value, json};

/// How the texts of a case are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Small Latin letters.
    Latin,
    /// The same with accents, capitals, marks and signs between words.
    Disguised,
    /// Ideographs, each a word.
    Ideographs,
    /// Ideographs with words that dictionaries know.
    ChineseWords,
    /// German compounds.
    German,
}
impl Script {
    /// One of them, most often Latin letters.
    pub fn random(chance: &mut Chance) -> Script {
        match chance.below(12) {
            0..=2 => Script::Disguised,
            3 => Script::Ideographs,
            4 => Script::ChineseWords,
            5 => Script::German,
            _ => Script::Latin,
        }
    }
    /// Whether words are typed without errors: wrong ones are no words of the dictionaries.
    pub fn is_exact(self) -> bool {
        matches!(self, Script::Ideographs | Script::ChineseWords | Script::German)
    }
    /// Whether other letters than `a` to `d` stand in texts.
    pub fn is_disguised(self) -> bool {
        matches!(self, Script::Disguised | Script::Ideographs | Script::ChineseWords)
    }
    /// Once in how many queries a language is named.
    pub fn often_in_a_language(self) -> u64 {
        if self == Script::German { 2 } else { 12 }
    }
    /// The words of which texts consist.
    pub fn vocabulary(self, chance: &mut Chance) -> Vec<String> {
        let owned = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        match self {
            Script::Latin | Script::Disguised => latin(chance),
            Script::Ideographs => {
                let letters = ["研", "究", "中", "国", "学"];
                let mut words = owned(&["ab", "abc", "学"]);
                words.extend(
                    (0..10).map(|_| (0..1 + chance.below(2)).map(|_| *chance.pick(&letters)).collect()),
                );
                words
            }
            Script::ChineseWords => [owned(&CHINESE), owned(&["研", "学", "ab"])].concat(),
            Script::German => {
                let compounds = compounds();
                let some = (0..6).map(|_| chance.pick(&compounds).0.clone());
                [owned(&GERMAN), owned(&["ab", "abcd"]), some.collect()].concat()
            }
        }
    }
    /// Settings that change what a letter and what a word is.
    pub fn settings(self, chance: &mut Chance, settings: &mut Map<String, Value>) {
        let mut set = |name: &str, value: Value| drop(settings.insert(name.into(), value));
        if self.is_disguised() {
            for (name, value) in [
                ("separatorsToIndex", json!("+")),
                ("keepDiacriticsOnCharacters", json!("ç")),
                ("customNormalization", json!({"default": {"đ": "dd", "ḃ": "bb"}})),
                ("camelCaseAttributes", json!(["title", "list"])),
            ] {
                if chance.once_in(2) {
                    set(name, value);
                }
            }
        }
        match self {
            Script::ChineseWords => set("indexLanguages", json!(["zh"])),
            Script::German => set("decompoundedAttributes", json!({"de": ["title", "name"]})),
            Script::Latin | Script::Disguised | Script::Ideographs => {}
        }
    }
}
fn latin(chance: &mut Chance) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    for _ in 0..14 {
        let length = 1 + chance.below(10);
        words.push((0..length).map(|_| (b'a' + chance.below(4) as u8) as char).collect());
        // neighbours of the word, so that typos have something to find
        for _ in 0..2 {
            words.push(misspelt(chance, words.last().expect("one was pushed").clone()));
        }
    }
    // words that are two others written as one
    for _ in 0..6 {
        let joined = format!("{}{}", chance.pick(&words), chance.pick(&words));
        words.push(joined.chars().take(14).collect());
    }
    words
}
/// A word with one or two typing errors.
pub fn misspelt(chance: &mut Chance, word: String) -> String {
    let mut chars: Vec<char> = word.chars().collect();
    for _ in 0..1 + chance.below(2) {
        let at = chance.below(chars.len() as u64) as usize;
        let c = (b'a' + chance.below(4) as u8) as char;
        match chance.below(4) {
            0 => chars[at] = c,
            1 => chars.insert(at, c),
            2 if chars.len() > 1 => drop(chars.remove(at)),
            _ if at > 0 => chars.swap(at, at - 1),
            _ => chars.push(c),
        }
    }
    chars.into_iter().collect()
}
pub fn text(chance: &mut Chance, words: &[String], most: u64) -> String {
    let count = 1 + chance.below(most);
    (0..count).map(|_| chance.pick(words).clone()).collect::<Vec<_>>().join(" ")
}
/// Writes the texts of a record in other letters.
pub fn disguise(chance: &mut Chance, value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|value| disguise(chance, value)),
        Value::Object(members) => {
            let texts = members.iter_mut().filter(|(name, _)| TEXTS.contains(&name.as_str()));
            texts.for_each(|(_, value)| disguise(chance, value));
        }
        Value::String(text) => *text = text.chars().map(|c| disguised(chance, c)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
const TEXTS: [&str; 5] = ["title", "body", "list", "name", "first"];
fn disguised(chance: &mut Chance, c: char) -> String {
    let other: &[&str] = match c {
        'a' => &["A", "á", "Á", "ａ", "a\u{301}"],
        'b' => &["B", "ｂ", "ḃ", "b\u{307}"],
        'c' => &["C", "ç", "Ç", "c\u{327}", "\u{216d}"],
        'd' => &["đ", "Đ", "ď", "\u{ad}d", "d\u{ad}"],
        ' ' => &["+", " + ", " - ", ", "],
        '国' => &["國"],
        '学' => &["學"],
        _ => &[],
    };
    if other.is_empty() || !chance.once_in(5) { c.to_string() } else { (*chance.pick(other)).to_string() }
}
