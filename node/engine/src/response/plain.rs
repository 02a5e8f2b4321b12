//! Where are the words of a text that is mostly plain ASCII, and where does it stop being plain?
//!
//! Hot path: 64 bytes are looked at at once, without branches; a word costs a few instructions more. Letter by letter this took a
//! fifth of whole queries on long records.

use crate::analysis::placeholder_end;
use crate::bits::packed;

/// Bytes of a word that is surely not cut.
const WORD_BYTES_MAX: u32 = 60;
/// Bytes that one number has a bit for each of.
const BLOCK: usize = 64;

/// What one text consists of. Nothing joins words across white space, so that only stretches between it which are not that
/// plain need the analyzer.
#[derive(Debug, Default)]
pub struct PlainText {
    /// One bit for each byte: whether it is a letter or digit of ASCII.
    words: Vec<u64>,
    /// Stretches between white space that are not plain, in order.
    odd: Vec<(usize, usize)>,
}
impl PlainText {
    /// Takes a text up.
    pub fn read(&mut self, text: &str) {
        self.words.clear();
        self.odd.clear();
        let bytes = text.as_bytes();
        let mut run = 0;
        let mut any_long = false;
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        for (number, block) in blocks.iter().chain([&last]).enumerate() {
            let from = number * BLOCK;
            let Classes { words, mut odd } = Classes::of(block);
            self.words.push(words);
            while odd != 0 {
                let at = from + odd.trailing_zeros() as usize;
                odd &= odd - 1;
                if self.odd.last().is_none_or(|last| last.1 <= at) && is_odd(text, at) {
                    self.odd.push(stretch(bytes, at));
                }
            }
            let is_cut = run + words.trailing_ones() > WORD_BYTES_MAX;
            if is_cut || words.count_ones() > WORD_BYTES_MAX {
                // of so many one is at the block's start, or else in its middle
                self.odd.push(stretch(bytes, if is_cut { from } else { from + BLOCK / 2 }));
                any_long = true;
            }
            run = if words == u64::MAX { run + u64::BITS } else { words.leading_ones() };
        }
        if any_long {
            self.odd.sort_unstable();
            self.odd.dedup();
        }
    }
    /// The stretches that the analyzer has to look at.
    pub fn odd(&self) -> &[(usize, usize)] {
        &self.odd
    }
    /// Calls `each` with the start and the end of every word in `from..to`, which no word may cross.
    pub fn words(&self, from: usize, to: usize, mut each: impl FnMut(usize, usize)) {
        let Some(last) = to.checked_sub(1).filter(|_| from < to) else { return };
        let mut open = None;
        let mut before = 0;
        for block in from / BLOCK..=last / BLOCK {
            let mut words = self.words[block];
            if block == from / BLOCK {
                words &= u64::MAX << (from % BLOCK);
            }
            if block == last / BLOCK {
                words &= u64::MAX >> (BLOCK - 1 - last % BLOCK);
            }
            let mut edges = words ^ (words << 1 | before);
            before = words >> (BLOCK - 1);
            while edges != 0 {
                let at = block * BLOCK + edges.trailing_zeros() as usize;
                edges &= edges - 1;
                match open.take() {
                    Some(start) => each(start, at),
                    None => open = Some(at),
                }
            }
        }
        if let Some(start) = open {
            each(start, to);
        }
    }
}
fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}
/// What lies between white space around a byte.
fn stretch(bytes: &[u8], at: usize) -> (usize, usize) {
    let from = bytes[..at].iter().rposition(is_space).map_or(0, |space| space + 1);
    let length = bytes[at..].iter().position(is_space);
    (from, length.map_or(bytes.len(), |length| at + length))
}
/// Whether a byte of [`Classes::odd`] joins words here, stands alone as a word, or needs the rules of normalisation.
fn is_odd(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let in_word = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_alphanumeric);
    match bytes[at] {
        b'.' | b'\'' => at > 0 && in_word(at - 1) && in_word(at + 1),
        b'<' => placeholder_end(text, at).is_some(),
        _ => true,
    }
}

/// What 64 bytes are, one bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Classes {
    /// Letters and digits of ASCII.
    words: u64,
    /// `.`, `'`, `$`, `<`, and all that is not ASCII.
    odd: u64,
}
impl Classes {
    fn of(block: &[u8; BLOCK]) -> Classes {
        let is_word = |byte: u8| (byte | 0x20).wrapping_sub(b'a') < 26 || byte.wrapping_sub(b'0') < 10;
        let is_odd = |byte: u8| !byte.is_ascii() || matches!(byte, b'.' | b'\'' | b'$' | b'<');
        Classes {
            words: packed(&block.map(|byte| u8::from(is_word(byte)))),
            odd: packed(&block.map(|byte| u8::from(is_odd(byte)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_byte_has_its_class() {
        for byte in 0..=u8::MAX {
            for place in [0, 7, 8, 63] {
                let mut block = [b' '; 64];
                block[place] = byte;
                let odd = !byte.is_ascii() || matches!(byte, b'.' | b'\'' | b'$' | b'<');
                let expected = Classes {
                    words: u64::from(byte.is_ascii_alphanumeric()) << place,
                    odd: u64::from(odd) << place,
                };
                assert_eq!(Classes::of(&block), expected, "{byte} at {place}");
            }
        }
    }
    #[test]
    fn only_what_is_not_plain_is_left_to_the_analyzer() {
        let long = "x".repeat(61);
        for (text, odd) in [
            ("The end. 'Quoted' x<b>y and (so) on", vec![]),
            ("don't stop e.g. at <name> or $3", vec!["don't", "e.g.", "<name>", "$3"]),
            ("a déjà-vu, b", vec!["déjà-vu,"]),
            (&format!("one {long} two"), vec![long.as_str()]),
            (&format!("é {long}"), vec!["é", long.as_str()]),
            (&format!("one é {long} é"), vec!["é", long.as_str(), "é"]),
            (&format!("{}-{long}", "y".repeat(70)), vec![&format!("{}-{long}", "y".repeat(70))]),
        ] {
            let mut plain = PlainText::default();
            plain.read(text);
            let found: Vec<&str> = plain.odd().iter().map(|&(from, to)| &text[from..to]).collect();
            assert_eq!(found, odd, "{text}");
        }
    }
    proptest! {
        #[test]
        fn words_are_runs_of_letters_and_digits(text in "[a-cX-Z0-2 ,.'\n-]{0,200}", from in 0usize..200, to in 0usize..200) {
            let mut plain = PlainText::default();
            plain.read(&text);
            let space = |at: usize| {
                let rest = text[at.min(text.len())..].find(' ');
                rest.map_or(text.len(), |length| at + length)
            };
            let (from, to) = (space(from), space(to));
            let mut found = vec![];
            plain.words(from, to, |start, end| found.push(&text[start..end]));
            let stretch = text.get(from..to).unwrap_or_default();
            let expected: Vec<&str> =
                stretch.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
