//! Where are the words of a text that is mostly plain ASCII, and where does it stop being plain?
//!
//! Hot path: 64 bytes are looked at at once, without branches; a word costs a few instructions more, and one that begins with another
//! letter than those that are looked for nothing. Letter by letter this took a fifth of whole queries on long records.

use crate::analysis::placeholder_end;
use wide::u8x16;

/// Bytes of a word that is surely not cut.
const WORD_BYTES_MAX: u32 = 60;
/// Bytes that one number has a bit for each of.
const BLOCK: usize = 64;

/// What one text consists of. Nothing joins words across white space, so that only stretches between it which are not that
/// plain need the analyzer.
#[derive(Debug, Default)]
pub struct PlainText {
    blocks: Vec<Classes>,
    /// Stretches between white space that are not plain, in order.
    odd: Vec<(usize, usize)>,
}
impl PlainText {
    /// Takes a text up, for words that begin with one of `letters` (ASCII, small ones and digits), or with anything when there are
    /// none.
    pub fn read(&mut self, text: &str, letters: &[u8]) {
        self.odd.clear();
        let bytes = text.as_bytes();
        classify(bytes, letters, &mut self.blocks);
        let mut run = 0;
        let mut any_long = false;
        for (number, &Classes { words, mut odd, .. }) in self.blocks.iter().enumerate() {
            let from = number * BLOCK;
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
    /// Calls `each` with the start, the end and the number of every word in `from..to`, which no word may cross, that begins with one of
    /// the letters. Gives how many words there are.
    pub fn begun(&self, from: usize, to: usize, mut each: impl FnMut(usize, usize, u32)) -> u32 {
        let mut before = 0;
        for (block, words, edges) in self.blocks_of(from, to) {
            let begins = words & edges;
            let mut begun = begins & self.blocks[block].firsts;
            while begun != 0 {
                let place = begun.trailing_zeros();
                let start = block * BLOCK + place as usize;
                let number = before + (begins & ((1 << place) - 1)).count_ones();
                each(start, self.end_of(start), number);
                begun &= begun - 1;
            }
            before += begins.count_ones();
        }
        before
    }
    /// Whether each word outside of the stretches for the analyzer lies within some that are in order and apart from each other.
    pub fn lies_within(&self, length: usize, stretches: &[(usize, usize)]) -> bool {
        let ends = self.odd.iter().map(|odd| odd.0).chain([length]);
        let begins = [0].into_iter().chain(self.odd.iter().map(|odd| odd.1));
        begins.zip(ends).all(|(from, to)| {
            self.blocks_of(from, to).all(|(block, words, _)| {
                let (begin, end) = (block * BLOCK, (block + 1) * BLOCK);
                let first = stretches.partition_point(|stretch| stretch.1 <= begin);
                let here = stretches[first..].iter().take_while(|stretch| stretch.0 < end);
                let within = here.fold(0, |within, &(start, stop)| {
                    let (start, stop) = (start.max(begin) - begin, stop.min(end) - begin);
                    within | u64::MAX >> (BLOCK - (stop - start)) << start
                });
                words & !within == 0
            })
        })
    }
    /// Where the word that begins somewhere ends.
    fn end_of(&self, start: usize) -> usize {
        let (block, place) = (start / BLOCK, start % BLOCK);
        let here = (self.blocks[block].words >> place).trailing_ones() as usize;
        let next = self.blocks.get(block + 1).filter(|_| place + here == BLOCK);
        start + here + next.map_or(0, |next| next.words.trailing_ones() as usize)
    }
    /// Calls `each` with the start and the end of every word in `from..to`, which no word may cross.
    pub fn words(&self, from: usize, to: usize, mut each: impl FnMut(usize, usize)) {
        let mut open = None;
        for (block, _, mut edges) in self.blocks_of(from, to) {
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
    /// The blocks that `from..to` is in, each with the bits of its bytes of words there, and of those at which a word begins or has
    /// ended.
    fn blocks_of(&self, from: usize, to: usize) -> impl Iterator<Item = (usize, u64, u64)> {
        let (first, last) = (from / BLOCK, to.saturating_sub(1) / BLOCK);
        let end = if from < to { last + 1 } else { first };
        let mut before = 0;
        (first..end).map(move |block| {
            let mut words = self.blocks[block].words;
            if block == first {
                words &= u64::MAX << (from % BLOCK);
            }
            if block == last {
                words &= u64::MAX >> (BLOCK - 1 - (to - 1) % BLOCK);
            }
            let edges = words ^ (words << 1 | before);
            before = words >> (BLOCK - 1);
            (block, words, edges)
        })
    }
}
/// Says of each block what its bytes are; the last one goes on after the text with what is no word.
fn classify(bytes: &[u8], letters: &[u8], out: &mut Vec<Classes>) {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    out.clear();
    for block in blocks {
        out.push(Classes::of(block, letters));
    }
    out.push(Classes::of(&last, letters));
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
    /// Those of words that are looked for by their first letter, capitals or not.
    firsts: u64,
}
impl Classes {
    /// Cost: some 14 ns. In vectors of 16 bytes, which every processor has: what is wider does not fit into its registers.
    #[inline(always)]
    fn of(block: &[u8; BLOCK], letters: &[u8]) -> Classes {
        let mut all = Classes::default();
        for (number, part) in block.as_chunks().0.iter().enumerate() {
            let Classes { words, odd, firsts } = Classes::of_part(u8x16::new(*part), letters);
            let place = number * size_of::<u8x16>();
            all.words |= words << place;
            all.odd |= odd << place;
            all.firsts |= firsts << place;
        }
        if letters.is_empty() {
            all.firsts = u64::MAX;
        }
        all
    }
    /// What 16 bytes are, in the lowest bits; with none of them first where there are no letters.
    #[inline(always)]
    fn of_part(bytes: u8x16, letters: &[u8]) -> Classes {
        let small = bytes | u8x16::splat(0x20);
        let is_within = |bytes: u8x16, first: u8, count: u8| {
            let place = bytes - u8x16::splat(first);
            place.simd_eq(place.min(u8x16::splat(count - 1)))
        };
        let is = |mark: u8| bytes.simd_eq(u8x16::splat(mark));
        let mut firsts = u8x16::splat(0);
        for &letter in letters {
            firsts |= small.simd_eq(u8x16::splat(letter));
        }
        // a bit of a mask is the highest one of its byte, which what is not ASCII has
        Classes {
            words: (is_within(small, b'a', 26) | is_within(bytes, b'0', 10)).to_bitmask().into(),
            odd: (bytes | is(b'.') | is(b'\'') | is(b'$') | is(b'<')).to_bitmask().into(),
            firsts: firsts.to_bitmask().into(),
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
                let is_first = u64::from(matches!(byte, b'k' | b'K' | b'7'));
                let expected = Classes {
                    words: u64::from(byte.is_ascii_alphanumeric()) << place,
                    odd: u64::from(odd) << place,
                    firsts: is_first << place,
                };
                let classes = Classes::of(&block, b"k7");
                // what is no word may have the bit of a first letter
                let firsts = classes.firsts & classes.words;
                assert_eq!(Classes { firsts, ..classes }, expected, "{byte} at {place}");
                assert_eq!(Classes::of(&block, b"").firsts, u64::MAX);
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
            plain.read(text, b"");
            let found: Vec<&str> = plain.odd().iter().map(|&(from, to)| &text[from..to]).collect();
            assert_eq!(found, odd, "{text}");
        }
    }
    proptest! {
        #[test]
        fn words_are_runs_of_letters_and_digits(text in "[a-cX-Z0-2 ,.'\n-]{0,200}", from in 0usize..200, to in 0usize..200) {
            let mut plain = PlainText::default();
            plain.read(&text, b"");
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
        #[test]
        fn words_are_found_by_their_first_letters(
            text in "[a-cX-Z0-2 ,.'é\\n-]{0,200}", letters in "[a-cxz1]{0,3}",
        ) {
            let mut plain = PlainText::default();
            plain.read(&text, letters.as_bytes());
            let begins = |start: usize| {
                letters.is_empty() || letters.contains(char::from(text.as_bytes()[start].to_ascii_lowercase()))
            };
            for (from, to) in between(&plain, text.len()) {
                let (mut found, mut expected, mut number) = (vec![], vec![], 0);
                let count = plain.begun(from, to, |start, end, number| found.push((start, end, number)));
                plain.words(from, to, |start, end| {
                    expected.extend(begins(start).then_some((start, end, number)));
                    number += 1;
                });
                prop_assert_eq!((found, count), (expected, number));
            }
        }
        #[test]
        fn words_lie_within_stretches_that_hold_them(
            text in "[a-c ]{0,9}([a-c]{30,50} ){0,4}[a-c .é]{0,9}", cuts in proptest::collection::btree_set(0usize..230, 0..8),
        ) {
            let mut plain = PlainText::default();
            plain.read(&text, b"");
            let cuts: Vec<usize> = cuts.into_iter().collect();
            let stretches: Vec<(usize, usize)> = cuts.chunks_exact(2).map(|cut| (cut[0], cut[1])).collect();
            let mut all = true;
            for (from, to) in between(&plain, text.len()) {
                plain.words(from, to, |start, end| {
                    all &= stretches.iter().any(|stretch| stretch.0 <= start && end <= stretch.1);
                });
            }
            prop_assert_eq!(plain.lies_within(text.len(), &stretches), all);
        }
    }
    /// What is not for the analyzer.
    fn between(plain: &PlainText, length: usize) -> Vec<(usize, usize)> {
        let begins = [0].into_iter().chain(plain.odd().iter().map(|odd| odd.1));
        begins.zip(plain.odd().iter().map(|odd| odd.0).chain([length])).collect()
    }
}
