//! What one character becomes: lower case, without marks, with the special letters spelt out (C§6.1).

use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// Whether a character is a word of its own: ideographs and kana. Typos do not apply to them (C§6.2).
pub fn is_ideographic(c: char) -> bool {
    matches!(c as u32, 0x3040..=0x30FF | 0x31F0..=0x31FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF
        | 0xFF66..=0xFF9D | 0x20000..=0x323AF)
}
/// Whether a character is a picture that is indexed as a word of its own.
pub(super) fn is_emoji(c: char) -> bool {
    matches!(c as u32, 0x1F000..=0x1F3FA | 0x1F400..=0x1FAFF | 0x2600..=0x27BF | 0x2B50 | 0x2B55 | 0x231A | 0x231B)
}
/// Currency signs are words of their own; they are never separators (C§6.2).
pub(super) fn is_currency(c: char) -> bool {
    c == '$' || matches!(c as u32, 0xA2..=0xA5 | 0x20A0..=0x20C0)
}
/// Marks that continue a word without a letter of their own.
pub(super) fn is_mark(c: char) -> bool {
    is_combining_mark(c)
}
/// Full-width forms become ordinary ones.
fn narrow(c: char) -> char {
    match c as u32 {
        n @ 0xFF01..=0xFF5E => char::from_u32(n - 0xFEE0).unwrap_or(c),
        _ => c,
    }
}
/// Appends what `c` is searched as.
pub(super) fn push_folded(c: char, out: &mut String) {
    match narrow(c) {
        'ß' | 'ẞ' => out.push_str("ss"),
        'æ' | 'Æ' | 'ǽ' | 'Ǽ' => out.push_str("ae"),
        'œ' | 'Œ' => out.push_str("oe"),
        'ø' | 'Ø' | 'ǿ' | 'Ǿ' => out.push('o'),
        'đ' | 'Đ' | 'ð' | 'Ð' => out.push('d'),
        'ł' | 'Ł' => out.push('l'),
        'ı' | 'İ' => out.push('i'),
        'þ' | 'Þ' => out.push_str("th"),
        c => {
            for lower in c.to_lowercase() {
                decompose_canonical(lower, |part| {
                    if !is_combining_mark(part) {
                        out.push(part);
                    }
                });
            }
        }
    }
}
/// Appends `c` in lower case with its marks.
pub(super) fn push_kept(c: char, out: &mut String) {
    out.extend(c.to_lowercase());
}
/// A text in lower case and without marks, punctuation and spaces as they are: how text values are ordered (C§7.9).
pub fn fold_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| push_folded(c, &mut out));
    out
}
/// One word in lower case, without marks and without the punctuation inside it: `don't` is `dont`.
pub fn fold_word(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    word.chars().filter(|c| c.is_alphanumeric() || is_mark(*c)).for_each(|c| push_folded(c, &mut out));
    out
}
