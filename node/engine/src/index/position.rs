//! How a word's place in a record fits in 16 bits: attribute 5 bits, word 10 bits, whole-value flag 1 bit (lowest).
//!
//! Comparing two packed positions as numbers compares (attribute, word). Attributes from 31 on share number 31, words
//! from 999 on share number 999.

/// The highest attribute number.
pub const ATTRIBUTE_MAX: u32 = 31;
/// The highest word number (C§7.7).
pub const WORD_MAX: u32 = 999;
/// Words that are skipped between two elements of an array, so that their proximity is 8.
pub const VALUE_GAP: u32 = 8;

/// Packs a position.
pub const fn pack(attribute: u32, word: u32, whole_value: u16) -> u16 {
    let attribute = if attribute > ATTRIBUTE_MAX { ATTRIBUTE_MAX } else { attribute };
    let word = if word > WORD_MAX { WORD_MAX } else { word };
    (attribute << 11 | word << 1) as u16 | whole_value & 1
}
/// Number of the attribute: its priority in searchableAttributes.
pub const fn attribute(packed: u16) -> u16 {
    packed >> 11
}
/// Index of the word in its attribute.
pub const fn word(packed: u16) -> u16 {
    packed >> 1 & 0x3ff
}
/// Whether the word is all there is in its attribute value (or array element).
pub const fn whole_value(packed: u16) -> bool {
    packed & 1 == 1
}
/// Attribute and word in one number, without the flag: the key of the attribute criterion.
pub const fn place(packed: u16) -> u16 {
    packed >> 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_attribute_then_word() {
        let cases = [(0, 0, 0), (0, 5, 1), (0, 999, 0), (1, 0, 1), (1, 1, 0), (31, 3, 0)];
        let packed: Vec<u16> = cases.iter().map(|&(a, w, f)| pack(a, w, f)).collect();
        assert!(packed.is_sorted());
        for (&p, (a, w, f)) in packed.iter().zip(cases) {
            assert_eq!((u32::from(attribute(p)), u32::from(word(p)), whole_value(p)), (a, w, f == 1));
        }
        assert_eq!(pack(77, 5_000, 0), pack(31, 999, 0));
    }
}
