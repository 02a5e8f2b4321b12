//! Which words stand for which, by the synonyms of an index? Compiled once, looked up by every query. (C§11)
//!
//! Cost: compiling a million members takes some tenths of a second; a look-up is a binary search on eight bytes of each
//! text, then on the rest.

use crate::analysis::{Analyzer, PLACEHOLDER_START, Schema, push_words};
use quorate_model::{Synonym, SynonymKind};
use std::cmp::Ordering;

/// The synonyms of an index, ready for look-ups.
#[derive(Debug, Default)]
pub struct SynonymSet {
    /// Normalised texts one after another: words with single spaces between them.
    bytes: String,
    /// End of each text.
    ends: Vec<u32>,
    entries: Vec<Entry>,
    /// Sorted by text, then entry.
    keys: Vec<Key>,
    /// Most words of a key.
    words_max: usize,
}
#[derive(Clone, Copy, Debug)]
struct Entry {
    kind: Kind,
    /// The texts that are found.
    from: u32,
    to: u32,
}
/// What an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words with the same meaning.
    Synonym,
    /// A correction that counts as so many typos.
    Correction(u8),
    /// A token of records, as its term is written.
    Placeholder,
}
#[derive(Clone, Copy, Debug)]
struct Key {
    /// The first eight bytes, comparing as the text does.
    head: u64,
    text: u32,
    entry: u32,
}
/// What a look-up finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// Normalised words, single spaces between them.
    pub text: &'a str,
    /// What the entry does.
    pub kind: Kind,
}

