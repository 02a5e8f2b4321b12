//! How is a long list sorted so that it can be stopped meanwhile?

use super::error::{Result, go_on};
use std::cmp::Ordering;
use std::sync::atomic::AtomicBool;

/// Elements that are sorted, or merged, without a look at the flag: some 20 ms at worst.
const PIECE: usize = 1 << 14;

/// Sorts pieces, then merges them. `order` tells all elements apart.
pub(super) fn sort<T: Copy>(
    mut list: Vec<T>,
    order: impl Fn(&T, &T) -> Ordering,
    stop: &AtomicBool,
) -> Result<Vec<T>> {
    for piece in list.chunks_mut(PIECE) {
        go_on(stop)?;
        piece.sort_unstable_by(&order);
    }
    let mut merged = Vec::new();
    let mut width = PIECE;
    while width < list.len() {
        merged.clear();
        merged.reserve_exact(list.len());
        for pair in list.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, &mut merged, &order, stop)?;
        }
        std::mem::swap(&mut list, &mut merged);
        width *= 2;
    }
    Ok(list)
}

fn merge<T: Copy>(
    mut left: &[T],
    mut right: &[T],
    into: &mut Vec<T>,
    order: impl Fn(&T, &T) -> Ordering,
    stop: &AtomicBool,
) -> Result<()> {
    while let ([first, rest_left @ ..], [second, rest_right @ ..]) = (left, right) {
        if into.len().is_multiple_of(PIECE) {
            go_on(stop)?;
        }
        if order(first, second).is_lt() {
            into.push(*first);
            left = rest_left;
        } else {
            into.push(*second);
            right = rest_right;
        }
    }
    into.extend_from_slice(left);
    into.extend_from_slice(right);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::exact::spread;
    use super::*;

    #[test]
    fn long_lists_are_sorted() {
        for length in [0, 1, PIECE, PIECE + 1, 3 * PIECE, 5 * PIECE + 7] {
            let list: Vec<u64> = (0..length as u64).map(spread).collect();
            let mut wanted = list.clone();
            wanted.sort_unstable();
            assert_eq!(sort(list, u64::cmp, &AtomicBool::new(false)).unwrap(), wanted);
        }
    }
    #[test]
    fn sorting_stops() {
        assert!(sort(vec![2, 1], i32::cmp, &AtomicBool::new(true)).is_err());
    }
}
