//! How is memory asked for before it is needed? The only unsafe code of the engine: one instruction.
//!
//! Documents that a query looks at are scattered over an index larger than the caches; asked for some documents ahead, their
//! lines come while others are evaluated.

#![allow(unsafe_code)]

/// Bytes that come at once.
const LINE: usize = 64;
/// Lines of one stretch that are asked for at most; the processor goes on by itself.
const LINES_MAX: usize = 8;

/// Asks for the element of a slice; nothing when there is none. Changes nothing but the time of a later look at it.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(element) = slice.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the pointer is that of a reference, and the instruction, which every x86_64 has, reads nothing into the
        // program and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(element).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = slice.get(at);
}
/// Asks for the elements `from..to` of a slice.
#[inline(always)]
pub fn prefetch_range<T>(slice: &[T], from: usize, to: usize) {
    let per_line = (LINE / size_of::<T>().max(1)).max(1);
    for at in (from..to).step_by(per_line).take(LINES_MAX) {
        prefetch(slice, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_place_may_be_asked_for() {
        let numbers: Vec<u32> = (0..1_000).collect();
        for at in [0, 999, 1_000, usize::MAX] {
            prefetch(&numbers, at);
        }
        prefetch_range(&numbers, 990, 5_000);
        prefetch_range(&numbers, 7, 3);
        prefetch::<u32>(&[], 0);
        assert_eq!(numbers.iter().sum::<u32>(), 499_500);
    }
}