impl SynonymSet {
    /// Normalises the synonyms as the index's schema says; what has no words is left out.
    pub fn new<'a>(schema: &Schema, synonyms: impl IntoIterator<Item = &'a Synonym>) -> SynonymSet {
        let analyzer = schema.analyzer();
        let mut set = SynonymSet::default();
        for synonym in synonyms {
            set.add(analyzer, &synonym.kind);
        }
        let SynonymSet { bytes, ends, keys, .. } = &mut set;
        let text = |number: u32| text_of(bytes, ends, number);
        keys.sort_unstable_by(|a, b| {
            a.head.cmp(&b.head).then_with(|| text(a.text).cmp(text(b.text))).then(a.entry.cmp(&b.entry))
        });
        let key_words = |key: &Key| text(key.text).split(' ').count();
        set.words_max = keys.iter().map(key_words).max().unwrap_or(0);
        set
    }
    fn add(&mut self, analyzer: &Analyzer, kind: &SynonymKind) {
        let entry = self.entries.len() as u32;
        let from = self.ends.len() as u32;
        let (kind, keys) = match kind {
            SynonymKind::Synonym { synonyms } => {
                synonyms.iter().for_each(|text| self.push(analyzer, text));
                (Kind::Synonym, None)
            }
            SynonymKind::OneWay { input, synonyms } => {
                synonyms.iter().for_each(|text| self.push(analyzer, text));
                (Kind::Synonym, Some(std::slice::from_ref(input)))
            }
            SynonymKind::AltCorrection { typos, word, corrections } => {
                corrections.iter().for_each(|text| self.push(analyzer, text));
                (Kind::Correction(*typos), Some(std::slice::from_ref(word)))
            }
            SynonymKind::Placeholder { placeholder, replacements } => {
                let name = placeholder.trim().trim_start_matches('<').trim_end_matches('>');
                let start = self.bytes.len();
                self.bytes.push_str(PLACEHOLDER_START);
                let before = self.bytes.len();
                push_words(analyzer, name, &mut self.bytes);
                // in records the name is one word, too
                let name = self.bytes.split_off(before).replace(' ', "");
                self.bytes.push_str(&name);
                if !name.is_empty() {
                    self.bytes.push('>');
                    self.ends.push(self.bytes.len() as u32);
                } else {
                    self.bytes.truncate(start);
                }
                (Kind::Placeholder, Some(replacements.as_slice()))
            }
        };
        let to = self.ends.len() as u32;
        if from == to {
            return;
        }
        self.entries.push(Entry { kind, from, to });
        let inputs = match keys {
            None => from..to,
            Some(texts) => {
                texts.iter().for_each(|text| self.push(analyzer, text));
                to..self.ends.len() as u32
            }
        };
        for text in inputs {
            let head = head_of(text_of(&self.bytes, &self.ends, text));
            self.keys.push(Key { head, text, entry });
        }
    }
    fn push(&mut self, analyzer: &Analyzer, text: &str) {
        let before = self.bytes.len();
        push_words(analyzer, text, &mut self.bytes);
        if self.bytes.len() > before {
            self.ends.push(self.bytes.len() as u32);
        }
    }
    fn text(&self, number: u32) -> &str {
        text_of(&self.bytes, &self.ends, number)
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
    /// Most words that a look-up can find something for.
    pub fn words_max(&self) -> usize {
        self.words_max
    }
    /// What stands for exactly these words, in the order of the synonyms.
    pub fn of<'s>(&'s self, words: &str) -> impl Iterator<Item = Target<'s>> + use<'s> {
        let (from, to) = self.range(words, |text, words| text.cmp(words));
        self.targets(from, to)
    }
    /// What stands for longer forms of the last of these words, by text.
    pub fn starting_with<'s>(&'s self, words: &str) -> impl Iterator<Item = Target<'s>> + use<'s> {
        let (from, to) = self.range(words, |text, words| match text.starts_with(words) && text != words {
            true => Ordering::Equal,
            false => text.cmp(words).then(Ordering::Less),
        });
        let length = words.len();
        let same_words = move |key: &usize| !self.text(self.keys[*key].text)[length..].contains(' ');
        (from..to).filter(same_words).flat_map(|key| self.targets(key, key + 1))
    }
    fn targets<'s>(&'s self, from: usize, to: usize) -> impl Iterator<Item = Target<'s>> + use<'s> {
        self.keys[from..to].iter().flat_map(move |key| {
            let entry = self.entries[key.entry as usize];
            let own = self.text(key.text);
            let texts =
                (entry.from..entry.to).map(|number| self.text(number)).filter(move |text| *text != own);
            texts.map(move |text| Target { text, kind: entry.kind })
        })
    }
    /// The keys that compare as equal.
    fn range(&self, words: &str, compare: impl Fn(&str, &str) -> Ordering) -> (usize, usize) {
        let head = head_of(words);
        // with fewer than eight bytes given, a longer text has a greater head
        let below = |key: &Key| key.head < head || compare(self.text(key.text), words).is_lt();
        let from = self.keys.partition_point(below);
        let length = self.keys[from..].partition_point(|key| compare(self.text(key.text), words).is_eq());
        (from, from + length)
    }
}
fn text_of<'b>(bytes: &'b str, ends: &[u32], number: u32) -> &'b str {
    let from = number.checked_sub(1).map_or(0, |before| ends[before as usize]);
    &bytes[from as usize..ends[number as usize] as usize]
}
fn head_of(text: &str) -> u64 {
    let mut head = [0; 8];
    let length = text.len().min(8);
    head[..length].copy_from_slice(&text.as_bytes()[..length]);
    u64::from_be_bytes(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn set(synonyms: Value) -> SynonymSet {
        let one = |(i, value): (usize, &Value)| {
            let mut value = value.clone();
            value["objectID"] = json!(format!("{i}"));
            Synonym::parse_body(value.to_string().as_bytes(), &format!("{i}")).unwrap()
        };
        let all: Vec<Synonym> = synonyms.as_array().unwrap().iter().enumerate().map(one).collect();
        SynonymSet::new(&Schema::default(), &all)
    }
    fn shown<'s>(targets: impl Iterator<Item = Target<'s>>) -> String {
        let one = |target: Target<'_>| match target.kind {
            Kind::Synonym => target.text.to_string(),
            Kind::Correction(typos) => format!("{}~{typos}", target.text),
            Kind::Placeholder => format!("{}!", target.text),
        };
        targets.map(one).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn each_type_finds_what_it_says() {
        let set = set(json!([
            {"type": "synonym", "synonyms": ["Tv", "television", "tele vision"]},
            {"type": "onewaysynonym", "input": "Tablet", "synonyms": ["iPad", "Galaxy-Note"]},
            {"type": "altcorrection1", "word": "shirt", "corrections": ["skirt"]},
            {"type": "altcorrection2", "word": "shirt", "corrections": ["short"]},
            {"type": "placeholder", "placeholder": "<Street>", "replacements": ["road", "main street"]},
            {"type": "synonym", "synonyms": ["tv", "telly", "!"]},
            {"type": "synonym", "synonyms": ["pants", "trousers"]},
            {"type": "synonym", "synonyms": ["pan", "pot"]},
            {"type": "synonym", "synonyms": ["pan flute", "syrinx"]},
        ]));
        for (words, expected) in [
            ("tv", "television, tele vision, telly"),
            ("television", "tv, tele vision"),
            ("tele vision", "tv, television"),
            ("tele", ""),
            ("tablet", "ipad, galaxy note"),
            ("ipad", ""),
            ("shirt", "skirt~1, short~2"),
            ("skirt", ""),
            ("road", "<<<street>!"),
            ("main street", "<<<street>!"),
            ("street", ""),
            ("pan", "pot"),
            ("", ""),
        ] {
            assert_eq!(shown(set.of(words)), expected, "{words}");
        }
        for (words, expected) in [
            ("p", "pot, trousers, pan"),
            ("pan", "trousers"),
            ("pants", ""),
            ("tele v", "tv, television"),
            ("tele", "tv, tele vision"),
            ("pan fl", "syrinx"),
            ("zz", ""),
            ("television", ""),
        ] {
            assert_eq!(shown(set.starting_with(words)), expected, "{words} …");
        }
        assert_eq!(set.words_max(), 2);
        assert!(SynonymSet::default().is_empty());
    }
}
