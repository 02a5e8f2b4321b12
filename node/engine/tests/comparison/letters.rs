//! Where are the words of a text, and which letters of it do they hold? For the letters of the random texts (C§6.1–C§6.3).

use quorate_model::settings::IndexSettings;

/// A word of a text.
#[derive(Clone, Debug)]
pub struct Written {
    pub text: Vec<char>,
    /// Where each letter ends in the text, with the marks that belong to it.
    ends: Vec<usize>,
    pub start: usize,
    pub end: usize,
    /// Its number in the text.
    pub position: usize,
    pub kind: Kind,
}
/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An ordinary one.
    Word,
    /// A camelCase word, standing before its parts.
    Whole,
    /// A part of the word before it, at the same place.
    Inside,
}
/// What is said of the attribute in which a text stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attribute {
    /// Whether parts of camelCase words are words, too.
    pub camel_case: bool,
    /// Whether parts of German compounds are words, too.
    pub compounds: bool,
}
impl Attribute {
    /// What the settings say of the attribute at a path.
    pub fn at(path: &str, index: &IndexSettings) -> Attribute {
        let is_in = |listed: &Vec<String>| {
            listed.iter().any(|entry| entry == path || path.starts_with(&format!("{entry}.")))
        };
        let compounds = index.decompounded_attributes.iter().any(|(_, listed)| is_in(listed));
        Attribute { camel_case: is_in(&index.camel_case_attributes), compounds }
    }
}
/// German words, and those that they are parts of. All of them have to be in the lists of the engine.
pub const GERMAN: [&str; 4] = ["haus", "tur", "garten", "schuh"];
/// Compounds of two of them, with what may stand between.
pub fn compounds() -> Vec<(String, [&'static str; 2])> {
    let pairs = GERMAN.iter().flat_map(|first| GERMAN.iter().map(move |second| (*first, *second)));
    let different = pairs.filter(|(first, second)| first != second);
    different.flat_map(|(a, b)| ["", "s"].map(|link| (format!("{a}{link}{b}"), [a, b]))).collect()
}
/// Chinese words that dictionaries know.
pub const CHINESE: [&str; 5] = ["研究", "中国", "大学", "学生", "电影"];

impl Written {
    fn at(start: usize) -> Written {
        Written { text: vec![], ends: vec![], start, end: start, position: 0, kind: Kind::Word }
    }
    fn push(&mut self, letter: char, start: usize, end: usize) {
        if self.text.is_empty() {
            self.start = start;
        }
        self.text.push(letter);
        self.ends.push(end);
        self.end = end;
    }
    /// Where the first so many letters end.
    pub fn end_of(&self, letters: usize) -> usize {
        if letters == self.text.len() { self.end } else { self.ends[letters - 1] }
    }
    /// Some letters of it as a word inside of it.
    fn part(&self, from: usize, to: usize) -> Written {
        let start = if from == 0 { self.start } else { self.ends[from - 1] };
        let ends = self.ends[from..to].to_vec();
        let end = self.end_of(to);
        Written { text: self.text[from..to].to_vec(), ends, start, end, kind: Kind::Inside, ..*self }
    }
}
/// The words of a text, in order; more than one where words have parts.
pub fn written(text: &str, index: &IndexSettings, attribute: Attribute) -> Vec<Written> {
    let mut found = vec![];
    let mut position = 0;
    for chain in chains(text, index, attribute.camel_case) {
        let first = position;
        if let [one] = chain.as_slice() {
            let whole = Written { position, ..one.clone() };
            let insides = insides(&whole, index, attribute);
            found.push(whole);
            found.extend(insides);
            position += 1;
            continue;
        }
        let mut whole = Written { position: first, kind: Kind::Whole, ..Written::at(chain[0].start) };
        for part in &chain {
            whole.text.extend(&part.text);
            whole.ends.extend(&part.ends);
            whole.end = part.end;
        }
        found.push(whole);
        for part in chain {
            found.push(Written { position, ..part });
            position += 1;
        }
    }
    found
}
/// The words that somebody typed, without parts.
pub fn typed(text: &str, index: &IndexSettings) -> Vec<Vec<char>> {
    let words = written(text, index, Attribute::default()).into_iter();
    words.filter(|word| word.kind == Kind::Word).map(|word| word.text).collect()
}
/// The words of a text, each as the parts that camelCase cuts it into.
fn chains(text: &str, index: &IndexSettings, camel_case: bool) -> Vec<Vec<Written>> {
    let keeps = index.keep_diacritics_on_characters == "ç";
    let mut words = vec![vec![Written::at(0)]];
    let alone = |letter: char, at: usize, end: usize| {
        let mut word = Written::at(at);
        word.push(letter, at, end);
        vec![word]
    };
    let mut chars = text.char_indices().peekable();
    let mut small_before = false;
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        let is_dotted = matches!(c, 'b' | 'B') && chars.peek().is_some_and(|(_, mark)| *mark == '\u{307}');
        let is_replaced = is_replaced(c, is_dotted, index);
        if let Some(name) = placeholder(&text[at..]) {
            let mut token = Written::at(at);
            let letters = format!("<<<{name}>");
            letters.chars().for_each(|c| token.push(c, at, at + name.len() + 2));
            while chars.next_if(|(i, _)| *i < at + name.len() + 2).is_some() {}
            words.extend([vec![token], vec![Written::at(at + name.len() + 2)]]);
            small_before = false;
            continue;
        }
        if camel_case && small_before && c.is_uppercase() && !is_replaced {
            words.last_mut().unwrap().push(Written::at(at));
        }
        let word = words.last_mut().unwrap().last_mut().expect("there is always one");
        let before = small_before;
        small_before = c.is_lowercase() || c.is_numeric();
        match c {
            // kept letters may be written in two characters
            'c' | 'C' if keeps && chars.peek().is_some_and(|(_, mark)| *mark == '\u{327}') => {
                chars.next();
                word.push('ç', at, end + '\u{327}'.len_utf8());
            }
            '+' if index.separators_to_index == "+" => {
                words.extend([alone('+', at, end), vec![Written::at(end)]]);
            }
            'đ' | 'Đ' | 'b' | 'B' | 'ḃ' if is_replaced => {
                let end = chars.next_if(|_| is_dotted).map_or(end, |(mark, _)| mark + '\u{307}'.len_utf8());
                let letter = if matches!(c, 'đ' | 'Đ') { 'd' } else { 'b' };
                (0..2).for_each(|_| word.push(letter, at, end));
                small_before = before;
            }
            'ç' | 'Ç' if keeps => word.push('ç', at, end),
            'á' | 'Á' | 'ａ' => word.push('a', at, end),
            'ｂ' | 'ḃ' => word.push('b', at, end),
            'ç' | 'Ç' | '\u{216d}' => word.push('c', at, end),
            'đ' | 'Đ' | 'ď' => word.push('d', at, end),
            '\u{301}' | '\u{307}' | '\u{327}' | '\u{ad}' => {
                // a mark belongs to the character before it, which may be two letters
                let marked = words.iter_mut().flatten().rev().find(|word| !word.text.is_empty());
                if let Some(word) = marked.filter(|word| word.end == at) {
                    word.ends.iter_mut().filter(|known| **known == at).for_each(|known| *known = end);
                    word.end = end;
                }
                small_before = before;
            }
            c if c.is_ascii_alphanumeric() => word.push(c.to_ascii_lowercase(), at, end),
            c if is_ideograph(c) && index.index_languages.is_empty() => {
                words.extend([alone(simplified(c), at, end), vec![Written::at(end)]]);
            }
            c if is_ideograph(c) => word.push(simplified(c), at, end),
            _ => words.push(vec![Written::at(end)]),
        }
    }
    words.iter_mut().for_each(|parts| parts.retain(|part| !part.text.is_empty()));
    words.retain(|parts| !parts.is_empty());
    words
}
/// Whether a letter, which may be written in one character or in two, is one of those that customNormalization replaces.
fn is_replaced(c: char, is_dotted: bool, index: &IndexSettings) -> bool {
    !index.custom_normalization.is_empty() && (matches!(c, 'đ' | 'Đ' | 'ḃ') || is_dotted)
}
/// The name in `<name>` at the beginning of a text; those of the random texts stand between spaces.
fn placeholder(text: &str) -> Option<&str> {
    let (name, _) = text.strip_prefix('<')?.split_once('>')?;
    name.chars().all(|c| c.is_ascii_alphanumeric()).then_some(name)
}
pub fn is_ideograph(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}
fn simplified(c: char) -> char {
    match c {
        '國' => '国',
        '學' => '学',
        _ => c,
    }
}
/// What is found inside of a word.
fn insides(word: &Written, index: &IndexSettings, attribute: Attribute) -> Vec<Written> {
    let length = word.text.len();
    if word.text.iter().all(|c| is_ideograph(*c)) && !index.index_languages.is_empty() {
        let stretches =
            (0..length).flat_map(|from| (from + 1..=length.min(from + 3)).map(move |to| (from, to)));
        let smaller = stretches.filter(|stretch| *stretch != (0, length));
        return smaller.map(|(from, to)| word.part(from, to)).collect();
    }
    if !attribute.compounds {
        return vec![];
    }
    let text: String = word.text.iter().collect();
    let Some((_, [first, second])) = compounds().into_iter().find(|(whole, _)| *whole == text) else {
        return vec![];
    };
    vec![word.part(0, first.len()), word.part(length - second.len(), length)]
}
