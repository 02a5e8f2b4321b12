//! What kind of character is it? Letters, marks, ideographs, pictures, and what is between words (C§6.2).

use unicode_normalization::char::is_combining_mark;

/// What a character does to the word it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Part of a word.
    Letter,
    /// Belongs to the character before it.
    Mark,
    /// A letter of a script that writes words without spaces: Thai, Lao, Khmer, Burmese.
    Unspaced,
    /// A word of its own, or part of a word that a dictionary knows.
    Ideograph,
    /// `½`: a number above another.
    Fraction,
    /// A picture.
    Picture,
    /// A currency sign: a word of its own, never a separator (C§6.2).
    Currency,
    /// Joins the words around it (C§6.3).
    Joint,
    /// Whatever else is between words.
    Gap,
}
/// The kind of a character.
pub(crate) fn class(c: char) -> Class {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => Class::Letter,
        '.' | '\'' | '’' | '‘' | 'ʼ' | '®' | '©' | '·' | '．' | '＇' => Class::Joint,
        '$' | '\u{a2}'..='\u{a5}' | '\u{20a0}'..='\u{20c0}' | '\u{e3f}' => Class::Currency,
        '\0'..='\u{7f}' | '×' | '÷' => Class::Gap,
        // the letters of Europe come first: most other texts consist of them
        '\u{c0}'..='\u{24f}' => Class::Letter,
        '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{481}' | '\u{48a}'..='\u{52f}' if c.is_alphabetic() => {
            Class::Letter
        }
        '¼'..='¾' | '\u{2150}'..='\u{215f}' | '\u{2189}' => Class::Fraction,
        // signs that stand for letters: ㎏, ㌔, ℃, №
        '\u{3300}'..='\u{33ff}' | '\u{2103}' | '\u{2109}' | '\u{2116}' => Class::Letter,
        // drawn out letters, soft hyphens, joiners, sound marks beside kana
        '\u{640}' | '\u{ad}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}' => Class::Mark,
        '\u{ff9e}' | '\u{ff9f}' | '\u{309b}' | '\u{309c}' | '\u{e0020}'..='\u{e007f}' => Class::Mark,
        _ if is_ideographic(c) => Class::Ideograph,
        _ if is_combining_mark(c) => Class::Mark,
        _ if is_unspaced(c) && c.is_alphanumeric() => Class::Unspaced,
        _ if is_picture(c) => Class::Picture,
        _ if c.is_alphanumeric() => Class::Letter,
        _ => Class::Gap,
    }
}
/// Whether a character is a word of its own: ideographs and kana. Typos do not apply to them (C§6.2).
pub fn is_ideographic(c: char) -> bool {
    matches!(c as u32, 0x3005..=0x3007 | 0x3041..=0x3096 | 0x309D..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x30FF
        | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9D | 0x20000..=0x323AF)
}
/// Whether a character is an ideograph proper, not kana.
pub(crate) fn is_han(c: char) -> bool {
    is_ideographic(c) && !matches!(c as u32, 0x3041..=0x31FF | 0xFF66..=0xFF9D)
}
fn is_unspaced(c: char) -> bool {
    matches!(c as u32, 0x0E01..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0xA9E0..=0xA9FF | 0xAA60..=0xAA7F)
}
/// Whether a character begins a picture that is indexed as a word of its own.
fn is_picture(c: char) -> bool {
    matches!(c as u32, 0x1F000..=0x1F10F | 0x1F170..=0x1F3FA | 0x1F400..=0x1FAFF | 0x2600..=0x27BF | 0x2B1B | 0x2B1C
        | 0x2B50 | 0x2B55 | 0x231A | 0x231B | 0x23E9..=0x23F3 | 0x23F8..=0x23FA | 0x203C | 0x2049)
}
/// Whether a mark tells words apart as letters do: the vowel signs of the scripts of India and South-East Asia.
/// Elsewhere marks are diacritics, which are not searched by (C§6.1).
pub(crate) fn is_vowel_sign(c: char) -> bool {
    match c as u32 {
        // nuktas are dots under letters
        0x093C | 0x09BC | 0x0A3C | 0x0ABC | 0x0B3C | 0x0CBC => false,
        0x0900..=0x109F | 0x1700..=0x17FF | 0x1920..=0x1AFF | 0x1B00..=0x1C4F | 0xA800..=0xAAFF => {
            is_combining_mark(c)
        }
        _ => false,
    }
}
/// Whether a character changes the one before it instead of being one.
pub(crate) fn continues(c: char) -> bool {
    !c.is_ascii() && (class(c) == Class::Mark || is_combining_mark(c) || matches!(c as u32, 0x1160..=0x11FF))
}
/// Byte offset after the marks that follow `at`.
pub(crate) fn after_marks(text: &str, at: usize) -> usize {
    let marks = text[at..].chars().take_while(|&c| continues(c));
    at + marks.map(char::len_utf8).sum::<usize>()
}
/// Appends what a picture is searched as: without skin tones and marks, with what joins it to others.
pub(crate) fn push_picture(picture: &str, out: &mut String) {
    let from = out.len();
    let counts =
        |c: &char| !is_tone(*c) && (matches!(*c, JOINER | '\u{e0020}'..='\u{e007f}') || !continues(*c));
    out.extend(picture.chars().filter(counts));
    let joined = out[from..].trim_end_matches(JOINER).len();
    out.truncate(from + joined);
}
/// Joins pictures to one.
const JOINER: char = '\u{200d}';
fn is_tone(c: char) -> bool {
    matches!(c as u32, 0x1F3FB..=0x1F3FF)
}
/// Byte offset after the picture that starts at `at`: with its skin tone, and joined with others, or two letters of a flag.
pub(crate) fn picture_end(text: &str, at: usize) -> usize {
    let is_flag_letter = |c: char| matches!(c as u32, 0x1F1E6..=0x1F1FF);
    let mut chars = text[at..].char_indices().peekable();
    let Some((_, first)) = chars.next() else { return at };
    if is_flag_letter(first) {
        let after = at + first.len_utf8();
        let second = text[after..].chars().next().filter(|c| is_flag_letter(*c));
        return after_marks(text, after + second.map_or(0, char::len_utf8));
    }
    let mut joined = false;
    while let Some(&(i, c)) = chars.peek() {
        let goes_on = continues(c) || is_tone(c) || (joined && class(c) == Class::Picture);
        if !goes_on {
            return at + i;
        }
        joined = c == JOINER;
        chars.next();
    }
    text.len()
}
