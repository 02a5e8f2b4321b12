//! Which documents of a segment pass a filter? (C§5)
pub mod lazily;
mod numbers;
pub mod scores;
pub mod single;

use crate::bits;
use crate::clock::Clock;
use crate::index::{FacetDocs, Segment, fold};
use crate::scratch::Scratch;
pub use numbers::rounded;
use quorate_model::filter::{AnyOf, NumericOp};
use quorate_model::settings::IndexSettings;
use quorate_model::user::{OWNER, PUBLIC, owner_of};
use quorate_model::{Atom, Filter, FilterAtom};
use rustc_hash::FxHashMap;
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
    let mut several = FxHashMap::<&str, Vec<(f64, f64)>>::default();
    for (place, atom) in group.any.iter().enumerate() {
        if Some(place) == first {
            continue;
        }
        if let Some((attribute, interval)) = of_several(segment, settings, atom) {
            several.entry(attribute).or_default().push(interval);
            if clock.spend(1) {
                break;
            }
            continue;
        }
        if clock.spend(cost_of(segment, &atom.atom)) {
            break;
        }
        if atom.negated {
            bits::or(&mut set, &signed_set(segment, settings, atom));
        } else {
            add_atom(segment, settings, &atom.atom, &mut set);
        }
    }
    for (attribute, intervals) in several {
        numbers::add_several(segment, attribute, intervals, &mut set, clock);
    }
    set
}
/// The numbers that an atom asks for, of an attribute of which documents have several.
fn of_several<'a>(
    segment: &Segment,
    settings: &IndexSettings,
    atom: &'a FilterAtom,
) -> Option<(&'a str, (f64, f64))> {
    let (attribute, op) = match &atom.atom {
        Atom::Numeric { attribute, op, .. } => (attribute, *op),
        Atom::Range { attribute, .. } => (attribute, NumericOp::Ge),
        Atom::Facet { .. } | Atom::Tag { .. } => return None,
    };
    if atom.negated
        || segment.numeric(attribute)?.singles().is_some()
        || !numbers_allow(settings, attribute, op)
    {
        return None;
    }
    let interval = match atom.atom {
        Atom::Numeric { op, value, .. } => numbers::interval(op, value)?,
        Atom::Range { from, to, .. } => numbers::range(from, to),
        Atom::Facet { .. } | Atom::Tag { .. } => return None,
    };
    Some((attribute, interval))
}
/// What a look at every document is worth in documents that are ranked.
fn cost(segment: &Segment) -> u32 {
    segment.doc_count() / DOCS_PER_UNIT + 1
}
/// What evaluating one atom is worth.
fn cost_of(segment: &Segment, atom: &Atom) -> u32 {
    let several = match atom {
        Atom::Numeric { attribute, .. } | Atom::Range { attribute, .. } => {
            numbers::cost_of_several(segment, attribute)
        }
        Atom::Facet { .. } | Atom::Tag { .. } => 0,
    };
    cost(segment).saturating_add(several)
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
                match numbers::interval(*op, *value) {
                    Some(interval) => numbers::add_between(segment, attribute, interval, set),
                    None => numbers::add_without(segment, attribute, *value, set),
                }
            }
        }
        Atom::Range { attribute, from, to } => {
            if numbers_allow(settings, attribute, NumericOp::Ge) {
                numbers::add_between(segment, attribute, numbers::range(*from, *to), set);
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
