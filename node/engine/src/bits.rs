//! How are sets of documents of one segment combined? As plain words of 64 documents.
//!
//! Whole sets are gone through with wide vectors where the machine has them.

use multiversion::multiversion;

/// Words that hold `documents` bits.
pub fn words_for(documents: u32) -> usize {
    (documents as usize).div_ceil(64)
}
/// Sets the bits of every document below `documents`, clears the rest.
pub fn fill_all(set: &mut [u64], documents: u32) {
    set.fill(u64::MAX);
    let rest = documents & 63;
    if rest != 0
        && let Some(last) = set.last_mut()
    {
        *last = (1 << rest) - 1;
    }
}
/// Clears every document from `documents` on.
pub fn clear_from(set: &mut [u64], documents: u32) {
    let (full, rest) = (documents as usize >> 6, documents & 63);
    if let Some(word) = set.get_mut(full) {
        *word &= (1 << rest) - 1;
    }
    set.iter_mut().skip(full + 1).for_each(|word| *word = 0);
}
/// Clears every document before `documents`.
pub fn clear_before(set: &mut [u64], documents: u32) {
    let (full, rest) = (documents as usize >> 6, documents & 63);
    set.iter_mut().take(full).for_each(|word| *word = 0);
    if let Some(word) = set.get_mut(full) {
        *word &= u64::MAX << rest;
    }
}
/// Keeps what is also in `other`.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt+lzcnt"))]
pub fn and(set: &mut [u64], other: &[u64]) {
    for (x, y) in set.iter_mut().zip(other) {
        *x &= *y;
    }
}
/// Adds what is in `other`.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt+lzcnt"))]
pub fn or(set: &mut [u64], other: &[u64]) {
    for (x, y) in set.iter_mut().zip(other) {
        *x |= *y;
    }
}
/// Removes what is in `other`.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt+lzcnt"))]
pub fn and_not(set: &mut [u64], other: &[u64]) {
    for (x, y) in set.iter_mut().zip(other) {
        *x &= !*y;
    }
}
/// One bit for each flag that is 1; the others are 0.
#[inline(always)]
pub fn packed(flags: &[u8; 64]) -> u64 {
    let bytes = flags.as_chunks::<8>().0.iter().enumerate();
    // the product moves the lowest bit of each byte into the highest byte, in order
    bytes.fold(0, |bits, (i, eight)| {
        bits | (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i)
    })
}
/// Adds one document.
#[inline]
pub fn insert(set: &mut [u64], doc: u32) {
    if let Some(word) = set.get_mut(doc as usize >> 6) {
        *word |= 1 << (doc & 63);
    }
}
/// Whether the document is in the set.
#[inline]
pub fn contains(set: &[u64], doc: u32) -> bool {
    set.get(doc as usize >> 6).is_some_and(|word| word >> (doc & 63) & 1 == 1)
}
/// How many documents are in the set.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt+lzcnt"))]
pub fn count(set: &[u64]) -> u64 {
    set.iter().map(|word| u64::from(word.count_ones())).sum()
}
/// How many documents are in both sets.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt+lzcnt"))]
pub fn count_both(a: &[u64], b: &[u64]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from((a & b).count_ones())).sum()
}
/// Calls `visit` with every document in order until it answers `false`.
#[inline]
pub fn each(set: &[u64], mut visit: impl FnMut(u32) -> bool) {
    for (i, &word) in set.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            let doc = (i as u32) << 6 | rest.trailing_zeros();
            rest &= rest - 1;
            if !visit(doc) {
                return;
            }
        }
    }
}
/// Every document, in order.
#[inline]
pub fn documents(set: &[u64]) -> impl Iterator<Item = u32> + '_ {
    let (mut next, mut base, mut rest) = (0, 0u32, 0u64);
    std::iter::from_fn(move || {
        while rest == 0 {
            rest = *set.get(next)?;
            base = (next as u32) << 6;
            next += 1;
        }
        let doc = base | rest.trailing_zeros();
        rest &= rest - 1;
        Some(doc)
    })
}
/// Adds every ordinal of the half-open range.
pub fn insert_range(set: &mut [u64], low: u32, high: u32) {
    if low >= high {
        return;
    }
    let (first, last) = (low as usize >> 6, (high - 1) as usize >> 6);
    let from = u64::MAX << (low & 63);
    let to = u64::MAX >> (63 - ((high - 1) & 63));
    if first == last {
        set[first] |= from & to;
        return;
    }
    set[first] |= from;
    set[first + 1..last].fill(u64::MAX);
    set[last] |= to;
}
/// Clears every word that holds an ordinal of the half-open range.
pub fn clear_range(set: &mut [u64], low: u32, high: u32) {
    if low < high {
        set[low as usize >> 6..=(high - 1) as usize >> 6].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_set_exactly_their_bits() {
        for (low, high) in [(0, 0), (0, 1), (0, 64), (3, 64), (3, 65), (60, 130), (64, 128), (1, 200)] {
            let mut set = vec![0; 4];
            insert_range(&mut set, low, high);
            let mut found = vec![];
            each(&set, |doc| {
                found.push(doc);
                true
            });
            assert_eq!(found, (low..high).collect::<Vec<_>>());
            assert_eq!(documents(&set).collect::<Vec<_>>(), found);
            clear_range(&mut set, low, high);
            assert_eq!(count(&set), 0);
        }
    }
    #[test]
    fn a_set_is_cut_at_any_document() {
        for documents in [0, 1, 63, 64, 65, 127, 128, 500] {
            let (mut before, mut from) = (vec![u64::MAX; 2], vec![u64::MAX; 2]);
            clear_from(&mut before, documents);
            clear_before(&mut from, documents);
            assert_eq!(count(&before), u64::from(documents.min(128)));
            assert!(before.iter().zip(&from).all(|(a, b)| a ^ b == u64::MAX), "{documents}");
        }
    }
    #[test]
    fn fill_stops_at_the_last_document() {
        for documents in [0, 1, 63, 64, 65, 128] {
            let mut set = vec![0; words_for(documents)];
            fill_all(&mut set, documents);
            assert_eq!(count(&set), u64::from(documents));
        }
    }
}
