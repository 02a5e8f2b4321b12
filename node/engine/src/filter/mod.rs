//! Which documents of a segment pass a filter? (C§5)
pub mod scores;

use crate::index::{FacetDocs, Segment, fold};
use crate::matching::bits;
use quorate_model::filter::{AnyOf, NumericOp};
use quorate_model::settings::IndexSettings;
use quorate_model::{Atom, Filter, FilterAtom};

/// The attribute that every record may carry for tag filters.
const TAGS: &str = "_tags";
/// The attribute that identifies records; always filterable.
const OBJECT_ID: &str = "objectID";

/// The documents that pass the filter, dead ones included; `None` when it restricts nothing.
pub fn filter_set(segment: &Segment, settings: &IndexSettings, filter: &Filter) -> Option<Vec<u64>> {
    let mut groups = filter.all.iter();
    let mut set = any_of_set(segment, settings, groups.next()?);
    for group in groups {
        if set.iter().all(|&word| word == 0) {
            break;
        }
        bits::and(&mut set, &any_of_set(segment, settings, group));
    }
    Some(set)
}
fn any_of_set(segment: &Segment, settings: &IndexSettings, group: &AnyOf) -> Vec<u64> {
    let mut set = vec![0; bits::words_for(segment.doc_count())];
    for atom in &group.any {
        bits::or(&mut set, &signed_set(segment, settings, atom));
    }
    set
}
/// The documents for which the atom holds, its sign included.
pub fn signed_set(segment: &Segment, settings: &IndexSettings, atom: &FilterAtom) -> Vec<u64> {
    let mut set = atom_set(segment, settings, &atom.atom);
    if atom.negated {
        let mut all = vec![0; set.len()];
        bits::fill_all(&mut all, segment.doc_count());
        bits::and_not(&mut all, &set);
        set = all;
    }
    set
}
fn atom_set(segment: &Segment, settings: &IndexSettings, atom: &Atom) -> Vec<u64> {
    let mut set = vec![0; bits::words_for(segment.doc_count())];
    match atom {
        Atom::Facet { attribute, value } => add_facet(segment, settings, attribute, value, &mut set),
        Atom::Tag { value } => {
            if let Some(column) = segment.facet(TAGS)
                && let Some(ordinal) = column.find(value)
            {
                add_value(column.docs_of(ordinal), &mut set);
            }
        }
        Atom::Numeric { attribute, op, value } => {
            if numbers_allow(settings, attribute, *op) {
                add_numeric(segment, attribute, *op, *value, &mut set);
            }
        }
        Atom::Range { attribute, from, to } => {
            if numbers_allow(settings, attribute, NumericOp::Ge) {
                let (from, to) = (rounded(*from), rounded(*to));
                add_numbers(segment, attribute, &mut set, |x| x >= from && x <= to);
            }
        }
    }
    set
}
fn add_value(docs: FacetDocs<'_>, set: &mut [u64]) {
    match docs {
        FacetDocs::List(docs) => docs.iter().for_each(|&doc| bits::insert(set, doc)),
        FacetDocs::Bitmap(bitmap, _) => bits::or(set, bitmap),
    }
}
fn add_facet(segment: &Segment, settings: &IndexSettings, attribute: &str, value: &str, set: &mut [u64]) {
    if attribute == OBJECT_ID {
        let found = segment.doc_of(value);
        found.into_iter().for_each(|doc| bits::insert(set, doc));
    }
    if attribute != TAGS && !is_declared(settings, attribute) {
        return;
    }
    let Some(column) = segment.facet(attribute) else { return };
    for ordinal in column.fold_range(&fold(value)) {
        add_value(column.docs_of(ordinal), set);
    }
}
/// Whether the attribute is in attributesForFaceting.
pub fn is_declared(settings: &IndexSettings, attribute: &str) -> bool {
    settings.attributes_for_faceting.iter().any(|facet| facet.path == attribute)
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
fn add_numeric(segment: &Segment, attribute: &str, op: NumericOp, value: f64, set: &mut [u64]) {
    let value = rounded(value);
    match op {
        NumericOp::Eq => add_numbers(segment, attribute, set, |x| x == value),
        NumericOp::Lt => add_numbers(segment, attribute, set, |x| x < value),
        NumericOp::Le => add_numbers(segment, attribute, set, |x| x <= value),
        NumericOp::Gt => add_numbers(segment, attribute, set, |x| x > value),
        NumericOp::Ge => add_numbers(segment, attribute, set, |x| x >= value),
        NumericOp::Ne => {
            let Some(column) = segment.numeric(attribute) else { return };
            for doc in 0..segment.doc_count() {
                let values = column.values_of(doc);
                if !values.is_empty() && values.iter().all(|&x| rounded(x) != value) {
                    bits::insert(set, doc);
                }
            }
        }
    }
}
fn add_numbers(segment: &Segment, attribute: &str, set: &mut [u64], holds: impl Fn(f64) -> bool) {
    let Some(column) = segment.numeric(attribute) else { return };
    match column.singles() {
        // not a number never satisfies a comparison
        Some(values) => {
            for (word, values) in set.iter_mut().zip(values.chunks(64)) {
                for (bit, &x) in values.iter().enumerate() {
                    *word |= u64::from(holds(rounded(x))) << bit;
                }
            }
        }
        None => {
            for doc in 0..segment.doc_count() {
                if column.values_of(doc).iter().any(|&x| holds(rounded(x))) {
                    bits::insert(set, doc);
                }
            }
        }
    }
}
