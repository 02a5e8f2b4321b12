//! Which documents have a number that a filter asks for? (C§5.4)
//!
//! Cost: where documents have one number each, 0.2 ns a document, and less where documents that stand together have numbers near each
//! other. Where they have several, each is looked at once for all comparisons of a group that are intervals.

use super::DOCS_PER_UNIT;
use crate::bits;
use crate::clock::Clock;
use crate::index::{EXTENT_DOCS, NumericColumn, Segment};
use multiversion::multiversion;
use quorate_model::filter::NumericOp;

/// Numbers compare with three decimals (C§5.4).
pub fn rounded(x: f64) -> f64 {
    if x.abs() < 1e12 { (x * 1_000.0).round() } else { x * 1_000.0 }
}
/// The number that holds the place of `x` in the order of floats, below zero too.
fn place_of(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}
fn number_at(place: u64) -> f64 {
    f64::from_bits(if place >> 63 == 1 { place & !(1 << 63) } else { !place })
}
/// The first float, in order, for which `holds`, which does so for all after it; infinity when there is none.
fn first_float(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (place_of(f64::NEG_INFINITY), place_of(f64::INFINITY));
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(number_at(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    number_at(low)
}
/// The lowest number whose rounded form is at least `value`: rounding keeps the order, so columns are compared as they
/// are stored.
fn lowest_from(value: f64) -> f64 {
    first_float(|x| rounded(x) >= value)
}
/// The highest number whose rounded form is at most `value`.
fn highest_to(value: f64) -> f64 {
    -first_float(|x| rounded(-x) <= value)
}
/// The numbers, both ends included, for which a comparison holds; `None` for [`NumericOp::Ne`], which holds for all numbers of a document or
/// not.
pub(super) fn interval(op: NumericOp, value: f64) -> Option<(f64, f64)> {
    let value = rounded(value);
    let all = (f64::NEG_INFINITY, f64::INFINITY);
    Some(match op {
        NumericOp::Eq => (lowest_from(value), highest_to(value)),
        NumericOp::Le => (all.0, highest_to(value)),
        NumericOp::Ge => (lowest_from(value), all.1),
        NumericOp::Lt => (all.0, lowest_from(value).next_down()),
        NumericOp::Gt => (highest_to(value).next_up(), all.1),
        NumericOp::Ne => return None,
    })
}
/// The numbers between two others.
pub(super) fn range(from: f64, to: f64) -> (f64, f64) {
    (lowest_from(rounded(from)), highest_to(rounded(to)))
}
/// What comparing an attribute's numbers is worth in documents that are ranked, where documents have several; 0 elsewhere.
pub(super) fn cost_of_several(segment: &Segment, attribute: &str) -> u32 {
    let several = segment.numeric(attribute).filter(|column| column.singles().is_none());
    several.map_or(0, |column| units(column.values().len()))
}
fn units(numbers: usize) -> u32 {
    (numbers / DOCS_PER_UNIT as usize) as u32
}
/// Adds the documents that have numbers, none of which is this one.
pub(super) fn add_without(segment: &Segment, attribute: &str, value: f64, set: &mut [u64]) {
    let value = rounded(value);
    let Some(column) = segment.numeric(attribute) else { return };
    for doc in documents_of(segment, &column) {
        let values = column.values_of(doc);
        if !values.is_empty() && values.iter().all(|&x| rounded(x) != value) {
            bits::insert(set, doc);
        }
    }
}
/// Adds the documents with a number in one of the intervals, of an attribute of which documents have several, until the clock rings.
pub(super) fn add_several(
    segment: &Segment,
    attribute: &str,
    intervals: Vec<(f64, f64)>,
    set: &mut [u64],
    clock: &mut Clock,
) {
    let Some(column) = segment.numeric(attribute) else { return };
    let intervals = apart(intervals);
    let is_in = |&x: &f64| {
        let after = intervals.partition_point(|&(from, _)| from <= x);
        after > 0 && x <= intervals[after - 1].1
    };
    for doc in documents_of(segment, &column) {
        let values = column.values_of(doc);
        if clock.spend(units(values.len()) + 1) {
            return;
        }
        if values.iter().any(is_in) {
            bits::insert(set, doc);
        }
    }
}
/// The same intervals in order, those that touch put together, and none that is empty.
fn apart(mut intervals: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    intervals.retain(|(from, to)| from <= to);
    intervals.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut all: Vec<(f64, f64)> = vec![];
    for (from, to) in intervals {
        match all.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = last.1.max(to),
            None => all.push((from, to)),
        }
    }
    all
}
/// The documents that may have numbers in the column.
fn documents_of<'a>(segment: &Segment, column: &NumericColumn<'a>) -> impl Iterator<Item = u32> + 'a {
    let listed = column.documents();
    let all = if listed.is_some() { 0..0 } else { 0..segment.doc_count() };
    listed.into_iter().flatten().chain(all)
}
/// Adds the documents with a number between the two, both included.
pub(super) fn add_between(segment: &Segment, attribute: &str, (from, to): (f64, f64), set: &mut [u64]) {
    let Some(column) = segment.numeric(attribute) else { return };
    match column.singles() {
        Some(values) => add_by_extents(values, column.extents(), from, to, set),
        None => {
            for doc in documents_of(segment, &column) {
                if column.values_of(doc).iter().any(|&x| between(x, from, to)) {
                    bits::insert(set, doc);
                }
            }
        }
    }
}
/// Whether a number lies between the two; not a number never does.
#[inline]
fn between(x: f64, from: f64, to: f64) -> bool {
    (x >= from) & (x <= to)
}
/// The same for the only numbers of the documents, in order. Where documents that stand together have numbers near each
/// other, as those have that rank by it, most are told by their extent: 1 ns for 1,024 of them.
fn add_by_extents(values: &[f64], extents: &[[f64; 2]], from: f64, to: f64, set: &mut [u64]) {
    let parts = set.chunks_mut(EXTENT_DOCS / 64).zip(values.chunks(EXTENT_DOCS));
    for ((set, values), &[least, greatest]) in parts.zip(extents) {
        if least > to || greatest < from {
            continue;
        }
        if from <= least && greatest <= to {
            bits::insert_range(set, 0, values.len() as u32);
        } else {
            add_singles(values, from, to, set);
        }
    }
}
/// The same by looking at each. Cost: 0.2 ns a document where vectors are wide.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt+lzcnt"))]
fn add_singles(values: &[f64], from: f64, to: f64, set: &mut [u64]) {
    for (word, values) in set.iter_mut().zip(values.chunks(64)) {
        let mut flags = [0u8; 64];
        for (flag, &x) in flags.iter_mut().zip(values) {
            *flag = u8::from(between(x, from, to));
        }
        *word |= bits::packed(&flags);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_numbers_agree_with_rounding_each() {
        let values =
            [0.0, -0.0, 0.0004, 0.0005, -0.0005, 1.0, 1.0015, -7.25, 999.9995, 1e12, -1e12, 3e15, 1e300];
        for value in values {
            let value = rounded(value);
            let (low, high) = (lowest_from(value), highest_to(value));
            for x in values.into_iter().chain([low, high, low.next_down(), low.next_up(), high.next_up()]) {
                for x in [x, x.next_up(), x.next_down(), -x] {
                    assert_eq!(rounded(x) >= value, x >= low, "{x} from {value}");
                    assert_eq!(rounded(x) <= value, x <= high, "{x} to {value}");
                    assert_eq!(rounded(x) < value, x <= low.next_down(), "{x} below {value}");
                    assert_eq!(rounded(x) > value, x >= high.next_up(), "{x} above {value}");
                }
            }
        }
    }
    #[test]
    fn extents_tell_what_looking_at_each_tells() {
        let sorted: Vec<f64> = (0..3_000).map(|i| f64::from(i / 7)).collect();
        let mixed: Vec<f64> = (0..2_500).map(|i| f64::from(i * 7_919 % 400)).collect();
        let gaps: Vec<f64> =
            (0..2_048).map(|i| if i % 1_500 == 3 { f64::NAN } else { f64::from(i) }).collect();
        let none = vec![f64::NAN; 1_030];
        for values in [sorted, mixed, gaps, none, vec![5.0; 1_024]] {
            for (from, to) in
                [(0.0, 100.0), (5.0, 5.0), (146.0, 300.0), (f64::NEG_INFINITY, f64::INFINITY), (9.0, 2.0)]
            {
                let mut set = vec![0u64; values.len().div_ceil(64)];
                add_by_extents(&values, &crate::index::extents_of(&values), from, to, &mut set);
                for (doc, &x) in values.iter().enumerate() {
                    assert_eq!(bits::contains(&set, doc as u32), between(x, from, to), "{x} in {from}..{to}");
                }
                assert_eq!(
                    bits::count(&set),
                    values.iter().filter(|x| between(**x, from, to)).count() as u64
                );
            }
        }
    }
    #[test]
    fn intervals_that_touch_are_one() {
        let intervals = vec![(5.0, 6.0), (1.0, 2.0), (9.0, 8.0), (2.0, 3.0), (5.5, 5.7), (-4.0, -4.0)];
        assert_eq!(apart(intervals), [(-4.0, -4.0), (1.0, 3.0), (5.0, 6.0)]);
    }
    #[test]
    fn comparisons_keep_their_places() {
        let mut values = [0.0; 64];
        for i in [0, 1, 15, 16, 40, 63] {
            values[i] = 1.0;
        }
        let mut set = [0u64];
        add_singles(&values, 0.5f64.next_up(), f64::INFINITY, &mut set);
        assert_eq!(set, [1 | 1 << 1 | 1 << 15 | 1 << 16 | 1 << 40 | 1 << 63]);
    }
}
