//! How do numbers and texts lie in a region of a rollup? Numbers with seven bits a byte, texts behind their length.

use crate::error::{Error, Result};
use std::path::Path;

/// Adds a number.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
/// Adds a text.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// A region is not what was written, though its checksum fits.
pub(super) fn malformed(what: &str) -> Error {
    Error::damaged(Path::new("a rollup of searches"), what)
}

/// Takes from the front of a region what was added to it.
pub(super) struct Reader<'b>(pub &'b [u8]);

impl<'b> Reader<'b> {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// So many bytes.
    pub fn take(&mut self, count: usize) -> Result<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or_else(|| malformed("it ends early"))?;
        self.0 = rest;
        Ok(taken)
    }
    /// So many bytes as they are.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(|| malformed("it ends early"))?;
        self.0 = rest;
        Ok(*taken)
    }
    /// A number.
    #[inline]
    pub fn number(&mut self) -> Result<u64> {
        // most have one byte
        if let [first, rest @ ..] = self.0
            && *first < 0x80
        {
            self.0 = rest;
            return Ok(u64::from(*first));
        }
        let mut value = 0;
        for (at, byte) in self.0.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * at as u32);
            if *byte < 0x80 {
                self.0 = &self.0[at + 1..];
                return Ok(value);
            }
        }
        Err(malformed("a number without end"))
    }
    /// A number of this range, of what follows or of a place in a list.
    pub fn index(&mut self) -> Result<usize> {
        usize::try_from(self.number()?).map_err(|_| malformed("a number that is too large"))
    }
    /// How many things follow, which take a byte each at least.
    pub fn count(&mut self) -> Result<usize> {
        let count = self.index()?;
        if count <= self.0.len() { Ok(count) } else { Err(malformed("more than there is")) }
    }
    /// A text.
    pub fn text(&mut self) -> Result<&'b str> {
        let length = self.count()?;
        std::str::from_utf8(self.take(length)?).map_err(|_| malformed("text that is none"))
    }
    /// Texts behind their number.
    pub fn texts(&mut self) -> Result<Vec<&'b str>> {
        (0..self.count()?).map(|_| self.text()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_added_is_taken(numbers in prop::collection::vec(any::<u64>().prop_map(|n| n >> (n % 64)), 0..20), text in ".{0,9}") {
            let mut out = vec![];
            numbers.iter().for_each(|number| put(&mut out, *number));
            put_text(&mut out, &text);
            let mut reader = Reader(&out);
            for number in numbers {
                prop_assert_eq!(reader.number().expect("there"), number);
            }
            prop_assert_eq!(reader.text().expect("there"), text);
            prop_assert!(reader.is_empty() && reader.number().is_err() && reader.array::<1>().is_err());
        }
        #[test]
        fn whatever_is_there_is_an_error_at_most(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut reader = Reader(&bytes);
            while reader.number().and_then(|_| reader.texts()).is_ok() {}
        }
    }
}
