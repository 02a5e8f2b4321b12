//! How a word's place in a record fits in 16 bits: attribute 5 bits, word 10 bits, whole-value flag 1 bit (lowest).
//!
//! Comparing two packed positions as numbers compares (attribute, word). Each attribute of searchableAttributes has a number
//! of its own, so that parameters can name it apart from those that share its priority. Of more than 32, attributes of one
//! priority share a number, and those from priority 31 on number 31. Words from 999 on share number 999.

use super::form::SegmentForm;
use quorate_model::settings::IndexSettings;

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
/// Number of the attribute, see [`AttributeNumbers`].
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

/// What the numbers of attributes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeNumbers {
    /// Priority by number, ascending.
    priorities: [u8; ATTRIBUTE_MAX as usize + 1],
    /// One bit for each number whose word positions do not rank.
    unordered: u32,
    /// Whether every attribute ranks by its number and its words by theirs, as they do when each has a priority of its own.
    by_place: bool,
}
impl AttributeNumbers {
    /// Where neither attributes nor positions rank.
    pub const UNRANKED: AttributeNumbers = AttributeNumbers {
        priorities: [0; ATTRIBUTE_MAX as usize + 1],
        unordered: u32::MAX,
        by_place: false,
    };
    /// Of the attributes of an index. Without searchableAttributes all words are in number 0, and positions do not rank.
    pub fn new(settings: &IndexSettings, form: SegmentForm) -> AttributeNumbers {
        let mut numbers = AttributeNumbers { unordered: 0, ..Self::UNRANKED };
        numbers.unordered = u32::from(settings.searchable_attributes.is_empty());
        numbers.by_place = numbers.unordered == 0;
        for (attribute, number) in
            settings.searchable_attributes.iter().zip(attribute_numbers(settings, form))
        {
            numbers.priorities[number as usize] = attribute.priority.min(ATTRIBUTE_MAX as u16) as u8;
            numbers.unordered |= u32::from(!attribute.ordered) << number;
            numbers.by_place &= attribute.ordered && u32::from(attribute.priority) == number;
        }
        numbers
    }
    /// What a position counts for the attribute criterion (C§7.7): priority and word, without the flag.
    #[inline]
    pub fn rank(&self, packed: u16) -> u16 {
        if self.by_place {
            return place(packed);
        }
        let number = attribute(packed);
        let word = if self.unordered >> number & 1 == 1 { 0 } else { word(packed) };
        u16::from(self.priorities[usize::from(number)]) << 10 | word
    }
}
/// The number of each of the searchable attributes, in their order. In segments of the first form those of one priority always
/// share it.
pub fn attribute_numbers(settings: &IndexSettings, form: SegmentForm) -> impl Iterator<Item = u32> + '_ {
    let listed = &settings.searchable_attributes;
    let is_roomy = match form {
        SegmentForm::First => false,
        SegmentForm::Lettered => listed.len() <= ATTRIBUTE_MAX as usize + 1,
    };
    listed.iter().enumerate().map(move |(place, attribute)| match is_roomy {
        true => place as u32,
        false => u32::from(attribute.priority).min(ATTRIBUTE_MAX),
    })
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
    #[test]
    fn attributes_of_one_priority_have_their_own_numbers_while_there_are_enough() {
        let settings = |listed: serde_json::Value| {
            let document = serde_json::json!({"searchableAttributes": listed});
            quorate_model::Settings::from_document(document.as_object().unwrap()).unwrap().index
        };
        let few = settings(serde_json::json!(["a", "b,c", "unordered(d)", "e"]));
        assert_eq!(attribute_numbers(&few, SegmentForm::Lettered).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        let numbers = AttributeNumbers::new(&few, SegmentForm::Lettered);
        let ranks: Vec<u16> = (0..5).map(|number| numbers.rank(pack(number, 7, 1))).collect();
        assert_eq!(ranks, [7, 1 << 10, 1 << 10, 2 << 10, 3 << 10 | 7]);
        let list: Vec<String> = (0..40).map(|n| format!("x{n},y{n}")).collect();
        let many = settings(serde_json::json!(list));
        let of_many: Vec<u32> = attribute_numbers(&many, SegmentForm::Lettered).collect();
        assert_eq!((of_many[1], of_many[2], of_many[79]), (0, 1, 31));
        assert_eq!(AttributeNumbers::new(&many, SegmentForm::Lettered).rank(pack(31, 3, 0)), 31 << 10);
        let none = AttributeNumbers::new(&settings(serde_json::json!([])), SegmentForm::Lettered);
        assert_eq!(none.rank(pack(0, 9, 0)), 0);
    }
}
