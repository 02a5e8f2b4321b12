//! Which documents of a segment pass a filter? (C§5)
pub mod scores;
pub mod single;

use crate::bits;
use crate::clock::Clock;
use crate::index::{EXTENT_DOCS, FacetDocs, NumericColumn, Segment, fold};
use crate::scratch::Scratch;
use multiversion::multiversion;
use quorate_model::filter::{AnyOf, NumericOp};
use quorate_model::settings::IndexSettings;
use quorate_model::user::{OWNER, PUBLIC, owner_of};
use quorate_model::{Atom, Filter, FilterAtom};
use std::borrow::Cow;
use std::time::{Duration, Instant};

/// A filter without a deadline is bounded by the records.
const NO_DEADLINE: Duration = Duration::from_secs(24 * 3_600);
/// Documents whose numbers are compared in the time of ranking one.
const DOCS_PER_UNIT: u32 = 64;
/// The attribute that every record may carry for tag filters.
const TAGS: &str = "_tags";
/// The attribute that identifies records; always filterable.
const OBJECT_ID: &str = "objectID";

/// The documents that pass the filter, dead ones included; `None` when it restricts nothing.
pub fn filter_set(segment: &Segment, settings: &IndexSettings, filter: &Filter) -> Option<Vec<u64>> {
    let endless = Instant::now() + NO_DEADLINE;
    filter_set_in_time(segment, settings, filter, &mut Clock::new(&endless.into()), &mut Scratch::new())
}
/// The same while there is time. Once the clock rings, no document passes.
pub fn filter_set_in_time(
    segment: &Segment,
    settings: &IndexSettings,
    filter: &Filter,
    clock: &mut Clock,
    scratch: &mut Scratch,
) -> Option<Vec<u64>> {
    let mut groups = filter.all.iter();
    let first = groups.next()?;
    let mut set = match only_bitmap(segment, settings, first) {
        Some(bitmap) => scratch.copy(bitmap),
        None => group_set(segment, settings, first, clock, scratch),
    };
    for group in groups {
        if set.iter().all(|&word| word == 0) {
            break;
        }
        if let Some(bitmap) = only_bitmap(segment, settings, group) {
            if clock.spend(cost(segment)) {
                break;
            }
            bits::and(&mut set, bitmap);
            continue;
        }
        let other = group_set(segment, settings, group, clock, scratch);
        bits::and(&mut set, &other);
        scratch.give(other);
    }
    if clock.rang() {
        set.fill(0);
    }
    Some(set)
}
fn empty(segment: &Segment) -> Vec<u64> {
    vec![0; bits::words_for(segment.doc_count())]
}
/// The documents of a group that is one frequent value: they need not be put together.
fn only_bitmap<'a>(segment: &'a Segment, settings: &IndexSettings, group: &AnyOf) -> Option<&'a [u64]> {
    let [atom] = group.any.as_slice() else { return None };
    bitmap_of(segment, settings, atom)
}
/// The documents of an atom that is one frequent value.
fn bitmap_of<'a>(segment: &'a Segment, settings: &IndexSettings, atom: &FilterAtom) -> Option<&'a [u64]> {
    let FilterAtom { atom: Atom::Facet { attribute, value }, negated: false, .. } = atom else {
        return None;
    };
    if attribute == OBJECT_ID || !is_declared(settings, attribute) {
        return None;
    }
    let column = segment.facet(attribute)?;
    let ordinals = column.fold_range(&fold(value));
    if ordinals.len() != 1 {
        return None;
    }
    match column.docs_of(ordinals.start) {
        FacetDocs::Bitmap(bitmap, _) => Some(bitmap),
        FacetDocs::List(_) => None,
    }
}
/// The documents of a group. It begins with a copy of the first frequent value's, if there is one.
fn group_set(
    segment: &Segment,
    settings: &IndexSettings,
    group: &AnyOf,
    clock: &mut Clock,
    scratch: &mut Scratch,
) -> Vec<u64> {
    let bitmap = |(place, atom)| bitmap_of(segment, settings, atom).map(|bitmap| (place, bitmap));
    let (first, mut set) = match group.any.iter().enumerate().find_map(bitmap) {
        Some((place, bitmap)) => (Some(place), scratch.copy(bitmap)),
        None => (None, scratch.take(bits::words_for(segment.doc_count()))),
    };
    for (place, atom) in group.any.iter().enumerate() {
        if clock.spend(cost(segment)) {
            break;
        }
        if Some(place) == first {
            continue;
        }
        if atom.negated {
            bits::or(&mut set, &signed_set(segment, settings, atom));
        } else {
            add_atom(segment, settings, &atom.atom, &mut set);
        }
    }
    set
}
/// What evaluating one atom is worth in documents that are ranked.
fn cost(segment: &Segment) -> u32 {
    segment.doc_count() / DOCS_PER_UNIT + 1
}
/// The documents for which the atom holds, its sign included.
pub fn signed_set(segment: &Segment, settings: &IndexSettings, atom: &FilterAtom) -> Vec<u64> {
    let mut set = empty(segment);
    add_atom(segment, settings, &atom.atom, &mut set);
    if atom.negated {
        set.iter_mut().for_each(|word| *word = !*word);
        bits::clear_from(&mut set, segment.doc_count());
    }
    set
}
fn add_atom(segment: &Segment, settings: &IndexSettings, atom: &Atom, set: &mut [u64]) {
    match atom {
        Atom::Facet { attribute, value } => add_facet(segment, settings, attribute, value, set),
        Atom::Tag { value } => {
            if let Some(column) = segment.facet(TAGS)
                && let Some(ordinal) = column.find(value)
            {
                add_value(column.docs_of(ordinal), set);
            }
        }
        Atom::Numeric { attribute, op, value } => {
            if numbers_allow(settings, attribute, *op) {
                add_numeric(segment, attribute, *op, *value, set);
            }
        }
        Atom::Range { attribute, from, to } => {
            if numbers_allow(settings, attribute, NumericOp::Ge) {
                add_numbers(segment, attribute, set, lowest_from(rounded(*from)), highest_to(rounded(*to)));
            }
        }
    }
}
fn add_value(docs: FacetDocs<'_>, set: &mut [u64]) {
    match docs {
        FacetDocs::List(docs) => docs.iter().for_each(|&doc| bits::insert(set, doc)),
        FacetDocs::Bitmap(bitmap, _) => bits::or(set, bitmap),
    }
}
fn add_facet(segment: &Segment, settings: &IndexSettings, attribute: &str, value: &str, set: &mut [u64]) {
    if attribute == OBJECT_ID {
        ids_meant(value).filter_map(|id| segment.doc_of(&id)).for_each(|doc| bits::insert(set, doc));
    }
    if attribute == OWNER {
        // users are told apart by case
        if let Some(column) = segment.facet(OWNER)
            && let Some(ordinal) = column.find(value)
        {
            add_value(column.docs_of(ordinal), set);
        }
        return;
    }
    if attribute != TAGS && !is_declared(settings, attribute) {
        return;
    }
    let Some(column) = segment.facet(attribute) else { return };
    for ordinal in column.fold_range(&fold(value)) {
        add_value(column.docs_of(ordinal), set);
    }
}
/// The stored ids that an objectID in a filter may mean: with an owner, also the public record of that id.
fn ids_meant(value: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let public = match owner_of(value) {
        (Some(owner), _) if owner != PUBLIC => Some(format!("{PUBLIC}{}", &value[owner.len()..])),
        (Some(_) | None, _) => None,
    };
    std::iter::once(Cow::Borrowed(value)).chain(public.map(Cow::Owned))
}
/// Whether the attribute is in attributesForFaceting.
pub fn is_declared(settings: &IndexSettings, attribute: &str) -> bool {
    settings.attributes_for_faceting.get(attribute).is_some()
}
/// Whether numericAttributesForFiltering lets the comparison look at the attribute.
fn numbers_allow(settings: &IndexSettings, attribute: &str, op: NumericOp) -> bool {
    let Some(listed) = &settings.numeric_attributes_for_filtering else { return true };
    let found = listed.iter().find(|(path, _)| path == attribute);
    found.is_some_and(|(_, equal_only)| match op {
        NumericOp::Eq | NumericOp::Ne => true,
        NumericOp::Lt | NumericOp::Le | NumericOp::Gt | NumericOp::Ge => !equal_only,
    })
}
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
fn add_numeric(segment: &Segment, attribute: &str, op: NumericOp, value: f64, set: &mut [u64]) {
    let value = rounded(value);
    let all = (f64::NEG_INFINITY, f64::INFINITY);
    let (from, to) = match op {
        NumericOp::Eq => (lowest_from(value), highest_to(value)),
        NumericOp::Le => (all.0, highest_to(value)),
        NumericOp::Ge => (lowest_from(value), all.1),
        NumericOp::Lt => (all.0, lowest_from(value).next_down()),
        NumericOp::Gt => (highest_to(value).next_up(), all.1),
        NumericOp::Ne => {
            let Some(column) = segment.numeric(attribute) else { return };
            for doc in documents_of(segment, &column) {
                let values = column.values_of(doc);
                if !values.is_empty() && values.iter().all(|&x| rounded(x) != value) {
                    bits::insert(set, doc);
                }
            }
            return;
        }
    };
    add_numbers(segment, attribute, set, from, to);
}
/// The documents that may have numbers in the column.
fn documents_of<'a>(segment: &Segment, column: &NumericColumn<'a>) -> impl Iterator<Item = u32> + 'a {
    let listed = column.documents();
    let all = if listed.is_some() { 0..0 } else { 0..segment.doc_count() };
    listed.into_iter().flatten().chain(all)
}
/// Adds the documents with a number between the two, both included.
fn add_numbers(segment: &Segment, attribute: &str, set: &mut [u64], from: f64, to: f64) {
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
