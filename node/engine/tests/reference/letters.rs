//! Where are the words of a text, and which letters of it do they hold? For the letters of the random texts.

use quorate_model::settings::IndexSettings;

/// A word of a text.
#[derive(Clone, Debug)]
pub struct Written {
    pub text: Vec<char>,
    /// Where each letter ends in the text, with the marks that belong to it.
    ends: Vec<usize>,
    pub start: usize,
    pub end: usize,
}
impl Written {
    fn at(start: usize) -> Written {
        Written { text: vec![], ends: vec![], start, end: start }
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
}
/// The words of a text, in order.
pub fn written(text: &str, index: &IndexSettings) -> Vec<Written> {
    let keeps = index.keep_diacritics_on_characters == "ç";
    let mut words = vec![Written::at(0)];
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let word = words.last_mut().expect("there is always one");
        let end = at + c.len_utf8();
        match c {
            // kept letters may be written in two characters
            'c' | 'C' if keeps && chars.peek().is_some_and(|(_, mark)| *mark == '\u{327}') => {
                chars.next();
                word.push('ç', at, end + '\u{327}'.len_utf8());
            }
            '+' if index.separators_to_index == "+" => {
                let mut plus = Written::at(at);
                plus.push('+', at, end);
                words.extend([plus, Written::at(end)]);
            }
            'đ' | 'Đ' if !index.custom_normalization.is_empty() => {
                word.push('d', at, end);
                word.push('d', at, end);
            }
            'ç' | 'Ç' if keeps => word.push('ç', at, end),
            'á' | 'Á' | 'ａ' => word.push('a', at, end),
            'ｂ' | 'ḃ' => word.push('b', at, end),
            'ç' | 'Ç' | '\u{216d}' => word.push('c', at, end),
            'đ' | 'Đ' | 'ď' => word.push('d', at, end),
            '\u{301}' | '\u{307}' | '\u{327}' | '\u{ad}' => {
                // a mark belongs to the character before it, which may be two letters
                if !word.text.is_empty() {
                    let before = word.end;
                    word.ends.iter_mut().filter(|known| **known == before).for_each(|known| *known = end);
                    word.end = end;
                }
            }
            c if c.is_ascii_alphanumeric() => word.push(c.to_ascii_lowercase(), at, end),
            _ => words.push(Written::at(end)),
        }
    }
    words.retain(|word| !word.text.is_empty());
    words
}
