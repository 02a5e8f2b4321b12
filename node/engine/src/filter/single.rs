//! Does one document pass a filter? It is asked of the document alone, where sets would be of all.
//!
//! Cost: a look-up for each atom, whatever the number of documents.

use super::{OBJECT_ID, TAGS, ids_meant, is_declared, numbers_allow, rounded};
use crate::index::{FacetColumn, Segment, fold};
use quorate_model::filter::NumericOp;
use quorate_model::settings::IndexSettings;
use quorate_model::user::OWNER;
use quorate_model::{Atom, Filter};

/// Whether a document is in the set of [`super::filter_set`].
pub fn passes(segment: &Segment, settings: &IndexSettings, filter: &Filter, doc: u32) -> bool {
    filter
        .all
        .iter()
        .all(|group| group.any.iter().any(|atom| atom.negated != holds(segment, settings, &atom.atom, doc)))
}

fn holds(segment: &Segment, settings: &IndexSettings, atom: &Atom, doc: u32) -> bool {
    match atom {
        Atom::Facet { attribute, value } => {
            let is_meant = || ids_meant(value).any(|id| segment.doc_of(&id) == Some(doc));
            if attribute == OBJECT_ID && is_meant() {
                return true;
            }
            match segment.facet(attribute) {
                Some(column) if attribute == OWNER => has_exactly(&column, value, doc),
                Some(column) if attribute == TAGS || is_declared(settings, attribute) => {
                    let meant = column.fold_range(&fold(value));
                    column.ords_of(doc).any(|ordinal| meant.contains(&ordinal))
                }
                Some(_) | None => false,
            }
        }
        Atom::Tag { value } => segment.facet(TAGS).is_some_and(|column| has_exactly(&column, value, doc)),
        Atom::Numeric { attribute, op, value } => {
            let (values, value) = (numbers(segment, settings, attribute, *op, doc), rounded(*value));
            let mut values = values.iter().map(|&x| rounded(x));
            match op {
                NumericOp::Eq => values.any(|x| x == value),
                NumericOp::Ne => values.len() > 0 && values.all(|x| x != value),
                NumericOp::Lt => values.any(|x| x < value),
                NumericOp::Le => values.any(|x| x <= value),
                NumericOp::Gt => values.any(|x| x > value),
                NumericOp::Ge => values.any(|x| x >= value),
            }
        }
        Atom::Range { attribute, from, to } => {
            let between = rounded(*from)..=rounded(*to);
            let values = numbers(segment, settings, attribute, NumericOp::Ge, doc);
            values.iter().any(|&x| between.contains(&rounded(x)))
        }
    }
}
fn has_exactly(column: &FacetColumn<'_>, value: &str, doc: u32) -> bool {
    column.find(value).is_some_and(|meant| column.ords_of(doc).any(|ordinal| ordinal == meant))
}
/// The numbers of a document that the comparison may look at.
fn numbers<'a>(
    segment: &'a Segment,
    settings: &IndexSettings,
    attribute: &str,
    op: NumericOp,
    doc: u32,
) -> &'a [f64] {
    match segment.numeric(attribute).filter(|_| numbers_allow(settings, attribute, op)) {
        Some(column) => column.values_of(doc),
        None => &[],
    }
}
