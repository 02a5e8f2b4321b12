//! What one character becomes: lower case, without marks, with the special letters spelt out (C§6.1).

use super::chars::{Class, class, is_vowel_sign};
use super::simplified::simplified;
use std::sync::LazyLock;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// Where the letters of Europe begin and end.
const EUROPE: std::ops::Range<u32> = 0xC0..0x530;
/// What each of them is searched as, when that is one character; otherwise a zero character.
static SHORT: LazyLock<Vec<char>> = LazyLock::new(|| {
    let short = |code| {
        let mut out = String::new();
        char::from_u32(code).into_iter().for_each(|c| push_any(c, &mut out));
        let mut chars = out.chars();
        chars.next().filter(|_| chars.next().is_none()).unwrap_or('\0')
    };
    EUROPE.map(short).collect()
});

/// Appends what `c` is searched as; nothing for a character that is no part of words.
pub(crate) fn push_folded(c: char, out: &mut String) {
    match c {
        'a'..='z' | '0'..='9' => out.push(c),
        'A'..='Z' => out.push(c.to_ascii_lowercase()),
        '\u{3400}'..='\u{9FFF}' => out.push(simplified(c)),
        '\u{C0}'..='\u{52F}' => match SHORT[(c as u32 - EUROPE.start) as usize] {
            '\0' => push_any(c, out),
            short => out.push(short),
        },
        _ => push_any(c, out),
    }
}
fn push_any(c: char, out: &mut String) {
    match c {
        'ß' | 'ẞ' => out.push_str("ss"),
        'æ' | 'Æ' | 'ǽ' | 'Ǽ' | 'ǣ' | 'Ǣ' => out.push_str("ae"),
        'œ' | 'Œ' => out.push_str("oe"),
        'ø' | 'Ø' | 'ǿ' | 'Ǿ' => out.push('o'),
        'đ' | 'Đ' | 'ð' | 'Ð' => out.push('d'),
        'ł' | 'Ł' => out.push('l'),
        'ı' | 'İ' => out.push('i'),
        'þ' | 'Þ' => out.push_str("th"),
        'ħ' | 'Ħ' => out.push('h'),
        'ŧ' | 'Ŧ' => out.push('t'),
        'ŋ' | 'Ŋ' => out.push('n'),
        'ƒ' => out.push('f'),
        'ς' => out.push('σ'),
        c => {
            for lower in c.to_lowercase() {
                decompose_compatible(lower, |part| push_part(part, out));
            }
        }
    }
}
/// Appends a piece of a decomposed character.
fn push_part(part: char, out: &mut String) {
    if is_combining_mark(part) {
        if is_vowel_sign(part) {
            out.push(part);
        }
        return;
    }
    match class(part) {
        Class::Letter | Class::Ideograph | Class::Unspaced => out.extend(simplified(part).to_lowercase()),
        Class::Picture | Class::Currency => out.push(part),
        Class::Mark | Class::Fraction | Class::Joint | Class::Gap => {}
    }
}
/// Appends `c` in lower case with its marks.
pub(crate) fn push_kept(c: char, out: &mut String) {
    out.extend(c.to_lowercase());
}
/// Appends the two numbers of `½`, separated by a space.
pub(crate) fn push_fraction(c: char, out: &mut String) {
    decompose_compatible(c, |part| out.push(if part.is_ascii_digit() { part } else { ' ' }));
}
/// A text in lower case and without marks, punctuation and spaces as they are: how text values are ordered (C§7.9).
pub fn fold_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let before = out.len();
        push_folded(c, &mut out);
        if out.len() == before && matches!(class(c), Class::Gap | Class::Joint) {
            out.push(c);
        }
    }
    out
}
/// One word in lower case, without marks and without the punctuation inside it: `don't` is `dont`.
pub fn fold_word(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    word.chars().for_each(|c| push_folded(c, &mut out));
    out
}
/// Characters of a word as people count them: a Korean syllable is one, although it is searched by its letters.
pub fn letters(word: &str) -> usize {
    word.chars().filter(|c| !matches!(*c as u32, 0x1160..=0x11FF)).count()
}
