//! Which tokens of a shown text can surely not match any word of the query?
//!
//! Hot path: a token costs a look at its length, then one at its letters, then two instructions for each word; what passes is
//! compared letter by letter. With typos that comparison took half of the time of showing long texts.

/// What tokens must have to match one word.
#[derive(Clone, Copy, Debug)]
struct Mesh {
    /// A bit for each letter of the word.
    letters: u64,
    /// Edits allowed: each can be a letter that is not in the token.
    edits: u8,
    /// Fewest characters of a token.
    shortest: usize,
    /// Most characters of a token.
    longest: usize,
}
/// The words that tokens of one text may match.
#[derive(Clone, Debug, Default)]
pub struct Sieve {
    meshes: Vec<Mesh>,
    /// Fewest characters of any token that passes.
    shortest: usize,
}
/// The bit of a character; several share one.
#[inline]
fn bit(c: u32) -> u64 {
    1 << (c & 63)
}
impl Sieve {
    /// No word.
    pub fn clear(&mut self) {
        self.meshes.clear();
        self.shortest = usize::MAX;
    }
    /// Lets tokens pass that may match a word, or with `prefix` go on after it, with so many edits.
    pub fn admit(&mut self, word: impl Iterator<Item = char>, prefix: bool, edits: u8) {
        let (mut letters, mut length) = (0, 0);
        for c in word {
            letters |= bit(u32::from(c));
            length += 1;
        }
        let shortest = usize::saturating_sub(length, usize::from(edits));
        let longest = if prefix { usize::MAX } else { length + usize::from(edits) };
        self.shortest = self.shortest.min(shortest);
        self.meshes.push(Mesh { letters, edits, shortest, longest });
    }
    /// Whether an ASCII token, in capitals or not, may match.
    #[inline]
    pub fn passes_ascii(&self, token: &[u8]) -> bool {
        if token.len() < self.shortest {
            return false;
        }
        let letters = token.iter().fold(0, |all, byte| all | bit(byte.to_ascii_lowercase().into()));
        self.passes(letters, token.len())
    }
    /// Whether a normalised token may match.
    #[inline]
    pub fn passes_token(&self, token: &str) -> bool {
        let (mut letters, mut length) = (0, 0);
        for c in token.chars() {
            letters |= bit(u32::from(c));
            length += 1;
        }
        self.passes(letters, length)
    }
    #[inline]
    fn passes(&self, letters: u64, length: usize) -> bool {
        self.meshes.iter().any(|mesh| {
            let mut missing = mesh.letters & !letters;
            for _ in 0..mesh.edits {
                missing &= missing.wrapping_sub(1);
            }
            missing == 0 && mesh.shortest <= length && length <= mesh.longest
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matching::typo::{Tolerance, typos_of};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_matches_passes(word in "[abcé]{1,6}", token in "[abcé]{1,8}", edits in 0u8..3, prefix: bool, deep: bool) {
            let mut sieve = Sieve::default();
            sieve.admit(word.chars(), prefix, edits);
            let (a, b): (Vec<char>, Vec<char>) = (word.chars().collect(), token.chars().collect());
            if typos_of(&a, &b, Tolerance { edits, prefix, deep }).is_some() {
                prop_assert!(sieve.passes_token(&token));
                prop_assert!(!token.is_ascii() || sieve.passes_ascii(token.to_uppercase().as_bytes()));
            }
        }
    }
    #[test]
    fn what_lacks_letters_or_length_does_not_pass() {
        let mut sieve = Sieve::default();
        sieve.admit("galaxy".chars(), false, 1);
        for (token, passes) in
            [("Galaxy", true), ("glaxy", true), ("galaxies", false), ("gal", false), ("phones", false)]
        {
            assert_eq!(sieve.passes_ascii(token.as_bytes()), passes, "{token}");
        }
        assert!(!Sieve::default().passes_ascii(b"galaxy"));
    }
}
